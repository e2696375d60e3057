"""The tables of an embedding's audit that a paper shows: values, gaps by every rule, leakage and downstream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from equipoise.audits.downstream.result import DownstreamRecord
from equipoise.audits.leakage.probing import LeakageRecord
from equipoise.measures.embeddings import GAP_VARIANTS
from equipoise.results import Interval, Record, Status, Table

# The default rule is oriented: above 0 the minoritised are worse off.
RULE_NAMES = {name: "oriented" if name == "paper" else name.replace("_", " ") for name in GAP_VARIANTS}


def of_embedding(records: Iterable[Record]) -> bool:
    """Tell whether records are of an embedding: only its gaps come by several rules."""
    return any(record.kind == "gap" and record.variant in GAP_VARIANTS[1:] for record in records)


def embedding_tables(
    records: Iterable[Record], leakage: Sequence[LeakageRecord], downstream: Sequence[DownstreamRecord]
) -> Iterator[Table]:
    """Yield the tables; one without rows is left out when it is written."""
    every = [record for record in records if record.attribute]
    yield Table(
        "values",
        "Values of the space for each group, with 95 % intervals",
        ("of", "group", "measure", "value", "interval", "numerator", "denominator"),
        tuple(
            (_of(r), r.group, _name(r), r.value, Interval(r.low, r.high), r.numerator, r.denominator)
            for r in every
            if r.kind in ("rate", "value")
        ),
    )
    yield Table(
        "space-gaps",
        "Gaps between groups; oriented ones are positive where the minoritised are worse off",
        ("of", "measure", "rule", "value", "interval", "p, corrected", "finding"),
        tuple(
            (
                _of(r), _name(r), RULE_NAMES.get(r.variant, r.variant), r.value, Interval(r.low, r.high),
                r.p_adjusted, r.finding,
            )
            for r in every
            if r.kind == "gap"
        ),
    )  # fmt: skip
    yield Table(
        "leakage",
        "How well groups can be read from the space: balanced accuracy beside chance and shuffled groups",
        ("of", "probe", "balanced accuracy", "interval", "chance", "shuffled", "p, corrected", "accuracy", "largest"),
        tuple(
            (
                r.attribute, r.probe, r.balanced, Interval(r.balanced_low, r.balanced_high), r.chance,
                r.shuffled_balanced, r.balanced_p_adjusted, r.accuracy, r.majority,
            )
            for r in leakage
        ),
    )  # fmt: skip
    yield Table(
        "downstream",
        "Classifiers trained on the points: values, and gaps that are positive where the group is worse off",
        ("of", "group", "against", "classifier", "measure", "kind", "value", "interval", "p, corrected"),
        tuple(
            (
                r.attribute or "everyone", r.group, r.against, r.learner.replace("_", " "), r.measure.replace("_", " "),
                r.kind, r.value, Interval(r.low, r.high), r.p_adjusted,
            )
            for r in downstream
        ),
    )  # fmt: skip


def flat_embedding(
    headings: Sequence[str], leakage: Iterable[LeakageRecord], downstream: Iterable[DownstreamRecord]
) -> Iterator[list[object]]:
    """Yield leakage and downstream as rows under the headings of records, and under ``learner``."""
    for record in downstream:
        yield _row(headings, record, kind=f"downstream {record.kind}", attribute=record.attribute)
    for probe in leakage:
        yield _row(
            headings, probe, measure="balanced_accuracy", kind="leakage", value=probe.balanced, learner=probe.probe,
            low=probe.balanced_low, high=probe.balanced_high, p=probe.balanced_p, p_adjusted=probe.balanced_p_adjusted,
            denominator=probe.people, status=Status.OK,
        )  # fmt: skip


def _row(headings: Sequence[str], record: object, **said: object) -> list[object]:
    return [said[name] if name in said else getattr(record, name, None) for name in headings]


def _of(record: Record) -> str:
    return " & ".join(record.attribute)


def _name(record: Record) -> str:
    name = record.measure.replace("_", " ")
    return name if record.kind == "gap" else record.alias or name
