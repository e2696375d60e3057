"""``equipoise study``: check, run, status, report, export, pack, merge and worker, as a user calls them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from equipoise.cohorts import open_table
from helpers.cases.plan import PLAN, columns, write_people, write_plan
from helpers.running import Program

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_plan(tmp_path)


def test_a_study_from_check_to_export(equipoise: Program, plan: Path) -> None:
    checked = equipoise("study", "check", plan)
    assert checked.code == 0, checked.err
    assert "16 trials in 4 stacks" in checked.out
    assert "The time is known once a trial is done" in checked.out
    assert "CB" not in checked.err
    assert not plan.with_suffix(".db").exists(), "a check makes no store"
    probed = equipoise("study", "check", plan, "--probe")
    assert "Based on one epoch of each treatment, it takes at most" in probed.out

    assert equipoise("study", "status", plan).code == 2, "there is no store yet"
    ran = equipoise("study", "run", plan)
    assert ran.code == 0, ran.err
    assert "16 of 16 trials are done" in ran.out
    assert f"equipoise study report {plan}" in ran.out.replace("\n", "")
    status = equipoise("study", "status", plan)
    assert "CB alpha 0; untreated" in status.out
    assert "16 of 16 trials are done" in status.out
    assert "Every trial is done." in equipoise("study", "check", plan).out
    assert equipoise("study", "run", plan, "--quiet").out == ""
    helped = equipoise("study", "worker", plan, "--quiet")
    assert (helped.code, helped.out) == (0, "")

    table = plan.with_name("trials.csv")
    exported = equipoise("study", "export", plan, table, "--measures", "DP")
    assert exported.code == 0, exported.err
    with open(table, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({row["key"] for row in rows}) == 16
    assert {row["split"] for row in rows} == {"dev", "test"}
    assert {"accuracy", "DP"} <= {row["metric"] for row in rows}
    assert equipoise("study", "export", plan, plan.with_name("trials.parquet")).code == 0
    frame = open_table(plan.with_name("trials.parquet")).collect()
    assert set(frame["treatment"].to_list()) == {"untreated", "reweighting"}
    assert equipoise("study", "export", plan, plan.with_name("trials.xlsx")).code == 2


def test_a_pack_goes_out_and_its_trials_come_home(equipoise: Program, plan: Path) -> None:
    folder, out = plan.with_name("packed"), plan.with_name("out")
    assert equipoise("study", "pack", plan, folder).code == 0
    refused = equipoise("study", "run", folder)
    assert refused.code == 2
    assert "--to DIR" in refused.err
    half = equipoise("study", "run", folder, "--to", out, "--part", "1/2")
    assert "8 trials were trained now" in half.out.replace("\n", "")
    assert equipoise("study", "run", plan, "--to", out, "--quiet").code == 0
    merged = equipoise("study", "merge", plan, out)
    assert "16 trials are new, 0 were already there." in merged.out
    (out / "torn.safetensors").write_bytes(b"123")
    again = equipoise("study", "merge", plan, out)
    assert again.code == 1
    assert "0 trials are new, 16 were already there." in again.out
    assert "torn.safetensors" in again.out
    assert "16 of 16 trials are done" in equipoise("study", "status", plan).out


def test_a_changed_plan_says_which_stored_trials_fit_and_what_differs(equipoise: Program, plan: Path) -> None:
    plan.write_text(SMALL, encoding="utf-8")
    assert equipoise("study", "run", plan, "--quiet").code == 0
    plan.write_text(SMALL.replace("size = 40", "size = 48"), encoding="utf-8")
    told = "0 of 2 stored trials fit this plan: size 40 -> 48"
    status = equipoise("study", "status", plan)
    assert "0 of 2 trials are done" in status.out
    assert told in status.err
    checked = equipoise("study", "check", plan)
    assert told in checked.out
    assert "Every trial is done" not in checked.out
    report = equipoise("study", "report", plan)
    assert report.code == 2
    assert told in " ".join(report.err.split())
    assert equipoise("study", "worker", plan).code == 2
    ran = equipoise("study", "run", plan)
    assert ran.code == 0
    assert told in ran.err
    assert "2 of 2 trials are done" in ran.out
    assert told not in equipoise("study", "status", plan).err, "nothing is missing any more"
    plan.write_text(SMALL, encoding="utf-8")
    assert "2 of 2 trials are done" in equipoise("study", "status", plan).out, "the earlier plan has its trials still"


SMALL = """schema = "equipoise.study-plan/1"
seeds = 2
size = 40

