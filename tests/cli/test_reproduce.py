"""``equipoise reproduce``: reads a study that was run, or runs a tiny one, and says which findings hold."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from equipoise.cli.commands import reproduce
from equipoise.studies import read_plan
from equipoise.studies._planfile import StudyPlan
from equipoise.studies.findings.identical._paper import reproduction_of
from helpers.cases.picture import write_binary
from helpers.cases.study import pictures
from helpers.running import Program


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.json"
    pictures().to_json(path)
    return path


def test_a_study_that_was_run_is_held_against_the_paper(equipoise: Program, study: Path, tmp_path: Path) -> None:
    made, page = tmp_path / "made.json", tmp_path / "made.html"
    ended = equipoise("reproduce", "004", "--results", study, "--json", made, "--html", page)
    assert ended.code == 0, ended.err
    assert "Finding 4: " in ended.out
    assert "S-GR" in ended.out
    content = json.loads(made.read_text(encoding="utf-8"))
    assert content["schema"] == "equipoise.reproduction/1"
    assert [one["finding"] for one in content["records"]][:2] == ["1", "1, classes"]
    assert page.stat().st_size > 100_000
    quiet = equipoise("reproduce", "004", "--results", study, "--quiet", "--figures", tmp_path / "figures")
    assert (quiet.code, quiet.out) == (0, "")
    assert (tmp_path / "figures" / "01-table-4.svg").exists()


def test_without_a_study_it_shows_what_the_package_carries(
    equipoise: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduce, "CARRIED", tmp_path)
    ended = equipoise("reproduce", "004")
    assert ended.code == 2
    assert "--data DIR" in ended.err
    (tmp_path / "004").mkdir()
    reproduction_of(pictures()).to_json(tmp_path / "004" / "ours.json")
    ended = equipoise("reproduce", "004")
    assert ended.code == 0, ended.err
    assert "Finding 1: holds" in ended.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["001"], "Paper '001' cannot be reproduced with one command\n  available: 004\nhelp: equipoise reproduce 004"),
        (["004", "--data", "a", "--results", "b"], "Both --data and --results"),
        (["004", "--quick"], "--quick was given without --data"),
        (["004", "--device", "cuda"], "--device was given without --data"),
        (["004", "--data", "a", "--epochs", "0"], "Invalid value for"),
        (["004", "--results", "none.json"], "could not be read"),
    ],
)
def test_what_is_wrong_is_told_in_words(equipoise: Program, arguments: list[str], told: str) -> None:
    ended = equipoise("reproduce", *arguments)
    assert ended.code == 2
    assert told in ended.err


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_plans_that_are_carried_are_plans(quick: bool, device: str, tmp_path: Path) -> None:
    folder = tmp_path / 'images "quoted" of ours'
    text = reproduce.plan_text("004", folder, quick=quick, device=device, epochs=3, repeats=2)
    plan = tmp_path / "plan.toml"
    plan.write_text(text, encoding="utf-8")
    said: StudyPlan = read_plan(plan).content
    assert said.cohort.path == str(folder)
    assert (said.repeats, said.device, said.seeds) == (2, device, [1])
    assert said.rounding == ("native" if device == "cuda" else "jitter")
    assert len(said.treatments) == 6, "six trainings"


def test_the_plans_are_part_of_the_package() -> None:
    carried = resources.files("equipoise") / "reproductions" / "004"
    assert {"full.toml", "quick.toml"} <= {file.name for file in carried.iterdir()}


def test_another_plan_in_the_folder_is_never_written_over(equipoise: Program, tmp_path: Path) -> None:
    (tmp_path / "cifar10s.toml").write_text("# mine", encoding="utf-8")
    ended = equipoise("reproduce", "004", "--data", tmp_path, "--quick", "--to-folder", tmp_path)
    assert ended.code == 2
    assert "is the plan of another run" in ended.err
    assert (tmp_path / "cifar10s.toml").read_text(encoding="utf-8") == "# mine"
    ended = equipoise("reproduce", "004", "--data", tmp_path, "--quick", "--to-folder", tmp_path / "cifar10s.toml")
    assert "is a file" in ended.err


def test_a_tiny_study_runs_from_images_to_findings(equipoise: Program, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    write_binary(tmp_path / "images", train=500, test=30)
    call = ("reproduce", "004", "--data", tmp_path / "images", "--quick", "--epochs", 1, "--repeats", 2)
    ended = equipoise(*call, "--to-folder", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert "Finding 2: " in ended.out
    content = json.loads((tmp_path / "run" / "study.json").read_text(encoding="utf-8"))
    assert {cell["runs"] for cell in content["cells"]} == {2}
    assert len(content["cells"]) == 11, "ten techniques of the paper, and RBA fitted on dev rows"
    assert not content["failures"]
    assert (tmp_path / "run" / "study.html").exists()
    again = equipoise(*call, "--to-folder", tmp_path / "run", "--quiet")
    assert (again.code, again.out) == (0, ""), "what is trained is not trained again"


@pytest.mark.parametrize("more", [["--device", "gpu"], []])
def test_a_plan_that_cannot_be_run_is_not_in_the_way_of_the_next(
    equipoise: Program, tmp_path: Path, more: list[str]
) -> None:
    made = tmp_path / "made"
    ended = equipoise("reproduce", "004", "--quick", "--data", tmp_path / "none", "--to-folder", made, *more)
    assert ended.code == 2
    assert "help" in ended.err or "available" in ended.err
    assert not list(made.iterdir())
