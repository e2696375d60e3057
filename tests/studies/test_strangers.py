"""Plans and packed folders of strangers: which commands run code that they name, and that no command runs what is no
estimator.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from helpers.cases.plan import COHORT, write_plan
from helpers.running import Program

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")
pytest.importorskip("sklearn")

SCIKIT = 'seeds = 2\n' + COHORT + '\n[learner]\nname = "scikit_learn"\n'  # fmt: skip
# A module that leaves a file when it is imported, and another when its estimator is made.
OWN = """
import pathlib
from sklearn.linear_model import LogisticRegression

pathlib.Path({folder!r}, "imported").touch()


class Estimator(LogisticRegression):
    def __init__(self, C=1.0):
        pathlib.Path({folder!r}, "made").touch()
        super().__init__(C=C)


def factory(features, classes):
    raise RuntimeError("the factory of a stranger")
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a module ``strangers_module``, which stands on the path."""
    (tmp_path / "strangers_module.py").write_text(OWN.format(folder=str(tmp_path)), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "strangers_module", raising=False)
    yield tmp_path
    sys.modules.pop("strangers_module", None)


@pytest.mark.parametrize("name", ["Popen", "run"])
def test_a_plan_that_names_a_program_runs_it_in_no_command(equipoise: Program, tmp_path: Path, name: str) -> None:
    plan = write_plan(tmp_path, SCIKIT)
    assert equipoise("study", "run", plan, "--quiet").code == 0, "an honest store, for the commands that read one"
    sign = tmp_path / "ran"
    plan.write_text(
        f'{SCIKIT}estimator = "subprocess:{name}"\nsettings = {{args = ["touch", "{sign}"]}}\n', encoding="utf-8"
    )
    packed = tmp_path / "packed"
    for given in (
        ("status", plan), ("report", plan), ("export", plan, tmp_path / "x.csv"), ("check", plan), ("run", plan),
        ("run", plan, "--to", tmp_path / "out"), ("worker", plan), ("pack", plan, packed), ("merge", plan, tmp_path),
        ("diagnose", plan),
    ):  # fmt: skip
        ended = equipoise("study", *given)
        assert not sign.exists(), f"study {given[0]} ran it"
        assert "Traceback" not in ended.err
        if given[0] in ("check", "run", "worker", "pack", "merge", "diagnose"):
            assert ended.code == 2
    told = equipoise("study", "check", plan)
    assert "has no fit and predict" in told.err
    assert "plan.toml, line" in told.err


def test_an_edited_pack_that_names_a_program_does_not_run_it(equipoise: Program, tmp_path: Path) -> None:
    plan, packed, sign = write_plan(tmp_path, SCIKIT), tmp_path / "packed", tmp_path / "ran"
    assert equipoise("study", "pack", plan, packed).code == 0
    said = json.loads((packed / "study.json").read_text(encoding="utf-8"))
    bad = {"estimator": "subprocess:Popen", "settings": {"args": ["touch", str(sign)]}, "version": 1}
    said["learner"] = bad
    for stack in said["stacks"]:
        for trial in stack["trials"]:
            trial["learner"]["settings"] = bad
    (packed / "study.json").write_text(json.dumps(said), encoding="utf-8")
    ended = equipoise("study", "run", packed, "--to", tmp_path / "out")
    assert not sign.exists()
    assert "Traceback" not in ended.err


def test_reports_exports_and_states_import_nothing_that_a_plan_names(equipoise: Program, own: Path) -> None:
    plan = write_plan(own, f'{SCIKIT}estimator = "strangers_module:Estimator"\n')
    assert equipoise("study", "run", plan, "--quiet").code == 0
    assert (own / "imported").exists()
    assert (own / "made").exists()
    sys.modules.pop("strangers_module")
    for sign in ("imported", "made"):
        (own / sign).unlink()
    assert equipoise("study", "report", plan, "--json", own / "r.json", "--html", own / "r.html").code == 0
    assert equipoise("study", "export", plan, own / "t.csv").code == 0
    assert equipoise("study", "export", plan, own / "t.parquet").code == 0
    assert equipoise("study", "status", plan).code == 0
    assert not (own / "imported").exists(), "nothing was imported"
    assert equipoise("study", "check", plan).code == 0
    assert (own / "imported").exists(), "check imports"


def test_a_factory_that_fails_is_told_in_words_by_check(equipoise: Program, own: Path) -> None:
    plan = write_plan(own, f'seeds = 2\n{COHORT}\n[learner]\nname = "module"\nfactory = "strangers_module:factory"\n')
    ended = equipoise("study", "check", plan)
    assert ended.code == 2
    assert "RuntimeError: the factory of a stranger" in ended.err
    plan.write_text(plan.read_text(encoding="utf-8").replace(":factory", ":pathlib"), encoding="utf-8")
    ended = equipoise("study", "check", plan)
    assert ended.code == 2
    assert "cannot be called" in ended.err
