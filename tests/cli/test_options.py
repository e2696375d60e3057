"""Options of ``discover``, ``label`` and ``study``: the command line and Python agree with one declaration."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from equipoise.cli import app
from equipoise.discovery import (
    DISCOVER_OPTIONS,
    LABEL_OPTIONS,
    NAME_OPTIONS,
)
from equipoise.foundation import Option, installed
from equipoise.studies import (
    REPRODUCE_OPTIONS,
    STUDY_OPTIONS,
)

COMMANDS: dict[str, tuple[Option, ...]] = {
    "discover": DISCOVER_OPTIONS,
    "label": LABEL_OPTIONS,
    "name": NAME_OPTIONS,
    "reproduce": REPRODUCE_OPTIONS,
    **{f"study {name}": options for name, options in STUDY_OPTIONS.items()},
}
PLAIN: dict[str, type] = {
    "flag": bool, "text": str, "label": str, "choice": str, "whole": int, "number": float, "file": Path, "output": Path,
}  # fmt: skip
# What the command line puts into another form for Python: "A,B" and "64x48".
CONVERTED = {"class_names", "size"}
# What Python takes besides: things themselves, and what the command line puts together.
NOT_TYPED = {"alphas", "held_out", "reference_penalty", "command", "watcher", "on_change", "notes", "report"}


def owners() -> dict[tuple[str, str], Callable[..., Any]]:
    """Return what takes options in Python, by command and the name in ``only``."""
    from equipoise.discovery import (
        JudgeSettings,
        ProbeSettings,
        SearchSettings,
        audit_direction,
        discover,
        load_classifier,
        load_generator,
    )
    from equipoise.studies import CohortPlan, check, diagnose, refit
    from equipoise.studies.findings import read_study, write_table
    from equipoise.studies.running import run_in_store, run_to_folder
    from equipoise.studies.storage import open_store

    return {
        ("discover", "search"): SearchSettings,
        ("discover", "judge"): JudgeSettings,
        ("discover", "discover"): discover,
        ("discover", "generator"): load_generator,
        ("discover", "classifier"): load_classifier,
        ("label", "probe"): ProbeSettings,
        ("label", "audit"): audit_direction,
        ("label", "cohort"): CohortPlan,
        ("label", "generator"): load_generator,
        ("label", "classifier"): load_classifier,
        ("study check", "check"): check,
        ("study run", "run"): run_in_store,
        ("study run", "folder"): run_to_folder,
        ("study refit", "refit"): refit,
        ("study report", "result"): read_study,
        ("study diagnose", "diagnose"): diagnose,
        ("study export", "export"): write_table,
        ("study merge", "open"): open_store,
        ("study worker", "open"): open_store,
    }


PLACES = [
    ("discover", "search"), ("discover", "judge"), ("discover", "discover"), ("discover", "generator"),
    ("discover", "classifier"), ("label", "probe"), ("label", "audit"), ("label", "cohort"), ("label", "generator"),
    ("label", "classifier"), ("study check", "check"), ("study run", "run"), ("study run", "folder"),
    ("study report", "result"), ("study diagnose", "diagnose"), ("study export", "export"), ("study merge", "open"),
    ("study worker", "open"), ("study refit", "refit"),
]  # fmt: skip
needs_train = pytest.mark.skipif(
    not all(installed(module) for module in ("torch", "sqlalchemy")),
    reason="discovery and studies need the extra train",
)


def taken(command: str, owner: str) -> tuple[Mapping[str, inspect.Parameter], list[Option]]:
    options = [of for of in COMMANDS[command] if of.in_python is not None and of.used_by(owner)]
    parameters = dict(inspect.signature(owners()[command, owner]).parameters)
    if owner == "result":
        # What it hands on to the reporter.
        from equipoise.studies.findings import result_of

        parameters |= {
            name: parameter for name, parameter in inspect.signature(result_of).parameters.items() if name != "data"
        }
    return parameters, options


def types_of(annotation: object) -> set[object]:
    """Return the plain types that an annotation allows: those of a union, of a Literal's values, of a path."""
    found: set[object] = set()
    for one in typing.get_args(annotation) or (annotation,):
        if typing.get_origin(annotation) is typing.Literal:
            found.add(type(one))
        elif typing.get_args(one) and one is not annotation:
            found |= types_of(one)
        else:
            found.add(one)
    return found


@needs_train
def test_every_object_that_takes_options_is_compared() -> None:
    assert set(owners()) == set(PLACES)
    named = {(command, owner) for command, options in COMMANDS.items() for of in options for owner in of.only}
    # An option that several commands have says so for all of them.
    several = {"run", "result", "export", "open", "refit"}
    assert {place for place in named if place[1] not in several or place in PLACES} == set(PLACES)


@needs_train
@pytest.mark.parametrize(("command", "owner"), PLACES)
def test_every_option_is_an_argument_with_the_same_default_and_type(command: str, owner: str) -> None:
    parameters, options = taken(command, owner)
    assert options
    for of in options:
        assert of.in_python in parameters, of.name
        parameter = parameters[of.in_python]
        if parameter.default is not inspect.Parameter.empty and parameter.default != ():
            assert parameter.default == of.default, of.name
        if of.name in CONVERTED or of.kind not in PLAIN:
            continue
        home = inspect.getmodule(owners()[command, owner])
        hint = parameter.annotation
        if isinstance(hint, str):
            hint = eval(hint, vars(home) | {"Any": Any})
        allowed = types_of(hint)
        assert PLAIN[of.kind] in allowed or (PLAIN[of.kind] is Path and {str} <= allowed), (of.name, hint)
        if of.choices and typing.get_origin(hint) is typing.Literal:
            assert of.choices == typing.get_args(hint)


@needs_train
@pytest.mark.parametrize("place", [("discover", "search"), ("discover", "judge")])
def test_every_setting_of_a_search_is_an_option(place: tuple[str, str]) -> None:
    parameters, options = taken(*place)
    fixed = (
        {"null_latents", "random_directions", "level", "threshold", "least_steadiness"}
        if place[1] == "judge"
        else NOT_TYPED
    )
    assert set(parameters) - fixed == {of.in_python for of in options}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_has_every_option_as_declared(command: str) -> None:
    found: Any = typer.main.get_command(app)
    for name in command.split():
        found = found.commands[name]
    parameters = {parameter.name: parameter for parameter in found.params}
    for of in COMMANDS[command]:
        parameter = parameters[of.name]
        assert of.flag in parameter.opts
        assert set(of.flags) <= set(parameter.opts)
        assert (parameter.help, parameter.rich_help_panel) == (of.help, of.panel)
        assert parameter.required == of.needed
        if not of.needed and of.kind not in ("texts", "files"):
            assert parameter.default == of.default
    typed = [name for name, parameter in parameters.items() if not getattr(parameter, "hidden", False)]
    arguments = [name for name, parameter in parameters.items() if parameter.param_type_name == "argument"]
    assert typed == [*arguments, *(of.name for of in COMMANDS[command])]


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_options_are_unique(command: str) -> None:
    names = [of.name for of in COMMANDS[command]]
    assert len(set(names)) == len(names)
