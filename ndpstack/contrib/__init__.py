"""What other tools need to understand NDP and Homa; each module needs its tool installed."""
