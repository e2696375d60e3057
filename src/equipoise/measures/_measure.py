"""What a measure is, the decorator that makes one out of a plain function of a tally, and arrays as tallies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from equipoise.foundation import (
    FOREIGN_ARGUMENTS,
    BadInput,
    Column,
    Entry,
    Floats,
    accepts,
    as_column,
    as_columns,
    as_floats,
    as_weights,
    bibtex_for,
    first_line,
    ratio,
    registry,
    same_length,
    unknown_argument,
)
from equipoise.tallies import (
    PREDICTION_AXIS,
    TARGET_AXIS,
    Cells,
    Coded,
    Confusion,
    EmbeddingTally,
    RankedScores,
    ResidualMoments,
    ResidualPivot,
    ScoreHistogram,
    boolean_spellings,
    classes_of,
    confusion_of,
    embed,
    factorise,
    group_axis,
    label_of,
    ordered,
    residual_sums,
    residuals_of,
    scale_of_rows,
    scores_of,
    unify_booleans,
)

# rate: per group, a numerator over a denominator       value: per group, any other number
# gap: one number that compares groups                  ratio: the same, as a quotient (1 is parity)
# summary: one number that puts several into one
Kind = Literal["rate", "value", "gap", "ratio", "summary"]
Better = Literal["low", "high", "none"]
# What a measure is a function of.
Needs = Literal["predictions", "counts", "scores", "residuals", "embedding"]

# Any tally: a Confusion, Scores, Residuals or Embedded.
Tally = Any


@dataclass(frozen=True, kw_only=True)
class MeasuredValue:
    """A number with what it is of; NaN where it is undefined, and then ``reason`` says why."""

    measure: str
    alias: str | None
    kind: Kind
    variant: str
    scope: Literal["overall", "favourable"]
    class_: str | None
    value: float
    reason: str | None

    @property
    def defined(self) -> bool:
        """Whether there is a number to read."""
        return not np.isnan(self.value)


@dataclass(frozen=True, eq=False)
class Measure:
    """A registered measure. Call it with arrays, or give ``from_counts`` a tally.

    The function behind it is vectorised. With ``classwise`` it returns an array ``[..., class]`` (a rate: a numerator
    and a denominator ``[..., group, class]``); otherwise without the class dimension.
    """

    name: str
    kind: Kind
    better: Better
    needs: Needs
    paper: str
    function: Callable[[Tally], Any]
    alias: str | None = None
    title: str = ""
    bounds: tuple[float, float] = (0.0, 1.0)
    classwise: bool = True
    of: str | None = None
    denominator: str = ""
    undefined: str = ""
    variants: dict[str, Callable[[Tally], Any]] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        """The measure's name, as tools that take functions (scikit-learn's ``make_scorer``) ask for it."""
        return self.name

    @property
    def bibtex(self) -> str:
        """What to cite for it."""
        return bibtex_for("measure", self.name)

    def variant(self, name: str) -> Callable[[Callable[[Tally], Any]], Callable[[Tally], Any]]:
        """Register another way to compute the measure, such as ``"authors"``: what the paper's own code does."""

        def decorate(function: Callable[[Tally], Any]) -> Callable[[Tally], Any]:
            self.variants[name] = function
            return function

        return decorate

    def compute(self, tally: Tally, variant: str = "paper") -> Any:
        """Run the measure's function (or a variant of it) over a tally."""
        if variant == "paper":
            return self.function(tally)
        if variant not in self.variants:
            raise BadInput(
                f"{self.name} has no variant {variant!r}", available=", ".join(["paper", *sorted(self.variants)])
            )
        return self.variants[variant](tally)

    def by_class(self, tally: Tally, variant: str = "paper") -> Floats:
        """Return the values as an array: per group for rates and values, per class where ``classwise``."""
        computed = self.compute(tally, variant)
        values = ratio(*computed) if self.kind == "rate" else computed
        return np.asarray(values, dtype=np.float64)

    def from_counts(
        self, tally: Tally, *, favourable: str | None = None, variant: str = "paper", strict: bool = False
    ) -> float:
        """Return the number for one tally: of the favourable class if one is named, else the mean over classes.

        A rate is taken over everyone. With ``strict`` the mean is undefined as soon as one class is.
        """
        per_group = self.kind in ("rate", "value")
        values = self.by_class(tally.overall if per_group else tally, variant)
        if per_group:
            values = values[0]
        if not self.classwise:
            return float("nan") if strict and self._lacks_a_class(tally) else float(values)
        if favourable is not None:
            return float(values[class_index(tally, favourable)])
        return mean_over_classes(values, strict=strict)

    def _lacks_a_class(self, tally: Tally) -> bool:
        """Tell whether a number over all classes had to leave one out."""
        of = None if self.of is None else get_measure(self.of)
        return of is not None and of.classwise and bool(np.isnan(of.by_class(tally)).any())

    @accepts(favorable="favourable")
    def by_group(self, *data: object, favourable: object = None, **options: Any) -> dict[str, float]:
        """Return a rate or value for each group."""
        if self.kind not in ("rate", "value"):
            raise BadInput(f"{self.name} compares groups: it has one value for all of them, not one for each")
        tally = tally_of(self.needs, data, favourable=favourable, **options)
        values = self.by_class(tally)
        if self.classwise:
            label = label_of(favourable)
            assert isinstance(tally, Confusion)
            values = values[:, class_index(tally, label)] if label is not None else _means_over_common_classes(values)
        return {group: float(value) for group, value in zip(tally.groups, values, strict=True)}

    @accepts(favorable="favourable")
    def __call__(
        self,
        target: object,
        prediction: object,
        *,
        sensitive_features: object = None,
        favourable: object = None,
        sample_weight: object = None,
        variant: str = "paper",
        strict: bool = False,
        **options: Any,
    ) -> float:
        """Return the number, or NaN where it is not defined.

        A measure of an embedding takes it in the place of the prediction, and ``options`` such as ``k`` and ``metric``.
        """
        tally = tally_of(
            self.needs,
            (target, prediction),
            sensitive_features=sensitive_features,
            favourable=favourable,
            sample_weight=sample_weight,
            compares=self.kind not in ("rate", "value"),
            **options,
        )
        if favourable is None and self.kind != "rate" and self.classwise and isinstance(tally, Confusion):
            self._warn_of_a_mean(tally, variant)
        return self.from_counts(tally, favourable=label_of(favourable), variant=variant, strict=strict)

    def _warn_of_a_mean(self, tally: Confusion, variant: str) -> None:
        """Warn that a number of two classes is their mean, where they differ: most people mean one of the two."""
        values = self.by_class(tally, variant)
        if (
            len(values) == 2
            and np.isfinite(values).all()
            and not np.isclose(values[0], values[1], rtol=1e-9, atol=1e-12)
        ):
            first, second = tally.classes
            warnings.warn(
                f"{self.alias or self.name} is the mean over the classes {first!r} ({values[0]:.4g}) and {second!r} "
                f"({values[1]:.4g}), as no favourable class was named. Pass favourable={second!r} for one of them.",
                stacklevel=4,
            )

    @accepts(favorable="favourable")
    def record(self, target: object, prediction: object, *, favourable: object = None, **options: Any) -> MeasuredValue:
        """Return the number with what it is of and, where it is undefined, the reason."""
        value = self(target, prediction, favourable=favourable, **options)
        label = label_of(favourable)
        scope: Literal["overall", "favourable"] = "overall" if label is None or not self.classwise else "favourable"
        return MeasuredValue(
            measure=self.name,
            alias=self.alias,
            kind=self.kind,
            variant=options.get("variant", "paper"),
            scope=scope,
            class_=label if scope == "favourable" else None,
            value=value,
            reason=self._reason() if np.isnan(value) else None,
        )

    def _reason(self) -> str:
        return self.undefined or f"{self.title} has no denominator in at least one group"

    def __repr__(self) -> str:
        return f"<measure {self.name}: {first_line(self.function)}>"


