"""The door of audits: every name leads somewhere, and functions say what they take and return, by examples that run."""

from __future__ import annotations

import doctest

import pytest

from equipoise import audits


@pytest.mark.parametrize("name", audits.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(audits, name) is not None
    assert name in dir(audits)


@pytest.mark.parametrize("name", ["audit", "audit_option", "config_text", "read_config", "resolve"])
def test_public_functions_are_documented_and_their_examples_run(name: str) -> None:
    function = getattr(audits, name)
    for heading in ("Parameters", "Returns", "Examples"):
        assert f"{heading}\n{'-' * len(heading)}" in "\n".join(map(str.strip, function.__doc__.splitlines()))
    (examples,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'tally'"):
        audits.tally  # noqa: B018
