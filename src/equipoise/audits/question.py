"""The question an audit is asked: which rows, which columns play which part, and what the reader wants to see."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from equipoise.audits.options import AUDIT_OPTIONS
from equipoise.cohorts.binning import Bins, bins_of
from equipoise.cohorts.cohort import Cohort, Task
from equipoise.cohorts.readers import open_table
from equipoise.cohorts.tables import EagerTable, LazyTable, Table, as_table
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.registry import registry
from equipoise.tallies.arrays import as_array, as_column, as_columns
from equipoise.tallies.counts import Counts
from equipoise.tallies.labels import label_of

TASKS = ("class", "multilabel", "regression")
VARIANTS = ("paper", "authors")
INTERSECTIONS = (False, True, "all", "pairs")


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything an audit needs to know. Columns are named; groups map an attribute to its column."""

    table: Table
    groups: Mapping[str, str]
    target: tuple[str, ...] = ()
    prediction: tuple[str, ...] = ()
    score: str | None = None
    task: Task = "class"
    favourable: str | None = None
    score_class: str | None = None
    threshold: float | None = None
    reference: Mapping[str, str] = field(default_factory=dict)
    control: str | None = None
    split: str | None = None
    weight: str | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    intersections: bool | str = False
    include_missing: bool = False
    strict: bool = False
    variant: str = "paper"
    suppress_below: int = 0
    cluster: str | None = None
    least_people: int = 30
    draws: int = 2_000
    seed: int = 0
    against_prediction: str | None = None
    against_score: str | None = None
    # The measures that were chosen; all where none was.
    measures: tuple[str, ...] = ()

    def reports(self, measure: str) -> bool:
        """Tell whether a measure is reported: one that was chosen, or the rate that a chosen gap compares."""
        return not self.measures or measure in self.measures or measure in self._compared_rates

    @cached_property
    def _compared_rates(self) -> set[str | None]:
        return {registry.get("measure", name).details.get("of") for name in self.measures}  # type: ignore[misc]

    @property
    def attributes(self) -> list[list[str]]:
        """What groups are compared by: each attribute, and on request two at a time or all of them crossed."""
        single = [[name] for name in self.groups]
        if not self.intersections or len(single) < 2:
            return single
        if self.intersections == "pairs":
            return [*single, *(list(pair) for pair in itertools.combinations(self.groups, 2))]
        return [*single, list(self.groups)]


def ask(
    data: object,
    *,
    target: object,
    prediction: object,
    score: object,
    sensitive_features: object,
    control: object,
    split: object,
    weight: object,
    cluster: object,
    against_prediction: object = None,
    against_score: object = None,
    **options: object,
) -> Question:
    """Make a question of what a caller passed: a path, a frame or a cohort with column names, or arrays."""
    plain = _options(options)
    roles = {
        "target": target, "prediction": prediction, "score": score, "control": control, "split": split,
        "weight": weight, "cluster": cluster, "against_prediction": against_prediction, "against_score": against_score,
    }  # fmt: skip
    if isinstance(data, Cohort):
        return _of_cohort(data, roles, sensitive_features, plain)
    if isinstance(data, Counts):
        named = [role for role, given in roles.items() if given is not None]
        if named or sensitive_features is not None:
            raise BadInput(
                f"Counts were given together with {', '.join(named) or 'sensitive_features'}",
                available="counts alone: they hold their target, predictions, groups and weights already",
            )
        _check_reference_names(plain["reference"], data.attributes)
        groups = {name: name for name in data.attributes}
        return Question(table=EagerTable({}, "the counts"), groups=groups, **plain)  # type: ignore[arg-type]
    if data is None:
        return _of_arrays(roles, sensitive_features, plain)
    wanted = [*roles.values(), sensitive_features, plain["bins"], plain["categorical"]]
    return _of_columns(_table_of(data, plain["missing"], wanted), roles, sensitive_features, plain)


def _table_of(data: object, missing: object, wanted: Sequence[object]) -> Table:
    if isinstance(data, (str, os.PathLike)):
        assert isinstance(missing, tuple)
        several = (given for given in wanted if isinstance(given, (Sequence, Mapping)) and not isinstance(given, str))
        names = {name for given in [wanted, *several] for name in given if isinstance(name, str)}
        return LazyTable(open_table(data, missing=missing, wanted=names), Path(data).name)
    return as_table(data)


