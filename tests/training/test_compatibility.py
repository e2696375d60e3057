"""Which treatment fits which learner: by what it requires and what the learner offers, with the reason elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.foundation.errors import BadInput
from equipoise.training.compatibility import Need, check_compatible, incompatibility, learners, matrix, required
from equipoise.training.material import Job, Settings
from equipoise.training.train import train
from equipoise.treatments.domain_independent import DomainIndependent
from equipoise.treatments.parade import Parade
from equipoise.treatments.reweighting import Reweighting
from training_cases import Learns, planted

PAPERS_001_AND_004 = (
    "reweighting", "downsampling", "equal_opportunity_class", "equal_opportunity_global", "fairbatch", "adversarial",
    "diverse_adversarial", "inlp", "oversampling", "uniform_confusion", "gradient_projection", "domain_discriminative",
    "domain_independent",
)  # fmt: skip
ON_EMBEDDINGS = ("adversarial", "reweighting", "parade")


@pytest.mark.parametrize("learner", ["mlp", "module", "image_network"])
@pytest.mark.parametrize("treatment", PAPERS_001_AND_004)
def test_methods_of_classifiers_fit_tables_pictures_and_modules(treatment: str, learner: str) -> None:
    assert matrix()[treatment][learner] is None


@pytest.mark.parametrize("treatment", ON_EMBEDDINGS)
def test_methods_fit_embeddings(treatment: str) -> None:
    assert matrix()[treatment]["metric_learner"] is None


def test_an_empty_cell_says_why() -> None:
    reason = incompatibility(learners()["mlp"], Parade)
    assert reason is not None
    assert reason.missing == (Need.PAIR_LOSS,)
    assert "pairs or triplets" in str(reason)


def test_moments_say_what_a_treatment_needs() -> None:
    assert required(Reweighting) == {Need.ROW_WEIGHTS}
    assert {Need.STEPS, Need.LOGITS} <= required(DomainIndependent)


def test_a_treatment_of_classes_is_refused_for_numbers() -> None:
    with pytest.raises(BadInput, match="it is for classes, and the target is a number"):
        check_compatible(learners()["mlp"], "mlp", DomainIndependent, "domain_independent", "regression")
    material = planted(60, task="regression")
    (ended,) = train(material, Learns("mlp"), [Job(np.arange(60), 0, treatments=(DomainIndependent(),))], Settings())
    assert ended.failure is not None
    assert "the target is a number" in ended.failure


def test_a_pair_that_does_not_fit_names_learners_that_do() -> None:
    with pytest.raises(BadInput) as refused:
        check_compatible(learners()["mlp"], "mlp", Parade, "parade")
    assert "learner = 'metric_learner' takes it." in str(refused.value)


def test_the_command_line_prints_the_matrix() -> None:
    done = CliRunner().invoke(app, ["list", "treatments", "--matrix"])
    assert done.exit_code == 0
    assert "(1)" in done.stdout
    assert "pairs or triplets" in " ".join(done.stdout.split())
    found = json.loads(CliRunner().invoke(app, ["list", "treatments", "--matrix", "--json"]).stdout)
    assert found["schema"] == "equipoise.compatibility/1"
    cells = {(one["treatment"], one["learner"]): one for one in found["records"]}
    assert len(cells) == len(matrix()) * len(learners())
    assert cells["parade", "mlp"]["missing"] == ["pair_loss"]
    assert cells["adversarial", "image_network"] == {
        "treatment": "adversarial", "learner": "image_network", "compatible": True, "reason": None, "missing": [],
    }  # fmt: skip


def test_a_matrix_of_anything_else_is_refused() -> None:
    done = CliRunner().invoke(app, ["list", "measures", "--matrix"])
    assert done.exit_code != 0
