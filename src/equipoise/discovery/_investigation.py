"""What an investigation of a classifier comes to: directions with their strips, baselines, known attributes, a verdict.

Its JSON, "equipoise.discovery/2", has everything but the pictures; undefined is null, with a reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery._classifier import Classifier
from equipoise.discovery._hyperplane import Hyperplane
from equipoise.discovery._judging import Judged, JudgeSettings
from equipoise.discovery._reasons import DiscoveryReason
from equipoise.discovery._search import SearchSettings
from equipoise.discovery._surrogate import SurrogateSettings
from equipoise.discovery.generative import Generator, Prior
from equipoise.foundation import (
    Floats,
    fingerprint_of,
    plural,
    provenance,
    require,
)
from equipoise.results import (
    Direction,
    Finding,
    Interval,
    Reason,
    Result,
    SearchVerdict,
    Table,
    because,
    reason_as_json,
)

RunSpec = dict[str, dict[str, Any] | None]


def run_spec_of(
    generator: Generator, classifier: Classifier, surrogate: SurrogateSettings | None, reference: Classifier | None,
    **investigation: object,
) -> RunSpec:  # fmt: skip
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
    plane_parts = [[plane.name, plane.offset, plane is target] for plane in planes]
    parts = [json.dumps([settings, plane_parts], sort_keys=True, default=str).encode()]
    parts += [plane.normal.tobytes() for plane in planes]
    for module in (generator.module, *(network.module for network in (classifier, reference) if network is not None)):
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
    options: dict[str, object] = {}
    for part, values in settings.items():
        if values is None:
            options[part] = None
            continue
        before = "" if part in ("search", "investigation") else f"{part} "
        options |= {f"{before}{name}": value for name, value in values.items()}
    return options


def _named(prior: Prior) -> str:
    """Return a prior by its name; a function has that which it was given where it is written."""
    if isinstance(prior, str):
        return prior
    inner = prior.func if isinstance(prior, partial) else prior
    return f"function {getattr(inner, '__qualname__', type(inner).__qualname__)}"


SCHEMA = "equipoise.discovery/2"
# Of a loss curve more digits say nothing.
DIGITS = 6
# Numbers of a judged direction by their keys in JSON.
NUMBERS = {
    "variation": "variation", "low": "low", "high": "high", "way": "total_change", "steadiness": "steadiness",
    "chance": "chance", "chance_high": "chance_high", "rank_among_random": "rank_among_random",
}  # fmt: skip
UNDEFINED = float("nan")
Span = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Strip:
    """One latent moved along a direction: pictures ``[alpha, height, width, channel]``, and p under each of them."""

    pictures: NDArray[np.uint8] = field(repr=False)
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class PresentedDirection:
    """A judged direction with its strips; every direction of an investigation is shown from the same latents.

    ``method`` is "search", or the baseline whose lowest direction it is: "axes", "pca", "hessian", "random" or
    "random orthogonal".
    """

    method: str
    judged: Judged
    strips: tuple[Strip, ...] = field(repr=False)

    @property
    def confirmed(self) -> bool:
        """Whether the classifier was shown to react to it."""
        return self.judged.verdict == SearchVerdict.FOUND


@dataclass(frozen=True, eq=False)
class KnownChange:
    """How much the probability changes along an attribute that has a name: counterfactual fairness, with intervals.

    ``change`` is the mean of p at the upper end less p at the lower end, ``variation`` the total variation, and
    ``flips`` the share of latents that cross 0.5 on the way; each with its interval over latents.
    """

    name: str
    change: Span
    variation: Span
    flips: Span
    strips: tuple[Strip, ...] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class DirectionRecord:
    """One direction as a row: of the search, of a baseline, or of a known attribute; NaN is undefined.

    ``variation`` is the mean change of the probability from one step to the next, ``total_change`` all changes of a
    traversal added up (``way`` in the JSON), ``change`` the probability at the upper end less that at the lower end.
    Every interval is at ``level``.
    """

    kind: Literal["direction", "baseline", "known"]
    method: str | None
    name: str
    verdict: SearchVerdict | None = None
    reason: Reason | None = None
    variation: float = UNDEFINED
    low: float = UNDEFINED
    high: float = UNDEFINED
    total_change: float = UNDEFINED
    total_change_low: float = UNDEFINED
    total_change_high: float = UNDEFINED
    steadiness: float = UNDEFINED
    chance: float = UNDEFINED
    chance_high: float = UNDEFINED
    rank_among_random: int | None = None
    random_directions: int = 0
    reference_change: float = UNDEFINED
    kept: float = UNDEFINED
    change: float = UNDEFINED
    change_low: float = UNDEFINED
    change_high: float = UNDEFINED
    flips: float = UNDEFINED
    flips_low: float = UNDEFINED
    flips_high: float = UNDEFINED
    level: float = UNDEFINED


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Investigation(Result):
    """What a search for directions comes to; ``curves`` are losses ``[direction, restart, step]``.

    ``run_spec`` has by part what was asked for beside the settings of search and judging (``run_spec_of``);
    ``reference`` names the classifier whose probability was to stay, where there was one. ``records`` are the
    directions, those of baselines and known attributes, one row each.
    """

    kind: ClassVar[str] = "discovery"
    record_type: ClassVar[type] = DirectionRecord
    numbers: ClassVar[tuple[str, ...]] = (
        "variation", "low", "high", "level", "total_change", "total_change_low", "total_change_high", "steadiness",
        "chance", "chance_high", "rank_among_random", "random_directions", "reference_change", "kept", "change",
        "change_low", "change_high", "flips", "flips_low", "flips_high",
    )  # fmt: skip

    schema: str = SCHEMA
    records: tuple[DirectionRecord, ...] = field(init=False)
    provenance: dict[str, Any] = field(default_factory=dict)
    classifier: str
    generator: str
    verdict: SearchVerdict | None
    reason: Reason | None
    directions: tuple[PresentedDirection, ...]
    methods: tuple[PresentedDirection, ...]
    known: tuple[KnownChange, ...]
    curves: Floats
    strip_alphas: tuple[float, ...]
    search: SearchSettings
    judging: JudgeSettings
    target: str | None = None
    reference: str | None = None
    notes: tuple[str, ...] = ()
    run_spec: RunSpec = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", tuple(_records(self)))

    @property
    def confirmed(self) -> tuple[PresentedDirection, ...]:
        """The directions of the search that the classifier was shown to react to."""
        return tuple(direction for direction in self.directions if direction.confirmed)

    def as_json(self) -> dict[str, object]:
        """Return everything but the pictures as plain JSON values."""
        return {
            "schema": self.schema,
            "verdict": self.verdict,
            **reason_as_json(because(DiscoveryReason.NOT_SEARCHED) if self.verdict is None else self.reason),
            "classifier": self.classifier,
            "generator": self.generator,
            "target": self.target,
            "reference": self.reference,
            "strip_alphas": list(self.strip_alphas),
            "directions": [_direction_json(direction, rank) for rank, direction in enumerate(self.directions, start=1)],
            "methods": [_direction_json(method, None) for method in self.methods],
            "known": [_known_json(one) for one in self.known],
            "notes": list(self.notes),
            "curves": [[[_rounded(value) for value in row] for row in part] for part in self.curves.tolist()],
            "settings": _plain({"search": asdict(self.search), "judging": self.judging.to_dict(), **self.run_spec}),
            "provenance": _plain(self.provenance),
        }

    def _name_parts(self, record: DirectionRecord) -> Sequence[str | None]:
        return record.kind, record.method if record.kind == "baseline" else record.name

    def _statements(self) -> Iterator[Finding]:
        for index, direction in enumerate(self.directions):
            judged = direction.judged
            yield Finding(
                kind="direction", measure="total_change", estimate=judged.total_change,
                direction=Direction.DIFFERENT if direction.confirmed else Direction.INCONCLUSIVE, group=judged.name,
                low=judged.total_change_low, high=judged.total_change_high, level=self.judging.level,
                n=self.judging.latents,
                reason=judged.reason, index=index,
            )  # fmt: skip

    def _described(self) -> Sequence[str]:
        if self.verdict is None:
            return [self.classifier, f"no search, {plural(len(self.known), 'known attribute')}"]
        looked = f"{len(self.confirmed)} of {plural(len(self.directions), 'direction')} confirmed"
        return [self.classifier, looked]

    def tables(self) -> tuple[Table, ...]:
        """Return the directions, the baselines and the known attributes as tables for a paper."""
        headings = ("Direction", "Verdict", "Total change", "Interval", "Variation per step", "Random, median",
                    "Random, 95%", "Rank", "Steadiness")  # fmt: skip
        directions = [_table_row(direction.judged.name, direction) for direction in self.directions]
        baselines = [_table_row(method.method, method) for method in self.methods]
        known = [
            (attribute.name, attribute.change[0], Interval(*attribute.change[1:]), attribute.variation[0],
             attribute.flips[0], Interval(*attribute.flips[1:]))
            for attribute in self.known
        ]  # fmt: skip
        return (
            Table("directions", "Directions of the search", headings, tuple(directions)),
            Table("baselines", "The best direction of each baseline", ("Method", *headings[1:]), tuple(baselines)),
            Table(
                "known", "Change of the probability along known attributes",
                ("Attribute", "Change", "Interval", "Variation per step", "Latents that cross 0.5", "Interval"),
                tuple(known),
            ),
        )  # fmt: skip


def _records(investigation: Investigation) -> Iterator[DirectionRecord]:
    measured = [("direction", direction) for direction in investigation.directions] + [
        ("baseline", method) for method in investigation.methods
    ]
    for kind, shown_direction in measured:
        judged = shown_direction.judged
        yield DirectionRecord(
            kind="direction" if kind == "direction" else "baseline", method=shown_direction.method, name=judged.name,
            verdict=judged.verdict, reason=judged.reason, variation=judged.variation, low=judged.low, high=judged.high,
            level=investigation.judging.level,
            total_change=judged.total_change, total_change_low=judged.total_change_low,
            total_change_high=judged.total_change_high,
            steadiness=judged.steadiness, chance=judged.chance, chance_high=judged.chance_high,
            rank_among_random=judged.rank_among_random, random_directions=judged.random_directions,
            reference_change=judged.reference_change, kept=judged.cosine_kept,
        )  # fmt: skip
    for known in investigation.known:
        variation, low, high = known.variation
        change, change_low, change_high = known.change
        flips, flips_low, flips_high = known.flips
        yield DirectionRecord(
            kind="known", method=None, name=known.name, variation=variation, low=low, high=high,
            level=investigation.judging.level, change=change,
            change_low=change_low, change_high=change_high, flips=flips, flips_low=flips_low, flips_high=flips_high,
        )  # fmt: skip


def _table_row(label: str, shown_direction: PresentedDirection) -> tuple[object, ...]:
    judged = shown_direction.judged
    rank = judged.rank_among_random
    return (
        label, "confirmed" if shown_direction.confirmed else "not confirmed", judged.total_change,
        Interval(judged.total_change_low, judged.total_change_high),
        judged.variation, judged.chance, judged.chance_high,
        None if rank is None else f"{rank} of {judged.random_directions + 1}", judged.steadiness,
    )  # fmt: skip


def _direction_json(shown_direction: PresentedDirection, rank: int | None) -> dict[str, Any]:
    judged = shown_direction.judged
    numbers = {key: _plain(getattr(judged, name)) for key, name in NUMBERS.items()}
    reason = judged.reason
    if reason is None and None in numbers.values():
        reason = because(DiscoveryReason.NOT_MEASURED)
    return {
        **({} if rank is None else {"rank": rank}),
        "method": shown_direction.method,
        "name": judged.name,
        "verdict": judged.verdict,
        **reason_as_json(reason),
        **numbers,
        "random_directions": judged.random_directions,
        "reference_way": _plain(judged.reference_change),
        "kept": _plain(judged.cosine_kept),
        "cosines": _plain(judged.cosines),
        "given": _plane_json(judged.original),
        "plane": None if judged.plane is None else _plane_json(judged.plane),
        "strips": _strips_json(shown_direction.strips),
    }


def _known_json(change: KnownChange) -> dict[str, Any]:
    return {
        "name": change.name,
        **{
            name: dict(zip(("value", "low", "high"), map(_plain, getattr(change, name)), strict=True))
            for name in ("change", "variation", "flips")
        },
        "strips": _strips_json(change.strips),
    }  # fmt: skip


def _strips_json(strips: tuple[Strip, ...]) -> list[list[Any]]:
    """Return the probabilities under the pictures of each strip."""
    return [[_rounded(value) for value in strip.probabilities.tolist()] for strip in strips]


def _plane_json(plane: Hyperplane) -> dict[str, Any]:
    return {"normal": plane.normal.tolist(), "offset": plane.offset}


def _rounded(value: float) -> float | None:
    return round(value, DIGITS) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Turn a value into what JSON can say; a number that it cannot say is null."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
