"""Rows that cannot be used: refused, or left out of every file and counted; and labels for points without ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import equipoise
from equipoise import BadInput
from helpers.running import Program

ROWS = 120
DRAW = np.random.default_rng(3)
PEOPLE = pd.DataFrame(
    {
        "person": [f"p{number}" for number in range(ROWS)],
        "sex": DRAW.choice(["Female", "Male"], ROWS),
        "said": DRAW.integers(0, 2, ROWS),
    }
)
BEFORE = DRAW.normal(size=(ROWS, 5))
AFTER = BEFORE + 0.3 * DRAW.normal(size=BEFORE.shape)
RERUN = AFTER + 0.1 * DRAW.normal(size=BEFORE.shape)
ASK: dict[str, Any] = {"sensitive_features": "sex", "draws": 50}


def with_holes(points: Any, *rows: int, value: float = np.nan) -> Any:
    made = points.copy()
    made[list(rows), 1] = value
    return made


def dropped(result: Any) -> Any:
    return result.provenance["options"]["dropped"]


def same_numbers(one: Any, other: Any) -> None:
    assert one.records == other.records
    assert one.similarity == other.similarity
    assert (one.outcomes, one.floor) == (other.outcomes, other.floor)


def test_rows_with_missing_points_on_either_side_are_left_out_of_both_and_counted() -> None:
    before, after = with_holes(BEFORE, 0, 7), with_holes(AFTER, 7, 9, 30, value=np.inf)
    rerun = with_holes(RERUN, 50)
    more = {"prediction_before": "said", "prediction_after": "said", **ASK}
    result = equipoise.compare(before, after, rows=PEOPLE, rerun=rerun, drop=True, show_rows=True, **more)
    keep = np.setdiff1d(np.arange(ROWS), [0, 7, 9, 30, 50])
    clean = equipoise.compare(
        BEFORE[keep], AFTER[keep], rows=PEOPLE.iloc[keep], rerun=RERUN[keep], show_rows=True, **more
    )
    same_numbers(result, clean)
    assert dropped(result) == {
        "remaining": 115,
        "not_finite_before": 2,
        "not_finite_after": 3,
        "not_finite_rerun": 1,
    }
    [note] = [note for note in result.notes if "--drop" in note]
    assert "115 rows remain: points that are not finite (before: 2, after: 3, rerun: 1)." in note
    assert [row.row for row in result.rows] == [int(keep[row.row]) for row in clean.rows]  # as they lie in the file
    as_arrays = equipoise.compare(before, after, sensitive_features={"sex": PEOPLE["sex"]}, drop=True, draws=50)
    assert as_arrays.similarity.rows == 116


def saved(folder: Path, holes: tuple[int, ...] = ()) -> tuple[Path, Path, Path]:
    """Points and people with ids in different orders; each file lacks some that the others have."""
    ids = PEOPLE["person"].to_numpy(dtype=str)
    order = np.random.default_rng(5).permutation(ROWS)
    first, second = np.arange(2, ROWS), order[order != 10]
    np.savez(folder / "before.npz", z=with_holes(BEFORE, *holes)[first], person=ids[first])
    np.savez(folder / "after.npz", z=AFTER[second], person=ids[second])
    PEOPLE[::-1].query("person not in ['p20', 'p21', 'p22']").to_csv(folder / "people.csv", index=False)
    return folder / "before.npz", folder / "after.npz", folder / "people.csv"


def test_ids_without_a_partner_are_left_out_of_every_file_and_counted(tmp_path: Path) -> None:
    before, after, people = saved(tmp_path, holes=(40,))
    with pytest.raises(BadInput, match=r"1 number of 'z' of before\.npz is not finite") as refusal:
        equipoise.compare(before, after, rows=people, id="person", **ASK)
    assert "--drop" in str(refusal.value)
    result = equipoise.compare(before, after, rows=people, id="person", drop=True, show_rows=True, **ASK)
    keep = np.setdiff1d(np.arange(ROWS), [0, 1, 10, 20, 21, 22, 40])
    same_numbers(result, equipoise.compare(BEFORE[keep], AFTER[keep], rows=PEOPLE.iloc[keep], **ASK))
    assert dropped(result) == {
        "remaining": 113,
        "not_finite_before": 1,
        "not_finite_after": 0,
        "unmatched_before": 4,
        "unmatched_after": 5,
        "unmatched_rows": 3,
    }
    assert any("ids that are not in every other file (before: 4, after: 5, rows: 3)" in note for note in result.notes)
    for row in result.rows:
        assert row.id == f"p{row.row + 2}"
        assert row.groups == (PEOPLE["sex"][row.row + 2],)


def test_the_refusal_of_ids_without_a_partner_names_the_option_that_drops_them(
    equipoise: Program, tmp_path: Path
) -> None:
    before, after, people = saved(tmp_path)
    ask = ("compare", before, after, "--rows", people, "--group", "sex", "--id", "person", "--draws", "20")
    ended = equipoise(*ask)
    assert ended.code == 2
    assert "--drop" in ended.err
    ended = equipoise(*ask, "--drop", "--json", tmp_path / "out.json")
    assert ended.code == 0, ended.err
    assert "114 rows remain" in " ".join(ended.out.split())
    assert json.loads((tmp_path / "out.json").read_text())["provenance"]["options"]["dropped"]["remaining"] == 114


def test_nothing_dropped_says_nothing_and_too_little_left_is_refused() -> None:
    result = equipoise.compare(BEFORE, AFTER, rows=PEOPLE, drop=True, **ASK)
    assert dropped(result)["remaining"] == ROWS
    assert not any("--drop" in note for note in result.notes)
    assert dropped(equipoise.compare(BEFORE, AFTER, rows=PEOPLE, **ASK)) is None
    with pytest.raises(BadInput, match=r"1 row remains.*before: 119"):
        equipoise.compare(with_holes(BEFORE, *range(1, ROWS)), AFTER, rows=PEOPLE, drop=True, **ASK)
    women = np.flatnonzero(PEOPLE["sex"] == "Female").tolist()
    with pytest.raises(BadInput, match=r"one group only: 'Male' \(in the rows that --drop left\)"):
        equipoise.compare(with_holes(BEFORE, *women), AFTER, rows=PEOPLE, drop=True, **ASK)
    with pytest.raises(BadInput, match="numbers of rows differ"):
        equipoise.compare(BEFORE, AFTER[1:], rows=PEOPLE, drop=True, **ASK)


def test_an_audit_of_an_embedding_drops_the_same_rows(tmp_path: Path) -> None:
    ask = {"target": "said", "draws": 20, "map": "none", "sensitive_features": "sex"}
    keep = np.setdiff1d(np.arange(ROWS), [4, 8])
    with pytest.raises(BadInput, match="--drop"):
        equipoise.audit_embedding(with_holes(BEFORE, 4, 8), rows=PEOPLE, **ask)
    result = equipoise.audit_embedding(with_holes(BEFORE, 4, 8), rows=PEOPLE, drop=True, **ask)
    assert result.to_dict() == equipoise.audit_embedding(BEFORE[keep], rows=PEOPLE.iloc[keep], **ask).to_dict()
    assert any("118 rows remain: points that are not finite (points: 2)" in note for note in result.notes)
    before, _, people = saved(tmp_path)
    result = equipoise.audit_embedding(before, embedding="z", rows=people, id="person", drop=True, **ask)
    assert dropped(result) == {"remaining": 115, "not_finite_points": 0, "unmatched_points": 3, "unmatched_rows": 2}


def test_rows_of_points_without_ids_are_listed_by_a_column_of_the_table(equipoise: Program, tmp_path: Path) -> None:
    np.save(tmp_path / "before.npy", with_holes(BEFORE, 0))
    np.save(tmp_path / "after.npy", AFTER)
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    files = (tmp_path / "before.npy", tmp_path / "after.npy", "--rows", tmp_path / "people.csv")
    ask = (
        "compare",
        *files,
        "--group",
        "sex",
        "--draws",
        "0",
        "--id",
        "person",
        "--drop",
        "--json",
        tmp_path / "o.json",
    )
    ended = equipoise(*ask)
    assert ended.code == 2  # nothing is listed, so an id can only be meant to match rows
    assert "before.npy has no ids" in ended.err
    ended = equipoise(*ask, "--show-rows")
    assert ended.code == 0, ended.err
    said = json.loads((tmp_path / "o.json").read_text())
    assert said["rows"]
    assert all(row["id"] == f"p{row['row']}" for row in said["rows"])
    assert said["rows"][0]["id"] in ended.out
    assert "'person' of people.csv only labels the rows that are listed" in " ".join(ended.out.split())


def test_labels_need_as_many_rows_and_do_not_stand_in_for_ids_that_some_points_have(tmp_path: Path) -> None:
    listed = {"id": "person", "show_rows": True, **ASK}
    with pytest.raises(BadInput, match="numbers of rows differ"):
        equipoise.compare(BEFORE, AFTER, rows=PEOPLE[1:], **listed)
    _, after, _ = saved(tmp_path)
    np.save(tmp_path / "before.npy", BEFORE)
    with pytest.raises(BadInput, match=r"before\.npy has no ids"):
        equipoise.compare(tmp_path / "before.npy", after, rows=PEOPLE, **listed)
