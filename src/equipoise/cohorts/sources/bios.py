"""Bias in Bios: the profession of people from their biographies, in embeddings or in words (paper 001)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import Source, find_file
from equipoise.cohorts._text import ENCODER, with_text
from equipoise.cohorts.sources._reading import read_sheet
from equipoise.cohorts.sources._split_files import PARQUET, named, read_split_files
from equipoise.foundation import BadInput, cohort, unknown_name

Representation = Literal["mean", "cls", "text"]
POINTS = {"mean": "bert_avg_SE", "cls": "bert_cls_SE"}
TEXT, CLASS, GENDER = "hard_text", "profession_class", "gender_class"
PATTERN = "bios_{split}_df"
FILES = tuple(f"{PATTERN.format(split='train')}{ending}" for ending in (PARQUET, ".pkl"))
SHEETS = ("bios_sample.csv", "bios_sample.csv.gz")
NAMES = (
    "accountant architect attorney chiropractor comedian composer dentist dietitian dj filmmaker interior_designer "
    "journalist model nurse painter paralegal pastor personal_trainer photographer physician poet professor "
    "psychologist rapper software_engineer surgeon teacher yoga_teacher"
)
PROFESSIONS = tuple(NAMES.split())
GENDERS = ("male", "female")
SOURCE = Source(
    cohort="bios", files=(*FILES, *SHEETS),
    instructions="Make bios_train_df.pkl, bios_dev_df.pkl and bios_test_df.pkl with fairlib's script for Bios, or keep "
    f"biographies as {SHEETS[0]} with the columns {TEXT}, profession and gender.",
)  # fmt: skip

DATASHEET = """\
Biographies from web pages (Common Crawl), the profession that each begins with as the class, and the gender that its
pronouns say. The first sentence, which names the profession, is cut off.
{features}Source: De-Arteaga et al. 2019; the files with embeddings as Han et al. 2022 used them.
Licence: not stated; the recipe is MIT, and the texts belong to those who wrote them.
Contested: gender is read off the pronouns as one of two. Whoever has a biography on the web in English is no sample of
a profession, and the texts are about living people, who were not asked.
"""
FEATURES = {
    "mean": "The features are the mean of BERT's last layer, padding included (the default of fairlib's loader).",
    "cls": "The features are BERT's [CLS] vector (what Han et al. 2022 say they used).",
}


@cohort("bios", paper="De-Arteaga et al. 2019", licence="not stated")
def bios(
    path: str | os.PathLike[str] | None = None,
    *,
    representation: Representation | None = None,
    encoder: str = ENCODER,
    professions: str | Sequence[str] | None = None,
) -> Cohort:
    """Bias in Bios: professions from biographies, as embeddings of BERT or of a sentence encoder. Local copies only."""
    if representation is not None and representation not in get_args(Representation):
        raise unknown_name("representation", representation, get_args(Representation), "the cohort 'bios'")
    file = find_file(SOURCE, path)
    chosen = _chosen(professions)
    if file.name.removesuffix(".gz").endswith(".csv"):
        return _of_words(file, representation, encoder, chosen)
    if file.name not in FILES:
        raise BadInput(f"{file.name} is not a readable file of Bios", available=", ".join(SOURCE.files))
    if representation == "text":
        raise BadInput(
            f"The representation 'text' is asked of {file.name}",
            available='"mean" and "cls", the embeddings that the file has',
            help=f"texts are read from {SHEETS[0]}.",
        )
    points = POINTS[representation or "mean"]
    columns = read_split_files(file, PATTERN + file.suffix, points, [CLASS, GENDER], SOURCE.instructions)
    profession = named(columns[CLASS], PROFESSIONS, "profession_class")
    gender = named(columns[GENDER], GENDERS, "gender_class", ("m", "f"))
    return _cohort(
        {points: columns[points], "profession": profession, "gender": gender, "split": columns["split"]},
        points, FEATURES[representation or "mean"], chosen, split="split",
    )  # fmt: skip


def _of_words(file: Path, representation: str | None, encoder: str, chosen: tuple[str, ...]) -> Cohort:
    if representation not in (None, "text"):
        raise BadInput(
            f"The representation {representation!r} is asked of {file.name}, which has texts and no embeddings",
            available='"text", embedded by a sentence encoder',
            help=SOURCE.instructions,
        )
    sheet = read_sheet(file, SOURCE.cohort, needed=[TEXT, "profession", "gender"])
    columns = {
        TEXT: sheet.words(TEXT),
        "profession": sheet.words("profession"),
        "gender": np.array([str(word).lower() for word in sheet.words("gender")], dtype=object),
    }
    said = f"The features are embeddings of the texts by the sentence encoder {encoder}."
    return with_text(_cohort(columns, TEXT, said, chosen), TEXT, encoder=encoder)


def _cohort(
    columns: dict[str, NDArray[Any]], feature: str, said: str, chosen: tuple[str, ...], split: str | None = None
) -> Cohort:
    if chosen:
        kept = np.isin(columns["profession"].astype(str), chosen)
        absent = sorted(set(chosen) - set(columns["profession"][kept].tolist()))
        if absent:
            raise BadInput(f"No biography is of the profession {absent[0]!r}", help="leave it out of professions.")
        columns = {name: column[kept] for name, column in columns.items()}
    return Cohort(
        name="bios", columns=columns, target="profession", groups=("gender",), features=(feature,), split=split,
        datasheet=DATASHEET.format(features=f"{said}\n"),
    )  # fmt: skip


def _chosen(professions: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the professions to keep, also from one text such as "nurse, surgeon"."""
    given = professions.split(",") if isinstance(professions, str) else list(professions or ())
    names = tuple(name.strip() for name in given)
    for name in names:
        if name not in PROFESSIONS:
            raise unknown_name("profession", name, PROFESSIONS, "Bios")
    if len(set(names)) == 1:
        raise BadInput(f"Only the profession {names[0]!r} is asked for", available="two professions or more, or all")
    return names
