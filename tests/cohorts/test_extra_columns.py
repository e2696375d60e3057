"""Further columns are taken from a table of the same rows in the same order, and from no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.cohorts import (
    Cohort,
    columns_text,
    with_extra_columns,
    with_roles,
)
from equipoise.foundation import BadInput

PEOPLE = Cohort(
    "people",
    {
        "x": np.array([0.1, 1.0, -2.5e-7, 3.0]),
        "code": np.array(["007", "8", "=1+1", "+x"], dtype=object),
        "known": np.array([True, False, True, False]),
        "gone": np.array(["a", None, "", "b"], dtype=object),
        "y": np.array(["no", "yes", "no", "yes"]),
        "g": np.array(["u", "v", "u", "v"]),
        "picture": np.zeros((4, 2, 2, 3), dtype=np.uint8),
    },
    target="y",
    groups=("g",),
    features=("x",),
    favourable="yes",
)
SIDE = np.array(["lower", "upper", "upper", "lower"], dtype=object)


def written(folder: Path, text: str) -> Path:
    path = folder / "more.csv"
    path.write_bytes(text.encode())
    return path


def test_what_is_written_is_read_back_whatever_csv_does_to_values(tmp_path: Path) -> None:
    text = columns_text(PEOPLE, {"side": SIDE, "side distance": np.array([-0.5, 1.25, 1e-9, 4.0])})
    assert text.splitlines()[0] == "row,x,code,known,gone,y,g,side,side distance"
    made = with_extra_columns(PEOPLE, written(tmp_path, text))
    assert made["side"].tolist() == SIDE.tolist()
    assert made["side distance"].tolist() == [-0.5, 1.25, 1e-9, 4.0]
    assert list(made.columns) == [*PEOPLE.columns, "side", "side distance"]
    assert made["code"].tolist() == PEOPLE["code"].tolist()  # the cohort's own values stay as they are
    assert made.features == ("x",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("side\nlower\nupper\n", r"(?s)more.csv has 2 rows and the cohort 'people' has 4"),
        ("row,side\n0,a\n2,b\n1,a\n3,b\n", r"Row 1 of more.csv .* has 2 in the column 'row' and not 1"),
        ("y,side\nno,a\nyes,b\nyes,a\nno,b\n", r"Row 2 of more.csv .* has 'yes' in the column 'y' and not 'no'"),
        ("x,side\n0.1,a\n1,b\n,a\n3,b\n", r"Row 2 of more.csv"),
        ("picture,side\n0,a\n1,b\n2,a\n3,b\n", "several numbers per row"),
        ("y,g\nno,u\nyes,v\nno,u\nyes,v\n", "has no column that the cohort 'people' does not have"),
    ],
)
def test_a_table_of_other_rows_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=words):
        with_extra_columns(PEOPLE, written(tmp_path, text))


def test_other_columns_may_play_the_parts() -> None:
    made = with_roles(PEOPLE, target="g", groups=["code"])
    assert (made.target, made.groups, made.favourable) == ("g", ("code",), None)
    assert with_roles(PEOPLE, groups=["known"]).favourable == "yes"
    assert with_roles(PEOPLE, target="g", groups=["y"], favourable="v").favourable == "v"
    two = replace(PEOPLE, groups=("g", "known"))
    assert with_roles(two, target="g").groups == ("known",)
    assert with_roles(two).groups == two.groups
    with pytest.raises(BadInput, match="did you mean 'code'"):
        with_roles(PEOPLE, groups=["cod"])
    with pytest.raises(BadInput, match="is a feature"):
        with_roles(PEOPLE, target="x")
    with pytest.raises(BadInput, match="has no group column"):
        with_roles(PEOPLE, target="g")
