"""What was asked of an investigation, in plain values, and where its numbers come from: all that decides the result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from equipoise.discovery.classifier import Classifier
from equipoise.discovery.generator import Generator, Prior
from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.surrogate import SurrogateSettings
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import fingerprint_of, provenance

Asked = dict[str, dict[str, Any] | None]


def asked_of(
    generator: Generator, classifier: Classifier, surrogate: SurrogateSettings | None, reference: Classifier | None,
    **investigation: object,
) -> Asked:  # fmt: skip
    """Return by part what was asked for beside the settings of search and judging; a part that is not there is None."""
    return {
        "investigation": investigation,
        "surrogate": None if surrogate is None else asdict(surrogate),
        "classifier": _read(classifier),
        "reference": None if reference is None else _read(reference),
        "generator": {
            "latent_size": generator.latent_size, "prior": _named(generator.prior), "image": generator.image,
        },
    }  # fmt: skip


def _read(classifier: Classifier) -> dict[str, Any]:
    """Return how a classifier is read."""
    output = classifier.output
    return {
        "output": output,
        "class": classifier.names[output] if classifier.names and isinstance(output, int) else None,
        "names": list(classifier.names),
        "logits": classifier.logits,
        "size": classifier.size,
        "resize": classifier.resize,
    }


def origin_of(
    generator: Generator, classifier: Classifier, reference: Classifier | None, target: Hyperplane | None,
    known: Sequence[Hyperplane], settings: Mapping[str, Mapping[str, Any] | None], names: Sequence[str],
    command: Iterable[str] | None,
) -> dict[str, object]:  # fmt: skip
    """Say where the numbers come from; the fingerprint is that of weights, planes and everything that was asked for."""
    torch = require("torch", extra="train", purpose="Discovery")
    planes = (*(() if target is None else (target,)), *known)
    told = [[plane.name, plane.offset, plane is target] for plane in planes]
    parts = [json.dumps([settings, told], sort_keys=True, default=str).encode()]
    parts += [plane.normal.tobytes() for plane in planes]
    for module in (generator.module, *(one.module for one in (classifier, reference) if one is not None)):
        for name, tensor in sorted(module.state_dict().items()):
            parts += [name.encode(), tensor.detach().double().cpu().numpy().tobytes()]
    return provenance(
        fingerprint=fingerprint_of(parts),
        command=command,
        data=f"{names[0]} on pictures of {names[1]}",
        columns={},
        options=_options(settings),
        torch=str(torch.__version__),
        device=str(generator.device),
        latent_size=generator.latent_size,
    )


def _options(settings: Mapping[str, Mapping[str, Any] | None]) -> dict[str, object]:
    """Return settings one by one; but for those of search and investigation, their part stands before their name."""
    made: dict[str, object] = {}
    for part, values in settings.items():
        if values is None:
            made[part] = None
            continue
        before = "" if part in ("search", "investigation") else f"{part} "
        made |= {f"{before}{name}": value for name, value in values.items()}
    return made


def _named(prior: Prior) -> str:
    """Return a prior by its name; a function has that which it was given where it is written."""
    if isinstance(prior, str):
        return prior
    inner = prior.func if isinstance(prior, partial) else prior
    return f"function {getattr(inner, '__qualname__', type(inner).__qualname__)}"
