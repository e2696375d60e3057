"""Valence: how pleasant the posts of people on Facebook are, a regression (paper 001)."""

from __future__ import annotations

import os

import numpy as np

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import Source, find_file
from equipoise.cohorts.sources._split_files import PARQUET, read_split_files
from equipoise.foundation import BadInput, as_floats, cohort
from equipoise.tallies import label_of

POINTS, TARGET, GROUP = "cls", "valence", "gender"
ENDINGS = (PARQUET, ".pickle")
INSTRUCTIONS = (
    "The files are not published: ask the authors for the posts, and keep valence_arousal_{split}_{fold}.pickle with "
    "the columns cls, valence and gender for train, dev and test."
)

DATASHEET = """\
Posts on Facebook as BERT's [CLS] vector, and how pleasant two raters found each (valence, 1 to 9), in five folds.
{fold}Groups: gender, of the person who wrote, as the number in the file; the layout does not say which is which.
Source: Preotiuc-Pietro et al. 2016, in the layout that Han et al. 2022 used. Licence: not stated; the published posts
without gender are GPL-3.0.
Contested: valence is two raters' impression, on which they do not always agree. The people who shared their posts with
researchers are no sample of anybody. The files used by Han et al. 2022 are not distributed.
"""


@cohort("valence_arousal", paper="Preotiuc-Pietro et al. 2016", licence="not stated")
def valence_arousal(path: str | os.PathLike[str] | None = None, *, fold: int = 0) -> Cohort:
    """How pleasant posts on Facebook are, by the gender of their authors, a regression. Local copies only.

    ``fold`` is the number in the names of the files.
    """
    if isinstance(fold, bool) or not isinstance(fold, int) or fold < 0:
        raise BadInput(f"fold is {fold!r}", available="the number in the names of the files, from 0 on")
    pattern = f"valence_arousal_{{split}}_{fold}"
    source = Source(
        cohort="valence_arousal",
        files=tuple(f"{pattern.format(split='train')}{ending}" for ending in ENDINGS),
        instructions=INSTRUCTIONS,
    )
    file = find_file(source, path)
    if file.name not in source.files:
        raise BadInput(
            f"{file.name} is not a file of fold {fold}", available=" or ".join(source.files), help=INSTRUCTIONS
        )
    columns = read_split_files(file, pattern + file.suffix, POINTS, [TARGET, GROUP], INSTRUCTIONS)
    return Cohort(
        name="valence_arousal",
        columns={
            POINTS: columns[POINTS],
            TARGET: as_floats(columns[TARGET], f"the column {TARGET!r}"),
            GROUP: np.array([label_of(value) for value in columns[GROUP].tolist()], dtype=object),
            "split": columns["split"],
        },
        target=TARGET,
        groups=(GROUP,),
        features=(POINTS,),
        split="split",
        task="regression",
        datasheet=DATASHEET.format(fold=f"This is fold {fold}.\n"),
    )
