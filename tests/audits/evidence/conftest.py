"""What the tests of evidence share: a short way to write runs and to judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import equipoise
from equipoise.audits.evidence import EvidenceResult

Values = Mapping[str, Mapping[str, Sequence[float | None]]]
COLUMNS = {"technique": "technique", "metric": "metric", "run": "run", "value": "value"}


def long_form(table: Values) -> dict[str, list[Any]]:
    """Turn {technique: {metric: values}} into columns; runs are numbered, seeds are the same for all techniques."""
    rows = [
        (technique, metric, run, 100 + run, value)
        for technique, metrics in table.items()
        for metric, values in metrics.items()
        for run, value in enumerate(values)
    ]
    return dict(zip(("technique", "metric", "run", "seed", "value"), map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture
def runs() -> Callable[[Values], dict[str, list[Any]]]:
    return long_form


@pytest.fixture
def judge() -> Callable[..., EvidenceResult]:
    def run(table: Values, **options: Any) -> EvidenceResult:
        chosen = options if "baseline_column" in options else {"baseline": "base", **options}
        return equipoise.evidence(long_form(table), **COLUMNS, **chosen)

    return run
