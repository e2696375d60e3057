"""A study that trains on a bare machine: packed without test labels, trained without a store, merged at home."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import Study
from equipoise.foundation import BadInput
from equipoise.studies import read_plan
from equipoise.studies.running import Standing, enter, run_in_store
from equipoise.studies.running._folder import files_of, part_of, run_to_folder, written_keys
from equipoise.studies.running._packing import DESCRIPTION, TENSORS, is_pack, pack, unpack
from helpers.cases.plan import cohort, threshold, write_plan

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")

from equipoise.studies.running import merge
from equipoise.studies.storage import open_store

# What a bare compute node lacks. (typer and rich too: then the command line has one command.)
BARE = ("duckdb", "sqlalchemy", "altair", "pydantic", "typer", "rich", "jinja2", "vl_convert", "optuna", "pandas")
NODE = """
import sys
for name in {bare!r}:
    sys.modules[name] = None
from equipoise.cli import main
sys.argv = ["equipoise", *sys.argv[1:]]
main()
"""


def on_a_bare_node(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", NODE.format(bare=BARE), *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plan(tmp_path_factory.mktemp("plan"))


@pytest.fixture(scope="module")
def packed(plan: Path) -> Path:
    return pack(read_plan(plan).study().work, plan.parent / "packed")


def test_a_pack_says_what_the_study_is_and_holds_no_test_labels(plan: Path, packed: Path) -> None:
    work, again = read_plan(plan).study().work, unpack(packed)
    assert [stack.keys for stack in again.stacks] == [stack.keys for stack in work.stacks]
    assert sorted(path.name for path in packed.iterdir()) == sorted([DESCRIPTION, TENSORS])
    assert is_pack(packed)
    for split in ("train", "dev", "test"):
        one, other = getattr(work.dataset, split), getattr(again.dataset, split)
        assert np.array_equal(one.inputs, other.inputs)
        assert np.array_equal(one.ids, other.ids)
    assert again.dataset.test.target is again.dataset.test.group is again.dataset.test.cell is None
    assert np.array_equal(again.dataset.train.target, work.dataset.train.target)
    assert all(np.array_equal(again.draws[name], rows) for name, rows in work.draws.items())
    assert again.jobs(work.stacks[0].trials)[0].learner == work.jobs(work.stacks[0].trials)[0].learner
    assert again.about == work.about


def test_a_bare_node_trains_what_home_would_have_trained(plan: Path, packed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = on_a_bare_node("study", "run", packed, "--to", out)
    assert done.returncode == 0, done.stderr
    assert "16 trials were trained now" in done.stdout
    refused = on_a_bare_node("study", "check", plan)
    assert refused.returncode == 2
    assert "equipoise study run DIR --to OUT" in refused.stderr
    study = read_plan(plan).study()
    run_in_store(study, tmp_path / "home.db")
    merged, home = tmp_path / "merged.db", tmp_path / "home.db"
    with open_store(merged, plan="plan") as store, open_store(home, plan="plan") as trained_here:
        enter(study, store)
        assert len(merge(out, store, study.labels).new) == 16
        second = merge(out, store, study.labels)
        assert (len(second.new), len(second.existing)) == (0, 16)
        assert store.status().done == 16
        for split in ("dev", "test"):
            assert np.array_equal(store.readouts(split).counts, trained_here.readouts(split).counts)
        (environment,) = store.environments().values()
        assert environment["cohort"] == "people"
    run_in_store(study, tmp_path / "merged.db")  # nothing is left
    assert study.status(tmp_path / "merged.db").total == 16


def test_files_that_are_there_are_not_trained_again_and_parts_share_the_work(plan: Path, tmp_path: Path) -> None:
    work = read_plan(plan).study().work
    told: list[Standing] = []
    first = run_to_folder(work, tmp_path / "out", part=(1, 2), watcher=told.append)
    assert told[0].seconds_left is None
    assert told[-1].done == first == told[-1].total
    before = {path: path.stat().st_mtime_ns for path in files_of(tmp_path / "out")}
    second = run_to_folder(work, tmp_path / "out", part=(2, 2))
    assert first + second == 16
    assert run_to_folder(work, tmp_path / "out", watcher=told.append) == 0
    assert told[-1].done == 16
    assert {path: path.stat().st_mtime_ns for path in before} == before
    next(iter(before)).unlink()
    assert run_to_folder(work, tmp_path / "out") == 1
    assert len(written_keys(tmp_path / "out")) == 16


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="from 1/4 to 4/4"):
        part_of(text)


def test_what_cannot_be_packed_or_unpacked_is_refused(packed: Path, plan: Path, tmp_path: Path) -> None:
    own = Study(cohort(), group="sex", train=threshold, version=1, seeds=1)
    with pytest.raises(BadInput, match="cannot be packed"):
        pack(own.work, tmp_path / "own")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="is there already"):
        pack(read_plan(plan).study().work, tmp_path / "full")
    with pytest.raises(BadInput, match="is a file"):
        run_to_folder(own.work, tmp_path / "full" / "mine.txt")

    def broken(change: Any) -> Path:
        folder = tmp_path / "broken"
        folder.mkdir(exist_ok=True)
        for name in (DESCRIPTION, TENSORS):
            (folder / name).write_bytes((packed / name).read_bytes())
        change(folder)
        return folder

    with pytest.raises(BadInput, match="is not what was packed"):
        unpack(broken(lambda folder: (folder / TENSORS).write_bytes((packed / TENSORS).read_bytes()[:-10])))
    with pytest.raises(BadInput, match="cannot be read"):
        unpack(broken(lambda folder: (folder / TENSORS).unlink()))
    with pytest.raises(BadInput, match="cannot be read"):
        unpack(broken(lambda folder: (folder / DESCRIPTION).write_text("{", encoding="utf-8")))
    said = {**json.loads((packed / DESCRIPTION).read_text(encoding="utf-8")), "schema": "equipoise.study-pack/9"}
    with pytest.raises(BadInput, match="packed by another version"):
        unpack(broken(lambda folder: (folder / DESCRIPTION).write_text(json.dumps(said), encoding="utf-8")))
