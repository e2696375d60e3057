"""COMPAS: the risk scores of Broward County's defendants and whether they were charged again within two years."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.sources._reading import Sheet, read_sheet
from equipoise.foundation import cohort

SOURCE = Source(
    cohort="compas",
    files=("compas-scores-two-years.csv", "compas-scores-two-years.csv.gz"),
    instructions="Get compas-scores-two-years.csv from github.com/propublica/compas-analysis.",
    url="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
    sha256="c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
)

DATASHEET = """\
Defendants of Broward County, Florida, screened with COMPAS in 2013 and 2014: 7,214 people, of whom 6,172 remain after
ProPublica's filter. The target two_year_recid is 1 for a new charge within two years, so the favourable class is 0;
decile_score (1 to 10) is high for people thought likely to return, and predicted is 1 for a Medium or High score.
Source: ProPublica, compas-analysis. Licence: not stated. Names, birth dates and case numbers are never kept.
Contested: the label records arrests and charges, not crimes, and policing differs by race and place (Bao et al. 2021).
ProPublica applied its two-year cut-off only to people without a new charge, which lifts the rate of new charges from
36.2% to 45.1% (Barenstein 2019). Unequal error rates (ProPublica) and similar predictive values (the vendor) were
both argued from these rows. Native Americans (11 after the filter) and Asians (31) are too few for firm statements.
"""

GROUPS = ("race", "sex", "age_cat")
COUNTS = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
TARGET = "two_year_recid"
PREDICTED = {"Low": 0, "Medium": 1, "High": 1, "N/A": None}
# Read for the filter only: is_recid says nearly the same as the target and must not be learnt from.
FILTER = ("days_b_screening_arrest", "is_recid")


@cohort("compas", paper="Angwin et al. 2016", licence="not stated")
def compas(path: str | os.PathLike[str] | None = None, *, download: bool = False, all_rows: bool = False) -> Cohort:
    """COMPAS risk scores and two-year recidivism (ProPublica). Pass all_rows=True to skip ProPublica's filter."""
    file = find_file(SOURCE, path, download=download)
    texts = (*GROUPS, "c_charge_degree", "score_text")
    sheet = read_sheet(file, SOURCE.cohort, [*texts, *COUNTS, "decile_score", TARGET, *FILTER])
    people = Cohort(
        name="compas",
        columns={
            **{name: sheet.words(name) for name in texts},
            **{name: sheet.whole_numbers(name) for name in (*COUNTS, "decile_score")},
            TARGET: sheet.zeros_and_ones(TARGET),
            "predicted": sheet.decoded("score_text", PREDICTED),
        },
        target=TARGET,
        groups=GROUPS,
        features=(*COUNTS, "c_charge_degree"),
        favourable="0",
        prediction="predicted",
        score="decile_score",
        score_class="1",
        datasheet=DATASHEET,
    )
    return people if all_rows else people.take(_analysed_rows(sheet))


def _analysed_rows(sheet: Sheet) -> NDArray[np.bool_]:
    """Mark the rows ProPublica analysed: a score of the same arrest, a known outcome, a charge that can mean jail."""
    near = np.abs(sheet.numbers("days_b_screening_arrest")) <= 30  # a missing one is not near
    has_outcome = sheet.whole_numbers("is_recid") != -1
    serious = sheet.words("c_charge_degree") != "O"
    scored = sheet.words("score_text") != "N/A"
    analysed: NDArray[np.bool_] = near & has_outcome & serious & scored
    return analysed
