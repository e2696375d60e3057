"""Rows that belong together are drawn together: the two versions of one picture are one observation, not two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import Study
from equipoise.studies.analysis import Layout, StudyData, TestRows
from equipoise.studies.analysis._people import Resampled, is_clustered, resample_people, resampled_clusters
from equipoise.studies.findings import measure_study, result_of
from equipoise.studies.plans import Named, with_splits
from equipoise.studies.storage import evaluation_labels
from helpers.cases.plan import cohort, threshold
from helpers.cases.study import HERE, Arm, trial

DOMAINS = (("colour",), ("grey",))


def paired(pictures: int = 600, *, alike: float = 1.0, seed: int = 0, clusters: bool = True) -> StudyData:
    """Two techniques, three runs each, on pictures in two domains; ``alike`` is how often both get one answer."""
    generator = np.random.default_rng(seed)
    truth = np.tile(generator.integers(0, 2, pictures), 2)
    group = np.repeat([0, 1], pictures)
    said = []
    for rate in (0.7, 0.8):
        right = generator.random(pictures) < rate
        other = np.where(generator.random(pictures) < alike, right, generator.random(pictures) < rate)
        one = np.concatenate([right, other])
        said += [np.where(one, truth, 1 - truth)] * 3
    whole = np.stack(said).astype(np.uint8)
    tables = np.stack([np.bincount((group * 2 + truth) * 2 + own, minlength=8).reshape(2, 2, 2) for own in whole])
    arms = (Arm("untreated"), Arm("reweighting"))
    trials = tuple(
        trial(arm, Named("as_given", 1), 0, repeat, groups=("domain",)) for arm in arms for repeat in range(3)
    )
    return StudyData(
        name="pictures",
        layout=Layout(("domain",), DOMAINS, ("cat", "dog"), favourable="dog"),
        trials=trials,
        tables={"dev": tables.astype(float), "test": tables.astype(float)},
        seconds=np.ones(6),
        environments=(HERE,),
        environment=np.zeros(6, dtype=np.int64),
        rows=TestRows(np.arange(2 * pictures), group, truth, np.tile(np.arange(pictures), 2) if clusters else None),
        predictions=lambda asked: whole[list(asked)],
    )


def spreads(data: StudyData, measure: str, draws: int = 400) -> tuple[float, float]:
    """The spread of a measure of the first technique, and of the difference of the two."""
    study = measure_study(data, measures=["DP"])
    drawn: Resampled = resample_people(data, study.cells, study.quantities, draws=draws)
    place = next(
        index for index, quantity in enumerate(study.quantities) if measure in (quantity.measure, quantity.alias)
    )
    return float(drawn.spread()[0, place]), float(np.sqrt(drawn.variance_of_change(1, 0, seeds=1)[place]))


def by_a_loop(data: StudyData, draws: int, seed: int = 1) -> tuple[float, float, float]:
    """Draw pictures again one by one: the spreads of accuracy, of its change, and of demographic parity."""
    assert data.rows is not None
    assert data.predictions is not None
    assert data.rows.cluster is not None
    generator = np.random.default_rng(seed)
    first, second = data.predictions([0])[0], data.predictions([3])[0]  # type: ignore[index]
    names = sorted(set(data.rows.cluster.tolist()))
    members = {name: np.flatnonzero(data.rows.cluster == name) for name in names}
    accuracies, changes, parities = [], [], []
    for _ in range(draws):
        rows: list[int] = []
        for _ in names:
            rows += members[names[int(generator.integers(len(names)))]].tolist()
        taken = np.array(rows)
        truth, group = data.rows.target[taken], data.rows.group[taken]
        accuracies.append((first[taken] == truth).mean())
        changes.append((second[taken] == truth).mean() - (first[taken] == truth).mean())
        parities.append(abs((first[taken][group == 0] == 1).mean() - (first[taken][group == 1] == 1).mean()))
    return float(np.std(accuracies)), float(np.std(changes)), float(np.std(parities))


@pytest.mark.parametrize("alike", [1.0, 0.6, 0.0])
def test_spreads_over_clusters_agree_with_a_loop_over_clusters(alike: float) -> None:
    data = paired(300, alike=alike)
    accuracy, change, parity = by_a_loop(data, 500)
    # Each standard deviation is of 400 or 500 draws: 3 to 4 % of itself uncertain.
    assert spreads(data, "accuracy") == pytest.approx((accuracy, change), rel=0.2)
    assert spreads(data, "DP")[0] == pytest.approx(parity, rel=0.2, abs=1e-12)


def test_pairs_that_agree_count_once_and_a_gap_between_them_does_not_move() -> None:
    data = paired(600)
    accuracy, _ = spreads(data, "accuracy")
    expected = np.sqrt(0.7 * 0.3 / 600)
    assert accuracy == pytest.approx(expected, rel=0.2)
    # As if they were 1,200 pictures: too narrow by the root of two, and a gap that is never there seems to move.
    alone, _ = spreads(paired(600, clusters=False), "accuracy")
    assert alone == pytest.approx(expected / np.sqrt(2), rel=0.2)
    assert spreads(data, "DP")[0] == pytest.approx(0.0, abs=1e-12)
    assert spreads(paired(600, clusters=False), "DP")[0] > 0.005


def test_the_spread_is_that_of_fresh_pictures() -> None:
    """Whole test sets drawn anew: the width is right, not only equal to another bootstrap's."""
    fresh = []
    for seed in range(150):
        data = paired(200, alike=0.5, seed=100 + seed)
        fresh.append(data.tables["test"][0][:, [0, 1], [0, 1]].sum() / 400)
    found = [spreads(paired(200, alike=0.5, seed=seed), "accuracy", draws=200)[0] for seed in range(5)]
    assert np.mean(found) == pytest.approx(np.std(fresh), rel=0.2)


