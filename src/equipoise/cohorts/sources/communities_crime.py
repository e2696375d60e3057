"""Communities and Crime: violent crime per head in communities of the USA, a regression."""

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
    cohort="communities_crime",
    files=("communities_crime.csv", "communities_crime.csv.gz"),
    instructions="Get communities_crime.csv from github.com/tailequy/fairness_dataset, folder experiments/data.",
    url="https://raw.githubusercontent.com/tailequy/fairness_dataset/main/experiments/data/communities_crime.csv",
    sha256="6ca7f7a9c71b7aa61b2b0a95769f296e8194ab212b1b2723f2017b8780492fa7",
)

DATASHEET = """\
1,994 communities of the USA: census figures of 1990, a police survey of 1990 and the crime reports of 1995, each scaled
by UCI to 0..1. The target ViolentCrimesPerPop is a number; rows are places, not people.
Source: Redmond and Baveja 2002 (UCI), as cleaned by Le Quy et al. 2022. Licence: not stated; UCI's original is
CC BY 4.0. The cleaned file's column class is the target cut at 0.7: it is left out, because a model given it is given
the answer.
Contested: Black is 1 (1,038 places, against 956) where the scaled racepctblack is at least 0.06, which is neither 6%
nor a majority, and racepctblack itself is among the features. Crime is what the police recorded. Places
without a usable count of rapes, many of them in the Midwest, were left out by UCI.
"""

TARGET = "ViolentCrimesPerPop"
GROUP = "Black"
PLACE_COLUMNS = ("state", "communityname", "fold")
LEAKS = "class"


@cohort("communities_crime", paper="Redmond and Baveja 2002", licence="not stated (UCI's original: CC BY 4.0)")
def communities_crime(path: str | os.PathLike[str] | None = None, *, download: bool = False) -> Cohort:
    """Violent crime per head in communities of the USA, a regression (UCI Communities and Crime)."""
    sheet = read_sheet(
        find_file(SOURCE, path, download=download), SOURCE.cohort, needed=[TARGET, GROUP, *PLACE_COLUMNS]
    )
    features = tuple(name for name in sheet.fields if name not in {TARGET, GROUP, LEAKS, *PLACE_COLUMNS})
    return Cohort(
        name="communities_crime",
        columns={
            **{name: sheet.words(name) for name in PLACE_COLUMNS},
            **{name: sheet.numbers(name) for name in (*features, TARGET)},
            GROUP: sheet.zeros_and_ones(GROUP),
        },
        target=TARGET,
        groups=(GROUP,),
        features=features,
        task="regression",
        datasheet=DATASHEET,
    )
