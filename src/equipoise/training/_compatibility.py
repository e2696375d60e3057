"""Which treatment fits which learner: a treatment requires what it acts on, and a learner offers what it has.

Nothing is listed by hand: ``equipoise list treatments --matrix`` compares the two, and an empty cell has the scientific
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from equipoise.foundation import BadInput, listing, registry
from equipoise.training._callback import overridden
from equipoise.training._parameters import Readout

if TYPE_CHECKING:
    from equipoise.training._learner import Learner
    from equipoise.training._treatment import Treatment


class Need(StrEnum):
    """What a treatment may act on, and a learner may offer. The value is part of no file and no key."""

    ROWS = "rows"
    ROW_WEIGHTS = "row_weights"
    STEPS = "steps"
    BATCHES = "batches"
    GROUP_LOSSES = "group_losses"
    ROW_LOSSES = "row_losses"
    HIDDEN = "hidden"
    LOGITS = "logits"
    PAIR_LOSS = "pair_loss"
    REPRESENTATIONS = "representations"
    EMBEDDING = "embedding"
    REFITTING = "refitting"
    FLAT_INPUTS = "flat_inputs"
    SCORES = "scores"


# What a network of classes or numbers offers.
NETWORK_OFFERS = frozenset({
    Need.ROWS, Need.ROW_WEIGHTS, Need.STEPS, Need.BATCHES, Need.GROUP_LOSSES, Need.ROW_LOSSES, Need.HIDDEN, Need.LOGITS,
    Need.REPRESENTATIONS, Need.SCORES,
})  # fmt: skip
# Why a cell is empty: what the learner does not have, in one sentence after "there is no ...".
LACKING = {
    Need.ROWS: "nothing is trained on rows that could be chosen",
    Need.ROW_WEIGHTS: "it takes no weights of rows",
    Need.STEPS: "it is not trained step by step",
    Need.BATCHES: "its batches are made up by class, for pairs and triplets",
    Need.GROUP_LOSSES: "it has no losses that belong to a group, of rows or of anchors",
    Need.ROW_LOSSES: "no row has a loss of its own: losses are those of pairs and triplets",
    Need.HIDDEN: "it shows no hidden layer",
    Need.LOGITS: "it has no logits, an output for each class",
    Need.PAIR_LOSS: "it has no loss of pairs or triplets, by which a second embedding learns the groups",
    Need.REPRESENTATIONS: "it shows no representation after training",
    Need.EMBEDDING: "what it shows after training is no embedding that is released",
    Need.REFITTING: "it is no estimator that a reduction can refit with other weights of rows",
    Need.FLAT_INPUTS: "its inputs are pictures, not rows of numbers that could be transformed",
    Need.SCORES: "it gives no scores of classes that could be adjusted",
}
# The needs of the moments of a treatment.
HOOKS = {
    "transform": frozenset({Need.FLAT_INPUTS}),
    "wrap": frozenset({Need.REFITTING}),
    "choose": frozenset({Need.ROWS}),
    "weigh": frozenset({Need.ROW_WEIGHTS}),
    "during": frozenset({Need.STEPS}),
    "read": frozenset({Need.LOGITS}),
    "outputs": frozenset({Need.LOGITS}),
    "after": frozenset({Need.REPRESENTATIONS}),
    "adjust": frozenset({Need.SCORES}),
}


@dataclass(frozen=True)
class Incompatibility:
    """Why a treatment does not fit a learner: what it requires and the learner does not offer, or the task."""

    missing: tuple[Need, ...] = ()
    # The task that it is not made for, and why not.
    task: str | None = None
    because: str = ""

    def __str__(self) -> str:
        """Return the reason in words: the first need that is missing, on which the others rest."""
        return self.because if self.task is not None else LACKING[self.missing[0]]


# Why a treatment that is made for other tasks is refused, where it does not say so itself.
NOT_FOR = {
    "class": "it is for numbers, and the target is a class",
    "regression": "it is for classes, and the target is a number",
    "multilabel": "it is made for one class per row, and rows have several labels",
}


def has_hook(kind: type[Any], method: str) -> bool:
    """Tell whether a kind of treatment has a method of its own."""
    from equipoise.training._treatment import Treatment

    return overridden(kind, Treatment, method)


def required(treatment: type[Treatment]) -> frozenset[Need]:
    """Return what a treatment acts on: what it declares, and what its moments need."""
    moments = (needs for method, needs in HOOKS.items() if has_hook(treatment, method))
    return frozenset(treatment.requires).union(*moments)


def incompatibility(
    learner: type[Learner], treatment: type[Treatment], task: str | None = None
) -> Incompatibility | None:
    """Return why a treatment does not fit a learner (and, where it is named, the task); None where it does."""
    needs = required(treatment)
    if task is not None and task not in tasks_of(treatment):
        reason = treatment.not_for_labels if task == "multilabel" else ""
        return Incompatibility(task=task, because=reason or NOT_FOR[task])
    if task == "multilabel" and task not in learner.tasks:
        return Incompatibility(task=task, because="the learner cannot learn several labels a row")
    missing = needs - learner.offers
    if Need.EMBEDDING in learner.offers and has_hook(treatment, "erase"):
        # What predictions are made from a hidden layer for, an embedding is erased for.
        missing -= {Need.REPRESENTATIONS}
    return Incompatibility(tuple(need for need in Need if need in missing)) if missing else None


def learners_for(treatment: type[Treatment]) -> list[str]:
    """Return the names of the learners that a treatment fits."""
    return [name for name, learner in all_learners().items() if incompatibility(learner, treatment) is None]


def nearest_learner(learner: type[Learner], names: Sequence[str]) -> str:
    """Return the name of the learner most like another: of the same inputs, and with most in common to act on."""
    learners_by_name = all_learners()

    def apart(name: str) -> tuple[bool, int]:
        return learners_by_name[name].takes_pictures != learner.takes_pictures, -len(
            learners_by_name[name].offers & learner.offers
        )

    return min(names, key=apart)


def all_learners() -> dict[str, type[Learner]]:
    """Return the registered learners by name."""
    from equipoise.training._learner import Learner

    entries = registry.entries("learner")
    return {
        entry.name: entry.implementation
        for entry in entries
        if isinstance(entry.implementation, type) and issubclass(entry.implementation, Learner)
    }


def check_compatible(
    learner: type[Learner], name: str, treatment: type[Treatment], called: str, task: str | None = None
) -> None:
    """Refuse a treatment whose ground the learner does not have: what it says would never be heard."""
    reason = incompatibility(learner, treatment, task)
    if reason is None:
        return
    able = [] if reason.task else learners_for(treatment)
    raise BadInput(
        f"The treatment {called!r} does not fit the learner {name!r}: {reason}",
        available=f"with this treatment: {listing(able)}" if able else "another treatment",
        help=f"learner = {nearest_learner(learner, able)!r} takes it."
        if able
        else "equipoise list treatments --matrix shows what fits.",
    )


def tasks_of(treatment: type[Treatment]) -> tuple[str, ...]:
    """Return the tasks that a treatment is for. A regression has no logits: what acts on them is not for numbers."""
    logits = Need.LOGITS in required(treatment)
    return tuple(task for task in treatment.tasks if not (logits and task == "regression"))


def groups_at_prediction(treatment: type[Treatment]) -> Literal["never", "some readouts", "always"]:
    """Tell whether predictions need the group of each row: never, in some readouts, or always."""
    readouts = [
        {name: option}
        for name, parameter in treatment.parameters.items() if isinstance(parameter, Readout)
        for option in parameter.options
    ]  # fmt: skip
    needs = set()
    for values in [{}, *readouts]:
        try:
            needs.add(treatment(**values).needs_group_at_prediction)
        except BadInput:  # an option that does not go with the default of another
            continue
    return "never" if not any(needs) else "always" if all(needs) else "some readouts"


def all_treatments() -> dict[str, type[Treatment]]:
    """Return the registered treatments that take part in studies, by name."""
    from equipoise.training._treatment import Treatment

    entries = registry.entries("treatment")
    return {
        entry.name: entry.implementation
        for entry in entries
        if isinstance(entry.implementation, type) and issubclass(entry.implementation, Treatment)
    }


def compatibility_matrix(task: str | None = None) -> dict[str, dict[str, Incompatibility | None]]:
    """Return why each treatment does not fit each learner (for a task, if named), None where it does.

    It is ``[treatment][learner]``.
    """
    columns = all_learners()
    return {
        name: {column: incompatibility(learner, treatment, task) for column, learner in columns.items()}
        for name, treatment in all_treatments().items()
    }
