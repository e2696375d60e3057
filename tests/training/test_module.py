"""Users' own networks as learners."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.training.material import Settings
from equipoise.training.train import learner_of, stack_size, train
from training_cases import Learns, Rival, jobs_of, planted

torch = pytest.importorskip("torch")


def plain(features: int, classes: int, width: int = 8) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(features, width), torch.nn.Tanh(), torch.nn.Linear(width, classes))


def with_state(features: int, classes: int) -> Any:
    return torch.nn.Sequential(
        torch.nn.Linear(features, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.2), torch.nn.Linear(8, classes)
    )


class Shows(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Returns logits and hidden layer; the logits come from no linear layer."""

    def __init__(self, features: int, classes: int, hidden: bool = True) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(features, 8), torch.nn.Linear(8, classes)
        self.shows = hidden

    def forward(self, rows: Any) -> Any:
        hidden = self.first(rows).tanh()
        logits = self.second(hidden) * 2.0
        return (logits, hidden) if self.shows else logits


SMALL = {"batch_size": 64, "epochs": 5, "learning_rate": 2e-2}


@pytest.mark.parametrize("factory", [plain, Shows, with_state, "test_module_factories:plain"])
def test_a_network_of_ones_own_learns_with_treatments(factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "test_module_factories", SimpleNamespace(plain=plain))  # type: ignore[arg-type]
    material = planted()
    learner = Learns("module", {"factory": factory, **SMALL})
    jobs = jobs_of(material, [0, 1, 0], [Rival()])
    first = train(material, learner, jobs)
    again = train(material, learner, jobs)
    for ended, other in zip(first, again, strict=True):
        assert ended.failure is None
        assert max(one.performance for one in ended.history) > 0.75
        assert np.array_equal(ended.test.scores, other.test.scores)  # type: ignore[union-attr]
    assert np.array_equal(first[0].test.scores, first[2].test.scores)  # type: ignore[union-attr]
    assert not np.array_equal(first[0].test.scores, first[1].test.scores)  # type: ignore[union-attr]


def test_modules_train_together_as_alone_and_those_with_state_alone() -> None:
    material = planted()
    learner = Learns("module", {"factory": plain, **SMALL})
    jobs = jobs_of(material, [0, 1, 2], [Rival()])
    exact = Settings(precision="float64")
    assert stack_size(learner, material, jobs) == 32
    assert stack_size(Learns("module", {"factory": with_state}), material, jobs) == 1
    stacked, alone = (train(material, learner, jobs, exact, stack=size) for size in (3, 1))
    for one, other in zip(stacked, alone, strict=True):
        assert one.best_epoch == other.best_epoch
        assert np.allclose(one.test.scores, other.test.scores, atol=1e-6)  # type: ignore[union-attr]


def test_running_statistics_belong_to_the_best_epoch() -> None:
    material = planted()
    learner = Learns("module", {"factory": with_state, **SMALL, "epochs": 12, "learning_rate": 0.2})
    (ended,) = train(material, learner, jobs_of(material, [3]))
    best = ended.history[ended.best_epoch - 1]
    assert ended.best_epoch < len(ended.history)
    assert (ended.dev.values == material.dev.target).mean() == best.performance  # type: ignore[union-attr]


def test_a_network_that_shows_no_hidden_layer_is_refused_where_one_is_needed() -> None:
    material = planted()
    hides = Learns("module", {"factory": Shows, "settings": {"hidden": False}, **SMALL})
    needing, not_needing = train(material, hides, [*jobs_of(material, [0], [Rival()]), *jobs_of(material, [0])])
    assert "return (logits, hidden)" in (needing.failure or "")
    assert not_needing.failure is None


def test_dropout_under_jitter_is_noted_and_what_is_no_factory_is_refused() -> None:
    material = planted()
    (ended,) = train(
        material,
        Learns("module", {"factory": with_state, **SMALL}),
        jobs_of(material, [0]),
        Settings(rounding="jitter"),
    )
    assert "dropout" in ended.notes[-1]
    kind = learner_of("module")
    with pytest.raises(BadInput, match="factory of the learner module is None"):
        kind.completed({})
    (broken,) = train(material, Learns("module", {"factory": lambda *_: 3, **SMALL}), jobs_of(material, [0]))
    assert "returned int" in (broken.failure or "")
    (unnamed,) = train(material, Learns("module", {"factory": "nothing", **SMALL}), jobs_of(material, [0]))
    assert "package.module:name" in (unnamed.failure or "")
    assert kind.described(kind.completed({"factory": plain}))["factory"].endswith("test_module:plain")
