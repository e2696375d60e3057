"""An investigation: search, judge, compare with baselines, measure known attributes, and draw strips of all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from equipoise.discovery.asked import asked_of, origin_of
from equipoise.discovery.checking import check_pair
from equipoise.discovery.classifier import Classifier
from equipoise.discovery.comparing import CHOSEN_ON, HESSIAN_STEPS, baseline_directions, candidates, chosen
from equipoise.discovery.generator import Generator
from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.investigation import Investigation, Shown
from equipoise.discovery.judging import Bench, Judgement, JudgeSettings, judge
from equipoise.discovery.known_changes import known_changes
from equipoise.discovery.racing import cost
from equipoise.discovery.search import SearchSettings
from equipoise.discovery.search import search as search_for
from equipoise.discovery.strips import Strips, strips_of
from equipoise.discovery.surrogate import (
    FITTING,
    LABELLING,
    POLISH,
    ROUGH,
    SurrogateSearch,
    SurrogateSettings,
    surrogate_search,
)
from equipoise.foundation.errors import BadInput
from equipoise.foundation.long_work import Progress, StagedProgress

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


def investigate(
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
    asked, how = settings or SearchSettings(), judging or JudgeSettings()
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
    weights = _stage_weights(generator, asked, how, len(named), directions * search, restarts, compare, surrogate)
    progress = StagedProgress(report, weights)
    drawn = strips_of(
        generator, classifier, number=strips, pictures=strip_pictures, ends=asked.alphas, seed=asked.seed,
        chunk=asked.chunk,
    )  # fmt: skip
    rest = asked_of(
        generator, classifier, surrogate, reference, directions=directions, restarts=restarts, search=search,
        compare=compare, strips=strips, strip_pictures=strip_pictures,
    )  # fmt: skip
    said = {"search": asdict(asked), "judging": asdict(how), **rest}
    made = Investigation(
        classifier=names[0], generator=names[1], verdict=None, reason=None, directions=(), methods=(), known=(),
        curves=np.zeros((0, 0, 0)), strip_alphas=drawn.alphas, search=asked, judging=how,
        target=None if target is None else target.name, notes=tuple(notes), asked=rest,
        reference=None if reference is None else names[2] if len(names) > 2 else "reference",
        provenance=origin_of(generator, classifier, reference, target, known, said, names, command),
    )  # fmt: skip
    if search:
        made = _searched(made, drawn, target, tuple(known), directions, restarts, surrogate, reference, progress)
        if compare and made.curves.size:
            made = replace(made, methods=_compared(drawn, target, tuple(known), asked, how, reference, progress))
        elif compare:
            made = replace(made, notes=(*made.notes, "Baselines were skipped: there is nothing to find."))
    if named:
        bench = Bench(generator, classifier, asked, how)
        made = replace(made, known=known_changes(bench, named, drawn, progress.stage(MEASURING)))
    return made


def _stage_weights(
    generator: Generator, asked: SearchSettings, how: JudgeSettings, named: int, directions: int, restarts: int,
    compare: bool, surrogate: SurrogateSettings | None,
) -> dict[str, float]:  # fmt: skip
    """Return how much work each stage is, in pictures that the generator draws."""
    alphas = len(asked.alphas)
    judged = (how.latents + (2 * how.nulls + 1) * how.null_latents) * alphas
    chosen_from = candidates(generator.latent_size)
    compared = BASELINES * (judged + chosen_from * CHOSEN_ON * alphas) + min(asked.steps, HESSIAN_STEPS) * HESSIAN
    steps = cost(restarts, asked.steps) if asked.race else restarts * asked.steps
    step = WITH_SLOPE * directions * asked.batch * alphas
    searched = {SEARCHING: steps * step}
    if surrogate is not None:
        latent = SURROGATE_COST if generator.device.type == "cpu" else SURROGATE_COST_ON_A_DEVICE
        searched = {
            LABELLING: float(surrogate.latents * bool(directions)),
            FITTING: latent * WITH_SLOPE * surrogate.steps * surrogate.batch * bool(directions),
            ROUGH: latent * steps * step,
            POLISH: surrogate.polish_of(asked) * step,
        }
    return searched | {
        JUDGING: float(directions * judged),
        COMPARING: compared * bool(compare and directions),
        MEASURING: float(named * how.latents * alphas),
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
    made: Investigation, drawn: Strips, target: Hyperplane | None, known: tuple[Hyperplane, ...], directions: int,
    restarts: int, surrogate: SurrogateSettings | None, reference: Classifier | None, progress: StagedProgress,
) -> Investigation:  # fmt: skip
    """Search and judge."""
    asked: dict[str, Any] = {
        "target": target, "known": known, "directions": directions, "restarts": restarts, "settings": made.search,
    }  # fmt: skip
    if surrogate is None:
        searching = progress.stage(SEARCHING)
        asked |= {"reference": reference, "report": lambda step, steps, _: searching(step, steps)}
        found = search_for(drawn.generator, drawn.classifier, **asked)
        curves = found.curves
    else:
        quick = surrogate_search(drawn.generator, drawn.classifier, surrogate=surrogate, report=progress.tell, **asked)
        found, curves = quick.search, quick.rough.curves
        made = replace(made, notes=(*made.notes, *_surrogate_words(quick, surrogate, made.search)))
    judgement = judge(
        drawn.generator,
        drawn.classifier,
        found,
        settings=made.judging,
        reference=reference,
        report=progress.stage(JUDGING),
    )
    return replace(
        made,
        notes=(*made.notes, *_reference_words(made.reference, judgement)),
        verdict=judgement.verdict,
        reason=judgement.reason,
        directions=tuple(
            Shown("search", one, drawn.along(one.given if one.plane is None else one.plane)) for one in judgement.ranked
        ),
        curves=curves,
    )


def _surrogate_words(quick: SurrogateSearch, how: SurrogateSettings, asked: SearchSettings) -> tuple[str, ...]:
    if quick.surrogate is None:
        return ()
    return (
        f"The search ran on a surrogate of both networks, fitted to {how.latents:,} latents (R2 "
        f"{quick.surrogate.r2:.2f} on held-out latents), then for {how.polish_of(asked)} steps on the networks "
        f"themselves; the loss curves are the surrogate's.",
    )


def _reference_words(name: str | None, judgement: Judgement) -> tuple[str, ...]:
    """Say how much the reference changes along each direction; nothing where it was not measured."""
    ways = [f"{one.reference_way:.3f} along {one.name}" for one in judgement.ranked if np.isfinite(one.reference_way)]
    if not ways:
        return ()
    return (
        f"The probability of the reference ({name}) should not change; on the same fresh latents it changes by "
        f"{', '.join(ways)} in total.",
    )


def _compared(
    drawn: Strips, target: Hyperplane | None, known: tuple[Hyperplane, ...], asked: SearchSettings, how: JudgeSettings,
    reference: Classifier | None, progress: StagedProgress,
) -> tuple[Shown, ...]:  # fmt: skip
    """Let each baseline choose its direction, and judge it on the latents that those of the search were judged on."""
    generator, classifier = drawn.generator, drawn.classifier
    named = (*(() if target is None else (target,)), *known)
    baselines = baseline_directions(generator, named, asked)
    told = progress.stage(COMPARING)
    shown: list[Shown] = []
    for place, (method, make) in enumerate(baselines.items()):
        best = chosen(generator, classifier, make(), named, asked)
        if best is None:
            continue
        judgement = judge(
            generator, classifier, [best], target=target, known=known, search_settings=asked, settings=how,
            reference=reference,
        )  # fmt: skip
        (one,) = judgement.ranked
        shown.append(Shown(method, one, drawn.along(one.given if one.plane is None else one.plane)))
        told(place + 1, len(baselines))
    return tuple(shown)
