"""Users' own networks as learners."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.training import Settings, fix_seeds, learner_of, source_hash, stack_size, train
from equipoise.training._stack_backend import StackedNetworks
from equipoise.treatments import (
    Adversarial,
    DiverseAdversarial,
    EqualOpportunityClass,
    EqualOpportunityGlobal,
    FairBatch,
)
from helpers.cases.training import Learns, Rival, jobs_of, planted

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
    dataset = planted()
    learner = Learns("module", {"factory": factory, **SMALL})
    jobs = jobs_of(dataset, [0, 1, 0], [Rival()])
    first = train(dataset, learner, jobs)
    again = train(dataset, learner, jobs)
    for ended, other in zip(first, again, strict=True):
        assert ended.failure is None
        assert max(one.performance for one in ended.history) > 0.75
        assert np.array_equal(ended.test.scores, other.test.scores)  # type: ignore[union-attr]
    assert np.array_equal(first[0].test.scores, first[2].test.scores)  # type: ignore[union-attr]
    assert not np.array_equal(first[0].test.scores, first[1].test.scores)  # type: ignore[union-attr]


def test_modules_train_together_as_alone_and_those_with_state_alone() -> None:
    dataset = planted()
    learner = Learns("module", {"factory": plain, **SMALL})
    jobs = jobs_of(dataset, [0, 1, 2], [Rival()])
    exact = Settings(precision="float64")
    assert stack_size(learner, dataset, jobs) == 32
    assert stack_size(Learns("module", {"factory": with_state}), dataset, jobs) == 1
    stacked, alone = (train(dataset, learner, jobs, exact, stack=size) for size in (3, 1))
    for one, other in zip(stacked, alone, strict=True):
        assert one.best_epoch == other.best_epoch
        assert np.allclose(one.test.scores, other.test.scores, atol=1e-6)  # type: ignore[union-attr]


def test_running_statistics_belong_to_the_best_epoch() -> None:
    dataset = planted()
    learner = Learns("module", {"factory": with_state, **SMALL, "epochs": 12, "learning_rate": 0.2})
    (ended,) = train(dataset, learner, jobs_of(dataset, [3]))
    best = ended.history[ended.best_epoch - 1]
    assert ended.best_epoch < len(ended.history)
    assert (ended.dev.values == dataset.dev.target).mean() == best.performance  # type: ignore[union-attr]


def test_a_network_that_shows_no_hidden_layer_is_refused_where_one_is_needed() -> None:
    dataset = planted()
    hides = Learns("module", {"factory": Shows, "settings": {"hidden": False}, **SMALL})
    needing, not_needing = train(dataset, hides, [*jobs_of(dataset, [0], [Rival()]), *jobs_of(dataset, [0])])
    assert "return (logits, hidden)" in (needing.failure or "")
    assert not_needing.failure is None


def test_dropout_under_jitter_is_noted_and_what_is_no_factory_is_refused() -> None:
    dataset = planted()
    (ended,) = train(
        dataset,
        Learns("module", {"factory": with_state, **SMALL}),
        jobs_of(dataset, [0]),
        Settings(rounding="jitter"),
    )
    assert "dropout" in ended.notes[-1]
    kind = learner_of("module")
    with pytest.raises(BadInput, match="factory of the learner module is None"):
        kind.with_defaults({})
    (broken,) = train(dataset, Learns("module", {"factory": lambda *_: 3, **SMALL}), jobs_of(dataset, [0]))
    assert "returned int" in (broken.failure or "")
    (unnamed,) = train(dataset, Learns("module", {"factory": "nothing", **SMALL}), jobs_of(dataset, [0]))
    assert "package.module:name" in (unnamed.failure or "")
    assert kind.described(kind.with_defaults({"factory": plain}))["factory"].endswith("test_module:plain")


class Frozen(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A first layer that is frozen, and a layer that nothing uses."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first, self.second, self.unused = (
            torch.nn.Linear(*sizes) for sizes in ((features, 8), (8, classes), (2, 2))
        )
        self.first.requires_grad_(False)

    def forward(self, rows: Any) -> Any:
        return self.second(self.first(rows).tanh())


def test_frozen_and_unused_parameters_stay_as_they_are() -> None:
    dataset = planted()
    learner = Learns("module", {"factory": Frozen, **SMALL, "weight_decay": 0.01})
    jobs = jobs_of(dataset, [0, 1])
    exact = Settings(precision="float64")
    assert stack_size(learner, dataset, jobs) == 32
    fits: list[Any] = []
    finish = StackedNetworks.finish

    def kept(self: Any, ended: Any) -> Any:
        fits.append(self)
        return finish(self, ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StackedNetworks, "finish", kept)
        stacked, alone = (train(dataset, learner, jobs, exact, stack=size) for size in (2, 1))
    for one, other in zip(stacked, alone, strict=True):
        assert one.failure is None
        assert np.allclose(one.test.scores, other.test.scores, atol=1e-6)  # type: ignore[union-attr]
    ended = fits[0].stack.network
    for index, seed in enumerate((0, 1)):
        fix_seeds(seed)
        begun = dict(Frozen(6, 2).double().named_parameters())
        for name, value in begun.items():
            assert torch.equal(ended._values[name][index], value) == (not name.startswith("second"))


def test_a_network_with_nothing_to_train_is_refused() -> None:
    dataset = planted()
    (ended,) = train(dataset, Learns("module", {"factory": still, **SMALL}), jobs_of(dataset, [0]))
    assert "no parameters to train" in (ended.failure or "")


def still(features: int, classes: int) -> Any:
    return plain(features, classes).requires_grad_(False)


@pytest.mark.parametrize(
    "treatment", [EqualOpportunityClass(), EqualOpportunityGlobal(), FairBatch(), Adversarial(), DiverseAdversarial()]
)
def test_only_a_treatment_that_reads_the_hidden_layer_needs_one(treatment: Any) -> None:
    dataset = planted()
    hides = Learns("module", {"factory": Shows, "settings": {"hidden": False}, **SMALL, "epochs": 2})
    (ended,) = train(dataset, hides, jobs_of(dataset, [0], [treatment]))
    reads = isinstance(treatment, Adversarial | DiverseAdversarial)
    assert ("return (logits, hidden)" in (ended.failure or "")) == reads
    assert (ended.failure is None) != reads


def test_modules_with_state_train_alone_however_many_are_asked_for() -> None:
    dataset = planted()
    learner = Learns("module", {"factory": with_state, **SMALL, "epochs": 2})
    jobs = jobs_of(dataset, [0, 1, 2])
    together, alone = (train(dataset, learner, jobs, stack=size) for size in (3, 1))
    for one, other in zip(together, alone, strict=True):
        assert one.failure is None
        assert np.array_equal(one.test.scores, other.test.scores)  # type: ignore[union-attr]


class Makes:
    """Factories of several kinds."""

    def __init__(self, width: int) -> None:
        self.width = width

    def of_this_width(self, features: int, classes: int) -> Any:
        return plain(features, classes, self.width)

    def __call__(self, features: int, classes: int) -> Any:
        return plain(features, classes, self.width)

    @classmethod
    def small(cls, features: int, classes: int) -> Any:
        return plain(features, classes, 2)


class MakesMore(Makes):
    """Inherits a factory."""


def test_a_factory_that_shares_its_name_with_others_names_no_trial() -> None:
    kind = learner_of("module")

    def inner(features: int, classes: int) -> Any:
        return plain(features, classes)

    for factory in (lambda f, c: plain(f, c), inner, partial(plain, width=3), Makes(3), Makes(3).of_this_width):
        with pytest.raises(BadInput, match="shares its name with others"):
            kind.described(kind.with_defaults({"factory": factory}))
    named = [kind.described(kind.with_defaults({"factory": one}))["factory"] for one in (Makes.small, MakesMore.small)]
    assert [name.rpartition(":")[2] for name in named] == ["Makes.small", "MakesMore.small"]
    with pytest.raises(BadInput, match="setting of a factory"):
        kind.described(kind.with_defaults({"factory": plain, "settings": {"width": lambda: 3}}))


def test_a_version_names_changed_code_and_a_hash_of_the_source_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = learner_of("module")
    values = kind.with_defaults({"factory": plain})
    assert kind.described(values)["version"] == 1
    assert kind.described(kind.with_defaults({"factory": plain, "version": 2})) != kind.described(values)
    with pytest.raises(BadInput, match="version is 0"):
        kind.with_defaults({"factory": plain, "version": 0})
    monkeypatch.setitem(sys.modules, "test_module_factories", SimpleNamespace(plain=plain))  # type: ignore[arg-type]
    assert kind.source(values) == kind.source(kind.with_defaults({"factory": "test_module_factories:plain"}))
    assert kind.source(values) != kind.source(kind.with_defaults({"factory": with_state}))
    assert len(kind.source(values) or "") == 16
    assert learner_of("mlp").source({}) is None
    assert source_hash(Makes(3)) == source_hash(Makes) != source_hash(plain)
    assert source_hash(len) is None
