"""Law school: who of the students that began in 1991 passed the bar examination."""

from __future__ import annotations

import os

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.sources._reading import read_sheet
from equipoise.foundation import cohort

SOURCE = Source(
    cohort="law_school",
    files=("law_school_clean.csv", "law_school_clean.csv.gz"),
    instructions="Get law_school_clean.csv from github.com/tailequy/fairness_dataset, folder experiments/data.",
    url="https://raw.githubusercontent.com/tailequy/fairness_dataset/main/experiments/data/law_school_clean.csv",
    sha256="23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452",
)

DATASHEET = """\
Students who entered law schools of the USA in 1991: 20,798 rows with test scores, grades and pass_bar (1: passed).
Source: Wightman, LSAC National Longitudinal Bar Passage Study 1998, as cleaned by Le Quy et al. 2022.
Licence: not stated. male is 1 for men and 0 for women; fulltime is 1 for full time and 2 for part time.
Contested: the cleaning merged every race but White into Non-White (3,307 rows), which hides that the groups inside it
fared very differently, and dropped rows with missing values. 89% pass here although the study reports that 94.8%
passed in the end, so the label seems to be the first attempt. zfygpa, zgpa, decile1b and decile3 are grades earned
during law school: they are not known at admission. A cohort of 1991 says little about today's.
"""

TARGET = "pass_bar"
NUMBERS = ("decile1b", "decile3", "lsat", "ugpa", "zfygpa", "zgpa", "fulltime", "fam_inc", "tier")


@cohort("law_school", paper="Wightman 1998", licence="not stated")
def law_school(path: str | os.PathLike[str] | None = None, *, download: bool = False) -> Cohort:
    """Law students who began in 1991 and whether they passed the bar examination (LSAC)."""
    file = find_file(SOURCE, path, download=download)
    sheet = read_sheet(file, SOURCE.cohort, [*NUMBERS, "race", "male", TARGET])
    return Cohort(
        name="law_school",
        columns={
            **{name: sheet.numbers(name) for name in NUMBERS},
            "race": sheet.words("race"),
            "male": sheet.zeros_and_ones("male"),
            TARGET: sheet.zeros_and_ones(TARGET),
        },
        target=TARGET,
        groups=("race", "male"),
        features=NUMBERS,
        favourable="1",
        datasheet=DATASHEET,
    )
