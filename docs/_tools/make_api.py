"""The reference page of the Python API, from the signatures and docstrings of what is public."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
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
         "NdpSocket"),
    ),
    Chapter("ndpstack.aio", ("HomaSocket", "Rpc", "NdpSocket")),
    Chapter("ndpstack.rpc", ("Service", "Metrics", "Client", "deadline", "RemoteError", "Codec")),
    Chapter(
        "ndpstack.errors",
        ("NdpError", "Timeout", "WouldBlock", "Refused", "Reset", "Cancelled", "MessageTooLong",
         "Unreachable", "AddressInUse", "LimitReached", "Closed", "StackGone", "Forked"),
    ),
)  # fmt: skip

INTERNAL = frozenset({
    "add_waiter", "remove_waiter", "wake", "is_ready", "on_event", "on_message", "on_end", "ring",
    "hush", "forget", "key", "outcome", "end", "prepare", "try_reply", "prepare_call",
    "prepare_connect", "finish_connect", "prepare_send", "try_send", "take_message", "check_sent",
    "accepted", "listener", "connection", "service", "known_peer", "keep_peer", "check_open",
    "make_room", "peer_of", "poll_descriptor", "until", "wait_for", "done", "failed", "replied",
    "text", "handle",
})  # fmt: skip
"""What modules of the package use of each other's classes."""


def public_members(cls: type) -> Iterator[tuple[str, object]]:
    """Methods and properties in the order of the source, inherited ones after the own."""
    seen = set(INTERNAL)
    for base in cls.__mro__:
        if not base.__module__.startswith("ndpstack") or base is BaseException:
            continue
        for name, member in vars(base).items():
            documented = inspect.isfunction(member) or isinstance(member, property | classmethod)
            if documented and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, member


def signature_of(function: object) -> str:
    """Arguments and result as they are written, without self."""
    if isinstance(function, classmethod):
        function = function.__func__
    assert callable(function)
    text = str(inspect.signature(function)).replace("'", "")
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
        if isinstance(member, property):
            yield from (f"{level}# `{name}`", "", markdown_of(member.__doc__), "")
            continue
        prefix = "await " if inspect.iscoroutinefunction(member) else ""
        yield from (
            f"{level}# `{prefix}{name}()`", "", "```text",
            f"{name}{signature_of(member)}", "```", "", markdown_of(member.__doc__), "",
        )  # fmt: skip


def chapter_lines(chapter: Chapter, module: ModuleType) -> Iterator[str]:
    """The part of the page about a module."""
    yield from (f"## {chapter.module}", "")
    if chapter.module != "ndpstack":
        yield from (markdown_of((module.__doc__ or "").split("\n\n    ")[0]), "")
    for name in chapter.names:
        value = getattr(module, name)
        if inspect.isclass(value):
            yield from class_lines(value, "###")
        else:
            yield from (
                f"### `{name}()`", "", "```text", f"{name}{signature_of(value)}", "```", "",
                markdown_of(value.__doc__), "",
            )  # fmt: skip


def api_page() -> str:
    """The whole page."""
    lines = ["# Python API", ""]
    for chapter in CHAPTERS:
        lines += chapter_lines(chapter, import_module(chapter.module))
    return "\n".join(lines) + "\n"


def write_api_page(folder: Path) -> None:
    """Writes the page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "api.md").write_text(api_page())