def measure(
    name: str,
    *,
    kind: Kind,
    better: Better,
    needs: Needs,
    paper: str,
    alias: str | None = None,
    title: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    classwise: bool = True,
    of: str | None = None,
    denominator: str = "",
    undefined: str = "",
    origin: str | None = None,
) -> Callable[[Callable[[Tally], Any]], Measure]:
    """Register a function of a tally as a measure.

    ``of`` names the rate that a gap compares: it tells which groups are furthest apart and why a gap is undefined.
    ``denominator`` says in words whom a rate is taken over, and ``undefined`` when the number has no answer.
    ``origin`` is the key of the reference that defined it first.
    """

    def decorate(function: Callable[[Tally], Any]) -> Measure:
        registered = Measure(
            name=name,
            kind=kind,
            better=better,
            needs=needs,
            paper=paper,
            function=function,
            alias=alias,
            title=title or name.replace("_", " "),
            bounds=bounds,
            classwise=classwise,
            of=of,
            denominator=denominator,
            undefined=undefined,
        )
        details = {"kind": kind, "better": better, "needs": needs, "of": of, "classwise": classwise, "bounds": bounds}
        entry = Entry(
            kind="measure",
            name=name,
            implementation=registered,
            summary=first_line(function),
            paper=paper,
            alias=alias,
            origin=origin,
            details=details,
            module=function.__module__,
        )
        registry.add(entry)
        return registered

    return decorate


