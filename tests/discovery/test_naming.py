"""Blind naming sheets: nothing on them tells which direction is which, and the key does."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.discovery import key_path, read_key, strips_path, write_sheet
from equipoise.discovery._naming import COLUMNS, code_of, sheet_of
from equipoise.foundation import BadInput
from equipoise.reports import page
from helpers.cases.investigation import ALPHAS, constant, found, hostile, investigation, shown, undefined
from helpers.page_checks import Tree, check_alone


def test_a_sheet_has_a_line_a_strip_and_nothing_filled_in(tmp_path: Path) -> None:
    path = write_sheet(found(), tmp_path / "sheet.csv", seed=3)
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0] == list(COLUMNS)
    assert lines[1:] == [[code, "", "", ""] for code in "ABCDEFGH"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["sheet.csv", "sheet.key.json", "sheet.strips.html"]
    assert (key_path(path), strips_path(path)) == (tmp_path / "sheet.key.json", tmp_path / "sheet.strips.html")


def test_the_key_tells_every_direction_and_every_decoy(tmp_path: Path) -> None:
    path = write_sheet(found(), tmp_path / "sheet.csv")
    key = read_key(key_path(path))
    assert sorted(one.direction for one in key.values() if one.method == "search") == [
        "direction 1", "direction 2", "direction 3",
    ]  # fmt: skip
    assert {one.method for one in key.values()} == {"search", "axes", "pca", "hessian", "random", "random orthogonal"}
    (first,) = [one for one in key.values() if one.direction == "direction 1"]
    np.testing.assert_allclose(first.planes[0].normal, found().directions[0].judged.original.normal, atol=1e-6)
    assert json.loads(key_path(path).read_text(encoding="utf-8"))["schema"] == "equipoise.naming/1"


def test_the_order_comes_from_the_seed() -> None:
    def order(seed: int) -> list[str]:
        return [f"{one.method} {one.judged.name}" for _, one in sheet_of(found(), seed).lines]

    assert order(1) == order(1)
    orders = [order(seed) for seed in range(8)]
    assert len({tuple(order) for order in orders}) > 4
    assert len({order[0] for order in orders}) > 2, "no direction has its place"
    assert all(sorted(order) == sorted(orders[0]) for order in orders)


def test_the_strips_tell_nothing_that_a_rater_must_not_know() -> None:
    sheet = sheet_of(found())
    text = page(sheet)
    tree = Tree(text)
    check_alone(text, tree)
    told = tree.all("body")[0].words.lower()
    for secret in ("probability", "direction", "random", "axis", "axes", "pca", "hessian", "search", "smile", "found"):
        assert secret not in told, secret
    for element in tree.elements:
        for value in element.attributes.values():
            assert "direction" not in str(value)
            assert "probab" not in str(value)
    pictures = tree.all("img")
    assert len(pictures) == 8 * 3 * len(ALPHAS)
    assert all(picture.attributes["alt"] for picture in pictures)
    assert len(tree.all("caption")) == len(tree.all("table")) == 8
    assert not tree.all("script")
    inputs = [one.attributes["id"] for one in tree.all("input")]
    assert sorted(inputs) == sorted(str(one.attributes["for"]) for one in tree.all("label"))


def test_a_sheet_is_a_result_whose_json_is_the_key(tmp_path: Path) -> None:
    sheet = sheet_of(found(), 5)
    assert repr(sheet) == "Sheet(8 strips, seed 5)"
    write_sheet(found(), tmp_path / "sheet.csv", seed=5)
    assert json.loads(key_path(tmp_path / "sheet.csv").read_text(encoding="utf-8")) == sheet.as_json()
    assert json.loads(sheet.to_json()) == sheet.as_json()
    assert [record.code for record in sheet.records] == [code for code, _ in sheet.lines]
    assert len(sheet.to_csv().splitlines()) == 9
    assert sheet.charts() == {}
    assert "direction 1" not in str(sheet._repr_html_())


def test_hostile_names_reach_only_the_key(tmp_path: Path) -> None:
    path = write_sheet(hostile(), tmp_path / "sheet.csv")
    assert "script" not in path.read_text(encoding="utf-8")
    assert "injected" not in strips_path(path).read_text(encoding="utf-8")
    names = {one.direction for one in read_key(key_path(path)).values()}
    assert hostile().directions[0].judged.name in names


def test_a_search_among_the_methods_is_no_decoy() -> None:
    again = investigation(methods=(replace(found().directions[0]), *found().methods))
    for given in (again, found()):
        methods = [shown.method for _, shown in sheet_of(given).lines]
        assert len(methods) == 8
        assert sum(method != "search" for method in methods) == 5


def test_what_has_no_strips_is_not_named_and_nothing_at_all_is_refused(tmp_path: Path) -> None:
    assert len(sheet_of(undefined()).lines) == 5
    with pytest.raises(BadInput, match="no strip to name"):
        write_sheet(constant(), tmp_path / "sheet.csv")
    with pytest.raises(BadInput, match="another ending"):
        write_sheet(found(), tmp_path / "sheet.txt")
    assert list(tmp_path.iterdir()) == []


def test_codes_go_on_after_z() -> None:
    assert [code_of(place) for place in (0, 25, 26, 27, 51, 52, 701, 702)] == [
        "A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA",
    ]  # fmt: skip
    many = investigation(directions=tuple(shown(f"direction {n}", side=4, latents=1) for n in range(30)))
    assert len({code for code, _ in sheet_of(many).lines}) == 35
