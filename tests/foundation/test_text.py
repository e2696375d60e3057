"""Names from files cannot drive a terminal, and errors help."""

from __future__ import annotations

import pytest

from equipoise.foundation import (
    BadInput,
    MissingExtra,
    fitting,
    listing,
    nearest,
    nearest_file,
    plural,
    printable,
    require,
    unknown_name,
)


def test_control_and_direction_characters_are_shown_as_codes() -> None:
    assert printable("a\x1b[31mb\u202ec\n") == "a\\u001b[31mb\\u202ec\n"
    assert printable("Zoë, 数, العربية") == "Zoë, 数, العربية"


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert nearest("INCOME", ["income", "sex"]) == "income"
    assert nearest("incme", ["sex", "income"]) == "income"
    assert nearest("zzz", ["sex", "income"]) is None


@pytest.mark.parametrize(
    ("wanted", "known"),
    [("sxe", "sex"), ("rcae", "race"), ("DPP", "DP"), ("pred", "prediction"), ("sex", "sex_at_birth"),
     ("techniques", "technique"), ("lable", "label")],
)  # fmt: skip
def test_a_slip_of_a_finger_or_a_name_cut_short_is_mended(wanted: str, known: str) -> None:
    assert nearest(wanted, ["zip", known, "weekday"]) == known
    assert f"did you mean {known!r}?" in str(unknown_name("column", wanted, ["zip", known], "people.csv"))


@pytest.mark.parametrize(
    ("wanted", "known"),
    [("age", "race"), ("sex", "score"), ("income", "outcome"), ("gender", "sex"), ("treatment", "target"), ("z", "x"),
     ("before", "after"), ("ag", "agency of the state")],
)  # fmt: skip
def test_a_name_that_merely_shares_some_letters_is_not_suggested(wanted: str, known: str) -> None:
    assert nearest(wanted, [known]) is None
    assert "use one of those listed above" in str(unknown_name("column", wanted, [known], "people.csv"))


def test_the_nearest_file_is_not_the_one_that_merely_has_the_same_ending() -> None:
    assert nearest_file("before.npz", ["after.npz"]) is None
    assert nearest_file("peple.parquet", ["points.parquet", "people.parquet"]) == "people.parquet"
    assert nearest_file("people.csv", ["people.parquet"]) == "people.parquet"
    assert nearest_file("people.cvs", ["people.parquet", "people.csv"]) == "people.csv"
    assert nearest_file("a.csv", []) is None


def test_a_long_list_stays_short() -> None:
    assert listing(range(100), 3) == "0, 1, 2 and 97 more"
    assert listing(["a"]) == "a"


def test_an_error_says_what_was_given_what_is_available_and_help() -> None:
    error = BadInput("The colour is blue.", available="red, green", help="paint it.")
    assert str(error) == "The colour is blue\n  available: red, green\nhelp: paint it."


def test_a_missing_extra_names_its_install_line() -> None:
    with pytest.raises(MissingExtra, match=r"help: pip install -c .*constraints\.txt'? -e '.*\[search\]'"):
        require("a_module_that_is_not_there", extra="search", purpose="Searching")
    assert require("json", extra="search", purpose="Searching").loads("1") == 1


def test_one_thing_is_not_several() -> None:
    assert [plural(number, "id") for number in (0, 1, 2, 1_000)] == ["0 ids", "1 id", "2 ids", "1,000 ids"]
    assert [plural(number, "class", "classes") for number in (1, 2)] == ["1 class", "2 classes"]
    assert [fitting(number, "is", "are") for number in (0, 1, 2)] == ["are", "is", "are"]


@pytest.mark.parametrize(
    ("wanted", "known", "guess"),
    [
        ("001", ["004"], None),  # a number is no slip of a finger
        ("x3", ["x1", "x2"], None),
        ("sxe", ["sex", "race"], "sex"),
        ("cat", ["car", "cap"], None),  # as near to one as to the other
        ("incme", ["age", "income"], "income"),
        ("pred", ["prediction", "target"], "prediction"),
    ],
)
def test_a_name_is_suggested_where_it_is_better_than_the_others(
    wanted: str, known: list[str], guess: str | None
) -> None:
    assert nearest(wanted, known) == guess


def test_an_unknown_name_has_the_shape_of_every_error() -> None:
    error = unknown_name("column", "incme", ["age", "income"], "people.csv")
    assert str(error) == (
        "column 'incme' not found in people.csv\n  available: age, income\nhelp: did you mean 'income'?"
    )