def _options(options: Mapping[str, object]) -> dict[str, object]:
    """Check the options that say how to look, not at what."""
    chosen = dict(options)
    for name, known in (("task", TASKS), ("variant", VARIANTS)):
        if chosen[name] not in known:
            raise unknown_name(name, str(chosen[name]), known, "audit")
    if chosen["intersections"] not in INTERSECTIONS:
        raise BadInput(
            f"intersections is {chosen['intersections']!r}",
            available='True or "all" (all group columns crossed), "pairs" (two at a time), or False',
        )
    chosen["bins"] = bins_of(chosen["bins"])
    for name in ("favourable", "score_class"):
        chosen[name] = label_of(chosen[name])
    reference = chosen["reference"] or {}
    if not isinstance(reference, Mapping):
        raise BadInput(f"The reference is {reference!r}", available="a mapping such as {'sex': 'Male'}")
    chosen["reference"] = {str(name): str(label_of(group)) for name, group in reference.items()}
    named = _names(chosen.get("measures") or (), "measures")
    chosen["measures"] = tuple(dict.fromkeys(registry.get("measure", name).name for name in named))
    for name in ("categorical", "missing"):
        chosen[name] = _names(chosen[name] or (), name)
    threshold = chosen["threshold"]
    if threshold is not None and not (isinstance(threshold, (int, float)) and math.isfinite(threshold)):
        raise BadInput(f"The threshold is {threshold!r}", available="a number such as 0.5")
    for name in ("suppress_below", "least_people", "draws", "seed"):
        number = chosen[name]
        if not isinstance(number, int) or number < 0:
            raise BadInput(f"{name} is {number!r}", available="a whole number of 0 or more")
    return chosen


