"""The door of results: every name leads somewhere, and the examples of its docstrings run."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import equipoise.results as room


@pytest.mark.parametrize("name", room.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(room, name)
    assert name in dir(room)
    if inspect.isclass(thing) or inspect.isfunction(thing):
        assert thing.__doc__


@pytest.mark.parametrize("name", ["_result", "_gates", "_record"])
def test_examples_run(name: str) -> None:
    module = importlib.import_module(f"equipoise.results.{name}")
    found = doctest.testmod(module)
    assert found.attempted
    assert found.failed == 0
