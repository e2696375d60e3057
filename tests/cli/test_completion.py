"""Values that a shell completes: by calling the functions, and by the protocol that shells speak."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import equipoise
from equipoise.cli import _options as completion
from equipoise.cli import app

COMMANDS: Any = typer.main.get_command(app)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("sex,race,income,predicted\nMale,White,yes,no\nFemale,Black,no,no\nFemale,White,yes,yes\n")
    return path


def context(**params: object) -> Any:
    command = COMMANDS.commands["audit"]
    made = command.context_class(command)
    made.params = params
    return made


def test_columns_of_the_file_are_offered(people: Path) -> None:
    assert completion.columns(context(file=str(people)), "") == ["sex", "race", "income", "predicted"]
    assert completion.columns(context(file=str(people)), "S") == ["sex"]


def test_people_of_an_embedding_come_before_its_points(people: Path, tmp_path: Path) -> None:
    assert completion.columns(context(file=str(tmp_path / "points.npz"), rows=str(people)), "r") == ["race"]


def test_a_column_then_its_groups_are_offered(people: Path) -> None:
    chosen = context(file=str(people), group=["sex", "race"])
    assert completion.column_and_groups(chosen, "") == ["sex=", "race="]
    assert sorted(completion.column_and_groups(chosen, "sex=")) == ["sex=Female", "sex=Male"]
    assert completion.column_and_groups(chosen, "sex=F") == ["sex=Female"]


def test_classes_of_the_target_are_offered(people: Path) -> None:
    assert sorted(completion.classes(context(file=str(people), target=["income"]), "")) == ["no", "yes"]
    assert completion.classes(context(file=str(people)), "") == []


def test_registered_names_and_kinds_are_offered() -> None:
    assert completion.measures(context(), "demographic") == ["demographic_parity"]
    assert "DP" in completion.measures(context(), "D")
    assert "adult" in completion.registered("cohort")(context(), "a")
    assert "reweighting" in completion.registered("treatment")(context(), "rew")
    assert completion.kinds(context(), "c") == ["comparisons", "conditions", "cohorts"]
    assert "DP > " in completion.gates(context(), "DP")
    assert completion.learners(context(), "al") == ["all"]


@pytest.mark.parametrize("file", ["nowhere.csv", "broken.parquet", None])
def test_a_file_that_cannot_be_read_offers_nothing(file: str | None, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    asked = context(**({} if file is None else {"file": str(tmp_path / file)}))
    assert completion.columns(asked, "") == []
    assert completion.column_and_groups(asked, "sex=") == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("equipoise audit people.csv --target inc", {"income"}),
        ("equipoise audit people.csv --group sex --reference sex=F", {"sex=Female"}),
        ("equipoise audit people.csv --target income --favourable y", {"yes"}),
        ("equipoise audit people.csv --measure demographic_p", {"demographic_parity"}),
        ("equipoise audit people.csv --task multi", {"multilabel"}),
        ("equipoise list trea", {"treatments"}),
        ("equipoise cite demographic_p", {"demographic_parity"}),
        ("equipoise demo st", {"study"}),
    ],
)
def test_a_shell_is_answered(line: str, offered: set[str], people: Path) -> None:
    words = line.split(" ")
    spoken = {"_EQUIPOISE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    spoken["PYTHONPATH"] = str(Path(equipoise.__file__).parents[1])
    program = "import sys; sys.argv = ['equipoise']; from equipoise.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | spoken, cwd=people.parent, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert set(ended.stdout.split()) == offered, ended.stderr
