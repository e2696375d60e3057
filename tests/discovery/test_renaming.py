"""Names that reach a file: agreed ones, one each, and only for the directions they were given to."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.discovery import Hyperplane, agree, agreed_names, parse_names, renamed
from equipoise.discovery._naming import Coded, Named
from equipoise.foundation import BadInput

PLANES = tuple(Hyperplane(f"direction {index + 1}", row, 0.5) for index, row in enumerate(np.eye(4)[:3]))
KEY = {
    "B": Coded(
        "direction 1", "search", "found", (Hyperplane("key", [9, 1, 0, 0]), Hyperplane("key", [-1, 1e-3, 0, 0]))
    ),
    "A": Coded("direction 2", "search", "found", (PLANES[1],)),
    "C": Coded("random 1", "random", "nothing found", (PLANES[2],)),
}


def test_planes_keep_everything_but_their_names() -> None:
    made = renamed(PLANES, {"direction 2": "beard"})
    assert [one.name for one in made] == ["direction 1", "beard", "direction 3"]
    for one, other in zip(made, PLANES, strict=True):
        np.testing.assert_array_equal(one.normal, other.normal)
        assert one.offset == other.offset


def test_two_directions_never_have_one_name() -> None:
    same = dict.fromkeys(["direction 1", "direction 3"], "beard")
    assert [one.name for one in renamed(PLANES, same)] == ["beard", "direction 2", "beard (2)"]
    taken = renamed(PLANES, {"direction 1": "direction 2"})
    assert [one.name for one in taken] == ["direction 2 (2)", "direction 2", "direction 3"]
    swapped = renamed(PLANES, {"direction 1": "direction 2", "direction 2": "direction 1"})
    assert [one.name for one in swapped] == ["direction 2", "direction 1", "direction 3"]


def test_only_what_most_raters_say_of_a_searched_direction_is_taken() -> None:
    sheets = [
        {"A": Named("age"), "B": Named("beard"), "C": Named("hat")},
        {"A": Named("smile"), "B": Named("beards"), "C": Named("hat")},
        {"A": Named(""), "B": Named("hat"), "C": Named("hat")},
    ]
    assert agreed_names(PLANES, KEY, agree(KEY, sheets)) == {"direction 1": "beard"}


def test_a_direction_that_was_not_saved_needs_no_name() -> None:
    sheets = [{"A": Named("age"), "B": Named("beard")}]
    assert agreed_names(PLANES[1:], KEY, agree(KEY, sheets)) == {"direction 2": "age"}


def test_a_key_of_another_search_is_refused() -> None:
    found = agree(KEY, [{"A": Named("age")}])
    turned = [Hyperplane("direction 2", [1, 1, 0, 0])]
    with pytest.raises(BadInput, match="not the direction of that name in the file"):
        agreed_names(turned, KEY, found)
    with pytest.raises(BadInput, match="not the direction"):
        agreed_names([Hyperplane("direction 2", [0, 1])], KEY, found)
    with pytest.raises(BadInput, match="No direction of the key"):
        agreed_names([Hyperplane("tint", np.eye(4)[0])], KEY, found)


def test_one_person_can_name_a_direction() -> None:
    assert parse_names(PLANES, ["direction 1=  hair colour ", "direction 3=beard"]) == {
        "direction 1": "hair colour", "direction 3": "beard",
    }  # fmt: skip
    for bad in ("direction 1", "direction 1=", "direction 1=<>", "direction 1=" + "x" * 61):
        with pytest.raises(BadInput, match="The name"):
            parse_names(PLANES, [bad])
    with pytest.raises(BadInput, match="direction 'direction 9' not found"):
        parse_names(PLANES, ["direction 9=x"])
