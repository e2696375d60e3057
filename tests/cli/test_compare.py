"""``equipoise compare`` as a person sees it, and every way it can be asked wrongly."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import equipoise as package
from equipoise.reports import show
from helpers.running import Ended, Program


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(300)],
            "sex": draw.choice(["Female", "Male"], 300),
            "race": draw.choice(["a", "b", "c"], 300),
            "age": draw.integers(18, 70, 300),
            "said": draw.integers(0, 2, 300),
        }
    )
    hit = (people["sex"] == "Female").to_numpy() & (draw.random(300) < 0.3)
    people["says"] = np.where(hit, 1 - people["said"], people["said"])
    people.to_parquet(tmp_path / "people.parquet")
    people.to_csv(tmp_path / "people.csv", index=False)
    before = draw.normal(size=(300, 8)).astype(np.float32)
    after = before + 0.1 * draw.normal(size=before.shape).astype(np.float32)
    after[hit] += 2 * draw.normal(size=(int(hit.sum()), 8)).astype(np.float32)
    rerun = after + 0.02 * draw.normal(size=after.shape).astype(np.float32)
    for name, points in (("before", before), ("after", after), ("rerun", rerun)):
        np.save(tmp_path / f"{name}.npy", points)
    order = draw.permutation(300)
    np.savez(tmp_path / "before.npz", z=before, person=people["person"].to_numpy(dtype=str))
    np.savez(tmp_path / "after.npz", z=after[order], person=people["person"].to_numpy(dtype=str)[order])
    return tmp_path


def ask(folder: Path, *more: object) -> tuple[object, ...]:
    files = (folder / "before.npy", folder / "after.npy", "--rows", folder / "people.parquet")
    return ("compare", *files, "--group", "sex", "--draws", "200", *more)


def refused(ended: Ended, *words: str) -> None:
    assert ended.code == 2, (ended.code, ended.out, ended.err)
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for word in words:
        assert word in " ".join(ended.err.split()), ended.err


def plain(text: str) -> str:
    return " ".join(text.split())


def test_words_come_first_then_scores_then_shares_then_notes(equipoise: Program, folder: Path) -> None:
    ended = equipoise(*ask(folder, "--group", "race"))
    assert (ended.code, ended.err) == (0, "")
    parts = (
        "Comparison of before.npy and after.npy", "Of the 10% most changed people", "Inconclusive, and why",
        "Who are the most changed?", "Shares among the most changed", "The mean score (PNKA) is", "Scores (PNKA",
        "Notes",
    )  # fmt: skip
    places = [ended.out.index(part) for part in parts]
    assert places == sorted(places)
    assert "are Female (sex), against" in plain(ended.out)
    assert "█" in ended.out
    assert "more common" in ended.out
    assert "race • No group is significantly more or less common" in plain(ended.out)
    assert "300 distinct profiles" in plain(ended.out)
    assert "one by one" not in ended.out


def test_everything_can_be_asked_at_once(equipoise: Program, folder: Path) -> None:
    output = folder / "compare.json"
    ended = equipoise(
        *ask(folder, "--group", "age", "--bin", "age=30,50", "--describe", "race", "--direction", "sex=Male,Female"),
        *("--prediction-before", "said", "--prediction-after", "says", "--rerun", folder / "rerun.npy"),
        *("--share", "0.2", "--ties", "fractional", "--seed", "3", "--json", output, "--show-rows"),
        *("--csv", folder / "compare.csv", "--latex", folder / "compare.tex"),
    )
    assert (ended.code, ended.err) == (0, "")
    for words in (
        "Predictions changed for", "The change is larger than that of an identical rerun",
        "one by one", "in a rerun alone", "Of two people",
    ):  # fmt: skip
        assert words in plain(ended.out), words
    written = json.loads(output.read_text(encoding="utf-8"))
    assert (folder / "compare.csv").read_text(encoding="utf-8").count("\n") > len(written["records"])
    assert "\\begin{longtable}" in (folder / "compare.tex").read_text(encoding="utf-8")
    assert written["schema"] == "equipoise.compare/1"
    assert written["provenance"]["command"].startswith("equipoise compare ")
    assert written["similarity"]["changed"] == 60
    assert len(written["rows"]) >= 60
    assert written["attributes"] == ["sex", "age"]
    assert any(words.startswith("Along Male minus Female (sex) the two groups are") for words in written["words"])


def test_rows_are_matched_by_id(equipoise: Program, folder: Path) -> None:
    by_order, by_id = folder / "order.json", folder / "id.json"
    assert equipoise(*ask(folder, "--quiet", "--json", by_order)).code == 0
    people = pd.read_parquet(folder / "people.parquet").sample(frac=1, random_state=1)
    people.to_csv(folder / "shuffled.csv", index=False)
    ended = equipoise(
        "compare", folder / "before.npz", folder / "after.npz", "--embedding", "z", "--rows", folder / "shuffled.csv",
        "--id", "person", "--group", "sex", "--draws", "200", "--quiet", "--json", by_id,
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    first, second = (json.loads(path.read_text(encoding="utf-8"))["records"] for path in (by_order, by_id))
    for a, b in zip(first, second, strict=True):
        assert (a["group"], a["changed"], a["p"]) == (b["group"], b["changed"], b["p"])
        assert a["mean"] == pytest.approx(b["mean"], abs=1e-6)


def test_quiet_prints_nothing(equipoise: Program, folder: Path) -> None:
    assert equipoise(*ask(folder, "--quiet")).out == ""


def test_a_csv_and_the_key_option_do_as_well(equipoise: Program, folder: Path) -> None:
    files = ("compare", folder / "before.npz", folder / "before.npz", "--key", "z", "--rows", folder / "people.csv")
    ended = equipoise(*files, "--group", "sex")
    assert ended.code == 0
    assert "Nobody changed more than anybody else" in ended.out


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_a_narrow_and_a_wide_terminal_both_fit(folder: Path, width: int) -> None:
    result = package.compare(
        folder / "before.npy", folder / "after.npy", rows=folder / "people.parquet", sensitive_features=["sex", "race"],
        draws=100, show_rows=True,
    )  # fmt: skip
    console = Console(width=width, record=True, file=StringIO())
    show(result, console)
    text = console.export_text()
    assert "…" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width


def test_hidden_and_undefined_numbers_are_called_so(equipoise: Program, folder: Path) -> None:
    people = pd.read_parquet(folder / "people.parquet")
    people.loc[:3, "race"] = "rare"
    people.to_parquet(folder / "people.parquet")
    ended = equipoise(*ask(folder, "--group", "race", "--suppress-below", "10"))
    assert ended.code == 0
    assert "rare, race" in ended.out
    assert "hidden" in ended.out
    assert "1 group is hidden: fewer than 10 people" in plain(ended.out)


def test_names_cannot_drive_the_terminal(equipoise: Program, folder: Path) -> None:
    people = pd.read_parquet(folder / "people.parquet")
    people["sex"] = people["sex"].replace({"Female": "[red]\x1b[31m[/]"})
    people.to_parquet(folder / "people.parquet")
    ended = equipoise(*ask(folder, "--show-rows"))
    assert ended.code == 0, ended.err
    assert "\x1b[31m" not in ended.out
    assert "[/]" in ended.out


BAD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "a missing column": (("--group", "sexx"), ("column 'sexx' not found", "did you mean --group sex (")),
    "a continuous group": (("--group", "age"), ("different numbers", "--bin age=25,45")),
    "a share of one": (("--share", "1"), ("between 0 and 1",)),
    "ties cut at random": (("--ties", "random"), ("whole, fractional",)),
    "an unknown kernel": (("--kernel", "cubic"), ("cubic", "linear")),
    "a bandwidth without rbf": (("--bandwidth", "2"), ("kernel is linear",)),
    "one prediction": (("--prediction-before", "said"), ("or neither",)),
    "a direction of one group": (("--direction", "sex=Male"), ("two groups",)),
    "a direction of nobody": (("--direction", "sex=Male,Mann"), ("group 'Mann' not found",)),
    "a direction that is no file": (("--direction", "nowhere.npy"), ("could not be read",)),
    "a key of a .npy file": (("--embedding", "z"), ("without a name",)),
    "ids of a .npy file": (("--id", "person"), ("has no ids",)),
    "single people and hidden numbers": (("--show-rows", "--suppress-below", "5"), ("leave out --show-rows",)),
    "bins of no group": (("--bin", "race=1"), ("not a group column",)),
    "bins that cannot be read": (("--bin", "age"), ("--bin 'age' could not be read",)),
    "an unwritable output": (("--json", "no/such/folder.json"), ("does not exist",)),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_questions_are_refused_in_words(equipoise: Program, folder: Path, case: str) -> None:
    options, words = BAD[case]
    refused(equipoise(*ask(folder, *options)), *words)


def bad_file(folder: Path, case: str) -> Path:
    path = folder / "bad.npy"
    points = np.load(folder / "after.npy")
    if case == "fewer rows":
        np.save(path, points[:299])
    elif case == "not finite":
        points[4, 2] = np.nan
        np.save(path, points)
    elif case == "all the same":
        np.save(path, np.ones_like(points))
    elif case == "pickled":
        np.save(path, points.astype(object), allow_pickle=True)
    elif case == "one axis":
        np.save(path, points[:, 0])
    elif case == "truncated":
        path.write_bytes((folder / "after.npy").read_bytes()[:-100])
    elif case == "wrong ending":
        path = folder / "bad.jpg"
        path.write_bytes(b"x")
    return path


FILES = {
    "fewer rows": ("before.npy has 300, bad.npy has 299",),
    "not finite": ("1 number of bad.npy is not finite", "row 4, column 2"),
    "all the same": ("constant",),
    "pickled": ("could run code",),
    "one axis": ("1 axis",),
    "truncated": ("truncated",),
    "wrong ending": ("an unknown file ending",),
    "absent": ("There is no file",),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files_are_refused_in_words(equipoise: Program, folder: Path, case: str) -> None:
    files = ("compare", folder / "before.npy", bad_file(folder, case), "--rows", folder / "people.parquet")
    refused(equipoise(*files, "--group", "sex"), *FILES[case])


def test_ids_that_do_not_match_are_counted_and_shown(equipoise: Program, folder: Path) -> None:
    people = pd.read_parquet(folder / "people.parquet")
    people.loc[[2, 5], "person"] = ["x", "y"]
    people.to_parquet(folder / "people.parquet")
    files = ("compare", folder / "before.npz", folder / "after.npz", "--rows", folder / "people.parquet")
    ended = equipoise(*files, "--group", "sex", "--id", "person")
    refused(ended, "2 ids of before.npz are not in people.parquet (p2, p5)", "2 ids of people.parquet are not in")


def test_more_dimensions_than_rows_are_allowed_and_said(equipoise: Program, folder: Path) -> None:
    wide = np.random.default_rng(0).normal(size=(300, 400))
    np.save(folder / "before.npy", wide)
    ended = equipoise(*ask(folder))
    assert ended.code == 0
    assert "before.npy has more dimensions (400) than rows (300)" in plain(ended.out)


def test_an_input_is_not_written_over(equipoise: Program, folder: Path) -> None:
    refused(equipoise(*ask(folder, "--json", folder / "before.npy")), "is an input file")


def test_a_summary_is_written_as_markdown(equipoise: Program, folder: Path) -> None:
    ended = equipoise(*ask(folder, "--markdown", folder / "summary.md", "--quiet"))
    assert (ended.code, ended.out) == (0, "")
    assert (folder / "summary.md").read_text(encoding="utf-8").startswith("# Comparison of ")
