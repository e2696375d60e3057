"""What an audit needs to know, checked: the rows, the role of each column, and the options."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

from equipoise.audits._options import AUDIT_OPTIONS, OUTCOMES
from equipoise.cohorts import (
    Bins,
    Cohort,
    EagerTable,
    LazyTable,
    Table,
    Task,
    as_table,
    open_table,
    parse_bins,
)
from equipoise.foundation import (
    BadInput,
    as_array,
    as_column,
    as_columns,
    check_options,
    registry,
    unknown_name,
)
from equipoise.tallies import Counts, label_of

INTERSECTIONS = (False, True, "all", "pairs")
OPTIONS = tuple(option for option in AUDIT_OPTIONS if option.used_by(OUTCOMES))
BY_ARGUMENT = {option.in_python: option for option in OPTIONS if option.in_python is not None}
DEFAULTS = {name: option.default for name, option in BY_ARGUMENT.items() if name not in ("against", "embedding")}
# The roles a column can have: several columns for the first three, one for the others.
SINGLE = ("score", "control", "split", "weight", "cluster", "against_prediction", "against_score")
ROLES = ("target", "prediction", "sensitive_features", *SINGLE)
NOT_RENAMED: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class AuditSpec:
    """Everything an audit needs to know. Columns are named; ``groups`` maps an attribute to its column."""

    table: Table
    groups: Mapping[str, str]
    target: tuple[str, ...] = ()
    prediction: tuple[str, ...] = ()
    score: str | None = None
    control: str | None = None
    split: str | None = None
    weight: str | None = None
    cluster: str | None = None
    against_prediction: str | None = None
    against_score: str | None = None
    # The options, as they are declared; every one is given.
    task: Task
    favourable: str | None
    score_class: str | None
    threshold: float | None
    reference: Mapping[str, str]
    bins: Mapping[str, Bins]
    categorical: tuple[str, ...]
    missing: tuple[str, ...]
    intersections: bool | str
    include_missing: bool
    strict: bool
    variant: str
    suppress_below: int
    least_people: int
    draws: int
    seed: int
    gap_of_interest: float | None
    equivalence_margin: float | None
    # The measures that were chosen; all where none was.
    measures: tuple[str, ...]

    def reports(self, measure: str) -> bool:
        """Tell whether a measure is reported: one that was chosen, or the rate that a chosen gap compares."""
        return not self.measures or measure in self.measures or measure in self._compared_rates

    @cached_property
    def _compared_rates(self) -> set[str | None]:
        return {registry.get("measure", name).details.get("of") for name in self.measures}  # type: ignore[misc]

    @property
    def options_as_given(self) -> dict[str, object]:
        """Every option as a plain value."""
        options: dict[str, object] = {}
        for name in (name for name in DEFAULTS if name not in ROLES):
            value = getattr(self, name)
            options[name] = list(value) if isinstance(value, tuple) else value
        cuts = {column: str(bins.edges or f"quantile:{bins.quantiles}") for column, bins in self.bins.items()}
        return options | {"reference": dict(self.reference), "bins": cuts}

    @property
    def names_earlier(self) -> bool:
        """Whether a column has an earlier prediction or score, which the audit is compared with."""
        return self.against_prediction is not None or self.against_score is not None

    @property
    def attributes(self) -> list[list[str]]:
        """What groups are compared by: each attribute, and on request two at a time or all of them crossed."""
        single = [[name] for name in self.groups]
        if not self.intersections or len(single) < 2:
            return single
        if self.intersections == "pairs":
            return [*single, *(list(pair) for pair in itertools.combinations(self.groups, 2))]
        return [*single, list(self.groups)]


def resolve(data: object, provided: Mapping[str, object], called: Mapping[str, str] = NOT_RENAMED) -> AuditSpec:
    """Check what a caller gave, and return it as a spec.

    Parameters
    ----------
    data : path, data frame, Cohort, Counts or None
        The rows, whose columns are named; with None the roles are arrays.
    provided : mapping
        Arguments of ``audit`` by their names. What it leaves out has the declared default.
    called : mapping of str to str
        What roles are called in another verb, for its error messages.

    Returns
    -------
    AuditSpec
        The table, the column of every role, and every option. A name, role or value that is not right raises
        ``BadInput``.

    Examples
    --------
    >>> from equipoise.audits import resolve
    >>> provided = {"target": [1, 0], "prediction": [1, 1], "sensitive_features": {"sex": ["f", "m"]}}
    >>> spec = resolve(None, provided)
    >>> spec.attributes, spec.task, spec.least_people
    ([['sex']], 'class', 30)
    """
    arguments = DEFAULTS | dict(provided)
    roles = {role: arguments.pop(role) for role in ROLES}
    options = _checked_options(arguments)
    if isinstance(data, Cohort):
        return _of_cohort(data, roles, options, called)
    if isinstance(data, Counts):
        named = [role for role, column in roles.items() if column is not None]
        if named:
            raise BadInput(
                f"Counts were given together with {', '.join(named)}",
                available="counts alone: they hold their target, predictions, groups and weights already",
            )
        _check_reference_names(options["reference"], data.attributes)
        groups = {name: name for name in data.attributes}
        return AuditSpec(table=EagerTable({}, "the counts"), groups=groups, **options)
    if data is None:
        return _of_arrays(roles, options, called)
    requested = [*roles.values(), options["bins"], options["categorical"]]
    return _of_columns(_table_of(data, options["missing"], requested), roles, options, called)


def _table_of(data: object, missing: object, arguments: Sequence[object]) -> Table:
    if isinstance(data, (str, os.PathLike)):
        assert isinstance(missing, tuple)
        several = (
            argument
            for argument in arguments
            if isinstance(argument, (Sequence, Mapping)) and not isinstance(argument, str)
        )
        names = {name for argument in [arguments, *several] for name in argument if isinstance(name, str)}
        return LazyTable(open_table(data, missing=missing, columns=names), Path(data).name)
    return as_table(data, or_arrays=True)


def _checked_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Check the options that say how to look, not at what."""
    check_options(OPTIONS, options, "audit")
    chosen: dict[str, Any] = dict(options)
    if chosen["intersections"] not in INTERSECTIONS:
        raise BadInput(
            f"intersections is {chosen['intersections']!r}",
            available='True or "all" (all group columns crossed), "pairs" (two at a time), or False',
        )
    chosen["bins"] = parse_bins(chosen["bins"])
    for name in ("favourable", "score_class"):
        chosen[name] = label_of(chosen[name])
    reference = chosen["reference"] or {}
    if not isinstance(reference, Mapping):
        raise BadInput(f"The reference is {reference!r}", available="a mapping such as {'sex': 'Male'}")
    chosen["reference"] = {str(name): str(label_of(group)) for name, group in reference.items()}
    measures = _names(chosen["measures"] or (), "measures")
    chosen["measures"] = tuple(dict.fromkeys(registry.get("measure", name).name for name in measures))
    for name in ("categorical", "missing"):
        chosen[name] = _names(chosen[name] or (), name)
    threshold = chosen["threshold"]
    if threshold is not None and not (isinstance(threshold, (int, float)) and math.isfinite(threshold)):
        raise BadInput(f"The threshold is {threshold!r}", available="a number such as 0.5")
    for name, words in (("gap_of_interest", "gap of interest"), ("equivalence_margin", "equivalence margin")):
        size = chosen[name]
        if size is not None and not (isinstance(size, Real) and 0 < float(size) < 1):
            raise BadInput(
                f"The {words} is {size!r}",
                available="a difference of rates between 0 and 1",
                help=f"write 5 points as 0.05: {name}=0.05 ({BY_ARGUMENT[name].flag} 0.05).",
            )
    return chosen


