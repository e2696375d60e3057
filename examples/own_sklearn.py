"""Put a scikit-learn model of your own on trial: with and without weights that balance the groups inside each class."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equipoise

NUMBERS = ["age", "education_num", "hours_per_week"]
WORDS = ["workclass", "occupation", "marital_status"]


def plain(cohort: equipoise.Cohort, seed: int) -> dict[str, Any]:
    return fitted(cohort, None)


def weighted(cohort: equipoise.Cohort, seed: int) -> dict[str, Any]:
    train = cohort.where("train")
    cells = np.char.add(train[cohort.target].astype(str), train["sex"].astype(str))
    names, counts = np.unique(cells, return_counts=True)
    return fitted(cohort, len(cells) / counts[np.searchsorted(names, cells)])


def fitted(cohort: equipoise.Cohort, weights: Any) -> dict[str, Any]:
    """Fit on the training rows, and return the probability of each class for dev and test rows."""
    encode = make_column_transformer(
        (StandardScaler(), slice(0, len(NUMBERS))),
        (OneHotEncoder(handle_unknown="ignore"), slice(len(NUMBERS), None)),
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=200))
    train = cohort.where("train")
    model.fit(inputs(train), train[cohort.target].astype(str), logisticregression__sample_weight=weights)
    return {split: model.predict_proba(inputs(cohort.where(split))) for split in ("dev", "test")}


def inputs(cohort: equipoise.Cohort) -> Any:
    return np.stack([cohort[name] for name in [*NUMBERS, *WORDS]], axis=1)


def main() -> None:
    study = equipoise.Study(
        equipoise.load("adult"), group="sex", dev=0.2, size=2_000, seeds=4, train=[plain, weighted], version=1,
        baseline="plain",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "own.db"  # keep it, and the next run trains only what is new
        result = study.run(store)
        status = study.status(store)
        print(f"{status.done} of {status.total} trials are done")
        print(result.words[0])


if __name__ == "__main__":
    main()
