"""How the schema's own types are written."""

from __future__ import annotations

import ipaddress
import re

from ndpstack.toml import NAME, Forms, UnitError
from switchd.config._schema import Address, FileName, MacAddress, PortPath, Prefix


def _mac(value: object) -> MacAddress:
    if not isinstance(value, str) or not re.fullmatch(
        r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}", value
    ):
        raise UnitError(f"{value!r} is not an Ethernet address; write it like '02:00:00:00:00:01'")
    mac = value.lower().replace("-", ":")
    if int(mac[:2], 16) & 1:
        raise UnitError(f"{value!r} is a group address; a port leads to one station")
    return MacAddress(mac)


def _prefix(value: object) -> Prefix:
    try:
        return Prefix(str(ipaddress.ip_network(str(value))))
    except ValueError as error:
        raise UnitError(f"{error}; write it like '10.0.1.0/24'") from None


def _address(value: object) -> Address:
    try:
        # A number would be taken for an address: only text is one.
        return Address(str(ipaddress.ip_address(str(value))))
    except ValueError:
        raise UnitError(f"{value!r} is not an address; write it like '10.0.0.1'") from None


def _port_path(value: object) -> PortPath:
    parts = value.split("/") if isinstance(value, str) else []
    if len(parts) != 2 or not all(NAME.fullmatch(part) for part in parts):
        raise UnitError(f"{value!r} is not a port of a switch; write it like 'tor0/h1'")
    return PortPath(str(value))


def _file_name(value: object) -> FileName:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", value):
        raise UnitError(
            f"{value!r} is not a file's name without a folder; write it like 'm0.pcapng'"
        )
    return FileName(value)


FORMS = Forms(
    parsers={
        MacAddress: _mac,
        Prefix: _prefix,
        Address: _address,
        PortPath: _port_path,
        FileName: _file_name,
    }
)
