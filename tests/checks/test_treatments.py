"""The shared checks over every registered treatment, and proof that they bite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import equipoise
from equipoise.foundation import registry, stream
from equipoise.studies.plans import Named
from equipoise.testing import (
    check,
    check_treatment_on,
    first_learner,
    planted,
    planted_pictures,
    quick_settings,
)
from equipoise.training import (
    Afterwards,
    Choice,
    Job,
    Parameter,
    Predicted,
    Readout,
    Table,
    TrainingCallback,
    TrainingRows,
    Treatment,
    all_learners,
    compatibility_matrix,
    has_hook,
    train,
)

pytest.importorskip("torch")

ENTRIES = [entry for entry in registry.entries("treatment") if entry.module.startswith("equipoise.")]
ON_PICTURES: dict[str, Any] = {"learner": "image_network"}
QUICK_ADVERSARY: dict[str, Any] = {"learning_rate": 0.01, "strength": 0.1, "longer": 1.0}
# Of few columns little is left when a dimension for every group but one is gone.
WIDE = {"bias": 0.0, "columns": 24}
# Small discriminators, and a few classifiers only: the checks train many times.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "adversarial": [{"width": 16}, {"width": 16, "conditional_on_class": True}],
    "diverse_adversarial": [{"width": 16, "strength": 0.1}],
    # In the planted table a class nearly is a group: who names each of both groups alike cannot tell it.
    "domain_discriminative": [
        {},
        {"readout": "sum_prior_shift"},
        {"readout": "rba", **ON_PICTURES},
        {"readout": "rba_dev"},
        {"readout": "max_prior_shift", **ON_PICTURES},
    ],
    "domain_independent": [{}, {"readout": "known_domain"}, {"readout": "known_domain", **ON_PICTURES}],
    "equal_opportunity_class": [{}, {"variant": "authors", "strength": 0.01}],
    # The paper's rate is one for 500 epochs, and its strength hides a class that goes with the group.
    "gradient_projection": [QUICK_ADVERSARY],
    # Predictions that are independent of the group cannot follow a class that nearly is the group.
    "exponentiated_gradient": [{"cohort": {"bias": 0.0}, "eps": 0.1, "max_iter": 8}],
    "leace": [{"cohort": {"bias": 0.2}}, {"erase": False}],
    "leace_inputs": [{"cohort": WIDE, "seed": 2}, {"cohort": WIDE, "seed": 2, "learner": "scikit_learn"}],
    "lfr": [{"group_fairness": 1.0, "starts": 1}],
    "threshold_optimizer": [
        {},
        {"constraint": "demographic_parity", "cohort": {"bias": 0.2}},
        {"learner": "scikit_learn"},
    ],
    "inlp": [{"iterations": 4}, {"iterations": 4, "classifier": "logistic", "conditional_on_class": True}],
    # An adversary that reads a class which nearly is the group leaves little of it.
    "gradient_reversal": [{"strength": 0.1, "width": 16}],
    "group_dro": [{}, {"step": 0.5, "adjustment": 1.0, "over": "groups"}],
    "rebalancing": [{"ratio": 1}, {"ratio": 3}],
    "oversampling": [{}, {"balance": "joint"}],
    "parade": [{}, {"scaling": "sum", "rho": 10.0}, {"shuffled": True}],
    "reweighting": [{}, {"balance": "stratified_y"}],
    "uniform_confusion": [QUICK_ADVERSARY],
}


def quick_module(features: int, outputs: int) -> Any:
    nn = pytest.importorskip("torch").nn
    return nn.Sequential(nn.Linear(features, 16), nn.Tanh(), nn.Linear(16, outputs))


# What each learner is made with: every learner of the matrix has a place here.
ON: dict[str, dict[str, Any]] = {
    "mlp": quick_settings("mlp"),
    "module": {"factory": quick_module, "batch_size": 64, "epochs": 12, "learning_rate": 0.02},
    "image_network": quick_settings("image_network"),
    "metric_learner": quick_settings("metric_learner"),
    "raw_features": {},
    "scikit_learn": {},
}
KINDS = {entry.name: entry.implementation for entry in ENTRIES}
FITTING = [
    (name, learner)
    for name, row in compatibility_matrix().items() if name in KINDS
    for learner, reason in row.items()
    if reason is None and all_learners()[learner].__module__.startswith("equipoise.")
]  # fmt: skip
# These are checked as a whole, by every setting of theirs.
WHOLE = {(name, first_learner(kind)) for name, kind in KINDS.items()}
CELLS = [cell for cell in FITTING if cell not in WHOLE]
# A treatment before training and one that acts during or after it, where both fit: some of all such pairs.
BEFORE = [name for name, kind in KINDS.items() if any(has_hook(kind, one) for one in ("choose", "weigh", "transform"))]
LATER = [name for name in KINDS if name not in (*BEFORE, "untreated")]
PAIRS = [
    (before, later, learner)
    for before in BEFORE for later in LATER for learner in ON
    if {(before, learner), (later, learner)} <= set(FITTING)
    # A reduction gives rows weights of its own.
    if not (before == "reweighting" and later == "exponentiated_gradient")
]  # fmt: skip
SAMPLED = sorted(PAIRS[place] for place in np.random.default_rng(22).choice(len(PAIRS), 16, replace=False))


@pytest.fixture(autouse=True)
def registered_treatments_are_put_back() -> Iterator[None]:
    found = dict(registry._entries["treatment"])
    yield
    registry._entries["treatment"].clear()
    registry._entries["treatment"].update(found)


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_every_treatment_passes_the_shared_checks(name: str) -> None:
    for values in SETTINGS.get(name, [{}]):
        check("treatment", name, **values)


@pytest.mark.parametrize("cell", CELLS, ids=" on ".join)
def test_a_treatment_does_its_work_on_every_learner_it_fits(cell: tuple[str, str]) -> None:
    name, learner = cell
    check_treatment_on(name, learner, settings=recipe_of(learner, name), **SETTINGS.get(name, [{}])[0])


def recipe_of(learner: str, *names: str) -> dict[str, Any]:
    """The settings of a learner: with five steps on every batch a fifth of the epochs is enough."""
    settings = ON[learner]
    return {**settings, "epochs": max(settings["epochs"] // 5, 1)} if "fairalm" in names else settings


def test_every_cell_of_the_matrix_is_checked() -> None:
    assert WHOLE | set(CELLS) == set(FITTING)
    assert {learner for _, learner in FITTING} == set(ON)
    # What is left of the matrix has a reason.
    rows = [row for name, row in compatibility_matrix().items() if name in KINDS]
    empty = sum(reason is not None for row in rows for reason in row.values())
    assert len(FITTING) + empty == len(KINDS) * len(ON)


def settings_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The hyper-parameters of a treatment in these checks, and what else the check is given."""
    first = SETTINGS.get(name, [{}])[0]
    other = {key: first[key] for key in ("cohort", "seed") if key in first}
    return {"name": name, **{key: value for key, value in first.items() if key not in other}}, other


