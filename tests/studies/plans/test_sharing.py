"""Trials that differ in their readouts alone: one training, one stack, keys of their own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput, Study
from equipoise.cohorts import Cohort
from equipoise.studies import Trial
from equipoise.studies.plans import (
    Named,
    cells_of,
    stacked,
    trainings_of,
)
from equipoise.studies.plans._naming import kind_of, unread
from equipoise.studies.running import pack, run_to_folder, unpack
from equipoise.studies.running._running import SEPARATE_STACKS, cell_labels, run_in_store, trained
from equipoise.testing import planted_pictures
from helpers.cases.plan import cohort

LEARNER = {"name": "image_network", "network": "small", "epochs": 1, "batch_size": 20, "augmentation": False}
READOUTS = ("sum", "max_prior_shift", "rba")
TREATMENTS = [
    "untreated",
    {"name": "domain_discriminative", "readout": list(READOUTS)},
    {"name": "domain_independent", "readout": ["known_domain", "sum"]},
]


def pictures() -> Cohort:
    """The planted pictures as a cohort."""
    made = planted_pictures(rows=80)
    parts = {name: getattr(made.dataset, name) for name in ("train", "dev", "test")}
    truth = {name: (rows.cell, rows.group) for name, rows in parts.items()} | {
        "test": (made.test_target, made.test_group)
    }
    return Cohort(
        name="pictures",
        columns={
            "image": np.concatenate([rows.inputs for rows in parts.values()]),
            "class": np.array(["no", "yes"])[np.concatenate([target for target, _ in truth.values()])],
            "colour": np.array(["blue", "red"])[np.concatenate([group for _, group in truth.values()])],
            "split": np.repeat(list(parts), [len(rows) for rows in parts.values()]),
        },
        target="class", groups=("colour",), features=("image",), split="split",
    )  # fmt: skip


def study(**changes: Any) -> Study:
    given = {"treatments": TREATMENTS, "learner": LEARNER, "seeds": 2, "repeats": 2, "stack": 3, **changes}
    return Study(pictures(), **given)


def trial(seed: int, repeat: int = 0, **settings: Any) -> Trial:
    given = Named("uniform_confusion" if "strength" in settings else "domain_discriminative", 1, settings)
    return Trial(
        "sha256:1", ("sex",), Named("as_given", 1), 100, Named("image_network", 1, {}), (given,), seed, repeat,
        "native", "float32", "cpu", "dto",
    )  # fmt: skip


def test_every_readout_is_a_trial_with_a_key_of_its_own_and_all_of_a_training_stand_in_one_stack() -> None:
    made = study()
    assert len({one.key for one in made.trials()}) == len(made.trials()) == (1 + 3 + 2) * 2 * 2
    stacks = made.stacks()
    assert Counter(key for stack in stacks for key in stack.keys) == Counter(one.key for one in made.trials())
    where = {key: stack.number for stack in stacks for key in stack.keys}
    for cell in cells_of(made.trials()):
        for training in trainings_of(cell):
            assert len({(one.seed, one.repeat) for one in training}) == 1
            assert len({where[one.key] for one in training}) == 1
    # Four trainings a cell, at most three together: stacks of two trainings, whatever they are read in.
    assert sorted(len(stack) for stack in stacks) == [2, 2, 4, 4, 6, 6]
    assert list(cell_labels(made).values()) == [
        "as given; untreated", "as given; domain_discriminative", "as given; domain_independent",
    ]  # fmt: skip


def test_largest_counts_trainings() -> None:
    trials = [trial(seed, readout=readout) for readout in READOUTS for seed in range(5)]
    (cell,) = cells_of(trials)
    stacks = stacked([cell], lambda alike: 2)
    assert [[(one.seed, one.treatments[0].settings["readout"]) for one in stack.trials] for stack in stacks] == [
        [(seed, readout) for seed in seeds for readout in READOUTS] for seeds in ((0,), (1, 2), (3, 4))
    ]


def test_a_number_that_scales_is_another_training_of_the_same_cell_and_one_that_shapes_another_cell() -> None:
    trials = [
        trial(0, strength=1.0, longer=2.5),
        trial(0, strength=2.0, longer=2.5),
        trial(0, strength=1.0, longer=1.0),
    ]
    cells = cells_of(trials)
    assert [len(cell) for cell in cells] == [2, 1]
    assert [len(trainings_of(cell)) for cell in cells] == [2, 1]


def test_a_treatment_is_named_without_its_readouts_where_it_names_a_training() -> None:
    first, other = (Named("domain_discriminative", 1, {"readout": one}) for one in ("sum", "rba"))
    assert unread(first) == unread(other) == Named("domain_discriminative", 1, {})
    assert kind_of(first) == kind_of(other)
    plain = Named("reweighting", 1, {"balance": "joint"})
    assert unread(plain) == plain
    assert kind_of(plain) != kind_of(Named("reweighting", 1, {"balance": "stratified_y"}))
    own = Named("somebodys_function", 1, {"readout": "x"})
    assert unread(own) == own


def test_keys_of_trials_without_readouts_are_what_they_were() -> None:
    plain = Trial(
        cohort="sha256:1", groups=("sex",), condition=Named("interpolation", 1, {"mode": "joint", "alpha": 1.0}),
        size=100, learner=Named("mlp", 1, {"width": 300}), treatments=(Named("adversarial", 1, {"strength": 0.5}),),
        seed=3, repeat=1, rounding="native", precision="float32", device="cpu", selection="dto",
    )  # fmt: skip
    # Made before there were readouts.
    assert plain.key == "185313ab8368a6fef62dd7265ec156ff"


def test_a_training_is_trained_once_and_read_in_all_its_ways_in_a_store_and_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    from equipoise.studies.storage import open_store
    from equipoise.training.images import _side_by_side as side_by_side

    built: list[int] = []
    before = side_by_side.Run

    def counted(trial: Any, *rest: Any) -> Any:
        built.append(trial.seed)
        return before(trial, *rest)

    monkeypatch.setattr(side_by_side, "Run", counted)
    made = study(repeats=1)
    run_in_store(made, tmp_path / "study.db")
    assert len(made.trials()) == 12
    assert Counter(built) == {0: 3, 1: 3}
    with open_store(str(tmp_path / "study.db"), plan=made.name) as store:
        kept = store.trials()
        assert {one.state for one in kept} == {"done"}
        read = [one for one in kept if one.trial.treatment == "domain_discriminative"]
        assert {note for one in read for note in one.notes if "was read in 3 ways" in note}
        assert {one.cell for one in read} == {"as given; domain_discriminative"}
        assert [(cell.cell, cell.done) for cell in store.status().cells] == [
            ("as given; untreated", 2), ("as given; domain_discriminative", 6), ("as given; domain_independent", 4),
        ]  # fmt: skip

    # A technique costs its whole training, however many others were read from it.
    costs = {cell.treatment: cell.seconds for cell in made.result(tmp_path / "study.db").cells}
    whole = sum(one.seconds for one in read) / 2
    assert [costs[f"domain_discriminative: {way}"] for way in READOUTS] == pytest.approx([whole] * 3)

    built.clear()
    packed = unpack(pack(made.work, tmp_path / "pack"))
    assert [stack.keys for stack in packed.stacks] == [stack.keys for stack in made.stacks()]
    assert run_to_folder(packed, tmp_path / "out") == 12
    assert Counter(built) == {0: 3, 1: 3}


# What a learner lets act.


@pytest.mark.parametrize(
    ("learner", "treatment", "complaint"),
    [
        ("mlp", "parade", r"it has no loss of pairs or triplets.*learner = 'metric_learner' takes it"),
        (
            "mlp",
            "exponentiated_gradient",
            r"a reduction can refit.*learner = 'scikit_learn' takes it",
        ),
        ("image_network", "lfr", r"its inputs are pictures.*learner = '\w+' takes it"),
        ("metric_learner", "fairbatch", r"its batches are made up by class.*learner = '\w+' takes it"),
    ],
)
def test_a_treatment_that_the_learner_has_no_place_for_is_refused_before_anything_is_read(
    learner: str, treatment: str, complaint: str
) -> None:
    with pytest.raises(BadInput, match=f"(?s){complaint}") as refused:
        Study(cohort(), group="sex", learner=learner, treatments=["untreated", treatment])
    assert refused.value.path == ("treatments",)  # type: ignore[attr-defined]


def test_treatments_before_training_go_with_every_learner() -> None:
    for learner in ("mlp", "image_network", "scikit_learn"):
        chosen = {"name": "scikit_learn", "estimator": "sklearn.linear_model.LogisticRegression"}
        given = chosen if learner == "scikit_learn" else learner
        made = Study(cohort(), group="sex", learner=given, treatments=["untreated", "oversampling", "reweighting"])
        assert len(made.arms) == 3


def test_a_precision_in_which_the_learner_does_not_compute_is_refused() -> None:
    refused = r"(?s)'mlp' does not compute.*'float32', 'tf32', 'float64'.*learner = image_network"
    with pytest.raises(BadInput, match=refused):
        Study(cohort(), group="sex", precision="bfloat16")
    for precision in ("tf32", "bfloat16"):
        assert study(precision=precision).training_options.precision == precision
    assert Study(cohort(), group="sex", precision="tf32").training_options.precision == "tf32"


def test_a_training_that_a_killed_run_wrote_in_part_is_trained_again_for_all_its_readouts(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    made = study(seeds=1, repeats=1, treatments=TREATMENTS[1:])
    assert run_to_folder(made.work, tmp_path) == 5
    there = {path.stem: path.stat().st_mtime_ns for path in tmp_path.glob("*.safetensors")}
    discriminative = [one.key for one in made.trials() if one.treatments[0].name == "domain_discriminative"]
    (tmp_path / f"{discriminative[1]}.safetensors").unlink()
    assert run_to_folder(made.work, tmp_path) == 3
    again = {path.stem for path in tmp_path.glob("*.safetensors") if path.stat().st_mtime_ns != there.get(path.stem)}
    assert again == set(discriminative)


def test_a_readout_that_is_trained_after_the_others_says_that_its_network_is_another() -> None:
    pytest.importorskip("torch")
    made = study(seeds=1, repeats=1, treatments=TREATMENTS[1:2])
    *others, last = made.trials()
    assert all(SEPARATE_STACKS not in one.notes for one in trained(made.work, made.trials()))
    (alone,) = trained(made.work, [last])
    assert (alone.trial.key, alone.notes[-1]) == (last.key, SEPARATE_STACKS)
    assert all(one.notes[-1] == SEPARATE_STACKS for one in trained(made.work, others))


def test_under_deterministic_rounding_the_network_is_the_same() -> None:
    pytest.importorskip("torch")
    made = study(seeds=1, repeats=1, treatments=TREATMENTS[2:], rounding="deterministic")
    both, (alone,) = (trained(made.work, asked) for asked in (made.trials(), made.trials()[1:]))
    assert SEPARATE_STACKS not in alone.notes
    assert np.array_equal(alone.predictions["test"].scores, both[1].predictions["test"].scores)
