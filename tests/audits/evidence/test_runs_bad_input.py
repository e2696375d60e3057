"""Runs that cannot be judged: what was given, what is available, help; exit code 2; nothing written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise import BadInput
from helpers.running import Ended, Program

HEADER = "technique,metric,run,value\n"
ROWS = "base,DP,1,0.5\nbase,DP,2,0.6\nt,DP,1,0.1\nt,DP,2,0.2\n"
NAMES = {"technique": "technique", "metric": "metric", "run": "run", "value": "value"}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "runs.csv"
        path.write_text(text)
        return path

    return write


def refused(ended: Ended, *words: str) -> None:
    assert ended.code == 2, (ended.code, ended.out, ended.err)
    assert ended.out == ""
    assert "Traceback" not in ended.err
    assert "help: " in ended.err or "available: " in ended.err
    for word in words:
        assert word in ended.err, ended.err


def test_good_runs_are_not_refused(equipoise: Program, written: Any) -> None:
    assert equipoise("evidence", written(HEADER + ROWS), "--baseline", "base").code == 0


def test_a_baseline_that_is_not_there_is_named_with_the_nearest(equipoise: Program, written: Any) -> None:
    ended = equipoise("evidence", written(HEADER + ROWS), "--baseline", "Base")
    refused(ended, "technique 'Base' not found in runs.csv, to be the baseline", "did you mean 'base'?")


def test_no_baseline_at_all_is_refused(equipoise: Program, written: Any) -> None:
    refused(equipoise("evidence", written(HEADER + ROWS)), "No baseline was given", "--baseline-column", "base, t")


def test_two_ways_to_name_the_baseline_are_one_too_many(equipoise: Program, written: Any) -> None:
    given = ("--baseline", "base", "--baseline-column", "metric")
    refused(equipoise("evidence", written(HEADER + ROWS), *given), "were both given")


def test_a_metric_the_baseline_lacks_is_refused(equipoise: Program, written: Any) -> None:
    path = written(HEADER + ROWS + "t,DI,1,0.3\n")
    ended = equipoise("evidence", path, "--baseline", "base")
    refused(ended, "The baseline 'base' has no runs on 'DI', but 't' has", "add the baseline's runs")


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ({"base": "", "t": "bas"}, ("technique 'bas' not found", "did you mean 'base'?")),
        ({"base": "", "t": ""}, ("names no baseline for any technique",)),
        ({"base": "t", "t": "base"}, ("go round in a circle", "leave the baseline of one of them empty")),
        ({"base": "", "t": "base", "u": ""}, ("1 technique has no baseline and is none: u",)),
    ],
    ids=str,
)
def test_a_column_of_baselines_must_make_sense(
    equipoise: Program, written: Any, of: dict[str, str], words: tuple[str, ...]
) -> None:
    text = "technique,metric,run,value,of\n" + "".join(f"{name},DP,1,0.5,{other}\n" for name, other in of.items())
    refused(equipoise("evidence", written(text), "--baseline-column", "of"), *words)


def test_a_technique_with_two_baselines_is_refused(equipoise: Program, written: Any) -> None:
    text = "technique,metric,run,value,of\nx,DP,1,1,\ny,DP,1,1,\nt,DP,1,2,x\nt,DP,2,2,y\n"
    refused(equipoise("evidence", written(text), "--baseline-column", "of"), "'t' names 2 baselines: x, y")


def test_duplicate_runs_are_refused_with_the_first_of_them(equipoise: Program, written: Any) -> None:
    ended = equipoise("evidence", written(HEADER + ROWS + "t,DP,2,0.3\n"), "--baseline", "base")
    refused(ended, "1 run is there more than once: technique 't', metric 'DP', run '2' has 2 rows", "--by")


def test_text_among_the_values_is_refused_with_the_word_for_missing(equipoise: Program, written: Any) -> None:
    path = written(HEADER + ROWS + "t,DP,3,n/a\nt,DP,4,n/a\n")
    ended = equipoise("evidence", path, "--baseline", "base")
    refused(ended, "2 of the values in 'value' are text, such as 'n/a'", "--missing 'n/a'")
    assert equipoise("evidence", path, "--baseline", "base", "--missing", "n/a").code == 0


def test_one_technique_only_is_refused(equipoise: Program, written: Any) -> None:
    ended = equipoise("evidence", written(HEADER + "base,DP,1,0.5\nbase,DP,2,0.6\n"), "--baseline", "base")
    refused(ended, "There is one technique only: 'base'", "add the runs of the baseline")


@pytest.mark.parametrize("value", ["inf", "-inf", "1e400", "1e200"])
def test_infinite_values_are_refused_with_their_row(equipoise: Program, written: Any, value: str) -> None:
    ended = equipoise("evidence", written(HEADER + ROWS + f"t,DP,3,{value}\n"), "--baseline", "base")
    refused(ended, "1 value is infinite or too large", "technique 't', metric 'DP', run '3'", "leave the cell empty")


@pytest.mark.parametrize(
    "text",
    [
        HEADER + 'base,DP,1,"0,5"\nt,DP,1,"0,25"\n',
        HEADER.replace(",", ";") + "base;DP;1;0,5\nt;DP;1;1.234,25\n",
        HEADER + "base,DP,1,0,5\nbase,DP,2,0,6\nt,DP,1,0,25\n",
    ],
    ids=["quoted", "semicolons", "not quoted"],
)
def test_decimal_commas_are_refused_with_advice(equipoise: Program, written: Any, text: str) -> None:
    refused(equipoise("evidence", written(text), "--baseline", "base"), "decimal comma", "decimal points", "0.25")


@pytest.mark.parametrize(("place", "role"), [(0, "technique"), (1, "metric"), (2, "run")])
def test_a_row_must_say_what_it_is_about(equipoise: Program, written: Any, place: int, role: str) -> None:
    cells = ["t", "DP", "9", "0.5"]
    cells[place] = ""
    ended = equipoise("evidence", written(HEADER + ROWS + ",".join(cells) + "\n"), "--baseline", "base")
    refused(ended, f"1 of 5 rows has no {role}", "drop those rows")


def test_values_that_are_all_missing_are_refused(equipoise: Program, written: Any) -> None:
    ended = equipoise("evidence", written(HEADER + "base,DP,1,\nt,DP,1,\n"), "--baseline", "base")
    refused(ended, "Every value in 'value' is missing")


def test_a_file_without_rows_is_refused(equipoise: Program, written: Any) -> None:
    refused(equipoise("evidence", written(HEADER), "--baseline", "base"), "runs.csv has no rows")


@pytest.mark.parametrize("option", ["--technique", "--metric", "--run", "--value", "--pair", "--by"])
def test_a_missing_column_is_named_with_the_nearest(equipoise: Program, written: Any, option: str) -> None:
    ended = equipoise("evidence", written(HEADER + ROWS), "--baseline", "base", option, "metrik")
    refused(ended, "column 'metrik' not found", f"did you mean {option} metric ")


@pytest.mark.parametrize(
    ("option", "given", "words"),
    [
        ("--alternative", "observd", "did you mean 'observed'?"),
        ("--test", "mannwhitney", "did you mean 'mann-whitney'?"),
        ("--correction", "hol", "did you mean 'holm'?"),
        ("--threshold", "1.5", "a number between 0 and 1"),
        ("--performance", "acuracy", "to be the performance"),
    ],
)
def test_a_choice_that_is_none_is_refused(
    equipoise: Program, written: Any, option: str, given: str, words: str
) -> None:
    refused(equipoise("evidence", written(HEADER + ROWS), "--baseline", "base", option, given), words)


def test_pairs_and_samples_have_their_own_tests(equipoise: Program, written: Any) -> None:
    file = written(HEADER + ROWS)
    paired = equipoise("evidence", file, "--baseline", "base", "--pair", "run", "--test", "brunner-munzel")
    refused(paired, "together with pairs", "with pairs sign-flip or wilcoxon", "leave out --test or --pair")
    alone = equipoise("evidence", file, "--baseline", "base", "--test", "wilcoxon")
    refused(alone, "without pairs", "permutation, mann-whitney, brunner-munzel", "--pair seed")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--margin", "0"), ("The margin of 'DP' is 0.0", "a number above 0")),
        (("--margin", "two"), ("The margin 'two' is not a number", "--margin DP=0.02")),
        (("--margin", "DQ=0.1"), ("DQ", "DP")),
        (("--margin", "0.1", "--margin", "DP=0.2"), ("is for all metrics",)),
        (("--spread", "wide"), ("wide", "absolute", "relative")),
    ],
)
def test_margins_and_spreads_that_make_no_sense_are_refused(
    equipoise: Program, written: Any, given: tuple[str, ...], told: tuple[str, ...]
) -> None:
    refused(equipoise("evidence", written(HEADER + ROWS), "--baseline", "base", *given), *told)


def test_a_seed_with_two_runs_cannot_be_paired(equipoise: Program, written: Any) -> None:
    text = "technique,metric,run,value,seed\nbase,DP,1,1,7\nbase,DP,2,2,7\nt,DP,1,3,7\n"
    ended = equipoise("evidence", written(text), "--baseline", "base", "--pair", "seed")
    refused(ended, "'base' has several runs on 'DP' with seed '7'", "average the runs")


def test_runs_by_class_of_some_techniques_only_are_refused(equipoise: Program, written: Any) -> None:
    text = "technique,metric,run,value,class\nbase,DP,1,1,\nbase,DP,1,1,cat\nt,DP,1,3,cat\n"
    ended = equipoise("evidence", written(text), "--baseline", "base", "--by", "class")
    refused(ended, "'t' has 'DP' by class only", "with an empty 'class'")


def test_a_missing_file_is_named(equipoise: Program, tmp_path: Path, written: Any) -> None:
    written(HEADER + ROWS)
    refused(equipoise("evidence", tmp_path / "run.csv", "--baseline", "base"), "There is no file", "runs.csv")


def test_an_output_path_that_is_a_folder_is_refused_before_any_work(
    equipoise: Program, written: Any, tmp_path: Path
) -> None:
    ended = equipoise("evidence", written(HEADER + ROWS), "--baseline", "base", "--json", tmp_path)
    refused(ended, "is a folder")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_python_is_told_the_same() -> None:
    rows = {"technique": ["base", "t"], "metric": ["DP", "DP"], "run": [1, 1], "value": [0.1, 0.2]}
    with pytest.raises(BadInput, match="The runs are a int"):
        equipoise.evidence(3, **NAMES, baseline="base")
    with pytest.raises(BadInput, match="technique is list where the name of a column is expected"):
        equipoise.evidence(rows, **{**NAMES, "technique": ["base", "t"]}, baseline="base")
    with pytest.raises(BadInput, match="No runs were given"):
        equipoise.evidence(**NAMES, baseline="base")
    with pytest.raises(BadInput, match="No runs were given"):
        equipoise.evidence(baseline="base")
    with pytest.raises(BadInput, match="No array was given for metric, run"):
        equipoise.evidence(technique=["base", "t"], value=[0.1, 0.2], baseline="base")
    with pytest.raises(BadInput, match="No run was given"):
        equipoise.evidence(rows, **{**NAMES, "run": None}, baseline="base")
    with pytest.raises(BadInput, match="different lengths"):
        equipoise.evidence({**rows, "value": [1.0]}, **NAMES, baseline="base")
    with pytest.raises(BadInput, match="2 dimensions"):
        equipoise.evidence({**rows, "value": [[1.0, 2.0], [3.0, 4.0]]}, **NAMES, baseline="base")
