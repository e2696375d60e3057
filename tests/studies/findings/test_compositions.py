"""What conditions made of the training rows, in words: few cells by name, many by how many have how many rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.studies.analysis import Composition
from equipoise.studies.findings._words import MANY, _clumps, composition_words


def of_classes(sizes: list[int], groups: int = 2, seed: int | None = None) -> Composition:
    """Return so many rows of each class, as even as can be over groups."""
    rows = tuple(tuple(size // groups + (place < size % groups) for place in range(groups)) for size in sizes)
    names = tuple(f"class {place}" for place in range(len(sizes)))
    return Composition(names, tuple(f"group {place}" for place in range(groups)), rows, seed)


def test_a_few_cells_are_named() -> None:
    first = Composition(("no", "yes"), ("F", "M"), ((700, 800), (90, 410)))
    other = Composition(("no", "yes"), ("F", "M"), ((500, 500), (500, 500)))
    assert composition_words("as given", first, first) == (
        "as given: 2,000 training rows, no / F 35.0%, no / M 40.0%, yes / F 4.5%, yes / M 20.5%"
    )
    assert composition_words("even", other, first) == (
        "even: 2,000 training rows, yes / F 25.0% instead of 4.5%, no / M 25.0% instead of 40.0%, "
        "no / F 25.0% instead of 35.0%, yes / M 25.0% instead of 20.5%"
    )
    assert composition_words("even", None, first) == ""


def test_of_many_classes_it_is_said_how_many_have_how_many_rows() -> None:
    first = of_classes([22] * 100 + [21] * 100)
    few = of_classes([3] * 20 + [4] * 30 + [28] * 150, seed=0)
    assert (
        composition_words("50-50", first, first) == "50-50: 4,300 training rows, each of 200 classes has 21 or 22 rows"
    )
    assert composition_words("90-10", few, first) == (
        "90-10: 4,380 training rows, 50 of 200 classes have 3 or 4 rows, 150 have 28 rows; of 200 classes the "
        "share is smaller than under the first condition for 50, larger for 150; "
        "changed most (with seed 0; another draws others): "
        "class 0 0.07% instead of 0.51%, class 1 0.07% instead of 0.51%, class 2 0.07% instead of 0.51%"
    )


def test_a_row_more_or_less_is_rounding() -> None:
    first = of_classes([10] * 40)
    assert composition_words("again", of_classes([10] * 40), first).endswith(
        "has 10 rows; as under the first condition"
    )
    one = of_classes([20, 11, 9] + [10] * 37)
    assert composition_words("one", one, first) == (
        "one: 410 training rows, 39 of 40 classes have 9 to 11 rows, 1 has 20 rows; of 40 classes the "
        "share is smaller than under the first condition for 1, larger for 1, the same for 38; changed most: "
        "class 0 4.9% instead of 2.5%, class 2 2.2% instead of 2.5%"
    )


def test_where_classes_keep_their_rows_the_groups_within_them_are_told() -> None:
    first = Composition(tuple(map(str, range(30))), ("F", "M"), ((10, 10),) * 30)
    other = Composition(first.classes, first.groups, ((20, 0),) * 15 + ((10, 10),) * 15)
    assert composition_words("apart", other, first) == (
        "apart: 600 training rows, 15 of 60 cells of class and group have none, 30 have 10 rows, 15 have 20 rows; of "
        "60 cells of class and group the share is smaller than under the first condition for 15, larger for 15, the "
        "same for 30; changed most: 0 / F 3.3% instead of 1.7%, 0 / M 0.00% instead of 1.7%, "
        "1 / F 3.3% instead of 1.7%"
    )


def test_a_wide_range_has_its_middle_and_other_classes_are_not_compared() -> None:
    spread = of_classes(list(range(1, 61)))
    assert composition_words("spread", spread, of_classes([5] * 50)) == (
        "spread: 1,830 training rows, each of 60 classes has 1 to 60 rows, half of them at least 31"
    )


@given(st.lists(st.integers(0, 500), min_size=MANY + 1, max_size=80))
def test_every_class_is_in_one_clump(sizes: list[int]) -> None:
    clumps = _clumps(sorted(sizes))
    assert [size for clump in clumps for size in clump] == sorted(sizes)
    assert all(clump for clump in clumps)
    assert len(clumps) <= 6
    words = composition_words("any", of_classes(sizes), of_classes(sizes))
    assert f"{len(sizes)} classes" in words


@pytest.mark.parametrize("sizes", [[0] * 30, [1] * 30])
def test_rows_that_are_not_there_are_none(sizes: list[int]) -> None:
    own = of_classes(sizes)
    assert composition_words("any", own, own).endswith("has none" if not sizes[0] else "has 1 row")
