"""Which treatment fits which learner: by what it requires and what the learner offers, with the reason elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.foundation import BadInput, registry
from equipoise.training import (
    LACKING,
    Job,
    Need,
    Settings,
    all_learners,
    all_treatments,
    check_compatible,
    compatibility_matrix,
    groups_at_prediction,
    incompatibility,
    required,
    train,
)
from equipoise.treatments import DomainIndependent, Parade, Reweighting, ThresholdOptimizer
from helpers.cases import matrix as matrix_cases
from helpers.cases.training import Learns, planted

# Cells that may not be empty.
OF_CLASSIFIERS = (
    "reweighting", "downsampling", "equal_opportunity_class", "equal_opportunity_global", "fairbatch", "adversarial",
    "diverse_adversarial", "inlp", "oversampling", "rebalancing", "uniform_confusion", "gradient_projection",
    "domain_discriminative", "domain_independent", "gradient_reversal", "l2_gap_penalty", "fairalm", "group_dro",
)  # fmt: skip
OF_EMBEDDINGS = ("adversarial", "inlp", "leace", "reweighting", "parade", "group_dro")


def test_the_matrix_is_the_one_that_is_meant() -> None:
    """A new treatment or learner gets its cells in helpers/cases/matrix.py; one that empties a cell needs a reason."""
    now = {
        (treatment, learner): "fits" if reason is None else reason.missing[0].value
        for treatment, row in compatibility_matrix().items() if treatment in registered("treatment")
        for learner, reason in row.items() if learner in registered("learner")
    }  # fmt: skip
    meant = {cell: "fits" if matrix_cases.fits(*cell) else need for cell, need in matrix_cases.CELLS.items()}
    assert now == meant


def registered(kind: str) -> set[str]:
    """The names of what is ours: other tests may register more."""
    return {entry.name for entry in registry.entries(kind) if entry.module.startswith("equipoise.")}


@pytest.mark.parametrize("learner", ["mlp", "module", "image_network"])
@pytest.mark.parametrize("treatment", OF_CLASSIFIERS)
def test_methods_of_classifiers_fit_tables_pictures_and_modules(treatment: str, learner: str) -> None:
    assert compatibility_matrix()[treatment][learner] is None


@pytest.mark.parametrize("treatment", OF_EMBEDDINGS)
def test_methods_fit_embeddings(treatment: str) -> None:
    assert compatibility_matrix()[treatment]["metric_learner"] is None


def test_pages_name_and_count_every_treatment() -> None:
    names, root = registered("treatment"), Path(__file__).parents[2]
    page = (root / "docs" / "guide" / "treatments.md").read_text(encoding="utf-8")
    listed = page.split("## Which treatment fits")[0]
    assert all(f"| `{name}` |" in listed for name in names)
    number = len(names - {"untreated"})
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"{number} [treatments](docs/guide/treatments.md)" in readme
    assert f"| debiasing methods | {number}," in (root / "docs" / "guide" / "peers.md").read_text(encoding="utf-8")
    assert f"{number} debiasing methods" in (root / "docs" / "index.md").read_text(encoding="utf-8")


def test_every_need_is_offered_by_a_learner_and_required_by_a_treatment() -> None:
    offered = {need for learner in all_learners().values() for need in learner.offers}
    wanted = {need for treatment in all_treatments().values() for need in required(treatment)}
    assert offered == set(Need)
    # An embedding is not required: a treatment that erases from a hidden layer may erase from an embedding.
    assert wanted == set(Need) - {Need.EMBEDDING}
    assert set(LACKING) == set(Need)


def test_an_empty_cell_says_why() -> None:
    reason = incompatibility(all_learners()["mlp"], Parade)
    assert reason is not None
    assert reason.missing == (Need.PAIR_LOSS,)
    assert "pairs or triplets" in str(reason)


def test_moments_say_what_a_treatment_needs() -> None:
    assert required(Reweighting) == {Need.ROW_WEIGHTS}
    assert {Need.STEPS, Need.LOGITS} <= required(DomainIndependent)


def test_a_treatment_of_classes_is_refused_for_numbers() -> None:
    with pytest.raises(BadInput, match="it is for classes, and the target is a number"):
        check_compatible(all_learners()["mlp"], "mlp", DomainIndependent, "domain_independent", "regression")
    dataset = planted(60, task="regression")
    (ended,) = train(dataset, Learns("mlp"), [Job(np.arange(60), 0, treatments=(DomainIndependent(),))], Settings())
    assert ended.failure is not None
    assert "the target is a number" in ended.failure


def test_a_pair_that_does_not_fit_names_learners_that_do() -> None:
    with pytest.raises(BadInput) as refused:
        check_compatible(all_learners()["mlp"], "mlp", Parade, "parade")
    assert "learner = 'metric_learner' takes it." in str(refused.value)


def test_the_command_line_prints_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, ["list", "treatments", "--matrix"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in done.stdout
    # The words of a learner's name stand below each other.
    upper, lower = (line.split() for line in lines[:2])
    assert upper == ["image", "metric", "raw", "scikit"]
    assert lower == ["treatment", "target", "network", "learner", "mlp", "module", "features", "learn"]
    rows = {line.split()[0]: line for line in lines[2:]}
    assert set(rows) >= set(compatibility_matrix())
    numbers = {}
    for treatment, row in compatibility_matrix().items():
        cells = rows[treatment].replace(" (*)", "").replace(" *", "").replace("2 classes", "classes").split()[2:]
        for cell, reason in zip(cells, row.values(), strict=True):
            assert (cell == "●") == (reason is None)
            if reason is not None:
                assert numbers.setdefault(cell, str(reason)) == str(reason), "one number, one reason"
    said = " ".join(done.stdout.split())
    assert all(f"{number} {reason}" in said for number, reason in numbers.items())
    assert "threshold_optimizer * 2 classes" in said
    assert "domain_independent (*) classes" in said


def test_the_matrix_as_json() -> None:
    found = json.loads(CliRunner().invoke(app, ["list", "treatments", "--matrix", "--json"]).stdout)
    assert found["schema"] == "equipoise.compatibility/1"
    cells = {(one["treatment"], one["learner"]): one for one in found["records"]}
    assert len(cells) == len(compatibility_matrix()) * len(all_learners())
    assert cells["parade", "mlp"]["missing"] == ["pair_loss"]
    assert cells["adversarial", "image_network"] == {
        "treatment": "adversarial", "learner": "image_network", "task": None, "compatible": True, "reason": None,
        "missing": [], "tasks": ["class", "regression", "multilabel"], "two_classes": False,
        "groups_at_prediction": "never",
    }  # fmt: skip
    of = {one["treatment"]: (one["tasks"], one["two_classes"], one["groups_at_prediction"]) for one in found["records"]}
    assert of["threshold_optimizer"] == (["class"], True, "always")
    assert of["domain_discriminative"] == (["class"], False, "some readouts")
    assert of["gradient_projection"] == (["class", "multilabel"], False, "never")


def test_an_option_that_does_not_go_with_another_is_left_out_of_what_readouts_need() -> None:
    assert groups_at_prediction(ThresholdOptimizer) == "always"
    assert groups_at_prediction(Reweighting) == "never"


def test_a_matrix_of_anything_else_is_refused() -> None:
    done = CliRunner().invoke(app, ["list", "measures", "--matrix"])
    assert done.exit_code != 0
