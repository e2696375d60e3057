"""A bias planted in small: sprites under a dim or a bright light, a classifier of their size that looks at the light.

A fifth of the labels of size are wrong, and the light goes with the label in nine of ten training pictures (paper 002's
skew), so that the light is the better guess. A small VAE is trained on pictures where size and light are independent:
what is found is the classifier's bias and not the generator's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cohorts import (
    LOWER_HALF,
    UPPER_HALF,
    Cohort,
)
from equipoise.cohorts.pictures import (
    SPRITE_FACTORS,
    draw_sprites,
)
from equipoise.discovery._classifier import Classifier
from equipoise.discovery._hyperplane import Hyperplane
from equipoise.discovery._investigating import discover
from equipoise.discovery._investigation import Investigation
from equipoise.discovery._judging import JudgeSettings
from equipoise.discovery._search import SearchSettings
from equipoise.discovery._truth import FittedHyperplanes, hyperplanes_from_labels
from equipoise.discovery.generative import Generator, VAESettings, network_pictures, train_vae
from equipoise.foundation import (
    BadInput,
    Progress,
    require,
    stream,
    unknown_name,
)
from equipoise.networks import vae_encoder
from equipoise.results import SearchVerdict
from equipoise.training import Losses, StepProgress, StepTraining, descend, fix_seeds, seed_of, train_steps

Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SkewedCells:
    """The rows of each of four cells (target half, biased half), found once; a sample costs no search."""

    rows: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...] = field(repr=False)

    def sample(self, number: int, *, agreement: float = 0.9, seed: int = 0) -> NDArray[np.int64]:
        """Draw rows with repetition: either half of the target as often, the same half of the other by ``agreement``.

        An agreement of 0.9 is the paper's skew, 0.5 is none, and 0.1 is as strong the other way round.
        """
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise BadInput(f"A sample of {number!r} rows was requested", available="a whole number of at least 1")
        if not 0.0 <= agreement <= 1.0:
            raise BadInput(f"agreement is {agreement!r}", available="0 to 1; the paper uses 0.9, and 0.5 means no skew")
        generator = stream(seed, "skewed sample")
        target = generator.random(number) < 0.5
        biased = target ^ (generator.random(number) >= agreement)
        uniform = generator.random(number)
        rows = np.empty(number, dtype=np.int64)
        for t in (0, 1):
            for b in (0, 1):
                is_in_cell, cell = (target == t) & (biased == b), self.rows[t][b]
                if is_in_cell.any() and not len(cell):
                    raise _empty(t, b)
                rows[is_in_cell] = cell[(uniform[is_in_cell] * len(cell)).astype(np.int64)] if len(cell) else 0
        return rows


def skewed_cells(target: ArrayLike, biased: ArrayLike) -> SkewedCells:
    """Find the rows of the four cells of two attributes that are cut in two, true in the upper half."""
    first, second = np.asarray(target), np.asarray(biased)
    if first.dtype != np.bool_ or second.dtype != np.bool_ or first.ndim != 1 or first.shape != second.shape:
        raise BadInput(
            f"The halves are {first.dtype} of the shape {first.shape} and {second.dtype} of the shape {second.shape}",
            available="two arrays of booleans, one value per row",
            help="Factor.upper(codes) makes them, or halves(cohort, name).",
        )
    return SkewedCells(tuple(
        (np.flatnonzero((first == t) & ~second), np.flatnonzero((first == t) & second)) for t in (False, True)
    ))  # fmt: skip


def halves(cohort: Cohort, factor: str) -> Bits:
    """Return which rows of a cohort with known factors are in the upper half of one."""
    known = [name.removesuffix("_half") for name in cohort.columns if name.endswith("_half")]
    if factor not in known:
        raise unknown_name("factor", factor, known, f"the cohort {cohort.name!r}")
    bits: Bits = np.asarray(cohort[f"{factor}_half"] == UPPER_HALF, dtype=np.bool_)
    return bits


def _empty(target: int, biased: int) -> BadInput:
    words = (LOWER_HALF, UPPER_HALF)
    return BadInput(
        f"No row is in the {words[target]} half of the target and the {words[biased]} half of the other attribute",
        available="rows in every cell with a share above 0",
        help="more rows, other attributes, or an agreement of 0 or 1 that leaves the cell out.",
    )


PICTURES = 3000
LATENTS = 6
AGREEMENT = 0.9
# The share of labels that are wrong: a classifier that could trust them would have no need of the light.
WRONG = 0.2
VAE_STEPS, CLASSIFIER_STEPS, BATCH = 1000, 200, 32
# The background of a picture, from dim to bright; a sprite is white.
DIM, BRIGHT = 0.02, 0.55
# The two smallest and the two largest of six.
SCALES = (0, 1, 4, 5)
DIRECTIONS, RESTARTS = 2, 2
TARGET, PLANTED = "size", "light"
# Generated pictures that known attributes are measured on, and their rows of pixels that no sprite reaches.
LABELLED, EDGE = 2000, 12
# The share of the work that is done when everything is trained, and when the VAE is.
TRAINING, VAE_SHARE = 0.5, 0.9


@dataclass(frozen=True, eq=False)
class Demonstration:
    """Networks with a planted bias, and the hyperplanes of the target and of what was planted.

    A hyperplane is None where the generator has not learnt to show the attribute.
    """

    generator: Generator
    classifier: Classifier
    target: Hyperplane | None
    planted: Hyperplane | None
    fitted: FittedHyperplanes
    # The mean probability of "large" of pictures by size (small, large) and light (dim, bright).
    answers: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True, eq=False)
class LitSprites:
    """Squares and hearts of four sizes in the middle, each in a light of its own."""

    pictures: NDArray[np.uint8] = field(repr=False)
    large: NDArray[np.bool_]
    light: NDArray[np.float64]


def search_settings(seed: int) -> SearchSettings:
    """Return the settings of a search that two cores do in a few seconds."""
    alphas = tuple(np.linspace(-2.0, 2.0, 7).tolist())
    return SearchSettings(steps=40, batch=10, alphas=alphas, rate=0.05, held_out=64, seed=seed, race=True)


def judge_settings(seed: int) -> JudgeSettings:
    """Return the settings of a quick judgement."""
    return JudgeSettings(latents=64, null_latents=8, random_directions=39, seed=seed)


def demonstration(seed: int = 0, report: Progress | None = None) -> Demonstration:
    """Train the generator and the classifier, and fit the hyperplanes of what is known."""
    told = report or (lambda what, done: None)
    sprites = lit_sprites(seed)
    settings = VAESettings(
        latent_size=LATENTS, steps=VAE_STEPS, batch_size=8, learning_rate=2e-3, width=8, seed=seed, report_every=20
    )
    vae = train_vae(
        sprites.pictures,
        "vae",
        settings,
        lambda stand: told("Training a small VAE", VAE_SHARE * stand.step / VAE_STEPS),
    )
    network = classifier_of(sprites, wrong_labels(sprites, seed), seed, told)
    generator = vae.generator()
    latents = generator.sample(LABELLED, seed_of(seed, "labelled latents"))
    truth = hyperplanes_from_labels(latents.double().numpy(), measured(generator, latents))
    planes = truth.by_name
    return Demonstration(
        generator, Classifier(network, logits=True), planes.get(TARGET), planes.get(PLANTED), truth,
        answers_of(network, sprites),
    )  # fmt: skip


def demonstrated(
    seed: int = 0, report: Progress | None = None, command: Iterable[str] | None = None
) -> tuple[Demonstration, Investigation]:
    """Plant the bias and look for it, on one thread: networks this small gain nothing from several."""
    tell = report or (lambda what, done: None)
    with one_thread():
        planted = demonstration(seed, lambda what, done: tell(what, TRAINING * done))
        fits = ", ".join(f"{fit.name} ({fit.measure} {fit.value:.2f})" for fit in planted.fitted.fits if fit.accepted)
        investigation = discover(
            planted.generator, planted.classifier, target=planted.target, directions=DIRECTIONS,
            restarts=RESTARTS, settings=search_settings(seed), judging=judge_settings(seed),
            names=("a classifier of size", "a small VAE of sprites"), command=command,
            report=lambda what, done: tell(what, TRAINING + (1 - TRAINING) * done),
            notes=(f"Hyperplanes were fitted to {LABELLED:,} generated pictures, on held-out rows: {fits}. The search "
                   f"did not know about {PLANTED}.", *(f"Left out: {one}." for one in planted.fitted.dropped)),
        )  # fmt: skip
    return planted, investigation


def planted_words(planted_bias: Demonstration, investigation: Investigation) -> list[str]:
    """Say what was planted, what the classifier makes of it, and how near the first direction is to it."""
    (small_dim, small_bright), (large_dim, large_bright) = planted_bias.answers.tolist()
    lines = [
        f"The classifier of size was trained on labels of which {WRONG:.0%} were wrong, and in {AGREEMENT:.0%} of its "
        "pictures the light was bright where the label said large, and dim where it said small.",
        f"It now calls small sprites large with probability {small_dim:.2f} in a dim and {small_bright:.2f} in a "
        f"bright light, and large ones with {large_dim:.2f} and {large_bright:.2f}.",
    ]
    if planted_bias.planted is None:
        return [*lines, "The generator did not learn to show the light, so no search on its pictures can find it."]
    if investigation.verdict != SearchVerdict.FOUND or investigation.directions[0].judged.plane is None:
        return [*lines, "The search did not find it."]
    cosine = abs(investigation.directions[0].judged.plane.cosine(planted_bias.planted))
    free = planted_bias.generator.latent_size - (planted_bias.target is not None)
    return [
        *lines,
        f"The search did not know about the light. The first direction it found has a cosine of {cosine:.2f} to it; a "
        f"random direction in the {free} dimensions that are left would have about {chance_cosine(free):.2f}.",
    ]


def chance_cosine(dimensions: int) -> float:
    """Return the mean |cosine| between a fixed and a random direction: G(d/2) / (sqrt(pi) G((d+1)/2))."""
    return math.exp(math.lgamma(dimensions / 2) - math.lgamma((dimensions + 1) / 2)) / math.sqrt(math.pi)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread, and put back how many there were."""
    torch = require("torch", extra="train", purpose="The demo of discovery")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def lit_sprites(seed: int, number: int = PICTURES) -> LitSprites:
    """Draw sprites whose size, shape and light have nothing to do with each other."""
    drawn = stream(seed, "lit sprites")
    factors = {factor.name: factor for factor in SPRITE_FACTORS}
    codes = {name: np.zeros(number, dtype=np.int64) for name in factors}
    codes["shape"] = 2 * drawn.integers(0, 2, number)
    codes["scale"] = drawn.choice(SCALES, number)
    codes["x"] += 16
    codes["y"] += 16
    light = drawn.random(number)
    ink = draw_sprites(codes) / 255.0
    lit = ink + (1.0 - ink) * (DIM + (BRIGHT - DIM) * light)[:, None, None, None]
    return LitSprites((255 * lit).round().astype(np.uint8), factors["scale"].upper(codes["scale"]), light)


