"""Shares that are taken inside each class, and a study of minoritised classes that uses them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import Cohort, Study
from equipoise.foundation import BadInput
from equipoise.studies import read_plan
from equipoise.studies.plans import with_splits
from helpers.running import Program

LEARNER = {"name": "scikit_learn"}


def birds(sizes: list[int], tests: int = 2, **roles: Any) -> Cohort:
    label = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.tile(np.arange(len(sizes)), tests)])
    split = ["train"] * sum(sizes) + ["test"] * (tests * len(sizes))
    return Cohort(
        name="birds",
        columns={
            "class": np.array([f"bird {one:02d}" for one in label], dtype=object),
            "colour": np.array([("red", "blue")[one % 2] for one in label], dtype=object),
            "pair": np.arange(len(label)) // 2,
            "x": np.random.default_rng(0).normal(size=len(label)),
            "split": np.array(split, dtype=object),
        },
        target="class",
        groups=("colour",),
        features=("x",),
        split="split",
        **roles,
    )


def counted(cohort: Cohort, split: str) -> Counter[str]:
    assert cohort.split is not None
    return Counter(cohort["class"][cohort[cohort.split] == split].tolist())


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8), share=st.sampled_from([0.05, 0.2, 0.5, 0.9]))
def test_every_class_gives_its_share_at_least_one_of_two_and_never_all(sizes: list[int], share: float) -> None:
    if max(sizes) < 2:
        sizes = [*sizes, 2]
    made = with_splits(birds(sizes), dev=share, within="class")
    dev, train = counted(made, "dev"), counted(made, "train")
    for index, size in enumerate(sizes):
        name = f"bird {index:02d}"
        expected = 0 if size < 2 else min(max(round(share * size), 1), size - 1)
        assert (dev[name], train[name]) == (expected, size - expected)
    assert counted(made, "test") == counted(birds(sizes), "test")


def test_the_rows_hang_on_the_seed_and_no_class_moves_what_another_gives() -> None:
    one, same, other = (with_splits(birds([20, 20, 20]), dev=0.2, seed=seed, within="class") for seed in (0, 0, 1))
    fewer = with_splits(birds([20, 20]), dev=0.2, seed=0, within="class")
    chosen = [np.flatnonzero(made[str(made.split)] == "dev") for made in (one, same, other, fewer)]
    assert np.array_equal(chosen[0], chosen[1])
    assert not np.array_equal(chosen[0], chosen[2])
    assert np.array_equal(chosen[0][chosen[0] < 40], chosen[3])


def test_without_it_the_share_is_one_of_all_rows_as_before() -> None:
    plain, told = with_splits(birds([20, 20, 20]), dev=0.2), with_splits(birds([20, 20, 20]), dev=0.2, within=None)
    assert plain[str(plain.split)].tolist() == told[str(told.split)].tolist()
    assert sum(counted(plain, "dev").values()) == 12
    assert len(set(counted(plain, "dev").values())) > 1  # as chance has it


def test_no_cluster_is_parted_and_one_stays_to_be_learnt_from() -> None:
    made = with_splits(birds([20, 6, 2, 4], cluster="pair"), dev=0.9, within="class")
    split = made[str(made.split)]
    for pair in np.unique(made["pair"]):
        assert len(set(split[made["pair"] == pair])) == 1
    assert counted(made, "train") == {"bird 00": 2, "bird 01": 2, "bird 02": 2, "bird 03": 2}
    assert counted(made, "dev") == {"bird 00": 18, "bird 01": 4, "bird 03": 2}


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"dev": 0.2, "within": "group"}, "within 'group' not found"),
        ({}, {"within": "class"}, "(?s)no share is given.*dev = 0.2"),
        (
            {"task": "regression", "target": "x", "features": ()},
            {"dev": 0.2, "within": "class"},
            "is a regression task",
        ),
        ({"cluster": "colour"}, {"dev": 0.2, "within": "class"}, "one colour has rows of several classes"),
    ],
)
def test_what_cannot_be_taken_inside_classes_is_refused(
    change: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        with_splits(replace(birds([4, 4, 4]), **change), **options)


def test_classes_of_one_row_each_give_nothing() -> None:
    with pytest.raises(BadInput, match="none has two separable training rows"):
        with_splits(birds([1, 1, 1]), dev=0.2, within="class")


def study(seeds: Any = 4, **options: Any) -> Study:
    conditions = [{"name": "minoritised", "degree": [0.5, 0.7, 0.9], "classes": 3}]
    return Study(
        birds([30] * 11 + [24]), conditions=conditions, learner=LEARNER, seeds=seeds, dev=0.2, split_within="class",
        **options,
    )  # fmt: skip


def test_a_study_draws_other_classes_with_every_seed_and_equally_many_rows() -> None:
    made = study()
    drawing = made.drawing
    assert drawing.size == drawing.largest == 177  # the class of 24 keeps 19: 9 x 19 + 3 x 19 / 9
    partitions = set()
    for seed in made.seeds:
        kinds = drawing.partition(2, seed)
        assert kinds is not None
        assert kinds == drawing.partition(0, seed)
        partitions.add(kinds)
        for index, degree in enumerate((0.5, 0.7, 0.9)):
            rows = drawing.rows(index, seed)
            assert len(rows) == len(set(rows.tolist())) == drawing.size
            numbers = np.bincount(drawing.cells.class_codes[rows], minlength=12)
            weights = np.where(np.array(kinds) == "minoritised", 1 - degree, degree)
            assert (np.abs(numbers - drawing.size * weights / weights.sum()) < 1).all()
    assert len(partitions) == len(made.seeds)


def test_more_seeds_keep_the_trials_that_are_there() -> None:
    few, more = ({trial.key for trial in study(seeds).trials()} for seeds in (2, 6))
    assert few < more


def test_a_plan_says_it_and_check_tells_what_was_possible(equipoise: Program, tmp_path: Path) -> None:
    cohort = birds([12] * 8)
    names = ("class", "colour", "x", "split")
    lines = [",".join(names), *(",".join(str(cohort[name][row]) for name in names) for row in range(len(cohort)))]
    (tmp_path / "birds.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'seeds = 2\n[cohort]\nfile = "birds.csv"\ntarget = "class"\ngroups = "colour"\nfeatures = "x"\n'
        'split = "split"\ndev = 0.25\nsplit_within = "class"\n'
        '[[conditions]]\nname = "minoritised"\ndegree = [0.5, 0.8]\nclasses = 2\n[learner]\nname = "scikit_learn"\n',
        encoding="utf-8",
    )
    made = read_plan(plan).study()
    assert set(counted(made.cohort, "dev").values()) == {3}
    shown = equipoise("study", "check", str(plan))
    assert "80-20, 2 classes minoritised: of 8 classes 2 are minoritised, others with every seed." in shown.out
    assert "Each gets 2 rows and each majoritised class 9, of 9 that a class has" in shown.out
    plan.write_text(plan.read_text().replace('"class"\n[[', '"colour"\n[['), encoding="utf-8")
    with pytest.raises(BadInput, match=r"(?s)plan.toml.*split_within"):
        read_plan(plan)
