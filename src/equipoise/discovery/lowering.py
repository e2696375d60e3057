"""Networks that compute in fewer bits: their layers in bfloat16, what they give in float32; weights stay as they are.

A search may walk so, for it asks which way is down; what a direction does is measured as the networks are. Sigmoids
(tanh is one) are taken in float32: in bfloat16 probabilities come in steps of 0.004, and those near 1 have no slope.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Literal, get_args

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator
from equipoise.foundation.errors import unknown_name
from equipoise.foundation.imports import require

# What torch's convolutions do by themselves (TF32 on a card, float32 on a CPU), or bfloat16.
Precision = Literal["native", "bfloat16"]


def check_precision(precision: str) -> None:
    """Refuse a precision that is none."""
    if precision not in get_args(Precision):
        raise unknown_name("precision", str(precision), get_args(Precision), "discovery")


def generator_in(precision: Precision, generator: Generator) -> Generator:
    """Return a generator that computes with a precision."""
    check_precision(precision)
    return generator if precision == "native" else replace(generator, module=_lowered_kind()(generator.module))


def classifier_in(precision: Precision, classifier: Classifier) -> Classifier:
    """Return a classifier that computes with a precision; of its logits probabilities are made in float32."""
    check_precision(precision)
    return classifier if precision == "native" else replace(classifier, module=_lowered_kind()(classifier.module))


@cache
def _lowered_kind() -> Any:
    torch = require("torch", extra="train", purpose="A network in bfloat16")

    sigmoids = {torch.sigmoid, torch.Tensor.sigmoid, torch.nn.functional.sigmoid, torch.special.expit,
                torch.tanh, torch.Tensor.tanh, torch.nn.functional.tanh}  # fmt: skip

    class SigmoidsInFloat32(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
            if function in sigmoids and given:
                given = (given[0].float(), *given[1:])
            return function(*given, **(named or {}))

    class Lowered(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, given: Any) -> Any:
            with torch.autocast(given.device.type, dtype=torch.bfloat16), SigmoidsInFloat32():
                made = self.module(given)
            return made.float() if isinstance(made, torch.Tensor) else made

    return Lowered
