"""Judging against explicit loops, and the reasons it gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Classifier, Hyperplane, JudgeSettings, judge, random_orthogonal_directions
from equipoise.discovery._judging import Evaluator
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput, stream
from helpers.cases.discovery import BIAS, TARGET, Constant, meaning, painter, quick, reader, torch

WALKED = quick()
ALPHAS = WALKED.alphas


def curve(generator: Any, classifier: Any, plane: Hyperplane, z: Any) -> list[float]:
    """The probabilities along one latent's traversal, one picture at a time."""
    found = []
    for alpha in ALPHAS:
        moved = z - (float(z @ plane.normal) + plane.offset - alpha) * plane.normal
        images = generator.images(torch.tensor(moved[None], dtype=torch.float32))
        found.append(float(classifier.probabilities(images)[0]))
    return found


@pytest.mark.parametrize(("offset", "planes"), [(0.0, 1), (0.7, 2)])
def test_variation_steadiness_and_rank_are_those_of_a_loop(offset: float, planes: int) -> None:
    generator, classifier = painter(), reader(6.0, 4.0)
    plane = Hyperplane("tint", meaning(0, BIAS, "tint").normal, offset)
    settings = JudgeSettings(latents=12, null_latents=5, random_directions=19, seed=4)
    target = meaning(0, TARGET, "target")
    (judged,) = judge(
        generator, classifier, [plane], target=target, search_settings=WALKED, settings=settings
    ).ranked  # fmt: skip
    drawn = int(stream(4, "judged on").integers(2**31))
    latents = generator.sample(12, drawn).double().numpy()
    curves = np.array([curve(generator, classifier, plane, z) for z in latents])
    variations = np.abs(np.diff(curves, axis=1)).mean(1)
    assert judged.variation == pytest.approx(variations.mean(), abs=1e-6)
    assert judged.total_change == pytest.approx(np.abs(np.diff(curves, axis=1)).sum(1).mean(), abs=1e-6)
    mean = curves.mean(0)
    assert judged.steadiness == pytest.approx(np.abs(np.diff(mean)).mean() / variations.mean(), abs=1e-6)
    assert judged.low < judged.variation < judged.high
    standard = variations.std(ddof=1) / np.sqrt(12)
    assert judged.high - judged.low == pytest.approx(2 * 1.96 * standard, rel=0.25)

    seed = int(stream(4, "null", "tint").integers(2**31))
    centre = generator.sample(1000, drawn).double().mean(0).numpy()
    distance = float(plane.normal @ centre) + plane.offset
    others = random_orthogonal_directions(generator.latent_size, 19, seed, [target], centre)
    assert max(abs(other.cosine(target)) for other in others) < 1e-12
    chance = [
        max(
            np.abs(np.diff([curve(generator, classifier, where, z) for z in latents[:5]], axis=1)).mean()
            for where in (other, Hyperplane(other.name, other.normal, other.offset + distance))[:planes]
        )
        for other in others
    ]  # fmt: skip
    assert judged.chance == pytest.approx(np.median(chance), abs=1e-6)
    assert judged.rank_among_random == 1 + sum(value >= variations[:5].mean() for value in chance)
    assert judged.random_directions == 19


class Round(torch.nn.Module):
    """A picture of how far a latent is from the middle, which no direction decides."""

    def forward(self, latents: Any) -> Any:
        return torch.sigmoid(2 * (latents.norm(dim=1) - 3)).reshape(-1, 1, 1, 1)


class Pixel(torch.nn.Module):
    def forward(self, images: Any) -> Any:
        return images[:, 0, 0, 0]


def test_a_plane_off_the_middle_is_held_against_planes_as_far_off() -> None:
    generator, classifier = Generator(Round(), 8), Classifier(Pixel())
    # At a distance of 2 all traversals run from less to more, and the probability goes a long way: in every direction.
    aside = Hyperplane("aside", np.eye(8)[0], 2.0)
    (judged,) = judge(generator, classifier, [aside], search_settings=WALKED).ranked
    assert judged.total_change > 0.2
    assert judged.steadiness > 0.9
    assert judged.rank_among_random is not None
    assert judged.rank_among_random / (1 + judged.random_directions) > 0.2
    assert judged.verdict == "nothing found"


@pytest.mark.parametrize("guard", [None, 0.9])
def test_the_way_of_a_reference_is_that_of_a_loop_and_decides_nothing(guard: float | None) -> None:
    generator, tint, still = painter(), meaning(0, BIAS, "tint"), reader(2.0, 1.0)
    few, walked = JudgeSettings(latents=32, null_latents=8), replace(WALKED, guard=guard)
    (alone,) = judge(generator, reader(6.0, 4.0), [tint], search_settings=walked, settings=few).ranked
    (beside,) = judge(
        generator, reader(6.0, 4.0), [tint], search_settings=walked, settings=few, reference=still
    ).ranked  # fmt: skip
    evaluator = Evaluator(generator, still, walked, few)
    ways = []
    for latent in evaluator.latents:
        moved = [tint.project(latent[None]) + alpha * latent.new_tensor(tint.normal) for alpha in walked.alphas]
        p = [float(still.probabilities(generator.images(one))) for one in moved]
        inside = [evaluator.guard is None or bool(evaluator.guard.inside(one)) for one in moved]
        counted = zip(pairwise(p), pairwise(inside), strict=True)
        ways.append(sum(abs(b - a) for (a, b), both in counted if all(both)))
    assert beside.reference_change == pytest.approx(np.mean(ways), abs=1e-6)
    assert np.isnan(alone.reference_change)
    same = (
        "variation", "low", "high", "total_change", "steadiness", "chance", "rank_among_random", "verdict", "reason",
    )  # fmt: skip
    assert [getattr(beside, name) for name in same] == [getattr(alone, name) for name in same]


