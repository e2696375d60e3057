"""Measures of an embedding: numbers by hand, signs and variants, libraries of the field, and what is undefined."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score, normalized_mutual_info_score

from equipoise import measures
from equipoise.foundation import BadInput, registry
from equipoise.measures import (
    GAP_VARIANTS,
    expected_mutual_information,
    get_measure,
    singleton_counts,
)
from equipoise.measures._embeddings import (
    adjusted_mutual,
    contingency,
    normalised_mutual,
)
from equipoise.tallies import embed

OWN = [entry.name for entry in registry.entries("measure") if entry.details["needs"] == "embedding"]
GAPS = [name for name in OWN if get_measure(name).kind == "gap"]

# On a line: two of class x, two of class y, and one of class y who stands among the x.
LINE = np.array([[0.0], [1.0], [10.0], [11.0], [2.5]])
CLASSES = ["x", "x", "y", "y", "y"]
SEX = ["m", "m", "m", "w", "w"]


def test_recall_by_hand() -> None:
    assert measures.recall_at_k(CLASSES, LINE) == pytest.approx(4 / 5)
    by_group = measures.recall_at_k.by_group(CLASSES, LINE, sensitive_features=SEX)
    assert by_group == {"m": 1.0, "w": 0.5}
    assert measures.recall_at_k(CLASSES, LINE, k=3) == 1.0
    assert measures.k_close_fairness(CLASSES, LINE, sensitive_features=SEX) == pytest.approx(0.5)


def test_neighbours_are_sought_among_all_and_a_copy_of_the_query_is_one() -> None:
    # The woman's only class mate is a man at the same place; searching among women alone would find nobody of hers.
    points = np.array([[0.0], [0.0], [5.0], [6.0]])
    by_group = measures.recall_at_k.by_group(["x", "x", "y", "z"], points, sensitive_features=["m", "w", "w", "w"])
    assert by_group == {"m": 1.0, "w": 1.0}
    assert singleton_counts(embed(points, ["x", "x", "y", "z"], ["m", "w", "w", "w"])).tolist() == [0.0, 2.0]


def test_alignment_by_hand() -> None:
    # Pairs of a class with a woman in them: (10, 11), (10, 2.5), (11, 2.5); without: (0, 1).
    within = measures.intra_class_alignment.by_group(CLASSES, LINE, sensitive_features=SEX)
    assert within["w"] == pytest.approx((1 + 7.5**2 + 8.5**2) / 3)
    assert within["m"] == pytest.approx((1 + 1 + 7.5**2) / 3)
    across = measures.inter_class_alignment.by_group(CLASSES, LINE, sensitive_features=SEX)
    assert across["w"] == pytest.approx((11**2 + 10**2 + 2.5**2 + 1.5**2) / 4)
    # To the letter of X x X each of the five is also paired with itself, at distance 0.
    tally = embed(LINE, CLASSES).overall
    letter = measures.intra_class_alignment.from_counts(tally, variant="literal")
    assert letter == pytest.approx(2 * (1 + 1 + 7.5**2 + 8.5**2) / (2 * 4 + 5))


def test_rows_of_no_group_are_still_in_pairs_with_the_others() -> None:
    missing = ["m", "m", None, "w", "w"]
    within = measures.intra_class_alignment.by_group(CLASSES, LINE, sensitive_features=missing)
    assert within["w"] == pytest.approx((1 + 7.5**2 + 8.5**2) / 3)
    assert within["m"] == pytest.approx(1.0)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), shift=st.sampled_from([0.0, 1e5]), cosine=st.booleans())
def test_alignment_is_that_of_all_pairs_formed(seed: int, shift: float, cosine: bool) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(4, 40))
    points = generator.normal(size=(n, 3)) + shift
    classes, groups = generator.integers(0, 4, n), np.r_[0, 1, generator.integers(0, 3, n - 2)]
    seen = points / np.linalg.norm(points, axis=1, keepdims=True) if cosine else points
    apart = ((seen[:, None] - seen[None]) ** 2).sum(axis=-1)
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    for same, name in ((True, "intra_class_alignment"), (False, "inter_class_alignment")):
        found = get_measure(name).by_group(
            classes, points, sensitive_features=groups, metric="cosine" if cosine else "euclidean"
        )
        for group, value in found.items():
            mine = groups == int(group)
            pairs = upper & (mine[:, None] | mine[None]) & ((classes[:, None] == classes[None]) == same)
            expected = apart[pairs].mean() if pairs.any() else math.nan
            assert value == pytest.approx(expected, rel=1e-6, abs=1e-12 + 1e-10 * cosine, nan_ok=True)


def test_uniformity_is_0_for_directions_used_alike_and_grows_with_a_preferred_one() -> None:
    axes = np.vstack([np.eye(4), -np.eye(4)])
    assert measures.U_KL([0, 1] * 4, axes) == pytest.approx(0.0, abs=1e-12)
    stretched = axes * [8.0, 1.0, 1.0, 1.0]
    shares = np.array([8, 1, 1, 1]) / 11
    assert measures.U_KL([0, 1] * 4, stretched) == pytest.approx(-(np.log(shares * 4) / 4).sum())
    assert math.isnan(measures.U_KL([0, 1] * 4, axes * [1.0, 1.0, 1.0, 0.0]))
    # Rounding to float32 hides a missing direction behind tiny singular values: they are no rank.
    flat = np.random.default_rng(0).normal(size=(500, 3)) @ np.random.default_rng(1).normal(size=(3, 4))
    assert math.isnan(measures.U_KL([0, 1] * 250, flat.astype(np.float32)))


def test_groups_are_compared_at_the_size_of_the_smallest() -> None:
    generator = np.random.default_rng(0)
    points, classes = generator.normal(size=(420, 10)), np.arange(420) % 7
    groups = np.array(["large"] * 400 + ["small"] * 20)
    values = measures.uniformity.by_group(classes, points, sensitive_features=groups)
    # Drawn from one distribution they are close; at their own sizes 20 rows would seem far less uniform than 400.
    assert abs(values["large"] - values["small"]) < 0.1
    assert measures.uniformity(classes[:400], points[:400]) < values["large"] / 4


def test_rbf_uniformity_by_hand_and_without_underflow() -> None:
    assert measures.rbf_uniformity([0, 1, 0], [[0.0], [1.0], [2.0]]) == pytest.approx(
        math.log((2 * math.exp(-2) + math.exp(-8)) / 3)
    )
    assert measures.rbf_uniformity([0, 1], [[0.0], [1000.0]]) == pytest.approx(-2e6)


@settings(deadline=None, max_examples=40)
@given(rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=60))
def test_mutual_information_is_that_of_scikit_learn(rows: list[tuple[int, int]]) -> None:
    classes, clusters = (np.array(column) for column in zip(*rows, strict=True))
    table = contingency(classes, clusters)
    if table.mean_entropy > 0:
        assert normalised_mutual(table) == pytest.approx(normalized_mutual_info_score(classes, clusters), abs=1e-9)
    ours = adjusted_mutual(table) if table.mean_entropy > 0 else math.nan
    if not math.isnan(ours):
        assert ours == pytest.approx(adjusted_mutual_info_score(classes, clusters), abs=1e-7)


@pytest.mark.parametrize(("people", "level"), [(3, 0.79), (30, 0.38)])
def test_chance_alone_is_as_high_as_the_documentation_says_and_as_shuffled_labels_are(
    people: int, level: float
) -> None:
    sizes = np.full(200, float(people))
    expected = expected_mutual_information(sizes, sizes) / math.log(200)
    assert round(expected, 2) == level
    generator, classes = np.random.default_rng(0), np.repeat(np.arange(200), people)
    dealt = [normalized_mutual_info_score(classes, generator.permutation(classes)) for _ in range(10)]
    assert np.mean(dealt) == pytest.approx(expected, abs=0.01)


def test_a_group_of_one_class_has_no_mutual_information() -> None:
    groups = ["m", "m", "w", "w", "w"]
    found = measures.NMI.by_group(CLASSES, LINE, sensitive_features=groups)
    assert math.isnan(found["m"]) == math.isnan(found["w"]) is True
    record = measures.normalised_mutual_information_gap.record(CLASSES, LINE, sensitive_features=groups)
    assert not record.defined
    assert "one class only" in (record.reason or "")


def worse_women(better: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Women (the fewer) are spread widely around the centres of their classes, men closely; all directions alike."""
    generator = np.random.default_rng(0)
    classes = np.arange(600) % 6
    women = generator.random(600) < 0.3
    points = (
        3 * generator.normal(size=(6, 4))[classes] + generator.normal(size=(600, 4)) * np.where(women, 3, 1)[:, None]
    )
    return classes, points, np.where(women, "w", "m")