def _names(given: object, what: str) -> tuple[str, ...]:
    """Accept one column name or several."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, Sequence) and all(isinstance(name, str) for name in given):
        return tuple(given)
    raise BadInput(
        f"{what} is {type(given).__name__} where the name of a column is expected",
        available="column names together with a frame, or arrays without one",
        help="pass the array as a column of the frame, or leave the frame out and pass arrays only.",
    )


FLAGS = {option.in_python: option.flag for option in AUDIT_OPTIONS}
# The parts a single column can play, besides target and prediction.
SINGLE = ("score", "control", "split", "weight", "cluster", "against_prediction", "against_score")


def _of_columns(
    table: Table, roles: Mapping[str, object], sensitive_features: object, plain: dict[str, object]
) -> Question:
    groups = _names(sensitive_features, "sensitive_features")
    if not groups:
        raise BadInput(
            "No group column was given", available=", ".join(table.columns[:12]), help="name at least one group."
        )
    question = Question(
        table=table,
        groups={name: name for name in dict.fromkeys(groups)},
        target=_names(roles["target"], "target"),
        prediction=_names(roles["prediction"], "prediction"),
        **{role: _one(roles[role], role) for role in SINGLE},  # type: ignore[arg-type]
        **plain,  # type: ignore[arg-type]
    )
    return _checked(question)


def _one(given: object, role: str) -> str | None:
    names = _names(given, role)
    if len(names) > 1:
        raise BadInput(f"{role} names {len(names)} columns", available="one column")
    return names[0] if names else None


def _of_cohort(
    cohort: Cohort, roles: Mapping[str, object], sensitive_features: object, plain: dict[str, object]
) -> Question:
    """What the caller leaves out, the cohort says."""
    for role in ("favourable", "score_class"):
        if plain[role] is None:
            plain[role] = getattr(cohort, role)
    if cohort.task != "class":
        plain["task"] = cohort.task
    own = {role: getattr(cohort, role) for role in ("target", "prediction", "score", "weight", "cluster")}
    own["split"] = cohort.split if len(cohort.splits) > 1 else None
    said = {role: given if given is not None else own.get(role) for role, given in roles.items()}
    table = EagerTable(cohort.columns, f"the cohort {cohort.name!r}")
    return _of_columns(table, said, sensitive_features or list(cohort.groups), plain)


def _of_arrays(roles: Mapping[str, object], sensitive_features: object, plain: dict[str, object]) -> Question:
    if sensitive_features is None:
        raise BadInput("No groups were given", help="pass sensitive_features=, one value a row.")
    columns = {role: as_column(roles[role], role) for role in SINGLE if roles[role] is not None}
    named = dict.fromkeys(columns)
    labels: dict[str, tuple[str, ...]] = {}
    for role in ("target", "prediction"):
        outcome = _outcome_columns(role, roles[role], multilabel=plain["task"] == "multilabel")
        columns |= outcome
        labels[role] = tuple(outcome)
    attributes = as_columns(sensitive_features)
    columns |= {f"group:{name}": values for name, values in attributes.items()}
    question = Question(
        table=EagerTable(columns),
        groups={name: f"group:{name}" for name in attributes},
        **labels,  # type: ignore[arg-type]
        **{role: role for role in named},  # type: ignore[arg-type]
        **plain,  # type: ignore[arg-type]
    )
    bins = {f"group:{name}": request for name, request in question.bins.items()}
    categorical = tuple(f"group:{name}" for name in question.categorical)
    return _checked(replace(question, bins=bins, categorical=categorical))


def _outcome_columns(role: str, values: object, *, multilabel: bool) -> dict[str, object]:
    if values is None:
        return {}
    if multilabel:
        matrix = as_array(values, role)
        if matrix.ndim == 2:
            return {f"{role}:{place}": matrix[:, place] for place in range(matrix.shape[1])}
    return {role: as_column(values, role)}


def _checked(question: Question) -> Question:
    """Refuse what cannot be answered, before anything is counted."""
    table = question.table
    several = {"target": question.target, "prediction": question.prediction,
               "sensitive_features": question.groups.values(), "bins": question.bins,
               "categorical": question.categorical}  # fmt: skip
    for role, columns in (several | {role: [getattr(question, role)] for role in SINGLE}).items():
        for column in columns:
            if column is not None and column not in table.columns:
                raise unknown_name(
                    "column", column, table.columns, table.name, typed=f"{FLAGS[role]} {{0}} ({role}={{0!r}})"
                )
    if not question.prediction and question.score is None:
        raise BadInput(
            "Neither a prediction nor a score was given",
            help="name the column with --prediction (prediction=) or --score (score=).",
        )
    if question.task != "multilabel" and max(len(question.target), len(question.prediction)) > 1:
        raise BadInput(
            "Several target or prediction columns were given",
            available="one of each, or one of each per label",
            help="add --task multilabel (task='multilabel').",
        )
    if question.task == "multilabel" and len(question.target) != len(question.prediction):
        raise BadInput(
            f"{len(question.target)} targets and {len(question.prediction)} predictions were given",
            available="one prediction for each target, in the same order",
        )
    if question.task == "regression" and not (question.target and question.prediction):
        raise BadInput("A regression audit needs a target and a prediction", help="name both columns.")
    _check_reference_names(question.reference, question.groups)
    _check_twice(question)
    _check_measures(question)
    return question


def _check_measures(question: Question) -> None:
    """Refuse a measure that was chosen and that nothing in this audit can tell."""
    regression = question.task == "regression"
    lacking = {
        "scores": "" if question.score is not None else "a score (--score, score=)",
        "counts": "" if question.target and not regression else "a target of classes (--target, target=)",
        "predictions": "a task of classes" if regression else "",
        "residuals": "" if regression else "a number to be predicted (--task regression, task='regression')",
        "embedding": "an embedding (--embedding; in Python audit_embedding)",
    }
    for name in question.measures:
        need = lacking.get(str(registry.get("measure", name).details["needs"]), "")
        if need:
            raise BadInput(f"The measure {name!r} was chosen, and it needs {need}", help="leave it out, or add that.")


def _check_twice(question: Question) -> None:
    """Refuse a column that is held against itself."""
    for option, column, new in (
        ("--against-prediction", question.against_prediction, question.prediction),
        ("--against-score", question.against_score, (question.score,)),
    ):
        if column is not None and column in new:
            raise BadInput(
                f"{option} names {column!r}, which is the new one too",
                available="two columns: what is judged now, and what it is held against",
            )


def _check_reference_names(reference: object, attributes: Iterable[str]) -> None:
    assert isinstance(reference, Mapping)
    for name in reference:
        if name not in attributes:
            raise unknown_name("attribute", name, attributes, "the groups of this audit")
