"""Bad input: what was given, what is available, help; exit code 2; nothing written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from helpers.running import Ended, Program

ROWS = "sex,race,income,predicted,score,age,weight\n" + "".join(
    f"{sex},{race},{income},{predicted},0.{score},{20 + score},{weight}\n"
    for sex, race, income, predicted, score, weight in [
        ("Female", "Black", ">50K", ">50K", 9, 1),
        ("Female", "White", "<=50K", "<=50K", 1, 2),
        ("Male", "Black", ">50K", "<=50K", 4, 1),
        ("Male", "White", ">50K", ">50K", 8, 1),
    ]
)
ASK = ("--target", "income", "--prediction", "predicted", "--favourable", ">50K", "--group", "sex")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return path


def refused(ended: Ended, *words: str) -> None:
    assert ended.code == 2, (ended.code, ended.out, ended.err)
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err, ended.err


def test_good_input_is_not_refused(equipoise: Program, people: Path) -> None:
    assert equipoise("audit", people, *ASK).code == 0


def test_a_missing_file_is_named_with_its_nearest_neighbour(equipoise: Program, people: Path) -> None:
    refused(equipoise("audit", people.with_name("peple.csv"), *ASK), "There is no file", "did you mean", "people.csv")


def test_a_missing_folder_is_said(equipoise: Program, tmp_path: Path) -> None:
    refused(equipoise("audit", tmp_path / "no" / "people.csv", *ASK), "its folder does not exist")


def test_an_address_is_not_fetched(equipoise: Program) -> None:
    refused(equipoise("audit", "https://example.org/people.csv", *ASK), "is a URL", "download it first")


@pytest.mark.parametrize(
    ("option", "given", "nearest"),
    [("--target", "incme", "income"), ("--prediction", "Predicted", "predicted"), ("--group", "sexx", "sex")],
)
def test_a_missing_column_is_named_with_the_nearest_one(
    equipoise: Program, people: Path, option: str, given: str, nearest: str
) -> None:
    ask = [given if before == option else word for before, word in zip(("", *ASK), ASK, strict=False)]
    refused(equipoise("audit", people, *ask), f"column {given!r} not found", f"did you mean {option} {nearest} (")


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet"])
def test_an_empty_file_is_refused(equipoise: Program, tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    refused(equipoise("audit", tmp_path / name, *ASK), "is empty", "at least one row")


def test_a_file_with_a_header_only_has_no_rows(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "header.csv"
    path.write_text(ROWS.splitlines()[0] + "\n")
    refused(equipoise("audit", path, *ASK), "header.csv has no rows")


@pytest.mark.parametrize(
    ("column", "words"), [("sex", "group column"), ("income", "target"), ("predicted", "prediction")]
)
def test_a_column_without_any_value_is_refused(equipoise: Program, tmp_path: Path, column: str, words: str) -> None:
    header, *rows = ROWS.splitlines()
    place = header.split(",").index(column)
    emptied = [",".join("" if i == place else cell for i, cell in enumerate(row.split(","))) for row in rows]
    path = tmp_path / "people.csv"
    path.write_text("\n".join([header, *emptied]) + "\n")
    refused(equipoise("audit", path, *ASK), "missing", words, column)


def test_one_group_only_is_refused(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("".join(line for line in ROWS.splitlines(keepends=True) if "Male," not in line))
    refused(equipoise("audit", path, *ASK), "one group only: 'Female'", "at least two groups")


def test_a_score_given_as_prediction_is_refused_with_advice(equipoise: Program, people: Path) -> None:
    ask = ["score" if word == "predicted" else word for word in ASK]
    refused(equipoise("audit", people, *ask), "continuous values such as 0.9", "--score", "--task regression")


def test_a_continuous_group_is_refused_with_the_advice_to_bin_it(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,y,p\n" + "".join(f"{18 + n},{n % 2},{n % 3 % 2}\n" for n in range(60)))
    ask = ("--target", "y", "--prediction", "p", "--group", "age")
    refused(equipoise("audit", path, *ask), "60 different numbers", "--bin age=25,45", "--categorical age")
    assert equipoise("audit", path, *ask, "--bin", "age=25,45").code == 0
    assert equipoise("audit", path, *ask, "--bin", "age=quantile:4").code == 0
    assert equipoise("audit", path, *ask, "--categorical", "age").code == 0


@pytest.mark.parametrize("cuts", ["", "45,25", "old", "quantile:1", "quantile:x", "25,,45", "nan"])
def test_bins_that_cannot_be_read_are_refused(equipoise: Program, people: Path, cuts: str) -> None:
    refused(equipoise("audit", people, *ASK, "--group", "age", "--bin", f"age={cuts}"), "could not be read")


def test_bins_for_a_column_that_is_no_group_are_refused(equipoise: Program, people: Path) -> None:
    refused(equipoise("audit", people, *ASK, "--bin", "age=25"), "not a group column")


def test_predictions_the_target_never_has_are_allowed_and_said(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS.replace(">50K,<=50K,", ">50K,unsure,"))
    ended = equipoise("audit", path, *ASK)
    assert ended.code == 0
    assert "values the target never has: 'unsure' (1 row)" in ended.out


@pytest.mark.parametrize("weight", ["-1", "nan", "", "inf"])
def test_negative_or_missing_weights_are_refused(equipoise: Program, tmp_path: Path, weight: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS.replace("21,2\n", f"21,{weight}\n"))
    refused(equipoise("audit", path, *ASK, "--weight", "weight"), "1 weight is negative, missing or not finite")


def test_weights_that_are_text_are_refused(equipoise: Program, people: Path) -> None:
    refused(equipoise("audit", people, *ASK, "--weight", "race"), "'race' must be numbers", "'Black'")


def test_a_broken_parquet_file_is_refused(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "broken.parquet"
    duckdb.sql("SELECT 1 AS sex, 2 AS income, 3 AS predicted").write_parquet(str(path))
    path.write_bytes(path.read_bytes()[:-20])
    refused(equipoise("audit", path, *ASK), "broken.parquet", "could not be read")


def test_bytes_that_are_no_parquet_are_refused(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "noise.parquet"
    path.write_bytes(os.urandom(2000))
    refused(equipoise("audit", path, *ASK), "noise.parquet")


def test_a_csv_with_a_bad_encoding_is_refused_with_the_line_that_mends_it(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(ROWS.replace("Black", "Mètis").encode("latin-1"))
    refused(equipoise("audit", path, *ASK, "--group", "race"), "not UTF-8", "iconv")


def test_a_csv_of_mixed_line_ends_is_not_called_one_of_another_encoding(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_bytes(ROWS.replace("\n", "\r\n").replace("\r\n", "\n", 1).encode())
    ended = equipoise("audit", path, *ASK)
    refused(ended, "could not be taken apart", "line ends")
    assert "iconv" not in ended.err


def test_an_identifier_as_group_is_refused(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,y,p\n" + "".join(f"person {n},{n % 2},{n % 3 % 2}\n" for n in range(1500)))
    ended = equipoise("audit", path, "--target", "y", "--prediction", "p", "--group", "id")
    refused(ended, "more than 1,000 different values", "is it an identifier?")


def test_an_identifier_that_only_the_whole_count_shows_is_refused_too(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    duckdb.sql(
        "SELECT CASE WHEN i < 20000 THEN 'a' || (i % 2) ELSE 'p' || i END AS id, i % 2 AS y, i % 3 % 2 AS p "
        "FROM range(22000) AS t(i)"
    ).write_parquet(str(path))
    ended = equipoise("audit", path, "--target", "y", "--prediction", "p", "--group", "id")
    refused(ended, "more than 1,000 different values")


def test_a_group_column_without_any_value_is_refused(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("y,p,g\n1,1,\n0,1,\n")
    ended = equipoise("audit", path, "--target", "y", "--prediction", "p", "--group", "g")
    refused(ended, "Every value of the group column 'g' is missing", "name another column")


def test_an_output_in_a_folder_that_is_not_there_is_refused_first(equipoise: Program, people: Path) -> None:
    ended = equipoise("audit", people, *ASK, "--json", people.parent / "nowhere" / "audit.json")
    refused(ended, "of the output path 'audit.json' does not exist", "create it first")


def test_an_unknown_favourable_class_is_named_with_the_nearest(equipoise: Program, people: Path) -> None:
    ask = [">50k" if word == ">50K" else word for word in ASK]
    refused(equipoise("audit", people, *ask), "class '>50k' not found", "did you mean '>50K'?")


def test_an_unknown_reference_group_is_named_with_the_nearest(equipoise: Program, people: Path) -> None:
    refused(equipoise("audit", people, *ASK, "--reference", "sex=Mal"), "did you mean 'Male'?")
    refused(equipoise("audit", people, *ASK, "--reference", "Male"), "NAME=VALUE")
    refused(equipoise("audit", people, *ASK, "--reference", "race=White"), "attribute 'race' not found")


def test_without_a_prediction_or_score_there_is_nothing_to_audit(equipoise: Program, people: Path) -> None:
    refused(equipoise("audit", people, "--target", "income", "--group", "sex"), "Neither a prediction nor a score")


def test_a_score_of_text_is_refused(equipoise: Program, people: Path) -> None:
    ask = ("--target", "income", "--score", "race", "--favourable", ">50K", "--group", "sex")
    refused(equipoise("audit", people, *ask), "'race' must be numbers", "'Black'")


def test_decimal_commas_are_refused_with_advice(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('sex,y,s\nF,1,"0,7"\nF,0,"0,1"\nM,1,"0,9"\nM,0,"0,2"\n')
    ended = equipoise("audit", path, "--target", "y", "--score", "s", "--favourable", "1", "--group", "sex")
    refused(ended, "'0,7'", "a decimal point, not a comma")


def test_an_unknown_task_or_variant_is_refused(equipoise: Program, people: Path) -> None:
    refused(equipoise("audit", people, *ASK, "--task", "regresion"), "did you mean 'regression'?")
    refused(equipoise("audit", people, *ASK, "--variant", "author"), "did you mean 'authors'?")


def test_a_folder_without_data_files_is_refused(equipoise: Program, tmp_path: Path) -> None:
    refused(equipoise("audit", tmp_path, *ASK), "has no data files")


def test_a_file_of_unknown_ending_is_refused(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "people.data"
    path.write_bytes(b"PK")
    refused(equipoise("audit", path, *ASK), "an unknown file ending", ".parquet")


@pytest.mark.parametrize("place", ["no/such/folder/out.json", "."])
def test_an_output_path_that_cannot_be_written_is_refused_before_any_work(
    equipoise: Program, people: Path, tmp_path: Path, place: str
) -> None:
    for option in ("--json", "--html"):
        refused(equipoise("audit", people, *ASK, option, tmp_path / place), "output path")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]


def test_bad_input_leaves_an_older_output_as_it_was(equipoise: Program, people: Path, tmp_path: Path) -> None:
    output = tmp_path / "audit.json"
    output.write_text("the old one")
    refused(equipoise("audit", people, "--target", "nothing", *ASK[2:], "--json", output))
    assert output.read_text() == "the old one"


def test_a_full_disk_leaves_nothing_behind(
    equipoise: Program, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ended = equipoise("audit", people, *ASK, "--json", tmp_path / "audit.json")
    refused(ended, "No space left on device", "no partial file was kept")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.csv"]


def test_ctrl_c_leaves_no_half_written_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    # The program stops for Ctrl-C in the middle of writing: after the first half of the text.
    script = (
        "import os, signal, sys\n"
        "real = os.fsync\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGINT)\n"
        "from equipoise.cli import main\n"
        "main()\n"
    )
    output = tmp_path / "audit.json"
    command = [sys.executable, "-c", script, "audit", str(path), *ASK, "--json", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert "nothing was written" in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["people.csv"]


def test_kill_in_the_middle_of_writing_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path, output = tmp_path / "people.csv", tmp_path / "audit.json"
    path.write_text(ROWS)
    output.write_text("the old one")
    script = (
        "import os, time\n"
        "os.fsync = lambda descriptor: (print('writing', flush=True), time.sleep(60))\n"
        "from equipoise.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script, "audit", str(path), *ASK, "--json", str(output)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline().strip() == "writing"
        os.kill(running.pid, signal.SIGKILL)
    assert output.read_text() == "the old one"


@pytest.mark.long
def test_two_writers_leave_one_whole_file(tmp_path: Path) -> None:
    path, output = tmp_path / "people.csv", tmp_path / "audit.json"
    path.write_text(ROWS)
    command = [sys.executable, "-m", "equipoise", "audit", str(path), *ASK, "--json", str(output), "--quiet"]
    writers = [subprocess.Popen(command) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert output.read_text().endswith("}\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["audit.json", "people.csv"]


def test_a_hostile_file_is_only_read(equipoise: Program, tmp_path: Path) -> None:
    name = "a[b]*'; DROP TABLE x; --.csv"
    path = tmp_path / name
    path.write_text('"se""x\'; DROP",y,p\n"<script>alert(1)</script>",1,1\n"[red]\x1b[31m",0,1\n"[/]",1,0\n')
    ended = equipoise("audit", path, "--target", "y", "--prediction", "p", "--group", "se\"x'; DROP")
    assert ended.code == 0, ended.err
    assert "<script>alert(1)</script>" in ended.out
    assert "\x1b[31m" not in ended.out


def test_python_is_told_the_same_as_the_command_line() -> None:
    import equipoise

    with pytest.raises(equipoise.BadInput, match="different lengths: target has 3"):
        equipoise.audit(target=[1, 0, 1], prediction=[1, 0], sensitive_features=["a", "b", "a"])
    with pytest.raises(equipoise.BadInput, match="No groups were given"):
        equipoise.audit(target=[1, 0], prediction=[1, 0])
    with pytest.raises(equipoise.BadInput, match="name of a column is expected"):
        equipoise.audit({"y": [1, 0]}, target=[1, 0], prediction="y", sensitive_features="y")
    with pytest.raises(equipoise.BadInput, match="The data is a int"):
        equipoise.audit(3, target="y", prediction="y", sensitive_features="y")


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [("audit", "{}.csv", *ASK), ("study", "check", "{}.toml"), ("audit", "--config", "{}.toml"),
     ("evidence", "{}.csv", "--baseline", "b"),
     ("audit", "{}.npy", "--embedding", "z", "--target", "y", "--group", "g")],
)  # fmt: skip
def test_a_name_that_no_file_system_takes_is_refused(command: tuple[str, ...]) -> None:
    words = [word.format("x" * 300) for word in command]
    ended = subprocess.run([sys.executable, "-m", "equipoise", *words], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "too long" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr) < 600


@pytest.mark.parametrize(
    ("option", "given", "help"),
    [
        ("--technique", "tecnique", "did you mean --technique technique (technique='technique')?"),
        ("--pair", "sed", "did you mean --pair seed (pair='seed')?"),
        ("--baseline-column", "basline", "did you mean --baseline-column baseline (baseline_column='baseline')?"),
    ],
)
def test_a_missing_column_of_runs_is_answered_with_the_option(
    equipoise: Program, tmp_path: Path, option: str, given: str, help: str
) -> None:
    runs = tmp_path / "runs.csv"
    rows = [f"{name},untreated,DP,{seed},{seed},0.{seed}" for name in ("untreated", "other") for seed in range(1, 4)]
    runs.write_text("\n".join(["technique,baseline,metric,run,seed,value", *rows]) + "\n")
    refused(equipoise("evidence", runs, option, given), f"column '{given}' not found in runs.csv", help)


@pytest.mark.parametrize(
    ("options", "help"),
    [
        (("--group", "sx"), "did you mean --group sex (sensitive_features='sex')?"),
        (("--group", "sex", "--describe", "agee"), "did you mean --describe age (describe='age')?"),
        (("--group", "sex", "--id", "persn"), "did you mean --id person (id='person')?"),
    ],
)
def test_a_missing_column_of_a_comparison_is_answered_with_the_option(
    equipoise: Program, tmp_path: Path, options: tuple[str, ...], help: str
) -> None:
    people, points = tmp_path / "people.csv", tmp_path / "points.npz"
    people.write_text("person,sex,age\n" + "".join(f"{person},{'fm'[person % 2]},{person}\n" for person in range(40)))
    np.savez(points, points=np.random.default_rng(0).normal(size=(40, 3)), persn=np.arange(40))
    refused(equipoise("compare", points, points, "--embedding", "points", "--rows", people, *options), help)


@pytest.mark.parametrize("second", [("--favorable", "<=50K"), ("--favorable=<=50K",)])
def test_two_spellings_with_different_values_are_refused(
    equipoise: Program, people: Path, second: tuple[str, ...]
) -> None:
    told = "--favourable and --favorable were given with different values"
    refused(equipoise("audit", people, *ASK, *second), told, "help: leave one out")


def test_two_spellings_with_the_same_value_are_taken(equipoise: Program, people: Path) -> None:
    assert equipoise("audit", people, *ASK, "--favorable", ">50K").code == 0
