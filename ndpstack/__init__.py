"""ndpstack: NDP and Homa transports over AF_XDP, with a software switch and a simulator."""

__version__ = "0.1.0"
