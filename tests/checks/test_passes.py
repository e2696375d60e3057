"""CI runs every test that is not slow in one of its two passes at least; `make test` leaves out what takes long."""

from __future__ import annotations

import re
import shlex
import tomllib
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
MARKS = [line.partition(":")[0] for line in SETTINGS["markers"]]


def recipe_of(target: str) -> str:
    """Return the commands of a target of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    [recipe] = re.findall(rf"^{target}: \$\(VENV\).*\n((?:\t.+\n)+)", text, flags=re.MULTILINE)
    return str(recipe)


def arguments_of(commands: str) -> list[str]:
    """Return the arguments that pytest gets."""
    [line] = [line for line in commands.splitlines() if " -m pytest " in line]
    return shlex.split(line.partition(" -m pytest ")[2])


def selects(arguments: list[str], marks: set[str]) -> bool:
    """Whether a test with these marks is selected. Such expressions mean in Python what they mean to pytest."""
    expression = arguments[arguments.index("-m") + 1]
    return bool(eval(expression, {}, {mark: mark in marks for mark in MARKS}))


CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")
UNIT = re.findall(r"^UNIT := (.+)$", MAKE, flags=re.MULTILINE)
FIRST = re.findall(r'^make test UNIT="(.+)"$', CI, flags=re.MULTILINE)
EVERY_MIX = [
    {mark for mark, there in zip(MARKS, mix, strict=True) if there} for mix in product([False, True], repeat=len(MARKS))
]
PASSES = {
    "make test": [argument.replace("$(UNIT)", *UNIT) for argument in arguments_of(recipe_of("unit"))],
    "make test-long": arguments_of(recipe_of("test-long")),
    "without torch": [argument.replace("$(UNIT)", *FIRST) for argument in arguments_of(recipe_of("unit"))],
    "with torch": arguments_of(CI),
}


def test_ci_runs_every_test_that_is_not_slow() -> None:
    for marks in EVERY_MIX:
        run = selects(PASSES["without torch"], marks) or selects(PASSES["with torch"], marks)
        assert run == ("slow" not in marks), marks


def test_ci_runs_with_torch_all_that_torch_may_change_and_without_it_what_make_test_runs() -> None:
    for marks in EVERY_MIX:
        assert selects(PASSES["with torch"], marks) == (not marks & {"slow", "once"}), marks
        assert selects(PASSES["without torch"], marks) >= selects(PASSES["make test"], marks), marks


def test_make_test_and_make_test_long_share_out_what_is_not_slow() -> None:
    for marks in EVERY_MIX:
        assert selects(PASSES["make test"], marks) == (not marks & {"slow", "long"}), marks
        assert selects(PASSES["make test-long"], marks) == ("long" in marks and "slow" not in marks), marks


@pytest.mark.parametrize("name", PASSES)
def test_marks_alone_select(name: str) -> None:
    """No folder is left out or named, and nothing is chosen by its name: so the expressions say all."""
    rest = [*PASSES[name]]
    for option in ("-n", "--dist", "-m"):
        place = rest.index(option)
        del rest[place : place + 2]
    assert rest == ["-q"]
    assert SETTINGS["testpaths"] == ["tests"]
    assert not any("ignore" in option or "deselect" in option for option in SETTINGS["addopts"])
