"""Evidence over runs (Qian et al. 2021): is the effect of a technique real, how large is it, and what does it cost?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, get_args

import numpy as np

from equipoise.audits.evidence._classes import Straddle, run_values, straddling
from equipoise.audits.evidence._comparison import (
    BRUNNER_MUNZEL,
    MANN_WHITNEY,
    OF_PAIRS,
    OF_SAMPLES,
    PERMUTATION,
    SIGN_FLIP,
    STUDENTISED,
    WILCOXON,
    Alternative,
    Comparison,
    Correction,
    Plan,
    Series,
    SpreadRule,
    Test,
    compare,
    series_of,
)
from equipoise.audits.evidence._result import SCHEMA, EvidenceRecord, EvidenceResult, RunValues
from equipoise.audits.evidence._runs import Baselines, Runs, baselines_of, in_order, read_runs, root_of
from equipoise.audits.evidence._verdict import NAMES, EvidenceReason, asides, costs_of, decide, variance_changes
from equipoise.foundation import (
    RECORDED_PACKAGES,
    BadInput,
    fitting,
    plural,
    provenance,
    unknown_name,
)
from equipoise.results import (
    Reason,
    Verdict,
    all_reasons,
    because,
)
from equipoise.stats import (
    CORRECTIONS,
    effect_band,
    is_equivalent,
)
from equipoise.tallies import (
    label_of,
    ordered,
)

if TYPE_CHECKING:
    from equipoise.cohorts import (
        ColumnLike,
        TableLike,
    )

ALLOWED_MARGIN = "a number above 0 in the unit of the metric, such as 0.02"
MARGIN_HELP = "write: --margin 0.02, or --margin DP=0.02 for one metric (margin=)."

ALTERNATIVES = get_args(Alternative)
TESTS = get_args(Test)
SPREADS = get_args(SpreadRule)
TEST_NAMES = {
    PERMUTATION: "Studentised permutation test with Welch's t", SIGN_FLIP: "Sign-flip test of pairs with Student's t",
    MANN_WHITNEY: "Mann-Whitney U", BRUNNER_MUNZEL: "Brunner-Munzel", WILCOXON: "Wilcoxon signed-rank",
}  # fmt: skip
SPREAD_NOTES = {
    "absolute": "The spread that counts as a cost is that of the values (Levene's test around the median).",
    "relative": "The spread that counts as a cost is relative to the mean (Levene's test on values divided by it).",
}
# A technique on a metric.
Cell = tuple[str, str]


def evidence(
    runs: TableLike | None = None,
    *,
    technique: ColumnLike = "technique",
    metric: ColumnLike = "metric",
    run: ColumnLike = "run",
    value: ColumnLike = "value",
    baseline: str | float | bool | None = None,
    baseline_column: ColumnLike | None = None,
    performance: str | Iterable[str] = (),
    alternative: Alternative = "two-sided",
    test: Test = PERMUTATION,
    pair: ColumnLike | None = None,
    correction: Correction = "bh",
    threshold: float = 0.05,
    margin: float | Mapping[str, float] | None = None,
    spread: SpreadRule = "absolute",
    by: ColumnLike | None = None,
    missing: str | Iterable[str] = (),
    command: Iterable[str] | None = None,
) -> EvidenceResult:
    """Judge repeated training runs: each technique against its baseline, on each metric.

    Parameters
    ----------
    runs : path, data frame or mapping of arrays, optional
        The results in long form, one row per technique, metric and run: a CSV, Parquet or Arrow file, any data frame
        that narwhals knows, or a mapping of arrays. Without it the next four arguments are arrays, one value per row.
    technique, metric, run, value : str or array
        The columns that name the technique, the metric and the run of a row, and hold its value.
    baseline : str, optional
        The technique that all others are compared with.
    baseline_column : str or array, optional
        The column that names the baseline of each technique, where techniques have different ones.
    performance : str or list of str
        Metrics that are better high, such as accuracy: a loss there is a cost.
    alternative : {"two-sided", "observed"}
        ``observed`` is the one-sided test in the direction the means point to, as in Qian et al. (2021); its error rate
        is twice the threshold.
    test : {"permutation", "mann-whitney", "brunner-munzel", "sign-flip", "wilcoxon"}
        A studentised permutation test by default; of pairs a sign-flip test. Qian et al. use ``mann-whitney``.
    pair : str or array, optional
        The column, such as the seed, that pairs runs of a technique with runs of its baseline.
    correction : {"bh", "holm", "none"}
        How p-values are corrected for the number of comparisons.
    threshold : float
        The largest corrected p of a finding.
    margin : float or mapping of metric to float, optional
        How large a difference may be and still be irrelevant. Whether it is shown to be within is a test of its own.
    spread : {"absolute", "relative"}
        Whether the spread of the values counts as a cost, or that of values divided by their mean, as in Qian et al.
        (2021).
    by : str or array, optional
        The column of classes: those whose runs fall on both sides of the 20% rule are listed.
    missing : str or list of str
        Words that stand for a missing value, besides an empty cell.
    command : list of str, optional
        The command line, for the provenance.

    Returns
    -------
    EvidenceResult
        A record for each technique and metric, with the verdict, the difference and its interval.

    Examples
    --------
    >>> import equipoise
    >>> values = {"base": [0.30, 0.31, 0.29, 0.32, 0.30, 0.31], "reweighed": [0.26, 0.27, 0.25, 0.27, 0.26, 0.28]}
    >>> rows = [(name, "DP", run, value) for name, all_ in values.items() for run, value in enumerate(all_)]
    >>> names = ("technique", "metric", "run", "value")
    >>> result = equipoise.evidence(dict(zip(names, zip(*rows), strict=True)), baseline="base")
    >>> [record] = result.find(technique="reweighed")
    >>> str(record.verdict), round(record.difference, 4), round(record.p_adjusted, 4)
    ('lower', -0.04, 0.0022)
    """
    plan = _plan(test, alternative, correction, threshold, pair, spread)
    rows = read_runs(
        runs, technique=technique, metric=metric, run=run, value=value, baseline=baseline_column, pair=pair, by=by,
        missing=missing,
    )  # fmt: skip
    plan = replace(plan, margins=margins_of(rows, margin))
    named = _performance(rows, performance)
    baselines = baselines_of(rows, baseline)
    order = in_order(baselines)
    cells = sorted(rows.cells(), key=_sort_key(order, rows.names("metric")))
    overall, classes, notes = _whole_values(rows, baselines, named)
    series = series_of(overall, cells)
    scope = _scope(plan)
    compared = _comparisons(cells, series, baselines, plan)
    records = _records([series[cell] for cell in cells], compared, plan, named, scope)
    return EvidenceResult(
        schema=SCHEMA,
        records=tuple(records),
        provenance=_provenance(rows, plan, label_of(baseline), named, command),
        notes=(
            *notes,
            *_without_performance(cells, baselines, named),
            *_pairable(series, baselines, plan),
            *_notes_of(plan, records),
        ),
        performance=named,
        straddling=tuple(classes),
        runs=tuple(RunValues(s.technique, s.metric, s.runs, tuple(s.values.tolist())) for s in series.values()),
        variances=tuple(variance_changes(compared.values(), plan.threshold, plan.spread)),
    )


def _plan(test: str, alternative: str, correction: str, threshold: float, pair: object, spread: SpreadRule) -> Plan:
    choices = {
        "test": (test, TESTS), "alternative": (alternative, ALTERNATIVES), "correction": (correction, CORRECTIONS),
        "spread": (spread, SPREADS),
    }  # fmt: skip
    for name, (chosen, allowed) in choices.items():
        if chosen not in allowed:
            raise unknown_name(name, str(chosen), allowed, "evidence")
    if not 0 < threshold < 1:
        raise BadInput(f"The threshold is {threshold!r}", available="a number between 0 and 1, such as 0.05")
    if pair is not None and test == PERMUTATION:
        test = SIGN_FLIP
    if (pair is not None) != (test in OF_PAIRS):
        raise BadInput(
            f"The test {test!r} was asked for {'together with' if pair is not None else 'without'} pairs",
            available=f"with pairs {' or '.join(OF_PAIRS)}, without them {', '.join(OF_SAMPLES)}",
            help="leave out --test or --pair (test= or pair=)." if pair is not None
            else "name the column that pairs runs, such as the seed: --pair seed (pair=).",
        )  # fmt: skip
    paired_by = pair if pair is None or isinstance(pair, str) else "pair"
    return Plan(
        test=test, alternative=alternative, correction=correction, threshold=threshold, pair=paired_by, spread=spread
    )


def _performance(rows: Runs, performance: str | Iterable[str]) -> tuple[str, ...]:
    names = tuple(
        dict.fromkeys((performance,) if isinstance(performance, str) else (str(name) for name in performance))
    )
    metrics = rows.names("metric")
    for name in names:
        if name not in metrics:
            raise unknown_name("metric", name, metrics, f"{rows.name}, to be the performance")
    return names


def _sort_key(order: Sequence[str], metrics: Iterable[str]) -> Callable[[tuple[str, str]], tuple[int, int]]:
    """Return how to sort cells: by family, baselines first, then by metric."""
    techniques = {name: index for index, name in enumerate(order)}
    position_of = {name: index for index, name in enumerate(ordered(metrics))}
    return lambda cell: (techniques[cell[0]], position_of[cell[1]])


def _whole_values(
    rows: Runs, baselines: Baselines, performance: Sequence[str]
) -> tuple[Runs, list[Straddle], list[str]]:
    """Return one value a run, the classes that flip, and notes on what was left out."""
    is_defined = ~np.isnan(rows.values)
    notes = []
    if not is_defined.all():
        dropped = int((~is_defined).sum())
        has = fitting(dropped, "was dropped: it has", "were dropped: they have")
        notes.append(f"{dropped:,} of {plural(len(rows), 'row')} {has} no value.")
    valued = rows.where(is_defined)
    if "by" not in rows.labels:
        return valued, [], notes
    classes, unfit = straddling(valued, performance)
    overall, left_out = run_values(valued, {name: root_of(name, baselines) for name in baselines})
    return overall, classes, [*notes, *left_out, *unfit]


def _scope(plan: Plan) -> str:
    if plan.pair is not None:
        return f"holds for runs like these, paired by {plan.pair}, on one test set: it says nothing about other people"
    return (
        "holds for runs like these: identical runs of one seed on one test set say nothing about other seeds "
        "or other people"
    )


def _comparisons(
    cells: Iterable[Cell], series: Mapping[Cell, Series], baselines: Baselines, plan: Plan
) -> dict[Cell, Comparison]:
    couples = [
        (series[technique, metric], series[above, metric])
        for technique, metric in cells
        if (above := baselines[technique]) is not None
    ]
    return {
        (comparison.technique.technique, comparison.technique.metric): comparison
        for comparison in compare(couples, plan)
    }


def _records(
    cells: Sequence[Series], compared: Mapping[Cell, Comparison], plan: Plan, performance: Sequence[str], scope: str
) -> list[EvidenceRecord]:
    verdicts = {cell: decide(comparison, plan) for cell, comparison in compared.items()}
    records = []
    for single in cells:
        cell = (single.technique, single.metric)
        if cell not in compared:
            records.append(_baseline_record(single, scope))
            continue
        others = [
            (compared[single.technique, name], verdicts[single.technique, name][0])
            for name in performance
            if single.metric not in performance and (single.technique, name) in compared
        ]
        records.append(
            _technique_record(compared[cell], verdicts[cell], others, plan, scope, single.metric in performance)
        )
    return records


def _baseline_record(single: Series, scope: str) -> EvidenceRecord:
    """Return the record of a baseline: what it is, without a verdict."""
    return EvidenceRecord(
        technique=single.technique, baseline=None, metric=single.metric, runs=len(single), baseline_runs=None,
        mean=single.mean,
        stdev=single.stdev, maxdiff=single.maxdiff, min=single.min, max=single.max, scope=scope, spread=single.spread,
        relative_spread=single.relative_spread,
    )  # fmt: skip


def _technique_record(
    comparison: Comparison, decided: tuple[Verdict, Reason], performance: Sequence[tuple[Comparison, Verdict]],
    plan: Plan,
    scope: str, is_performance: bool,
) -> EvidenceRecord:  # fmt: skip
    treated = comparison.technique
    costs, why = ((), ()) if is_performance else costs_of(comparison, performance, plan.threshold, plan.spread)
    reasons = [decided[1], *asides(comparison, plan.pair), because(EvidenceReason.COSTS, costs=why) if why else None]
    return replace(
        _baseline_record(treated, scope),
        baseline=comparison.baseline.technique,
        baseline_runs=len(comparison.baseline),
        test=plan.test,
        alternative=plan.alternative,
        correction=plan.correction,
        p=comparison.p,
        p_adjusted=comparison.p_adjusted,
        d=comparison.d,
        band=effect_band(comparison.d),
        levene_p=comparison.levene_p,
        overlap=comparison.overlap,
        prob_single_run_misleads=comparison.misleads,
        verdict=decided[0],
        reason=all_reasons(reasons),
        costs=costs,
        difference=comparison.difference,
        low=comparison.low,
        high=comparison.high,
        level=comparison.level,
        draws=comparison.draws if plan.test in STUDENTISED else None,
        limited_by_draws=comparison.limited if plan.test in STUDENTISED else None,
        error_rate=plan.error_rate,
        spread_p=comparison.spread_p,
        spread_rule=plan.spread,
        margin=comparison.margin,
        equivalence_p=None if comparison.margin is None else comparison.equivalence_p,
        equivalence_p_adjusted=None if comparison.margin is None else comparison.equivalence_adjusted,
        equivalent=is_equivalent(comparison.equivalence_adjusted, plan.threshold),
    )


def _notes_of(plan: Plan, records: Sequence[EvidenceRecord]) -> Iterator[str]:
    """Yield how the tests were made."""
    judged = [record for record in records if record.verdict is not None]
    tests = sum(record.p is not None and not math.isnan(record.p) for record in judged)
    name = TEST_NAMES[plan.test]
    side = "two-sided" if plan.alternative == "two-sided" else "one-sided in the observed direction"
    number = plural(tests, "test", "tests")
    yield f"{name}, {side}, threshold {plan.threshold:g}, {NAMES[plan.correction]} over {number}."
    if plan.alternative == "observed":
        yield (
            "The direction was chosen from the same runs, so the error rate of one test is "
            f"{100 * plan.error_rate:g}%, not {100 * plan.threshold:g}%: the share of techniques without an effect "
            "that would be called lower or higher."
        )
    if plan.margins:
        yield (
            "Whether a difference is within its margin is tested separately, by two one-sided t-tests, corrected over "
            "all of them. The margin has to be fixed before results are seen."
        )
    yield SPREAD_NOTES[plan.spread]
    if plan.correction == "none" and tests > 1:
        yield (
            f"Without correction, {tests:,} tests without any effect would give about {plan.threshold * tests:.3g} "
            "significant results."
        )


def _without_performance(
    cells: Iterable[tuple[str, str]], baselines: Baselines, performance: Iterable[str]
) -> list[str]:
    """Say which techniques have no performance, so that an empty list of costs is not taken for none."""
    present = set(cells)
    return [
        f"{technique} has no runs on {name}: what it costs there is unknown."
        for name in performance
        for technique, above in baselines.items()
        if above is not None and (technique, name) not in present
    ]


def _pairable(series: Mapping[tuple[str, str], Series], baselines: Baselines, plan: Plan) -> list[str]:
    """Say that runs could be paired, where every technique has the same run ids as its baseline."""
    if plan.pair is not None:
        return []
    sides = [
        (set(treated.runs), set(series[above, metric].runs))
        for (technique, metric), treated in series.items()
        if (above := baselines.get(technique)) is not None and (above, metric) in series
    ]
    if not sides or any(runs != other or len(runs) < 2 for runs, other in sides):
        return []
    return [
        "Techniques and their baselines have the same run ids. If equal ids mean the same seed or split, pair them "
        "with --pair (pair=): pairs see smaller differences."
    ]


def _provenance(
    rows: Runs, plan: Plan, baseline: str | None, performance: Sequence[str], command: Iterable[str] | None
) -> dict[str, object]:
    return provenance(
        fingerprint=rows.fingerprint(),
        command=command,
        packages={name: metadata.version(name) for name in (*RECORDED_PACKAGES, "scipy")},
        data=rows.name,
        rows=len(rows),
        columns=dict(rows.columns),
        options={
            "baseline": baseline,
            "performance": list(performance),
            "test": plan.test,
            "alternative": plan.alternative,
            "correction": plan.correction,
            "threshold": plan.threshold,
            "spread": plan.spread,
            "margin": dict(plan.margins) or None,
        },
    )


def margins_of(rows: Runs, requested: float | Mapping[str, float] | None) -> dict[str, float]:
    """Return the margin of each metric that has one."""
    if requested is None:
        return {}
    metrics = rows.names("metric")
    margins = dict(requested) if isinstance(requested, Mapping) else dict.fromkeys(metrics, requested)
    for metric, margin in margins.items():
        if metric not in metrics:
            raise unknown_name("metric", str(metric), metrics, f"{rows.name}, to have a margin")
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 < margin < math.inf:
            raise BadInput(f"The margin of {metric!r} is {margin!r}", available=ALLOWED_MARGIN, help=MARGIN_HELP)
    return {metric: float(margin) for metric, margin in margins.items()}


def parse_margins(texts: Sequence[str]) -> float | dict[str, float] | None:
    """Read margins as they are typed: one number for all metrics, or METRIC=NUMBER as often as there are metrics."""
    margins: dict[str, float] = {}
    for text in texts:
        metric, sign, number = text.rpartition("=")
        try:
            margins[metric] = float(number)
        except ValueError:
            raise BadInput(f"The margin {text!r} is not a number", available=ALLOWED_MARGIN, help=MARGIN_HELP) from None
        if not sign and len(texts) > 1:
            raise BadInput(
                f"The margin {text!r} is for all metrics, and others are given beside it",
                available="one number, or a number for each of some metrics",
                help=MARGIN_HELP,
            )
    return margins.get("", margins or None)