@pytest.mark.parametrize(("before", "later", "learner"), SAMPLED)
def test_a_treatment_before_training_goes_with_one_during_or_after_it(before: str, later: str, learner: str) -> None:
    (first, one), (second, other) = settings_of(before), settings_of(later)
    given = {**one, **other, "cohort": {**one.get("cohort", {}), **other.get("cohort", {})}}
    check_treatment_on([first, second], learner, settings=recipe_of(learner, before, later), **given)


CHOOSING = [pair for pair in PAIRS if has_hook(KINDS[pair[0]], "choose")]


@pytest.mark.parametrize(
    ("before", "later", "learner"),
    sorted(CHOOSING[place] for place in np.random.default_rng(7).choice(len(CHOOSING), 8, replace=False)),
)
def test_what_comes_after_a_choice_of_rows_is_trained_as_on_these_rows_alone(
    before: str, later: str, learner: str
) -> None:
    """The rows that the first treatment leaves are given to the second by hand."""
    cohort = planted_pictures() if all_learners()[learner].takes_pictures else planted()
    dataset = cohort.with_test_labels(target=False, group=True)
    first, second = (KINDS[name](**{k: v for k, v in settings_of(name)[0].items() if k != "name"})
                     for name in (before, later))  # fmt: skip
    train_rows, seed = dataset.train, 3
    seen = TrainingRows(train_rows.target, train_rows.cell, train_rows.group, dataset.classes, dataset.groups)
    rows = first.choose(seen, stream(seed, "choose", 0, type(first).__name__))
    jobs = [Job(cohort.everything, seed, treatments=(first, second)), Job(rows, seed, treatments=(second,))]
    composed, alone = (train(dataset, Named(learner, 1, ON[learner]), [job])[0] for job in jobs)
    assert composed.failure is None, composed.failure
    assert composed.test.values.tolist() == alone.test.values.tolist()
    if composed.test.scores is not None:
        assert composed.test.scores.tolist() == alone.test.scores.tolist()


