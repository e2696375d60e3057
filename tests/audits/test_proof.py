"""What an audit may say: findings, intervals that agree with them, and silence where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise
from equipoise.audits._multiple_testing import hypotheses
from equipoise.results import Record
from equipoise.stats import difference_interval, difference_p, wilson

pytestmark = pytest.mark.once


def people(
    seed: int, rows: int = 600, gap: float = 0.0, groups: tuple[str, ...] = ("a", "b", "c")
) -> dict[str, np.ndarray]:
    """Rows whose predictions depend on the group by ``gap`` and on nothing else that differs between groups."""
    generator = np.random.default_rng(seed)
    group = generator.choice(list(groups), rows).astype(object)
    target = generator.integers(0, 2, rows)
    chance = 0.25 + 0.4 * target - gap * (group == "b")
    return {
        "group": group,
        "sex": generator.choice(["F", "M"], rows),
        "y": target,
        "p": (generator.random(rows) < chance).astype(int),
        "id": np.arange(rows) // 2,
        "w": generator.random(rows) + 0.5,
    }


ASK = {"target": "y", "prediction": "p", "favourable": 1, "sensitive_features": ["group", "sex"]}


def contrasts(result: equipoise.AuditResult, measure: str, attribute: str) -> dict[str | None, Record]:
    return {r.group: r for r in result.find(measure, kind="contrast", attribute=(attribute,))}


@pytest.mark.long
def test_when_nothing_differs_a_report_has_a_finding_at_most_one_time_in_twenty() -> None:
    reports = 160
    any_finding = [
        any(record.finding for record in equipoise.audit(people(seed), **ASK, draws=300).records)
        for seed in range(reports)
    ]
    # Two standard errors above 5 %: a true 5 % exceeds this about once in forty runs of another seed.
    assert np.mean(any_finding) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / reports)


@pytest.mark.parametrize("seed", range(4))
def test_a_contrast_is_a_finding_exactly_when_its_interval_excludes_0(seed: int) -> None:
    result = equipoise.audit(people(seed, gap=0.12 * seed), **ASK)
    tested = [r for r in result.records if r.kind == "contrast" and r.finding is not None]
    assert tested
    for record in tested:
        assert record.low is not None
        assert record.high is not None
        assert record.finding == (record.low > 0 or record.high < 0)
        assert record.finding == (record.p_adjusted is not None and record.p_adjusted <= 0.05)


def test_a_planted_gap_is_found_and_pointed_the_right_way() -> None:
    result = equipoise.audit(people(1, rows=3000, gap=0.2), **ASK)
    found = contrasts(result, "selection_rate", "group")["b"]
    assert found.finding
    assert found.value == pytest.approx(-0.2, abs=0.05)
    assert found.high is not None
    assert found.high < 0
    gap = result.find("DP", attribute=("group",), scope="favourable")[0]
    assert gap.finding
    assert gap.interval == "lower-bound"
    assert gap.low is not None
    assert 0 < gap.low < gap.value
    assert result.words[0].startswith("The model predicts '1' less often for b than for the rest (group): ")


def test_a_contrast_is_the_difference_of_two_rates_with_the_score_test() -> None:
    data = people(2)
    result = equipoise.audit(data, **ASK)
    own, rest = data["group"] == "a", data["group"] != "a"
    counts = (data["p"][own].sum(), own.sum(), data["p"][rest].sum(), rest.sum())
    record = contrasts(result, "selection_rate", "group")["a"]
    assert record.value == pytest.approx(counts[0] / counts[1] - counts[2] / counts[3])
    assert record.p == pytest.approx(float(difference_p(*counts)))
    assert (record.numerator, record.denominator) == (counts[0], counts[1])
    alone = equipoise.audit(data, **{**ASK, "sensitive_features": ["group"]}, draws=300)
    record = contrasts(alone, "selection_rate", "group")["a"]
    tests = {key: r for key, r in zip(hypotheses(alone.records), alone.records, strict=True) if r.p is not None}
    level = 1 - 0.05 * max(sum(r.p_adjusted <= 0.05 for r in tests.values() if r.p_adjusted), 1) / len(tests)
    low, high = difference_interval(*counts, level)
    assert (record.low, record.high) == (pytest.approx(float(low)), pytest.approx(float(high)))


def test_who_is_held_against_whom() -> None:
    data = people(3, groups=("a", "a", "b"))
    two = contrasts(equipoise.audit(data, **ASK), "selection_rate", "group")
    assert {group: record.against for group, record in two.items()} == {"b": "a"}  # the larger of two
    three = equipoise.audit(people(3), **ASK)
    assert {r.against for r in contrasts(three, "accuracy", "group").values()} == {"the rest"}
    named = equipoise.audit(people(3), **ASK, reference={"group": "c"})
    assert {g: r.against for g, r in contrasts(named, "selection_rate", "group").items()} == {"a": "c", "b": "c"}


def test_rates_have_wilsons_interval() -> None:
    data = people(4)
    record = equipoise.audit(data, **ASK).find(
        "true_positive_rate", kind="rate", attribute=("group",), group="b", scope="favourable"
    )[0]
    members = (data["group"] == "b") & (data["y"] == 1)
    low, high = wilson(data["p"][members].sum(), members.sum())
    assert (record.low, record.high, record.interval) == (
        pytest.approx(float(low)),
        pytest.approx(float(high)),
        "score",
    )


def test_measures_that_cannot_be_negative_have_no_two_sided_interval() -> None:
    result = equipoise.audit(people(5), **ASK)
    for record in result.records:
        if record.kind == "gap":
            assert record.high is None
            assert record.interval in (None, "lower-bound")
            assert record.low is None or 0 <= record.low <= record.value


def test_every_gap_of_counts_has_a_lower_bound_and_a_p_value() -> None:
    result = equipoise.audit(people(5), **ASK)
    for record in result.records:
        if record.kind == "gap" and record.scope in ("favourable", "overall"):
            assert record.p is not None, record.measure
            assert record.low is not None, record.measure


def test_a_contrast_of_few_people_is_not_tested_and_says_so() -> None:
    data = people(6, rows=300)
    data["group"][:12] = "rare"
    result = equipoise.audit(data, **ASK)
    record = contrasts(result, "selection_rate", "group")["rare"]
    assert (record.status, record.p, record.finding) == ("too small", None, None)
    assert str(record.reason) == "12 people on one side: fewer than 30"
    told = "Too few people to test (fewer than 30): selection rate of rare (12)"
    assert any(told in word for word in result.words)
    eager = equipoise.audit(data, **ASK, least_people=5)
    assert contrasts(eager, "selection_rate", "group")["rare"].status == "ok"


def test_every_row_twice_with_its_cluster_is_as_uncertain_as_every_row_once() -> None:
    data = people(7, rows=500, gap=0.1)
    twice = {name: np.repeat(column, 2) for name, column in data.items()}
    twice["person"] = np.repeat(np.arange(500), 2)
    once = contrasts(equipoise.audit(data, **ASK), "selection_rate", "group")["b"]
    naive = contrasts(equipoise.audit(twice, **ASK), "selection_rate", "group")["b"]
    clustered = contrasts(equipoise.audit(twice, **ASK, cluster="person"), "selection_rate", "group")["b"]
    assert clustered.interval == "bootstrap"

    def z(record: Record) -> float:
        from scipy import stats

        return float(stats.norm.isf(record.p / 2))  # type: ignore[operator]

    assert z(naive) == pytest.approx(z(once) * np.sqrt(2), rel=0.02)
    assert z(clustered) == pytest.approx(z(once), rel=0.12)


def test_equal_weights_change_no_test_and_unequal_ones_widen() -> None:
    data = people(8, gap=0.1)
    plain = contrasts(equipoise.audit(data, **ASK), "selection_rate", "group")["b"]
    data["w"] = np.full(600, 3.0)
    equal = contrasts(equipoise.audit(data, **ASK, weight="w"), "selection_rate", "group")["b"]
    assert equal.p == pytest.approx(plain.p, rel=1e-9)
    data["w"] = np.where(np.arange(600) % 10 == 0, 20.0, 1.0)
    uneven = equipoise.audit(data, **ASK, weight="w").find("PPR", kind="rate", attribute=("group",), group="b")[0]
    even = equipoise.audit(data, **ASK).find("PPR", kind="rate", attribute=("group",), group="b")[0]
    assert uneven.high - uneven.low > 1.5 * (even.high - even.low)  # type: ignore[operator]


def test_the_same_seed_gives_the_same_audit_and_no_draws_gives_no_tests() -> None:
    data = people(9)
    first, second = (equipoise.audit(data, **ASK, seed=3).records for _ in range(2))
    assert first == second or all(
        a == b or (a.value != a.value and b.value != b.value) for a, b in zip(first, second, strict=True)
    )
    silent = equipoise.audit(data, **ASK, draws=0)
    assert all(record.p is None and record.finding is None for record in silent.records)
    assert not [record for record in silent.records if record.kind == "contrast"]


def test_the_four_fifths_rule_comes_with_the_chance_that_it_is_broken() -> None:
    result = equipoise.audit(people(10, rows=4000, gap=0.2), **ASK, reference={"group": "a"})
    rule = {(r.group, r.basis): r for r in result.four_fifths if r.attribute == ("group",)}
    assert rule["b", "highest rate"].ratio < 0.8
    assert rule["b", "highest rate"].probability_broken > 0.99
    assert rule["c", "reference"].probability_broken < 0.2 if ("c", "reference") in rule else True
    assert not rule["b", "highest rate"].small


def test_power_says_what_could_have_been_found_and_what_a_gap_needs() -> None:
    result = equipoise.audit(people(11), **ASK, gap_of_interest=0.05)
    power = {(p.measure, p.group): p for p in result.power if p.attribute == ("group",)}
    told = power["selection_rate", "b"]
    assert told.level == pytest.approx(max(r.level for r in result.records if r.kind == "contrast"))
    assert told.level > 0.95
    assert 0.12 < told.detectable < 0.22  # at the level that decides; at 95% it would be 0.12
    assert told.people_needed is not None
    assert told.people_needed > 1500
    with pytest.raises(equipoise.BadInput, match="gap of interest"):
        equipoise.audit(people(11), **ASK, gap_of_interest=5)


def test_scores_and_regressions_have_evidence_too() -> None:
    generator = np.random.default_rng(0)
    rows = 1500
    group = generator.choice(["a", "b"], rows)
    target = generator.integers(0, 2, rows)
    score = np.clip(target * 0.35 * (group == "a") + generator.random(rows) * 0.65, 0, 1)
    result = equipoise.audit(target=target, score=score, favourable=1, sensitive_features={"group": group})
    auc = {r.group: r for r in result.find("AUC", kind="value", attribute=("group",))}
    assert auc["a"].low is not None
    assert auc["a"].low > 0.6 > auc["b"].value
    assert result.find("AUC", kind="contrast")[0].finding
    truth = generator.normal(50, 10, rows)
    guess = truth + generator.normal(0, 2, rows) + 1.5 * (group == "b")
    numbers = equipoise.audit(target=truth, prediction=guess, task="regression", sensitive_features={"group": group})
    residual = numbers.find("mean_residual", kind="contrast")[0]
    assert residual.finding
    assert abs(residual.value) == pytest.approx(1.5, abs=0.3)
    assert numbers.find("mean_residual_difference")[0].finding


def test_a_cluster_column_with_one_value_is_refused() -> None:
    data = people(12)
    data["id"] = np.zeros(600)
    with pytest.raises(equipoise.BadInput, match="one value only"):
        equipoise.audit(data, **ASK, cluster="id")


@pytest.mark.long
def test_the_mean_over_strata_has_a_test_and_a_bound() -> None:
    found = []
    for seed in range(40):
        data = people(seed + 100, rows=400, gap=0.3 if seed == 0 else 0.0)
        data["office"] = np.random.default_rng(seed).choice(["north", "south"], 400)
        result = equipoise.audit(data, **ASK, control="office", draws=199)
        (mean,) = result.find("demographic_parity", attribute=("group",), control="office", scope="favourable")
        assert mean.p is not None
        assert mean.low is not None
        assert 0 <= mean.low <= mean.value
        found.append((mean.p <= 0.05, mean.low > 0))
    assert found[0] == (True, True)
    assert np.mean([rejected for rejected, _ in found[1:]]) <= 0.16  # 5 % and three standard errors
    assert np.mean([above for _, above in found[1:]]) <= 0.08