def measured(generator: Generator, latents: Any) -> dict[str, NDArray[np.float64]]:
    """Measure size and light of generated pictures by their pixels.

    An encoder would do for a VAE that was trained longer: of latents that this one hardly uses, its means still tell.
    """
    torch = require("torch", extra="train", purpose="The demo of discovery")
    with torch.inference_mode():
        pictures = torch.cat([generator.images(part)[:, 0] for part in latents.split(BATCH)]).double().numpy()
    light = pictures[:, :EDGE].mean((1, 2))
    ink = ((pictures - light[:, None, None]) / (1.0 - light[:, None, None])).clip(0.0, 1.0)
    return {TARGET: ink.sum((1, 2)), PLANTED: light}


def wrong_labels(sprites: LitSprites, seed: int) -> NDArray[np.bool_]:
    """Return labels of the size, a share of which is wrong."""
    return sprites.large ^ (stream(seed, "wrong labels").random(len(sprites.large)) < WRONG)


def classifier_of(
    sprites: LitSprites, labels: NDArray[np.bool_], seed: int, progress: Progress | None = None, *,
    agreement: float = AGREEMENT, steps: int | None = None,
) -> Any:  # fmt: skip
    """Train a classifier of labels on a sample in which the light goes with them so often."""
    torch = require("torch", extra="train", purpose="The demo of discovery")
    steps = steps or CLASSIFIER_STEPS
    rows = skewed_cells(labels, sprites.light >= 0.5).sample(steps * BATCH, agreement=agreement, seed=seed)
    fix_seeds(seed_of(seed, "classifier of the demo"))
    network = vae_encoder(1, 1, 4)
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-3)

    def take(step: int) -> Losses:
        batch = rows[(step - 1) * BATCH : step * BATCH]
        wanted = torch.from_numpy(labels[batch]).float()
        answers = network(network_pictures(sprites.pictures[batch], "cpu"))[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(answers, wanted)
        descend(optimiser, loss)
        return {"loss": loss}

    def report(done: StepProgress) -> None:
        if progress is not None:
            progress("Training a classifier on skewed pictures", VAE_SHARE + (1 - VAE_SHARE) * done.step / done.steps)

    train_steps([StepTraining(steps, take, report=report)], remedy="another seed.")
    return network.eval()


def answers_of(network: Any, sprites: LitSprites) -> NDArray[np.float64]:
    """Return the mean probability of pictures by size (small, large) and light (dim, bright)."""
    torch = require("torch", extra="train", purpose="The demo of discovery")
    with torch.inference_mode():
        p = network(network_pictures(sprites.pictures[:1000], "cpu"))[:, 0].sigmoid().numpy()
    large, bright = sprites.large[:1000], sprites.light[:1000] >= 0.5
    return np.array([[p[(large == a) & (bright == b)].mean() for b in (False, True)] for a in (False, True)])
