"""Values under permuted groups are those of the measures, whatever was summed beforehand; quick singular values too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from equipoise.audits.embedding import EMBEDDING_EVIDENCE, _intervals
from equipoise.audits.embedding._evidence import (
    evidence_of,
    permuted_alignment,
    permuted_rbf,
    permuted_uniformity,
    regrouped,
)
from equipoise.audits.embedding._intervals import (
    carried_codes,
    permuted_codes,
    permuted_units,
    quick_singular_values,
    uniformity_spread,
)
from equipoise.measures import (
    across_class_distance,
    divergence_from_uniform,
    get_measure,
    log_mean_rbf_kernel,
    singular_values,
    within_class_distance,
)
from equipoise.tallies import (
    Coded,
    EmbeddingMoments,
    EmbeddingTally,
    embed,
)

ROUNDED = float(np.finfo(np.float64).eps)


def people(kind: str) -> EmbeddingTally:
    """120 rows of 12 classes in 40 units; ``kind`` says what carries the group, and what disturbs it."""
    generator = np.random.default_rng(4)
    unit = np.arange(120) // 3
    group = np.where(unit % 5 < 2, "a", np.where(unit % 5 < 4, "b", "c")).astype(object)
    classes = unit % 12
    if kind == "classes":
        group = np.array(["a", "a", "b", "b", "c"], dtype=object)[classes % 5]
    if kind == "rows":
        group = generator.permutation(group)
    if kind == "wrong labels":
        group[[0, 50]] = ["c", "a"]
    if kind == "no group":
        group[:9] = None
        group[70] = None
    points = generator.normal(size=(120, 4)) + generator.normal(size=(12, 4))[classes]
    cluster = None if kind in ("rows", "classes") else unit
    return embed(points, classes, group, cluster=cluster)


KINDS = ("clusters", "classes", "rows", "wrong labels", "no group")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "value"),
    [("intra_class_alignment", within_class_distance), ("inter_class_alignment", across_class_distance)],
)
def test_alignment_of_permuted_groups_is_that_of_their_rows(
    kind: str, name: str, value: Callable[[EmbeddingMoments, int], np.ndarray]
) -> None:
    embedded = people(kind)
    units, generator = permuted_units(embedded), np.random.default_rng(0)
    expected = {"rows": "rows", "classes": "classes"}.get(kind, "clusters")
    assert units.name == expected
    assert units.mixed is (kind == "wrong labels")
    prepared = permuted_alignment(value)(embedded)
    for _ in range(5):
        permuted = replace(embedded, codes=permuted_codes(embedded, units, generator))
        assert prepared(permuted) == pytest.approx(get_measure(name).by_class(permuted), rel=1e-12)
    seen = replace(embedded, codes=carried_codes(embedded, units))
    assert prepared(seen) == pytest.approx(get_measure(name).by_class(seen), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_uniformity_of_permuted_groups_is_that_of_their_rows(kind: str) -> None:
    embedded = people(kind)
    permuted = replace(embedded, codes=permuted_codes(embedded, permuted_units(embedded), np.random.default_rng(1)))
    assert permuted_uniformity(embedded)(permuted) == pytest.approx(
        get_measure("uniformity").by_class(permuted), rel=1e-9
    )
    slow = [log_mean_rbf_kernel(permuted.space.rows(permuted.members(group))) for group in range(3)]
    assert permuted_rbf(embedded)(permuted) == pytest.approx(slow, rel=1e-9)


def test_sums_put_together_are_the_sums_of_the_whole() -> None:
    embedded = people("rows")
    fine = Coded(np.arange(120) % 7, tuple("abcdefg"))
    group = np.array([0, 1, 1, 2, 0, 2, 1])
    made = regrouped(embedded.space.moments(fine), group, ("x", "y", "z"))
    whole = embedded.space.moments(Coded(group[fine.codes], ("x", "y", "z")))
    assert np.array_equal(made.cells, whole.cells)
    assert np.array_equal(made.number, whole.number)
    assert made.total == pytest.approx(whole.total)
    assert made.square == pytest.approx(whole.square)


# Singular values by the Gram matrix.


def rows_with(ratio: float, shape: tuple[int, int] = (60, 20)) -> np.ndarray:
    """Rows whose smallest singular value is so small beside the largest."""
    generator = np.random.default_rng(5)
    left, right = (np.linalg.qr(generator.normal(size=(side, min(shape))))[0] for side in shape)
    return np.asarray(left * np.geomspace(1, ratio, min(shape)) @ right.T)


@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (30, 30)])
@pytest.mark.parametrize("ratio", [0.5, 1e-2, 1e-4, 2e-5, 5e-6, 1e-8, 1e-11])
def test_quick_uniformity_agrees_with_the_decomposition(ratio: float, shape: tuple[int, int]) -> None:
    rows = rows_with(ratio, shape)
    quick, slow = (
        divergence_from_uniform(values, shape, ROUNDED)
        for values in (quick_singular_values(rows), singular_values(rows))
    )
    assert quick == pytest.approx(slow, abs=1e-7)
    if ratio >= 1e-4:
        assert quick == pytest.approx(slow, abs=1e-10)


def test_rows_that_do_not_span_the_space_have_no_uniformity_the_quick_way_either() -> None:
    rows = np.random.default_rng(6).normal(size=(40, 10))
    rows[:, 9] = rows[:, 0] + rows[:, 1]
    assert np.isnan(divergence_from_uniform(quick_singular_values(rows), rows.shape, ROUNDED))
    assert np.isnan(
        divergence_from_uniform(quick_singular_values(np.repeat(rows[:5, :8], 2, axis=0)), (10, 8), ROUNDED)
    )


# How many draws are made.


def test_dear_subsamples_are_fewer_and_never_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    embedded, made = people("rows"), []

    def counted(rows: np.ndarray) -> np.ndarray:
        made.append(rows.shape)
        return quick_singular_values(rows)

    monkeypatch.setattr(_intervals, "quick_singular_values", counted)
    values = get_measure("uniformity").by_class(embedded)
    for work, expected in ((2e11, 200), (100 * 4 * 4 * 12, 100), (1.0, 50)):
        made.clear()
        monkeypatch.setattr(_intervals, "SUBSAMPLING_WORK", work)
        found = uniformity_spread(embedded, values, np.random.default_rng(0), 2_000)
        assert len(made) == 3 * expected
        assert np.array_equal(found.units, np.minimum(embedded.people, expected))


def test_a_gap_says_on_how_many_permutations_its_p_rests() -> None:
    embedded = people("clusters")
    found = EMBEDDING_EVIDENCE["uniformity_gap"](embedded, np.random.default_rng(0), 300, variant="best_minus_worst")
    assert 20 <= found.draws <= 300
    assert found.p == pytest.approx(20 / found.draws if found.draws < 300 else found.p)
    cheap = EMBEDDING_EVIDENCE["recall_at_k_gap"](embedded, np.random.default_rng(0), 300, variant="best_minus_worst")
    assert cheap.draws <= 400
    assert cheap.p == pytest.approx(20 / cheap.draws if cheap.draws < 400 else cheap.p, rel=0.6)
    assert cheap.limited is False


def test_a_gap_that_runs_out_of_permutations_says_so() -> None:
    embedded = people("clusters")
    judge = partial(evidence_of, "recall_at_k", embedded, np.random.default_rng(0), variants=("best_minus_worst",))
    _, evidence = judge(draws=1, tests=1_000)
    assert evidence["best_minus_worst"].draws <= 10
    assert evidence["best_minus_worst"].limited is True
