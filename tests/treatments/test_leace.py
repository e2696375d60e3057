"""LEACE: the package of its authors, its defining properties, and a study that erases groups."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from equipoise import BadInput, Study
from equipoise.foundation import installed, registry
from equipoise.studies.plans import Named
from equipoise.testing import planted
from equipoise.training import Job, Settings, TrainingInputs, part_of_kind, train
from equipoise.training._preparation import training_rows
from equipoise.treatments import ConceptErasure, ConceptErasureOfInputs, IterativeNullSpaceProjection
from equipoise.treatments.leace import ConceptEraser, ErasedHead, fit_eraser
from helpers.cases.plan import cohort
from helpers.cases.treatment import representations
from helpers.required import missing

# The package keeps what is below this, as ours does; by default it also shrinks covariances and bounds their trace.
EXACT = {"shrinkage": False, "constrain_cov_trace": False, "svd_tol": 1e-8}


def rows_of(groups: int, columns: int = 6, rows: int = 500, seed: int = 0) -> tuple[Any, Any]:
    """Correlated columns of different spread; two of them, and a sum, tell the group."""
    generator = np.random.default_rng([seed, groups])
    group = np.concatenate([np.arange(groups), generator.integers(0, groups, rows - groups)])
    inputs = generator.normal(size=(rows, columns)) @ generator.normal(size=(columns, columns))
    inputs[:, 0] += 2.0 * (group == 0)
    inputs[:, 1] -= 1.0 * group
    return inputs * np.geomspace(0.1, 10, columns), group


def by_the_package(inputs: Any, group: Any) -> Any:
    torch = pytest.importorskip("torch")
    if not installed("concept_erasure"):
        missing("concept-erasure", "The package concept-erasure", "pip install concept-erasure")
    # Unlike import, it overlooks what the package's own use of torch warns of.
    package = pytest.importorskip("concept_erasure")
    concept = torch.from_numpy(np.eye(group.max() + 1)[group])
    rows = torch.from_numpy(inputs)
    fitted = package.LeaceFitter(rows.shape[1], concept.shape[1], dtype=torch.float64, **EXACT)
    eraser = fitted.update(rows, concept).eraser
    return lambda new: eraser(torch.from_numpy(new)).numpy()


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_it_is_the_authors_eraser(groups: int) -> None:
    inputs, group = rows_of(groups)
    eraser, slow = fit_eraser(inputs, group), by_the_package(inputs, group)
    new, _ = rows_of(groups, seed=1)
    assert eraser.directions == groups - 1
    assert eraser(inputs) == pytest.approx(slow(inputs), abs=1e-6)
    assert eraser(new) == pytest.approx(slow(new), abs=1e-6)


@pytest.mark.parametrize("groups", [2, 4])
def test_it_is_the_authors_where_columns_are_constant_or_depend_on_each_other(groups: int) -> None:
    inputs, group = rows_of(groups)
    inputs = np.column_stack([inputs, np.full(len(inputs), 7.0), inputs[:, 0] - 2 * inputs[:, 3]])
    eraser = fit_eraser(inputs, group)
    assert eraser(inputs) == pytest.approx(by_the_package(inputs, group)(inputs), abs=1e-6)
    erased = eraser(inputs)
    assert erased[:, 6] == pytest.approx(7.0, abs=1e-9)
    assert erased[:, 7] == pytest.approx(erased[:, 0] - 2 * erased[:, 3], abs=1e-6)


def test_a_weight_of_three_is_three_rows() -> None:
    inputs, group = rows_of(3)
    counts = np.random.default_rng(0).integers(0, 4, len(group))
    repeated = np.repeat(np.arange(len(group)), counts)
    eraser = fit_eraser(inputs, group, counts.astype(np.float64))
    assert eraser(inputs) == pytest.approx(by_the_package(inputs[repeated], group[repeated])(inputs), abs=1e-6)


@pytest.mark.parametrize("groups", [2, 3])
def test_no_covariance_with_the_group_is_left_and_no_linear_classifier_beats_a_constant(groups: int) -> None:
    inputs, group = rows_of(groups)
    eraser = fit_eraser(inputs, group)
    erased = eraser(inputs)
    concept = np.eye(groups)[group]
    crossed = (erased - erased.mean(axis=0)).T @ (concept - concept.mean(axis=0)) / len(group)
    assert np.abs(crossed).max() < 1e-10
    assert erased.mean(axis=0) == pytest.approx(inputs.mean(axis=0), abs=1e-9)
    assert eraser(erased) == pytest.approx(erased, abs=1e-9)
    shares = np.bincount(group) / len(group)
    constant = -float(shares @ np.log(shares))
    losses = []
    for rows in (inputs, erased):
        scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        model = LogisticRegression(C=1e6, max_iter=10_000, tol=1e-10).fit(scaled, group)
        losses.append(log_loss(group, model.predict_proba(scaled)))
    assert losses[0] < 0.8 * constant
    assert losses[1] == pytest.approx(constant, abs=1e-6)


def test_rows_move_less_than_by_an_orthogonal_projection() -> None:
    inputs, group = rows_of(3)
    centred, concept = inputs - inputs.mean(axis=0), np.eye(3)[group]
    basis, lengths, _ = np.linalg.svd(centred.T @ (concept - concept.mean(axis=0)), full_matrices=False)
    basis = basis[:, lengths > 1e-8]
    orthogonal = centred @ basis @ basis.T
    moved = inputs - fit_eraser(inputs, group)(inputs)
    assert (moved**2).sum() < 0.95 * (orthogonal**2).sum()


def test_two_groups_by_hand() -> None:
    # Column 0 is the group and goes to its mean, 0; column 1 has no covariance with it and stays.
    inputs = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    erased = fit_eraser(inputs, np.array([1, 1, 0, 0]))(inputs)
    assert erased == pytest.approx(np.array([[0.0, 1], [0, -1], [0, 1], [0, -1]]), abs=1e-12)


@pytest.mark.parametrize("groups", [2, 3])
def test_noise_of_float32_in_dimensions_that_depend_on_others_takes_no_part(groups: int) -> None:
    """Of columns that depend on each other the eraser is that of those they are made of: r(x A) = r(x) A."""
    inputs, group = rows_of(groups, columns=4, rows=400)
    new, _ = rows_of(groups, columns=4, rows=300, seed=1)
    mixed = np.random.default_rng(5).normal(size=(4, 9))
    inputs, new = inputs + 50, new + 50  # numbers far from 0 are rounded more
    eraser = fit_eraser((inputs @ mixed).astype(np.float32), group)
    assert eraser.directions == groups - 1
    expected = fit_eraser(inputs, group)(new) @ mixed
    assert eraser((new @ mixed).astype(np.float32)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("units", [(1e3, 1e-2), (1e6, 1e-3), (1e12, 1e-9)])
def test_a_column_of_small_numbers_is_no_noise(units: tuple[float, float]) -> None:
    """Units decide nothing: the eraser of r(x D) is r(x) D, with D the units of the columns."""
    inputs, group = rows_of(2, columns=2)
    for kind, within in ((np.float64, 1e-9), (np.float32, 1e-5)):
        found = fit_eraser((inputs * units).astype(kind), group)(inputs * units) / units
        expected = fit_eraser(inputs, group)(inputs)
        assert found == pytest.approx(expected, abs=within * np.abs(inputs).max())


def test_what_cannot_be_erased_is_said() -> None:
    inputs, _ = rows_of(2)
    with pytest.raises(BadInput, match="only one group"):
        fit_eraser(inputs, np.zeros(len(inputs), dtype=np.int64))
    with pytest.raises(BadInput, match="All training rows weigh 0"):
        fit_eraser(inputs, np.arange(len(inputs)) % 2, np.zeros(len(inputs)))
    uncorrelated = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    rows = TrainingInputs(
        np.zeros(4), np.zeros(4, dtype=np.int64), np.array([0, 0, 1, 1]), ("c",), ("a", "b"), uncorrelated
    )
    eraser = ConceptErasureOfInputs().transform(rows, np.random.default_rng(0))
    assert eraser.directions == 0
    assert "nothing was erased" in eraser.notes[0]
    assert eraser(uncorrelated).tolist() == uncorrelated.tolist()


def test_rows_of_no_group_have_no_part() -> None:
    inputs, group = rows_of(2)
    unknown = np.r_[group, [-1, -1]]
    more = np.vstack([inputs, np.full((2, inputs.shape[1]), 1e3)])
    assert fit_eraser(more, unknown)(inputs) == pytest.approx(fit_eraser(inputs, group)(inputs), abs=1e-9)


def test_it_is_made_again_from_its_state() -> None:
    inputs, group = rows_of(3)
    eraser = fit_eraser(inputs, group)
    again = part_of_kind("leace").restore(eraser.state())
    assert isinstance(again, ConceptEraser)
    assert again(inputs).tolist() == eraser(inputs).tolist()
    with pytest.raises(BadInput, match="'left' of LEACE"):
        ConceptEraser.restore({**eraser.state(), "left": np.zeros((2, 2))})


@pytest.mark.parametrize("task", ["class", "regression"])
def test_predictions_are_those_of_a_head_on_erased_rows(task: str) -> None:
    found = representations(groups=3, task=task, rows=500)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 500)
    found = replace(found, weights=weights)
    ended = ConceptErasure().after(found)
    eraser = fit_eraser(found.train.inputs, found.train.group, weights)
    train, dev = (eraser(rows.inputs) for rows in (found.train, found.dev))
    if task == "regression":
        from sklearn.linear_model import LinearRegression

        model = LinearRegression().fit(train, found.train.target, sample_weight=weights)
        assert ended.dev.values == pytest.approx(model.predict(dev), abs=1e-4)
    else:
        model = LogisticRegression().fit(train, found.train.target, sample_weight=weights)
        assert ended.dev.scores == pytest.approx(model.predict_proba(dev), abs=1e-3)
        assert (ended.dev.values == model.predict(dev)).mean() > 0.99
    assert ended.notes == ("LEACE: the group was erased from the hidden layer (2 dimensions of 8).",)


def test_its_control_is_inlps() -> None:
    found = representations(groups=3)
    head = ConceptErasure(erase=False).after(found)
    assert head.test.scores.tolist() == IterativeNullSpaceProjection(iterations=0).after(found).test.scores.tolist()
    assert "nothing was erased" in head.notes[0]
    assert ConceptErasure().after(found).test.values.tolist() != head.test.values.tolist()


def test_one_group_fails_in_words() -> None:
    found = representations()
    lone = replace(found, train=replace(found.train, group=np.zeros(len(found.train), dtype=np.int64)))
    with pytest.raises(BadInput, match="only one group"):
        ConceptErasure().after(lone)


def test_a_study_erases_the_group_and_has_the_control_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    study = Study(
        cohort(), group="sex", learner="scikit_learn", seeds=2,
        treatments=["untreated", "leace", "leace_inputs", ["reweighting", "leace_inputs"]],
    )  # fmt: skip
    names = {trial.treatment for trial in study.trials()}
    assert names == {"untreated", "leace", "leace: refitted head alone", "leace_inputs", "reweighting + leace_inputs"}
    assert study.run(tmp_path / "study.db") is not None
    status = study.status(tmp_path / "study.db")
    assert (status.done, status.total) == (10, 10)
    trial = next(trial for trial in study.trials() if trial.treatment == "leace_inputs")
    (outcome,) = study.work.outcomes([trial])
    train, test = study.dataset.train, study.dataset.test
    rows = study.work.jobs([trial])[0].rows
    seen = training_rows(rows, study.dataset)
    erased = by_the_package(train.inputs[rows].astype(np.float64), seen.group)
    model = LogisticRegression().fit(erased(train.inputs[rows].astype(np.float64)), seen.target)
    expected = model.predict_proba(erased(test.inputs.astype(np.float64)))
    assert outcome.test.scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("erase", [True, False])
def test_its_head_predicts_other_rows_as_it_did_and_is_made_again(erase: bool) -> None:
    found = representations(groups=3)
    ended = ConceptErasure(erase=erase).after(found)
    again = part_of_kind("leace_head").restore(ended.postprocessor.state())
    assert isinstance(again, ErasedHead)
    for said, rows in ((ended.dev, found.dev), (ended.test, found.test)):
        assert again.predict(rows.inputs).values.tolist() == said.values.tolist()
        assert again.predict(rows.inputs).scores.tolist() == said.scores.tolist()
    left = again.transform(found.train.inputs)
    expected = fit_eraser(found.train.inputs, found.train.group)(found.train.inputs) if erase else found.train.inputs
    assert left == pytest.approx(expected, abs=1e-9)


def with_and_without(learner: Named, *before: str) -> tuple[Any, Any, Any]:
    """The rows of an embedding of six columns, and trials of it without LEACE and with it."""
    dataset = planted(3, 3, rows=120, bias=0.3, columns=6).with_test_labels(target=False, group=False)
    kinds: list[Any] = [registry.get("treatment", name).implementation for name in before]
    rows = np.arange(len(dataset.train))
    jobs = [Job(rows, 1, treatments=(*(kind() for kind in kinds), *last)) for last in ((), (ConceptErasure(),))]
    plain, erased = train(dataset, learner, jobs, Settings(selection="last"))
    assert (plain.failure, erased.failure) == (None, None)
    assert any("LEACE: the group was erased from the embedding (2 dimensions of 6)." in note for note in erased.notes)
    return dataset, plain, erased


def test_from_an_embedding_groups_are_erased_and_rows_are_read_anew() -> None:
    """The learner raw_features releases its inputs: by hand they are erased, and the nearest training row is found."""
    dataset, _, erased = with_and_without(Named("raw_features", 1, {"unit_length": False}))
    eraser = fit_eraser(dataset.train.inputs, dataset.train.group)
    left = eraser(dataset.train.inputs)
    for split in ("dev", "test"):
        expected = eraser(getattr(dataset, split).inputs)
        assert erased.arrays[f"embedding.{split}"] == pytest.approx(expected, abs=5e-3)
        nearest_row = ((expected[:, None] - left[None]) ** 2).sum(axis=2).argmin(axis=1)
        assert (getattr(erased, split).values == dataset.train.target[nearest_row]).mean() > 0.98


def test_an_embedding_that_was_learnt_loses_as_many_dimensions_as_there_are_groups_less_one() -> None:
    pytest.importorskip("torch")
    settings = {"embedding_size": 6, "batch_size": 20, "epochs": 2, "learning_rate": 0.02}
    _, plain, erased = with_and_without(Named("metric_learner", 1, settings), "reweighting")
    moved = plain.arrays["embedding.dev"].astype(np.float64) - erased.arrays["embedding.dev"]
    lengths = np.linalg.svd(moved - moved.mean(axis=0), compute_uv=False)
    assert lengths[1] > 20 * lengths[2], "two dimensions are moved, and no others"
