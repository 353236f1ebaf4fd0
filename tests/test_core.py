"""The compiled core is there, typed, and its documentation travels with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cffi import FFI, model

from ndpstack import _connection, _core, _homa
from ndpstack._event import EVENT_BYTES, Event, event_at

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
BINDINGS = ROOT / "bindings"
CDEF = "".join((BINDINGS / f"{part}.cdef.h").read_text() for part in ("core", "stack", "switch"))


def test_every_queue_counter_is_documented() -> None:
    table = _core.lib.nd_queue_counters_table
    texts = [
        (_core.ffi.string(table.texts[i].name), _core.ffi.string(table.texts[i].help))
        for i in range(table.count)
    ]
    assert len(texts) > 10
    assert all(help_text.endswith(b".") for _, help_text in texts)


def test_the_stub_is_in_sync_with_the_declarations() -> None:
    check = [sys.executable, str(ROOT / "bindings" / "make_stubs.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_stub_knows_every_name_of_the_library() -> None:
    stub = (ROOT / "ndpstack" / "_core.pyi").read_text()
    missing = [name for name in dir(_core.lib) if f" {name}" not in stub]
    assert missing == []


def declared() -> Iterator[model.BaseType]:
    """Structs, unions and enums of the declarations."""
    parser = FFI()
    parser.cdef(CDEF)
    for kind, (found, _) in parser._parser._declarations.items():
        if kind.split(" ")[0] in {"struct", "union", "enum"}:
            yield found


def test_every_struct_is_laid_out_as_declared() -> None:
    """The module compares size, offsets and types of a struct's fields when it is first used."""
    structs = [found for found in declared() if isinstance(found, model.StructOrUnion)]
    complete = [found.get_c_name() for found in structs if found.fldnames]
    assert len(complete) > 50
    for name in complete:
        assert _core.ffi.typeof(name).fields, name


def test_every_constant_has_the_value_declared() -> None:
    """The module compares a constant with its declaration when it is first used."""
    assert all(getattr(_core.lib, name) is not None for name in dir(_core.lib))


def statements(text: str) -> Iterator[str]:
    """The declarations of a header, without comments and macros."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    depth = begin = 0
    for at, sign in enumerate(text):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == ";" and depth == 0:
            yield text[begin : at + 1].strip()
            begin = at + 1


def exhaustive(enum: model.EnumType) -> str:
    """A function that the compiler refuses when the headers' enum has other members."""
    cases = " ".join(f"case {name}:" for name in enum.enumerators)
    body = f"switch (x) {{ {cases} return 1; }} return 0;"
    return f"int all_of_{enum.name}(enum {enum.name} x) {{ {body} }}"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_compiler_accepts_every_declaration_beside_the_headers(tmp_path: Path) -> None:
    """Integers of another width would be converted in silence, members of an enum be missed."""
    functions = [each for each in statements(CDEF) if "{" not in each]
    enums = [
        exhaustive(found)
        for found in declared()
        if isinstance(found, model.EnumType) and not found.partial and "$" not in found.name
    ]
    assert len(functions) > 100
    assert len(enums) > 20
    source = tmp_path / "declarations.c"
    prelude = (BINDINGS / "core.prelude.h").read_text()
    source.write_text("\n".join([prelude, *functions, *enums]))
    options = ["-std=gnu17", "-fsyntax-only", "-Werror=switch", f"-I{ROOT / 'csrc'}"]
    options += [f"-I{ROOT / 'csrc' / 'include'}", f"-I{BINDINGS}"]
    done = subprocess.run(
        ["cc", *options, str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_events_are_decoded_as_they_are_laid_out() -> None:
    raw = _core.ffi.new("struct nd_event[]", 2)
    view = memoryview(_core.ffi.buffer(raw))
    assert len(view) == 2 * EVENT_BYTES
    fields = dict(_core.ffi.typeof("struct nd_event").fields)
    for number, name in enumerate(Event._fields, 1):
        offset = EVENT_BYTES + fields[name].offset
        view[offset : offset + 1] = bytes([number])
    event = event_at(view, 1)
    assert event == Event(*range(1, len(Event._fields) + 1))


@pytest.mark.parametrize(
    ("texts", "enum"), [(_homa.STATES, "nd_homa_state"), (_connection.STATES, "nd_ndp_state")]
)
def test_every_state_has_a_text(texts: dict[int, str], enum: str) -> None:
    states = next(each for each in declared() if each.get_c_name() == f"enum {enum}")
    assert isinstance(states, model.EnumType)
    assert {0, *texts} == set(states.enumvalues)
