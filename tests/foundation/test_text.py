"""Names from files cannot drive a terminal, and errors help."""

from __future__ import annotations

import pytest

from equipoise.foundation.errors import BadInput, MissingExtra, listing, nearest
from equipoise.foundation.imports import require
from equipoise.foundation.text import printable


def test_control_and_direction_characters_are_shown_as_codes() -> None:
    assert printable("a\x1b[31mb\u202ec\n") == "a\\u001b[31mb\\u202ec\n"
    assert printable("Zoë, 数, العربية") == "Zoë, 数, العربية"


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert nearest("INCOME", ["income", "sex"]) == "income"
    assert nearest("incme", ["sex", "income"]) == "income"
    assert nearest("zzz", ["sex", "income"]) is None


def test_a_long_list_stays_short() -> None:
    assert listing(range(100), 3) == "0, 1, 2 and 97 more"
    assert listing(["a"]) == "a"


def test_an_error_says_what_was_given_what_is_allowed_and_the_way_out() -> None:
    error = BadInput("The colour is blue.", allowed="red, green", way_out="paint it.")
    assert str(error) == "The colour is blue.\n  Allowed: red, green\n  Way out: paint it."


def test_a_missing_extra_names_its_install_line() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'equipoise\[search\]'"):
        require("a_module_that_is_not_there", extra="search", purpose="Searching")
    assert require("json", extra="search", purpose="Searching").loads("1") == 1
