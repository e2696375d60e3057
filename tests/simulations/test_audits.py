"""Error rates and coverage of audits, simulated through ``equipoise.audit``.

The long version: ``python tests/simulations/test_audits.py --simulations 2000 --workers 16 --json audits.json``.
Its table is in docs/guide/uncertainty.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import equipoise
from equipoise.results import Record

sys.path.insert(0, str(Path(__file__).parent))
from harness import Outcome, Setting, main, simulate

pytestmark = pytest.mark.long

FAVOURABLE = "1"


def _audit(prediction: np.ndarray, group: np.ndarray, **options: object) -> equipoise.AuditResult:
    return equipoise.audit(prediction=prediction, sensitive_features={"group": group}, favourable=FAVOURABLE, **options)


def _record(result: equipoise.AuditResult, kind: str, measure: str, **fields: object) -> list[Record]:
    return [
        r for r in result.records
        if r.kind == kind and r.measure == measure and all(getattr(r, name) == value for name, value in fields.items())
    ]  # fmt: skip


def weighted(setting: Setting, seed: int) -> Outcome:
    """A weight that depends on the outcome: people with one outcome are sampled less often, and weigh more.

    Both groups have the same rate, so intervals should hold it and tests should not reject.
    """
    draw = np.random.default_rng([seed, 1])
    rate, ratio, size = setting["rate"], setting["ratio"], setting["size"]
    keep = np.array([1.0, 1.0]) if ratio == 1 else np.array([1.0, 1 / ratio] if ratio > 1 else [ratio, 1.0])
    people, group = [], []
    for name in ("a", "b"):
        outcome = (draw.random(size * 20) < rate).astype(int)
        taken = outcome[draw.random(len(outcome)) < keep[outcome]][:size]
        people.append(taken)
        group += [name] * len(taken)
    outcome = np.concatenate(people)
    weight = (1 / keep)[outcome] * setting.get("unit", 1.0)
    result = _audit(outcome.astype(str), np.array(group), weight=weight)
    rates = _record(result, "rate", "selection_rate", scope="favourable", group="a")
    (contrast,) = _record(result, "contrast", "selection_rate")
    (gap,) = _record(result, "gap", "demographic_parity", scope="favourable")
    return {
        "interval holds the rate": rates[0].low <= rate <= rates[0].high,
        "contrast p <= 0.05": None if contrast.p is None else contrast.p <= 0.05,
        "gap p <= 0.05": None if gap.p is None else gap.p <= 0.05,
        "any finding": any(record.finding for record in result.records),
    }


def null_report(setting: Setting, seed: int) -> Outcome:
    """Groups that do not differ: a report with any finding is wrong."""
    draw = np.random.default_rng([seed, 2])
    sizes = setting["sizes"]
    group = np.repeat([f"g{place:02d}" for place in range(len(sizes))], sizes)
    prediction = (draw.random(len(group)) < setting["rate"]).astype(int)
    options: dict[str, object] = {}
    if setting.get("target"):
        target = np.where(draw.random(len(group)) < 0.8, prediction, (draw.random(len(group)) < 0.5).astype(int))
        options["target"] = target.astype(str)
    result = _audit(prediction.astype(str), group, **options)
    ratios = _record(result, "ratio to group", "impact_ratio", scope="favourable")
    highest = {rule.against for rule in result.four_fifths if rule.basis == "highest rate"}
    fixed = [r for r in ratios if r.level is not None and np.isclose(1 - r.level, 0.05 / (len(sizes) - 1))]
    chosen = [r for r in ratios if r.against in highest and r not in fixed]
    (gap,) = _record(result, "gap", "demographic_parity", scope="favourable")
    return {
        "any finding": any(record.finding for record in result.records),
        "gap p <= 0.05": None if gap.p is None else gap.p <= 0.05,
        "all ratios to the fixed group hold 1": _all_hold(fixed, 1.0),
        "all ratios to the highest hold 1": _all_hold(chosen, 1.0),
        "below four fifths said significant": any(bool(rule.significant) for rule in result.four_fifths),
    }


def _all_hold(records: list[Record], value: float) -> float | None:
    known = [record for record in records if record.low is not None]
    return all(r.low <= value <= (np.inf if r.high is None else r.high) for r in known) if known else None


def gap_power(setting: Setting, seed: int) -> Outcome:
    """Two large groups differ, and a tiny one is beside them: the gap test against chi-square on the same table."""
    draw = np.random.default_rng([seed, 3])
    sizes, rates = setting["sizes"], setting["rates"]
    group = np.repeat([f"g{place}" for place in range(len(sizes))], sizes)
    prediction = (draw.random(len(group)) < np.repeat(rates, sizes)).astype(int)
    result = _audit(prediction.astype(str), group)
    (gap,) = _record(result, "gap", "demographic_parity", scope="favourable")
    table = np.array([[np.sum(prediction[group == name] == value) for value in (0, 1)] for name in np.unique(group)])
    low = gap.low if gap.low is not None else 0.0
    return {
        "gap p <= 0.05": None if gap.p is None else gap.p <= 0.05,
        "chi-square p <= 0.05": stats.chi2_contingency(table, correction=False).pvalue <= 0.05,
        "gap is a finding": bool(gap.finding),
        "bound above the truth": low > max(rates) - min(rates),
        "pair is right": list(gap.pair or ()) == setting["pair"] if gap.finding else None,
    }


def rare_contrast(setting: Setting, seed: int) -> Outcome:
    """Outcomes so rare that large-sample tests reject too often; both groups have the same rate."""
    draw = np.random.default_rng([seed, 4])
    n1, n2, rate = setting["n1"], setting["n2"], setting["rate"]
    levels = (0.05, 0.05 / 6, 0.05 / 36)
    prediction = (draw.random(n1 + n2) < rate).astype(int)
    if not prediction.any():  # nobody is selected: there is nothing to test
        return {f"p <= {level:.4g}": False for level in levels}
    result = _audit(prediction.astype(str), np.repeat(["a", "b"], [n1, n2]), draws=1)
    (contrast,) = _record(result, "contrast", "selection_rate")
    p = contrast.p
    return {f"p <= {level:.4g}": None if p is None else p <= level for level in levels}


def equivalence(setting: Setting, seed: int) -> Outcome:
    """Two groups that differ by exactly the margin: "within the margin" is wrong."""
    draw = np.random.default_rng([seed, 5])
    n, base, margin = setting["size"], setting["base"], setting["margin"]
    rates = np.repeat([base, base + setting["difference"]], n)
    prediction = (draw.random(2 * n) < rates).astype(int)
    result = _audit(prediction.astype(str), np.repeat(["a", "b"], n), equivalence_margin=margin)
    (contrast,) = _record(result, "contrast", "selection_rate")
    (gap,) = _record(result, "gap", "demographic_parity", scope="favourable")
    return {"contrast within": bool(contrast.equivalent), "gap within": bool(gap.equivalent)}


def power_at_level(setting: Setting, seed: int) -> Outcome:
    """How often a gap of the size that the report calls detectable is a finding of such a report."""
    draw = np.random.default_rng([seed, 6])
    n, base = setting["size"], setting["base"]
    null = _audit((draw.random(2 * n) < base).astype(int).astype(str), np.repeat(["a", "b"], n))
    detectable = null.power[0].detectable
    rates = np.repeat([base - detectable / 2, base + detectable / 2], n)
    result = _audit((draw.random(2 * n) < rates).astype(int).astype(str), np.repeat(["a", "b"], n))
    (contrast,) = _record(result, "contrast", "selection_rate")
    return {"found": bool(contrast.finding)}


PARTS = {
    "weighted": (weighted, [
        {"rate": 0.3, "ratio": 10, "size": 400}, {"rate": 0.3, "ratio": 0.1, "size": 400},
    ]),
    "gap power": (gap_power, [
        {"sizes": [900, 900, 150, 40, 10], "rates": [0.5, 0.4, 0.45, 0.45, 0.45], "pair": ["g1", "g0"]},
        {"sizes": [900, 900, 150, 40, 10], "rates": [0.45] * 5, "pair": None},
    ]),
    "null report": (null_report, [
        {"sizes": [1000, 500, 200, 50], "rate": 0.02},
        {"sizes": [1000, 40], "rate": 0.015},
        {"sizes": [100] * 20, "rate": 0.3},
        {"sizes": [1000] + [100] * 19, "rate": 0.02},
        {"sizes": [300, 300], "rate": 0.3, "target": True},
        {"sizes": [300, 200, 100, 60], "rate": 0.3, "target": True},
    ]),
    "rare contrast": (rare_contrast, [
        {"n1": 30, "n2": 300, "rate": 0.02}, {"n1": 50, "n2": 1000, "rate": 0.01}, {"n1": 50, "n2": 1000, "rate": 0.02},
    ]),
    "equivalence": (equivalence, [
        {"size": 2000, "base": 0.3, "difference": 0.05, "margin": 0.05},
        {"size": 2000, "base": 0.3, "difference": 0.0, "margin": 0.05},
    ]),
    "power": (power_at_level, [{"size": 400, "base": 0.3}]),
}  # fmt: skip


def _small(part: str, place: int, simulations: int) -> dict[str, dict[str, float]]:
    one, settings = PARTS[part]
    return simulate(one, settings[place], simulations)


@pytest.mark.once
def test_weights_that_depend_on_the_outcome_leave_coverage_and_error_rates() -> None:
    for place in (0, 1):
        found = _small("weighted", place, 80)
        assert found["interval holds the rate"]["rate"] > 0.88
        assert found["contrast p <= 0.05"]["rate"] < 0.13
        assert found["gap p <= 0.05"]["rate"] < 0.13


@pytest.mark.once
def test_reports_on_equal_groups_have_few_findings_and_break_no_rule() -> None:
    found = _small("null report", 0, 60)
    assert found["any finding"]["rate"] < 0.13
    assert found["below four fifths said significant"]["rate"] < 0.13
    assert found["all ratios to the fixed group hold 1"]["rate"] > 0.88


@pytest.mark.once
def test_a_tiny_group_does_not_blind_the_test_of_a_gap() -> None:
    found = _small("gap power", 0, 60)
    assert found["gap p <= 0.05"]["rate"] > found["chi-square p <= 0.05"]["rate"] - 0.1
    assert found["bound above the truth"]["rate"] < 0.1


@pytest.mark.once
def test_what_differs_by_the_margin_is_not_called_equivalent() -> None:
    assert _small("equivalence", 0, 60)["contrast within"]["rate"] < 0.13
    assert _small("equivalence", 1, 30)["contrast within"]["rate"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("part", list(PARTS))
def test_the_long_version_keeps_its_error_rates(part: str) -> None:
    one, settings = PARTS[part]
    for setting in settings:
        found = simulate(one, setting, 300, workers=2)
        for question, limit in (("any finding", 0.05), ("contrast p <= 0.05", 0.05), ("contrast within", 0.05)):
            wrong = question in found and setting.get("difference") != 0.0 and part != "gap power"
            assert not wrong or found[question]["rate"] <= limit + 3 * max(found[question]["error"], 0.0126)


if __name__ == "__main__":
    main("audits", PARTS)