[cohort]
file = "people.csv"
target = "hired"
groups = ["sex"]
split = "split"

[learner]
name = "mlp"
width = 4
epochs = 2
batch_size = 32
"""


def test_what_is_wrong_is_told_in_words(equipoise: Program, plan: Path) -> None:
    plan.write_text(PLAN.replace('"reweighting"', '"reweigthing"'), encoding="utf-8")
    line = PLAN.splitlines().index('name = "reweighting"') + 1
    for command in ("check", "run", "report"):
        ended = equipoise("study", command, plan)
        assert ended.code == 2
        assert f"plan.toml, line {line} (treatments 2, name): treatment 'reweigthing' not found" in ended.err
        assert "did you mean 'reweighting'" in ended.err
    assert equipoise("study", "check", plan.with_name("nothing.toml")).code == 2
    plan.write_text(PLAN, encoding="utf-8")
    assert equipoise("study", "run", plan, "--workers", "0").code == 2
    assert equipoise("study", "run", plan, "--to", plan).code == 2
    assert equipoise("study", "merge", plan, plan.with_name("nothing")).code == 2
    plan.with_suffix(".db").write_text("this is no database, but a text that is long enough " * 20, encoding="utf-8")
    ended = equipoise("study", "run", plan)
    assert ended.code == 2
    assert "is not a store" in ended.err


def test_a_changed_file_and_a_condition_without_rows_are_told(equipoise: Program, plan: Path) -> None:
    assert equipoise("study", "run", plan, "--quiet").code == 0
    write_people(plan.with_name("people.csv"), seed=3)
    ended = equipoise("study", "run", plan)
    assert ended.code == 2
    assert "have changed" in ended.err
    told = equipoise("study", "report", plan)
    assert told.code == 2
    assert "trained on other data" in told.err
    assert equipoise("study", "run", plan, "--store", plan.with_name("new.db"), "--quiet").code == 0

    data = columns()
    kept = [row for row in zip(*data.values(), strict=True) if not (row[3] == "F" and row[5] == "yes")]
    with open(plan.with_name("people.csv"), "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(data), *kept])
    ended = equipoise("study", "check", plan)
    assert ended.code == 1
    assert ": it is not possible: there are no rows of yes / F" in ended.out.replace("\n", " ")
    assert equipoise("study", "run", plan, "--store", plan.with_name("empty.db"), "--quiet").code == 0
    again = equipoise("study", "run", plan, "--store", plan.with_name("empty.db"))
    assert "Why they failed: equipoise study status" in again.out
    status = equipoise("study", "status", plan, "--store", plan.with_name("empty.db"))
    assert "8 failed" in status.out
    assert "cannot be drawn" in status.out


def test_ctrl_c_is_told_and_gives_leases_back(equipoise: Program, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("equipoise.studies.running._work.Work.outcomes", interrupted)
    ended = equipoise("study", "run", plan)
    assert ended.code == 130
    assert "what is recorded is kept" in ended.err
    status = equipoise("study", "status", plan).out
    assert "0 of 16 trials are done" in status
    assert "running" not in status.splitlines()[-1]


def test_a_report_is_read_from_the_store(equipoise: Program, plan: Path) -> None:
    assert equipoise("study", "run", plan, "--quiet").code == 0
    target, summary = plan.with_name("report.json"), plan.with_name("report.md")
    ended = equipoise(
        "study", "report", plan, "--json", target, "--markdown", summary, "--measures", "DP", "--quiet"
    )  # fmt: skip
    assert (ended.code, ended.out) == (0, "")
    said = json.loads(target.read_text(encoding="utf-8"))
    assert said["schema"] == "equipoise.study/2"
    assert {record["alias"] for record in said["records"]} >= {"DP"}
    assert summary.read_text(encoding="utf-8").startswith("# Study of ")


def test_what_is_too_large_for_the_store_goes_to_the_folder_that_is_named(
    equipoise: Program, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def files(folder: Path) -> int:
        return sum(path.is_file() for path in folder.rglob("*"))

    monkeypatch.setattr("equipoise.studies.storage._artefacts.MOST_IN_DATABASE", 10)
    folder, home, out = (plan.with_name(name) for name in ("large", "home", "out"))
    assert equipoise("study", "run", plan, "--artefacts", folder, "--quiet").code == 0
    assert files(folder) >= 32, "dev and test of 16 trials"
    assert not list(plan.parent.glob("*.artefacts"))
    report = plan.with_name("report.json")
    assert equipoise("study", "report", plan, "--artefacts", folder, "--json", report, "--quiet").code == 0
    assert "predictions were not kept" not in report.read_text(encoding="utf-8")
    with pytest.warns(UserWarning, match="name it with --artefacts"):
        assert equipoise("study", "report", plan, "--json", report, "--quiet").code == 0
    assert "predictions were not kept" in report.read_text(encoding="utf-8")
    table = plan.with_name("trials.csv")
    assert equipoise("study", "export", plan, table, "--artefacts", folder, "--quiet").code == 0

    assert equipoise("study", "run", plan, "--to", out, "--quiet").code == 0
    others = ("--store", plan.with_name("others.db"), "--artefacts", home, "--quiet")
    assert equipoise("study", "merge", plan, out, *others).code == 0
    assert files(home) == files(folder)


def test_scores_that_a_study_by_the_auc_needs_cannot_be_left_out(equipoise: Program, plan: Path) -> None:
    plan.write_text('performance = "auc"\n' + plan.read_text(encoding="utf-8"), encoding="utf-8")
    out, packed = plan.with_name("out"), plan.with_name("packed")
    assert equipoise("study", "pack", plan, packed, "--quiet").code == 0
    for what in (plan, packed):
        ended = equipoise("study", "run", what, "--to", out, "--no-scores")
        assert ended.code == 2
        assert "leave out --no-scores" in ended.err
        assert not out.exists()


def test_a_worker_and_workers_use_the_folder_that_is_named(
    equipoise: Program, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from equipoise.studies import read_plan
    from equipoise.studies.running import _workers as workers
    from equipoise.studies.running import enter
    from equipoise.studies.storage import open_store

    folder, store = plan.with_name("large"), plan.with_suffix(".db")
    shared = []
    monkeypatch.setattr(workers, "run_workers", lambda work, truth, store, place, *given: shared.append(place))
    assert equipoise("study", "run", plan, "--artefacts", folder, "--workers", "2", "--quiet").code == 0
    study = read_plan(plan).study()
    assert shared == [workers.StoreAccess(str(store), study.plan_key, folder)]

    monkeypatch.setattr("equipoise.studies.storage._artefacts.MOST_IN_DATABASE", 10)
    with open_store(store, plan=study.plan_key) as opened:
        enter(study, opened)
    assert equipoise("study", "worker", plan, "--artefacts", folder, "--quiet").code == 0
    assert sum(path.is_file() for path in folder.rglob("*")) >= 32


def test_a_worker_keeps_checkpoints_where_the_study_does(
    equipoise: Program, plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from equipoise.studies import read_plan
    from equipoise.studies.running import enter
    from equipoise.studies.storage import open_store

    folders: list[str | None] = []
    monkeypatch.setattr(
        "equipoise.studies.running._running.work_through", lambda work, *_, **__: folders.append(work.checkpoints)
    )
    study, store = read_plan(plan).study(), plan.with_suffix(".db")
    with open_store(store, plan=study.plan_key) as opened:
        enter(study, opened)
    for command in ("run", "worker"):
        assert equipoise("study", command, plan, "--quiet").code == 0
    assert folders == [f"{store}.checkpoints"] * 2
