"""The reference page has all that is public, and the docstrings' examples print what they say."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module

import pytest
from make_api import CHAPTERS, INTERNAL, api_page, attributes, full_name, public_members

import ndpstack
from ndpstack import errors, rpc

MEMBERS = {
    "ndpstack.Stack": "message_bytes_max attach share address peer set_neighbour held counters "
    "counter_texts port_state told audit drain closed close",
    "ndpstack.Peer": "address",
    "ndpstack.HomaSocket": "request start bind recv __iter__ fileno stack settimeout gettimeout "
    "closed close",
    "ndpstack.Call": "id is_ready result cancel",
    "ndpstack.Rpc": "reply peer cancelled replied cancel id data",
    "ndpstack.NdpSocket": "bind listen accept connect peer send recv recv_into flush __iter__ "
    "fileno reset close stack settimeout gettimeout closed",
    "ndpstack.aio.HomaSocket": "bind request recv __aiter__ stack closed close",
    "ndpstack.aio.Rpc": "reply peer cancelled replied cancel id data",
    "ndpstack.aio.NdpSocket": "bind listen peer accept connect send recv recv_into flush reset "
    "close __aiter__ stack closed",
    "ndpstack.rpc.Service": "metrics method serve serving",
    "ndpstack.rpc.Client": "call notify stream stub close",
    "ndpstack.rpc.Codec": "pack unpack",
    "ndpstack.rpc.MsgpackCodec": "pack unpack",
}
"""What classes promise to users. A further one is named here, or in INTERNAL of make_api.py."""

MODULES = ("ndpstack._stack", "ndpstack._homa", "ndpstack._ndp", "ndpstack.aio")


def test_all_that_is_public_is_on_the_page() -> None:
    page = api_page()
    named = {(chapter.module, name) for chapter in CHAPTERS for name in chapter.names}
    for name in ndpstack._HOMES:
        assert ("ndpstack", name) in named or ("ndpstack.errors", name) in named
        assert name in dir(ndpstack)
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.NdpError):
            assert ("ndpstack.errors", name) in named
    for name, value in vars(rpc).items():
        if not name.startswith("_") and not inspect.ismodule(value):
            assert ("ndpstack.rpc", name) in named
    for heading in ("# `await request()`", "# `for ... in`", "# `async for ... in`", "# `data`",
                    "# `Address`", "# `Timeout`", "# `UNSET`"):  # fmt: skip
        assert f"{heading}\n" in page
    assert "protocols: tuple[Protocol, ...] = ('ndp', 'homa'), mtu: int = 0" in page
    assert not re.search(r"^ +>>> ", page, re.MULTILINE)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ndpstack.nothing


def public_classes() -> dict[str, type]:
    """Classes of the page, by module and name."""
    found = {}
    for chapter in CHAPTERS:
        for name in chapter.names:
            value = getattr(import_module(chapter.module), name)
            if inspect.isclass(value):
                found[f"{chapter.module}.{name}"] = value
    return found


def test_the_page_has_all_members_and_nothing_internal() -> None:
    shown = {
        name: [each for each, _ in public_members(cls)] for name, cls in public_classes().items()
    }
    assert {name: " ".join(members) for name, members in shown.items() if members} == MEMBERS


def test_what_is_internal_is_there() -> None:
    """A name that nothing has any more would hide the next thing of that name."""
    bases = {full_name(base): base for cls in public_classes().values() for base in cls.__mro__}
    for name, members in INTERNAL.items():
        there = {*vars(bases[name]), *(attribute for attribute, _ in attributes(bases[name]))}
        assert members <= there, name


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    module = import_module(name)
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
    assert outcome.attempted > 0


def test_every_errno_makes_its_class_and_says_what_to_do() -> None:
    """T28: no bare number reaches a user."""
    for code, (cls, advice) in errors._CLASSES.items():
        error = errors.make_error(code, "cannot", peer="10.0.0.1", rpc=7, state="half way")
        assert type(error) is cls
        assert error.errno == code
        assert str(error).startswith("cannot: ")
        assert "peer 10.0.0.1; id 7; half way" in str(error)
        assert str(error).endswith(advice)
    assert isinstance(errors.make_error(110, "x"), TimeoutError)
    assert type(errors.make_error(5, "x")) is errors.NdpError
