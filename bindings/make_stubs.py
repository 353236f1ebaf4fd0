"""Writes ndpstack/_core.pyi from the *.cdef.h: a class for each struct, a method for each function.

`python bindings/make_stubs.py` writes it, `--check` only says whether it is in sync.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cffi import FFI, model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).resolve().parent
CDEFS = tuple(HERE / f"{part}.cdef.h" for part in ("core", "stack", "switch"))
STUB = HERE.parent / "ndpstack" / "_core.pyi"

HEADER = '''\
# Written by bindings/make_stubs.py from the *.cdef.h. Do not edit: make stubs
from collections.abc import Callable, Iterator
from typing import Final, Generic, Literal, Protocol, Self, TypeVar, overload

from typing_extensions import Buffer

_T = TypeVar("_T")

class CData:
    """What every value that C owns or sees has in common."""

    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...

class Null(CData):
    """The type of ffi.NULL."""

class Pointer(CData, Generic[_T]):
    """A pointer to, or an array of, values that are not structs."""

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Pointer[_T]: ...
    def __setitem__(self, index: int | slice, value: _T | list[_T] | bytes) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_T]: ...

class Struct(CData):
    """A struct, a pointer to one, or an array of them: C data has the same syntax for all."""

    def __getitem__(self, index: int) -> Self: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Self]: ...

class CField:
    """A field of a struct type."""

    offset: Final[int]
    bitsize: Final[int]
    type: Final[CType]

class CType:
    """A C type, as ffi.typeof returns it."""

    kind: Final[str]
    cname: Final[str]
    fields: Final[list[tuple[str, CField]]]
    item: Final[CType]
    length: Final[int]

class Array(Protocol):
    """numpy arrays; their stubs do not call them Buffer before Python 3.12."""

    @property
    def __array_interface__(self) -> dict[str, object]: ...

class CBuffer(Buffer):
    """The bytes behind C data."""

    def __getitem__(self, index: slice) -> bytes: ...
    def __setitem__(self, index: slice, value: bytes) -> None: ...
    def __len__(self) -> int: ...
'''

FFI_HEAD = '''\
class FFI:
    """The cffi object of this module."""

    NULL: Final[Null]
    def string(self, cdata: CData, maxlen: int = ...) -> bytes: ...
    def buffer(self, cdata: CData, size: int = ...) -> CBuffer: ...
    def memmove(self, dest: CData | Buffer, src: CData | Buffer, n: int) -> None: ...
    def sizeof(self, cdecl: str | CData | CType) -> int: ...
    def typeof(self, cdecl: str | CData) -> CType: ...
    def addressof(self, cdata: _S, *fields: str | int) -> _S: ...
    def gc(self, cdata: _C, destructor: Callable[[_C], None], size: int = ...) -> _C: ...'''

# ffi.new, ffi.cast and ffi.from_buffer know the type from a literal; these are the ones in use.
PRIMITIVE_ARRAYS = {
    "char[]": "bytes",
    "uint8_t[]": "int",
    "int[]": "int",
    "uint16_t[]": "int",
    "uint32_t[]": "int",
    "uint64_t[]": "int",
}


def struct_name(tp: model.BaseTypeByIdentity) -> str:
    """The name of the Python class for a struct type."""
    return str(tp.name)


def value_type(tp: object) -> str:
    """How a value of a C type reads from Python."""
    match tp:
        case model.PrimitiveType(name="_Bool"):
            return "bool"
        case model.PrimitiveType(name="char"):
            return "bytes"
        case model.PrimitiveType():
            return "float" if tp.is_float_type() else "int"
        case model.EnumType():
            return "int"
        case model.StructType():
            return struct_name(tp)
        case model.PointerType(totype=model.StructType() as target):
            return struct_name(target)
        case model.PointerType(totype=model.VoidType()):
            return "CData"
        case model.PointerType(totype=target) | model.ArrayType(item=target):
            inner = value_type(target)
            if isinstance(target, model.StructType):
                return inner
            return f"Pointer[{inner}]"
        case model.VoidType():
            return "None"
        case model.BaseFunctionType():
            return "CData"
    raise TypeError(f"*.cdef.h: no Python type for {tp!r}; teach {Path(__file__).name} about it")


def argument_type(tp: object) -> str:
    """What a function takes for a C type: pointers may be NULL, const char * may be bytes."""
    name = value_type(tp)
    if not isinstance(tp, model.PointerType):
        return name
    if isinstance(tp.totype, model.VoidType):
        return "CData"
    if isinstance(tp.totype, model.PrimitiveType) and tp.totype.name == "char":
        return f"{name} | bytes | Null"
    return f"{name} | Null"


def fields_of(tp: model.StructOrUnion) -> Iterator[tuple[str, str]]:
    """Fields by name and type, those of anonymous members included."""
    for name, inner, _, _ in tp.enumfields(expand_anonymous_struct_union=True):
        yield name, value_type(inner)


def struct_lines(tp: model.StructType) -> Iterator[str]:
    """The class of one struct."""
    yield f"class {struct_name(tp)}(Struct):"
    fields = list(fields_of(tp)) if tp.fldtypes is not None else []
    if not fields:
        yield "    ..."
    for name, kind in fields:
        yield f"    {name}: {kind}"


def function_lines(name: str, tp: model.BaseFunctionType) -> Iterator[str]:
    """The method of one function; cffi takes positional arguments only."""
    arguments = [f"a{i}: {argument_type(arg)}, " for i, arg in enumerate(tp.args)]
    slash = "/" if arguments else ""
    yield f"    def {name}(self, {''.join(arguments)}{slash}) -> {value_type(tp.result)}: ..."


def overload_lines(method: str, literals: Iterable[tuple[str, str]], rest: str) -> Iterator[str]:
    """One overload for each C type that the method is given as a literal."""
    for cdecl, result in literals:
        yield "    @overload"
        yield f'    def {method}(self, cdecl: Literal["{cdecl}"], {rest}) -> {result}: ...'


def ffi_lines(structs: list[str]) -> Iterator[str]:
    """The class of the ffi object."""
    yield from FFI_HEAD.splitlines()
    arrays = [(f"struct {name}[]", name) for name in structs]
    arrays += [(cdecl, f"Pointer[{item}]") for cdecl, item in PRIMITIVE_ARRAYS.items()]
    arrays += [("void *[]", "Pointer[CData]"), ("char *[]", "Pointer[Pointer[bytes]]")]
    arrays += [("struct nd_counters_table *[]", "Pointer[nd_counters_table]")]
    pointers = [(c.replace("[]", " *"), f"Pointer[{i}]") for c, i in PRIMITIVE_ARRAYS.items()]
    new = [(f"struct {name} *", name) for name in structs] + pointers + arrays
    yield from overload_lines("new", new, "init: object = ...")
    yield from overload_lines(
        "cast", [*pointers, ("void *", "CData"), ("uintptr_t", "CData")], "value: CData | int"
    )
    data = "data: Buffer | Array, require_writable: bool = ..."
    yield from overload_lines("from_buffer", arrays, data)


def _unshadow(line: str, shadowed: list[str]) -> str:
    """A method's types under names that no method has."""
    head, paren, types = line.partition("(")
    for name in shadowed:
        types = re.sub(rf"\b{name}\b", f"_{name}", types)
    return head + paren + types


