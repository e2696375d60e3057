"""Many groups, many classes, many crossed columns: the same numbers, without tables that nobody can hold."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import equipoise
from equipoise.audits._records import measures_for
from equipoise.foundation import BadInput
from equipoise.stats import _resampling
from equipoise.tallies import (
    ClassTotals,
    Confusion,
)

pytestmark = pytest.mark.once


def people(rows: int = 2_000, values: int = 3, classes: int = 2, columns: str = "abc", seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    target = generator.integers(0, classes, rows)
    prediction = np.where(generator.random(rows) < 0.7, target, generator.integers(0, classes, rows))
    groups = {name: [f"{name}{value}" for value in generator.integers(0, values, rows)] for name in columns}
    return pd.DataFrame({"y": target, "p": prediction, "w": generator.lognormal(size=rows), **groups})


def test_intersections_in_pairs_cross_the_columns_two_at_a_time() -> None:
    given = {"target": "y", "prediction": "p", "favourable": 1, "sensitive_features": ["a", "b", "c"], "draws": 0}
    result = equipoise.audit(people(), intersections="pairs", **given)
    attributes = {record.attribute for record in result.records}
    assert attributes == {(), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")}
    assert equipoise.audit(people(), intersections="all", **given).records == (
        equipoise.audit(people(), intersections=True, **given).records
    )
    with pytest.raises(BadInput, match="intersections is 'triples'"):
        equipoise.audit(people(), intersections="triples", **given)


def test_the_command_crosses_in_pairs(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    asked = ["--target", "y", "--prediction", "p", "--favourable", "1", "--draws", "0", "--csv", "out.csv", "--pairs"]
    groups = itertools.chain.from_iterable(("--group", name) for name in "abc")
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", "audit", "people.csv", *asked, *groups],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "out.csv").read_text()
    assert "a & b" in table
    assert "a & b & c" not in table


def test_too_many_crossed_groups_are_refused_with_the_ways_to_have_fewer() -> None:
    frame = people(rows=20_000, values=12, columns="abcd")
    given = {"target": "y", "prediction": "p", "favourable": 1, "sensitive_features": list("abcd"), "draws": 0}
    with pytest.raises(BadInput, match=r"a & b & c & d crossed make 1\d,\d{3} groups") as raised:
        equipoise.audit(frame, intersections=True, **given)
    assert "--pairs (intersections='pairs')" in str(raised.value)
    result = equipoise.audit(frame, intersections="pairs", **given)
    assert len({r.group for r in result.records if r.attribute == ("a", "b")} - {None}) == 144


@pytest.mark.long
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_group_against_the_rest_is_what_a_loop_over_rows_counts(weighted: bool) -> None:
    frame = people(values=40, columns="a")
    result = equipoise.audit(
        frame, target="y", prediction="p", favourable=1, sensitive_features="a", weight="w" if weighted else None,
        draws=20, least_people=0,
    )  # fmt: skip
    found = {r.group: r for r in result.records if r.kind == "contrast" and r.measure == "true_positive_rate"}
    weights = frame["w"] if weighted else pd.Series(1.0, index=frame.index)
    assert len(found) == 40
    for group, record in found.items():
        sides = []
        for rows in (frame["a"] == group, frame["a"] != group):
            members = rows & (frame["y"] == 1)
            sides.append((weights[members & (frame["p"] == 1)].sum(), weights[members].sum()))
        (hits, own), (other_hits, others) = sides
        assert record.value == pytest.approx(hits / own - other_hits / others)
        assert (record.numerator, record.denominator) == pytest.approx((hits, own))


def test_measures_read_the_same_from_totals_of_classes_as_from_the_whole_table() -> None:
    generator = np.random.default_rng(0)
    cells = generator.integers(0, 5, (2, 3, 7, 7)).astype(float)
    table = Confusion(cells, ("a", "b", "c"), tuple("tuvwxyz"))
    totals = ClassTotals.of(table.groups, table.classes, table.predicted, table.positives, table.true_positives)
    for measure in measures_for(("predictions", "counts")):
        if measure.kind in ("gap", "ratio"):
            assert measure.by_class(totals) == pytest.approx(measure.by_class(table), nan_ok=True), measure.name


@pytest.mark.long
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.once
def test_p_values_of_many_classes_agree_with_those_of_whole_tables(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(rows=1_500, classes=12, columns="a")
    given = {"target": "y", "prediction": "p", "sensitive_features": "a", "weight": "w" if weighted else None}

    def p_values() -> dict[tuple[str, str | None], float]:
        records = equipoise.audit(frame, draws=1_000, **given).records
        return {(r.measure, r.class_): r.p for r in records if r.kind in ("gap", "ratio") and r.p is not None}

    whole = p_values()
    monkeypatch.setattr(_resampling, "MOST_DENSE_CLASSES", 5)
    sparse = p_values()
    assert whole.keys() == sparse.keys()
    for key, p in whole.items():  # both stop at 20 extreme draws: five standard errors of their difference
        assert sparse[key] == pytest.approx(p, abs=5 * p * np.sqrt(2 * (1 - p) / 20) + 0.02), key


def test_too_many_groups_of_too_many_classes_are_refused() -> None:
    frame = people(rows=20_000, values=50, classes=990, columns="a")
    with pytest.raises(BadInput, match="classes make a table of"):
        equipoise.audit(frame, target="y", prediction="p", sensitive_features="a", draws=0)
