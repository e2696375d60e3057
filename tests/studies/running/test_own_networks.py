"""Own networks and weights in a plan: found beside it, trained, reported without the code, and watched for changes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.studies import read_plan
from helpers.cases import picture as picture_cases

pytest.importorskip("sqlalchemy")

from equipoise.studies.storage import open_store

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")

PLAN = """
seeds = 2
group = "domain"
selection = "last"

[cohort]
name = "cifar10s"
path = "cifar10"
options = { skew = 0.8 }
dev = 0.2

[learner]
name = "image_network"
network = "my_nets.py:make"
settings = { width = 4 }
weights = "weights.safetensors"
frozen_norm = true
optimiser = "adam"
learning_rate = 1e-3
backbone_learning_rate = 1e-4
schedule = "cosine"
warm_up = 0.1
augmentation = "resized_crop"
size = 16
epochs = 1
batch_size = 20

[[conditions]]
name = "as_given"

[[treatments]]
name = "untreated"

[[treatments]]
name = "reweighting"
"""

NETS = """
import torch


def make(channels, width):
    return torch.nn.Sequential(
        torch.nn.Conv2d(channels, width, 3), torch.nn.BatchNorm2d(width), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
    )
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    folder = tmp_path / "plans"
    folder.mkdir()
    picture_cases.write_binary(folder / "cifar10")
    (folder / "my_nets.py").write_text(NETS)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    files.save_file(network.state_dict(), folder / "weights.safetensors")
    (folder / "plan.toml").write_text(PLAN)
    return folder / "plan.toml"


def test_a_plan_trains_an_own_network_and_is_reported_without_its_code(plan: Path, tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    study = read_plan(plan).study()
    (learning,) = study.learners
    settings = learning.named.settings
    assert (settings["network"], settings["weights"]) == ("my_nets.py:make", "weights.safetensors")
    assert str(tmp_path) not in str(settings)
    study.run(place)
    assert study.status(place).done == 4
    (plan.parent / "my_nets.py").unlink()
    (plan.parent / "weights.safetensors").unlink()
    again = read_plan(plan).study()
    assert [trial.key for trial in again.trials()] == [trial.key for trial in study.trials()]
    assert again.result(place).records
    with pytest.raises(BadInput, match="There is no file"):
        again.run(place)


def test_code_and_weights_that_changed_are_noticed(plan: Path, tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    read_plan(plan).study().run(place)
    held = files.load_file(plan.parent / "weights.safetensors")
    files.save_file({name: value + 1 for name, value in held.items()}, plan.parent / "weights.safetensors")
    with pytest.warns(UserWarning, match=r"source of image_network.*has changed.*raise version="):
        read_plan(plan).study().run(place)


def test_frozen_keys_know_none_of_the_new_hyper_parameters(plan: Path) -> None:
    plain = (
        plan.read_text().partition("network =")[0]
        + 'network = "small"\n\n[[conditions]]'
        + (plan.read_text().partition("[[conditions]]")[2])
    )
    plan.write_text(plain)
    (learning,) = read_plan(plan).study().learners
    assert sorted(learning.named.settings) == [
        "augmentation", "batch_size", "epochs", "learning_rate", "momentum", "network", "schedule", "weight_decay",
    ]  # fmt: skip
    assert "my_nets" not in " ".join(sys.modules)
    assert np.isfinite(learning.values["learning_rate"])


def test_other_processes_find_the_code_and_the_weights_of_a_plan(plan: Path, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone.db", tmp_path / "together.db"
    read_plan(plan).study().run(alone)
    study = read_plan(plan).study()
    study.run(together, workers=2)
    assert study.status(together).done == 4
    found = []
    for place in (alone, together):
        with open_store(place, plan="plan") as store:
            found.append({trial.key: store.predictions(trial.key, "test").values for trial in study.trials()})
    assert all(np.array_equal(values, found[1][key]) for key, values in found[0].items())


def test_an_own_network_is_diagnosed_layer_by_layer(plan: Path) -> None:
    text = plan.read_text().replace("seeds = 2", 'seeds = 1\nrounding = "deterministic jitter"')
    plan.write_text(text.replace('augmentation = "resized_crop"', "augmentation = false"))
    found = read_plan(plan).study().diagnose(4)
    assert {"0", "head"} <= {record.layer for record in found.records}