@pytest.mark.parametrize(
    "name",
    ["recall_at_k", "mean_average_precision_at_r", "intra_class_alignment", "normalised_mutual_information"],
)
def test_a_positive_gap_means_that_the_minoritised_are_worse_off(name: str) -> None:
    classes, points, sex = worse_women(name)
    gap = get_measure(f"{name}_gap")
    values = get_measure(name).by_group(classes, points, sensitive_features=sex)
    oriented = gap(classes, points, sensitive_features=sex)
    assert oriented > 0.05
    # The paper's sign is majoritised minus minoritised, whatever is better.
    assert gap(classes, points, sensitive_features=sex, variant="paper_sign") == pytest.approx(
        values["m"] - values["w"]
    )
    assert gap(classes, points, sensitive_features=sex, majoritised="w") == pytest.approx(-oriented)
    assert gap(classes, points, sensitive_features=sex, minoritised=["w"]) == pytest.approx(oriented)
    for rule in ("best_minus_worst", "each_against_worst", "halves"):
        assert gap(classes, points, sensitive_features=sex, variant=rule) == pytest.approx(abs(oriented))


@pytest.mark.parametrize("name", GAPS)
def test_every_gap_has_every_rule_and_turns_with_its_value(name: str) -> None:
    gap = get_measure(name)
    assert {"paper", *gap.variants} == set(GAP_VARIANTS)
    classes, points, sex = worse_women(name)
    signs = [gap(classes, points, sensitive_features=sex, variant=variant) for variant in ("paper", "paper_sign")]
    turned = get_measure(gap.of or "").better == "low"
    assert signs[1] == pytest.approx(-signs[0] if turned else signs[0])


