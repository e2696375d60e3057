"""An investigation: search, judge, compare with baselines, measure known attributes, and draw strips of all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery._classifier import Classifier, chunk_for, predicted
from equipoise.discovery._hyperplane import Hyperplane, basis_of, without
from equipoise.discovery._investigation import (
    Investigation,
    KnownChange,
    PresentedDirection,
    Strip,
    origin_of,
    run_spec_of,
)
from equipoise.discovery._judging import (
    Evaluator,
    Judgement,
    JudgeSettings,
    axes,
    hessian_directions,
    judge,
    lowest_loss_direction,
    pca_directions,
    random_directions,
    random_orthogonal_directions,
)
from equipoise.discovery._objective import HESSIAN_LATENTS
from equipoise.discovery._search import SearchSettings, check_pair, cost
from equipoise.discovery._search import search as search_for
from equipoise.discovery._surrogate import (
    FITTING,
    LABELLING,
    POLISH,
    ROUGH,
    SurrogateSearch,
    SurrogateSettings,
    surrogate_search,
)
from equipoise.discovery.generative import Generator
from equipoise.foundation import (
    BadInput,
    Progress,
    StagedProgress,
    require,
    stream,
)
from equipoise.stats import wilson

# A sigmoid or a tanh may be beyond its ends by a rounding.
SLACK = 0.01
COLOURS = 3


@dataclass(frozen=True, eq=False)
class Strips:
    """What every strip of an investigation shares: the same latents, the same steps, the same black and white."""

    generator: Generator
    classifier: Classifier
    latents: Any
    alphas: tuple[float, ...]
    black: float
    white: float
    chunk: int | None = None

    def along(self, plane: Hyperplane) -> tuple[Strip, ...]:
        """Return a strip for each latent; none where there are no latents."""
        if not len(self.latents):
            return ()
        moved = plane.traverse(self.latents, self.alphas)
        p = predicted(self.generator, self.classifier, moved, self.chunk).cpu().numpy()
        pictures = _bytes(_pictures(self.generator, moved.flatten(0, 1), self.chunk), self.black, self.white)
        pictures = pictures.reshape(*p.shape, *pictures.shape[1:])
        return tuple(Strip(pictures[:, place], p[:, place]) for place in range(p.shape[1]))


def strips_of(
    generator: Generator, classifier: Classifier, *, number: int, pictures: int, ends: Sequence[float], seed: int,
    chunk: int | None = None,
) -> Strips:  # fmt: skip
    """Draw latents for strips of so many pictures, from the first of the ends to the last; a chunk of them at once."""
    if number < 0 or pictures < 2:
        raise BadInput(
            f"{number} strips of {pictures} pictures were requested", available="strips of 2 pictures or more"
        )
    latents = generator.sample(max(number, 1), int(stream(seed, "strips").integers(2**31))).double()
    black, white = _ends(_pictures(generator, latents, chunk))
    alphas = tuple(np.linspace(ends[0], ends[-1], pictures).tolist())
    return Strips(generator, classifier, latents[:number], alphas, black, white, chunk)


def _pictures(generator: Generator, latents: Any, chunk: int | None) -> Any:
    torch = require("torch", extra="train", purpose="Discovery")
    with torch.no_grad():
        return torch.cat([generator.images(part).cpu() for part in latents.split(chunk_for(generator, chunk))])


def _ends(pictures: Any) -> tuple[float, float]:
    """Return what is black and what is white: 0 and 1, -1 and 1, or the darkest and the brightest number."""
    low, high = float(pictures.min()), float(pictures.max())
    if high > 1 + SLACK or low < -1 - SLACK:
        return low, high
    return (-1.0 if low < -SLACK else 0.0), 1.0


def _bytes(pictures: Any, black: float, white: float) -> NDArray[np.uint8]:
    """Return pictures as uint8 ``[n, height, width, channel]`` of one channel or three."""
    shown = pictures[:, : COLOURS if pictures.shape[1] >= COLOURS else 1]
    values: NDArray[np.uint8] = (
        ((shown.double() - black) / (white - black)).clamp(0, 1).mul(255).round().byte().permute(0, 2, 3, 1).numpy()
    )
    return values


HALF = 0.5


def known_changes(
    evaluator: Evaluator, named: Sequence[Hyperplane], strips: Strips, report: Callable[[int, int], None] | None = None
) -> tuple[KnownChange, ...]:
    """Walk every named attribute on the latents of an evaluator."""
    changes: list[KnownChange] = []
    for index, plane in enumerate(named):
        changes.append(known_change(evaluator, plane, strips))
        if report is not None:
            report(index + 1, len(named))
    return tuple(changes)


def known_change(evaluator: Evaluator, plane: Hyperplane, strips: Strips) -> KnownChange:
    """Walk one attribute; steps that leave the data (of a search with a guard) count in nothing."""
    p, counted = evaluator.probabilities_along(plane, evaluator.settings.latents)
    steps = (p[1:] - p[:-1]) * counted
    crossed = (((p[1:] >= HALF) != (p[:-1] >= HALF)) & counted).any(0)
    low, high = wilson(crossed.sum(), len(crossed), evaluator.settings.level)
    return KnownChange(
        name=plane.name,
        change=evaluator.mean_with_interval(steps.sum(0), plane.name),
        variation=evaluator.mean_with_interval(np.abs(steps).mean(0), plane.name),
        flips=(float(crossed.mean()), float(low), float(high)),
        strips=strips.along(plane),
    )


# Each baseline has as many directions to choose from, and no more than this.
MOST_CANDIDATES = 32
CHOSEN_ON = 32
# Steps of the Hessian penalty: those of the search, and no more than this.
HESSIAN_STEPS = 200
# Principal components: numbers that are looked at together, at ease and at most (float64), and pictures.
AT_EASE, AT_MOST = 2**21, 2**26
FEW_PICTURES, MOST_PICTURES = 256, 2000


def candidates(size: int) -> int:
    """Return how many directions each baseline chooses from."""
    return min(size, MOST_CANDIDATES)


def baseline_directions(
    generator: Generator, named: Sequence[Hyperplane], settings: SearchSettings
) -> dict[str, Callable[[], tuple[Hyperplane, ...]]]:
    """Return what makes each baseline's directions; what the latent space has no room for is left out."""
    size = generator.latent_size
    number, seed = candidates(size), int(stream(settings.seed, "baselines").integers(2**31))
    centre, pixels = generator.middle(seed), _pixels(generator)
    functions: dict[str, Callable[[], tuple[Hyperplane, ...]]] = {
        "axes": lambda: _some(axes(size, centre), number, seed),
        "pca": lambda: pca_directions(
            generator, min(number, pixels), seed, samples=_pictures_of_components(pixels, number), chunk=settings.chunk
        ),
        "hessian": lambda: hessian_directions(
            generator,
            number,
            seed,
            steps=min(settings.steps, HESSIAN_STEPS),
            batch=min(HESSIAN_LATENTS, settings.chunk or HESSIAN_LATENTS),
        ),
        "random": lambda: random_directions(size, number, seed, centre),
        "random orthogonal": lambda: random_orthogonal_directions(size, number, seed + 1, named, centre),
    }
    if size < 2:
        del functions["hessian"]
    if len(basis_of(named, size)) >= size:
        del functions["random orthogonal"]
    return functions


