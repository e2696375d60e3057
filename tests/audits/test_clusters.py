"""Rows that belong together: intervals, tests and bounds draw whole clusters, whatever the task."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

import equipoise
from equipoise import AuditResult
from equipoise.audits._tallies import ClusterCounts
from equipoise.audits._values import UnitValues
from equipoise.results import Record
from equipoise.stats import student_factors

pytestmark = pytest.mark.once

Data = dict[str, np.ndarray]


def faces(seed: int, people: int = 120, pictures: int = 4, gap: float = 0.0, groups: int = 2) -> Data:
    """Several pictures of each person; a model that is right or wrong about the person, not the picture."""
    generator = np.random.default_rng(seed)
    group = generator.integers(0, groups, people)
    truth = generator.integers(0, 2, people)
    skill = generator.random(people) < np.where(group == 0, 0.8, 0.8 - gap)
    score = np.clip(np.where(skill, truth, 1 - truth) * 0.5 + generator.random(people) * 0.5, 0, 1)
    wobble = generator.normal(0, 0.03, people * pictures)
    rows = {"person": np.arange(people), "group": group, "y": truth, "score": score}
    data = {name: np.repeat(column, pictures) for name, column in rows.items()}
    data["score"] = np.clip(data["score"] + wobble, 0, 1)
    data["p"] = (data["score"] >= 0.5).astype(int)
    data["amount"] = data["y"] + np.repeat(generator.normal(size=people), pictures)
    data["guess"] = data["amount"] + np.repeat(generator.normal(size=people), pictures)
    return data


TASKS = {
    "class": {"target": "y", "prediction": "p", "score": "score", "favourable": "1"},
    "regression": {"target": "amount", "prediction": "guess", "task": "regression"},
}


def audited(data: Data, task: str, **options: object) -> AuditResult:
    return equipoise.audit(data, sensitive_features="group", **TASKS[task], **options)  # type: ignore[arg-type]


def gaps(result: AuditResult) -> list[Record]:
    return [r for r in result.records if r.kind == "gap" and r.defined and r.scope in ("overall", "favourable")]


@pytest.mark.parametrize("task", sorted(TASKS))
@pytest.mark.parametrize("cluster", [None, "person"])
def test_every_gap_has_a_test_and_a_bound(task: str, cluster: str | None) -> None:
    result = audited(faces(0, groups=3), task, cluster=cluster)
    for record in gaps(result):
        assert record.p is not None, record.measure
        assert record.low is not None, record.measure
        assert -1e-9 <= record.low <= record.value + 1e-9, record.measure
        assert record.interval == "lower-bound"


@pytest.mark.parametrize("task", sorted(TASKS))
def test_rates_and_values_are_wider_with_clusters(task: str) -> None:
    data = faces(1)
    plain, clustered = audited(data, task), audited(data, task, cluster="person")
    names = ("selection_rate", "accuracy", "auc", "brier_score") if task == "class" else ("mean_residual", "pearson")
    for name in names:
        one, two = (r.find(name, attribute=("group",), group="0")[0] for r in (plain, clustered))
        ratio = (two.high - two.low) / (one.high - one.low)  # type: ignore[operator]
        assert 1.5 <= ratio <= 2.7, name  # four equal pictures: about sqrt(4)


@pytest.mark.long
@pytest.mark.parametrize("task", sorted(TASKS))
def test_nothing_is_found_too_often_when_nothing_differs(task: str) -> None:
    found = [
        any(r.finding for r in audited(faces(seed), task, cluster="person", draws=300).records if r.kind != "value")
        for seed in range(40)
    ]
    assert np.mean(found) <= 0.15  # 5 % and three standard errors
    naive = [
        any(r.finding for r in audited(faces(seed), task, draws=300).records if r.kind != "value") for seed in range(10)
    ]
    assert np.mean(naive) > np.mean(found)


def test_a_true_gap_between_people_is_found() -> None:
    result = audited(faces(3, people=400, gap=0.4), "class", cluster="person")
    for name in ("accuracy_difference", "auc_difference", "true_positive_rate_gap"):
        record = next(r for r in gaps(result) if r.measure == name)
        assert record.finding, name
        assert record.low > 0.02, name  # type: ignore[operator]


def test_bounds_of_a_gap_that_is_not_there_are_mostly_zero() -> None:
    above = [
        next(
            r
            for r in gaps(audited(faces(seed), "class", cluster="person", draws=200))
            if r.measure == "accuracy_difference"
        )
        for seed in range(25)
    ]
    assert np.mean([record.low > 0 for record in above]) <= 0.12  # type: ignore[operator]


def test_labels_of_one_person_are_drawn_together() -> None:
    generator = np.random.default_rng(4)
    people, pictures = 150, 4
    data: Data = {"group": np.repeat(generator.integers(0, 2, people), pictures)}
    data["person"] = np.repeat(np.arange(people), pictures)
    for label in ("hat", "glasses"):
        data[f"t_{label}"] = np.repeat(generator.integers(0, 2, people), pictures)
        data[f"p_{label}"] = np.repeat(generator.integers(0, 2, people), pictures)
    ask = {
        "task": "multilabel",
        "target": ["t_hat", "t_glasses"],
        "prediction": ["p_hat", "p_glasses"],
        "sensitive_features": "group",
    }
    plain = equipoise.audit(data, **ask)  # type: ignore[arg-type]
    clustered = equipoise.audit(data, **ask, cluster="person")  # type: ignore[arg-type]
    assert any("clusters, not 600 rows" in note for note in clustered.notes)

    def z(result: AuditResult, label: str | None) -> float:
        contrasts = (r for r in result.records if r.kind == "contrast" and r.measure == "selection_rate")
        return float(stats.norm.isf(next(r for r in contrasts if r.label == label).p / 2))  # type: ignore[operator]

    for label in (None, "t_hat"):
        assert z(plain, label) / z(clustered, label) == pytest.approx(2.0, rel=0.15)  # four equal pictures: sqrt(4)


def test_a_group_that_is_never_predicted_still_has_an_interval() -> None:
    data = faces(5)
    data["p"] = np.where(data["group"] == 0, 0, data["p"])
    result = audited(data | {"score": data["score"]}, "class", cluster="person")
    record = result.find("selection_rate", attribute=("group",), group="0", scope="favourable")[0]
    assert record.value == 0
    people = len(np.unique(data["person"][data["group"] == 0]))
    assert 0.5 / people < record.high < 20 / people  # type: ignore[operator]


def wards(seed: int, first: int, second: int, rows: int = 60) -> Data:
    """Whole wards are of one group; wards differ, groups do not."""
    generator = np.random.default_rng(seed)
    number = first + second
    level = np.repeat(np.clip(generator.normal(0.5, 0.12, number), 0.05, 0.95), rows)
    truth = generator.integers(0, 2, number * rows)
    score = np.clip(level + 0.3 * (truth - 0.5) + generator.normal(0, 0.15, number * rows), 0, 1)
    return {
        "group": np.repeat(np.where(np.arange(number) < first, "a", "b"), rows),
        "person": np.repeat(np.arange(number), rows),
        "y": truth,
        "score": score,
        "p": (score >= 0.5).astype(int),
        "amount": truth + generator.normal(size=number * rows),
        "guess": truth + level + generator.normal(size=number * rows),
    }


@pytest.mark.parametrize("task", sorted(TASKS))
def test_one_cluster_against_eight_tells_nothing(task: str) -> None:
    for seed in range(3):
        result = audited(wards(seed, 1, 8, rows=150), task, cluster="person", draws=200)
        assert not any(r.finding for r in result.records)
        contrasts = [r for r in result.records if r.kind == "contrast" and r.defined]
        assert contrasts
        for record in contrasts:
            assert (record.p, record.low, record.status) == (None, None, "too small"), record.measure
            assert str(record.reason) == "1 cluster only on one side: fewer than 5"
        for record in gaps(result):
            assert (record.p, record.low) == (None, None), record.measure
            assert str(record.reason) == "a has 1 cluster only: fewer than 5"
        name = "selection_rate" if task == "class" else "mean_residual"
        alone, several = (result.find(name, attribute=("group",), group=group)[0] for group in "ab")
        assert (alone.low, str(alone.reason)) == (None, "a has 1 cluster only: fewer than 5")
        assert several.low is not None


@pytest.mark.long
def test_ten_clusters_against_ten_are_told_apart_seldom() -> None:
    found: dict[str, list[bool]] = {}
    for seed in range(80):
        for record in audited(wards(seed, 10, 10, rows=30), "class", cluster="person", draws=200).records:
            if record.p is not None and record.scope in ("overall", "favourable"):
                found.setdefault(f"{record.kind} {record.measure}", []).append(record.p <= 0.05)
    for name in (
        "gap demographic_parity", "gap statistical_parity_subgroup_fairness", "gap auc_difference",
        "gap calibration_error_difference", "contrast selection_rate", "contrast auc",
    ):  # fmt: skip
        assert np.mean(found[name]) <= 0.10, name  # 5 % and two standard errors


@pytest.mark.parametrize(("values", "off"), [((0.30, 0.20), (0.06, 0.0)), ((0.25, 0.25), (0.06, 0.0))])
def test_what_draws_are_off_can_only_weaken_a_test(values: tuple[float, float], off: tuple[float, float]) -> None:
    generator = np.random.default_rng(0)
    drawn = np.array(values) + np.array(off) + generator.normal(0, 0.02, (500, 2))
    behind = ClusterCounts(("a", "b"), sparse.csc_array(np.repeat(np.eye(2), 10, axis=0)))

    def p(off: np.ndarray) -> float:
        stretched = student_factors(10, 500, np.random.default_rng(1))
        return UnitValues({"error": np.array(values)}, {"error": drawn - off}, behind, stretched).gap("error").p

    mean = drawn.mean(axis=0) - values
    with_it, without = p(np.zeros(2)), p(mean)  # in the second draws are off by nothing: there is one p-value
    assert with_it >= without
    assert without < 0.05 if values[0] != values[1] else without == 1.0


def test_groups_that_share_clusters_are_compared_within_them() -> None:
    generator = np.random.default_rng(6)
    wards_, rows = 40, 10
    off = generator.normal(0, 5, (wards_, 1, 1)) + generator.normal([[[0.2], [0.0]]], 1, (wards_, 2, rows))
    amount = generator.normal(size=off.size)
    data = {
        "person": np.repeat(np.arange(wards_), 2 * rows),
        "group": np.tile(np.repeat(["a", "b"], rows), wards_),
        "amount": amount,
        "guess": amount + off.ravel(),
    }
    result = audited(data, "regression", cluster="person")
    record = next(r for r in result.records if r.kind == "contrast" and r.measure == "mean_residual")
    within = off.mean(axis=2)[:, 0] - off.mean(axis=2)[:, 1]  # each ward has as many of both: a paired t test
    sign = 1 if record.group == "a" else -1
    assert record.value == pytest.approx(sign * within.mean())
    assert record.p is not None
    expected = abs(stats.ttest_1samp(within, 0.0).statistic)
    assert stats.t.isf(record.p / 2, wards_ - 1) == pytest.approx(expected, rel=0.06)  # 2,000 draws: 1.6 % and more
    gap = next(r for r in gaps(result) if r.measure == "mean_residual_difference")
    assert gap.low == 0.0  # each group's own error counts: lower than it need be


def test_a_spread_of_nothing_has_no_p_value() -> None:
    data = wards(7, 10, 10)
    data["p"] = (data["group"] == "a").astype(int)
    result = audited(data, "class", cluster="person", draws=200)
    record = next(r for r in result.records if r.kind == "contrast" and r.measure == "selection_rate")
    assert abs(record.value) == 1
    assert (record.p, record.low, str(record.reason)) == (None, None, "nothing varies on either side")
    gap = next(r for r in gaps(result) if r.measure == "demographic_parity")
    assert (gap.p, str(gap.reason)) == (None, "nothing varies on either side")


def test_an_auc_needs_enough_people_of_the_class_and_not_of_it() -> None:
    data = wards(8, 10, 10)
    few = (data["group"] == "a") & (data["y"] == 1)
    kept = ~few | (np.cumsum(few) <= 12)
    result = audited({name: column[kept] for name, column in data.items()}, "class")
    record = next(r for r in result.records if r.kind == "contrast" and r.measure == "auc")
    assert (record.p, record.status) == (None, "too small")
    assert str(record.reason) == "12 people of the class on one side: fewer than 30"


def test_a_cohort_that_names_its_clusters_is_audited_by_them() -> None:
    data, roles = faces(3), {"target": "y", "groups": ("group",), "prediction": "p", "favourable": "1"}
    own = equipoise.Cohort(name="faces", columns=data, cluster="person", **roles)  # type: ignore[arg-type]
    plain = equipoise.Cohort(name="faces", columns=data, **roles)  # type: ignore[arg-type]
    asked = equipoise.audit(plain, cluster="person", draws=200)
    assert equipoise.audit(own, draws=200).records == asked.records
    assert equipoise.audit(plain, draws=200).records != asked.records
    # What the caller names comes before what the cohort names.
    columns = {**data, "row": np.arange(len(data["y"]))}
    other = equipoise.Cohort(name="faces", columns=columns, cluster="row", **roles)  # type: ignore[arg-type]
    assert equipoise.audit(other, cluster="person", draws=200).records == asked.records


def test_points_of_a_cohort_are_compared_by_its_clusters() -> None:
    data, generator = faces(4), np.random.default_rng(0)
    before = generator.normal(size=(len(data["y"]), 4))
    after = before + generator.normal(size=before.shape)
    own = equipoise.Cohort(name="faces", columns=data, target="y", groups=("group",), cluster="person")
    found = equipoise.compare(before, after, rows=own, sensitive_features="group", draws=50)
    assert (found.similarity.units, found.similarity.unit) == (120, "clusters")


def test_a_clustered_rate_has_the_variance_of_its_clusters_by_hand() -> None:
    # Clusters of 4 rows with 3, 1, 0, 2, 0 and 0 hits: the rate is 6 / 24, the residuals 2, 0, -1, 1, -1 and -1.
    hits = [3, 1, 0, 2, 0, 0]
    data = {
        "person": np.repeat(np.arange(12), 4),
        "group": np.repeat(["a"] * 6 + ["b"] * 6, 4),
        "p": np.concatenate([[1] * number + [0] * (4 - number) for number in [*hits, 1, 2, 3, 2, 1, 3]]),
    }
    result = equipoise.audit(data, prediction="p", sensitive_features="group", cluster="person", draws=50)
    [record] = result.find("selection_rate", attribute=("group",), group="a", class_="1", scope="class")
    squares = np.array([2, 0, -1, 1, -1, -1]) ** 2
    variance = 6 / 5 * squares.sum() / 24**2
    degrees = min(2 * squares.sum() ** 2 / (squares**2).sum() - 1, 5)
    t = stats.t.isf(0.025, degrees)
    trials = 0.25 * 0.75 / variance * (stats.norm.isf(0.025) / t) ** 2
    z = stats.norm.isf(0.025)
    middle = (0.25 + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * np.sqrt(0.25 * 0.75 / trials + z**2 / (4 * trials**2))
    assert (record.low, record.high) == (pytest.approx(middle - half), pytest.approx(middle + half))
    assert record.approximate
    assert any("fewer than 30 clusters" in note for note in result.notes)


def test_many_clusters_are_not_approximate() -> None:
    result = audited(faces(2), "class", cluster="person", draws=50)
    rates = [r for r in result.records if r.kind == "rate" and r.low is not None and r.class_ is None]
    assert rates
    assert not any(r.approximate for r in rates if r.group in ("0", "1"))
    assert not any(r.approximate for r in audited(faces(2), "class", draws=50).records)
