"""What an audit is compared with: an earlier prediction of the same rows, or an earlier file with other people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from equipoise.audits._columns import axes_of, named_cells
from equipoise.audits._counting import tallies_of_counts, tally
from equipoise.audits._spec import AuditSpec, resolve
from equipoise.audits._tallies import Tallies
from equipoise.cohorts.tables import Axis, Bins
from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.text import fitting, plural
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import PREDICTION, TARGET, Counts, class_labels
from equipoise.tallies.labels import TRUTHS, Label, ordered, same_truths, truth_names

EARLIER = "earlier"
ABOVE, BELOW = "above the threshold", "below the threshold"


@dataclass(frozen=True)
class Before:
    """The earlier side: the same rows with both predictions (``pairs``), or the counts of other rows (``sample``)."""

    classes: tuple[str, ...]
    notes: tuple[str, ...]
    made: Mapping[str, object]
    pairs: Cells | None = None
    sample: Cells | None = None


def check_change(spec: AuditSpec, against: object) -> bool:
    """Tell whether a change is asked for; refuse what cannot be compared before anything is counted."""
    paired = [name for name in ("against_prediction", "against_score") if getattr(spec, name) is not None]
    if len(paired) + (against is not None) > 1:
        raise BadInput(
            "The audit is compared with more than one thing",
            available="one of --against (another file), --against-prediction and --against-score (columns of it)",
        )
    if not paired and against is None:
        return False
    if spec.task != "class":
        raise BadInput(
            f"A change was asked for with --task {spec.task}",
            available="single classes: changes are of rates",
            help="audit both by themselves and compare their records.",
        )
    if spec.cluster is not None:
        raise BadInput(
            "A change was asked for together with a cluster column",
            available="rows that are independent of one another: a change of clusters has no interval here",
            help="keep one row of each cluster, or audit both by themselves.",
        )
    if spec.against_score is not None and spec.score is None:
        raise BadInput("--against-score was given without --score", help="name the new score with --score (score=).")
    return True


def resolve_earlier(data: object, against: object, given: Mapping[str, object]) -> AuditSpec:
    """Return the spec of the same audit of the earlier data."""
    if data is None:
        raise BadInput(
            "Arrays were given together with against",
            available="against_prediction or against_score as an array; or two frames, files or counts",
        )
    if isinstance(data, Counts) != isinstance(against, Counts):
        raise BadInput("Counts were given on one side only", available="counts on both sides, or rows on both")
    try:
        return resolve(against, {**given, "control": None, "reference": None})
    except BadInput as error:
        raise _of_earlier(error) from error


def _of_earlier(error: BadInput) -> BadInput:
    return BadInput(f"In the earlier data: {error.given}", available=error.available, help=error.help)


def before_of(spec: AuditSpec, tallies: Tallies, earlier: AuditSpec | None, data: object) -> Before:
    """Count the earlier side."""
    return before_of_rows(spec, tallies) if earlier is None else before_of_file(spec, tallies, earlier, data)


def before_of_rows(spec: AuditSpec, tallies: Tallies) -> Before:
    """Count the same rows by both predictions at once."""
    axes, words = axes_of(spec)
    outcome = {TARGET: Axis(spec.target[0])} if spec.target else {}
    if spec.prediction:
        outcome[PREDICTION] = Axis(spec.prediction[0])
    else:
        assert spec.score is not None
        assert spec.threshold is not None
        outcome[PREDICTION] = Axis(spec.score, (spec.threshold,))
    column = spec.against_prediction or spec.against_score
    assert column is not None
    cut = spec.threshold if spec.against_score else None
    outcome[EARLIER] = Axis(column, None if cut is None else (cut,))
    cells = spec.table.count({**outcome, **axes}, spec.weight)
    for axis in ([] if spec.prediction else [PREDICTION]) + ([EARLIER] if spec.against_score else []):
        cells = cells.relabel(axis, {"1": ABOVE, "0": BELOW})  # "1" may itself be the name of a class
    cells = named_cells(cells, spec, words)
    cells = _spelled(same_truths(cells, truth_names(cells)), spec, tallies)
    total = cells.rows
    for axis in (TARGET, PREDICTION):
        cells = _known(cells, axis)
    without = cells.rows - _known(cells, EARLIER).rows
    cells = _known(cells, EARLIER)
    if not cells.rows:
        raise BadInput(f"No row has both predictions, {column!r} being the earlier", help="name another column.")
    found = {label for label in cells.axis(EARLIER) if label is not None}
    classes, notes = _common(tallies.classes, found, f"the earlier predictions {column!r}")
    notes.insert(0, f"Changes compare with {column!r} on the same {plural(cells.rows, 'row')}.")
    if without:
        verb = fitting(without, "has no earlier prediction: it is", "have no earlier prediction: they are")
        notes.append(f"{without:,} of {plural(total, 'row')} {verb} left out of the changes.")
    return Before(tuple(classes), tuple(notes), {"data": spec.table.name, "column": column}, pairs=cells)


def before_of_file(spec: AuditSpec, tallies: Tallies, earlier: AuditSpec, data: object) -> Before:
    """Count the earlier rows, cut as the later ones are."""
    # Quantiles are cut where the later rows are cut: the groups must be the same.
    cut = {axis.column: axis.edges for axis in axes_of(replace(spec, control=None, bins=_bins(spec)))[0].values()}
    bins = {column: Bins(edges=edges) for column, edges in cut.items() if edges is not None}
    score = earlier.score if not earlier.prediction else None
    earlier = replace(
        earlier, bins=bins, reference={}, control=None, score=score, threshold=spec.threshold if score else None
    )
    try:
        found = tallies_of_counts(earlier, data) if isinstance(data, Counts) else tally(earlier)
    except BadInput as error:
        raise _of_earlier(error) from error
    cells = found.counts[None]
    cells = same_truths(cells, _spelling(class_labels(cells), tallies.classes))
    classes, notes = _common(tallies.classes, set(class_labels(cells)), "the earlier data")
    if (TARGET in cells.axes) != (TARGET in tallies.counts[None].axes):
        raise BadInput("One of the two has a target and the other has not", available="a target in both, or in neither")
    rows = cells.rows
    notes.insert(
        0, f"Changes compare with {earlier.table.name} ({plural(rows, 'row')}), taken as other people: two samples."
    )
    made = {"data": earlier.table.name, "rows": found.card_cells.rows, "fingerprint": found.fingerprint}
    return Before(tuple(classes), tuple(notes), made, sample=cells)


def _bins(spec: AuditSpec) -> dict[str, Bins]:
    """Return the cuts of groups and splits."""
    used = {*spec.groups.values(), spec.split}
    return {column: request for column, request in spec.bins.items() if column in used}


def _known(cells: Cells, axis: str) -> Cells:
    if axis not in cells.axes:
        return cells
    return cells.where(axis, [label for label in cells.axis(axis) if label is not None])


def _spelled(cells: Cells, spec: AuditSpec, tallies: Tallies) -> Cells:
    """Give every axis the classes of the audit: scores above and below the threshold, true for 1."""
    if spec.score is not None and (spec.against_score is not None or not spec.prediction):
        member = tallies.score_class
        assert member is not None
        others = [name for name in tallies.classes if name != member]
        if len(others) > 1:
            raise BadInput(
                f"The earlier score tells {member!r} from {len(others)} other classes",
                available="two classes, or an earlier prediction (--against-prediction)",
            )
        other = others[0] if others else f"not {member}"
        if TARGET in cells.axes and not spec.prediction:
            joined: list[Label] = [name for name in cells.axis(TARGET) if name is not None and name != member]
            cells = cells.relabel(TARGET, dict.fromkeys(joined, other))
        for axis in (PREDICTION, EARLIER):
            cells = cells.relabel(axis, {ABOVE: member, BELOW: other})
    found = [label for label in cells.axis(EARLIER) if label is not None]
    return same_truths(cells, _spelling(found, tallies.classes), [EARLIER])


def _spelling(found: Iterable[Label], classes: Sequence[str]) -> dict[Label, Label]:
    """Return new names where one side says true/false and the other 1/0."""
    labels = set(found)
    if labels and labels <= set(TRUTHS) and set(classes) <= {"0", "1"}:
        return {name: TRUTHS[name] for name in TRUTHS}
    if labels and labels <= {"0", "1"} and set(classes) <= set(TRUTHS):
        return {TRUTHS[name]: name for name in classes}
    return {}


def _common(classes: Sequence[str], found: set[str], where: str) -> tuple[list[str], list[str]]:
    """Return the classes of both sides. Where each has one that the other lacks, they are named differently."""
    known = set(classes)
    if not (found <= known or known <= found):
        raise BadInput(
            f"The classes of {where} differ: {listing(ordered(found), 6)} there, {listing(classes, 6)} here",
            available="the same names on both sides",
            help="rename the classes first, or leave out the rows of a class that one side never has.",
        )
    notes = [f"The class {name!r} is not among {where}." for name in ordered(known - found)]
    notes += [f"The class {name!r} is among {where} only." for name in ordered(found - known)]
    return ordered(known | found), notes[:5]