def lib_lines(declarations: dict[str, tuple[object, int]]) -> Iterator[str]:
    """The class of the lib object."""
    functions = {key.partition(" ")[2] for key in declarations if key.startswith("function ")}
    shadowed = sorted(
        functions & {key.partition(" ")[2] for key in declarations if key.startswith("struct ")}
    )
    # Within the class a method's name hides the struct's.
    yield from (f"_{name} = {name}" for name in shadowed)
    yield ""
    yield "class Lib:"
    yield '    """Functions, variables and constants of the core."""'
    yield ""
    for key, (tp, _) in declarations.items():
        kind, name = key.split(" ", 1)
        if isinstance(tp, model.EnumType):
            yield from (f"    {enumerator}: Final[int]" for enumerator in tp.enumerators)
        elif kind == "macro":
            yield f"    {name}: Final[int]"
        elif kind in ("constant", "variable"):
            yield f"    {name}: Final[{value_type(tp)}]"
    for key, (tp, _) in declarations.items():
        kind, name = key.split(" ", 1)
        if kind == "function" and isinstance(tp, model.BaseFunctionType):
            for line in function_lines(name, tp):
                yield _unshadow(line, shadowed)


def stub(cdef: str) -> str:
    """The text of _core.pyi for these declarations."""
    ffi = FFI()
    ffi.cdef(cdef)
    declarations: dict[str, tuple[object, int]] = ffi._parser._declarations
    types = [tp for key, (tp, _) in declarations.items() if key.startswith("struct ")]
    structs = [tp for tp in types if isinstance(tp, model.StructType)]
    named = [tp for tp in structs if not tp.name.startswith("$")]
    complete = [struct_name(tp) for tp in named if tp.fldtypes is not None]
    blocks = [HEADER, '_C = TypeVar("_C", bound=CData)\n_S = TypeVar("_S", bound=Struct)\n']
    blocks += ["\n".join(struct_lines(tp)) + "\n" for tp in named]
    blocks.append("\n".join(ffi_lines(complete)) + "\n")
    blocks.append("\n".join(lib_lines(declarations)) + "\n")
    blocks.append("ffi: Final[FFI]\nlib: Final[Lib]\n")
    return "\n".join(blocks)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when stale")
    arguments = parser.parse_args()
    text = stub("".join(path.read_text() for path in CDEFS))
    if not arguments.check:
        STUB.write_text(text)
    elif STUB.read_text() != text:
        print("ndpstack/_core.pyi is stale: make stubs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
