"""The GitHub Action: its description is whole, and its command audits, reports and fails as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import equipoise

ROOT = Path(__file__).resolve().parents[1]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
WORKFLOW = (ROOT / "examples" / "fairness-workflow.yml").read_text(encoding="utf-8")


def inputs() -> set[str]:
    """Return the names of the inputs that the action declares."""
    part = ACTION.partition("\ninputs:\n")[2].partition("\nruns:\n")[0]
    return set(re.findall(r"^  ([a-z-]+):$", part, flags=re.MULTILINE))


def environment() -> dict[str, str]:
    """Return which input each variable of the audit's step holds."""
    return dict(re.findall(r"^        ([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$", ACTION, flags=re.MULTILINE))


def script() -> str:
    """Return the command of the audit's step."""
    return textwrap.dedent(ACTION.partition("      run: |\n")[2])


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("action")
    cohort = equipoise.load("adult").where("test")
    lines = ["income,predicted,sex,race"]
    columns = [cohort.columns[name] for name in ("income", "predicted", "sex", "race")]
    lines += [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def run(folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    program = folder / "equipoise"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m equipoise "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    known = {
        "data": "people.csv", "target": "income", "prediction": "predicted", "favourable": ">50K",
        "groups": "sex\nrace\n", "html": "page.html", "json": "numbers.json", **given,
    }  # fmt: skip
    variables = {name: known.get(of, "") for name, of in environment().items()}
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()]  # as GitHub starts it
    return subprocess.run(
        shell, cwd=folder, capture_output=True, text=True,
        env={**os.environ, **variables, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary")}, check=False,
        timeout=300,
    )  # fmt: skip


def test_every_input_is_used_and_the_example_gives_only_inputs_there_are() -> None:
    assert set(environment().values()) | {"install"} == inputs()
    used = WORKFLOW.partition("equipoise@main\n        with:\n")[2].partition("\n      - uses")[0]
    given = set(re.findall(r"^          ([a-z-]+):", used, flags=re.MULTILINE))
    assert given
    assert given <= inputs()


@pytest.mark.long
def test_the_action_writes_the_summary_the_page_and_the_numbers(people: Path) -> None:
    done = run(people, options="--draws=200")
    assert done.returncode == 0, done.stderr
    summary = (people / "summary").read_text(encoding="utf-8")
    assert summary.startswith("# Fairness audit of ")
    assert "**The model predicts '>50K' a third as often for Female as for Male (sex): 8.7% against 25.2%" in summary
    assert (people / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (people / "numbers.json").exists()


@pytest.mark.long
def test_a_broken_gate_fails_the_job_and_still_leaves_the_summary(people: Path) -> None:
    (people / "summary").unlink(missing_ok=True)
    done = run(people, **{"fail-if": "DP.low > 0.1\nDI > 0.99\n", "options": "--draws=200\n--quiet"})
    assert done.returncode == 1
    assert "gate broken: DP.low > 0.1" in done.stderr
    assert "DI > 0.99" not in done.stderr
    assert (people / "summary").exists()
