"""The nine combinations of loss and miner that the result tables of paper 000 show, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.foundation import (
    BadInput,
    Entry,
    registry,
)
from equipoise.training.metric._loss import MetricLoss
from equipoise.training.metric._mining import Miner
from equipoise.training.metric._sampler import Sampler


@dataclass(frozen=True)
class Preset:
    """A loss, a miner where the loss needs one, and a sampler, all by name and with their defaults."""

    name: str
    loss: str
    miner: str | None
    sampler: str
    summary: str

    def make(self) -> tuple[MetricLoss, Miner | None, Sampler]:
        """Return the three, ready for use."""
        loss = make_loss(self.loss)
        return loss, make_miner(self.miner, loss), make_sampler(self.sampler)


def make_loss(name: str, **values: Any) -> MetricLoss:
    """Return a registered loss with these hyper-parameters, defaults for the others."""
    return _made("metric_loss", name, values)  # type: ignore[no-any-return]


def make_miner(name: str | None, loss: MetricLoss, **values: Any) -> Miner | None:
    """Return a registered miner that suits a loss, None for a loss that needs none; a mismatch is refused."""
    called = type(loss).__name__
    if loss.needs == "nothing":
        if name is not None:
            raise BadInput(f"The loss {called} was given the miner {name!r}", available="none: it needs no triplets")
        return None
    if name is None:
        raise BadInput(f"The loss {called} was given no miner", help="choose one (see: equipoise list miners).")
    miner: Miner = _made("miner", name, values)
    if loss.needs == "triplets" and miner.gives == "pairs":
        raise BadInput(
            f"The miner {name!r} finds pairs, and the loss {called} needs triplets",
            help="choose distance_weighted, semi_hard, soft_hard or random.",
        )
    return miner


def make_sampler(name: str, **values: Any) -> Sampler:
    """Return a registered sampler with these hyper-parameters, defaults for the others."""
    return _made("sampler", name, values)  # type: ignore[no-any-return]


def get_preset(name: str) -> Preset:
    """Return a preset by its name."""
    preset: Any = registry.get("metric_preset", name).implementation
    return preset  # type: ignore[no-any-return]


def _made(kind: str, name: str, values: dict[str, Any]) -> Any:
    thing: Any = registry.get(kind, name).implementation
    return thing(**values)


# Name, loss, miner and the paper's name of the combination.
TABLE = (
    ("margin_distance", "margin", "distance_weighted", "Margin · Distance"),
    ("margin_semi_hard", "margin", "semi_hard", "Margin · Semi-hard"),
    ("triplet_distance", "triplet", "distance_weighted", "Triplet · Distance"),
    ("triplet_semi_hard", "triplet", "semi_hard", "Triplet · Semi-hard"),
    ("contrastive_distance", "contrastive", "distance_weighted", "Contrastive · Distance"),
    ("multi_similarity", "multi_similarity", None, "Multisimilarity"),
    ("proxy_nca", "proxy_nca", None, "Proxy-NCA"),
    ("arcface", "arcface", None, "ArcFace"),
    ("n_pair", "n_pair", "n_pair", "N-Pair · N-Pair"),
)
for _name, _loss, _miner, _said in TABLE:
    _mining = f"the miner {_miner}" if _miner else "no miner"
    _summary = f"{_said}: the loss {_loss} with {_mining}, SPC-2 batches."
    registry.add(
        Entry(
            "metric_preset", _name, Preset(_name, _loss, _miner, "samples_per_class", _summary), _summary, "000",
            extra="train", module=__name__,
        )
    )  # fmt: skip
