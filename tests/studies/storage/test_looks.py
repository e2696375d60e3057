"""Looks at a study: each reading of verdicts with data of its own is remembered, once, and divides the threshold."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import Cohort, Study
from equipoise.studies import StudyResult
from equipoise.studies.findings._reading import counted_looks
from equipoise.studies.storage import Look, digest_of, open_store, remember_look
from helpers.cases.plan import cohort


def guess(cohort: Cohort, seed: int, arm: int) -> tuple[np.ndarray, np.ndarray]:
    """Predict by chance, the second arm a little differently."""
    generator = np.random.default_rng([seed, arm])
    sizes = [int((cohort["split"] == split).sum()) for split in ("dev", "test")]
    return tuple(generator.choice(["no", "yes"], size) for size in sizes)  # type: ignore[return-value]


def made(seeds: int, **how: Any) -> Study:
    return Study(cohort(), group="sex", train=guess, version=1, hyper={"arm": [0, 1]}, seeds=seeds, name="looks", **how)


def ran(where: Path, seeds: int, **how: Any) -> StudyResult:
    found = made(seeds, **how).run(where)
    assert found is not None
    return found


def test_a_study_that_is_extended_after_its_verdicts_were_read_is_judged_more_strictly(tmp_path: Path) -> None:
    where = tmp_path / "study.db"
    first = ran(where, 4)
    assert first.looks is not None
    assert (first.looks.number, first.looks.recorded) == (1, True)
    assert not any("times with different data" in words for words in first.words)
    second = ran(where, 6)
    assert second.looks is not None
    assert second.looks.number == 2
    assert [look.seeds for look in second.looks.looks] == [4, 6]
    levels = [{record.level for record in one.records if record.level is not None} for one in (first, second)]
    tests = [sum(record.p is not None and record.p == record.p for record in one.records) for one in (first, second)]
    assert not any(record.verdict in ("lower", "higher") for record in first.records)
    assert [len(level) for level in levels] == [1, 1]
    assert levels[0].pop() == pytest.approx(0.05 / tests[0])
    assert levels[1].pop() == pytest.approx(0.025 / tests[1])
    [told] = [words for words in second.words if "times with different data" in words]
    assert "read 2 times with different data (seeds: 4, 6;" in told
    assert "decided at 0.025 instead of 0.05" in told
    assert second.provenance["options"]["looks"] == 2  # type: ignore[index]


def test_the_same_data_read_twice_is_one_look(tmp_path: Path) -> None:
    where = tmp_path / "study.db"
    ran(where, 4)
    for _ in range(3):
        again = made(4).result(where)
        assert again.looks is not None
        assert again.looks.number == 1
    with open_store(where, create=False) as store:
        assert len(store.looks("looks")) == 1
        assert store.looks("look") == ()


def test_only_looks_with_more_to_read_than_before_are_counted() -> None:
    a, b, part = Look("a", 1.0, 4, 40), Look("b", 2.0, 6, 60), Look("part", 3.0, 6, 59)
    assert counted_looks([], a) == [a]
    assert counted_looks([a], b) == [a, b]
    assert counted_looks([a, b], part) == [a, b], "a part of what was read before adds nothing"
    assert counted_looks([a, b, part], replace(b, at=9.0)) == [a, b]
    assert counted_looks([b, part], replace(b, at=9.0)) == [b], "what was damaged is there again"
    other = Look("other", 4.0, 6, 60)
    assert counted_looks([a, b], other) == [a, b, other], "as many, but other trials"


def test_a_store_that_may_only_be_read_is_reported_and_says_so(tmp_path: Path) -> None:
    where = tmp_path / "study.db"
    ran(where, 4)
    closed = tmp_path / "closed"
    closed.mkdir()
    shutil.copy(where, closed / "study.db")
    os.chmod(closed / "study.db", stat.S_IRUSR)
    os.chmod(closed, stat.S_IRUSR | stat.S_IXUSR)
    if os.access(closed / "study.db", os.W_OK):
        pytest.skip("whoever runs this may write anywhere")
    try:
        found = made(4).result(closed / "study.db")
    finally:
        os.chmod(closed, stat.S_IRWXU)
    assert found.looks is not None
    assert not found.looks.recorded
    assert any("not counted among the looks" in note for note in found.notes)


def test_a_look_that_cannot_be_written_down_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = tmp_path / "study.db"
    made(4).run(where)
    monkeypatch.setattr("equipoise.studies.findings._reading.remember_look", lambda *_: False)
    found = made(4).result(where)
    assert found.looks is not None
    assert not found.looks.recorded
    assert any("not counted among the looks" in note for note in found.notes)
    assert not remember_look(tmp_path / "nothing.db", "looks", Look("x", 0.0, 1, 1))


def _look(where: str, number: int) -> bool:
    return remember_look(where, "crowd", Look(digest_of([str(number % 3)]), float(number), number, number))


@pytest.mark.long
def test_many_readers_at_once_are_all_remembered(tmp_path: Path) -> None:
    where = tmp_path / "study.db"
    ran(where, 3)
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert all(pool.starmap(_look, [(str(where), number) for number in range(24)]))
    with open_store(where, create=False) as store:
        assert len(store.looks("crowd")) == 3


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_store_remembers_looks_and_stays_as_it_is(tmp_path: Path, version: int) -> None:
    where = tmp_path / "old.db"
    shutil.copy(Path(__file__).parent / "stores" / f"version-{version}.store", where)
    assert remember_look(where, "old", Look("d", 1.0, 5, 50))
    with sqlite3.connect(where) as connection:
        [(found,)] = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchall()
        [(value,)] = connection.execute("SELECT value FROM meta WHERE name LIKE 'look at %'").fetchall()
    connection.close()
    assert int(found) == version
    assert json.loads(value)["seeds"] == 5
    assert not list(tmp_path.glob("*backup*")), "nothing is carried forward by a report"


def test_a_margin_counts_as_recorded_only_before_the_first_look(tmp_path: Path) -> None:
    early = ran(tmp_path / "early.db", 4, equivalence_margin=0.2)
    assert {record.margin_recorded for record in early.records if record.margin is not None} == {True}
    where = tmp_path / "late.db"
    ran(where, 4)
    at_report = made(4).result(where, equivalence_margin=0.2)
    assert {record.margin_recorded for record in at_report.records if record.margin is not None} == {False}
    assert any("not recorded before results were read" in words for words in at_report.words)
    later = ran(where, 6, equivalence_margin=0.2)
    assert {record.margin_recorded for record in later.records if record.margin is not None} == {False}


def test_a_report_without_verdicts_is_no_look(tmp_path: Path) -> None:
    alone = Study(cohort(), group="sex", train=guess, version=1, hyper={"arm": [0]}, seeds=3, name="alone")
    found = alone.run(tmp_path / "study.db")
    assert found is not None
    assert found.looks is None
    with open_store(tmp_path / "study.db", create=False) as store:
        assert store.looks("alone") == ()
