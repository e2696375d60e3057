"""PNKA against whole kernels, its invariances, and what it says where it is not defined."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from equipoise.foundation import BadInput
from equipoise.measures import (
    Approximation,
    aggregate_pnka,
    as_pair,
    pnka,
)
from equipoise.measures import _kernels as kernels
from helpers.oracles import comparison as oracle

Array = np.ndarray[Any, Any]
KERNELS: list[dict[str, Any]] = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "variant": "literal"},
    {"kernel": "rbf", "bandwidth": 2.5},
]


def pair(rows: int = 40, seed: int = 0, widths: tuple[int, int] = (5, 8)) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    before = generator.normal(2.0, 1.0, (rows, widths[0]))
    after = before @ generator.normal(size=widths) + generator.normal(size=(rows, widths[1]))
    return before, after


def orthogonal(width: int, generator: np.random.Generator) -> Array:
    return np.linalg.qr(generator.normal(size=(width, width)))[0]


# Against the authors' way: both kernels in full.


@pytest.mark.parametrize("self_term", [True, False])
@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_scores_are_those_of_whole_kernels(options: dict[str, Any], self_term: bool) -> None:
    for seed in range(5):
        before, after = pair(seed=seed)
        expected = oracle.pnka(before, after, self_term=self_term, **options)
        np.testing.assert_allclose(pnka(before, after, self_term=self_term, **options), expected, atol=1e-12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("self_term", [True, False])
@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_many_blocks_give_what_one_block_gives(options: dict[str, Any], self_term: bool) -> None:
    before, after = pair(53)
    expected = oracle.pnka(before, after, self_term=self_term, **options)
    np.testing.assert_allclose(pnka(before, after, self_term=self_term, **options), expected, atol=1e-12)


def test_single_precision_is_kept_and_agrees_to_five_digits() -> None:
    generator = np.random.default_rng(0)
    for width in (3, 40, 200):
        before = generator.normal(size=(300, width)).astype(np.float32)
        after = (before + generator.normal(size=before.shape)).astype(np.float32)
        scores = pnka(before, after)
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, oracle.pnka(before.astype(float), after.astype(float)), atol=1e-5)


SPREADS = {
    "far from 0": lambda x: x + 1e4,
    "many sizes of variance": lambda x: x * np.arange(1, x.shape[1] + 1.0) ** -5,
    "huge": lambda x: x * 1e30,
    "tiny": lambda x: x * 1e-30,
}


@pytest.mark.parametrize("spread", SPREADS)
def test_single_precision_gives_way_to_double_where_it_would_not_do(spread: str) -> None:
    generator = np.random.default_rng(0)
    before = SPREADS[spread](generator.normal(size=(200, 30))).astype(np.float32)
    after = (before * np.linspace(1.0, 2.0, 30)).astype(np.float32)
    scale = float(np.abs(before).max())
    expected = oracle.pnka(before.astype(float) / scale, after.astype(float) / scale)
    np.testing.assert_allclose(pnka(before, after), expected, atol=1e-5)


def test_a_row_in_directions_of_little_variance_is_found_out_in_single_precision() -> None:
    generator = np.random.default_rng(0)
    spread = generator.normal(size=(300, 6)) * [1.0, 1.0, 1e-3, 1e-3, 1e-3, 1e-3]
    spread[0, :2] = spread[1:, :2].mean(axis=0)  # apart from the others where they hardly differ
    before = (spread @ orthogonal(6, generator)).astype(np.float32)
    after = (before + generator.normal(size=(300, 6))).astype(np.float32)
    expected = oracle.pnka(before.astype(float), after.astype(float))
    both = as_pair(before, after)
    single, rounding = kernels._compare(both, both, "float32", True)
    assert rounding > kernels.ENOUGH
    assert np.abs(single.cosines() - expected).max() > 1e-4
    np.testing.assert_allclose(pnka(before, after), expected, atol=1e-9)


def test_integers_halves_and_lists_are_read() -> None:
    before = [[0, 1], [2, 5], [4, 4], [9, 1]]
    after = [[1, 1, 0], [0, 5, 1], [2, 2, 2], [3, 0, 0]]
    expected = oracle.pnka(np.array(before, float), np.array(after, float))
    np.testing.assert_allclose(pnka(before, after), expected, atol=1e-12)
    np.testing.assert_allclose(pnka(np.array(before), np.array(after, dtype=np.int8)), expected, atol=1e-12)
    halves = pnka(np.array(before, dtype=np.float16), np.array(after, dtype=np.float16))
    np.testing.assert_allclose(halves, expected, atol=1e-5)


def test_more_dimensions_are_laid_out_flat() -> None:
    before, after = pair(widths=(6, 8))
    images = before.reshape(40, 2, 3), after.reshape(40, 2, 2, 2)
    np.testing.assert_array_equal(pnka(*images), pnka(before, after))


# What a score does not depend on, and what it does.


@settings(deadline=None, max_examples=30)
@given(
    values=arrays.arrays(np.float64, (12, 3), elements=st.integers(-50, 50).map(float)),
    seed=st.integers(0, 2**32 - 1),
    scales=st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
    shift=st.floats(-100.0, 100.0),
    kernel=st.sampled_from(["linear", "rbf"]),
)
def test_rotating_scaling_and_moving_a_representation_changes_nothing(
    values: Array, seed: int, scales: tuple[float, float], shift: float, kernel: Any
) -> None:
    generator = np.random.default_rng(seed)
    values = values + generator.normal(size=values.shape)  # no row is at the mean
    after = values @ generator.normal(size=(3, 4)) + generator.normal(size=(12, 4))
    moved = (scales[0] * (values @ orthogonal(3, generator) + shift), scales[1] * (after @ orthogonal(4, generator)))
    np.testing.assert_allclose(pnka(*moved, kernel=kernel), pnka(values, after, kernel=kernel), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_general_linear_map_changes_scores(kernel: Any) -> None:
    before, _ = pair()
    stretched = before * [10.0, 1.0, 1.0, 1.0, 0.1]
    assert pnka(before, stretched, kernel=kernel).min() < 0.9
    np.testing.assert_allclose(pnka(before, 7.0 * before[:, ::-1] - 3.0, kernel=kernel), 1.0, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1), rows=st.integers(3, 30), widths=st.tuples(st.integers(1, 40), st.integers(1, 40))
)
def test_scores_lie_between_minus_one_and_one_and_are_symmetric(seed: int, rows: int, widths: tuple[int, int]) -> None:
    before, after = pair(rows, seed, widths)
    scores = pnka(before, after)
    assert (np.abs(scores) <= 1.0).all()
    np.testing.assert_allclose(scores, pnka(after, before), atol=1e-9)
    np.testing.assert_allclose(scores, oracle.pnka(before, after), atol=1e-9)


def test_the_entry_of_a_row_with_itself_pulls_scores_of_unrelated_spaces_up() -> None:
    generator = np.random.default_rng(0)
    before, after = generator.normal(size=(300, 40)), generator.normal(size=(300, 40))
    assert aggregate_pnka(before, after) == pytest.approx(0.12, abs=0.02)
    assert aggregate_pnka(before, after, self_term=False) == pytest.approx(-0.01, abs=0.02)


def test_an_rbf_kernel_that_is_not_centred_calls_independent_spaces_alike() -> None:
    generator = np.random.default_rng(0)
    before, after = generator.normal(size=(300, 8)), generator.normal(size=(300, 8))
    assert aggregate_pnka(before, after, kernel="rbf", variant="literal") == pytest.approx(0.96, abs=0.02)
    assert aggregate_pnka(before, after, kernel="rbf") == pytest.approx(0.03, abs=0.02)


def test_the_demonstration_of_the_authors_gives_their_numbers() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1337)
    before = torch.randn(100, 10)
    after = torch.randn(100, 10) + before
    scores = pnka(before, after)
    assert float(scores[0]) == pytest.approx(0.3497, abs=5e-5)
    assert float(scores.mean()) == pytest.approx(0.5535, abs=5e-5)
    assert int((scores < 0).sum()) == 1
    assert float(scores.min()) == pytest.approx(-0.0440, abs=5e-5)


# Undefined.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_at_the_mean_has_no_place_and_no_score(dtype: Any) -> None:
    half, after = pair(30)
    before = (0.1 + np.concatenate([half, -half, np.zeros((1, 5))])).astype(dtype)  # the last row is the mean
    after = np.concatenate([after, after**2, after[:1]]).astype(dtype)
    scores = pnka(before, after)
    assert np.isnan(scores).nonzero()[0].tolist() == [60]
    assert np.isnan(pnka(after, before)).nonzero()[0].tolist() == [60]
    assert np.isnan(pnka(before, after.astype(np.float64))).nonzero()[0].tolist() == [60]
    assert aggregate_pnka(before, after) == pytest.approx(float(scores[:-1].mean()), abs=1e-6)


def test_a_mean_over_no_score_is_undefined() -> None:
    # Two rows, each once at the mean of the reference rows, which have the same mean.
    corners = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    scored = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 0.0]])
    scores = pnka(*scored, reference=(corners, corners))
    assert np.isnan(scores).all()
    assert np.isnan(aggregate_pnka(*scored, reference=(corners, corners)))


def test_without_its_own_entry_a_row_that_is_alike_to_nobody_is_undefined() -> None:
    before = np.array([[0.0], [0.1], [0.2], [1e6]])
    scores = pnka(before, before, kernel="rbf", variant="literal", bandwidth=0.1, self_term=False)
    assert np.isnan(scores).tolist() == [False, False, False, True]


# Another reference set.


@pytest.mark.parametrize("options", KERNELS, ids=str)
@pytest.mark.parametrize("self_term", [True, False])
def test_rows_placed_among_some_rows(options: dict[str, Any], self_term: bool) -> None:
    before, after = pair(40)
    chosen = [3, 4, 9, 10, 22, 35, 36]
    expected = _placed_among(before, after, chosen, self_term, **options)
    mask = np.isin(np.arange(40), chosen)
    for reference in (chosen, np.array(chosen), mask):
        scores = pnka(before, after, reference=reference, self_term=self_term, **options)
        np.testing.assert_allclose(scores, expected, atol=1e-10)
    others = (before[chosen], after[chosen])
    if self_term:
        np.testing.assert_allclose(pnka(before, after, reference=others, **options), expected, atol=1e-10)


def _placed_among(before: Array, after: Array, chosen: list[int], self_term: bool, **options: Any) -> Array:
    """Centre by the reference rows and take cosines over them."""
    rows = []
    for x in (before, after):
        if options["kernel"] == "linear":
            z = x - x[chosen].mean(axis=0)
            rows.append(z @ z[chosen].T)
            continue
        s = options.get("bandwidth") or oracle.median_distance(x[chosen])
        k = np.exp(-(oracle.distances(x) ** 2) / (2 * s**2))
        if options.get("variant") == "literal":
            rows.append(k[:, chosen])
        else:
            own = k[np.ix_(chosen, chosen)]
            rows.append(k[:, chosen] - k[:, chosen].mean(axis=1, keepdims=True) - own.mean(axis=0) + own.mean())
    scores = []
    for i, (a, b) in enumerate(zip(*rows, strict=True)):
        kept = [j for j, row in enumerate(chosen) if self_term or row != i]
        scores.append(a[kept] @ b[kept] / np.linalg.norm(a[kept]) / np.linalg.norm(b[kept]))
    return np.array(scores)


def test_a_reference_row_named_twice_counts_twice() -> None:
    before, after = pair(30)
    twice = [*range(30), *range(10)]
    expected = _placed_among(before, after, twice, False, kernel="linear")
    np.testing.assert_allclose(pnka(before, after, reference=twice, self_term=False), expected, atol=1e-12)


# The approximation.


def test_an_approximation_states_an_error_that_is_its_own() -> None:
    before, after = pair(400, widths=(3, 3))
    exact = pnka(before, after, kernel="rbf")
    errors = []
    for landmarks in (10, 50, 200):
        found = pnka(before, after, kernel="rbf", approximate="nystroem", landmarks=landmarks)
        assert isinstance(found, Approximation)
        assert (found.landmarks, found.measured) == (landmarks, 400 - landmarks)
        true = np.abs(found.scores - exact)
        assert 0.3 * true.mean() < found.mean_error < 10.0 * true.mean()
        assert found.largest_error >= found.mean_error
        errors.append(true.mean())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


@pytest.mark.parametrize("variant", ["centred", "literal"])
@pytest.mark.parametrize("self_term", [True, False])
def test_with_every_row_a_landmark_the_approximation_is_exact(variant: Any, self_term: bool) -> None:
    before, after = pair(30)
    options: dict[str, Any] = {"kernel": "rbf", "variant": variant, "self_term": self_term}
    found = pnka(before, after, approximate="nystroem", landmarks=30, **options)
    np.testing.assert_allclose(found.scores, pnka(before, after, **options), atol=1e-6)
    assert found.largest_error < 1e-6


def test_an_approximation_depends_on_its_seed_and_on_nothing_else() -> None:
    before, after = pair(200)
    options: dict[str, Any] = {"kernel": "rbf", "approximate": "nystroem", "landmarks": 20}
    first, again, other = (pnka(before, after, seed=seed, **options) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.scores, again.scores)
    assert first.mean_error == again.mean_error
    assert not np.array_equal(first.scores, other.scores)
    assert aggregate_pnka(before, after, seed=1, **options) == pytest.approx(float(first.scores.mean()))


def test_the_median_of_many_rows_is_taken_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = pair(300)
    exact = pnka(before, after, kernel="rbf")
    monkeypatch.setattr(kernels, "MEDIAN_ROWS", 100)
    sampled = pnka(before, after, kernel="rbf")
    assert not np.array_equal(sampled, exact)
    np.testing.assert_allclose(sampled, exact, atol=0.02)
    np.testing.assert_array_equal(sampled, pnka(before, after, kernel="rbf"))


# Arrays of other kinds.


def test_a_file_is_read_in_place(tmp_path: Path) -> None:
    before, after = pair(60)
    np.save(tmp_path / "before.npy", before)
    np.save(tmp_path / "after.npy", after)
    files = [np.load(tmp_path / name, mmap_mode="r") for name in ("before.npy", "after.npy")]
    for options in KERNELS:
        np.testing.assert_array_equal(pnka(*files, **options), pnka(before, after, **options))


def test_tensors_give_tensors() -> None:
    torch = pytest.importorskip("torch")
    before, after = pair(50)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 0.05)):
        tensors = torch.tensor(before, dtype=dtype, requires_grad=True), torch.tensor(after, dtype=dtype)
        for options in KERNELS:
            scores = pnka(*tensors, **options)
            assert isinstance(scores, torch.Tensor)
            assert not scores.requires_grad
            np.testing.assert_allclose(scores.numpy(), pnka(before, after, **options), atol=tolerance)
    tensors = torch.tensor(before), torch.tensor(after)
    some = torch.arange(20)
    np.testing.assert_allclose(
        pnka(*tensors, reference=some, self_term=False).numpy(),
        pnka(before, after, reference=some.numpy(), self_term=False),
        atol=1e-12,
    )
    found = pnka(*tensors, kernel="rbf", approximate="nystroem", landmarks=20)
    expected = pnka(before, after, kernel="rbf", approximate="nystroem", landmarks=20)
    np.testing.assert_allclose(found.scores.numpy(), expected.scores, atol=1e-8)


def test_arrays_are_compared_without_torch() -> None:
    script = (
        "import sys, numpy as np\n"
        "from equipoise import measures\n"
        "x = np.random.default_rng(0).normal(size=(9, 3))\n"
        "measures.pnka(x, x**2), measures.pnka(x, x**2, kernel='rbf'), measures.cka(x, x**2)\n"
        "measures.neighbour_overlap(x, x**2, 2)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# Bad input.


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kernel": "rbv"}, "did you mean 'rbf'"),
        ({"kernel": "rbf", "variant": "centered"}, "did you mean 'centred'"),
        ({"bandwidth": 1.0}, "A linear kernel has no bandwidth"),
        ({"kernel": "rbf", "bandwidth": 0.0}, "The bandwidth of before is 0.0"),
        ({"kernel": "rbf", "bandwidth": (1.0, float("nan"))}, "The bandwidth of after is nan"),
        ({"kernel": "rbf", "bandwidth": (1.0, 1.0, 1.0)}, "bandwidth has 3 numbers"),
        ({"approximate": "nystroem"}, "the linear kernel is exact and fast"),
        ({"kernel": "rbf", "approximate": "fourier"}, "approximate is 'fourier'"),
        ({"kernel": "rbf", "approximate": "nystroem", "landmarks": 0}, "landmarks is 0"),
        ({"kernel": "rbf", "approximate": "nystroem", "landmarks": 41}, "from 1 to 40"),
        ({"reference": [1, 40]}, "The reference names row 40"),
        ({"reference": [7, 7]}, "The reference has 1 row"),
        ({"reference": [True, False]}, "2 values for 40 rows"),
        ({"reference": [0.5, 1.5]}, "row numbers, a mask of the rows"),
        ({"reference": (np.eye(5), np.eye(5))}, "The reference rows after are 5 wide and those scored 8"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        pnka(*pair(40), **options)


def test_equal_rows_leave_no_median_distance() -> None:
    before = np.zeros((20, 2)) + 0.1
    before[0] = 1.0
    _, after = pair(20)
    with pytest.raises(BadInput, match="The median distance between rows of before is 0"):
        pnka(before, after, kernel="rbf")
    assert np.isfinite(pnka(before, after, kernel="rbf", bandwidth=1.0)).all()


def test_numbers_whose_sums_are_infinite_are_refused() -> None:
    before, after = pair(600)
    with pytest.raises(BadInput, match="so large that their sums are infinite"):
        pnka(1e307 * (5.0 + before), after)
    far = before.copy()
    far[500] = 1e200
    far[501] = -1e200
    np.testing.assert_allclose(pnka(far, after), pnka(far / 1e190, after), atol=1e-9)
    for size in (1e200, 1e-200):
        np.testing.assert_allclose(
            pnka(size * before, after, kernel="rbf"), pnka(before, after, kernel="rbf"), atol=1e-9
        )
