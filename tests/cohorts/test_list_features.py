"""Features in columns of lists and by pattern; what people pass as a cohort's columns, classes and groups."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import equipoise
from equipoise.cohorts import Cohort, open_embedding, open_table
from equipoise.foundation import BadInput
from equipoise.training import encode_dataset

ROWS = 90
GENERATOR = np.random.default_rng(0)
POINTS = GENERATOR.normal(size=(ROWS, 4)).astype(np.float32)
COLUMNS: dict[str, Any] = {
    "y": [place % 2 for place in range(ROWS)],
    "sex": ["f" if place % 5 < 2 else "m" for place in range(ROWS)],
    "split": [("train", "dev", "test")[place % 3] for place in range(ROWS)],
}
FRAMES = ["pandas lists", "pandas arrays", "polars", "polars array", "pyarrow", "parquet", "csv", "mapping"]


def made(kind: str, tmp_path: Path, points: list[Any] | None = None) -> Any:
    lists = POINTS.tolist() if points is None else points
    columns = {**COLUMNS, "z": lists}
    if kind == "mapping":
        return {**{name: np.array(values) for name, values in COLUMNS.items()}, "z": pd.Series(lists)}
    if kind == "pandas lists":
        return pd.DataFrame(columns)
    if kind == "pandas arrays":
        return pd.DataFrame({**COLUMNS, "z": [np.array(one) if one is not None else None for one in lists]})
    if kind == "pyarrow":
        return pa.table(columns)
    frame = pl.DataFrame(columns)
    if kind == "polars array":
        return frame.with_columns(pl.col("z").cast(pl.Array(pl.Float32, 4)))
    if kind == "polars":
        return frame
    frame.write_parquet(tmp_path / "people.parquet")
    return open_table(tmp_path / "people.parquet")


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != "csv"])
def test_a_column_of_lists_is_a_block_of_numeric_features(kind: str, tmp_path: Path) -> None:
    cohort = Cohort.from_frame(made(kind, tmp_path), target="y", groups=["sex"], split="split", favourable=1)
    assert cohort.features == ("z",)
    assert cohort["z"].shape == (ROWS, 4)
    np.testing.assert_allclose(cohort["z"], POINTS, rtol=1e-6)
    assert encode_dataset(cohort).train.inputs.shape == (ROWS // 3, 4)


@pytest.mark.parametrize("kind", ["pandas lists", "polars", "pyarrow", "parquet"])
@pytest.mark.parametrize("lists", [[[1.0], [1.0, 2.0]], [[1.0], None], [["a"], ["b"]]])
def test_lists_that_are_no_block_of_numbers_are_refused_with_what_to_do(
    kind: str, lists: list[Any], tmp_path: Path
) -> None:
    data = made(kind, tmp_path, lists * (ROWS // 2))
    with pytest.raises(BadInput, match=r"'z'.*\n.*\n.*features="):
        Cohort.from_frame(data, target="y", groups=["sex"])
    assert Cohort.from_frame(data, target="y", groups=["sex"], features=["split"]).features == ("split",)


def test_features_can_be_named_by_a_pattern() -> None:
    frame = pd.DataFrame({**COLUMNS, **{f"e{place}": POINTS[:, place] for place in range(4)}, "error": 1.0})
    cohort = Cohort.from_frame(frame, target="y", groups="sex", features="e*", weight="error")
    assert cohort.features == ("e0", "e1", "e2", "e3")
    assert Cohort.from_frame(frame, target="y", groups=["sex"], features=["e[12]", "e0", "e?"]).features == (
        "e1", "e2", "e0", "e3",
    )  # fmt: skip
    with pytest.raises(BadInput, match="matches 'x\\*'"):
        Cohort.from_frame(frame, target="y", groups=["sex"], features="x*")
    with pytest.raises(BadInput, match=r"did you mean 'e1'|column 'e9' not found"):
        Cohort.from_frame(frame, target="y", groups=["sex"], features=["e9"])


def test_the_target_is_never_a_feature_by_pattern() -> None:
    frame = pd.DataFrame({"e_target": [0, 1], "e_group": ["a", "b"], "e_1": [0.5, 0.25]})
    cohort = Cohort.from_frame(frame, target="e_target", groups=["e_group"], features="e_*")
    assert cohort.features == ("e_1",)


def test_biographies_are_not_one_hot_encoded() -> None:
    frame = pd.DataFrame({**COLUMNS, "bio": [f"She was born in {place}." for place in range(ROWS)]})
    cohort = Cohort.from_frame(frame, target="y", groups=["sex"], split="split")
    with pytest.raises(BadInput, match="'bio' has 30 different texts in 30 training rows") as error:
        encode_dataset(cohort)
    assert "features" in error.value.help
    assert "embed" in error.value.help


def test_a_category_of_many_values_is_still_encoded() -> None:
    rows = 900
    columns = {name: values * (rows // ROWS) for name, values in COLUMNS.items()}
    frame = pd.DataFrame({**columns, "town": [f"town {place % 149}" for place in range(rows)]})
    cohort = Cohort.from_frame(frame, target="y", groups=["sex"], split="split")
    assert encode_dataset(cohort).train.inputs.shape[1] == 149


def test_numbers_that_name_the_rows_are_no_feature() -> None:
    frame = pd.DataFrame({**COLUMNS, "person_id": GENERATOR.permutation(ROWS)})
    cohort = Cohort.from_frame(frame, target="y", groups=["sex"], split="split")
    with pytest.raises(BadInput, match="'person_id' has a different whole number in every row"):
        encode_dataset(cohort)
    counted = frame.rename(columns={"person_id": "visits"})
    assert (
        encode_dataset(Cohort.from_frame(counted, target="y", groups=["sex"], split="split")).train.inputs.shape[1] == 1
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_a_cohort_takes_a_frame_for_its_columns(library: Any) -> None:
    frame = library.DataFrame({**COLUMNS, "p": COLUMNS["y"][::-1]})
    cohort = Cohort("people", frame, target="y", groups=("sex",), prediction="p", favourable=0)  # type: ignore[arg-type]
    assert cohort.favourable == "0"
    assert isinstance(cohort["sex"], np.ndarray)
    told = equipoise.audit(cohort, draws=0)
    assert told.favourable == "0"
    by_columns = equipoise.audit(frame, target="y", prediction="p", sensitive_features=["sex"], favourable=0, draws=0)
    assert told.to_dict() == by_columns.to_dict()


def test_a_favourable_class_may_be_a_number() -> None:
    frame = pd.DataFrame({**COLUMNS, "p": COLUMNS["y"]})
    cohort = Cohort.from_frame(frame, target="y", groups=["sex"], prediction="p", favourable=0, features=[])
    assert equipoise.audit(cohort, draws=0).favourable == "0"


def test_groups_may_be_a_list_of_arrays() -> None:
    sex, race = np.array(COLUMNS["sex"]), pd.Series([place % 3 for place in range(ROWS)], name="race")
    listed = equipoise.audit(target=COLUMNS["y"], prediction=COLUMNS["y"], sensitive_features=[sex, race], draws=0)
    mapped = equipoise.audit(
        target=COLUMNS["y"], prediction=COLUMNS["y"], sensitive_features={"group_0": sex, "race": race}, draws=0
    )
    assert listed.to_dict() == mapped.to_dict()


def test_arrays_of_other_lengths_are_refused_in_few_words() -> None:
    groups = np.zeros((2, 1_000))
    with pytest.raises(BadInput, match="different lengths") as error:
        equipoise.audit(target=[0, 1] * 500, prediction=[0, 1] * 500, sensitive_features=groups)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_columns_of_numbers_are_an_embedding_by_pattern(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"sex": COLUMNS["sex"], **{f"z{place}": POINTS[:, place].astype(float) for place in range(4)}})
    path = tmp_path / f"points.{kind}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[kind](path)
    np.testing.assert_allclose(open_embedding(path, "z*").points, POINTS, rtol=1e-6)
    with pytest.raises(BadInput, match=r"No column of .* matches 'q\*'"):
        open_embedding(path, "q*")
    with pytest.raises(BadInput, match="'sex' holds String"):
        open_embedding(path, "*")


def test_an_array_of_a_shape_that_no_machine_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (0, 2**62)})
    with pytest.raises(BadInput, match="says that its shape is"):
        open_embedding(path)


def test_a_compressed_array_that_is_no_embedding_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "points.npz"
    content = io.BytesIO()
    np.save(content, np.zeros(50_000))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("z.npy", content.getvalue())
    monkeypatch.setattr("equipoise.cohorts._embeddings.read_array", lambda *_: pytest.fail("it was read"))
    with pytest.raises(BadInput, match="not an embedding: it has 1 axis"):
        open_embedding(path, "z")


def test_ids_of_pandas_can_be_saved_as_the_refusal_says(tmp_path: Path) -> None:
    path, ids = tmp_path / "points.npz", pd.Series([f"p{row}" for row in range(ROWS)])
    np.savez(path, z=POINTS, id=np.asarray(ids, dtype=object))
    with pytest.raises(BadInput, match=r"numpy\.array\(list\(ids\), dtype=str\)"):
        open_embedding(path, "z", id="id")
    np.savez(path, z=POINTS, id=np.array(list(ids), dtype=str))
    assert open_embedding(path, "z", id="id").ids == tuple(ids)
