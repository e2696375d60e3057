"""Adult: the bundled census cohort, with a trained model's predictions and scores beside it."""

from __future__ import annotations

from importlib import resources

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import read_columns
from equipoise.foundation import cohort

DATASHEET = """
48,842 people of the 1994 United States census (32,561 train, 16,281 test): does a person earn more than 50,000 dollars?
Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository, doi 10.24432/C5XW20. CC BY 4.0.
Changed here: a blank for "?"; a split column; the predictions and scores of a gradient boosting model that was trained
on the train split without sex and race (its predictions on the train rows are on rows it has seen).

What is contested. The threshold of 50,000 dollars sits at the 76th percentile, so the favourable class is rare, rarer
still for women and Black people, and measured gaps depend strongly on where it is put (Ding et al., "Retiring Adult",
2021). The data are of 1994 and of one country. Sex has two values and race five, as an interviewer's form had them.
fnlwgt is a sampling weight that is often used as a feature by mistake. `relationship` (husband, wife) names a person's
sex, so leaving out the sex column hides nothing. People of 16 and under, with no work or no income are left out.
It is here because everybody knows it and it is free to share, not because decisions should be learnt from it.
""".strip()

FEATURES = (
    "age", "workclass", "education", "education_num", "marital_status", "occupation", "relationship", "capital_gain",
    "capital_loss", "hours_per_week", "native_country",
)  # fmt: skip


def adult_file() -> str:
    """Return the path of the bundled Parquet file."""
    return str(resources.files("equipoise.cohorts") / "data" / "adult.parquet")


@cohort("adult", paper="Becker and Kohavi 1996", licence="CC BY 4.0", bundled=True)
def adult() -> Cohort:
    """Census income of 48,842 people, bundled: income by sex and race, with a model's predictions and scores."""
    return Cohort(
        name="adult",
        columns=read_columns(adult_file()),
        target="income",
        groups=("sex", "race"),
        features=FEATURES,
        favourable=">50K",
        split="split",
        prediction="predicted",
        score="score",
        datasheet=DATASHEET,
    )
