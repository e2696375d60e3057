"""What must be true of everything that is registered, whatever its kind."""

from __future__ import annotations

from typing import Any

from equipoise.foundation import (
    Entry,
    registry,
)
from equipoise.testing._cohort_checks import check_cohort
from equipoise.testing._comparison_checks import check_comparison
from equipoise.testing._condition_checks import check_condition
from equipoise.testing._measure_checks import check_measure
from equipoise.testing._treatment_checks import check_treatment


def check(kind: str, name: str, **options: Any) -> None:
    """Run every shared check on one registered thing; an AssertionError says what does not hold."""
    entry = registry.get(kind, name)
    check_registration(entry)
    if kind == "measure":
        check_measure(entry.name, **options)
    if kind == "comparison":
        check_comparison(entry.name, **options)
    if kind == "condition":
        check_condition(entry.name, **options)
    if kind == "treatment":
        check_treatment(entry.name, **options)
    if kind == "cohort":
        check_cohort(entry.name, **options)


def check_registration(entry: Entry) -> None:
    """A registered thing says what it is, where it comes from, and is found by its name and alias."""
    assert entry.summary, f"{entry.name} has no docstring: its first line is what `equipoise list` shows"
    assert entry.paper, f"{entry.name} names no paper"
    assert registry.get(entry.kind, entry.name) is entry
    if entry.alias is not None:
        assert registry.get(entry.kind, entry.alias) is entry, f"the alias {entry.alias} means another {entry.kind}"
