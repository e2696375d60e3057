"""Help of every command: options in panels, examples that parse, flags without a type."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from equipoise.cli import app
from helpers.running import Program

PROGRAM: Any = typer.main.get_command(app)


def every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, command in PROGRAM.commands.items():
        found += [(name, inner) for inner in command.commands] if hasattr(command, "commands") else [(name,)]
    return found


def command_of(names: tuple[str, ...]) -> Any:
    command = PROGRAM
    for name in names:
        command = command.commands[name]
    return command


@pytest.mark.parametrize("names", every_command(), ids=" ".join)
def test_help_has_examples_and_flags_have_no_type(names: tuple[str, ...], equipoise: Program) -> None:
    ended = equipoise(*names, "--help")
    assert ended.code == 0
    assert "<bool>" not in ended.out
    assert "--no-quiet" not in ended.out
    assert "Examples" in ended.out
    assert f"$ equipoise {' '.join(names)}" in ended.out


@pytest.mark.parametrize("names", every_command(), ids=" ".join)
def test_examples_of_the_help_parse(names: tuple[str, ...]) -> None:
    command = command_of(names)
    examples = re.findall(r"^ *\$ equipoise (.*)$", command.epilog or "", flags=re.MULTILINE)
    assert examples
    for line in examples:
        words = shlex.split(line)
        words = words[: words.index(">")] if ">" in words else words  # what a shell would take for itself
        assert tuple(words[: len(names)]) == names
        command.make_context(names[-1], words[len(names) :])


def test_options_of_an_audit_stand_in_panels(equipoise: Program) -> None:
    text = equipoise("audit", "--help").out
    panels = re.findall(r"^╭─ (.+?) ─", text, flags=re.MULTILINE)
    assert panels == ["Arguments", "Options", "Data", "Groups", "Statistics", "Change since an earlier model",
                      "Embedding", "Gates", "Output"]  # fmt: skip
    of_panel = dict(zip(panels, re.split(r"^╭─ .+$", text, flags=re.MULTILINE)[1:], strict=True))
    assert "--target" in of_panel["Data"]
    assert "--reference" in of_panel["Groups"]
    assert "--measure" in of_panel["Statistics"]
    assert "--majoritised" in of_panel["Embedding"]
    assert "--open" in of_panel["Output"]
    assert "--no-strict" not in text


REPORTING = (("audit",), ("compare",), ("evidence",), ("ranking",), ("discover",), ("name",), ("label",), ("demo",),
             ("reproduce",), ("study", "report"), ("study", "diagnose"))  # fmt: skip
OUTPUTS = {"--html", "--pdf", "--json", "--csv", "--latex", "--markdown", "--figures", "--quiet", "--open"}


@pytest.mark.parametrize("names", every_command(), ids=" ".join)
def test_every_command_that_reports_has_every_output_and_the_others_have_no_page(names: tuple[str, ...]) -> None:
    options = {option: parameter for parameter in command_of(names).params for option in parameter.opts}
    if names in REPORTING:
        assert set(options) >= OUTPUTS
        assert {options[option].rich_help_panel for option in OUTPUTS} == {"Output"}
    else:
        assert not set(options) & (OUTPUTS - {"--json", "--quiet"})
