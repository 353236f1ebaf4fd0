"""Values as codecs know them, and as annotations want them.

Codecs know None, numbers, text, bytes, lists and dictionaries. A dataclass travels as a dictionary
of its fields, a tuple, named or not, as a list, a member of an enum as its value and a bytearray as
bytes; where an annotation wants one, it is made again. What there is to do is found out when a
method is registered or a stub is made: values that need nothing done cost nothing.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import itertools
import types
import typing
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from ndpstack._rpc_wire import Codec

Convert = Callable[[object], object]
"""Makes what an annotation wants of a value that came."""

AS_THEY_COME: Final = (
    None, type(None), bool, int, float, str, bytes, list, dict, object, typing.Any,
    abc.Sequence, abc.Iterable, abc.Mapping, inspect.Parameter.empty,
)  # fmt: skip
"""Annotations whose values arrive as what they were."""

BYTES_LIKE: Final = (bytearray, memoryview)
"""What can be made of bytes."""

STREAMS: Final = (abc.AsyncIterator, abc.AsyncGenerator, abc.AsyncIterable)
"""What async generators may be annotated as."""


# ---- what codecs know ----


def pack(codec: Codec, value: object) -> bytes:
    """Bytes of a value, as plain() has it only where the codec refuses a type."""
    try:
        return codec.pack(value)
    except TypeError:
        return codec.pack(plain(value))


def plain(value: object) -> object:
    """A value with dictionaries in place of dataclasses, and values in place of enums' members."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


# ---- what annotations want ----


class _Record:
    """Makes a dataclass of the dictionary of its fields."""

    def __init__(self, cls: type) -> None:
        self._cls = cls
        self._set_later = {each.name for each in dataclasses.fields(cls) if not each.init}
        self.converts: dict[str, Convert] = {}

    def __call__(self, value: object) -> object:
        if isinstance(value, self._cls):  # The codec knows dataclasses.
            return value
        if not isinstance(value, dict):
            raise _mismatch(value, self._cls.__name__)
        converts, later = self.converts, self._set_later
        fields = {name: each for name, each in value.items() if name not in later}
        for name in converts.keys() & fields.keys():
            fields[name] = converts[name](fields[name])
        return self._cls(**fields)


class _Row:
    """Makes a named tuple of the list of its items."""

    def __init__(self, cls: type) -> None:
        self._cls = cls
        self.converts: list[Convert | None] = []

    def __call__(self, value: object) -> object:
        if isinstance(value, self._cls):  # The codec knows named tuples.
            return value
        items = list(_items(value, self._cls.__name__))
        for i, convert in enumerate(self.converts[: len(items)]):
            if convert is not None:
                items[i] = convert(items[i])
        return self._cls(*items)


Known = dict[type, _Record | _Row]
"""What makes each class of fields."""


class _Check:
    """Looks at a class that only the codec can know: it is not made."""

    def __init__(self, cls: type) -> None:
        try:
            isinstance(None, cls)
        except TypeError:
            raise _unknown(cls) from None
        self._cls = cls

    def __call__(self, value: object) -> object:
        if not isinstance(value, self._cls):
            raise _mismatch(value, self._cls.__name__)
        return value


def converter(annotation: object, known: Known | None = None) -> Convert | None:
    """What makes values as annotated of those that come; None where they come so.

    Args:
        annotation: A type, its names resolved.
        known: Dataclasses and named tuples that were met on the way here: one may hold others of
            its kind.

    Raises:
        TypeError: Such values cannot be made.
    """
    known = {} if known is None else known
    if isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__
    origin, of = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is typing.Literal or (not of and any(origin is each for each in AS_THEY_COME)):
        return None
    if origin is tuple:
        return _tuple(of or (object, ...), known)
    if origin in (list, abc.Sequence, abc.Iterable) and of:
        return _list(converter(of[0], known))
    if origin in (dict, abc.Mapping) and of and converter(of[0], known) is None:
        return _dictionary(converter(of[1], known))
    if origin in (typing.Union, types.UnionType):
        if bytes in of:
            of = tuple(each for each in of if each not in BYTES_LIKE)
        return _union(annotation, [converter(each, known) for each in of])
    if isinstance(annotation, type) and not of:
        return _class(annotation, known)
    raise _unknown(annotation)


def _unknown(annotation: object) -> TypeError:
    return TypeError(
        f"values of {annotation} cannot be made of what travels: annotate dataclasses, list, dict, "
        "tuples, enums, any of these or None, plain values, or object for what is to be left as it "
        "comes"
    )


def _mismatch(value: object, due: str) -> TypeError:
    return TypeError(f"{type(value).__name__} came where {due} is due")


def _class(cls: type, known: Known) -> Convert:
    """What makes a class's instances, or looks whether the codec has made one."""
    if cls in known:
        return known[cls]
    if dataclasses.is_dataclass(cls):
        return _record(cls, known)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return _row(cls, cls._fields, known)
    if issubclass(cls, enum.Enum):
        return _member(cls)
    return _bytes(cls) if cls in BYTES_LIKE else _Check(cls)


def _record(cls: type[DataclassInstance], known: Known) -> Convert:
    record = known[cls] = _Record(cls)
    hints = typing.get_type_hints(cls)
    for each in dataclasses.fields(cls):
        if each.init and (convert := converter(hints[each.name], known)) is not None:
            record.converts[each.name] = convert
    return record


