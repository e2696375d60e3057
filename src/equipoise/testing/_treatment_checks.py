"""What must be true of a treatment, whoever wrote it: it lets a learner learn, and reads nothing that it must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from equipoise.foundation import BadInput, registry
from equipoise.studies.plans import Named, canonical
from equipoise.testing._planted import (
    Planted,
    planted,
)
from equipoise.testing._planted_pictures import planted_pictures
from equipoise.training import (
    Choice,
    Codes,
    EncodedDataset,
    FreeParameter,
    Job,
    Need,
    Outcome,
    Parameter,
    Settings,
    Treatment,
    incompatibility,
    learner_of,
    train,
)

# A small network that learns the planted signal within seconds.
QUICK = {"width": 16, "layers": 1, "batch_size": 64, "epochs": 12, "learning_rate": 0.02}
QUICK_ON_PICTURES = {
    "network": "small", "batch_size": 25, "epochs": 4, "learning_rate": 0.05, "schedule": "constant",
    "augmentation": False,
}  # fmt: skip
QUICK_METRIC = {"embedding_size": 8, "batch_size": 32, "epochs": 6, "learning_rate": 0.02}
# How much of the way from guessing to knowing a treated learner must come.
LEAST_CORRECT = 0.5
# Full trainings of the same trial in two stacks differ by rounding, which training magnifies.
MAGNIFIED = 1e-3


def check_treatment(
    name: str,
    *,
    learner: str | None = None,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    cohort: Mapping[str, Any] | None = None,
    **values: Any,
) -> None:
    """Run the shared checks on a registered treatment, made with the hyper-parameters ``values``.

    ``learner`` and its ``settings`` say what is trained: by default the first that fits of ``mlp``, ``scikit_learn``
    (which a reduction refits), ``image_network`` and ``metric_learner``. ``cohort`` has arguments of the planted
    cohort, such as ``{"bias": 0.2}``: predictions that are independent of the group cannot follow a class that nearly
    is the group. A treatment of two classes must refuse more. One that is an estimator of its own takes no part in
    studies; it says why in ``outside_studies``, and is checked no further.
    """
    kind: Any = registry.get("treatment", name).implementation
    if not (isinstance(kind, type) and issubclass(kind, Treatment)):
        reason = getattr(kind, "outside_studies", "")
        assert reason, f"{name} is no Treatment and does not say why it takes no part in studies (outside_studies)"
        return
    check_parameter_table(kind, name)
    learner = first_learner(kind) if learner is None else learner
    named = Named(learner, 1, quick_settings(learner) if settings is None else settings)
    checked = _Checked([{"name": name, **values}], named, seed, cohort or {})
    checked.learns()
    checked.reads_nothing_of_the_test_rows()
    checked.is_repeatable_and_mixes_no_trials()
    checked.survives_an_empty_cell()
    checked.takes_more_groups_and_numbers()


def check_treatment_on(
    treatments: str | Sequence[Mapping[str, Any]],
    learner: str,
    *,
    settings: dict[str, Any],
    seed: int = 0,
    cohort: Mapping[str, Any] | None = None,
    **values: Any,
) -> None:
    """Run the checks that depend on the learner: the signal is learnt, no test targets are read, trials do not mix.

    ``treatments`` is the name of one, or several that are composed, each with its name and hyper-parameters.
    """
    named = [{"name": treatments, **values}] if isinstance(treatments, str) else treatments
    checked = _Checked(named, Named(learner, 1, settings), seed, cohort or {})
    checked.learns()
    checked.reads_nothing_of_the_test_rows()
    checked.is_repeatable_and_mixes_no_trials(seeds=(1, 2))


def first_learner(kind: type[Treatment]) -> str:
    """Return the learner on which a treatment is checked where none is named."""
    tried = ("mlp", "scikit_learn", "image_network")
    return next((learner for learner in tried if incompatibility(learner_of(learner), kind) is None), "metric_learner")


def quick_settings(learner: str) -> dict[str, Any]:
    """Return hyper-parameters with which a learner learns the planted signal within seconds."""
    kind = learner_of(learner)
    quick = QUICK_METRIC if Need.PAIR_LOSS in kind.offers else QUICK_ON_PICTURES if kind.takes_pictures else QUICK
    return {name: value for name, value in quick.items() if name in kind.parameters}


def check_parameter_table(kind: type[Treatment], name: str) -> None:
    """Defaults are allowed and lie where a search looks, other names are refused, and the values can name a trial."""
    version: Any = kind.version
    assert isinstance(version, int), f"the version of {name} is {version!r}, not a whole number"
    for parameter_name, parameter in kind.parameters.items():
        is_parameter = isinstance(parameter, Parameter | Choice | FreeParameter)
        assert is_parameter, f"{parameter_name} of {name} is no Parameter, Choice or Given"
        assert parameter.meaning, f"{parameter_name} of {name} does not say what it is"
        if isinstance(parameter, Parameter):
            inside = parameter.least <= parameter.low <= parameter.default <= parameter.high <= parameter.most
            assert inside, f"the default or the search range of {parameter_name} of {name} is not allowed"
    treatment = kind()
    assert kind(**json.loads(canonical(treatment.values))).values == treatment.values, (
        f"{name} made from its values is another"
    )
    try:
        kind(**{"a name that no treatment has": 1})
    except BadInput:
        return
    raise AssertionError(f"{name} takes hyper-parameters that it does not have")


class _Checked:
    """One treatment under the checks, or several that are composed."""

    def __init__(
        self, treatments: Sequence[Mapping[str, Any]], learner: Named, seed: int, cohort: Mapping[str, Any]
    ) -> None:
        self.name, self.learner, self.seed = " + ".join(treatment["name"] for treatment in treatments), learner, seed
        self.treatments: list[tuple[type[Treatment], dict[str, Any]]] = []
        for treatment in treatments:
            kind: Any = registry.get("treatment", treatment["name"]).implementation
            self.treatments.append((kind, {name: value for name, value in treatment.items() if name != "name"}))
        self.two_classes = any(kind.two_classes for kind, _ in self.treatments)
        trained = learner_of(learner.name)
        source: Callable[..., Planted] = planted_pictures if trained.takes_pictures else planted
        self.planted = partial(source, **cohort)
        self.plain = self.planted(seed=seed)
        instances = self.new_treatments()
        self.needs_group = any(instance.needs_group_at_prediction for instance in instances)
        self.transductive = any(instance.transductive for instance in instances)
        self.may = {"group": self.needs_group}

    def new_treatments(self) -> tuple[Treatment, ...]:
        return tuple(kind(**values) for kind, values in self.treatments)

    def trained(
        self, dataset: EncodedDataset, rows: Codes, seeds: Sequence[int] = (1,), settings: Settings | None = None
    ) -> list[Outcome]:
        jobs = [Job(rows, seed, treatments=self.new_treatments()) for seed in seeds]
        return train(dataset, self.learner, jobs, settings)

    def outcome(self, dataset: EncodedDataset, rows: Codes) -> Outcome:
        (ended,) = self.trained(dataset, rows)
        assert ended.failure is None, f"{self.name} fails: {ended.failure}"
        return ended

    def learns(self) -> None:
        before = _copies(self.plain.dataset)
        ended = self.outcome(self.plain.with_test_labels(target=False, **self.may), self.plain.everything)
        after = _copies(self.plain.dataset)
        unchanged = all(np.array_equal(array, other) for array, other in zip(before, after, strict=True))
        assert unchanged, f"{self.name} writes into the rows it is given"
        self.check_learnt(self.plain, ended)
        self.first = ended

    def check_learnt(self, cohort: Planted, ended: Outcome, among: Codes | None = None) -> None:
        """Hold what is said of the test rows, or of some of them, against guessing."""
        assert ended.test is not None
        regression = cohort.dataset.task == "regression"
        guess = 0.0 if regression else 1 / len(cohort.dataset.classes)
        accuracy = cohort.correct(ended.test.values, among)
        enough = guess + LEAST_CORRECT * (1 - guess)
        assert accuracy > enough, (
            f"with {self.name} a planted signal is not learnt: {accuracy:.2f}, not above {enough:.2f}"
        )

    def reads_nothing_of_the_test_rows(self) -> None:
        rows = self.plain.everything
        hidden_columns = "targets" if self.needs_group else "targets or groups"
        ended = self.outcome(self.plain.with_test_labels(target=True, group=True), rows)
        assert _same_outcome(ended, self.first), f"{self.name} reads the {hidden_columns} of test rows"
        if not self.transductive:
            part = self.outcome(self.plain.first_half_of_test(**self.may), rows)
            assert part.test is not None
            assert self.first.test is not None
            agrees = np.array_equal(part.test.values, self.first.test.values[: len(part.test.values)])
            assert agrees, f"what {self.name} says of a test row depends on the other test rows"

    def is_repeatable_and_mixes_no_trials(self, seeds: Sequence[int] = (1, 2, 3)) -> None:
        dataset, rows = self.plain.with_test_labels(target=False, **self.may), self.plain.everything
        again = self.outcome(dataset, rows)
        assert _same_outcome(again, self.first), f"{self.name} gives another result for the same seed"
        exact = Settings(precision="float64")
        together = self.trained(dataset, rows, seeds, exact)
        for seed, ended in zip(seeds, together, strict=True):
            (alone,) = self.trained(dataset, rows, (seed,), exact)
            assert _close(ended, alone), f"{self.name} mixes trials: seed {seed} ends otherwise beside others"

    def survives_an_empty_cell(self) -> None:
        dataset = self.plain.with_test_labels(target=False, **self.may)
        (ended,) = self.trained(dataset, self.plain.without_cell(1, 0))
        if ended.failure is None:
            # Of a cell that was never seen nothing need be learnt.
            other_cells = np.flatnonzero((self.plain.test_target != 1) | (self.plain.test_group != 0))
            self.check_learnt(self.plain, ended, other_cells)
            return
        named = all(word in ended.failure for word in ("class 1", "group 0", "help:"))
        assert named, (
            f"{self.name} fails where a class has no rows of a group, and does not say which and what to do: "
            f"{ended.failure}"
        )

    def takes_more_groups_and_numbers(self) -> None:
        cohorts = [self.planted(3, 4, seed=self.seed), self.planted(4, 2, task="regression", seed=self.seed)]
        for cohort in [*cohorts, self.planted(2, 4, seed=self.seed)][: 3 if self.two_classes else 2]:
            (ended,) = self.trained(cohort.with_test_labels(target=False, **self.may), cohort.everything)
            if ended.failure is None:
                self.check_learnt(cohort, ended)
                continue
            too_many = self.two_classes and len(cohort.dataset.classes) > 2
            refused = (cohort.dataset.task == "regression" or too_many) and "available:" in ended.failure
            assert refused, f"{self.name} fails with {cohort.dataset.task} targets and more groups: {ended.failure}"


def _copies(dataset: EncodedDataset) -> list[Any]:
    splits = (dataset.train, dataset.dev, dataset.test)
    values = [value for rows in splits for value in vars(rows).values()]
    return [np.array(value, copy=True) for value in values if value is not None]


def _same_outcome(outcome: Outcome, other: Outcome) -> bool:
    """Tell whether two outcomes say exactly the same of all rows."""
    pairs = ((outcome.dev, other.dev), (outcome.test, other.test))
    return all(a is not None and b is not None and np.array_equal(a.values, b.values) for a, b in pairs)


def _close(outcome: Outcome, other: Outcome) -> bool:
    """Tell whether two outcomes agree but for rounding."""
    if outcome.test is None or other.test is None:
        return outcome.failure == other.failure
    if outcome.test.scores is not None and other.test.scores is not None:
        return bool(np.allclose(outcome.test.scores, other.test.scores, atol=MAGNIFIED))
    return bool(np.allclose(outcome.test.values, other.test.values, rtol=MAGNIFIED, atol=MAGNIFIED))
