"""What a driver says that it can do with XDP, as the kernel tells since Linux 6.3."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Final

from pyroute2.netlink import NLM_F_REQUEST, genlmsg
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.generic import GenericNetlinkSocket

from ndpstack.doctor._finding import Finding, Status

if TYPE_CHECKING:
    from ndpstack.doctor._interface import Interface

DEVICE_GET: Final = 1
"""NETDEV_CMD_DEV_GET of linux/netdev.h."""


class Features(IntFlag):
    """NETDEV_XDP_ACT_* of linux/netdev.h, as far as ports ask for them."""

    NATIVE = 1
    ZERO_COPY = 8


class _Message(genlmsg):  # type: ignore[misc]
    prefix = "NETDEV_A_DEV_"
    nla_map = (
        ("NETDEV_A_DEV_UNSPEC", "none"),
        ("NETDEV_A_DEV_IFINDEX", "uint32"),
        ("NETDEV_A_DEV_PAD", "none"),
        ("NETDEV_A_DEV_XDP_FEATURES", "uint64"),
    )


def read_features(index: int) -> Features | None:
    """What the driver of an interface says, or None where the kernel does not tell.

    Raises:
        NetlinkError: There is no such interface.
    """
    with GenericNetlinkSocket() as socket:
        try:
            socket.bind("netdev", _Message)
        except NetlinkError:  # It has no such family.
            return None
        message = _Message()
        message["cmd"], message["version"] = DEVICE_GET, 1
        message["attrs"] = [("NETDEV_A_DEV_IFINDEX", index)]
        answers = socket.nlm_request(message, msg_type=socket.prid, msg_flags=NLM_F_REQUEST)
        return Features(answers[0].get_attr("NETDEV_A_DEV_XDP_FEATURES") & sum(Features))


def check_zero_copy(interface: Interface) -> Finding:
    """Whether the driver can do without copying each packet once."""
    driver = interface.driver or "unknown"
    if interface.features is None:
        text = f"whether driver {driver} has zero-copy is not told before Linux 6.3"
        return Finding("zero_copy", Status.NOTE, text)
    if Features.ZERO_COPY in interface.features:
        text = f"driver {driver} has zero-copy, which ports use where it is asked for"
        return Finding("zero_copy", Status.OK, text)
    text = f"driver {driver} has no zero-copy: the kernel copies each packet once"
    return Finding("zero_copy", Status.OK, text)