def _names(value: object, what: str) -> tuple[str, ...]:
    """Accept one column name or several."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise BadInput(
        f"{what} is {type(value).__name__} where the name of a column is expected",
        available="column names together with a frame, or arrays without one",
        help="pass the array as a column of the frame, or leave the frame out and pass arrays only.",
    )


def _of_columns(
    table: Table, roles: Mapping[str, object], options: dict[str, Any], called: Mapping[str, str]
) -> AuditSpec:
    groups = _names(roles["sensitive_features"], "sensitive_features")
    if not groups:
        raise BadInput(
            "No group column was given", available=", ".join(table.columns[:12]), help="name at least one group."
        )
    names: dict[str, Any] = {role: _names(roles[role], called.get(role, role)) for role in ("target", "prediction")}
    names |= {role: _single(roles[role], called.get(role, role)) for role in SINGLE}
    spec = AuditSpec(table=table, groups={name: name for name in dict.fromkeys(groups)}, **names, **options)
    return _checked(spec, called)


def _single(value: object, role: str) -> str | None:
    names = _names(value, role)
    if len(names) > 1:
        raise BadInput(f"{role} names {len(names)} columns", available="one column")
    return names[0] if names else None


def _of_cohort(
    cohort: Cohort, roles: Mapping[str, object], options: dict[str, Any], called: Mapping[str, str]
) -> AuditSpec:
    """What the caller leaves out, the cohort says."""
    for option in ("favourable", "score_class"):
        if options[option] is None:
            options[option] = getattr(cohort, option)
    if cohort.task != "class":
        options["task"] = cohort.task
    declared: dict[str, object] = {role: getattr(cohort, role) for role in ("prediction", "score", "weight", "cluster")}
    declared["target"] = list(cohort.target_columns)
    declared["split"] = cohort.split if len(cohort.splits) > 1 else None
    columns = {role: column if column is not None else declared.get(role) for role, column in roles.items()}
    columns["sensitive_features"] = roles["sensitive_features"] or list(cohort.groups)
    return _of_columns(EagerTable(cohort.columns, f"the cohort {cohort.name!r}"), columns, options, called)


def _of_arrays(roles: Mapping[str, object], options: dict[str, Any], called: Mapping[str, str]) -> AuditSpec:
    if roles["sensitive_features"] is None:
        raise BadInput("No groups were given", help="pass sensitive_features=, one value a row.")
    columns = {role: as_column(roles[role], called.get(role, role)) for role in SINGLE if roles[role] is not None}
    names: dict[str, Any] = {role: role for role in columns}
    for role in ("target", "prediction"):
        outcome = _outcome_columns(role, roles[role], multilabel=options["task"] == "multilabel")
        columns |= outcome
        names[role] = tuple(outcome)
    attributes = as_columns(roles["sensitive_features"])
    columns |= {f"group:{name}": values for name, values in attributes.items()}
    groups = {name: f"group:{name}" for name in attributes}
    spec = AuditSpec(table=EagerTable(columns), groups=groups, **names, **options)
    bins = {f"group:{name}": request for name, request in spec.bins.items()}
    categorical = tuple(f"group:{name}" for name in spec.categorical)
    return _checked(replace(spec, bins=bins, categorical=categorical), called)


def _outcome_columns(role: str, values: object, *, multilabel: bool) -> dict[str, object]:
    if values is None:
        return {}
    if multilabel:
        matrix = as_array(values, role)
        if matrix.ndim == 2:
            return {f"{role}:{label}": matrix[:, label] for label in range(matrix.shape[1])}
    return {role: as_column(values, role)}


def _checked(spec: AuditSpec, called: Mapping[str, str]) -> AuditSpec:
    """Refuse what cannot be answered, before anything is counted."""
    table = spec.table
    several = {"target": spec.target, "prediction": spec.prediction,
               "sensitive_features": spec.groups.values(), "bins": spec.bins,
               "categorical": spec.categorical}  # fmt: skip
    for role, columns in (several | {role: [getattr(spec, role)] for role in SINGLE}).items():
        for column in columns:
            if column is not None and column not in table.columns:
                typed = BY_ARGUMENT[role].typed
                if role in called:
                    typed = f"--{called[role]} {{0}} ({called[role]}={{0!r}})"
                raise unknown_name("column", column, table.columns, table.name, typed=typed)
    if not spec.prediction and spec.score is None:
        raise BadInput(
            "Neither a prediction nor a score was given",
            help="name the column with --prediction (prediction=) or --score (score=).",
        )
    if spec.task != "multilabel" and max(len(spec.target), len(spec.prediction)) > 1:
        raise BadInput(
            "Several target or prediction columns were given",
            available="one of each, or one of each per label",
            help="add --task multilabel (task='multilabel').",
        )
    if spec.task == "multilabel" and len(spec.target) != len(spec.prediction):
        raise BadInput(
            f"{len(spec.target)} targets and {len(spec.prediction)} predictions were given",
            available="one prediction for each target, in the same order",
        )
    if spec.task == "regression" and not (spec.target and spec.prediction):
        raise BadInput("A regression audit needs a target and a prediction", help="name both columns.")
    _check_reference_names(spec.reference, spec.groups)
    _check_twice(spec)
    _check_measures(spec)
    return spec


def _check_measures(spec: AuditSpec) -> None:
    """Refuse a chosen measure that needs what this audit was not given."""
    regression = spec.task == "regression"
    lacking = {
        "scores": "" if spec.score is not None else "a score (--score, score=)",
        "counts": "" if spec.target and not regression else "a target of classes (--target, target=)",
        "predictions": "a task of classes" if regression else "",
        "residuals": "" if regression else "a number to be predicted (--task regression, task='regression')",
        "embedding": "an embedding (--embedding; in Python audit_embedding)",
    }
    for name in spec.measures:
        need = lacking.get(str(registry.get("measure", name).details["needs"]), "")
        if need:
            raise BadInput(f"The measure {name!r} was chosen, and it needs {need}", help="leave it out, or add that.")


def _check_twice(spec: AuditSpec) -> None:
    """Refuse a column that is compared with itself."""
    for option, column, new in (
        ("--against-prediction", spec.against_prediction, spec.prediction),
        ("--against-score", spec.against_score, (spec.score,)),
    ):
        if column is not None and column in new:
            raise BadInput(
                f"{option} names {column!r}, which is the new one too",
                available="two columns: what is audited now, and what it is compared with",
            )


def _check_reference_names(reference: object, attributes: Iterable[str]) -> None:
    assert isinstance(reference, Mapping)
    for name in reference:
        if name not in attributes:
            raise unknown_name("attribute", name, attributes, "the groups of this audit")
