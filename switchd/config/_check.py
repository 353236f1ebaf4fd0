"""What no single value shows: names that must exist, things that exclude one another."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from ndpstack.switch._config import GROUPS_MAX, MEMBERS_MAX, PORTS_MAX, SWITCHES_MAX
from ndpstack.toml import dashed, suggest
from switchd.config._schema import Config, FabricPath, Port, Profile, Switch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ndpstack.toml import Keys, Problems

FRAMING_BYTES = 22
"""Ethernet header and two VLAN tags above the MTU."""

MTU_MIN = 68

MTU_DEFAULT = 1500
"""Of ports that have no interface."""

PATH_MAX = 65535
"""Packets carry so much of a path."""

BUILT_IN = ("ndp", "homa", "pfabric", "ecn", "droptail", "mixed")
"""Profiles that are always there."""

_XDP_ONLY = ("xdp_mode", "zero_copy", "force", "queue_first", "queues")


def check(config: Config, problems: Problems) -> None:
    """Notes what does not fit together."""
    if len(config.switch) > SWITCHES_MAX:
        problems.add(("switch",), f"{len(config.switch)} switches; at most {SWITCHES_MAX}")
    for name, profile in config.profile.items():
        _check_profile(name, profile, ("profile", name), problems)
    for name, switch in config.switch.items():
        _Switch(config, switch, ("switch", name), problems).check()
    _check_devices(config, problems)
    _check_mirrors(config, problems)
    _check_fabric(config, problems)
    _check_endpoints(config, problems)


def _check_profile(name: str, profile: Profile, keys: Keys, problems: Problems) -> None:
    if name in BUILT_IN:
        problems.add(keys, "is the name of a built-in profile; choose another one")
    children = [child for child in (profile.ndp, profile.others) if child]
    if profile.discipline == "fair":
        if len(children) != 2:
            problems.add(keys, "fair needs both `ndp` and `others`")
        if any(child.discipline == "fair" for child in children):
            problems.add(keys, "fair within fair is not possible")
        if profile.settings or profile.preset:
            problems.add(keys, "settings of fair stand in its `ndp` and `others`")
    elif children:
        problems.add(keys, '`ndp` and `others` belong to discipline = "fair"')


class _Switch:
    """The checks of one switch."""

    def __init__(self, config: Config, switch: Switch, keys: Keys, problems: Problems) -> None:
        self.config, self.switch, self.keys, self.problems = config, switch, keys, problems
        self.targets = [*switch.port, *switch.group]

    def check(self) -> None:
        switch = self.switch
        if len(switch.port) > PORTS_MAX:
            self.problems.add(self.keys, f"{len(switch.port)} ports; at most {PORTS_MAX}")
        if len(switch.group) > GROUPS_MAX:
            self.problems.add(self.keys, f"{len(switch.group)} groups; at most {GROUPS_MAX}")
        self._profile(switch.profile, (*self.keys, "profile"))
        for name, port in switch.port.items():
            self._port(port, (*self.keys, "port", name))
        for name, group in switch.group.items():
            self._group(name, group.ports, (*self.keys, "group", name))
        self._forwarding()
        for name, mirror in switch.mirror.items():
            self._mirror(mirror.source, (*self.keys, "mirror", name, "source"))

    def _known(self, names: Iterable[str], known: list[str], keys: Keys, what: str) -> None:
        for name in names:
            if name not in known:
                hint = suggest(name, known, "there are") if known else "there are none"
                self.problems.add(keys, f"{name!r} is no {what} of this switch; {hint}")

    def _profile(self, name: str, keys: Keys) -> None:
        known = [*BUILT_IN, *self.config.profile]
        if name and name not in known:
            self.problems.add(keys, f"{name!r} is no profile; {suggest(name, known, 'there are')}")

    def _port(self, port: Port, keys: Keys) -> None:
        self._profile(port.profile, (*keys, "profile"))
        self._mtu(port, (*keys, "mtu"))
        if port.rate and not 10**6 <= port.rate <= 400 * 10**9:
            self.problems.add((*keys, "rate"), "is not within 1Mbit to 400Gbit")
        default = Port()
        only = {"xdp": _XDP_ONLY, "memory": ("listen",)}
        for backend, names in only.items():
            for name in names:
                if port.backend != backend and getattr(port, name) != getattr(default, name):
                    where = (*keys, dashed(name))
                    self.problems.add(where, f'goes with backend = "{backend}" only')
        if port.netns and port.backend not in ("xdp", "packet"):
            self.problems.add((*keys, "netns"), f"a {port.backend} port has no interface")
        trim = self.switch.trim
        if trim.dscp_value == "from-tc" and trim.tc_value not in port.tc_to_dscp:
            text = f'needs an entry for class {trim.tc_value}: trim.dscp-value is "from-tc"'
            self.problems.add((*keys, "tc-to-dscp"), text)

    def _mtu(self, port: Port, keys: Keys) -> None:
        if port.mtu and port.mtu < MTU_MIN:
            text = f"{port.mtu}B is below {MTU_MIN}B, the least of IPv4; 0B is the interface's"
            self.problems.add(keys, text)
        has_interface = port.backend in ("xdp", "packet")
        mtu = port.mtu or (0 if has_interface else MTU_DEFAULT)
        need, frame = mtu + FRAMING_BYTES, self.switch.frame
        if need > frame:
            text = f"frames of {need}B do not fit into {frame}B: set `frame` to {need}B"
            if not port.mtu:
                text += f", or an `mtu` of at most {frame - FRAMING_BYTES}B: it is {mtu}B without"
            self.problems.add(keys, text)

    def _group(self, name: str, ports: tuple[str, ...], keys: Keys) -> None:
        if name in self.switch.port:
            self.problems.add(keys, "is the name of a port, too")
        if not 1 <= len(ports) <= MEMBERS_MAX:
            self.problems.add((*keys, "ports"), f"{len(ports)} members; 1 to {MEMBERS_MAX}")
        if len(set(ports)) != len(ports):
            self.problems.add((*keys, "ports"), "a port is in it twice")
        self._known(ports, list(self.switch.port), (*keys, "ports"), "port")

    def _mirror(self, ports: tuple[str, ...], keys: Keys) -> None:
        if not ports:
            self.problems.add(keys, "no port; name those to copy from")
        if len(set(ports)) != len(ports):
            self.problems.add(keys, "a port is in it twice")
        self._known(ports, list(self.switch.port), keys, "port")

    def _forwarding(self) -> None:
        switch = self.switch
        for index, address in enumerate(switch.address):
            here = (*self.keys, "address", str(index))
            self._known([address.to], self.targets, (*here, "to"), "port or group")
            if address.mac in [other.mac for other in switch.address[:index]]:
                self.problems.add((*here, "mac"), f"{address.mac} is configured twice")
        for index, route in enumerate(switch.route):
            here = (*self.keys, "route", str(index))
            self._known([route.to], self.targets, (*here, "to"), "port or group")
            self._known(route.hops, list(switch.port), (*here, "hops"), "port")
            if route.prefix in [other.prefix for other in switch.route[:index]]:
                self.problems.add((*here, "prefix"), f"{route.prefix} is configured twice")
        if switch.route and switch.forwarding != "fib":
            self.problems.add((*self.keys, "route"), 'routes need forwarding = "fib"')
        if switch.netns and switch.forwarding != "fib":
            self.problems.add((*self.keys, "netns"), 'belongs to forwarding = "fib"')
        if len(switch.address) > switch.addresses:
            text = f"{switch.addresses} is less than the {len(switch.address)} of `address`"
            self.problems.add((*self.keys, "addresses"), text)
        if len(switch.route) > switch.routes:
            text = f"{switch.routes} is less than the {len(switch.route)} of `route`"
            self.problems.add((*self.keys, "routes"), text)


def _check_devices(config: Config, problems: Problems) -> None:
    seen: dict[tuple[str, str, str], str] = {}
    for switch_name, switch in config.switch.items():
        for name, port in switch.port.items():
            kind = "interface" if port.backend in ("xdp", "packet") else port.backend
            device = (kind, port.netns, port.device or name)
            keys = ("switch", switch_name, "port", name)
            if device in seen and kind != "memory":
                problems.add(keys, f"{device[2]!r} is the device of {seen[device]}, too")
            seen[device] = f"{switch_name}/{name}"


def _check_mirrors(config: Config, problems: Problems) -> None:
    seen: dict[str, str] = {}
    for switch_name, switch in config.switch.items():
        for name, mirror in switch.mirror.items():
            if mirror.file in seen:
                keys = ("switch", switch_name, "mirror", name, "file")
                text = f"{mirror.file!r} is the file of {seen[mirror.file]}, too"
                problems.add(keys, text)
            seen[mirror.file] = f"{switch_name}/{name}"


def _check_fabric(config: Config, problems: Problems) -> None:
    ports = [f"{name}/{port}" for name, switch in config.switch.items() for port in switch.port]

    def known(port: str, keys: Keys) -> None:
        if port not in ports:
            hint = suggest(port, ports, "there are") if ports else "there are none"
            problems.add(keys, f"{port!r} is no port; {hint}")

    seen: set[object] = set()
    for index, path in enumerate(config.path):
        here = ("path", str(index))
        if (path.id, path.hosts, path.to) in seen:
            problems.add((*here, "id"), f"path {path.id} is there twice for the same hosts")
        seen.add((path.id, path.hosts, path.to))
        for told in path.hosts:
            if told not in config.host:
                hint = (
                    suggest(told, list(config.host), "there are")
                    if config.host
                    else "there are none"
                )
                problems.add((*here, "hosts"), f"{told!r} is no host; {hint}")
        _check_value(path, (*here, "value"), problems)
        for port in path.via:
            known(port, (*here, "via"))
    for name, host in config.host.items():
        known(host.port, ("host", name, "port"))
    if config.priorities.levels not in (1, 2, 4, 8):
        problems.add(("priorities", "levels"), "8, 4, 2 or 1: hosts make one of adjacent ones")
    cutoffs = config.priorities.cutoffs
    if len(cutoffs) >= config.priorities.levels or list(cutoffs) != sorted(set(cutoffs)):
        text = f"ascending sizes, fewer than the {config.priorities.levels} levels"
        problems.add(("priorities", "cutoffs"), text)


def _check_value(path: FabricPath, keys: Keys, problems: Problems) -> None:
    value = path.value
    if (path.encoding == "address") != isinstance(value, str):
        problems.add(keys, 'is an address for encoding = "address", else a number')
    elif path.encoding == "source-port" and not 1 <= int(value) <= 65535:
        problems.add(keys, "is no UDP port: 1 to 65535")
    elif isinstance(value, int) and not 0 <= value <= PATH_MAX:
        problems.add(keys, f"{value} is no {path.encoding} that packets carry: 0 to {PATH_MAX}")


def parse_endpoint(text: str) -> tuple[str, int]:
    """Address and port of "ADDRESS:PORT"; ValueError when it is none."""
    host, _, port = text.rpartition(":")
    address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    if not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise ValueError(f"{port!r} is no port")
    return str(address), int(port)


def _check_endpoints(config: Config, problems: Problems) -> None:
    daemon = config.daemon
    wanted = [("metrics", daemon.metrics)]
    if not daemon.hosts.startswith("/"):
        wanted.append(("hosts", daemon.hosts))
    for name, text in wanted:
        try:
            if text:
                parse_endpoint(text)
        except ValueError as error:
            problems.add(("daemon", name), f"{error}; write it like '127.0.0.1:9121'")
    for switch_name, switch in config.switch.items():
        for name, port in switch.port.items():
            if port.backend == "udp":
                keys = ("switch", switch_name, "port", name, "device")
                try:
                    parse_endpoint(port.device)
                except ValueError as error:
                    problems.add(keys, f"{error}; write it like '127.0.0.1:6000'")