def get_measure(name: str) -> Measure:
    """Return a registered measure by its name or alias."""
    thing = registry.get("measure", name).implementation
    assert isinstance(thing, Measure)
    return thing


def mean_over_classes(values: Floats, *, strict: bool = False) -> float:
    """Return the unweighted mean over the classes that are defined; undefined where none is."""
    defined = ~np.isnan(values)
    if not defined.any() or (strict and not defined.all()):
        return float("nan")
    return float(values[defined].mean())


def _means_over_common_classes(values: Floats) -> Floats:
    """Return each group's mean over the classes that are defined in all groups."""
    common = ~np.isnan(values).any(axis=0)
    return values[:, common].mean(axis=1) if common.any() else np.full(len(values), np.nan)


def class_index(tally: Confusion, label: str) -> int:
    """Return where a class stands in a table."""
    if label not in tally.classes:
        raise BadInput(
            f"The class {label!r} is neither in the target nor in the predictions", available=", ".join(tally.classes)
        )
    return tally.classes.index(label)


def largest_difference(values: Floats, axis: int = -2) -> Floats:
    """Return max minus min over the groups; undefined as soon as one group is."""
    return np.asarray(values.max(axis=axis) - values.min(axis=axis), dtype=np.float64)


def tally_of(
    needs: Needs,
    data: Sequence[object],
    *,
    sensitive_features: object = None,
    favourable: object = None,
    sample_weight: object = None,
    compares: bool = False,
    **options: Any,
) -> Confusion | ScoreHistogram | ResidualMoments | EmbeddingTally:
    """Tally arrays for one measure. Several group columns are crossed; without any, everyone is one group."""
    target, outcome = data
    if target is None and needs != "predictions":
        raise BadInput("No target was given", available="one true value per row", help="pass it as the first argument.")
    if compares and sensitive_features is None:
        raise BadInput("No groups were given", help="pass sensitive_features=, one value per row.")
    if needs == "embedding":
        embedded = _embedded(target, outcome, sensitive_features, favourable, sample_weight, options)
        return _several(embedded) if compares else embedded
    if options:
        names = ["target", "prediction", "sensitive_features", "favourable", "sample_weight", "variant", "strict"]
        raise unknown_argument(next(iter(options)), names, {**FOREIGN_ARGUMENTS, "weight": "sample_weight"})
    groups = _groups(sensitive_features, outcome)
    weights = None if sample_weight is None else as_weights(sample_weight)
    lengths = {"target": target, "prediction": outcome, **groups}
    lengths |= {} if weights is None else {"sample_weight": weights}
    same_length({name: as_column(column, name) for name, column in lengths.items() if column is not None})
    coded = {group_axis(name): factorise(column) for name, column in groups.items()}
    if needs == "scores":
        tally: Confusion | ScoreHistogram | ResidualMoments = _scores(
            target, outcome, coded, weights, favourable, list(groups)
        )
    elif needs == "residuals":
        tally = _residuals(target, outcome, coded, weights, list(groups))
    else:
        tally = _confusion(target, outcome, coded, weights, list(groups))
    return _several(tally) if compares else tally


