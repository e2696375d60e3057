"""Whether a direction is worth a name: its total variation on fresh latents, against directions by chance.

What is judged is the part of a direction that is orthogonal to target, known attributes and the directions before it,
for a penalty lets a search keep a little of them (with lambda 10 and k of them a cosine of sqrt(k / 20) where the
classifier reacts to nothing else). "Found" takes all three:

- **more than random directions**: by total variation it is among the first 5% of itself and 199 random orthogonal
  directions (rank 10 or better of 200). The random ones avoid the same; of each the plane through the middle of the
  latents counts or the one as far off as the plane judged, whichever has more. This is a rank, not a p-value: a
  direction that was searched for beats random ones by construction, so nothing is corrected either.
- **enough**: the way that the probability goes along a traversal, N - 1 times the total variation, has a lower bound of
  at least 0.3 (bootstrap over latents). A generator's planes hold their attributes roughly, so a classifier of its
  target alone still goes a little way, steadily, along directions at right angles to it.
- **steady**: three quarters of it are left when signed changes are averaged over latents first. A search finds the
  direction that a classifier is most nervous about whatever it has learnt; where p rises for one latent and falls for
  the next, that is no attribute.

Random directions say nothing of the search itself: the best direction of any bumpy p beats them. A network that knows
random labels by heart may pass; only the same network trained on permuted labels shows what it finds by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.discovery._classifier import Classifier, chunk_for, predicted
from equipoise.discovery._hyperplane import (
    Hyperplane,
    basis_of,
    without,
)
from equipoise.discovery._objective import Guard, guard_of, hessian_penalty, random_signs, variation_loss
from equipoise.discovery._reasons import DiscoveryReason
from equipoise.discovery._search import CONSTANT, Search, SearchSettings, check_pair
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput, Floats, require, stream
from equipoise.results import Reason, SearchVerdict, because
from equipoise.stats import percentiles, rank_among
from equipoise.training import StackedAdam


def random_directions(size: int, number: int, seed: int, centre: ArrayLike | None = None) -> tuple[Hyperplane, ...]:
    """Return directions drawn evenly from the sphere, their planes through the centre (the origin unless told)."""
    return random_orthogonal_directions(size, number, seed, (), centre)


def random_orthogonal_directions(
    size: int, number: int, seed: int, away: Sequence[Hyperplane], centre: ArrayLike | None = None
) -> tuple[Hyperplane, ...]:
    """Return directions drawn evenly from those that are orthogonal to some normals, such as target and known ones."""
    rows = basis_of(away, size)
    if len(rows) >= size:
        raise BadInput(
            f"{len(rows)} normals leave no direction of {size} dimensions", available="fewer normals than dimensions"
        )
    normals = stream(seed, "random directions").normal(size=(number, size))
    normals -= (normals @ rows.T) @ rows
    middle = np.zeros(size) if centre is None else centre
    return tuple(
        Hyperplane(f"random {index + 1}", normal).moved_through(middle) for index, normal in enumerate(normals)
    )


def axes(size: int, centre: ArrayLike | None = None) -> tuple[Hyperplane, ...]:
    """Return the latent dimensions themselves, which a disentangled VAE takes for attributes."""
    middle = np.zeros(size) if centre is None else centre
    return tuple(Hyperplane(f"axis {index}", row).moved_through(middle) for index, row in enumerate(np.eye(size)))


def pca_directions(
    generator: Generator, number: int, seed: int, *, samples: int = 2000, chunk: int | None = None
) -> tuple[Hyperplane, ...]:
    """Return the directions of the pictures' principal components (GANSpace, Härkönen et al. 2020).

    The latents are regressed on the components' scores: a direction is what a component changes in the latent.
    """
    torch = require("torch", extra="train", purpose="Principal components")
    latents = generator.sample(samples, seed)
    with torch.no_grad():
        parts = [generator.images(part).flatten(1) for part in latents.split(chunk_for(generator, chunk))]
    pixels = torch.cat(parts).double()
    most = min(samples - 1, pixels.shape[1])
    if not 1 <= number <= min(most, generator.latent_size):
        raise BadInput(
            f"{number} principal components were requested", available=f"1 to {min(most, generator.latent_size)}"
        )
    left, values, _ = torch.linalg.svd(pixels - pixels.mean(0), full_matrices=False)
    # The scores are orthogonal, so the regression is a product.
    z = latents.double()
    moved = ((left * values).T @ (z - z.mean(0)))[:number].cpu().numpy()
    middle = z.mean(0).cpu().numpy()
    return tuple(Hyperplane(f"component {index + 1}", row).moved_through(middle) for index, row in enumerate(moved))


def lowest_loss_direction(
    generator: Generator, classifier: Classifier, planes: Sequence[Hyperplane], *, alphas: ArrayLike, seed: int,
    latents: int = 128, chunk: int | None = None,
) -> tuple[Hyperplane, tuple[float, ...]]:  # fmt: skip
    """Return the plane with the lowest L_V, and the loss of each: how a baseline chooses among its directions."""
    if not planes:
        raise BadInput("There is no direction to choose from", available="at least one")
    drawn = generator.sample(latents, seed).double()
    losses = [
        float(variation_loss(predicted(generator, classifier, plane.traverse(drawn, alphas), chunk)))
        for plane in planes
    ]  # fmt: skip
    return planes[int(np.argmin(losses))], tuple(losses)


def hessian_directions(
    generator: Generator, number: int, seed: int, *, steps: int = 200, batch: int = 8, rate: float = 0.01
) -> tuple[Hyperplane, ...]:
    """Return orthogonal directions that change the picture without changing what each other does (Hessian penalty)."""
    torch = require("torch", extra="train", purpose="The Hessian penalty")
    if not 2 <= number <= generator.latent_size:
        raise BadInput(
            f"{number} directions were requested",
            available=f"2 to {generator.latent_size}: a single one interacts with no other",
        )
    start = stream(seed, "Hessian start").normal(size=(generator.latent_size, number))
    raw = torch.tensor(start, dtype=torch.float64, device=generator.device, requires_grad=True)
    optimiser = StackedAdam([raw], rate)
    draws = torch.Generator().manual_seed(int(stream(seed, "Hessian draws").integers(2**31)))

    def pictures(moved: Any) -> Any:
        return generator.module(moved.to(generator.kind)).double()

    for _ in range(steps):
        basis = torch.linalg.qr(raw).Q.T
        latents = generator.draw(batch, draws).double()
        signs = random_signs(number, draws).to(generator.device)
        penalty: Any = hessian_penalty(pictures, latents, basis, signs)
        penalty.backward()
        optimiser.step()
    rows = torch.linalg.qr(raw.detach()).Q.T.cpu().numpy()
    middle = generator.middle(seed)
    return tuple(Hyperplane(f"calm {index + 1}", row).moved_through(middle) for index, row in enumerate(rows))


# What is told on the way: the directions judged, of how many.
Report = Callable[[int, int], None]
DRAWS = 2000
# A plane nearer to the middle than this share of the latents' spread passes through it.
CENTRE_TOLERANCE = 0.1


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """How to judge: fresh latents, random directions (on the first ``null_latents`` of them), and what it takes."""

    latents: int = 256
    null_latents: int = 32
    random_directions: int = 199
    level: float = 0.95
    threshold: float = 0.05
    min_effect: float = 0.3
    least_steadiness: float = 0.75
    seed: int = 0

    def __post_init__(self) -> None:
        if not 2 <= self.null_latents <= self.latents:
            raise BadInput(
                f"{self.null_latents} latents for chance, of {self.latents}",
                available="at least 2, at most all latents",
            )
        for name, value in (("level", self.level), ("threshold", self.threshold)):
            if not 0 < value < 1:
                raise BadInput(f"{name} is {value}", available="a number between 0 and 1")
        if not 0 <= self.min_effect < float("inf"):
            raise BadInput(f"min_effect is {self.min_effect}", available="a number of at least 0")
        if self.random_directions < 1 / self.threshold - 1:
            raise BadInput(
                f"{self.random_directions} random directions have no first {self.threshold:g} of themselves",
                available=f"at least {int(np.ceil(1 / self.threshold - 1))}",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by their names in JSON, ``min_effect`` also by that of earlier documents."""
        settings = {"nulls" if name == "random_directions" else name: value for name, value in asdict(self).items()}
        return {**settings, "least_way": self.min_effect}


