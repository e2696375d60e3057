"""Makes src/equipoise/cohorts/data/adult.parquet from UCI's adult.data and adult.test.

Run it as: python tools/make_adult.py FOLDER, where the folder holds adult.data(.gz) and adult.test(.gz).
The model whose predictions are bundled is gradient boosting on the train split. It is never shown sex or race, and is
otherwise ordinary: what the demo finds is what such a model does.
"""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import OrdinalEncoder

NAMES = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race",
    "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip
NUMBERS = ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
INPUTS = [name for name in NAMES if name not in ("sex", "race", "income", "fnlwgt")]
OUTPUT = Path(__file__).parent.parent / "src/equipoise/cohorts/data/adult.parquet"


def rows_of(folder: Path, name: str) -> list[list[str]]:
    """Read one of UCI's files: no header, a blank after each comma, a full stop after the test labels."""
    path = folder / f"{name}.gz"
    content = gzip.decompress(path.read_bytes()) if path.exists() else (folder / name).read_bytes()
    rows = [[cell.strip().rstrip(".") for cell in row] for row in csv.reader(content.decode().splitlines())]
    return [row for row in rows if len(row) == len(NAMES)]


def main(folder: Path) -> None:
    """Read, train, predict, write."""
    train, test = rows_of(folder, "adult.data"), rows_of(folder, "adult.test")
    assert (len(train), len(test)) == (32_561, 16_281)
    table = dict(zip(NAMES, map(list, zip(*train, *test, strict=True)), strict=True))
    columns: dict[str, list[object]] = {
        name: [int(v) for v in values] if name in NUMBERS else [None if v == "?" else v for v in values]
        for name, values in table.items()
    }
    columns["split"] = ["train"] * len(train) + ["test"] * len(test)
    score = scores_of(columns, len(train))
    columns["predicted"] = [">50K" if value >= 0.5 else "<=50K" for value in score]
    columns["score"] = score.tolist()
    arrow = pa.table(columns)
    types = {name: "SMALLINT" if name != "fnlwgt" else "INTEGER" for name in NUMBERS}
    types["capital_gain"] = "INTEGER"
    chosen = ", ".join(f'"{n}"::{types[n]} AS "{n}"' if n in types else f'"{n}"' for n in columns)
    OUTPUT.parent.mkdir(exist_ok=True)
    connection = duckdb.connect()
    connection.register("adult", arrow)
    connection.execute("SET threads = 1")
    connection.execute(
        f"COPY (SELECT {chosen} FROM adult) TO '{OUTPUT}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)"
    )
    print(f"{OUTPUT}: {OUTPUT.stat().st_size:,} bytes, {arrow.num_rows:,} rows")


def scores_of(columns: dict[str, list[object]], trained: int) -> np.ndarray:
    """Return the probability of an income over 50K, to four decimals."""
    words = [name for name in INPUTS if name not in NUMBERS]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    text = np.array([["?" if v is None else v for v in columns[name]] for name in words], dtype=object).T
    codes = encoder.fit(text[:trained]).transform(text)
    numbers = np.array([columns[name] for name in INPUTS if name in NUMBERS], dtype=float).T
    inputs = np.hstack([codes, numbers])
    model = HistGradientBoostingClassifier(categorical_features=list(range(len(words))), random_state=0, max_iter=150)
    model.fit(inputs[:trained], np.array(columns["income"][:trained]) == ">50K")
    return np.round(model.predict_proba(inputs)[:, 1], 4)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
