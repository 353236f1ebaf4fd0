"""The reference page of the Python API, from the signatures and docstrings of what is public."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from importlib import import_module
from types import MemberDescriptorType
from typing import TYPE_CHECKING, NamedTuple

from ndpstack import _messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):$")


class Chapter(NamedTuple):
    """A module and what of it is public."""

    module: str
    names: tuple[str, ...]


CHAPTERS = (
    Chapter(
        "ndpstack",
        ("StackConfig", "Stack", "memory_pair", "PortState", "Peer", "HomaSocket", "Call", "Rpc",
         "NdpSocket", "Address", "Backend"),
    ),
    Chapter("ndpstack.aio", ("HomaSocket", "Rpc", "NdpSocket")),
    Chapter(
        "ndpstack.rpc",
        ("Service", "Metrics", "Client", "Stub", "deadline", "RemoteError", "Codec",
         "MsgpackCodec"),
    ),
    Chapter(
        "ndpstack.errors",
        ("NdpError", "Timeout", "WouldBlock", "Refused", "Reset", "Cancelled", "MessageTooLong",
         "Unreachable", "AddressInUse", "LimitReached", "Closed", "StackGone", "Forked"),
    ),
)  # fmt: skip

SIGNATURES = Chapter("ndpstack._socket", ("Timeout", "UNSET"))
"""What signatures say, and nobody imports."""

INTERNAL: dict[str, frozenset[str]] = {
    "ndpstack._messages.Waitable": frozenset({"waiters"}),
    "ndpstack._messages.Call": frozenset({
        "view", "key", "buffer", "owner", "peer", "port", "until",
    }),
    "ndpstack._messages.Request": frozenset({"failed", "done"}),
    "ndpstack._waitable.Waitable": frozenset({
        "is_ready", "add_waiter", "remove_waiter", "ring", "hush", "wake",
    }),
    "ndpstack._stack.Stack": frozenset({"known_peer", "keep_peer", "resolve"}),
    "ndpstack._address.Peer": frozenset({"text", "forget"}),
    "ndpstack._socket.Socket": frozenset({
        "until", "wait_for", "next_of", "poll_descriptor", "peer_of", "submit", "make_room",
        "check_room", "check_open", "late", "where",
    }),
    "ndpstack._homa.HomaSocket": frozenset({"begin", "serve", "service", "bound"}),
    "ndpstack._homa.Call": frozenset({
        "outcome", "end", "forget", "on_event", "on_end", "wake",
    }),
    "ndpstack._served.Request": frozenset({"is_ready", "try_reply", "on_event", "on_end"}),
    "ndpstack._ndp.NdpSocket": frozenset({
        "listener", "accepted", "prepare_connect", "finish_connect", "connection", "prepare_send",
        "make_room", "check_sent", "where",
    }),
}  # fmt: skip
"""What modules of the package use of each other's classes: by the class that has it."""

LOOPS = {"__iter__": "for ... in", "__aiter__": "async for ... in"}


def full_name(cls: type) -> str:
    """Where the class is."""
    return f"{cls.__module__}.{cls.__name__}"


def string_below(statements: Sequence[ast.stmt], at: int) -> str | None:
    """What the string under a statement says of what it sets."""
    below = statements[at + 1] if at + 1 < len(statements) else None
    if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
        return str(below.value.value)
    return None


def attributes(cls: type) -> Iterator[tuple[str, str]]:
    """What methods set of self with a string below, and the strings; as C says of its members."""
    if cls.__module__ == _messages.__name__:
        for name, member in vars(cls).items():
            if isinstance(member, MemberDescriptorType) and member.__doc__:
                yield name, member.__doc__
        return
    for method in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls)))):
        if not isinstance(method, ast.FunctionDef):
            continue
        for at, statement in enumerate(method.body):
            meaning = string_below(method.body, at)
            if meaning is None or not isinstance(statement, ast.Assign | ast.AnnAssign):
                continue
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Attribute):
                yield target.attr, meaning


def public_members(cls: type) -> Iterator[tuple[str, object]]:
    """Attributes, of which it has the meaning, methods and properties, as the source has them.

    Inherited ones come after the own.
    """
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("ndpstack") or base is BaseException:
            continue
        internal = INTERNAL.get(full_name(base), frozenset())
        methods = (
            (name, member)
            for name, member in vars(base).items()
            if inspect.isfunction(member) or isinstance(member, property | classmethod)
        )
        for name, member in (*attributes(base), *methods):
            if (not name.startswith("_") or name in LOOPS) and name not in seen:
                seen.add(name)
                if name not in internal:
                    yield name, member