@dataclass(frozen=True, eq=False)
class Judged:
    """A direction with everything needed to read it; NaN is undefined, and ``reason`` says why it is not found.

    ``plane`` is the judged part, orthogonal to target, known attributes and the directions before it; ``cosine_kept``
    is its share of the direction (the cosine). ``total_change`` is N - 1 times the total variation, ``chance`` and
    ``chance_high`` are the median and the 95th percentile of the random directions' total variation.
    ``rank_among_random`` is the direction's place by total variation among itself and ``random_directions`` random
    ones, 1 where none of them has as much; None where there is none to compare it with. ``reference_change`` is the
    total change of the probability of a reference goes on the same latents, where there is one.
    """

    name: str
    original: Hyperplane
    plane: Hyperplane | None
    cosine_kept: float
    cosines: dict[str, float]
    variation: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    total_change: float = float("nan")
    steadiness: float = float("nan")
    chance: float = float("nan")
    chance_high: float = float("nan")
    rank_among_random: int | None = None
    random_directions: int = 0
    reference_change: float = float("nan")
    verdict: SearchVerdict = SearchVerdict.NOTHING_FOUND
    reason: Reason | None = None

    @property
    def total_change_low(self) -> float:
        """The lower end of the way's interval."""
        return self._as_total_change(self.low)

    @property
    def total_change_high(self) -> float:
        """The upper end of the way's interval."""
        return self._as_total_change(self.high)

    def _as_total_change(self, variation: float) -> float:
        return variation * self.total_change / self.variation if self.variation > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """The directions: those found first, the one with the most total variation before the others; and the verdict."""

    verdict: SearchVerdict
    reason: Reason | None
    ranked: tuple[Judged, ...]
    settings: JudgeSettings

    @property
    def confirmed(self) -> tuple[Judged, ...]:
        """The directions that stand."""
        return tuple(judged for judged in self.ranked if judged.verdict == SearchVerdict.FOUND)


