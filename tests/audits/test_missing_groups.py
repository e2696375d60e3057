"""People without a group are no group: they are left out of what groups are compared with, crossed groups included."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise
from equipoise import AuditResult
from equipoise.tallies import is_missing


@pytest.fixture(scope="module")
def crossed() -> AuditResult:
    """Everybody without a region is selected, and others two times in five."""
    generator = np.random.default_rng(0)
    size = 2_000
    sex = generator.choice(["F", "M"], size).astype(object)
    region = generator.choice(["north", "south"], size).astype(object)
    unknown = generator.random(size) < 0.1
    region[unknown] = None
    selected = np.where(unknown, 1, generator.random(size) < 0.4).astype(int)
    return equipoise.audit(
        prediction=selected, favourable=1, sensitive_features={"sex": sex, "region": region}, intersections=True,
        draws=50,
    )  # fmt: skip


def test_a_part_without_a_group_makes_a_crossed_group_missing() -> None:
    assert is_missing("(missing)")
    assert is_missing("F & (missing)")
    assert not is_missing("F & north")


def test_the_highest_rate_is_that_of_a_known_group(crossed: AuditResult) -> None:
    told = crossed.find("selection_rate", attribute=("sex", "region"), kind="rate", scope="favourable")
    rates = {record.group: record.value for record in told}
    assert rates["F & (missing)"] == 1.0
    known = {group: rate for group, rate in rates.items() if group is not None and not is_missing(group)}
    best = max(known, key=known.__getitem__)
    rules = [rule for rule in crossed.four_fifths if rule.attribute == ("sex", "region")]
    assert {rule.against for rule in rules if rule.basis == "highest rate"} == {best}
    assert all(rule.probability_broken < 0.5 for rule in rules)


def test_power_is_that_of_the_groups_that_are_compared(crossed: AuditResult) -> None:
    rates = crossed.find("selection_rate", attribute=("sex", "region"), kind="rate", scope="favourable")
    known = [rate for rate in rates if not is_missing(str(rate.group))]
    together = sum(rate.numerator or 0.0 for rate in known) / sum(rate.denominator or 0.0 for rate in known)
    powers = [power for power in crossed.power if power.attribute == ("sex", "region")]
    assert len(powers) == len(known)
    assert [power.rate for power in powers] == pytest.approx([together] * len(powers))
