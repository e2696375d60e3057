"""An audit and its gates: every attribute, for the favourable class if one is declared, else overall."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from equipoise.foundation.errors import BadInput, listing
from equipoise.measures.embeddings import GAP_VARIANTS
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Breach, Gate, Record, check_direction, parse_gate
from equipoise.tallies.labels import MISSING

if TYPE_CHECKING:
    from equipoise.audits.result import AuditResult

# Pooled over labels, and the other rules of an embedding's gaps: a gate holds the one that is told first.
NOT_HELD = ("micro", *GAP_VARIANTS[1:])


def check_gates(texts: Iterable[str]) -> list[Gate]:
    """Read gates before any work is done; one that cannot be read or points the wrong way is refused."""
    gates = [parse_gate(text) for text in texts]
    for gate in gates:
        if gate.share is not None:
            raise BadInput(
                f"The gate {gate.text!r} is about repeated runs", help="use it with: equipoise evidence --fail-if"
            )
        check_direction(gate, get_measure(gate.name))
    return gates


def breaches(result: AuditResult, gates: Sequence[Gate], *, allow_undefined: bool = False) -> Iterator[Breach]:
    """Yield every broken gate. What is undefined breaks it, unless that is allowed."""
    for gate in gates:
        measure = get_measure(gate.name)
        for record in _held(result, gate, measure):
            value = record.value if gate.field == "value" else record.low
            if value is None or value != value:
                if not allow_undefined:
                    yield Breach(
                        gate.text, f"{_name(record)} is not known ({record.reason or 'it has no lower bound'})"
                    )
            elif gate.broken(value):
                yield Breach(gate.text, f"{_name(record)} is {value:.4g}")


def _held(result: AuditResult, gate: Gate, measure: Measure) -> list[Record]:
    scope = "favourable" if result.favourable is not None and measure.classwise else "overall"
    found = [
        record
        for record in result.find(measure.name, scope=scope, control=None, kind=measure.kind)
        if record.attribute and record.label is None and record.group != MISSING and record.variant not in NOT_HELD
    ]
    known = list(dict.fromkeys(record.attribute for record in found))
    if not found:
        raise BadInput(
            f"The gate {gate.text!r} is about {measure.name}, which this audit does not have",
            help=f"it needs {measure.needs}: name the columns it is computed from.",
        )
    if gate.attribute is not None:
        if gate.attribute not in known:
            raise BadInput(
                f"The gate {gate.text!r} names {' & '.join(gate.attribute)!r}, which was not audited",
                available=listing(" & ".join(attribute) for attribute in known),
            )
        found = [record for record in found if record.attribute == gate.attribute]
    return found


def _name(record: Record) -> str:
    where = " & ".join(record.attribute)
    group = f", {record.group}" if record.kind in ("rate", "value") and record.group else ""
    split = f", {record.split}" if record.split is not None else ""
    return f"{record.alias or record.measure} of {where}{group}{split}"