def judge(
    generator: Generator,
    classifier: Classifier,
    directions: Search | Sequence[Hyperplane],
    *,
    target: Hyperplane | None = None,
    known: Sequence[Hyperplane] = (),
    search_settings: SearchSettings | None = None,
    settings: JudgeSettings | None = None,
    reference: Classifier | None = None,
    report: Report | None = None,
) -> Judgement:
    """Judge the directions of a search (with its own target, known attributes and steps) or any others.

    What a ``reference`` does along them is measured, and no verdict hangs on it.
    """
    judge_settings = settings or JudgeSettings()
    if isinstance(directions, Search):
        target, known, walked = directions.target, directions.known, directions.settings
        planes = tuple(direction.plane for direction in directions.directions)
        if directions.reason is not None:
            return Judgement(SearchVerdict.NOTHING_FOUND, directions.reason, (), judge_settings)
    else:
        planes, walked = tuple(directions), search_settings or SearchSettings()
    check_pair(generator, classifier, reference)
    named = (*(() if target is None else (target,)), *known)
    evaluator = Evaluator(generator, classifier, walked, judge_settings, reference)
    judged: list[Judged] = []
    for index, plane in enumerate(planes):
        before = [direction.plane for direction in judged if direction.plane is not None]
        judged.append(evaluator.judged(plane, named, before))
        if report is not None:
            report(index + 1, len(planes))
    decided = [_decided(direction, judge_settings) for direction in judged]
    ranked = tuple(
        sorted(
            decided,
            key=lambda judged: (judged.verdict != SearchVerdict.FOUND, -np.nan_to_num(judged.variation, nan=-1.0)),
        )
    )
    if any(direction.verdict == SearchVerdict.FOUND for direction in ranked):
        return Judgement(SearchVerdict.FOUND, None, ranked, judge_settings)
    why = ranked[0].reason if ranked else because(DiscoveryReason.NO_DIRECTION)
    return Judgement(SearchVerdict.NOTHING_FOUND, why, ranked, judge_settings)


