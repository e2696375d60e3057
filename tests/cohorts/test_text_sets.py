"""Moji, Bios and Valence: small files of the published layouts, and files that are not what they say."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from equipoise.cohorts import load
from equipoise.cohorts.sources.bios import PROFESSIONS
from equipoise.foundation import BadInput, registry, sentence_encoder
from equipoise.studies import read_plan
from equipoise.testing import check

SPLITS = ("train", "dev", "test")
ROWS = {"train": 12, "dev": 4, "test": 6}


def check_datasheet(text: str) -> None:
    for word in ("Source:", "Licence: not stated", "Contested:"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 130


def write_frames(folder: Path, pattern: str, columns: Any, ending: str = ".pkl", protocol: int = 4) -> None:
    """Write a file per split, as pandas before 3 pickled it, or as Parquet."""
    for split in SPLITS:
        values = columns(split)
        path = folder / f"{pattern.format(split=split)}{ending}"
        if ending == ".parquet":
            pd.DataFrame(values).to_parquet(path)
            continue
        kinds = {name: object if isinstance(column, list) else None for name, column in values.items()}
        table = pd.DataFrame({name: pd.Series(column, dtype=kinds[name]) for name, column in values.items()})
        table.columns = pd.Index(list(values), dtype=object)
        path.write_bytes(pickle.dumps(table, protocol=protocol))


# Moji.

CELLS = {"pos_pos": 1, "pos_neg": 2, "neg_pos": 3, "neg_neg": 4}


def write_moji(folder: Path, train: int = 10, other: int = 2, width: int = 5) -> None:
    """Rows that say which cell they are of and which row of its file: 100 * cell + row."""
    for split in SPLITS:
        (folder / split).mkdir(parents=True)
        for name, cell in CELLS.items():
            rows = train if split == "train" else other
            values = 100.0 * cell + np.arange(rows)
            np.save(folder / split / f"{name}.npy", np.repeat(values[:, None], width, axis=1))


def test_moji_takes_the_first_rows_of_each_file_in_the_shares_of_the_paper(tmp_path: Path) -> None:
    write_moji(tmp_path)
    cohort = load("moji", path=tmp_path, rows=20)
    train = cohort.where("train")
    assert train["features"][:, 0].tolist() == [
        *range(100, 108), *range(200, 202), *range(300, 302), *range(400, 408)
    ]  # fmt: skip
    assert cohort["features"].dtype == np.float32
    assert train["sentiment"].tolist() == ["happy"] * 10 + ["sad"] * 10
    assert train["dialect"].tolist() == ["AAE"] * 8 + ["SAE"] * 2 + ["AAE"] * 2 + ["SAE"] * 8
    for split in ("dev", "test"):
        part = cohort.where(split)
        assert part["features"][:, 0].tolist() == [100, 101, 200, 201, 300, 301, 400, 401]
        assert part["dialect"].tolist() == ["AAE", "AAE", "SAE", "SAE"] * 2
    assert (cohort.target, cohort.groups, cohort.features) == ("sentiment", ("dialect",), ("features",))
    assert (
        "Here 20 rows are to train on, a share of 0.8 of them stereotyped; 8 are to select and 8 to" in cohort.datasheet
    )
    check_datasheet(cohort.datasheet)
    check("cohort", "moji", path=tmp_path, rows=20)


def test_moji_is_balanced_where_that_is_asked_for(tmp_path: Path) -> None:
    write_moji(tmp_path)
    train = load("moji", path=tmp_path, rows=16, stereotyping=0.5).where("train")
    assert train["features"][:, 0].tolist() == [100 * cell + row for cell in CELLS.values() for row in range(4)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"(?s)train/pos_pos.npy .* has 10 rows, and 40,000 are asked.*rows = 25 takes all"),
        ({"rows": 28}, r"rows = 25 takes all of this file with stereotyping = 0.8"),
        ({"rows": 2}, "rows is 2"),
        ({"rows": 20, "stereotyping": 1.0}, "stereotyping is 1.0"),
        ({"rows": 20, "stereotyping": True}, "stereotyping is True"),
    ],
)
def test_shares_that_the_files_of_moji_do_not_have_are_refused(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    write_moji(tmp_path)
    with pytest.raises(BadInput, match=words):
        load("moji", path=tmp_path, **options)


@pytest.mark.parametrize("damage", ["missing", "other width", "one axis", "objects", "not finite", "cut", "other file"])
def test_files_of_moji_that_are_not_as_they_say_are_refused(damage: str, tmp_path: Path) -> None:
    write_moji(tmp_path)
    file, path = tmp_path / "dev" / "neg_pos.npy", tmp_path
    words = {
        "missing": "lacks dev/neg_pos.npy", "other width": r"have \[4, 5\] columns", "one axis": r"of the shape \(2,\)",
        "objects": "refused: it holds pickled", "not finite": "not finite", "cut": "neg_pos.npy is truncated",
        "other file": "neg_pos.npy is not the folder of Moji",
    }[damage]  # fmt: skip
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    elif damage == "other file":
        path = file
    else:
        arrays = {
            "other width": np.zeros((2, 4)), "one axis": np.zeros(2), "objects": np.array([[{}]], dtype=object),
            "not finite": np.full((2, 5), np.nan),
        }  # fmt: skip
        np.save(file, arrays[damage])
    with pytest.raises(BadInput, match=words):
        load("moji", path=path, rows=20)


# Bios.


def bios_columns(split: str) -> dict[str, Any]:
    rows = ROWS[split]
    draw = np.random.default_rng(rows)
    number = np.arange(rows) % 3 * 13
    return {
        "hard_text": [f"She works {row}." for row in range(rows)],
        "bert_avg_SE": list(draw.normal(size=(rows, 6)).astype(np.float32)),
        "bert_cls_SE": list(draw.normal(size=(rows, 6)).astype(np.float32)),
        "p": [PROFESSIONS[code] for code in number],
        "g": ["f" if row % 2 else "m" for row in range(rows)],
        "profession_class": number,
        "gender_class": np.arange(rows) % 2,
    }


def with_letters(columns: dict[str, Any]) -> dict[str, Any]:
    return {**columns, "gender_class": ["f" if code else "m" for code in columns["gender_class"]]}


@pytest.mark.parametrize("ending", [".pkl", ".parquet"])
@pytest.mark.parametrize("representation", ["mean", "cls"])
def test_bios_has_the_vectors_professions_and_genders_of_the_three_files(
    ending: str, representation: Any, tmp_path: Path
) -> None:
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    write_frames(tmp_path, "bios_{split}_df", bios_columns, ending)
    cohort = load("bios", path=tmp_path, representation=representation)
    column = {"mean": "bert_avg_SE", "cls": "bert_cls_SE"}[representation]
    expected = {split: bios_columns(split) for split in SPLITS}
    assert cohort.features == (column,)
    assert np.array_equal(cohort[column], np.concatenate([expected[split][column] for split in SPLITS]))
    assert cohort["profession"].tolist() == [name for split in SPLITS for name in expected[split]["p"]]
    assert cohort["gender"].tolist() == [
        {"m": "male", "f": "female"}[letter] for split in SPLITS for letter in expected[split]["g"]
    ]
    assert cohort["split"].tolist() == [split for split in SPLITS for _ in range(ROWS[split])]
    assert (cohort.target, cohort.groups, cohort.split) == ("profession", ("gender",), "split")
    check_datasheet(cohort.datasheet)
    check("cohort", "bios", path=tmp_path, representation=representation)


def test_bios_takes_the_mean_by_default_and_genders_as_letters(tmp_path: Path) -> None:
    write_frames(tmp_path, "bios_{split}_df", lambda split: with_letters(bios_columns(split)), protocol=2)
    cohort = load("bios", path=tmp_path / "bios_train_df.pkl")
    assert cohort.features == ("bert_avg_SE",)
    assert cohort["gender"][:4].tolist() == ["male", "female", "male", "female"]


def test_there_are_28_professions_in_the_order_of_their_numbers() -> None:
    assert len(PROFESSIONS) == 28
    assert list(PROFESSIONS) == sorted(PROFESSIONS)


def test_bios_is_kept_to_some_professions(tmp_path: Path) -> None:
    write_frames(tmp_path, "bios_{split}_df", bios_columns)
    every = load("bios", path=tmp_path)
    some = load("bios", path=tmp_path, professions="nurse , accountant")
    kept = np.isin(every["profession"].astype(str), ["nurse", "accountant"])
    assert 0 < kept.sum() < len(every)
    assert np.array_equal(some["bert_avg_SE"], every["bert_avg_SE"][kept])
    assert load("bios", path=tmp_path, professions=["nurse", "accountant"])["profession"].tolist() == (
        some["profession"].tolist()
    )
    with pytest.raises(BadInput, match="did you mean 'nurse'"):
        load("bios", path=tmp_path, professions="nurs, accountant")
    with pytest.raises(BadInput, match="No biography is of the profession 'dj'"):
        load("bios", path=tmp_path, professions="dj, accountant")
    with pytest.raises(BadInput, match="Only the profession 'nurse'"):
        load("bios", path=tmp_path, professions="nurse")


def bad(**changed: Any) -> Any:
    def columns(split: str) -> dict[str, Any]:
        good = bios_columns(split)
        return {**good, **{name: change(good[name]) for name, change in changed.items()}}

    return columns


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (bad(profession_class=lambda codes: codes + 2), r"profession_class '28'"),
        (bad(gender_class=lambda codes: codes + 0.5), r"(?s)gender_class '0.5'.*0 to 1, or m, f"),
        (bad(bert_avg_SE=lambda rows: [row[: 5 + index % 2] for index, row in enumerate(rows)]), "rows have 5, 6"),
        (bad(bert_avg_SE=lambda rows: [row * np.nan for row in rows]), "not finite"),
        (bad(bert_avg_SE=lambda rows: ["a"] * len(rows)), "'bert_avg_SE' of bios_train_df.pkl holds object"),
        (bad(bert_avg_SE=lambda rows: [row[:len(rows) // 3] for row in rows]), "different numbers of dimensions"),
        (lambda split: {"bert_avg_SE": [[1.0]], "gender_class": [0]}, "column 'profession_class' not found"),
    ],
)  # fmt: skip
def test_files_of_bios_that_are_not_as_they_say_are_refused(columns: Any, words: str, tmp_path: Path) -> None:
    write_frames(tmp_path, "bios_{split}_df", columns)
    with pytest.raises(BadInput, match=words):
        load("bios", path=tmp_path)


def test_a_split_of_bios_that_is_missing_is_named(tmp_path: Path) -> None:
    write_frames(tmp_path, "bios_{split}_df", bios_columns)
    (tmp_path / "bios_dev_df.pkl").unlink()
    with pytest.raises(BadInput, match=r"(?s)lacks 'bios_dev_df.pkl'.*train, dev, test"):
        load("bios", path=tmp_path)
    with pytest.raises(BadInput, match=r"bios_test_df\.pkl is not a readable file of Bios"):
        load("bios", path=tmp_path / "bios_test_df.pkl")


def test_a_hostile_file_among_those_of_bios_runs_nothing(tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'marker'}",)

    write_frames(tmp_path, "bios_{split}_df", bios_columns)
    write_frames(tmp_path, "valence_arousal_{split}_0", valence_columns, ".pickle")
    for name, cohort in (("bios_dev_df.pkl", "bios"), ("valence_arousal_test_0.pickle", "valence_arousal")):
        (tmp_path / name).write_bytes(pickle.dumps(Hostile()))
        with pytest.raises(BadInput, match=rf"The pickle {name} names 'posix.system'"):
            load(cohort, path=tmp_path)
    assert not (tmp_path / "marker").exists()


# Bios in words.

SHEET = """hard_text,profession,gender
She keeps the books of two shops.,accountant,Female
"He adds, and adds again.",accountant,Male
She operates on hearts.,surgeon,Female
He operates on knees.,surgeon,Male
"""


def test_biographies_in_words_are_embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "_entries", {kind: dict(found) for kind, found in registry._entries.items()})

    @sentence_encoder("lengths_of_texts", paper="none", version="1")
    def lengths_of_texts(texts: Any) -> Any:
        """How long a text is."""
        return np.array([[len(text), 1.0] for text in texts])

    (tmp_path / "bios_sample.csv").write_text(SHEET, encoding="utf-8")
    options = {"path": tmp_path, "encoder": "lengths_of_texts"}
    cohort = load("bios", **options)
    assert cohort.features == ("hard_text_embedding",)
    assert cohort["hard_text_embedding"][:, 0].tolist() == [len(text) for text in cohort["hard_text"]]
    assert cohort["gender"].tolist() == ["female", "male", "female", "male"]
    assert "sentence encoder lengths_of_texts" in cohort.datasheet
    check("cohort", "bios", **options)
    with pytest.raises(BadInput, match=r"(?s)'cls' is asked of bios_sample.csv, which has texts"):
        load("bios", representation="cls", **options)
    write_frames(tmp_path, "bios_{split}_df", bios_columns)
    with pytest.raises(BadInput, match=r"'text' is asked of bios_train_df\.pkl"):
        load("bios", path=tmp_path, representation="text")
    with pytest.raises(BadInput, match="did you mean 'mean'"):
        load("bios", path=tmp_path, representation="means")


# Valence.


def valence_columns(split: str) -> dict[str, Any]:
    rows = ROWS[split]
    draw = np.random.default_rng(rows)
    return {
        "text": ["word"] * rows, "cls": list(draw.normal(size=(rows, 4))), "valence": draw.uniform(1, 9, rows),
        "gender": np.arange(rows) % 2,
    }  # fmt: skip


def test_valence_is_a_regression_of_the_fold_asked_for(tmp_path: Path) -> None:
    write_frames(tmp_path, "valence_arousal_{split}_0", valence_columns, ".pickle")
    write_frames(
        tmp_path, "valence_arousal_{split}_3",
        lambda split: {**valence_columns(split), "valence": np.full(ROWS[split], 3.0)}, ".pickle",
    )  # fmt: skip
    cohort = load("valence_arousal", path=tmp_path)
    expected = [valence_columns(split) for split in SPLITS]
    assert cohort["valence"].tolist() == np.concatenate([part["valence"] for part in expected]).tolist()
    assert np.allclose(cohort["cls"], np.concatenate([part["cls"] for part in expected]))
    assert cohort["gender"].tolist() == ["0", "1"] * 11
    assert cohort.task == "regression"
    assert set(load("valence_arousal", path=tmp_path, fold=3)["valence"].tolist()) == {3.0}
    check_datasheet(cohort.datasheet)
    check("cohort", "valence_arousal", path=tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fold": -1}, "fold is -1"),
        ({"fold": True}, "fold is True"),
        ({"fold": 2}, "There is no valence_arousal file"),
    ],
)
def test_a_fold_that_is_not_there_is_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_frames(tmp_path, "valence_arousal_{split}_0", valence_columns, ".pickle")
    with pytest.raises(BadInput, match=words):
        load("valence_arousal", path=tmp_path, **options)
    with pytest.raises(BadInput, match="is not a file of fold 1"):
        load("valence_arousal", path=tmp_path / "valence_arousal_train_0.pickle", fold=1)


def test_valence_that_is_no_number_is_refused(tmp_path: Path) -> None:
    def columns(split: str) -> dict[str, Any]:
        return {**valence_columns(split), "valence": ["high"] * ROWS[split]}

    write_frames(tmp_path, "valence_arousal_{split}_0", columns, ".pickle")
    with pytest.raises(BadInput, match=r"'valence' must be numbers.*'high'"):
        load("valence_arousal", path=tmp_path)


def test_plans_name_these_cohorts_with_their_options(tmp_path: Path) -> None:
    write_frames(tmp_path, "bios_{split}_df", bios_columns)
    plan = tmp_path / "plan.toml"
    options = 'representation = "cls", professions = "nurse, accountant"'
    plan.write_text(f'[cohort]\nname = "bios"\npath = "."\noptions = {{ {options} }}\n', encoding="utf-8")
    assert set(read_plan(plan).cohort()["profession"].tolist()) == {"nurse", "accountant"}
