"""What an estimator is told to train: a learner, and the treatments that act on it, as names or as objects."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.foundation import BadInput, listing, registry
from equipoise.training import (
    Learner,
    Need,
    TrainingRows,
    Treatment,
    all_learners,
    check_compatible,
    has_hook,
    learner_of,
)

SCIKIT_LEARN, MODULE = "scikit_learn", "module"
# What may be given, in words.
TREATMENTS = 'a name ("reweighting"), a Treatment, or a list of them in the order in which they act'
LEARNERS = "a name, a scikit-learn estimator, or a function of (features, classes) that returns a torch module"
# What a treatment may override; each of them but ``recipe`` knows the groups of training rows.
HOOKS = tuple(
    name
    for name, member in vars(Treatment).items()
    if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, classmethod))
)
# What is done before or around training, from training rows alone: no row need be held out for it.
BEFORE = frozenset({"choose", "weigh", "transform", "wrap"})


@dataclass(frozen=True)
class ChosenLearner:
    """A registered learner with the hyper-parameters that differ from its defaults."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> type[Learner]:
        """The class that is registered under the name."""
        return learner_of(self.name)

    def with_defaults(self, task: str) -> dict[str, Any]:
        """Return all hyper-parameters; what is not allowed is refused."""
        return self.kind.with_defaults(self.settings, task)

    @property
    def has_hidden_layer(self) -> bool:
        """Whether it is a network that shows its last hidden layer, or gives an embedding."""
        return bool({Need.HIDDEN, Need.EMBEDDING} & self.kind.offers)

    def gives_scores(self, task: str) -> bool:
        """Tell whether predictions come with a score for every class."""
        return self.kind.gives_scores(self.with_defaults(task))


def chosen_learner(learner: object, settings: Mapping[str, Any] | None) -> ChosenLearner:
    """Return the learner that a name, a scikit-learn estimator or the factory of a torch module stands for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> chosen_learner("mlp", {"epochs": 5})
    ChosenLearner(name='mlp', settings={'epochs': 5})
    >>> chosen_learner(DecisionTreeClassifier(), None).name
    'scikit_learn'
    """
    values = dict(_checked_settings(settings, "learner_settings"))
    if isinstance(learner, str):
        return ChosenLearner(registry.get("learner", learner).name, values)
    if callable(getattr(learner, "fit", None)) and callable(getattr(learner, "predict", None)):
        return ChosenLearner(SCIKIT_LEARN, {"estimator": learner, **values})
    if callable(getattr(learner, "state_dict", None)) and not isinstance(learner, type):
        raise BadInput(
            f"The learner is a torch module ({type(learner).__name__}), and each training needs a new one",
            available=LEARNERS,
            help=f"learner={type(learner).__name__}, if it is made with (features, classes).",
        )
    if callable(learner):
        return ChosenLearner(MODULE, {"factory": learner, **values})
    raise BadInput(f"The learner is {learner!r}", available=LEARNERS)


def chosen_treatments(treatment: object, settings: Mapping[str, Any] | None) -> tuple[Treatment, ...]:
    """Return treatments, each made with its hyper-parameters: of several, ``settings`` has them by name.

    Examples
    --------
    >>> [treatment.values for treatment in chosen_treatments("RW", {"balance": "stratified_y"})]
    [{'balance': 'stratified_y'}]
    >>> [type(treatment).__name__ for treatment in chosen_treatments(["downsampling", "adversarial"], None)]
    ['Downsampling', 'Adversarial']
    """
    values = _checked_settings(settings, "treatment_settings")
    if isinstance(treatment, str | Treatment):
        return (_treatment_of(treatment, values),)
    if not isinstance(treatment, Sequence) or not treatment:
        raise BadInput(f"The treatment is {treatment!r}", available=TREATMENTS)
    names = [part if isinstance(part, str) else type(part).__name__ for part in treatment]
    stray = [name for name in values if name not in names]
    if stray:
        raise BadInput(
            f"treatment_settings are for {listing(stray)}", available=f"settings by treatment: {listing(names)}",
            help=f"treatment_settings={{{names[0]!r}: {{...}}}}",
        )  # fmt: skip
    return tuple(_treatment_of(part, values.get(name, {})) for part, name in zip(treatment, names, strict=True))


def name_of(treatment: Treatment) -> str:
    """Return the name that a treatment is registered under, or that of its class."""
    kind = type(treatment)
    return next((entry.name for entry in registry.entries("treatment") if entry.implementation is kind), kind.__name__)


def check_gives_model(learner: ChosenLearner) -> None:
    """Refuse a learner whose trainings end without a model that could predict, before anything is trained."""
    if learner.kind.model is None:
        able = [name for name, kind in all_learners().items() if kind.model is not None]
        raise BadInput(f"The learner {learner.name!r} gives no model of its own yet", available=listing(able))


def check_fits(learner: ChosenLearner, treatments: Sequence[Treatment], task: str) -> None:
    """Refuse a treatment that does not fit the learner or the task, before anything is trained."""
    for treatment in treatments:
        check_compatible(learner.kind, learner.name, type(treatment), name_of(treatment), task)


def has_effect(treatment: Treatment) -> bool:
    """Tell whether a treatment does anything, and so needs the groups of the training rows.

    >>> from equipoise.foundation import registry
    >>> [has_effect(registry.get("treatment", name).implementation()) for name in ("untreated", "reweighting")]
    [False, True]
    """
    return any(has_hook(type(treatment), moment) for moment in HOOKS)


def chooses_on_dev_rows(learner: ChosenLearner, treatments: Sequence[Treatment]) -> bool:
    """Tell whether anything is chosen on rows that are not trained on: an epoch, or what comes after training."""
    moments = {moment for treatment in treatments for moment in HOOKS if has_hook(type(treatment), moment)}
    return learner.kind.chooses_epochs or not moments <= BEFORE


class SampleWeight(Treatment):
    """Weights of the rows themselves, ``sample_weight``: they stand before whatever the treatments weigh."""

    def __init__(self, weights: Any) -> None:
        super().__init__()
        self.weights = weights

    def weigh(self, rows: TrainingRows) -> Any:
        """Return the weight of every row."""
        return self.weights


def _treatment_of(treatment: object, settings: Any) -> Treatment:
    if isinstance(treatment, Treatment):
        if settings:
            raise BadInput(
                f"The treatment is an object ({type(treatment).__name__}), and treatment_settings are given too",
                help="make it with its settings, and leave treatment_settings out.",
            )
        return treatment
    if not isinstance(treatment, str):
        raise BadInput(f"The treatment is {treatment!r}", available=TREATMENTS)
    entry = registry.get("treatment", treatment)
    if not (isinstance(entry.implementation, type) and issubclass(entry.implementation, Treatment)):
        reason = getattr(entry.implementation, "outside_studies", "it is no Treatment")
        raise BadInput(f"The treatment {entry.name!r} does not train a learner: {reason}", available=TREATMENTS)
    return entry.implementation(**_checked_settings(settings, "treatment_settings"))


def _checked_settings(settings: object, name: str) -> Mapping[str, Any]:
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise BadInput(f"{name} is {settings!r}", available='names and values, such as {"epochs": 20}')
    return settings
