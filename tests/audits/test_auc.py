"""AUC against scikit-learn: exact for rows in memory and files that fit, and with its error stated where it is not."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import equipoise
from equipoise import measures
from equipoise.audits import _counting
from equipoise.foundation import BadInput

pytestmark = pytest.mark.once

ROWS = 20_000


def people(kind: str, rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Two groups that are ranked unequally well, with scores of an awkward kind."""
    generator = np.random.default_rng(seed)
    group = generator.choice(["a", "b"], rows, p=[0.7, 0.3])
    target = (generator.random(rows) < (0.002 if kind == "rare class" else 0.3)).astype(int)
    target[:8] = [0, 0, 0, 0, 1, 1, 1, 1]
    group[:8] = ["a", "b"] * 4
    latent = generator.normal(size=rows) + np.where(group == "a", 1.0, 0.5) * target
    score = {
        "rare class": lambda: 1 / (1 + np.exp(9 - latent)),
        "one outlier": lambda: np.where(np.arange(rows) == 5, 1e6, latent),
        "heavy ties": lambda: np.where(generator.random(rows) < 0.5, 0.3, 1 / (1 + np.exp(-latent))),
        "few values": lambda: np.round(1 / (1 + np.exp(-latent)), 2),
        "constant": lambda: np.full(rows, 0.25),
        "last bits": lambda: 0.5 + latent * 1e-15,
    }[kind]()
    return pd.DataFrame({
        "y": target, "s": score, "g": group, "w": generator.lognormal(size=rows),
        "sex": generator.choice(["f", "m"], rows),
    })  # fmt: skip


KINDS = ["rare class", "one outlier", "heavy ties", "few values", "constant", "last bits"]


def expected(frame: pd.DataFrame, weighted: bool) -> dict[str | None, float]:
    parts = {None: frame, **dict(iter(frame.groupby("g")))}
    return {
        name: float(roc_auc_score(part["y"], part["s"], sample_weight=part["w"] if weighted else None))
        for name, part in parts.items()
    }


def audited(data: object, weighted: bool = False, **options: object) -> equipoise.AuditResult:
    columns = {"target": "y", "score": "s", "sensitive_features": ["g", "sex"], "weight": "w" if weighted else None}
    return equipoise.audit(data, favourable=1, threshold=0.01, draws=0, **columns, **options)


def aucs(result: equipoise.AuditResult) -> dict[str | None, float]:
    return {
        record.group: record.value
        for record in result.records
        if record.measure == "auc" and record.attribute in ((), ("g",))
    }


def note_on_auc(result: equipoise.AuditResult) -> str | None:
    return next((note for note in result.notes if note.startswith("AUC:")), None)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_auc_of_a_frame_is_scikit_learns_and_so_is_its_gap(kind: str, weighted: bool) -> None:
    frame = people(kind)
    options = {"threshold": 0.25} if kind == "constant" else {}
    columns = {"target": "y", "score": "s", "sensitive_features": ["g", "sex"], "weight": "w" if weighted else None}
    result = equipoise.audit(frame, favourable=1, draws=0, **{"threshold": 0.01, **options}, **columns)
    oracle = expected(frame, weighted)
    assert aucs(result) == pytest.approx(oracle, abs=1e-12)
    gap = next(r for r in result.records if r.measure == "auc_difference" and r.attribute == ("g",))
    assert gap.value == pytest.approx(abs(oracle["a"] - oracle["b"]), abs=1e-12)
    assert note_on_auc(result) is None
    assert result.provenance["options"]["auc_error_bound"] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_measures_of_arrays_give_scikit_learns_auc(kind: str) -> None:
    frame = people(kind)
    given = {"sample_weight": frame["w"], "favourable": 1}
    oracle = expected(frame, weighted=True)
    assert float(measures.auc(frame["y"], frame["s"], **given)) == pytest.approx(oracle[None], abs=1e-12)
    gap = measures.auc_difference(frame["y"], frame["s"], sensitive_features=frame["g"], **given)
    assert float(gap) == pytest.approx(abs(oracle["a"] - oracle["b"]), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["rare class", "one outlier", "heavy ties"])
def test_the_auc_of_a_file_is_scikit_learns(kind: str, weighted: bool, tmp_path: Path) -> None:
    frame = people(kind)
    frame.to_parquet(tmp_path / "people.parquet")
    frame.to_csv(tmp_path / "people.csv", index=False)
    for path in (tmp_path / "people.parquet", tmp_path / "people.csv"):
        result = audited(path, weighted)
        assert aucs(result) == pytest.approx(expected(frame, weighted), abs=1e-12)
        assert note_on_auc(result) is None


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_too_large_to_rank_says_how_far_its_auc_can_be_off(
    kind: str, weighted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_counting, "MOST_READ", 1_000)
    monkeypatch.setattr(_counting, "SAMPLED", 5_000)
    monkeypatch.setattr(_counting, "SCORE_BINS", 1_000)
    frame = people(kind)
    path = tmp_path / "people.parquet"
    frame.to_parquet(path)
    columns = {"target": "y", "score": "s", "sensitive_features": ["g", "sex"], "weight": "w" if weighted else None}
    result = equipoise.audit(path, favourable=1, draws=0, threshold=0.25 if kind == "constant" else 0.01, **columns)
    bound = result.provenance["options"]["auc_error_bound"]
    assert isinstance(bound, float)
    assert bound < 0.003
    assert (bound == 0) == (kind in ("rare class", "few values", "constant", "last bits"))
    assert aucs(result) == pytest.approx(expected(frame, weighted), abs=bound + 1e-9)
    note = note_on_auc(result)
    assert (note is None) == (bound == 0)
    assert note is None or "bins" in note