def _row(cls: type, names: tuple[str, ...], known: Known) -> Convert:
    row = known[cls] = _Row(cls)
    hints = typing.get_type_hints(cls)
    row.converts = [converter(hints.get(name, object), known) for name in names]
    return row


def _member(cls: type[enum.Enum]) -> Convert:
    def make(value: object) -> object:
        try:
            return cls(value)
        except ValueError:
            for each in cls:
                if plain(each.value) == value:  # Such as a tuple, which came as a list.
                    return each
            raise

    return make


def _bytes(cls: type) -> Convert:
    def make(value: object) -> object:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise _mismatch(value, cls.__name__)
        return value if isinstance(value, cls) else cls(value)

    return make


def _items(value: object, due: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _mismatch(value, due)
    return value


def _list(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: [convert(each) for each in _items(value, "list")]


def _tuple(of: tuple[object, ...], known: Known) -> Convert:
    if of[-1] is ...:
        convert = _list(converter(of[0], known))
        return lambda value: tuple(_items(value if convert is None else convert(value), "tuple"))
    converts = [converter(each, known) for each in of]

    def make(value: object) -> object:
        items = _items(value, "tuple")
        if len(items) != len(converts):
            raise TypeError(f"{len(items)} items came where a tuple of {len(converts)} is due")
        return tuple(
            each if convert is None else convert(each)
            for convert, each in zip(converts, items, strict=True)
        )

    return make


def _dictionary(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None

    def make(value: object) -> object:
        if not isinstance(value, dict):
            raise _mismatch(value, "dict")
        return {key: convert(each) for key, each in value.items()}

    return make


def _union(annotation: object, converts: list[Convert | None]) -> Convert | None:
    """One kind that has to be made, or None; or several of which each is what came."""
    made = [each for each in converts if each is not None and not isinstance(each, _Check)]
    if not made:
        return None
    if len(converts) > 2 or types.NoneType not in typing.get_args(annotation):
        raise _unknown(annotation)
    return lambda value: None if value is None else made[0](value)


# ---- functions ----


def _convert_for(function: Callable[..., object], what: str, annotation: object) -> Convert | None:
    """As converter(), for an annotation as a function has it."""
    scope = inspect.unwrap(function)
    while isinstance(scope, functools.partial):
        scope = scope.func
    # Linters have modules import the names of types for type checkers alone.
    names = {**vars(abc), **getattr(scope, "__globals__", {})}
    holder = types.SimpleNamespace(__annotations__={what: annotation})
    name = getattr(scope, "__name__", type(scope).__name__)
    try:
        return converter(_item_type(typing.get_type_hints(holder, names)[what]))
    except NameError as error:
        reason = f"{error}: annotations need their names at run time"
        raise TypeError(f"{what} of {name}(): {reason}") from error
    except TypeError as error:
        raise TypeError(f"{what} of {name}(): {error}") from error


def _item_type(annotation: object) -> object:
    """The type of a stream's values; any other as it is."""
    if (typing.get_origin(annotation) or annotation) in STREAMS:
        return (typing.get_args(annotation) or (object,))[0]
    return annotation


def result_converter(function: Callable[..., object]) -> Convert | None:
    """What makes a function's result, or each value of its stream, as annotated.

    Raises:
        TypeError: It cannot be made; the text names the annotation.
    """
    return _convert_for(function, "result", inspect.signature(function).return_annotation)


class Arguments:
    """Makes a function's arguments as annotated."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._by_position: list[Convert | None] = []
        self._by_name: dict[str, Convert | None] = {}
        self._rest: Convert | None = None
        self._others: Convert | None = None
        for name, parameter in inspect.signature(function).parameters.items():
            kind = parameter.kind
            convert = _convert_for(function, f"argument {name}", parameter.annotation)
            if kind is parameter.VAR_POSITIONAL:
                self._rest = convert
            elif kind is parameter.VAR_KEYWORD:
                self._others = convert
            elif kind is parameter.KEYWORD_ONLY:
                self._by_name[name] = convert
            else:
                self._by_position.append(convert)
                self._by_name[name] = convert

    def is_idle(self) -> bool:
        """True when all arguments come as they are annotated."""
        converts = [*self._by_position, *self._by_name.values(), self._rest, self._others]
        return all(each is None for each in converts)

    def convert(
        self, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[list[object], dict[str, object]]:
        """The arguments that came, as annotated.

        Raises:
            TypeError: One is of another kind.
            ValueError: One is no member's of its enum.
        """
        converts = itertools.chain(self._by_position, itertools.repeat(self._rest))
        made = [
            each if convert is None else convert(each)
            for convert, each in zip(converts, args, strict=False)
        ]
        named = {}
        for name, each in kwargs.items():
            convert = self._by_name.get(name, self._others)
            named[name] = each if convert is None else convert(each)
        return made, named


def argument_converter(function: Callable[..., object]) -> Arguments | None:
    """What makes a function's arguments as annotated; None where they come so.

    Raises:
        TypeError: One cannot be made; the text names it and the annotation.
    """
    try:
        arguments = Arguments(function)
    except ValueError:  # It has no signature: some functions of C.
        return None
    return None if arguments.is_idle() else arguments
