"""Worker processes: what they are handed, and what happens when one dies or is interrupted at its start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from equipoise import Study
from equipoise.foundation import BadInput
from equipoise.studies.running import OwnWork, run_in_store
from equipoise.studies.running import _workers as workers
from equipoise.studies.running._handover import StoreAccess, WorkerInput, read, write
from equipoise.studies.running._worker_process import START
from helpers.cases.plan import COHORT, by_the_mean, cohort, threshold, write_people

SKLEARN = 'schema = "equipoise.study-plan/1"\nseeds = 2\n' + COHORT + '[learner]\nname = "scikit_learn"\n'


def own_study(**how: Any) -> Study:
    return Study(cohort(), **{"group": "sex", "train": [threshold, by_the_mean], "version": 1, "seeds": 2, **how})


def equipoise(*arguments: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "equipoise", *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )


def test_a_worker_that_is_killed_at_its_start_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "killed"
    dies_once = f"import os; os.path.exists({str(marker)!r}) or (open({str(marker)!r}, 'w'), os.kill(os.getpid(), 9)); "
    monkeypatch.setattr(workers, "START", dies_once + START)
    study = own_study()
    run_in_store(study, tmp_path / "s.db", workers=2)
    assert marker.exists()
    assert study.status(tmp_path / "s.db").done == 4


def test_a_study_whose_workers_all_die_at_their_start_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "START", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(BadInput, match=r"Workers died 6 times while no trial was recorded, at last with signal 9"):
        run_in_store(own_study(), tmp_path / "s.db", workers=2)


def test_an_interrupt_while_workers_start_stops_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, real = [], workers._started

    def interrupted(folder: Path) -> Any:
        if started:
            raise KeyboardInterrupt
        started.append((real(folder), folder))
        return started[0][0]

    monkeypatch.setattr(workers, "_started", interrupted)
    study = own_study()
    with pytest.raises(KeyboardInterrupt):
        run_in_store(study, tmp_path / "s.db", workers=2)
    ((worker, folder),) = started
    assert worker.process.returncode is not None
    assert not folder.exists()
    assert study.status(tmp_path / "s.db").done == 0


@pytest.mark.long
def test_workers_run_no_module_of_the_current_folder(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(SKLEARN)
    for name in ("pickle", "json", "multiprocessing", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\nraise SystemExit('hijacked')\n")
    done = equipoise("study", "run", plan, "--workers", 2, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "executed").exists()


@pytest.mark.long
def test_workers_find_the_modules_of_the_users_path(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "models.py").write_text(
        "from sklearn.linear_model import LogisticRegression\nclass Mine(LogisticRegression): pass\n"
    )
    plan = tmp_path / "plan.toml"
    plan.write_text(SKLEARN + 'estimator = "models:Mine"\n')
    path = str(tmp_path / "mine")
    done = equipoise("study", "run", plan, "--workers", 2, "--quiet", folder=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_script_that_starts_its_study_when_it_is_imported_is_told_so(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(SKLEARN)
    script = tmp_path / "script.py"
    script.write_text(
        "from equipoise.studies import read_plan\nread_plan('plan.toml').study().run('s.db', workers=2)\n"
    )
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert 'under if __name__ == "__main__"' in done.stderr


def test_what_workers_are_handed_is_what_the_study_has(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.25))
    for study in (own_study(), Study(cohort(), group="sex", learner=pipeline, seeds=2)):
        write(tmp_path, WorkerInput(study.work, study.labels, StoreAccess("s.db", "plan", tmp_path), 3, 17))
        handed = read(tmp_path)
        assert handed.store == StoreAccess("s.db", "plan", str(tmp_path))
        assert (handed.threads, handed.parent) == (3, 17)
        assert handed.labels.digest == study.labels.digest
        assert handed.work.stacks == study.work.stacks
        for mine, theirs in zip(study.work.outcomes(study.trials()), handed.work.outcomes(study.trials()), strict=True):
            assert mine.failure is None
            assert theirs.failure is None
            assert np.array_equal(mine.test.values, theirs.test.values)
        if not study.functions:
            (made,) = handed.work.learners.values()
            assert repr(made["estimator"]) == repr(pipeline)


def test_workers_are_handed_no_pickle(tmp_path: Path) -> None:
    study = own_study()
    write(tmp_path, WorkerInput(study.work, study.labels, StoreAccess("s.db", "plan"), 1, 1))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["work.json", "work.safetensors"]
    sources = Path(workers.__file__).parents[2].rglob("*.py")
    texts = {file.name: file.read_text() for file in sources}
    users = [name for name, text in texts.items() if "import pickle" in text or "from pickle" in text]
    # One reader takes tables apart that others pickled, by names from an exact list, and calls none of them.
    assert users == ["_pickles.py"]
    assert set(re.findall(r"pickle\.\w+", texts["_pickles.py"])) == {"pickle._Unpickler"}


def test_every_part_of_the_work_of_own_functions_reaches_the_workers(tmp_path: Path) -> None:
    study = own_study(performance="auc")
    made = replace(
        study.work, undrawn={"draw": "why"}, learners={"one": {"C": 0.5}}, checkpoints="folder",
        partitions={"draw": np.array([0, 1])}, keep_models=True,
    )  # fmt: skip
    write(tmp_path, WorkerInput(made, study.labels, StoreAccess("s.db", "plan"), 1, 1))
    handed = read(tmp_path).work
    for part in fields(OwnWork):
        mine, theirs = getattr(made, part.name), getattr(handed, part.name)
        assert repr(mine) != repr(part.default), f"{part.name} is set, so that losing it is seen"
        np.testing.assert_equal(plain(theirs), plain(mine), err_msg=part.name)


def plain(value: Any) -> Any:
    """Return dataclasses and mappings as dictionaries, which numpy compares part by part."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def test_what_keeps_workers_from_starting_is_named(tmp_path: Path) -> None:
    people = cohort()
    dated = np.array(["2020-01-01"] * len(people), dtype="datetime64[D]")
    study = own_study()
    object.__setattr__(study.work, "cohort", replace(study.work.cohort, columns={**people.columns, "day": dated}))
    with pytest.warns(UserWarning, match=r"The column 'day' holds values .* One worker runs here\."):
        run_in_store(study, tmp_path / "s.db", workers=2)
    assert study.status(tmp_path / "s.db").done == 4