def test_a_cluster_is_drawn_whole_and_groups_of_pairs_keep_their_sizes() -> None:
    group, cluster = np.repeat([0, 1], 50), np.tile(np.arange(50), 2)
    times = resampled_clusters(group, cluster, 20, np.random.default_rng(0))
    assert np.array_equal(times[:, :50], times[:, 50:])
    assert (times[:, :50].sum(axis=1) == 50).all()
    assert times.std() > 0


def test_people_with_several_rows_are_drawn_among_those_of_their_group() -> None:
    group = np.array([0] * 9 + [1] * 8)
    cluster = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7])
    times = resampled_clusters(group, cluster, 200, np.random.default_rng(0))
    for own in range(8):
        rows = np.flatnonzero(cluster == own)
        assert (times[:, rows] == times[:, rows[:1]]).all()
    firsts = np.array([np.flatnonzero(cluster == own)[0] for own in range(8)])
    assert (times[:, firsts[:4]].sum(axis=1) == 4).all()
    assert (times[:, firsts[4:]].sum(axis=1) == 4).all()


def test_clusters_that_are_alone_of_their_kind_vary_all_the_same() -> None:
    # One person in group 0 only, one in 1 only, one in both: each alone of its kind.
    group, cluster = np.array([0, 1, 0, 1]), np.array([0, 1, 2, 2])
    times = resampled_clusters(group, cluster, 300, np.random.default_rng(0))
    assert (times[:, [0, 1, 2]].sum(axis=1) == 3).all()
    assert (times.std(axis=0) > 0.5).all()


def test_clusters_of_one_row_each_change_nothing() -> None:
    data = paired(200, clusters=False)
    assert data.rows is not None
    single = replace(data, rows=replace(data.rows, cluster=np.arange(400)))
    assert single.rows is not None
    assert not is_clustered(single.rows)
    assert spreads(single, "DP") == spreads(data, "DP")


def test_the_report_says_that_rows_were_drawn_together_or_that_they_could_not_be() -> None:
    data = paired(200)
    assert any("are resampled together" in note for note in result_of(data).notes)
    lost = result_of(replace(data, predictions=None))
    assert any("may be too narrow or too wide" in note for note in lost.notes)
    assert not any("cluster" in note for note in result_of(paired(200, clusters=False)).notes)


# From a cohort to what is drawn


def with_clusters(rows: int = 400) -> Any:
    plain = cohort(rows)
    people: np.ndarray = np.array([f"p{place // 8}" for place in range(rows)], dtype=object)
    people[5] = None
    return replace(plain, columns={**plain.columns, "person": people}, cluster="person")


def test_the_truth_has_the_clusters_and_the_store_does_not_depend_on_them() -> None:
    made = with_clusters()
    truth = evaluation_labels(made, fingerprint="x", classes=("no", "yes"))
    plain = evaluation_labels(cohort(), fingerprint="x", classes=("no", "yes"))
    own = truth.of("test").cluster
    assert own is not None
    names = made.where("test")["person"]
    for one, name in zip(own, names, strict=True):
        assert np.array_equal(own == one, names == name)
    assert plain.of("test").cluster is None
    assert truth.digest == plain.digest


def test_a_row_without_a_cluster_stands_by_itself() -> None:
    made = with_clusters()
    made = replace(made, columns={**made.columns, "person": np.full(400, None, dtype=object)})
    own = evaluation_labels(made, fingerprint="x", classes=("no", "yes")).of("test").cluster
    assert own is not None
    assert len(np.unique(own)) == len(own)


def test_a_study_draws_the_clusters_of_its_cohort(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    study = Study(with_clusters(), train=threshold, version=1, group="sex", seeds=2, repeats=2)
    result = study.run(tmp_path / "study.db")
    assert result is not None
    assert any("are resampled together" in note for note in result.notes)


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_no_cluster_is_parted_when_a_share_of_the_rows_becomes_a_split(share: float) -> None:
    made = replace(with_clusters(), split=None)
    split = with_splits(made, test=share, dev=share, seed=3)
    assert split.split is not None
    where: dict[Any, set[str]] = {}
    for person, name in zip(split["person"].tolist(), split[split.split].tolist(), strict=True):
        if person is not None:
            where.setdefault(person, set()).add(name)
    assert all(len(names) == 1 for names in where.values())
    rows = (split[split.split] == "test").sum()
    assert share * 400 <= rows < share * 400 + 8
