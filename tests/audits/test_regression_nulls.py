"""Regressions with errors that are far from normal: silence where groups are alike, and true gaps that are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import equipoise
from equipoise import AuditResult
from equipoise.audits.outcomes._residuals import SPREADS
from equipoise.measures import get_measure
from equipoise.stats import MOST_BLOCKS, block_p, heterogeneity, jackknife, row_blocks
from equipoise.tallies import (
    ResidualMoments,
    ResidualPivot,
    residual_moments,
    residual_sums,
)

Data = dict[str, np.ndarray]
PIVOT = ResidualPivot(1.0, 2.0)


def sales(seed: int, sizes: tuple[int, ...] = (40, 300), factor: float = 1.0) -> Data:
    """Lognormal targets and errors; the errors of the first group are ``factor`` times as large."""
    generator = np.random.default_rng(seed)
    rows = sum(sizes)
    group = np.repeat([f"g{place}" for place in range(len(sizes))], sizes).astype(object)
    target = generator.lognormal(size=rows)
    error = generator.lognormal(size=rows) * np.where(group == "g0", factor, 1.0)
    side = generator.choice(["north", "south"], rows).astype(object)
    return {"y": target, "p": target + error, "group": group, "side": side, "w": generator.random(rows) + 0.5}


def audited(data: object, **options: object) -> AuditResult:
    chosen = {"sensitive_features": "group", "draws": 199, **options}
    return equipoise.audit(data, target="y", prediction="p", task="regression", **chosen)  # type: ignore[arg-type]


def row_sums(data: Data) -> np.ndarray:
    made = residual_sums(data["y"], data["p"], PIVOT)
    return np.stack([np.ones_like(data["y"])] * 3 + made, axis=1)


def q_of(name: str, of: ResidualMoments) -> np.ndarray:
    return heterogeneity(get_measure(name).by_class(of), SPREADS[name](of))


@pytest.mark.parametrize("sizes", [(40, 300), (40, 60, 200)])
def test_little_is_found_when_groups_are_alike(sizes: tuple[int, ...]) -> None:
    found = [any(r.finding for r in audited(sales(seed, sizes)).records) for seed in range(60)]
    assert np.mean(found) <= 0.12  # 5 % and 2.5 standard errors


def test_errors_that_are_larger_in_one_group_are_found() -> None:
    result = audited(sales(0, (100, 400), factor=4.0))
    for name in ("root_mean_squared_error_difference", "mean_absolute_error_difference"):
        gap = result.find(name)[0]
        assert gap.finding, name
        assert 0 < gap.low <= gap.value, name  # type: ignore[operator]
    contrast = result.find("mean_absolute_error", kind="contrast")[0]
    assert contrast.finding
    assert contrast.low > 0  # type: ignore[operator]


@pytest.mark.parametrize("name", sorted(SPREADS))
def test_permuted_blocks_agree_with_rows_permuted_one_by_one(name: str) -> None:
    data = sales(5, (30, 80), factor=1.4)
    sums, codes = row_sums(data), (data["group"] == "g1").astype(np.int64)
    generator = np.random.default_rng(0)

    def q(dealt: np.ndarray) -> float:
        by_group = np.stack([sums[dealt == group].sum(axis=0) for group in range(2)])
        return float(q_of(name, residual_moments(by_group, ("g0", "g1"), PIVOT)))

    seen = q(codes)
    slow = np.mean([q(generator.permutation(codes)) >= seen for _ in range(2_000)])
    blocks = row_blocks(sums, codes, 2, generator)
    assert [len(block) for block in blocks] == [30, 80]
    statistics = {name: lambda of: q_of(name, of)}
    p = block_p(
        blocks, lambda sums: residual_moments(sums, ("g0", "g1"), PIVOT), statistics, generator, 2_000, tests=20
    )[name]
    # It stops at 20 extreme draws: three standard errors of p.
    assert p == pytest.approx(slow, abs=0.01 + 3 * slow * np.sqrt((1 - slow) / 20) + 3 * np.sqrt(slow / 2_000))


def test_blocks_are_of_one_size_and_leave_enough_to_the_smallest_group() -> None:
    generator = np.random.default_rng(1)
    many = np.ones((5 * MOST_BLOCKS, 11))
    codes = np.repeat([0, 1], [2_000, 5 * MOST_BLOCKS - 2_000])
    blocks = row_blocks(many, codes, 2, generator)
    assert {float(rows) for block in blocks for rows in block[:, 0]} == {5.0}
    assert [len(block) for block in blocks] == [400, MOST_BLOCKS - 400]
    codes = np.repeat([0, 1, -1], [40, 4 * MOST_BLOCKS, MOST_BLOCKS - 40])
    tiny, large = row_blocks(many, codes, 2, generator)
    assert len(tiny) == 40
    assert len(large) == MOST_BLOCKS // 2


def test_the_jackknife_knows_the_error_of_a_mean_and_of_a_correlation() -> None:
    data = sales(2, (0, 500))
    measures = {name: get_measure(name).by_class for name in SPREADS}
    found = jackknife(
        row_sums(data), lambda left: residual_moments(left, ("",), PIVOT), measures, np.random.default_rng(0)
    )
    residual = data["p"] - data["y"]
    assert found["mean_residual"] == pytest.approx(residual.std(ddof=1) / np.sqrt(500))
    pair = data["y"], data["p"]
    left = [stats.pearsonr(*(np.delete(column, row) for column in pair)).statistic for row in range(500)]
    assert found["pearson"] == pytest.approx(np.sqrt(499 * np.var(left)), rel=1e-6)


@pytest.mark.long
def test_splits_controls_bins_missing_words_and_weights_are_told() -> None:
    data = sales(3, (150, 300), factor=4.0)
    data["age"] = np.random.default_rng(0).integers(20, 60, 450)
    data["group"][:5] = "unknown"
    options = {"sensitive_features": ["group", "age"], "bins": {"age": [40]}, "missing": ["unknown"], "weight": "w"}
    for role in ("split", "control"):
        result = audited(data, intersections=True, **options, **{role: "side"})
        gaps = [r for r in result.find("mean_absolute_error_difference") if r.defined and r.p is not None]
        told = {(r.attribute, getattr(r, role)) for r in gaps}
        for attribute in (("group",), ("age",), ("group", "age")):
            for side in ("north", "south") if role == "split" else ("side=north", "side=south"):
                assert (attribute, side) in told
        assert all(r.finding for r in gaps if r.attribute == ("group",))
        assert not any(r.finding for r in gaps if r.attribute == ("age",))


def test_the_order_of_rows_and_the_kind_of_table_do_not_matter(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    data = sales(4, (60, 200), factor=1.5)
    mixed = np.random.default_rng(0).permutation(260)
    path = tmp_path / "rows.parquet"
    polars.DataFrame({name: column[mixed].tolist() for name, column in data.items()}).write_parquet(path)
    one, two = (
        [(r.measure, r.kind, r.p, r.low, r.high) for r in audited(rows, weight="w").records if r.p is not None]
        for rows in (data, str(path))
    )
    assert [first[:2] for first in one] == [second[:2] for second in two]
    for first, second in zip(one, two, strict=True):
        for a, b in zip(first[2:], second[2:], strict=True):
            assert (a is None) == (b is None)
            assert a is None or a == pytest.approx(b, rel=1e-6, abs=1e-9)


def test_a_table_too_large_to_keep_has_the_large_sample_form(monkeypatch: pytest.MonkeyPatch) -> None:
    data = sales(6, (100, 400), factor=4.0)
    monkeypatch.setattr("equipoise.audits._counting.MOST_ROWS", 499)
    gap = audited(data).find("mean_absolute_error_difference")[0]
    assert gap.finding
    assert gap.p < 1 / 200  # type: ignore[operator]  # no draws, so no least p
