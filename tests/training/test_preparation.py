"""Which jobs are one training, which train together, and which treatments a learner lets act."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import equipoise
from equipoise import BadInput
from equipoise.foundation import registry
from equipoise.training import (
    Choice,
    Incompatibility,
    Job,
    Learner,
    Need,
    Outcome,
    Parameter,
    PreparedJob,
    Readout,
    Table,
    Treatment,
    check_compatible,
    incompatibility,
    learners_for,
    may_differ,
    train,
)
from equipoise.training._compatibility import NETWORK_OFFERS
from equipoise.training._preparation import stacks_of, trainings_of
from helpers.cases.training import Learns, planted


class Read(Treatment):
    """It is read in three ways."""

    parameters: ClassVar[Table] = {
        "readout": Readout("how", "a", ("a", "b", "c")),
        "strength": Parameter("how much", 1.0, 0.0, 0.1, 10.0),
        "longer": Parameter("how long", 1.0, 0.1, 0.5, 3.0, shapes=True),
        "variant": Choice("which", "one", ("one", "two")),
    }

    def read(self, outputs: Any) -> None:
        return None


class Choosing(Treatment):
    """It chooses rows before training."""

    def choose(self, rows: Any, generator: Any) -> None:
        return None


class Acting(Treatment):
    """It acts during training."""

    @classmethod
    def during(cls, trials: Any, context: Any) -> Any:
        return None


class Both(Acting):
    """It acts during training, and reads the outputs."""

    def read(self, outputs: Any) -> None:
        return None


class Pairs(Acting):
    """It acts on a loss of pairs."""

    requires: ClassVar[frozenset[Need]] = frozenset({Need.PAIR_LOSS})


class Nowhere(Treatment):
    """It needs what no learner has: classes and pairs."""

    requires: ClassVar[frozenset[Need]] = frozenset({Need.PAIR_LOSS, Need.LOGITS})


TABLE: Table = {"rate": Parameter("rate", 1.0, 0.0, 0.1, 10.0)}


def prepared(seed: int = 0, repeat: int = 0, rows: int = 5, rate: float = 1.0, **values: Any) -> PreparedJob:
    places = np.arange(rows)
    return PreparedJob(Job(places, seed, repeat, treatments=(Read(**values),)), places, None, {"rate": rate})


def test_jobs_that_differ_in_their_readouts_alone_are_one_training() -> None:
    jobs = [prepared(readout=readout) for readout in "abc"]
    others = [
        prepared(seed=1), prepared(repeat=1), prepared(rate=2.0), prepared(strength=2.0), prepared(variant="two"),
    ]  # fmt: skip
    shuffled = prepared()
    moved = PreparedJob(shuffled.job, shuffled.rows[::-1].copy(), None, shuffled.values)
    assert trainings_of([jobs[0], *others, jobs[1], moved, jobs[2]]) == [[0, 6, 8], [1], [2], [3], [4], [5], [7]]


def test_a_stack_counts_trainings_and_never_parts_the_readouts_of_one() -> None:
    jobs = [prepared(seed=seed, readout=readout) for readout in "abc" for seed in range(5)]
    stacks = stacks_of(list(enumerate(jobs)), TABLE, lambda alike: 2)
    assert [len(stack) for stack in stacks] == [3, 6, 6]
    seen = [{job.seed for _, job in stack} for stack in stacks]
    assert seen == [{0}, {1, 2}, {3, 4}]
    for stack in stacks:
        assert [job.seed for _, job in stack] == sorted(job.seed for _, job in stack), "siblings stand side by side"
    assert sorted(place for stack in stacks for place, _ in stack) == list(range(15))


def test_what_shapes_the_loop_parts_stacks_and_what_scales_does_not() -> None:
    jobs = [prepared(strength=2.0), prepared(readout="b", rate=3.0), prepared(longer=2.0), prepared(variant="two")]
    stacks = stacks_of(list(enumerate(jobs)), TABLE, lambda alike: 10)
    assert [[place for place, _ in stack] for stack in stacks] == [[0, 1], [2], [3]]
    assert [may_differ(Read.parameters[name]) for name in ("readout", "strength", "longer", "variant")] == [
        True, True, False, False,
    ]  # fmt: skip


def test_jobs_without_readouts_are_dealt_as_they_always_were() -> None:
    places = np.arange(4)
    jobs = [PreparedJob(Job(places, seed % 2), places, None, {}) for seed in range(7)]
    stacks = stacks_of(list(enumerate(jobs)), {}, lambda alike: 3)
    assert [[place for place, _ in stack] for stack in stacks] == [[0, 1], [2, 3], [4, 5, 6]]


class Alone(Learner):
    """It trains networks one by one, and fails with seed 2."""

    offers: ClassVar[frozenset[Need]] = NETWORK_OFFERS
    asked: ClassVar[list[list[int]]] = []

    def stack_size(self, dataset: Any, jobs: Any, settings: Any) -> int:
        return 4

    def train(self, dataset: Any, stack: Any, settings: Any, report: Any) -> list[Outcome]:
        self.asked.append([trial.seed for trial in stack])
        if any(trial.seed == 2 for trial in stack):
            raise BadInput("Seed 2 cannot be trained")
        return [Outcome(notes=(f"{trial.seed} {trial.treatments[0].values['readout']}",)) for trial in stack]


@pytest.fixture
def learner() -> Any:
    registry.entries("learner")  # before it is copied: the room is loaded once
    found = dict(registry._entries["learner"])
    equipoise.learner("alone", paper="none")(Alone)
    Alone.asked.clear()
    yield "alone"
    registry._entries["learner"].clear()
    registry._entries["learner"].update(found)


def test_a_training_that_fails_fails_for_all_its_readouts_at_once_and_for_no_other(learner: str) -> None:
    dataset = planted(40)
    rows = np.arange(40)
    jobs = [Job(rows, seed, treatments=(Read(readout=one),)) for one in "abc" for seed in range(4)]
    ended = train(dataset, Learns(learner), jobs)
    for job, one in zip(jobs, ended, strict=True):
        if job.seed == 2:
            assert one.failure is not None
            assert "Seed 2" in one.failure
        else:
            assert one.notes == (f"{job.seed} {job.treatments[0].values['readout']}",)
    # The whole, its halves, and the halves of the one that failed: never a part of a training.
    assert Alone.asked == [
        [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3,
        [0] * 3 + [1] * 3,
        [2] * 3 + [3] * 3,
        [2] * 3,
        [3] * 3,
    ]


class Bare(Learner):
    """It trains on rows that can be chosen, and shows nothing of how."""

    offers: ClassVar[frozenset[Need]] = frozenset({Need.ROWS})


class Later(Treatment):
    """It acts after training."""

    def after(self, found: Any) -> Any:
        return None


def test_a_treatment_after_training_is_refused_where_nobody_would_ask_it() -> None:
    metric_learner = registry.get("learner", "metric_learner").implementation
    assert incompatibility(metric_learner, Later) == Incompatibility((Need.REPRESENTATIONS,))
    assert {"mlp", "image_network"} <= set(learners_for(Later))
    words = r"(?s)'Later' does not fit.*shows no representation after training.*image_network, mlp.*'mlp' takes it"
    with pytest.raises(BadInput, match=words):
        check_compatible(metric_learner, "metric_learner", Later, "Later")


NOT_STEPS = "it is not trained step by step"
NO_LOGITS = "it has no logits, an output for each class"


@pytest.mark.parametrize(
    ("treatment", "learner", "reason"),
    [
        (Treatment, "bare", None),
        (Choosing, "bare", None),
        (Acting, "mlp", None),
        (Acting, "image_network", None),
        (Acting, "metric_learner", None),
        (Acting, "bare", NOT_STEPS),
        (Acting, "raw_features", NOT_STEPS),
        (Read, "mlp", None),
        (Read, "image_network", None),
        (Read, "metric_learner", NO_LOGITS),
        (Read, "bare", NO_LOGITS),
        (Both, "image_network", None),
        (Both, "metric_learner", NO_LOGITS),
        (Both, "bare", NOT_STEPS),
        (Later, "mlp", None),
        (Later, "bare", "it shows no representation after training"),
    ],
)
def test_a_learner_refuses_a_treatment_that_it_would_never_ask(
    treatment: Any, learner: str, reason: str | None
) -> None:
    kind = Bare if learner == "bare" else registry.get("learner", learner).implementation
    found = incompatibility(kind, treatment)
    assert (None if found is None else str(found)) == reason


def test_who_is_refused_hears_which_learners_take_it_and_the_one_most_like_it() -> None:
    assert learners_for(Both) == ["image_network", "mlp", "module"]
    assert "raw_features" not in learners_for(Acting)
    with pytest.raises(
        BadInput, match=r"(?s)'Both' does not fit the learner 'bare'.*image_network.*learner = 'mlp' takes"
    ):
        check_compatible(Bare, "bare", Both, "Both")
    with pytest.raises(BadInput, match=r"learner = 'metric_learner' takes it"):
        check_compatible(registry.get("learner", "image_network").implementation, "image_network", Pairs, "Pairs")
    with pytest.raises(BadInput, match="equipoise list treatments --matrix shows what fits"):
        check_compatible(Bare, "bare", Nowhere, "Nowhere")


def test_training_refuses_it_too_and_trains_the_others() -> None:
    pytest.importorskip("torch")
    dataset = planted(40)
    rows = np.arange(40)
    jobs = [Job(rows, 0, treatments=(kind(),)) for kind in (Treatment, Pairs, Acting)]
    ended = train(dataset, Learns("mlp", {"width": 4, "epochs": 1}), jobs)
    assert [one.failure is None for one in ended] == [True, False, True]
    assert "learner = 'metric_learner' takes it" in str(ended[1].failure)
