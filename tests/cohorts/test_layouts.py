"""The same rows give the same audit, however they are laid out in files; what would lose rows or columns is refused."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.cohorts import _readers as readers
from equipoise.cohorts import open_table
from equipoise.foundation import BadInput

Rows = Sequence[Mapping[str, Any]]
PEOPLE: Rows = [
    {"y": place % 2, "p": (place // 3) % 2, "sex": "f" if place % 5 < 2 else "m", "row": place} for place in range(60)
]
NAMES = ("y", "p", "sex")


def write_csv(path: Path, rows: Rows, columns: Sequence[str], separator: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(columns)
        writer.writerows(["" if row[column] is None else row[column] for column in columns] for row in rows)
    return path


def records(data: object, **asked: Any) -> Any:
    asked = {"target": "y", "prediction": "p", "sensitive_features": ["sex"], "favourable": "1", "draws": 0, **asked}
    return told_by(equipoise.audit(data, **asked))


def told_by(result: Any) -> list[dict[str, Any]]:
    """Return the records of an audit as JSON has them, in which undefined equals undefined."""
    document = json.loads(result.to_json())
    assert document["records"]
    return document["records"]  # type: ignore[no-any-return]  # of a document


def expected() -> Any:
    return records(pd.DataFrame(PEOPLE))


def refused(path: Path) -> str:
    with pytest.raises(BadInput) as error:
        records(path)
    return str(error.value)


# One layout at a time -------------------------------------------------------------------------------------------------


def test_csv_shards_with_columns_in_another_order_are_joined_by_name(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", PEOPLE[:30], ["y", "p", "sex"])
    write_csv(tmp_path / "b.csv", PEOPLE[30:], ["p", "sex", "y"])
    assert records(tmp_path) == expected()


def test_a_csv_shard_with_a_further_column_adds_its_rows(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", PEOPLE[:30], ["y", "p", "sex"])
    write_csv(tmp_path / "b.csv", PEOPLE[30:], ["row", "y", "p", "sex"])
    assert records(tmp_path) == expected()


def test_codes_of_one_shard_keep_their_zeros_where_another_has_text(tmp_path: Path) -> None:
    half = [{**row, "sex": "007"} for row in PEOPLE[:30]], [{**row, "sex": "A1"} for row in PEOPLE[30:]]
    for name, rows in zip("ab", half, strict=True):
        write_csv(tmp_path / f"{name}.csv", rows, NAMES)
    assert records(tmp_path) == records(pd.DataFrame([*half[0], *half[1]]))


@pytest.mark.parametrize("folder", ["p=0", "run/y=1", "seed=0", "sex=f/p=1"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_the_name_of_a_folder_is_not_taken_for_a_column(tmp_path: Path, folder: str, ending: str) -> None:
    path = tmp_path / folder / f"people.{ending}"
    path.parent.mkdir(parents=True)
    if ending == "csv":
        write_csv(path, PEOPLE, NAMES)
    elif ending == "parquet":
        pl.DataFrame(PEOPLE).write_parquet(path)
    else:
        pl.DataFrame(PEOPLE).write_ndjson(path)
    assert records(path) == records(tmp_path) == expected()


def test_hidden_files_of_a_folder_are_not_counted(tmp_path: Path) -> None:
    write_csv(tmp_path / "people.csv", PEOPLE, NAMES)
    write_csv(tmp_path / ".ipynb_checkpoints" / "people-checkpoint.csv", PEOPLE, NAMES)
    write_csv(tmp_path / ".people.csv", PEOPLE, NAMES)
    write_csv(tmp_path / "_temporary" / "0" / "people.csv", PEOPLE, NAMES)
    assert records(tmp_path) == expected()


def test_a_folder_that_is_hidden_itself_can_still_be_named(tmp_path: Path) -> None:
    write_csv(tmp_path / ".data" / "people.csv", PEOPLE, NAMES)
    assert records(tmp_path / ".data") == expected()
    assert "begin with . or _" in refused(tmp_path)


def test_lines_before_the_header_that_are_no_rows_may_stay(tmp_path: Path) -> None:
    written = write_csv(tmp_path / "people.csv", PEOPLE, NAMES).read_text()
    for title in ("# made by hand, in June\n", "People of the town\n\n"):
        (tmp_path / "people.csv").write_text(title + written)
        assert records(tmp_path / "people.csv") == expected()


def test_rows_that_begin_with_a_hash_are_counted(tmp_path: Path) -> None:
    rows = [{**row, "id": f"#{index}" if index == 30 else str(index)} for index, row in enumerate(PEOPLE)]
    path = write_csv(tmp_path / "people.csv", rows, ["id", *NAMES])
    assert records(path) == expected()


def test_quotes_that_only_the_end_of_a_large_file_has_are_no_part_of_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "SMALL_CSV", 1)
    monkeypatch.setattr(readers, "SAMPLE", 2_048)
    path = write_csv(tmp_path / "people.csv", [*PEOPLE] * 400, NAMES)
    text = path.read_text()
    path.write_text(text[:-2] + text[-2:].replace("m", '"m"'))
    assert '"m"' in path.read_text()
    assert records(path) == records(pd.DataFrame([*PEOPLE] * 400))


@pytest.mark.long
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("late", ["0.6", "007", "-3.25", "12345678901234567890", "1e300"])
def test_values_of_another_kind_late_in_a_large_csv_are_read_as_in_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int, late: str
) -> None:
    rows = [{**row, "score": row["p"], "code": row["y"]} for row in [*PEOPLE] * 400]
    for index, row in enumerate(rows[-60:]):
        row["code"] = late if index % 2 else 7
        row["score"] = (0.25, 0.6, 0.75)[index % 3]
    for part in range(parts):
        some = rows[: len(rows) // 2] if parts == 2 and part == 0 else rows[len(rows) // 2 * (parts - 1) :]
        write_csv(tmp_path / f"{part}.csv", some, [*NAMES, "score", "code"][:: -1 if part else 1])
    asked: dict[str, Any] = {"score": "score", "sensitive_features": ["sex", "code"], "categorical": ["code"]}
    small = records(tmp_path, **asked)
    monkeypatch.setattr(readers, "SMALL_CSV", 0)
    monkeypatch.setattr(readers, "SAMPLE", 2_048)
    assert records(tmp_path, **asked) == small
    framed = pd.DataFrame(rows).astype({"code": str})
    scores = {"score": "score", "sensitive_features": ["sex"]}
    assert records(tmp_path, **scores) == records(framed, **scores)


def test_a_late_word_in_a_large_csv_is_shown_where_numbers_are_needed_and_harmless_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "SMALL_CSV", 0)
    monkeypatch.setattr(readers, "SAMPLE", 2_048)
    rows = [{**row, "score": "oops" if index == 20_000 else 0.5} for index, row in enumerate([*PEOPLE] * 400)]
    path = write_csv(tmp_path / "people.csv", rows, [*NAMES, "score"])
    with pytest.raises(BadInput, match=r"'score' must be numbers; it holds values such as 'oops'[\s\S]*--missing"):
        records(path, score="score")
    assert records(path) == records(pd.DataFrame(rows))
    assert records(path, score="score", missing="oops")


@pytest.mark.parametrize("small", [0, 64 * 1024 * 1024])
@pytest.mark.parametrize("parts", [1, 2])
def test_quotes_inside_quotes_may_be_marked_by_a_backslash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int, parts: int
) -> None:
    monkeypatch.setattr(readers, "SMALL_CSV", small)
    lines = [f'{row["y"]},"he said \\"hi, {row["row"]}\\"",{row["p"]},{row["sex"]}' for row in PEOPLE]
    for part in range(parts):
        (tmp_path / f"{part}.csv").write_text("\n".join(["y,said,p,sex", *lines[part::parts]]) + "\n")
    assert records(tmp_path) == expected()
    assert 'he said "hi, 0"' in {row[1] for row in open_table(tmp_path).to_native().fetchall()}  # type: ignore[union-attr]


@pytest.mark.parametrize("separator", [";", ","])
def test_the_line_that_tells_excel_the_separator_may_stay(tmp_path: Path, separator: str) -> None:
    path = write_csv(tmp_path / "people.csv", PEOPLE, NAMES, separator)
    path.write_text(f"sep={separator}\n" + path.read_text())
    assert records(path) == expected()


def test_a_title_with_a_comma_above_the_header_may_stay(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "people.csv", PEOPLE, NAMES)
    path.write_text("People of the town, 2024\n" + path.read_text())
    assert records(path) == expected()


def test_scores_written_with_a_plus_sign_are_numbers(tmp_path: Path) -> None:
    rows = [{**row, "score": (index % 7 - 3) / 8} for index, row in enumerate(PEOPLE)]
    path = write_csv(
        tmp_path / "people.csv", [{**row, "score": f"{row['score']:+}"} for row in rows], [*NAMES, "score"]
    )
    assert records(path, score="score") == records(pd.DataFrame(rows), score="score")


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_a_csv_whose_header_changes_midway_is_refused_with_the_line(tmp_path: Path, packed: bool) -> None:
    text = write_csv(tmp_path / "people.csv", PEOPLE, NAMES).read_text() + "y,p,sex,extra\n" + "1,0,f,9\n" * 30
    path = tmp_path / ("people.csv.gz" if packed else "people.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    message = refused(path)
    assert "line 1 has 3 ('y,p,sex'), line 62 has 4 ('y,p,sex,extra')" in message
    assert "help" in message


@pytest.mark.parametrize("line", ["1,0,f,EXTRA", "1,0"])
def test_a_last_line_of_more_or_fewer_fields_is_named(tmp_path: Path, line: str) -> None:
    path = write_csv(tmp_path / "people.csv", PEOPLE, NAMES)
    path.write_text(path.read_text() + line + "\n")
    assert f"line 62 has {line.count(',') + 1} ({line!r})" in refused(path)


def test_an_odd_line_beyond_the_lines_looked_at_first_is_named_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "SMALL_CSV", 1)
    monkeypatch.setattr(readers, "SAMPLE", 2_048)
    path = write_csv(tmp_path / "people.csv", [*PEOPLE] * 400, NAMES)
    path.write_text(path.read_text() + "1,0,f,EXTRA\n")
    assert "Line 24,002 has 4 fields" in refused(path)


def test_a_shard_whose_header_changes_midway_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", PEOPLE, NAMES)
    path = write_csv(tmp_path / "b.csv", PEOPLE, NAMES)
    path.write_text(path.read_text() + "y,p,sex,extra\n1,0,f,9\n")
    assert "The lines of b.csv" in refused(tmp_path)


def test_files_put_end_to_end_with_their_headers_are_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "people.csv", PEOPLE, NAMES)
    path.write_text(path.read_text() * 2)
    assert "The header occurs 2 times in people.csv" in refused(path)


def test_a_header_that_lacks_the_column_of_row_names_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "people.csv", PEOPLE, ["row", *NAMES])
    path.write_text(path.read_text().replace("row,", "", 1))
    assert "line 1 has 3 ('y,p,sex'), line 2 has 4" in refused(path)


def test_a_shard_without_a_header_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", PEOPLE, NAMES)
    path = write_csv(tmp_path / "b.csv", PEOPLE, NAMES)
    path.write_text(path.read_text().split("\n", 1)[1])
    assert "no column in common" in refused(tmp_path)


@pytest.mark.parametrize(
    ("header", "words"), [("y,p,sex,y", "two columns called 'y'"), ("Y,p,sex,y", "the columns 'Y' and 'y'")]
)
def test_columns_of_one_name_are_refused(tmp_path: Path, header: str, words: str) -> None:
    path = write_csv(tmp_path / "people.csv", PEOPLE, [*NAMES, "row"])
    path.write_text(path.read_text().replace("y,p,sex,row", header))
    assert words in refused(path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("names", [["note", "note", "note_1"], ["note", "Note", "Note_1"]])
def test_columns_of_one_name_that_nobody_asks_for_may_stay(tmp_path: Path, ending: str, names: list[str]) -> None:
    path = tmp_path / f"people.{ending}"
    columns = [*names[:2], *NAMES, names[2]]
    values = [["a"] * 60, ["b"] * 60, *([row[name] for row in PEOPLE] for name in NAMES), [*"uvw"] * 20]
    if ending == "csv":
        pd.DataFrame(dict(enumerate(values))).to_csv(path, header=columns, index=False)
    else:
        pyarrow.parquet.write_table(pa.table([pa.array(column) for column in values], names=columns), path)
    assert records(path) == expected()
    third = pd.DataFrame({**dict(zip(columns, values, strict=True))})
    assert records(path, sensitive_features=[names[2]]) == records(third, sensitive_features=[names[2]])
    with pytest.raises(BadInput, match="'note'"):
        records(path, sensitive_features=["note"])
    with pytest.raises(BadInput, match="not found"):  # what the engine calls the second
        records(path, sensitive_features=["note_2"])


def test_two_series_of_one_name_are_not_taken_for_one_attribute() -> None:
    frame = pd.DataFrame(PEOPLE)
    with pytest.raises(BadInput, match=r"several columns called sex[\s\S]*help: rename"):
        equipoise.audit(
            target=frame.y, prediction=frame.p, sensitive_features=[frame.sex, frame.row.rename("sex")], draws=0
        )


def test_columns_of_one_name_in_parquet_are_refused(tmp_path: Path) -> None:
    ends = pa.array([[{"y": 1}]] * 4)  # what is inside a column may have any name
    columns = {"y": [1, 0, 1, 0], "nested": ends, "p": [1, 1, 0, 0], "sex": list("ffmm")}
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pa.table(columns), path)
    assert records(path)
    pyarrow.parquet.write_table(pa.table([*columns.values(), pa.array([1] * 4)], names=[*columns, "Y"]), path)
    assert "the columns 'y' and 'Y'" in refused(path)


def test_a_column_with_nul_in_its_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pa.table({"y": [1], "p\0": [1], "sex": ["f"]}), path)
    assert "NUL character" in refused(path)


def test_a_column_whose_name_is_a_whole_text_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "people.csv", [{**row, "n" * 5_000: 1} for row in PEOPLE], [*NAMES, "n" * 5_000])
    message = refused(path)
    assert "a name of 5,000 characters" in message
    assert len(message) < 500


def test_a_name_that_no_file_system_takes_is_refused() -> None:
    assert "File name too long" in refused(Path("x" * 300 + ".csv"))
    with pytest.raises(BadInput, match="null byte"):
        open_table("a\0b.csv")


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.xlsx", "CSV"), ("a.db", "sqlite3"), ("a.zip", "unpack"), ("a.json", ".jsonl"), ("a.sav", "pandas"),
     ("a.pkl", "Parquet"), ("a.tar.gz", "unpack")],
)  # fmt: skip
def test_other_formats_are_refused_with_what_to_do(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    assert words in refused(tmp_path / name).partition("help")[2]


def test_a_late_text_in_a_column_of_scores_is_shown(tmp_path: Path) -> None:
    rows = [{**row, "score": "oops" if index == 20_000 else 0.5} for index, row in enumerate([*PEOPLE] * 400)]
    path = write_csv(tmp_path / "people.csv", rows, [*NAMES, "score"])
    with pytest.raises(BadInput, match="such as 'oops'"):
        records(path, score="score")
    pl.DataFrame({name: [str(row[name]) for row in rows] for name in (*NAMES, "score")}).write_parquet(
        tmp_path / "people.parquet"
    )
    with pytest.raises(BadInput, match="such as 'oops'"):
        records(tmp_path / "people.parquet", score="score")


def test_values_of_several_kinds_in_json_lines_are_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    rows = [{"y": place % 2, "p": place % 3 % 2, "sex": (1, "f", None)[place % 3]} for place in range(30)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert records(path) == records(pd.DataFrame({name: [row[name] for row in rows] for name in NAMES}, dtype=object))


@pytest.mark.parametrize("shards", [False, True])
def test_apostrophes_are_text_and_swallow_no_rows(tmp_path: Path, shards: bool) -> None:
    rows = [{**row, "sex": "'" if index in (30, 33) else row["sex"]} for index, row in enumerate(PEOPLE)]
    frame = pd.DataFrame({name: [row[name] for row in rows] for name in NAMES})
    write_csv(tmp_path / "it's" / "late.csv", rows[25:] if shards else rows, ["sex", "y", "p"])
    if shards:
        write_csv(tmp_path / "it's" / "early.csv", rows[:25], NAMES)
    assert records(tmp_path / "it's" if shards else tmp_path / "it's" / "late.csv") == records(frame)


def test_na_in_a_csv_is_counted_with_a_note_that_says_how_to_call_it_missing(tmp_path: Path) -> None:
    rows = [{**row, "sex": "NA" if index % 6 == 0 else row["sex"]} for index, row in enumerate(PEOPLE)]
    path = write_csv(tmp_path / "people.csv", rows, NAMES)
    asked: dict[str, Any] = {"target": "y", "prediction": "p", "sensitive_features": ["sex"], "draws": 0}
    noted = [note for note in equipoise.audit(path, **asked).notes if "NA" in note]
    assert len(noted) == 1
    assert noted[0].startswith("10 rows have the sex 'NA'")
    assert "--missing 'NA' (missing='NA')" in noted[0]
    told = equipoise.audit(path, **asked, missing="NA")
    assert not [note for note in told.notes if "'NA'" in note]
    assert told_by(told) == told_by(equipoise.audit(pd.read_csv(path), **asked))


@pytest.mark.parametrize("column", ["y", "sex"])
def test_a_name_of_a_class_or_group_that_is_a_whole_text_is_refused(tmp_path: Path, column: str) -> None:
    rows = [{**row, column: "x" * 2_000_000 if index == 7 else str(row[column])} for index, row in enumerate(PEOPLE)]
    path = tmp_path / "people.parquet"
    pl.DataFrame(rows).write_parquet(path)
    with pytest.raises(BadInput) as error:
        equipoise.audit(path, target="y", prediction="p", sensitive_features=["sex"])
    assert "2,000,000 characters" in str(error.value)
    assert len(str(error.value)) < 1_000


@pytest.mark.parametrize("role", ["target", "prediction", "sensitive_features", "control", "split"])
@pytest.mark.parametrize("source", ["pandas", "arrays in pandas", "polars", "parquet"])
def test_a_column_of_lists_where_one_value_a_row_is_needed_is_refused(tmp_path: Path, role: str, source: str) -> None:
    columns = {name: [row[name] for row in PEOPLE] for name in NAMES} | {"lists": [["a", "b"]] * len(PEOPLE)}
    data: Any = pd.DataFrame(columns) if source == "pandas" else pl.DataFrame(columns)
    if source == "arrays in pandas":
        data = pl.DataFrame(columns).to_pandas()
    elif source == "parquet":
        data.write_parquet(tmp_path / "people.parquet")
        data = tmp_path / "people.parquet"
    with pytest.raises(BadInput, match="'lists' holds lists"):
        records(data, **{role: "lists"})


# Any table in any layout ----------------------------------------------------------------------------------------------

TEXTS = st.sampled_from(
    ["f", "m", "NA", "#1", "a,b", 'say "x"', "two\nlines", " x", "é", "a;b", "日本", "x|y", "'", "A"]
)
CLASSES = st.sampled_from(["0", "1", "2"])
COLUMNS = st.sampled_from(
    [
        ("y", "p", "sex", "race"),
        ("y y", 'p"q', "g.h", "r[0]"),
        ("é", "p=0", "seed", "%"),
        ("Target", "pred,icted", "#", "'"),
    ]
)
FOLDERS = ("p=0", "y=1/p=1", "sex=f", "seed=0", "two words", "a.b.csv", "ünï", "[a]", "a*b?", "{a,b}", "it's", "%41",
           "#1", "-x", "$HOME", 'q"q', "a;b", "日本", "C:", "**")  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Draw the names of columns (target, prediction, two groups, score), and rows of two classes and groups or more."""
    names = (*draw(COLUMNS), "a score")
    score = st.one_of(st.none(), st.integers(0, 64).map(lambda number: number / 64))
    row = st.tuples(CLASSES, CLASSES, TEXTS, st.one_of(st.none(), st.integers(-3, 12)), score)
    rows = draw(st.lists(row, min_size=2, max_size=40))
    return names, [("0", "1", "f", 1, 0.25), ("1", "0", "m", 2, 0.5), *rows]


