"""A study of metric learners: run, packed, trained from a pack and merged, with everything it keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import Cohort, Study
from equipoise.conditions import Minoritised

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")

from equipoise.studies.running import merge, pack, run_to_folder, unpack
from equipoise.studies.storage import open_store

SMALL = {"embedding_size": 4, "batch_size": 16, "epochs": 3, "learning_rate": 0.01, "downstream": ["k_means"]}
NAMES = {
    "embedding.dev", "embedding.test", "downstream.k_means.own.test", "downstream.k_means.balanced.test",
}  # fmt: skip


def birds(rows: int = 240) -> Cohort:
    generator = np.random.default_rng(0)
    kind = np.arange(rows) % 6
    points = generator.normal(size=(6, 5))[kind] + 0.5 * generator.normal(size=(rows, 5))
    columns: dict[str, Any] = {
        "points": points.astype(np.float32),
        "species": np.array([f"bird {code}" for code in kind], dtype=object),
        "colour": np.array(["grey", "red"])[generator.integers(0, 2, rows)].astype(object),
        "size": np.array(["large", "small"])[generator.integers(0, 2, rows)].astype(object),
        "split": np.array(["train", "train", "dev", "test"])[np.arange(rows) // 6 % 4].astype(object),
    }
    return Cohort(
        name="birds", columns=columns, target="species", groups=("colour", "size"), features=("points",), split="split"
    )


def study(**changes: Any) -> Study:
    given: dict[str, Any] = {
        "group": ["colour", "size"], "learner": {"name": "metric_learner", "loss": ["margin", "proxy_nca"], **SMALL},
        "seeds": 2, "selection": "last", "treatments": ["untreated", "oversampling"], **changes,
    }  # fmt: skip
    return Study(birds(), **given)


def test_a_study_keeps_the_embeddings_of_its_trials(tmp_path: Path) -> None:
    planned = study()
    planned.run(tmp_path / "study.db")
    with open_store(tmp_path / "study.db", plan=planned.name) as store:
        assert store.status().done == 8
        assert store.stored_array_names() == dict.fromkeys(sorted(NAMES), 8)
        keys = [one.key for one in store.trials(("done",))]
        found = store.stored_arrays(keys, "embedding.test")
        assert all(array.shape == (60, 4) and array.dtype == np.float16 for array in found.values())
        said = store.stored_arrays(keys, "downstream.k_means.own.test")
        assert all(set(array.tolist()) <= set(range(6)) for array in said.values())


def test_a_packed_study_trains_elsewhere_and_comes_home_with_its_arrays(tmp_path: Path) -> None:
    planned = study(learner={"name": "raw_features", "downstream": ["k_means"]}, treatments=["untreated"])
    work = unpack(pack(planned.work, tmp_path / "pack"))
    assert work.dataset.attributes == planned.work.dataset.attributes == ("colour", "size")
    assert work.dataset.attribute_values == (("grey", "red"), ("large", "small"))
    assert work.dataset.parts is not None
    np.testing.assert_array_equal(work.dataset.parts, planned.work.dataset.parts)
    run_to_folder(work, tmp_path / "files", scores=False)
    with open_store(tmp_path / "study.db") as store:
        assert len(merge(tmp_path / "files", store, planned.labels).new) == 2
        keys = [trial.key for stack in planned.work.stacks for trial in stack.trials]
        assert all(len(store.stored_arrays(keys, name)) == 2 for name in NAMES)


def test_classes_that_a_condition_minoritises_are_domains_also_in_a_pack(tmp_path: Path) -> None:
    learner = {
        "name": "raw_features", "downstream": ["logistic_regression"],
        "trainings": ["own", "oversampled", "domain_independent"],
    }  # fmt: skip
    planned = study(
        learner=learner, treatments=["untreated"],
        conditions=["as_given", {"name": "minoritised", "classes": 2, "degree": 0.8}],
    )  # fmt: skip
    work = planned.work
    given, parted = (next(s.trials for s in work.stacks if s.trials[0].condition.name == name)
                     for name in ("as_given", "minoritised"))  # fmt: skip
    assert all(job.domains is None for job in work.jobs(given))
    for trial, job in zip(parted, work.jobs(parted), strict=True):
        sides = Minoritised(0.8, 2).partition(work.dataset.classes, trial.seed)
        assert job.domains is not None
        assert [("majoritised", "minoritised")[code] for code in job.domains] == list(sides)
    again = unpack(pack(work, tmp_path / "pack"))
    assert {name: partition.tolist() for name, partition in again.partitions.items()} == {
        name: partition.tolist() for name, partition in work.partitions.items()
    }  # fmt: skip
    for here, there in zip(work.outcomes(parted), again.outcomes(parted), strict=True):
        name = "downstream.logistic_regression.domain_independent.std_no.test"
        assert here.failure is None
        np.testing.assert_array_equal(here.arrays[name], there.arrays[name])
        assert "downstream.logistic_regression.oversampled.std_no.test" in there.arrays


def test_settings_of_classifiers_come_through_a_plan_a_pack_and_a_report(tmp_path: Path) -> None:
    asked = ["logistic_regression:C=0.01,1,100", {"name": "logistic_regression", "C": "dev"}, "svm"]
    learners = [{"name": "raw_features", "downstream": asked, "trainings": ["own"], "unit_length": unit}
                for unit in (True, False)]  # fmt: skip
    planned = study(learner=learners, treatments=["untreated"], conditions=[{"name": "minoritised", "classes": 2}])
    again = unpack(pack(planned.work, tmp_path / "pack"))
    trials = planned.work.stacks[0].trials
    for here, there in zip(planned.work.outcomes(trials), again.outcomes(trials), strict=True):
        assert set(here.arrays) == set(there.arrays)
        for name, array in here.arrays.items():
            np.testing.assert_array_equal(array, there.arrays[name])
    planned.run(tmp_path / "study.db")
    result = planned.result(tmp_path / "study.db")
    sources = {space.source: space.source_settings for space in result.spaces if space.training == "own"}
    assert set(sources) == {
        "nearest_training_row", "logistic_regression:C=0.01", "logistic_regression:C=1", "logistic_regression:C=100",
        "logistic_regression:C=dev", "svm",
    }  # fmt: skip
    assert sources["logistic_regression:C=0.01"] == {"C": 0.01, "standardise": False, "tolerance": 1e-4}


def test_a_pack_of_an_earlier_version_has_no_partitions(tmp_path: Path) -> None:
    planned = study(learner={"name": "raw_features"}, conditions=[{"name": "minoritised", "classes": 2}])
    work = unpack(pack(replace(planned.work, partitions={}), tmp_path / "pack"))
    assert work.partitions == {}
    assert all(job.domains is None for stack in work.stacks for job in work.jobs(stack.trials))
