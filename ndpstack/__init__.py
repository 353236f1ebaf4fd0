"""ndpstack: NDP and Homa transports over AF_XDP, with a software switch and a simulator."""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

TYPE_CHECKING = False
"""As of typing, which need not be imported for it: a command can be interrupted sooner."""

if TYPE_CHECKING:
    from ndpstack._address import Peer as Peer
    from ndpstack._config import Backend as Backend
    from ndpstack._config import StackConfig as StackConfig
    from ndpstack._homa import Call as Call
    from ndpstack._homa import HomaSocket as HomaSocket
    from ndpstack._ndp import NdpSocket as NdpSocket
    from ndpstack._served import Rpc as Rpc
    from ndpstack._socket import Address as Address
    from ndpstack._stack import PortState as PortState
    from ndpstack._stack import Stack as Stack
    from ndpstack._stack import memory_pair as memory_pair
    from ndpstack.errors import NdpError as NdpError

_HOMES = {
    "Address": "ndpstack._socket",
    "Backend": "ndpstack._config",
    "Call": "ndpstack._homa",
    "HomaSocket": "ndpstack._homa",
    "NdpError": "ndpstack.errors",
    "NdpSocket": "ndpstack._ndp",
    "Peer": "ndpstack._address",
    "PortState": "ndpstack._stack",
    "Rpc": "ndpstack._served",
    "Stack": "ndpstack._stack",
    "StackConfig": "ndpstack._config",
    "memory_pair": "ndpstack._stack",
}
"""Where each public name lives: it is imported when it is first used."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
