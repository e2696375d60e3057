"""Only the target head of PARADE is released: estimator and file hold nothing of the sensitive heads."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.treatments import Parade, parade
from equipoise.treatments.parade import Separated

torch = pytest.importorskip("torch")

ROWS, FEATURES, WIDTH = 120, 10, 8


def people() -> tuple[Any, Any, dict[str, Any]]:
    """Rows of four classes with two attributes, of which one has a missing value."""
    generator = np.random.default_rng(0)
    y, sex = np.arange(ROWS) % 4, generator.integers(2, size=ROWS)
    features = generator.standard_normal((ROWS, FEATURES)) + 2 * np.eye(FEATURES)[y] + np.eye(FEATURES)[5 + sex]
    race = np.array(["a", "b", "c", None], dtype=object)[generator.integers(4, size=ROWS)]
    return features.astype(np.float32), y, {"sex": np.array(["f", "m"])[sex], "race": race}


class Watched(Separated):
    """PARADE that can be found again while anything holds it."""

    made: list[weakref.ref[Any]] = []  # noqa: RUF012 - one list for the test
    values: list[Any] = []  # noqa: RUF012

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        Watched.made.append(weakref.ref(self))
        Watched.values = [tensor for part in self.parts().values() for tensor in part.tensors]


def backbone() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, 12), torch.nn.ReLU())


@pytest.mark.parametrize("own", [False, True])
def test_the_estimator_and_its_file_hold_the_target_path_alone(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file

    monkeypatch.setattr(parade, "Separated", Watched)
    Watched.made.clear()
    X, y, groups = people()
    torch.manual_seed(0)
    network = backbone() if own else None
    made = equipoise.MetricLearner(
        network, embedding_size=WIDTH, epochs=2, batch_size=24, learning_rate=1e-2, treatments=[Parade(rho=100.0)]
    )
    made.fit(X, y, sensitive_features=groups)
    (part,) = Watched.made
    sensitive = [value.detach().clone() for value in Watched.values]
    Watched.values.clear()
    gc.collect()
    assert part() is None, "something of the estimator still holds the sensitive heads"
    path = tmp_path / "learner.safetensors"
    made.save(path)
    found = load_file(path)
    of_backbone = {f"network.{name}" for name in backbone().state_dict()} if own else set()
    assert set(found) == {"head.weight", "head.bias"} | of_backbone
    assert found["head.weight"].shape == (WIDTH, 12 if own else FEATURES)
    content = path.read_bytes()
    # Two attributes with a head (2), xi (4) and beta (1) each: no value stands in the file, either way round.
    assert len(sensitive) == 14
    for value in sensitive:
        assert value.numpy().tobytes() not in content
        assert value.mT.contiguous().numpy().tobytes() not in content
    again = equipoise.MetricLearner.load(path, **({"backbone": backbone()} if own else {}))
    assert np.array_equal(again.transform(X), made.transform(X))
    assert again.transform(X).shape == (ROWS, WIDTH)


def test_the_treatment_is_what_moves_the_estimator() -> None:
    X, y, groups = people()
    how: dict[str, Any] = {"embedding_size": WIDTH, "epochs": 2, "batch_size": 24, "learning_rate": 1e-2}
    plain = equipoise.MetricLearner(**how).fit(X, y).transform(X)
    control, treated = (
        equipoise.MetricLearner(**how, treatments=[Parade(rho=rho)]).fit(X, y, sensitive_features=groups).transform(X)
        for rho in (0.0, 1000.0)
    )
    assert np.array_equal(plain, control)
    assert not np.allclose(plain, treated)