def chosen(
    generator: Generator, classifier: Classifier, planes: Sequence[Hyperplane], named: Sequence[Hyperplane],
    settings: SearchSettings,
) -> Hyperplane | None:  # fmt: skip
    """Return the direction with the lowest loss, less its part along target and known attributes.

    The latents are the same for every baseline. None where nothing is left of any direction.
    """
    seed = int(stream(settings.seed, "chosen on").integers(2**31))
    centre = generator.middle(seed)
    parts = [without(plane, named, centre) for plane in planes]
    planes = [part for part in parts if part is not None]
    if not planes:
        return None
    found, _ = lowest_loss_direction(
        generator, classifier, planes, alphas=settings.alphas, seed=seed, latents=CHOSEN_ON, chunk=settings.chunk
    )
    return found


def _some(planes: tuple[Hyperplane, ...], number: int, seed: int) -> tuple[Hyperplane, ...]:
    """Return all planes, or so many of them drawn by a seed."""
    if len(planes) <= number:
        return planes
    positions = np.sort(stream(seed, "axes").choice(len(planes), number, replace=False))
    return tuple(planes[int(position)] for position in positions)


def _pictures_of_components(pixels: int, number: int) -> int:
    """Return how many pictures so many principal components are taken of, so that they fit into memory."""
    wanted = max(AT_EASE // pixels, min(FEW_PICTURES, AT_MOST // pixels), 2 * number)
    return min(wanted, MOST_PICTURES)


def _pixels(generator: Generator) -> int:
    """Return how many numbers a picture has."""
    return int(np.prod(generator.images(generator.sample(1, 0)).shape[1:]))


# The stages of an investigation, as progress names them.
SEARCHING, JUDGING = "Searching", "Judging on fresh latents"
COMPARING, MEASURING = "Comparing with baselines", "Measuring known attributes"
# A picture with its slope costs about three times the picture.
WITH_SLOPE = 3.0
BASELINES = 5
# What a step of the Hessian penalty takes, in pictures: three of each of 8 latents, with slopes.
HESSIAN = 8 * 3 * WITH_SLOPE
# What a latent costs a surrogate, in pictures: next to nothing on a processor; on a card each waits for the same calls.
SURROGATE_COST, SURROGATE_COST_ON_A_DEVICE = 0.002, 0.1


def discover(
    generator: Generator,
    classifier: Classifier,
    *,
    target: Hyperplane | None = None,
    known: Sequence[Hyperplane] = (),
    directions: int = 3,
    restarts: int = 4,
    settings: SearchSettings | None = None,
    judging: JudgeSettings | None = None,
    surrogate: SurrogateSettings | None = None,
    reference: Classifier | None = None,
    compare: bool = True,
    search: bool = True,
    strips: int = 4,
    strip_pictures: int = 7,
    names: Sequence[str] = ("classifier", "generator", "reference"),
    report: Progress | None = None,
    notes: Iterable[str] = (),
    command: Iterable[str] | None = None,
) -> Investigation:
    """Find the directions that a classifier reacts to, compare them with baselines, and measure known attributes.

    With a ``surrogate`` the search is one on a stand-in for both networks, polished on them; everything else is theirs.
    ``reference`` is a second classifier, whose probability shall stay where it is; how far it goes is said.
    With ``search=False`` only the changes along the target and the known attributes are measured. ``compare=False``
    leaves the baselines out. Every strip starts from the same latents. ``names`` are those of classifier and generator,
    and of the reference where there is one.
    """
    search_settings, judge_settings = settings or SearchSettings(), judging or JudgeSettings()
    named = (*(() if target is None else (target,)), *known)
    if not search and not named:
        raise BadInput(
            "There is no search and no known attribute",
            available="known attributes whose change is measured, or a search",
            help="name a file of known attributes (--known), or leave out --no-search.",
        )
    if reference is not None:
        _check_use(search, surrogate)
    check_pair(generator, classifier, reference)
    weights = _stage_weights(
        generator, search_settings, judge_settings, len(named), directions * search, restarts, compare, surrogate
    )
    progress = StagedProgress(report, weights)
    strip_pairs = strips_of(
        generator, classifier, number=strips, pictures=strip_pictures, ends=search_settings.alphas,
        seed=search_settings.seed,
        chunk=search_settings.chunk,
    )  # fmt: skip
    rest = run_spec_of(
        generator, classifier, surrogate, reference, directions=directions, restarts=restarts, search=search,
        compare=compare, strips=strips, strip_pictures=strip_pictures,
    )  # fmt: skip
    options = {"search": asdict(search_settings), "judging": judge_settings.to_dict(), **rest}
    investigation = Investigation(
        classifier=names[0], generator=names[1], verdict=None, reason=None, directions=(), methods=(), known=(),
        curves=np.zeros((0, 0, 0)), strip_alphas=strip_pairs.alphas, search=search_settings, judging=judge_settings,
        target=None if target is None else target.name, notes=tuple(notes), run_spec=rest,
        reference=None if reference is None else names[2] if len(names) > 2 else "reference",
        provenance=origin_of(generator, classifier, reference, target, known, options, names, command),
    )  # fmt: skip
    if search:
        investigation = _searched(
            investigation, strip_pairs, target, tuple(known), directions, restarts, surrogate, reference, progress
        )
        if compare and investigation.curves.size:
            investigation = replace(
                investigation,
                methods=_compared(
                    strip_pairs, target, tuple(known), search_settings, judge_settings, reference, progress
                ),
            )
        elif compare:
            investigation = replace(
                investigation, notes=(*investigation.notes, "Baselines were skipped: there is nothing to find.")
            )
    if named:
        evaluator = Evaluator(generator, classifier, search_settings, judge_settings)
        investigation = replace(
            investigation, known=known_changes(evaluator, named, strip_pairs, progress.stage(MEASURING))
        )
    return investigation


def _stage_weights(
    generator: Generator, settings: SearchSettings, judging: JudgeSettings, named: int, directions: int, restarts: int,
    compare: bool, surrogate: SurrogateSettings | None,
) -> dict[str, float]:  # fmt: skip
    """Return how much work each stage is, in pictures that the generator draws."""
    alphas = len(settings.alphas)
    judged = (judging.latents + (2 * judging.random_directions + 1) * judging.null_latents) * alphas
    chosen_from = candidates(generator.latent_size)
    compared = BASELINES * (judged + chosen_from * CHOSEN_ON * alphas) + min(settings.steps, HESSIAN_STEPS) * HESSIAN
    steps = cost(restarts, settings.steps) if settings.race else restarts * settings.steps
    step = WITH_SLOPE * directions * settings.batch * alphas
    searched = {SEARCHING: steps * step}
    if surrogate is not None:
        latent = SURROGATE_COST if generator.device.type == "cpu" else SURROGATE_COST_ON_A_DEVICE
        searched = {
            LABELLING: float(surrogate.latents * bool(directions)),
            FITTING: latent * WITH_SLOPE * surrogate.steps * surrogate.batch * bool(directions),
            ROUGH: latent * steps * step,
            POLISH: surrogate.polish_steps(settings) * step,
        }
    return searched | {
        JUDGING: float(directions * judged),
        COMPARING: compared * bool(compare and directions),
        MEASURING: float(named * judging.latents * alphas),
    }


def _check_use(search: bool, surrogate: SurrogateSettings | None) -> None:
    """Refuse a reference that nothing would look at."""
    if not search:
        raise BadInput(
            "A reference was given without a search", available="a reference whose probability a search keeps constant",
            help="leave out the reference (--reference), or search.",
        )  # fmt: skip
    if surrogate is not None:
        raise BadInput(
            "A reference and a surrogate were given; a surrogate replaces one classifier only",
            available="one of the two",
            help="search without a surrogate (--no-surrogate), or leave out the reference (--reference).",
        )


def _searched(
    investigation: Investigation, strips: Strips, target: Hyperplane | None, known: tuple[Hyperplane, ...],
    directions: int,
    restarts: int, surrogate: SurrogateSettings | None, reference: Classifier | None, progress: StagedProgress,
) -> Investigation:  # fmt: skip
    """Search and judge."""
    options: dict[str, Any] = {
        "target": target, "known": known, "directions": directions, "restarts": restarts,
        "settings": investigation.search,
    }  # fmt: skip
    if surrogate is None:
        searching = progress.stage(SEARCHING)
        options |= {"reference": reference, "report": lambda step, steps, _: searching(step, steps)}
        searched = search_for(strips.generator, strips.classifier, **options)
        curves = searched.curves
    else:
        quick = surrogate_search(
            strips.generator, strips.classifier, surrogate=surrogate, report=progress.update, **options
        )
        searched, curves = quick.search, quick.rough.curves
        investigation = replace(
            investigation, notes=(*investigation.notes, *_surrogate_words(quick, surrogate, investigation.search))
        )
    judgement = judge(
        strips.generator,
        strips.classifier,
        searched,
        settings=investigation.judging,
        reference=reference,
        report=progress.stage(JUDGING),
    )
    return replace(
        investigation,
        notes=(*investigation.notes, *_reference_words(investigation.reference, judgement)),
        verdict=judgement.verdict,
        reason=judgement.reason,
        directions=tuple(
            PresentedDirection(
                "search", judged, strips.along(judged.original if judged.plane is None else judged.plane)
            )
            for judged in judgement.ranked
        ),
        curves=curves,
    )


def _surrogate_words(
    quick: SurrogateSearch, settings: SurrogateSettings, search_settings: SearchSettings
) -> tuple[str, ...]:
    if quick.surrogate is None:
        return ()
    return (
        f"The search ran on a surrogate of both networks, fitted to {settings.latents:,} latents (R2 "
        f"{quick.surrogate.r2:.2f} on held-out latents), then for {settings.polish_steps(search_settings)} steps on "
        "the networks themselves; the loss curves are the surrogate's.",
    )


def _reference_words(name: str | None, judgement: Judgement) -> tuple[str, ...]:
    """Say how much the reference changes along each direction; nothing where it was not measured."""
    ways = [
        f"{judged.reference_change:.3f} along {judged.name}"
        for judged in judgement.ranked
        if np.isfinite(judged.reference_change)
    ]
    if not ways:
        return ()
    return (
        f"The probability of the reference ({name}) should not change; on the same fresh latents it changes by "
        f"{', '.join(ways)} in total.",
    )


def _compared(
    strips: Strips, target: Hyperplane | None, known: tuple[Hyperplane, ...], search_settings: SearchSettings,
    judge_settings: JudgeSettings,
    reference: Classifier | None, progress: StagedProgress,
) -> tuple[PresentedDirection, ...]:  # fmt: skip
    """Let each baseline choose its direction, and judge it on the latents that those of the search were judged on."""
    generator, classifier = strips.generator, strips.classifier
    named = (*(() if target is None else (target,)), *known)
    baselines = baseline_directions(generator, named, search_settings)
    report = progress.stage(COMPARING)
    baselines_judged: list[PresentedDirection] = []
    for index, (method, make) in enumerate(baselines.items()):
        best = chosen(generator, classifier, make(), named, search_settings)
        if best is None:
            continue
        judgement = judge(
            generator, classifier, [best], target=target, known=known, search_settings=search_settings,
            settings=judge_settings,
            reference=reference,
        )  # fmt: skip
        (judged,) = judgement.ranked
        baselines_judged.append(
            PresentedDirection(method, judged, strips.along(judged.original if judged.plane is None else judged.plane))
        )
        report(index + 1, len(baselines))
    return tuple(baselines_judged)
