"""COMPAS and Adult, preprocessed as paper 003 says (AIF360's way): a few columns of 0 and 1, so few distinct people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import equipoise
from equipoise.foundation import distinct_rows, stream


@dataclass(frozen=True)
class People:
    """Rows, their label, the group that is debiased, and which rows the representation is learnt from."""

    name: str
    rows: np.ndarray
    label: np.ndarray
    protected: str
    attributes: dict[str, np.ndarray]
    unprivileged: str
    privileged: str
    train: np.ndarray
    rate: str  # what Table 2 shows of the label's class 1: precision for COMPAS, recall for Adult
    profiles: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "profiles", distinct_rows(self.rows)[1])

    @property
    def group(self) -> np.ndarray:
        """The protected attribute of each row."""
        return self.attributes[self.protected]


def _columns(values: Any) -> list[np.ndarray]:
    values = np.asarray(values)
    return [values == value for value in sorted(set(values.tolist()), key=str)]


def adult() -> People:
    """Sex, race (white or not), decade of age and years of education; the test split is the cohort's own."""
    cohort = equipoise.load("adult")
    decade = np.minimum(np.asarray(cohort["age"]) // 10, 7)
    years = np.clip(np.asarray(cohort["education_num"]), 5, 13)
    male, white = cohort["sex"] == "Male", cohort["race"] == "White"
    return People(
        name="adult",
        rows=np.column_stack([male, white, *_columns(decade), *_columns(years)]).astype(float),
        label=(cohort["income"] == ">50K").astype(int),
        protected="sex",
        attributes={"sex": np.where(male, "Male", "Female"), "race": np.where(white, "White", "Non-white")},
        unprivileged="Female",
        privileged="Male",
        train=cohort["split"] == "train",
        rate="true_positive_rate",
    )


def compas() -> People:
    """African-Americans and Caucasians: sex, race, age category, priors (0, 1 to 3, more) and degree of the charge."""
    cohort = equipoise.load("compas")
    cohort = cohort.take(np.isin(cohort["race"], ["African-American", "Caucasian"]))
    priors = np.digitize(np.asarray(cohort["priors_count"]), [1, 4])
    female, white = cohort["sex"] == "Female", cohort["race"] == "Caucasian"
    parts = [female, white, *_columns(cohort["age_cat"]), *_columns(priors), *_columns(cohort["c_charge_degree"])]
    return People(
        name="compas",
        rows=np.column_stack(parts).astype(float),
        label=np.asarray(cohort["two_year_recid"]).astype(int),
        protected="race",
        attributes={
            "race": np.where(white, "Caucasian", "Non-Caucasian"),
            "sex": np.where(female, "Female", "Male"),
        },
        unprivileged="Non-Caucasian",
        privileged="Caucasian",
        train=stream(0, "compas", "train").random(len(cohort)) < 0.7,
        rate="positive_predictive_value",
    )
