"""ACSIncome: who earned over 50,000 dollars in one state of the USA in 2018, made to replace Adult."""

from __future__ import annotations

import os

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.sources._reading import read_sheet
from equipoise.foundation import cohort, unknown_name

DATASHEET = """\
Working people over 16 of one state of the USA, from the public micro-data of the American Community Survey 2018
(1 year). Colorado has 31,306 people and Nebraska 10,785. PINCP is 1 for an income over 50,000 dollars.
Source: made with folktables (Ding et al. 2021). Licence: not stated for the copies of Colorado and Nebraska; folktables
is MIT and the census data public domain. COW, MAR, OCCP, POBP and RELP are codes, not quantities.
Contested: the threshold of 50,000 is a habit taken over from Adult, and which one is chosen changes the gaps found. Sex
is asked as one of two, and race without Hispanic origin, which the census asks apart. The survey's weights are left
out, so shares here are those of the sample. One state does not represent another. Small groups (5 Alaska Natives in
Colorado) allow no firm statement.
"""

TARGET = "PINCP"
FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP")
SEX = {"1": "Male", "2": "Female"}
RACE = {
    "1": "White",
    "2": "Black or African American",
    "3": "American Indian",
    "4": "Alaska Native",
    "5": "American Indian or Alaska Native (both or not specified)",
    "6": "Asian",
    "7": "Native Hawaiian or Pacific Islander",
    "8": "Some other race",
    "9": "Two or more races",
}
CODES = (
    "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa "
    "ri sc sd tn tx ut vt va wa wv wi wy pr"
)
STATES = tuple(CODES.split())


@cohort("acs_income", paper="Ding et al. 2021", licence="not stated (census data: public domain)")
def acs_income(path: str | os.PathLike[str] | None = None, *, download: bool = False, state: str = "co") -> Cohort:
    """ACSIncome 2018 of one state, such as state="co" or state="ne" (folktables). Local copies only."""
    source = _source(state.lower())
    sheet = read_sheet(find_file(source, path, download=download), source.cohort, [*FEATURES, "SEX", "RAC1P", TARGET])
    return Cohort(
        name="acs_income",
        columns={
            **{name: sheet.whole_numbers(name) for name in FEATURES},
            "SEX": sheet.decoded("SEX", SEX),
            "RAC1P": sheet.decoded("RAC1P", RACE),
            TARGET: sheet.zeros_and_ones(TARGET),
        },
        target=TARGET,
        groups=("SEX", "RAC1P"),
        features=FEATURES,
        favourable="1",
        datasheet=f"State: {state.upper()}.\n{DATASHEET}",
    )


def _source(state: str) -> Source:
    """Say which file holds a state. There is no address: folktables builds the file from the census's own."""
    if state not in STATES:
        raise unknown_name("state", state, STATES, "ACSIncome")
    file = f"acsincome_{state}_2018.csv"
    return Source(
        cohort="acs_income",
        files=(file, f"{file}.gz"),
        instructions=(
            "Make it with the package folktables: get the 2018 1-Year person survey of the state "
            f"({state.upper()}) from ACSDataSource, pass it to ACSIncome.df_to_pandas, and save the features with the "
            f"label as {file}."
        ),
    )
