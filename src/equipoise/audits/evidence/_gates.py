"""Gates over reruns: ``share(DI > 0.2) > 0.05`` is broken when more than 5 % of a technique's runs have DI over 0.2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.results import COMPARE, TURNED, Breach, Gate, parse_gate

if TYPE_CHECKING:
    from equipoise.audits.evidence._result import EvidenceResult


def check_run_gates(texts: Iterable[str]) -> list[Gate]:
    """Read gates before any work is done."""
    gates = [parse_gate(text) for text in texts]
    for gate in gates:
        if gate.share is None:
            raise BadInput(
                f"The gate {gate.text!r} is about one number, and every run has its own",
                help=f'write: --fail-if "share({gate.text}) > 0.05"',
            )
        if gate.field != "value" or gate.attribute is not None:
            raise BadInput(
                f"The gate {gate.text!r} asks more than runs have", available="share(METRIC > NUMBER) > SHARE"
            )
    return gates


def run_breaches(result: EvidenceResult, gates: Sequence[Gate]) -> Iterator[Breach]:
    """Yield every broken gate: each holds for every technique that is not a baseline."""
    baselines = {record.technique for record in result.records if record.verdict is None}
    for gate in gates:
        _check_metric(gate, result)
        for series in result.runs:
            if series.metric != gate.name or series.technique in baselines:
                continue
            broken = sum(gate.broken(value) for value in series.values)
            share = broken / len(series.values)
            assert gate.share is not None
            assert gate.share_sign is not None
            if COMPARE[gate.share_sign](share, gate.share):
                told = f"{series.technique}: {broken} of {len(series.values)} runs"
                yield Breach(gate.text, f"{told} have {gate.name} {gate.sign} {gate.limit:g}")


def _check_metric(gate: Gate, result: EvidenceResult) -> None:
    """Refuse a metric that has no runs, and a gate that stops when runs are good."""
    metrics = list(dict.fromkeys(series.metric for series in result.runs))
    if gate.name not in metrics:
        raise unknown_name("metric", gate.name, metrics, "the runs")
    worse = "<" if gate.name in result.performance else ">"
    if not gate.sign.startswith(worse):
        meant = gate.text.replace(gate.sign, TURNED[gate.sign], 1)
        raise BadInput(
            f"The gate {gate.text!r} stops when runs are good on {gate.name!r}",
            available="> for a bias, < for a metric named with --performance",
            help=f'write: --fail-if "{meant}"',
        )