def _parts(draw: Any, rows: list[Any]) -> list[list[Any]]:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    return [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True) if high > low]


@pytest.mark.long
@pytest.mark.once
@settings(deadline=None, max_examples=25)
@given(table=tables(), draw=st.data())
def test_the_same_rows_give_the_same_records_in_any_layout(
    table: tuple[tuple[str, ...], list[tuple[Any, ...]]], draw: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names, rows = table
    target, prediction, *groups, score = names
    base = tmp_path_factory.mktemp("layout")

    def told(data: object) -> Any:
        asked = {"target": target, "prediction": prediction, "sensitive_features": groups, "categorical": groups[1:]}
        asked |= {"score": score, "score_class": "1"}
        return told_by(equipoise.audit(data, **asked, draws=0))

    def mappings(part: list[tuple[Any, ...]]) -> Rows:
        return [dict(zip(names, row, strict=True)) for row in part]

    columns = {name: [row[index] for row in rows] for index, name in enumerate(names)}
    truth = told(pl.DataFrame(columns))
    assert told(pd.DataFrame(columns)) == truth

    place = base / draw.draw(st.sampled_from(FOLDERS))
    kind = draw.draw(st.sampled_from(["csv", "shards", "parquet", "parquet shards", "jsonl", "glob"]))
    ending = kind.split()[0] if kind in ("csv", "jsonl") or "parquet" in kind else "csv"
    whole = kind in ("csv", "parquet", "jsonl")
    for number, part in enumerate([rows] if whole else _parts(draw, rows)):
        folder = place / draw.draw(st.sampled_from(["", "p=1", "sub dir", "[x]", "a=b"])) if not whole else place
        order = draw.draw(st.permutations(names))
        path = folder / f"part {number}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == "csv":
            separator = draw.draw(st.sampled_from([",", ";", "\t"])) if kind == "csv" else ","
            write_csv(path, mappings(part), order, separator)
        else:
            types = {name: {3: pl.Int64, 4: pl.Float64}.get(names.index(name), pl.String) for name in order}
            frame = pl.DataFrame(mappings(part), schema=types, orient="row").select(order)
            frame.write_parquet(path) if ending == "parquet" else frame.write_ndjson(path)
    if not whole:
        write_csv(place / ".hidden" / "part.csv", mappings(rows), names)
        write_csv(place / "_old.csv", mappings(rows), names)
    given_path: Path | str = place
    if kind == "glob":
        given_path = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(place)) + "/**/part *.csv"
    elif whole:
        given_path = place / f"part 0.{ending}"
    assert told(given_path) == truth, (kind, given_path)
    if not whole and kind != "glob":
        assert len(open_table(place).to_native().fetchall()) == len(rows)  # type: ignore[union-attr]  # a relation


def test_the_engine_still_takes_folder_names_for_columns_unless_told_otherwise(tmp_path: Path) -> None:
    # Why hive_partitioning=false is said: should the engine stop guessing, this test may go.
    path = write_csv(tmp_path / "p=0" / "people.csv", PEOPLE, NAMES)
    assert {row[1] for row in duckdb.read_csv(str(path)).fetchall()} == {0}