class Evaluator:
    """Fresh latents, and what is measured on them."""

    def __init__(
        self, generator: Generator, classifier: Classifier, search_settings: SearchSettings, settings: JudgeSettings,
        reference: Classifier | None = None,
    ) -> None:  # fmt: skip
        self.generator, self.classifier, self.search_settings, self.settings = (
            generator,
            classifier,
            search_settings,
            settings,
        )
        self.reference = reference
        # Named apart from every stream of a search: what was searched on is not judged on.
        latent_seed = int(stream(settings.seed, "judged on").integers(2**31))
        self.latents = generator.sample(settings.latents, latent_seed).double()
        self.centre = generator.middle(latent_seed)
        self.guard: Guard | None = None
        if search_settings.guard is not None:
            self.guard = guard_of(generator, latent_seed, search_settings.guard)

    def judged(self, direction: Hyperplane, named: Sequence[Hyperplane], before: Sequence[Hyperplane]) -> Judged:
        """Measure one direction, without a verdict: its part orthogonal to what has a name and to those before it."""
        cosines = {hyperplane.name: direction.cosine(hyperplane) for hyperplane in named}
        plane = without(direction, [*named, *before], self.centre)
        if plane is None:
            reason = because(DiscoveryReason.KNOWN_OR_EARLIER if before else DiscoveryReason.KNOWN_ALREADY)
            return Judged(direction.name, direction, None, 0.0, cosines, reason=reason)
        signed = self._changes(plane, self.settings.latents)
        each = np.abs(signed).mean(0)
        value, low, high = self.mean_with_interval(each, direction.name)
        steady = float(np.abs(signed.mean(1)).mean() / value) if value > 0 else float("nan")
        measured = Judged(
            direction.name, direction, plane, abs(direction.cosine(plane)), cosines, variation=value, low=low,
            high=high,
            total_change=value * len(signed), steadiness=steady, reference_change=self._reference_change(plane),
        )  # fmt: skip
        return self._against_chance(measured, [*named, *before])

    def _reference_change(self, plane: Hyperplane) -> float:
        """Return how far the reference's probability goes along a plane, ups and downs added up; NaN without one."""
        if self.reference is None:
            return float("nan")
        return float(np.abs(self._changes(plane, self.settings.latents, self.reference)).sum(0).mean())

    def _against_chance(self, measured: Judged, away: Sequence[Hyperplane]) -> Judged:
        size = self.generator.latent_size
        assert measured.plane is not None
        if size - len(basis_of(away, size)) < 2:
            return replace(measured, reason=because(DiscoveryReason.NOTHING_TO_COMPARE))
        seed = int(stream(self.settings.seed, "null", measured.name).integers(2**31))
        others = random_orthogonal_directions(size, self.settings.random_directions, seed, away, self.centre)
        aside = self._aside(measured.plane)
        chance = np.array([max(self._variation(other, offset) for offset in aside) for other in others])
        own = self._variation(measured.plane)
        return replace(
            measured, chance=float(np.median(chance)), chance_high=float(np.quantile(chance, 0.95)),
            rank_among_random=rank_among(own, chance), random_directions=len(chance),
        )  # fmt: skip

    def _aside(self, judged: Hyperplane) -> tuple[float, ...]:
        """Return how far from the middle random planes lie: in it, and as far as the plane judged, which was chosen."""
        distance = float(judged.normal @ self.centre) + judged.offset
        spread = float((self.latents @ self.latents.new_tensor(judged.normal)).std())
        return (0.0,) if abs(distance) < CENTRE_TOLERANCE * spread else (0.0, distance)

    def _variation(self, plane: Hyperplane, aside: float = 0.0) -> float:
        """Return the total variation along a plane moved aside, on the latents that random ones are walked from."""
        moved = Hyperplane(plane.name, plane.normal, plane.offset + aside)
        return float(np.abs(self._changes(moved, self.settings.null_latents)).mean())

    def _changes(self, plane: Hyperplane, number: int, of: Classifier | None = None) -> Floats:
        """Return the signed changes ``[step, latent]`` along a plane's traversal; those out of the data are 0."""
        p, counted = self.probabilities_along(plane, number, of)
        return (p[1:] - p[:-1]) * counted

    def probabilities_along(
        self, plane: Hyperplane, number: int, of: Classifier | None = None
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Return p ``[alpha, latent]`` along a plane, and which steps ``[step, latent]`` are in the data.

        It is that of the classifier that is judged, unless another is named.
        """
        moved: Any = plane.traverse(self.latents[:number], self.search_settings.alphas)
        p: Floats = predicted(self.generator, of or self.classifier, moved, self.search_settings.chunk).cpu().numpy()
        if self.guard is None:
            return p, np.ones((len(p) - 1, p.shape[1]), dtype=np.bool_)
        inside: NDArray[np.bool_] = self.guard.inside(moved).cpu().numpy()
        return p, inside[1:] & inside[:-1]

    def mean_with_interval(self, each: Floats, name: str) -> tuple[float, float, float]:
        """Return the mean over latents with the ends of its interval (bootstrap over latents)."""
        generator = stream(self.settings.seed, "bootstrap", name)
        shares = generator.multinomial(len(each), np.full(len(each), 1 / len(each)), size=DRAWS) / len(each)
        low, high = percentiles(shares @ each, self.settings.level)
        return float(each.mean()), float(low), float(high)


def rank_words(rank: int, others: int) -> str:
    """Say how many random directions change the probability as much as one of that rank."""
    as_much = rank - 1
    if not as_much:
        return f"no random direction of {others:,} changes it as much"
    return f"{as_much:,} of {others:,} random directions {'changes' if as_much == 1 else 'change'} it as much"


def among_the_first(rank: int, others: int, share: float) -> bool:
    """Tell whether a rank is among the first so large a share of a direction and the others."""
    return rank <= share * (others + 1) * (1 + 1e-12)


def _decided(judged: Judged, settings: JudgeSettings) -> Judged:
    """Return a direction with its verdict, and the first reason against it."""
    reason = judged.reason or _reason_against(judged, settings)
    return replace(
        judged, verdict=SearchVerdict.FOUND if reason is None else SearchVerdict.NOTHING_FOUND, reason=reason
    )


def _reason_against(judged: Judged, settings: JudgeSettings) -> Reason | None:
    if judged.total_change < CONSTANT:
        return because(DiscoveryReason.NO_REACTION)
    if judged.total_change_low < settings.min_effect:
        return because(
            DiscoveryReason.TOO_SMALL,
            change=judged.total_change,
            low=judged.total_change_low,
            least=settings.min_effect,
        )
    rank, others = judged.rank_among_random, judged.random_directions
    if rank is None:
        return because(DiscoveryReason.NOTHING_TO_COMPARE)
    if not among_the_first(rank, others, settings.threshold):
        return because(DiscoveryReason.AS_LARGE_BY_CHANCE, compared=rank_words(rank, others), rank=rank, of=others + 1)
    if judged.steadiness < settings.least_steadiness:
        return because(DiscoveryReason.NOT_STEADY, share=judged.steadiness, least=settings.least_steadiness)
    return None
