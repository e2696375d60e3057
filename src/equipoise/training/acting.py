"""Which treatments a learner can let act: some act on trials that train together, some on one network by itself."""

from __future__ import annotations

from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.registry import registry
from equipoise.training.learner import Learner
from equipoise.training.preparing import has_own
from equipoise.training.treatment import Treatment


def misfit(learner: type[Learner], treatment: type[Treatment]) -> str | None:
    """Say what a treatment does that a learner would never ask it for; None where they fit.

    A treatment that both acts ``during`` and has ``taught`` fits every learner of classes.
    """
    if has_own(treatment, "after") and "post" not in learner.stages:
        return "acts after training"
    during, taught = has_own(treatment, "during"), has_own(treatment, "taught")
    if learner.metric:
        return _metric_misfit(treatment, during=during, taught=taught)
    if has_own(treatment, "metric") and not during and not taught:
        return "acts on embeddings that a metric loss trains"
    if learner.alone:
        return "acts on trials that train together" if during and not taught else None
    if has_own(treatment, "read"):
        return "reads the outputs of one network at a time"
    return "trains one network at a time" if taught and not during else None


def _metric_misfit(treatment: type[Treatment], *, during: bool, taught: bool) -> str | None:
    """Say what a treatment does that metric learning has no place for: no row is weighed there, and no class said."""
    if has_own(treatment, "weigh"):
        return "weighs training rows"
    if has_own(treatment, "read"):
        return "reads the outputs of a classifier"
    return "acts on a classifier in training" if (during or taught) and not has_own(treatment, "metric") else None


def learners_for(treatment: type[Treatment], stage: str = "in") -> list[str]:
    """Return the names of the learners that let a treatment of a stage act."""
    return [
        entry.name
        for entry in registry.entries("learner")
        if isinstance(entry.thing, type) and issubclass(entry.thing, Learner)
        if stage in entry.thing.stages and misfit(entry.thing, treatment) is None
    ]


def check_acts(learner: type[Learner], learner_name: str, treatment: type[Treatment], name: str) -> None:
    """Refuse a treatment that a learner would never ask: the trial would be untreated under another name."""
    does = misfit(learner, treatment)
    if does is not None:
        able = learners_for(treatment, "post" if has_own(treatment, "after") else "in")
        raise BadInput(
            f"The treatment {name!r} {does}, which the learner {learner_name!r} does not support",
            available="another treatment, or another learner",
            help=f"learner = {listing(able)} takes it." if able else "choose another treatment.",
        )