def test_the_papers_nine_are_there_by_their_names() -> None:
    names = {(entry.alias or entry.name) for entry in ENTRIES if entry.paper == "001"}
    assert names >= {"untreated", "DS", "RW", "ADV", "DADV", "FairBatch", "EO_CLA", "EO_GLB", "INLP"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_default_is_the_geometric_middle_of_the_papers_range(entry: Any) -> None:
    if entry.paper != "001":
        return
    for parameter in entry.implementation.parameters.values():
        if isinstance(parameter, Parameter):
            assert parameter.default == pytest.approx((parameter.low * parameter.high) ** 0.5)


def test_an_estimator_must_say_why_it_takes_no_part_in_studies() -> None:
    class Estimator:
        """Fits by itself."""

    register(Estimator)
    with pytest.raises(AssertionError, match="does not say why it takes no part"):
        check("treatment", "broken")


# The checks bite.


def register(kind: type) -> None:
    equipoise.treatment("broken", stage="in", paper="none")(kind)


class Sound(Treatment):
    """It does nothing."""


class Constant(Sound):
    """It says one class of everybody."""

    def after(self, found: Any) -> Afterwards:
        return Afterwards(*(Predicted(np.zeros(len(rows), dtype=np.int64)) for rows in (found.dev, found.test)))


def nearest_class(found: Any, shift: float = 0.0) -> Afterwards:
    """Predict by the planted column's hidden trace: the nearest class mean."""
    train = found.train
    if found.task == "regression":
        line = np.linalg.lstsq(train.inputs, train.target, rcond=None)[0]
        return Afterwards(*(Predicted(rows.inputs @ line + shift) for rows in (found.dev, found.test)))
    means = np.stack([train.inputs[train.target == code].mean(axis=0) for code in range(len(found.classes))])
    said = [((rows.inputs[:, None] - means) ** 2).sum(axis=2).argmin(axis=1) for rows in (found.dev, found.test)]
    return Afterwards(*(Predicted(one) for one in said))


class ReadsTargets(Sound):
    """It knows the answers, where it can."""

    def after(self, found: Any) -> Afterwards:
        ended = nearest_class(found)
        return ended if found.test.target is None else replace(ended, test=Predicted(found.test.target))


class ReadsGroups(Sound):
    """It looks at the groups of test rows, and is shown none."""

    def after(self, found: Any) -> Afterwards:
        ended = nearest_class(found)
        if found.test.group is None:
            return ended
        return replace(ended, test=Predicted(np.where(found.test.group == 0, 0, ended.test.values)))


class Declares(ReadsGroups):
    """It looks at the groups of test rows, and says so."""

    needs_group_at_prediction = True

    def after(self, found: Any) -> Afterwards:
        assert found.test.group is not None
        return nearest_class(found)


class DeclaresTheWrongThing(ReadsTargets):
    """It says that it needs groups, and reads targets."""

    needs_group_at_prediction = True


class ReadsTheOthers(Sound):
    """It centres the test rows by their own mean."""

    def after(self, found: Any) -> Afterwards:
        return nearest_class(replace(found, test=replace(found.test, inputs=centred(found))))


def centred(found: Any) -> Any:
    rows = found.test.inputs
    return rows - rows[-20:].mean(axis=0) + found.train.inputs.mean(axis=0)


class Transductive(ReadsTheOthers):
    """It centres the test rows by their own mean, and says so."""

    transductive = True


class Restless(Sound):
    """Other rows every time."""

    def choose(self, rows: Any, generator: Any) -> Any:
        return np.random.default_rng().permutation(len(rows.cell))[:200]


class Writes(Sound):
    """It changes the cohort."""

    def after(self, found: Any) -> Afterwards:
        found.dev.target[:3] = 1 - found.dev.target[:3]
        return nearest_class(found)


class Vague(Sound):
    """It gives up without a word."""

    def weigh(self, rows: Any) -> Any:
        if (rows.counts == 0).any():
            raise ValueError("division by zero")
        return np.ones(len(rows.cell))


class TwoGroups(Sound):
    """It knows two groups only."""

    def weigh(self, rows: Any) -> Any:
        return np.array([1.0, 2.0])[rows.group]


class Mixed(TrainingCallback):
    """It pulls trials towards each other."""

    def penalty(self, batch: Any) -> Any:
        return (batch.output - batch.output.mean(dim=0, keepdim=True)).square().mean(dim=(1, 2))


class Mixes(Sound):
    """Trials feel each other."""

    @classmethod
    def during(cls, trials: Any, context: Any) -> TrainingCallback:
        return Mixed()


class OutOfRange(Sound):
    """A default where no search looks."""

    parameters: ClassVar[Table] = {"strength": Parameter("strength", 5.0, least=0, low=0.1, high=1.0)}


class Undocumented(Sound):
    """A choice without a word."""

    parameters: ClassVar[Table] = {"how": Choice("", "a", ("a", "b"))}


class Greedy(Sound):
    """It takes any hyper-parameter."""

    def __init__(self, **values: Any) -> None:
        self.values = values


class Nameless(Sound):
    """A version that is no whole number."""

    version = "first"  # type: ignore[assignment]


class Reads(Sound):
    """It reads the outputs of the network."""

    def read(self, outputs: Any) -> Afterwards:
        return Afterwards(*(Predicted(one.argmax(axis=1)) for one in (outputs.dev, outputs.test)))


class ReadsItsOutputsTogether(Reads):
    """It says another thing of the first row where there are many."""

    def read(self, outputs: Any) -> Afterwards:
        ended = super().read(outputs)
        ended.test.values[:1] = len(outputs.test) > 150
        return ended


class ReadsGroupsOnRequest(Reads):
    """One of its readouts needs the groups of test rows, and a treatment made with it says so."""

    parameters: ClassVar[Table] = {"readout": Readout("how", "groups", ("groups", "plain"))}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.needs_group_at_prediction = self.values["readout"] == "groups"

    def read(self, outputs: Any) -> Afterwards:
        assert (outputs.test_group is not None) is (self.values["readout"] == "groups")
        return super().read(outputs)


@pytest.mark.parametrize("kind", [Sound, Declares, ReadsGroups, Transductive, Reads, ReadsGroupsOnRequest])
def test_a_sound_new_treatment_passes(kind: type) -> None:
    register(kind)
    check("treatment", "broken")


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Constant, "a planted signal is not learnt"),
        (ReadsTargets, "reads the targets or groups of test rows"),
        (DeclaresTheWrongThing, "reads the targets of test rows"),
        (ReadsTheOthers, "depends on the other test rows"),
        (ReadsItsOutputsTogether, "depends on the other test rows"),
        (Restless, "reads the targets|another result for the same seed|depends on the other test rows"),
        (Writes, "writes into the rows it is given"),
        (Vague, "does not say which and what to do: ValueError: division by zero"),
        (TwoGroups, "fails with class targets and more groups: IndexError"),
        (Mixes, "mixes trials"),
        (OutOfRange, "the search range of strength of broken is not allowed"),
        (Undocumented, "how of broken does not say what it is"),
        (Greedy, "takes hyper-parameters that it does not have"),
        (Nameless, "not a whole number"),
    ],
)
def test_a_broken_treatment_is_caught(kind: type, complaint: str) -> None:
    register(kind)
    with pytest.raises(AssertionError, match=complaint):
        check("treatment", "broken")
