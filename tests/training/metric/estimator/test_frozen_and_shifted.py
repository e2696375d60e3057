"""frozen_norm and augmentation of MetricLearner act on a backbone of one's own, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import equipoise  # noqa: E402
from equipoise.foundation import BadInput  # noqa: E402
from equipoise.training.images import Crop, Pictures  # noqa: E402
from equipoise.training.images._pictures import SHIFT, shifted  # noqa: E402
from equipoise.training.learners.metric_learner import MetricLearning  # noqa: E402
from equipoise.training.metric._embedder_training import EmbedderTraining  # noqa: E402

SMALL: dict[str, Any] = {"embedding_size": 4, "batch_size": 8, "epochs": 2, "learning_rate": 0.01}
BYTES = np.random.default_rng(0).integers(0, 256, (24, 9, 12, 3), dtype=np.uint8)
X = (BYTES.transpose(0, 3, 1, 2) / 255).astype(np.float32)
Y = np.arange(24) % 3


def backbone(norm: bool = True, **how: Any) -> Any:
    torch.manual_seed(0)
    parts = [torch.nn.Conv2d(3, 5, 3), torch.nn.BatchNorm2d(5, **how) if norm else torch.nn.GroupNorm(1, 5)]
    return torch.nn.Sequential(*parts, torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def learner(made: Any, **values: Any) -> equipoise.MetricLearner:
    return equipoise.MetricLearner(made, **{**SMALL, **values})


def shown(monkeypatch: pytest.MonkeyPatch, **values: Any) -> list[Any]:
    """Fit, and return the batches that the network was shown."""
    seen: list[Any] = []
    step = EmbedderTraining.step

    def watched(training: Any, fed: Any, *more: Any) -> Any:
        seen.append(fed.inputs.clone())
        return step(training, fed, *more)

    monkeypatch.setattr(EmbedderTraining, "step", watched)
    learner(backbone(), **values).fit(X, Y)
    monkeypatch.setattr(EmbedderTraining, "step", step)
    return seen


def test_a_frozen_normalisation_of_ones_own_backbone_does_not_move_by_a_bit() -> None:
    given = backbone()
    with torch.no_grad():
        given[1].running_mean += torch.arange(5) / 10
        given[1].weight *= 1.5
    before = {name: value.clone() for name, value in given[1].state_dict().items()}
    made = learner(given, frozen_norm=True).fit(X, Y)
    after = made.embedder_.network[1].state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not torch.equal(made.embedder_.network[0].weight, given[0].weight), "the rest of the backbone learns"
    moved = learner(given).fit(X, Y).embedder_.network[1].state_dict()
    assert not torch.equal(moved["running_mean"], before["running_mean"])
    assert not torch.equal(moved["weight"], before["weight"])


def test_a_frozen_normalisation_is_that_of_evaluation_while_training(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    step = EmbedderTraining.step

    def watched(training: Any, *more: Any) -> Any:
        network = training.embedder.network
        modes.append((network.training, network[1].training))
        return step(training, *more)

    monkeypatch.setattr(EmbedderTraining, "step", watched)
    learner(backbone(), frozen_norm=True).fit(X, Y)
    assert set(modes) == {(True, False)}


def test_the_user_keeps_a_backbone_that_is_not_frozen() -> None:
    given = backbone()
    learner(given, frozen_norm=True).fit(X, Y)
    assert given[1].training
    assert given[1].weight.requires_grad


def test_augmentation_changes_the_batches_and_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, first, again, other = (
        shown(monkeypatch, augmentation=augmentation, random_state=seed)
        for augmentation, seed in ((False, 0), (True, 0), (True, 0), (True, 1))
    )
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))
    assert not any(torch.equal(one, two) for one, two in zip(first, plain, strict=True))
    assert not any(torch.equal(one, two) for one, two in zip(first, other, strict=True))
    assert not torch.equal(first[0], first[len(first) // 2]), "each epoch draws anew"


def test_without_being_asked_a_backbone_of_ones_own_is_shown_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    default, plain = shown(monkeypatch), shown(monkeypatch, augmentation=False)
    assert all(torch.equal(one, two) for one, two in zip(default, plain, strict=True))


def test_pictures_are_shifted_as_those_of_a_named_backbone_are_and_as_a_loop_says() -> None:
    ids = torch.arange(24)
    crop = Crop.sample(3, 2, ids, ids * 0)
    found = shifted(torch.from_numpy(BYTES).permute(0, 3, 1, 2), crop)
    assert torch.equal(found, Pictures(BYTES, "cpu").crops(ids, crop))
    numbers = shifted(torch.from_numpy(X), crop)
    for row in range(24):
        top, left = int(crop.top[row]) - SHIFT, int(crop.left[row]) - SHIFT
        for y in range(9):
            for x in range(12):
                across = 11 - x if crop.mirrored[row] else x
                inside = 0 <= y + top < 9 and 0 <= across + left < 12
                wanted = X[row, :, y + top, across + left] if inside else np.zeros(3)
                np.testing.assert_array_equal(numbers[row, :, y, x].numpy(), wanted)


@pytest.mark.parametrize(
    ("made", "rows", "values", "complaint"),
    [
        (None, X.reshape(24, -1), {"frozen_norm": True}, "no normalisation"),
        (backbone(norm=False), X, {"frozen_norm": True}, "has no batch normalisation"),
        (backbone(track_running_stats=False), X, {"frozen_norm": True}, "keeps no running statistics"),
        (None, X.reshape(24, -1), {"augmentation": True}, "without a backbone"),
        (torch.nn.Linear(12, 3), X.reshape(24, -1)[:, :12], {"augmentation": True}, r"rows of the shape \(12,\)"),
        (backbone(), X.transpose(0, 2, 3, 1), {"augmentation": True}, "put channels first"),
    ],
)
def test_where_they_cannot_act_they_are_refused(
    made: Any, rows: np.ndarray, values: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        learner(made, **values).fit(rows, Y)


def test_a_data_loader_is_not_augmented() -> None:
    loader = iter([(torch.from_numpy(X), torch.from_numpy(Y))])
    with pytest.raises(BadInput, match="data loader"):
        learner(backbone(), augmentation=True).fit(loader, Y)


def test_a_study_refuses_a_frozen_normalisation_without_a_backbone() -> None:
    with pytest.raises(BadInput, match="no normalisation"):
        MetricLearning.with_defaults({"frozen_norm": True})
    assert MetricLearning.with_defaults({"frozen_norm": True, "backbone": "small"})["frozen_norm"]


def test_the_pretrained_network_stays_frozen() -> None:
    """The case that was ignored: EfficientNet-Lite0 with both."""
    pytest.importorskip("efficientnet_lite_pytorch")
    from equipoise.networks import efficientnet_lite0

    given = efficientnet_lite0(pretrained=False)
    first = next(name for name, one in given.named_modules() if isinstance(one, torch.nn.BatchNorm2d))
    before = given.get_submodule(first).running_mean.clone()
    pictures = np.random.default_rng(1).random((8, 3, 64, 64), dtype=np.float32)
    made = learner(given, frozen_norm=True, augmentation=True, batch_size=4, epochs=1).fit(pictures, np.arange(8) % 2)
    assert torch.equal(made.embedder_.network.get_submodule(first).running_mean, before)
