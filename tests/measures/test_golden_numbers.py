"""Numbers that the papers print, and what is documented of their authors' code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import measures
from equipoise.measures import optimum_distance
from equipoise.tallies import (
    Confusion,
    confusion,
)

# Paper 004, Table 3: 400 people; of each group a hundred do sport and a hundred cook.
WORKED_EXAMPLE = {
    ("Female", "Sport", "Sport"): 80,
    ("Female", "Sport", "Cook"): 20,
    ("Female", "Cook", "Sport"): 10,
    ("Female", "Cook", "Cook"): 90,
    ("Male", "Sport", "Sport"): 60,
    ("Male", "Sport", "Cook"): 40,
    ("Male", "Cook", "Sport"): 70,
    ("Male", "Cook", "Cook"): 30,
}
PER_CENT = {"DP": 20.0, "DI": 33.6, "SPSF": 10.0, "FPSF": 20.0, "EOFP": 40.0, "EOTP": 40.0, "BA": 10.1}

# Paper 001: performance, fairness and their distance to the optimum, in per cent.
TABLE_3 = {
    "Vanilla": (72.49, 60.79, 47.90),
    "DS": (75.92, 86.88, 27.43),
    "RW": (75.96, 86.18, 27.73),
    "INLP": (73.18, 82.04, 32.28),
    "ADV": (75.12, 90.40, 26.67),
    "DADV": (75.65, 89.94, 26.34),
    "FairBatch": (74.96, 90.49, 26.79),
    "EO_CLA": (75.09, 90.70, 26.59),
    "EO_GLB": (75.60, 89.83, 26.43),
}
TABLE_1 = {
    "Vanilla": (63.38, 85.18, 39.50),
    "RW": (63.69, 84.73, 39.39),
    "INLP": (70.46, 88.54, 31.68),
    "ADV": (69.41, 85.81, 33.72),
    "DADV": (69.02, 85.66, 34.14),
    "FairBatch": (68.25, 85.18, 35.04),
    "EO_CLA": (65.88, 85.05, 37.25),
    "EO_GLB": (65.37, 85.03, 37.73),
}


def people() -> dict[str, list[str]]:
    rows = [cell for cell, number in WORKED_EXAMPLE.items() for _ in range(number)]
    sex, activity, predicted = (list(column) for column in zip(*rows, strict=True))
    return {"sex": sex, "activity": activity, "predicted": predicted}


@pytest.mark.filterwarnings("ignore:.* is the mean over the classes")
@pytest.mark.parametrize(("alias", "per_cent"), PER_CENT.items())
def test_the_worked_example_of_paper_004_gives_its_seven_numbers(alias: str, per_cent: float) -> None:
    rows = people()
    measure = getattr(measures, alias)
    value = measure(rows["activity"], rows["predicted"], sensitive_features=rows["sex"])
    assert round(100 * value, 1) == per_cent


def test_the_worked_example_gives_the_same_seven_numbers_through_the_public_audit() -> None:
    result = equipoise.audit(people(), target="activity", prediction="predicted", sensitive_features=["sex"])
    for alias, per_cent in PER_CENT.items():
        (record,) = result.find(alias, scope="overall", attribute=("sex",))
        assert round(100 * record.value, 1) == per_cent
        assert (record.variant, record.kind, record.status) == ("paper", "gap", "ok")
        assert result.value(alias, attribute="sex") == record.value
    assert result.card.rows == 400


def test_a_declared_favourable_class_leaves_the_overall_numbers_of_the_worked_example_as_they_are() -> None:
    result = equipoise.audit(
        people(), target="activity", prediction="predicted", favourable="Sport", sensitive_features="sex"
    )
    for alias, per_cent in PER_CENT.items():
        assert round(100 * result.value(alias, attribute="sex", scope="overall"), 1) == per_cent
    # What the paper's text says of the class Sport alone.
    for alias, per_cent in {"DP": 20.0, "SPSF": 10.0, "EOTP": 20.0, "EOFP": 60.0, "BA": 9.1}.items():
        assert round(100 * result.value(alias, attribute="sex"), 1) == per_cent
    (cook,) = result.find("BA", scope="class", class_="Cook")
    assert round(100 * cook.value, 1) == 11.1
    (impact,) = result.find("impact_ratio", scope="favourable", kind="ratio")
    (disparity,) = result.find("DI", scope="favourable")
    assert impact.value == pytest.approx(45 / 65)
    assert disparity.value == pytest.approx(1 - 45 / 65)


@pytest.mark.filterwarnings("ignore:.* is the mean over the classes")
def test_the_authors_false_positive_subgroup_fairness_of_the_worked_example_is_half_the_papers() -> None:
    rows = people()
    value = measures.FPSF(rows["activity"], rows["predicted"], sensitive_features=rows["sex"], variant="authors")
    assert round(100 * value, 1) == 10.0
    result = equipoise.audit(
        people(), target="activity", prediction="predicted", sensitive_features=["sex"], variant="authors"
    )
    (record,) = result.find("FPSF", scope="overall")
    assert (record.variant, round(100 * record.value, 1)) == ("authors", 10.0)
    # A measure whose authors' code is the formula says so.
    (parity,) = result.find("DP", scope="overall")
    assert (parity.variant, round(100 * parity.value, 1)) == ("paper", 20.0)


@pytest.mark.parametrize("row", [*TABLE_3.values(), *TABLE_1.values()])
def test_every_row_of_paper_001s_tables_gives_its_distance_to_the_optimum(row: tuple[float, float, float]) -> None:
    performance, fairness, expected = row
    value = optimum_distance(np.array(performance / 100), np.array(fairness / 100))
    assert 100 * float(value) == pytest.approx(expected, abs=0.02)


def test_the_distance_to_the_optimum_is_that_of_accuracy_and_fairness() -> None:
    rows = people()
    columns = (rows["activity"], rows["predicted"])
    accuracy = measures.accuracy(*columns)
    fairness = measures.fairness(*columns, sensitive_features=rows["sex"])
    value = measures.DTO(*columns, sensitive_features=rows["sex"])
    assert accuracy == 260 / 400
    assert fairness == pytest.approx(1 - math.sqrt((0.2**2 + 0.6**2) / 2))
    assert value == pytest.approx(float(optimum_distance(np.array(accuracy), np.array(fairness))))


# Tables of counts [group][true class][predicted class].


def table(*groups: list[list[float]]) -> Confusion:
    return confusion(list(groups))


def test_the_gap_of_two_groups_is_the_root_mean_square_of_their_differences_of_true_positive_rates() -> None:
    counts = table([[8, 2, 0], [1, 4, 5], [0, 0, 4]], [[5, 5, 0], [0, 9, 1], [3, 0, 1]])
    rates = [[0.8, 0.4, 1.0], [0.5, 0.9, 0.25]]
    squares = [abs(first - second) ** 2 for first, second in zip(*rates, strict=True)]
    assert measures.GAP.from_counts(counts) == pytest.approx(math.sqrt(sum(squares) / 3))


def test_the_gap_leaves_out_a_class_that_a_group_does_not_have() -> None:
    counts = table([[8, 2, 0], [1, 9, 0], [0, 0, 0]], [[5, 5, 0], [0, 10, 0], [3, 0, 1]])
    assert measures.GAP.from_counts(counts) == pytest.approx(math.sqrt((0.3**2 + 0.1**2) / 2))


def test_more_groups_alike_do_not_widen_the_gap_of_the_paper_but_that_of_the_authors() -> None:
    low, high = [[5, 5], [0, 10]], [[10, 0], [0, 10]]
    paper = [measures.GAP.from_counts(table(*groups)) for groups in ((low, high), (low, low, high, high))]
    authors = [
        measures.GAP.from_counts(table(*groups), variant="authors") for groups in ((low, high), (low, low, high, high))
    ]
    assert paper[0] == pytest.approx(paper[1])
    assert authors[0] == pytest.approx(paper[0], abs=1e-5)
    assert authors[1] == pytest.approx(2 * authors[0], rel=1e-4)


def test_the_authors_give_half_a_true_positive_rate_to_a_class_that_a_group_does_not_have() -> None:
    # The first class is found in the one group that has it; in the other its rate counts as one half.
    counts = table([[10, 0], [0, 10]], [[0, 0], [0, 10]])
    value = measures.GAP.from_counts(counts, variant="authors")
    assert value == pytest.approx(math.sqrt(0.5**2 / 2), abs=1e-5)
    assert measures.GAP.from_counts(counts) == 0.0  # over the one class that both groups have


def test_a_class_that_nobody_is_predicted_is_fully_unfair_to_the_authors_and_undefined_here() -> None:
    counts = table([[5, 0], [5, 0]], [[5, 0], [5, 0]])
    assert measures.DI.by_class(counts).tolist() == pytest.approx([0.0, math.nan], nan_ok=True)
    assert measures.DI.by_class(counts, "authors").tolist() == [0.0, 1.0]
    assert measures.DI.from_counts(counts) == 0.0
    assert math.isnan(measures.DI.from_counts(counts, strict=True))
    assert measures.DI.from_counts(counts, variant="authors") == 0.5


@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_a_class_that_one_group_only_is_predicted_is_fully_unfair(variant: str) -> None:
    counts = table([[5, 0], [5, 0]], [[4, 1], [4, 1]])
    assert measures.DI.by_class(counts, variant)[1] == 1.0


@pytest.mark.parametrize(
    ("alias", "first", "second"),
    [
        ("EOFP", [[6, 4], [0, 10]], [[10, 0], [0, 10]]),
        ("EOTP", [[10, 0], [6, 4]], [[10, 0], [10, 0]]),
    ],
)
def test_the_authors_equalized_odds_are_0_where_the_second_groups_rate_is_0(
    alias: str, first: list[list[float]], second: list[list[float]]
) -> None:
    measure = getattr(measures, alias)
    assert measure.by_class(table(first, second))[1] == pytest.approx(0.4)
    assert measure.by_class(table(first, second), "authors")[1] == 0.0
    # The other way round it is not: the rate of the first group may be 0.
    assert measure.by_class(table(second, first), "authors")[1] == pytest.approx(0.4)


def test_the_authors_equalized_odds_know_two_groups_only() -> None:
    counts = table([[6, 4], [0, 10]], [[10, 0], [0, 10]], [[10, 0], [0, 10]])
    for alias in ("EOFP", "EOTP"):
        assert math.isnan(getattr(measures, alias).from_counts(counts, variant="authors"))


def test_the_authors_bias_amplification_skips_undefined_classes_and_ends_with_zeros() -> None:
    # The first class is never predicted, so the second's number moves to its place and a 0 enters the mean.
    counts = table([[0, 4, 2], [0, 6, 0], [0, 0, 8]], [[0, 2, 2], [0, 3, 1], [0, 1, 7]])
    paper = measures.BA.by_class(counts)
    authors = measures.BA.by_class(counts, "authors")
    assert math.isnan(paper[0])
    assert authors.tolist() == pytest.approx([paper[1], paper[2], 0.0])
    assert measures.BA.from_counts(counts, variant="authors") == pytest.approx((paper[1] + paper[2]) / 3)
    assert measures.BA.from_counts(counts) == pytest.approx((paper[1] + paper[2]) / 2)


def test_the_authors_bias_amplification_takes_the_last_group_with_anybody_of_the_class() -> None:
    counts = table([[6, 0], [4, 0]], [[1, 2], [0, 3]], [[1, 0], [0, 0]])
    true_share, said_share = np.array([6, 3, 1]) / 10, np.array([10, 1, 1]) / 12
    assert measures.BA.by_class(counts)[0] == pytest.approx(said_share[0] - true_share[0])
    assert measures.BA.by_class(counts, "authors")[0] == pytest.approx(abs(said_share[2] - true_share[2]))


def test_of_tied_groups_bias_amplification_takes_the_largest_deviation() -> None:
    # Three groups have a third each of the class; of its predictions they have 1/8, 2/8 and 5/8.
    counts = table([[1, 3], [0, 4]], [[2, 2], [0, 4]], [[4, 0], [1, 3]])
    assert measures.BA.by_class(counts)[0] == pytest.approx(5 / 8 - 1 / 3)


def test_subgroup_measures_weight_by_the_share_of_each_group() -> None:
    # 10 people with a rate of 0.8, 30 with a rate of 0.4: everyone has 0.5.
    counts = table([[0, 0], [2, 8]], [[0, 0], [18, 12]])
    assert measures.SPSF.by_class(counts)[1] == pytest.approx(0.25 * 0.3 + 0.75 * 0.1)


def test_the_authors_weigh_false_positive_subgroup_fairness_by_negatives() -> None:
    # False positive rates 0.5 of 10 and 0.25 of 20 negatives, 1/3 over all; 10 and 40 people.
    counts = table([[5, 5], [0, 0]], [[15, 5], [10, 10]])
    distances = (1 / 2 - 1 / 3, 1 / 3 - 1 / 4)
    assert measures.FPSF.by_class(counts)[1] == pytest.approx((10 * distances[0] + 40 * distances[1]) / 50)
    assert measures.FPSF.by_class(counts, "authors")[1] == pytest.approx((10 * distances[0] + 20 * distances[1]) / 50)


@pytest.mark.parametrize("alias", ["SPSF", "EO", "PPV"])
def test_a_variant_that_a_measure_does_not_have_is_refused(alias: str) -> None:
    rows = people()
    given: dict[str, Any] = {"sensitive_features": rows["sex"], "variant": "authors"}
    with pytest.raises(equipoise.BadInput, match="has no variant 'authors'"):
        getattr(measures, alias)(rows["activity"], rows["predicted"], **given)