def test_frames_that_are_not_in_memory_or_duckdb_state_the_error_of_equal_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_counting, "MOST_READ", 1_000)
    frame = people("heavy ties")
    result = audited(pl.from_pandas(frame).lazy())
    bound = result.provenance["options"]["auc_error_bound"]
    assert isinstance(bound, float)
    assert bound > 0
    assert aucs(result) == pytest.approx(expected(frame, weighted=False), abs=bound)


def test_a_duckdb_relation_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_counting, "MOST_READ", 1_000)
    connection = duckdb.connect()
    connection.from_df(people("one outlier")).create("people")
    first, second = (aucs(audited(connection.table("people"))) for _ in range(2))
    assert first == second
    assert connection.sql("SELECT count(*) FROM people").fetchall() == [(ROWS,)]


def test_splits_and_intersections_have_exact_aucs_too() -> None:
    frame = people("heavy ties")
    frame["split"] = np.where(np.arange(ROWS) % 2, "dev", "test")
    result = audited(frame, split="split", intersections=True)
    for split in ("dev", "test"):
        for group, sex in (("a", "f"), ("b", "m")):
            part = frame[(frame["split"] == split) & (frame["g"] == group) & (frame["sex"] == sex)]
            (record,) = (
                r for r in result.records
                if r.measure == "auc" and r.split == split and r.group == f"{group} & {sex}"
            )  # fmt: skip
            assert record.value == pytest.approx(roc_auc_score(part["y"], part["s"]), abs=1e-12)


def test_infinite_scores_are_refused_with_a_way_to_keep_their_ranks() -> None:
    frame = people("one outlier")
    frame.loc[5, "s"] = np.inf
    with pytest.raises(BadInput, match="infinite values") as raised:
        audited(frame)
    assert "ranks" in str(raised.value)


def test_curves_and_calibration_do_not_depend_on_the_bins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people("heavy ties")
    frame.to_parquet(tmp_path / "people.parquet")
    exact = audited(frame)
    monkeypatch.setattr(_counting, "MOST_READ", 1_000)
    monkeypatch.setattr(_counting, "SCORE_BINS", 500)
    binned = audited(tmp_path / "people.parquet")
    assert [curve.values for curve in binned.curves] == [pytest.approx(c.values, nan_ok=True) for c in exact.curves]
    assert [point.observed for point in binned.calibration] == pytest.approx([p.observed for p in exact.calibration])
    assert binned.provenance["fingerprint"] == exact.provenance["fingerprint"]


@pytest.mark.parametrize("source", ["frame", "file"])
def test_rows_without_a_score_are_told_of_when_a_prediction_is_given_too(source: str, tmp_path: Path) -> None:
    frame = people("few values", 2_000)
    frame["p"] = frame["y"]
    frame.loc[100:499, "s"] = np.nan
    frame.to_csv(tmp_path / "people.csv", index=False)
    data = frame if source == "frame" else tmp_path / "people.csv"
    result = equipoise.audit(
        data, target="y", prediction="p", score="s", favourable=1, sensitive_features="g", draws=0
    )  # fmt: skip
    (note,) = (note for note in result.notes if "no score" in note)
    assert note.startswith("400 of 2,000 rows have no score")
    kept = frame.dropna()
    assert aucs(result)[None] == pytest.approx(roc_auc_score(kept["y"], kept["s"]))


@pytest.mark.long
@pytest.mark.parametrize("attributes", [1, 6])
def test_a_large_gap_of_scores_is_not_held_back_by_too_few_permutations(attributes: int) -> None:
    """So many tests as a report has, so small can p be: a floor of draws would hide the gap after correction."""
    generator = np.random.default_rng(0)
    rows = 2_000
    group = np.where(generator.random(rows) < 0.5, "a", "b")
    target = (generator.random(rows) < 0.4).astype(int)
    score = 0.5 * np.where(group == "a", target, 0) + 0.5 * generator.random(rows)
    others = {f"noise {number}": generator.integers(0, 3, rows).astype(str) for number in range(attributes - 1)}
    result = equipoise.audit(target=target, score=score, favourable=1, sensitive_features={"group": group, **others})
    [gap] = result.find("auc_difference", attribute="group")
    assert gap.finding
    assert gap.p is not None
    assert gap.p < 1 / 1_000
    assert gap.draws is not None
    assert gap.draws > 1_000
