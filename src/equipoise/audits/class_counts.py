"""Counts of a single-label task: classes, thresholded scores, and histograms of scores."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.audits._spec import AuditSpec
from equipoise.audits.axes import axes_of, named, notes_on_clusters, without_missing
from equipoise.audits.checks import check_counts
from equipoise.audits.score_bins import BinnedScores, bin_scores
from equipoise.audits.tallies import Tallies
from equipoise.cohorts.tables import Axis
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.text import fitting, plural
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import CLUSTER, PREDICTION, TARGET
from equipoise.tallies.labels import Label, ordered
from equipoise.tallies.truths import TRUTHS, check_same_classes, match_class, same_truths, truth_names


def count_classes(spec: AuditSpec) -> Tallies:
    """Count classes and scores by group (and by cluster, where rows belong together)."""
    axes, words = axes_of(spec)
    outcome = {TARGET: Axis(spec.target[0])} if spec.target else {}
    of_class, notes = None, []
    if spec.prediction:
        outcome[PREDICTION] = Axis(spec.prediction[0])
    else:
        assert spec.score is not None
        assert spec.threshold is not None
        outcome[PREDICTION] = Axis(spec.score, (spec.threshold,))
    extra = {} if spec.cluster is None else {CLUSTER: Axis(spec.cluster)}
    counted = named(spec.table.count({**outcome, **axes, **extra}, spec.weight), spec, words)
    cells = counted.marginal([*outcome, *axes])
    check_counts(spec, cells)
    truths = truth_names(cells)
    cells = same_truths(cells, truths)
    if spec.score is not None:
        of_class = _score_class(spec, cells)
        if not spec.prediction:
            _check_threshold(spec, cells)
            cells = _thresholded(cells, of_class)
            notes.append(f"A row is predicted {of_class!r} where its score is {spec.threshold:g} or more.")
    kept, dropped = without_missing(cells)
    if spec.prediction and spec.target:
        check_same_classes(kept, f"column {spec.target[0]!r}", f"column {spec.prediction[0]!r}")
    clusters: dict[Label, Cells] = {}
    if spec.cluster is not None:
        clusters[None], without = _clustered(counted, truths, of_class if not spec.prediction else None)
        notes += without
    notes += _strange_predictions(kept)
    binned = BinnedScores()
    if spec.score is not None and spec.target:
        assert of_class is not None
        keys = {TARGET: Axis(spec.target[0]), **axes, **extra}
        binned = bin_scores(spec, keys, words, truths, of_class, cells)
        notes += _without_score(spec, cells, binned)
    return Tallies(
        counts={None: kept}, scores=binned.cells, scale=binned.scale, ranked=binned.ranked, score_class=of_class,
        everyone=cells, dropped=dropped, notes=tuple(notes), clusters=clusters,
    )  # fmt: skip


def _without_score(spec: AuditSpec, cells: Cells, binned: BinnedScores) -> list[str]:
    """Say how many rows have a prediction but no score; without a prediction they are dropped, and told of there."""
    missing = 0 if binned.cells is None else cells.rows - binned.cells.rows
    if not spec.prediction or not missing:
        return []
    return [
        f"{missing:,} of {plural(cells.rows, 'row')} {fitting(missing, 'has', 'have')} no score: AUC, Brier score, "
        "mean score, calibration and threshold curves are of the other rows; rates of predictions are of all rows."
    ]


def _check_threshold(spec: AuditSpec, cells: Cells) -> None:
    """Refuse a threshold that no score of this range crosses: everybody would be predicted the same."""
    assert spec.score is not None
    span = spec.table.span(spec.score)
    if len({label for label in cells.axis(PREDICTION) if label is not None}) == 1 and not (
        span.low >= 0 and span.high <= 1
    ):
        raise BadInput(
            f"The scores run from {span.low:g} to {span.high:g}, and the threshold is {spec.threshold:g}",
            available="a threshold that some scores reach and others do not",
            help="name it with --threshold (threshold=).",
        )


def _clustered(cells: Cells, truths: Mapping[Label, Label], thresholded: str | None) -> tuple[Cells, list[str]]:
    """Return the counts by cluster too, and what is to be said of them."""
    cells = same_truths(cells, truths)
    if thresholded is not None:
        cells = _thresholded(cells, thresholded)
    kept, _ = without_missing(cells)
    return kept, notes_on_clusters(kept)


def _score_class(spec: AuditSpec, cells: Cells) -> str:
    """Return the class that the score speaks for."""
    named = spec.score_class or spec.favourable
    classes = [label for label in cells.axis(TARGET) if label is not None] if spec.target else []
    if named is not None:
        known = classes if len(classes) > 1 else list(dict.fromkeys([*classes, *_said(spec, cells)]))
        if len(known) < 2:  # a file with rows of one class alone does not show the other
            return match_class(named, known) or named
        found = match_class(named, known)
        if found is None:
            raise unknown_name("class", named, ordered(known), f"the target {spec.target[0]!r}")
        return found
    if not classes:
        return "selected"
    if set(classes) <= {"0", "1"}:
        return "1"
    if set(classes) <= set(TRUTHS):
        return next((label for label, truth in TRUTHS.items() if label in classes and truth == "1"), "True")
    raise BadInput(
        f"It is not clear which class the score {spec.score!r} speaks for",
        available=", ".join(ordered(classes)),
        help="say it with --favourable (favourable=), or --score-class (score_class=) if it is another class.",
    )


def _said(spec: AuditSpec, cells: Cells) -> list[str]:
    """Return the predicted classes; a score that is cut by its threshold names none."""
    return [label for label in cells.axis(PREDICTION) if label is not None] if spec.prediction else []


def _thresholded(cells: Cells, of_class: str) -> Cells:
    """Turn 0 and 1 (below and above the threshold) into classes."""
    if TARGET not in cells.axes:
        return cells.relabel(PREDICTION, {"1": of_class, "0": f"not {of_class}"})
    others = [label for label in cells.axis(TARGET) if label is not None and label != of_class]
    other = others[0] if len(others) == 1 else f"not {of_class}"
    if len(others) > 1:
        cells = cells.relabel(TARGET, dict.fromkeys(others, other))
    # Two steps, since "1" may itself be the name of a class.
    cells = cells.relabel(PREDICTION, {"1": "above the threshold", "0": "below the threshold"})
    return cells.relabel(PREDICTION, {"above the threshold": of_class, "below the threshold": other})


def _strange_predictions(cells: Cells) -> list[str]:
    if TARGET not in cells.axes:
        return []
    strange = set(cells.axis(PREDICTION)) - set(cells.axis(TARGET))
    if not strange:
        return []
    rows = cells.where(PREDICTION, strange).rows
    names = ", ".join(repr(label) for label in ordered(label for label in strange if label is not None)[:5])
    return [
        f"The predictions have values the target never has: {names} ({plural(rows, 'row')}). They count as classes."
    ]