def _several(
    tally: Confusion | ScoreHistogram | ResidualMoments | EmbeddingTally,
) -> Confusion | ScoreHistogram | ResidualMoments | EmbeddingTally:
    if len(tally.groups) < 2:
        raise BadInput(
            f"There is only one group: {', '.join(tally.groups) or 'none'}",
            available="at least two groups",
            help="check that the group column is the right one.",
        )
    return tally


def _embedded(
    target: object,
    outcome: object,
    sensitive_features: object,
    favourable: object,
    sample_weight: object,
    options: dict[str, Any],
) -> EmbeddingTally:
    for value, what in ((favourable, "favourable class"), (sample_weight, "weights")):
        if value is not None:
            raise BadInput(f"A measure of an embedding takes no {what}", help="leave it out.")
    return embed(outcome, target, sensitive_features, **options)


def _groups(sensitive_features: object, outcome: object) -> dict[str, Column]:
    if sensitive_features is None:
        return {"everyone": np.zeros(len(as_column(outcome, "prediction")), dtype=np.int64)}
    return as_columns(sensitive_features)


def _confusion(
    target: object, outcome: object, groups: dict[str, Coded], weights: Floats | None, attributes: list[str]
) -> Confusion:
    columns = {} if target is None else {TARGET_AXIS: classes_of(target, "target")}
    columns |= {PREDICTION_AXIS: classes_of(outcome, "prediction")}
    cells = Cells.from_codes({**columns, **groups}, weights)
    return confusion_of(unify_booleans(cells, boolean_spellings(cells)), attributes)


def _scores(
    target: object,
    outcome: object,
    groups: dict[str, Coded],
    weights: Floats | None,
    favourable: object,
    attributes: list[str],
) -> ScoreHistogram:
    scores = as_floats(outcome, "the scores")
    if not len(scores) or not np.isfinite(scores).all():
        raise BadInput("The scores are empty, missing or infinite in some rows", help="drop those rows first.")
    truth = classes_of(target, "target")
    classes = ordered(label for label in truth.labels if label is not None)
    of_class = label_of(favourable) if favourable is not None else classes[-1]
    if of_class not in classes or (favourable is None and len(classes) > 2):
        raise BadInput(
            f"It is not clear which class the score is for ({favourable!r} was given)",
            available=", ".join(classes),
            help="name it with favourable=.",
        )
    assert of_class is not None
    columns = {**groups, TARGET_AXIS: truth}
    ranked = RankedScores.from_rows(columns, scores, weights)
    member = np.array([label == of_class for label in truth.labels])[ranked.axes[TARGET_AXIS].codes]
    scale = scale_of_rows(ranked, member)
    return scores_of(ranked.cells(scale), attributes, of_class, scale, ranked=None if scale.exact else ranked)


def _residuals(
    target: object, outcome: object, groups: dict[str, Coded], weights: Floats | None, attributes: list[str]
) -> ResidualMoments:
    y, p = as_floats(target, "the target"), as_floats(outcome, "the prediction")
    if not len(y) or np.isnan(y).any() or np.isnan(p).any():
        raise BadInput("The target or prediction is empty or has missing values", help="drop those rows first.")
    pivot = ResidualPivot(float(y.mean()), float(p.mean()))
    return residuals_of(Cells.from_codes(groups, weights, residual_sums(y, p, pivot)), attributes, pivot)
