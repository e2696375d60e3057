"""An investigation: search, judge, compare with baselines, walk what has a name, and draw strips of all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
from equipoise.discovery.judging import Bench, JudgeSettings, judge
from equipoise.discovery.known_changes import known_changes
from equipoise.discovery.racing import cost
from equipoise.discovery.search import SearchSettings
from equipoise.discovery.search import search as search_for
from equipoise.discovery.strips import Strips, strips_of
from equipoise.discovery.surrogate import SurrogateSearch, SurrogateSettings, surrogate_search
from equipoise.foundation.errors import BadInput

# What is told on the way: what is done now, and the share of all work that is done.
Report = Callable[[str, float], None]
# A picture with its slope costs about three times the picture.
WITH_SLOPE = 3.0
BASELINES = 5
# What a step of the Hessian penalty takes, in pictures: three of each of 8 latents, with slopes.
HESSIAN = 8 * 3 * WITH_SLOPE


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
    compare: bool = True,
    search: bool = True,
    strips: int = 4,
    strip_pictures: int = 7,
    names: tuple[str, str] = ("classifier", "generator"),
    report: Report | None = None,
    notes: Iterable[str] = (),
    command: Iterable[str] | None = None,
) -> Investigation:
    """Find the directions that a classifier reacts to, hold them against baselines, and walk what has a name.

    With a ``surrogate`` the search is one on a stand-in for both networks, polished on them; everything else is theirs.
    With ``search=False`` only the changes along the target and the known attributes are measured. ``compare=False``
    leaves the baselines out. Every strip starts from the same latents. ``names`` are those of classifier and generator.
    """
    asked, how = settings or SearchSettings(), judging or JudgeSettings()
    named = (*(() if target is None else (target,)), *known)
    if not search and not named:
        raise BadInput(
            "Nothing is searched for, and no attribute is known",
            allowed="known attributes whose change is measured, or a search",
            way_out="name a file of known attributes (--known), or leave out --no-search.",
        )
    check_pair(generator, classifier)
    pace = _Pace(
        report, generator.latent_size, asked, how, len(named), directions * search, restarts, compare, surrogate
    )
    drawn = strips_of(
        generator, classifier, number=strips, pictures=strip_pictures, ends=asked.alphas, seed=asked.seed,
        chunk=asked.chunk,
    )  # fmt: skip
    rest = asked_of(
        generator, classifier, surrogate, directions=directions, restarts=restarts, search=search, compare=compare,
        strips=strips, strip_pictures=strip_pictures,
    )  # fmt: skip
    said = {"search": asdict(asked), "judging": asdict(how), **rest}
    made = Investigation(
        classifier=names[0], generator=names[1], verdict=None, reason=None, directions=(), methods=(), known=(),
        curves=np.zeros((0, 0, 0)), strip_alphas=drawn.alphas, search=asked, judging=how,
        target=None if target is None else target.name, notes=tuple(notes), asked=rest,
        provenance=origin_of(generator, classifier, target, known, said, names, command),
    )  # fmt: skip
    if search:
        made = _searched(made, drawn, target, tuple(known), directions, restarts, surrogate, pace)
        if compare and made.curves.size:
            made = replace(made, methods=_compared(drawn, target, tuple(known), asked, how, pace))
        elif compare:
            made = replace(made, notes=(*made.notes, "Baselines were left out: there is nothing to find."))
    if named:
        bench = Bench(generator, classifier, asked, how)
        made = replace(made, known=known_changes(bench, named, drawn, pace.of("Walking what has a name")))
    return made


def _searched(
    made: Investigation, drawn: Strips, target: Hyperplane | None, known: tuple[Hyperplane, ...], directions: int,
    restarts: int, surrogate: SurrogateSettings | None, pace: _Pace,
) -> Investigation:  # fmt: skip
    """Search and judge."""
    searching = pace.of("Searching")
    asked: dict[str, Any] = {
        "target": target, "known": known, "directions": directions, "restarts": restarts, "settings": made.search,
        "report": lambda step, steps, _: searching(step, steps),
    }  # fmt: skip
    if surrogate is None:
        found = search_for(drawn.generator, drawn.classifier, **asked)
        curves = found.curves
    else:
        quick = surrogate_search(drawn.generator, drawn.classifier, surrogate=surrogate, **asked)
        found, curves = quick.search, quick.rough.curves
        made = replace(made, notes=(*made.notes, *_surrogate_words(quick, surrogate, made.search)))
    judgement = judge(
        drawn.generator, drawn.classifier, found, settings=made.judging, report=pace.of("Judging on fresh latents")
    )
    return replace(
        made,
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
        f"The search went on a surrogate of both networks, fitted to {how.latents:,} latents (R2 "
        f"{quick.surrogate.r2:.2f} on latents held out), and then {how.polish_of(asked)} steps on the networks "
        f"themselves; the loss curves are the surrogate's.",
    )


def _compared(
    drawn: Strips, target: Hyperplane | None, known: tuple[Hyperplane, ...], asked: SearchSettings, how: JudgeSettings,
    pace: _Pace,
) -> tuple[Shown, ...]:  # fmt: skip
    """Let each baseline choose its direction, and judge it on the latents that those of the search were judged on."""
    generator, classifier = drawn.generator, drawn.classifier
    named = (*(() if target is None else (target,)), *known)
    baselines = baseline_directions(generator, named, asked)
    told = pace.of("Comparing with baselines")
    shown: list[Shown] = []
    for place, (method, make) in enumerate(baselines.items()):
        best = chosen(generator, classifier, make(), named, asked)
        if best is None:
            continue
        judgement = judge(
            generator, classifier, [best], target=target, known=known, search_settings=asked, settings=how
        )
        (one,) = judgement.ranked
        shown.append(Shown(method, one, drawn.along(one.given if one.plane is None else one.plane)))
        told(place + 1, len(baselines))
    return tuple(shown)


class _Pace:
    """How far all phases together are: each weighs as much as the pictures that it draws."""

    def __init__(
        self, report: Report | None, size: int, asked: SearchSettings, how: JudgeSettings, named: int, directions: int,
        restarts: int, compare: bool, surrogate: SurrogateSettings | None,
    ) -> None:  # fmt: skip
        self.report = report
        walk = len(asked.alphas)
        judged = (how.latents + (2 * how.nulls + 1) * how.null_latents) * walk
        chosen_from = candidates(size)
        compared = BASELINES * (judged + chosen_from * CHOSEN_ON * walk) + min(asked.steps, HESSIAN_STEPS) * HESSIAN
        steps = cost(restarts, asked.steps) if asked.race else restarts * asked.steps
        searched = WITH_SLOPE * directions * steps * asked.batch * walk
        if surrogate is not None:
            searched = surrogate.latents + WITH_SLOPE * directions * surrogate.polish_of(asked) * asked.batch * walk
        self.weights = {
            "Searching": searched,
            "Judging on fresh latents": directions * judged,
            "Comparing with baselines": compared * bool(compare and directions),
            "Walking what has a name": named * how.latents * walk,
        }

    def of(self, phase: str) -> Callable[[int, int], None]:
        """Return what takes in how far one phase is, and tells how far all are."""
        whole = sum(self.weights.values())
        before = sum(list(self.weights.values())[: list(self.weights).index(phase)])

        def told(done: int, steps: int) -> None:
            if self.report is not None:
                self.report(phase, (before + self.weights[phase] * done / steps) / whole)

        if self.report is not None:
            self.report(phase, before / whole)
        return told
