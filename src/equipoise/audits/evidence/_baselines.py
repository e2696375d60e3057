"""Which technique is held against which: one baseline for all, or one named in a column of the file."""

from __future__ import annotations

from equipoise.audits.evidence._runs import Runs
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.text import fitting, plural
from equipoise.tallies.labels import label_of, ordered

# The baseline of each technique; a technique that is held against none has none.
Baselines = dict[str, str | None]


def baselines_of(runs: Runs, baseline: object) -> Baselines:
    """Return the baseline of each technique, or refuse."""
    techniques = runs.names("technique")
    wanted = label_of(baseline)
    if len(techniques) < 2:
        raise BadInput(
            f"There is one technique only: {techniques[0]!r}",
            available="a baseline and at least one technique to hold against it",
            help="add the runs of the baseline (the training without the technique) to the file.",
        )
    if (wanted is None) == ("baseline" not in runs.labels):
        problem = "No baseline was given" if wanted is None else "A baseline and a column of baselines were both given"
        raise BadInput(
            problem,
            available=listing(techniques),
            help="name one technique with --baseline (baseline=), "
            "or the column that names each technique's own with --baseline-column (baseline_column=).",
        )
    if wanted is not None:
        if wanted not in techniques:
            raise unknown_name("technique", wanted, techniques, f"{runs.name}, to be the baseline")
        found: Baselines = {name: None if name == wanted else wanted for name in techniques}
    else:
        found = _named_in_column(runs, techniques)
    _check_metrics(runs, found)
    return found


def _named_in_column(runs: Runs, techniques: list[str]) -> Baselines:
    technique, baseline = runs.labels["technique"], runs.labels["baseline"]
    named: dict[str, set[str]] = {name: set() for name in techniques}
    for own, other in set(zip(technique.codes.tolist(), baseline.codes.tolist(), strict=True)):
        label = baseline.labels[other]
        if label is not None:
            named[str(technique.labels[own])].add(label)
    for name, others in named.items():
        if len(others) > 1:
            raise BadInput(
                f"The technique {name!r} names {len(others)} baselines: {listing(ordered(others))}",
                available="one baseline a technique",
                help="give the technique one name for each baseline it is held against.",
            )
        for other in others - named.keys():
            raise unknown_name("technique", other, techniques, f"{runs.name}, though {name!r} names it as its baseline")
    found = {name: next(iter(others - {name}), None) for name, others in named.items()}
    used = {other for other in found.values() if other is not None}
    if not used:
        raise BadInput(
            f"The column {runs.columns['baseline']!r} names no baseline for any technique",
            help="write the name of its baseline beside each technique.",
        )
    lost = [name for name, other in found.items() if other is None and name not in used]
    if lost:
        raise BadInput(
            f"{plural(len(lost), 'technique has', 'techniques have')} no baseline and "
            f"{fitting(len(lost), 'is', 'are')} none: {listing(lost)}",
            help=f"name their baseline in {runs.columns['baseline']!r}, or leave their rows out.",
        )
    return found


def _check_metrics(runs: Runs, baselines: Baselines) -> None:
    """A technique can only be compared on metrics that its baseline has too."""
    cells = set(runs.cells())
    for technique, metric in sorted(cells):
        baseline = baselines[technique]
        if baseline is not None and (baseline, metric) not in cells:
            known = listing(other for name, other in sorted(cells) if name == baseline)
            raise BadInput(
                f"The baseline {baseline!r} has no runs on {metric!r}, but {technique!r} has",
                available=f"the metrics of {baseline!r}: {known}",
                help="add the baseline's runs on that metric, or leave the metric out.",
            )


def root_of(technique: str, baselines: Baselines) -> str:
    """Return the baseline at the end of the line: baselines may have baselines."""
    seen = [technique]
    while (above := baselines[seen[-1]]) is not None:
        if above in seen:
            raise BadInput(
                f"The baselines go round in a circle: {' > '.join([*seen, above])}",
                help="leave the baseline of one of them empty.",
            )
        seen.append(above)
    return seen[-1]


def in_order(baselines: Baselines) -> list[str]:
    """Return the techniques family by family, each baseline before those held against it."""
    depth: dict[str, int] = {}
    roots = {name: root_of(name, baselines) for name in baselines}
    for name in baselines:
        depth[name], above = 0, name
        while (other := baselines[above]) is not None:
            depth[name], above = depth[name] + 1, other
    place = {name: number for number, name in enumerate(ordered(baselines))}
    return sorted(baselines, key=lambda name: (place[roots[name]], depth[name], place[name]))