def test_no_largest_group_is_told_and_naming_one_helps() -> None:
    groups = ["a", "a", "b", "b"]
    points, classes = np.arange(8.0).reshape(4, 2), [0, 0, 0, 0]
    record = measures.intra_class_alignment_gap.record(classes, points, sensitive_features=groups)
    assert "majoritised=" in (record.reason or "")
    assert measures.intra_class_alignment_gap(classes, points, sensitive_features=groups, majoritised="a") == 0.0


@pytest.mark.parametrize("name", ["recall_at_k", "mean_average_precision_at_r", "normalised_mutual_information"])
def test_the_cosine_is_the_distance_of_unit_points(name: str) -> None:
    classes, points, _ = worse_women(name)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    measure = get_measure(name)
    assert measure(classes, points * 7, metric="cosine") == pytest.approx(measure(classes, unit))


def test_tensors_and_half_precision_are_welcome() -> None:
    torch = pytest.importorskip("torch")
    classes, points, sex = worse_women("")
    whole = measures.recall_at_k(classes, points.astype(np.float32), sensitive_features=sex)
    tensor = torch.from_numpy(points.astype(np.float32)).requires_grad_()
    assert measures.recall_at_k(classes, tensor, sensitive_features=sex) == whole
    assert measures.recall_at_k(classes, points.astype(np.float16)) == pytest.approx(whole, abs=0.02)


def test_weights_a_favourable_class_and_options_of_other_measures_are_refused() -> None:
    with pytest.raises(BadInput, match="takes no weights"):
        measures.recall_at_k(CLASSES, LINE, sample_weight=[1] * 5)
    with pytest.raises(BadInput, match="takes no favourable class"):
        measures.recall_at_k(CLASSES, LINE, favourable="x")
    with pytest.raises(BadInput, match="Unknown argument 'k'"):
        measures.accuracy([1, 0], [1, 0], k=3)
    with pytest.raises(BadInput, match="only one group"):
        measures.recall_at_k_gap(CLASSES, LINE, sensitive_features=["a"] * 5)