def test_directions_are_judged_orthogonal_to_each_other_too() -> None:
    target, tint = meaning(0, TARGET, "target"), meaning(0, BIAS, "tint")
    # At right angles to each other as they are given; less the target both are the tint.
    first = Hyperplane("first", 0.5 * target.normal + 0.75**0.5 * tint.normal)
    second = Hyperplane("second", 0.75**0.5 * target.normal - 0.5 * tint.normal)
    judged = judge(painter(), reader(6.0, 4.0), [first, second], target=target, search_settings=WALKED)
    verdicts = {one.name: (one.verdict, one.reason) for one in judged.ranked}
    assert verdicts["first"] == ("found", None)
    assert verdicts["second"][0] == "nothing found"
    assert "the directions before it" in str(verdicts["second"][1])


def test_what_is_judged_is_orthogonal_to_the_target() -> None:
    target, tint = meaning(0, TARGET, "target"), meaning(0, BIAS, "tint")
    mixed = Hyperplane("mixed", 0.6 * target.normal + 0.8 * tint.normal)
    (judged,) = judge(painter(), reader(6.0, 4.0), [mixed], target=target, search_settings=WALKED).ranked
    assert judged.plane is not None
    assert judged.plane.cosine(tint) == pytest.approx(1.0)
    assert judged.cosine_kept == pytest.approx(0.8)
    assert judged.cosines["target"] == pytest.approx(0.6)
    assert judged.verdict == "found"


class Alternating(torch.nn.Module):  # type: ignore[misc]
    """Rise with the tint on one half of the pictures, and fall with it on the other."""

    def forward(self, images: Any) -> Any:
        sign = torch.where(images[:, 1, 2:5, 2:5].mean((1, 2)) > 0.5, 1.0, -1.0)
        return (6.0 * sign * (images[:, 0].mean((1, 2)) - 0.5)).sigmoid()


@pytest.mark.parametrize(
    ("classifier", "plane", "words"),
    [
        (lambda: Classifier(Constant()), BIAS, "same probability"),
        (lambda: reader(6.0, 0.3), BIAS, "at least 0.3 is required"),
        (lambda: Classifier(Alternating()), BIAS, "rises for some"),
        (lambda: reader(0.0, 9.0), 3, "same probability"),
        (lambda: reader(6.0, 4.0), TARGET, "target and the known attributes alone"),
    ],
)
def test_nothing_is_found_for_a_reason(classifier: Any, plane: int, words: str) -> None:
    given = [meaning(0, plane, "given")]
    target = meaning(0, TARGET, "target")
    judged = judge(painter(), classifier(), given, target=target, search_settings=WALKED)
    assert judged.verdict == "nothing found"
    assert judged.confirmed == ()
    assert judged.reason is not None
    assert words in str(judged.reason)


def test_a_direction_like_any_other_is_not_found() -> None:
    tint = meaning(0, BIAS, "tint").normal
    # A little of the tint and much of what paints nothing that is read: random directions do as well.
    given = [Hyperplane("any", 0.35 * tint + 0.94 * meaning(0, 3, "stripes").normal)]
    judged = judge(painter(), reader(0.0, 12.0), given, search_settings=WALKED)
    assert judged.verdict == "nothing found"
    assert "random directions" in str(judged.reason)
    first = judged.ranked[0]
    assert first.rank_among_random is not None
    assert first.rank_among_random / (1 + first.random_directions) > 0.05


def test_directions_are_ranked_and_the_second_does_not_compete_with_the_first() -> None:
    generator, classifier = painter(), reader(3.0, 12.0)
    given = [meaning(0, BIAS, "tint"), meaning(0, TARGET, "patch")]
    little = JudgeSettings(min_effect=0.1)
    judged = judge(generator, classifier, given, search_settings=WALKED, settings=little)
    assert [one.name for one in judged.ranked] == ["tint", "patch"]
    assert [one.verdict for one in judged.ranked] == ["found", "found"]
    turned = judge(generator, classifier, given[::-1], search_settings=WALKED, settings=little)
    assert [one.name for one in turned.ranked] == ["tint", "patch"]
    assert turned.ranked[1].verdict == "nothing found"  # among random directions that may have the tint in them


def test_no_directions_and_no_room_for_chance_are_said() -> None:
    generator, classifier = painter(), reader(6.0, 4.0)
    assert str(judge(generator, classifier, []).reason) == "no direction was given"
    known = [meaning(0, place, str(place)) for place in range(2, 6)]
    target = meaning(0, TARGET, "target")
    judged = judge(
        generator, classifier, [meaning(0, BIAS, "tint")], target=target, known=known, search_settings=WALKED
    )
    assert judged.verdict == "nothing found"
    assert "left to compare" in str(judged.reason)
    assert judged.ranked[0].rank_among_random is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"latents": 8, "null_latents": 9}, {"null_latents": 1}, {"random_directions": 18}, {"threshold": 0.0},
        {"level": 2.0},
        {"threshold": float("nan")}, {"min_effect": -0.1}, {"min_effect": float("nan")}, {"min_effect": float("inf")},
    ],
)  # fmt: skip
def test_settings_that_cannot_tell_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        JudgeSettings(**wrong)