def signature_of(function: object) -> str:
    """Arguments and result as they are written, without self."""
    if isinstance(function, classmethod):
        function = function.__func__
    assert callable(function)
    # Annotations are quoted as a whole; texts among the defaults keep their quotes.
    text = re.sub(r"(: |-> )'(.*?)'(?=,|\)| =|$)", r"\1\2", str(inspect.signature(function)))
    text = re.sub(r"\((self|cls)(, )?", "(", text).replace("<Unset.UNSET: 0>", "UNSET")
    return re.sub(r"ndpstack\.[\w.]*\.(?=\w)|collections\.abc\.", "", text)


def markdown_of(docstring: str | None) -> str:
    """A Google docstring as text: its sections become lists, examples code."""
    assert docstring, "everything public has a docstring"
    lines: list[str] = []
    in_section = False
    for line in inspect.cleandoc(docstring).splitlines():
        if match := SECTION.match(line):
            lines += [f"*{match[1]}*", ""]
            in_section = True
        elif in_section and re.match(r"    \S", line):
            lines.append(f"- {line.strip()}")
        elif in_section and line:
            lines.append(f"  {line.strip()}")
        else:
            in_section = in_section and bool(line.strip() == "" or line.startswith(" "))
            lines.append(line)
    return fenced("\n".join(lines))


def fenced(text: str) -> str:
    """Examples in fences of their own."""
    return re.sub(
        r"((?:^(?:>>>|\.\.\.) .*\n?)+(?:^\S.*\n?)*)", r"```python\n\1\n```\n", text, flags=re.M
    )


def fields_of(cls: type) -> Iterator[str]:
    """A table of a config's fields: the string below each is its meaning."""
    source = inspect.getsource(cls)
    rows = re.findall(r'^    (\w+): ([^\n]+)\n    """(.+?)"""', source, re.M | re.S)
    if rows:
        yield from ("| field | type | meaning |", "|---|---|---|")
    for name, kind, meaning in rows:
        shown = kind.replace("|", "\\|")
        yield f"| `{name}` | `{shown}` | {' '.join(meaning.split())} |"
    if rows:
        yield ""


def class_lines(cls: type, level: str) -> Iterator[str]:
    """The part of the page about a class."""
    yield from (f"{level} {cls.__name__}", "", markdown_of(cls.__doc__), "")
    yield from fields_of(cls)
    for name, member in public_members(cls):
        if isinstance(member, str):
            yield from (f"{level}# `{name}`", "", markdown_of(member), "")
        elif isinstance(member, property) or name in LOOPS:
            shown = LOOPS.get(name, name)
            yield from (f"{level}# `{shown}`", "", markdown_of(member.__doc__), "")
        else:
            prefix = "await " if inspect.iscoroutinefunction(member) else ""
            yield from (
                f"{level}# `{prefix}{name}()`", "", "```text",
                f"{name}{signature_of(member)}", "```", "", markdown_of(member.__doc__), "",
            )  # fmt: skip


def value_lines(module: str, name: str) -> Iterator[str]:
    """The part of the page about a type that is no class, or a constant."""
    source = inspect.getsource(import_module(module))
    statements = ast.parse(source).body
    for at, statement in enumerate(statements):
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            text = ast.get_source_segment(source, statement) or ""
            if re.match(rf"{name}(: Final)? = ", text):
                yield from (f"### `{name}`", "", "```text", text.replace(": Final", ""), "```", "")
                yield from (markdown_of(string_below(statements, at)), "")


def chapter_lines(chapter: Chapter, module: ModuleType) -> Iterator[str]:
    """The part of the page about a module."""
    yield from (f"## {chapter.module}", "")
    if chapter.module != "ndpstack":
        yield from (markdown_of((module.__doc__ or "").split("\n\n    ")[0]), "")
    for name in chapter.names:
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from class_lines(value, "###")
        elif inspect.isfunction(value):
            yield from (
                f"### `{name}()`", "", "```text", f"{name}{signature_of(value)}", "```", "",
                markdown_of(value.__doc__), "",
            )  # fmt: skip
        else:
            yield from value_lines(module._HOMES[name], name)


def api_page() -> str:
    """The whole page."""
    lines = ["# Python API", ""]
    for chapter in CHAPTERS:
        lines += chapter_lines(chapter, import_module(chapter.module))
    lines += ["## In signatures", ""]
    for name in SIGNATURES.names:
        lines += value_lines(SIGNATURES.module, name)
    return "\n".join(lines) + "\n"


def write_api_page(folder: Path) -> None:
    """Writes the page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api.md").write_text(api_page())
