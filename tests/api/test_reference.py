"""The reference page has all that is public, and the docstrings' examples print what they say."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest
from make_api import CHAPTERS, api_page

import ndpstack
from ndpstack import errors

MODULES = ("ndpstack._stack", "ndpstack._homa", "ndpstack._ndp", "ndpstack.aio")


def test_all_that_is_public_is_on_the_page() -> None:
    page = api_page()
    named = {(chapter.module, name) for chapter in CHAPTERS for name in chapter.names}
    for name in set(ndpstack._HOMES) - {"Backend"}:
        assert ("ndpstack", name) in named or ("ndpstack.errors", name) in named
        assert name in dir(ndpstack)
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.NdpError):
            assert ("ndpstack.errors", name) in named
    assert "#### `await request()`" in page
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ndpstack.nothing


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
