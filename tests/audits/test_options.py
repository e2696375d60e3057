"""One declaration of options: Python, the command line and config files agree with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import typer

import equipoise
from equipoise.audits import AUDIT_OPTIONS, COMPARE_OPTIONS, EMBEDDING, EVIDENCE_OPTIONS, OUTCOMES
from equipoise.audits.embedding import audit_embedding
from equipoise.cli import app
from equipoise.foundation import BadInput, Option

VERBS: dict[str, tuple[Callable[..., Any], tuple[Option, ...], str]] = {
    "audit": (equipoise.audit, AUDIT_OPTIONS, OUTCOMES),
    "audit of an embedding": (audit_embedding, AUDIT_OPTIONS, EMBEDDING),
    "compare": (equipoise.compare, COMPARE_OPTIONS, ""),
    "evidence": (equipoise.evidence, EVIDENCE_OPTIONS, ""),
}
# What Python takes besides: data themselves, and what the command line does by itself. Choices that the command line
# leaves open have another default there.
PYTHON_ONLY = {"command", "progress", "data", "points", "before", "after", "runs", "path", "file"}


def arguments(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_an_argument(verb: str) -> None:
    function, options, kind = VERBS[verb]
    taken = arguments(function)
    for option in options:
        if option.in_python is not None and option.used_by(kind) and option.name != "embedding":
            assert option.in_python in taken, option.name


@pytest.mark.parametrize("verb", ["audit", "compare", "evidence"])
def test_every_argument_is_an_option_with_the_same_default(verb: str) -> None:
    function, options, kind = VERBS[verb]
    declared = {option.in_python: option for option in options if option.used_by(kind)}
    for name, parameter in list(arguments(function).items())[1 if verb != "compare" else 2 :]:
        if name in PYTHON_ONLY:
            continue
        option = declared[name]
        if parameter.default is not inspect.Parameter.empty:
            assert (parameter.default or None) == (option.default or None), name


ROWS: dict[str, Any] = {"target": ["1", "0"] * 4, "sensitive_features": ["a", "a", "b", "b"] * 2}
GIVEN: dict[str, Callable[..., Any]] = {
    "audit": lambda **options: equipoise.audit(prediction=["1", "0"] * 4, **ROWS, **options),
    "audit of an embedding": lambda **options: audit_embedding(
        [[float(row), 1.0] for row in range(8)], **ROWS, **options
    ),
}


@pytest.mark.parametrize("verb", GIVEN)
def test_python_refuses_what_the_declaration_rules_out(verb: str) -> None:
    _, options, kind = VERBS[verb]
    ruled_out: dict[str, list[object]] = {}
    for option in options:
        if option.used_by(kind) and option.in_python is not None:
            if option.kind == "whole":
                ruled_out[option.in_python] = [(option.least or 0) - 1, 1.5, "7", True, None]
            elif option.kind == "choice" and option.default is not None:
                ruled_out[option.in_python] = ["sideways", None]
    assert {"draws", "seed", "least_people"} < set(ruled_out)
    for name, values in ruled_out.items():
        for value in values:
            with pytest.raises(BadInput, match=name):
                GIVEN[verb](**{name: value})


def test_the_docstring_lists_every_argument() -> None:
    text = inspect.getdoc(equipoise.audit) or ""
    for name in arguments(equipoise.audit):
        if name != "command":
            assert f"\n{name} : " in text, name
    assert "{parameters}" not in text
    for section in ("Parameters\n---", "Returns\n---", "Examples\n---"):
        assert section in text


@pytest.mark.parametrize("verb", ["audit", "compare", "evidence"])
def test_the_command_line_has_every_option_in_its_panel(verb: str) -> None:
    commands: Any = typer.main.get_command(app)
    found = {parameter.name: parameter for parameter in commands.commands[verb].params}
    for option in VERBS[verb][1]:
        parameter = found[option.name]
        assert option.flag in parameter.opts
        assert set(option.flags) <= set(parameter.opts)
        assert parameter.help == option.help
        assert parameter.rich_help_panel == option.panel


def test_names_of_options_are_unique() -> None:
    for options in (AUDIT_OPTIONS, COMPARE_OPTIONS, EVIDENCE_OPTIONS):
        names = [option.name for option in options]
        assert len(set(names)) == len(names)
