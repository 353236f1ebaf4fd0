"""Values of configs, refused by name where C would cut them, wrap them or take them for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ndpstack._core import ffi
from ndpstack.switch._errors import SwitchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ndpstack._core import Pointer, Struct

U32_MAX = 2**32 - 1


def text_of(where: str, name: str, value: str) -> Pointer[bytes]:
    """A string as C takes it, valid while it is kept.

    Raises:
        SwitchError: C would see another one.
    """
    try:
        encoded = value.encode()
    except UnicodeEncodeError as error:
        raise SwitchError(f"{where}: {name} = {value!r} is no text: {error.reason}") from error
    if b"\0" in encoded:
        raise SwitchError(f"{where}: {name} = {value!r} has a NUL in it")
    return ffi.new("char[]", encoded)


def choice_of(where: str, name: str, value: str, known: Mapping[str, int]) -> int:
    """What a word stands for.

    Raises:
        SwitchError: It is none of those that are known.
    """
    if value not in known:
        raise SwitchError(f"{where}: {name} = {value!r}; it is one of {', '.join(known)}")
    return known[value]


def number_of(where: str, name: str, value: int, least: int, most: int) -> int:
    """A number of a range.

    Raises:
        SwitchError: It is none.
    """
    if not isinstance(value, int) or not least <= value <= most:
        raise SwitchError(f"{where}: {name} = {value!r} is not {least} to {most}")
    return value


def fill(made: Struct, members: Mapping[str, str], where: str, config: object) -> None:
    """Stores numbers and switches of a config.

    Args:
        made: Where to.
        members: Member of that, by name in the config.
        where: What the config is of.
        config: Where from.

    Raises:
        SwitchError: One does not fit its member.
    """
    for name, member in members.items():
        value = getattr(config, name)
        try:
            setattr(made, member, value)
        except (OverflowError, TypeError) as error:
            raise SwitchError(f"{where}: {name} = {value!r}: {error}") from error
