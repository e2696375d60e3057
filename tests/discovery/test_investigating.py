"""A whole investigation: what was planted is found, nothing is found where nothing is, and what is known is walked."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Classifier, Hyperplane, Investigation, JudgeSettings, SurrogateSettings, discover
from equipoise.discovery._investigating import known_change, strips_of
from equipoise.discovery._judging import Evaluator
from equipoise.discovery._reasons import DiscoveryReason
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput
from equipoise.results import because
from helpers.cases.discovery import BIAS, LATENT, TARGET, Constant, meaning, painter, quick, reader, torch

JUDGED = JudgeSettings(latents=32, null_latents=8, random_directions=39)
METHODS = ["axes", "pca", "hessian", "random", "random orthogonal"]


@pytest.fixture(scope="module")
def told() -> list[tuple[str, float]]:
    return []


@pytest.fixture(scope="module")
def planted(told: list[tuple[str, float]]) -> Investigation:
    return discover(
        painter(), reader(5.0, 5.0), target=meaning(0, TARGET, "patch"), directions=2, restarts=2, settings=quick(),
        judging=JUDGED, strips=3, strip_pictures=5, report=lambda what, done: told.append((what, done)),
        notes=("a note",), command=["equipoise", "discover"],
    )  # fmt: skip


def test_what_was_planted_is_found_first_and_shown_from_the_same_latents(planted: Investigation) -> None:
    first = planted.directions[0].judged
    assert planted.verdict == "found"
    assert first.plane is not None
    assert abs(first.plane.cosine(meaning(0, BIAS, "tint"))) > 0.95
    assert [method.method for method in planted.methods] == METHODS
    assert planted.curves.shape == (2, 2, 100)
    assert planted.strip_alphas == (-2.0, -1.0, 0.0, 1.0, 2.0)
    for one in (*planted.directions, *planted.methods):
        assert len(one.strips) == 3
        assert one.strips[0].pictures.shape == (5, 8, 8, 3)
        assert one.strips[0].pictures.dtype == np.uint8
        assert one.strips[0].probabilities.shape == (5,)
    assert all(
        method.judged.variation < first.variation for method in planted.methods if method.method.startswith("random")
    )


def test_a_strip_is_the_walk_of_its_latent(planted: Investigation) -> None:
    shown = planted.directions[0]
    drawn = strips_of(painter(), reader(5.0, 5.0), number=3, pictures=5, ends=(-2, 2), seed=quick().seed)
    assert shown.judged.plane is not None
    moved = shown.judged.plane.traverse(drawn.latents, planted.strip_alphas)[:, 1]
    pictures = painter().images(moved)
    expected = (255 * pictures).round().byte().permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(shown.strips[1].pictures, expected)
    np.testing.assert_allclose(
        shown.strips[1].probabilities, reader(5.0, 5.0).probabilities(pictures).numpy(), atol=1e-6
    )


def test_progress_goes_up_through_all_phases_to_the_end(planted: Investigation, told: list[tuple[str, float]]) -> None:
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(1.0)
    assert list(dict.fromkeys(what for what, _ in told)) == [
        "Searching", "Judging on fresh latents", "Comparing with baselines", "Measuring known attributes",
    ]  # fmt: skip


def test_the_document_says_everything_but_the_pictures(planted: Investigation, tmp_path: Path) -> None:
    planted.to_json(tmp_path / "found.json")
    content = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert content == planted.as_json()
    assert content["schema"] == "equipoise.discovery/2"
    assert content["verdict"] == "found"
    assert content["notes"] == ["a note"]
    assert [one["rank"] for one in content["directions"]] == [1, 2]
    first = content["directions"][0]
    assert first["low"] <= first["variation"] <= first["high"]
    assert np.array(first["strips"]).shape == (3, 5)
    assert np.array(content["curves"]).shape == (2, 2, 100)
    assert content["known"][0]["name"] == content["target"] == "patch"
    settings = content["settings"]
    assert list(settings) == [
        "search", "judging", "investigation", "surrogate", "classifier", "reference", "generator",
    ]  # fmt: skip
    assert settings["search"]["steps"] == 100
    assert settings["judging"]["nulls"] == 39
    assert settings["investigation"] == {
        "directions": 2, "restarts": 2, "search": True, "compare": True, "strips": 3, "strip_pictures": 5,
    }  # fmt: skip
    assert settings["surrogate"] is settings["reference"] is content["reference"] is None
    assert {one["reference_way"] for one in content["directions"]} == {None}
    assert settings["classifier"] == {
        "output": None, "class": None, "names": [], "logits": False, "size": None, "resize": False,
    }  # fmt: skip
    assert settings["generator"] == {"latent_size": LATENT, "prior": "normal", "image": None}
    options = content["provenance"]["options"]
    assert (options["steps"], options["directions"], options["judging nulls"]) == (100, 2, 39)
    assert (options["classifier logits"], options["generator prior"], options["surrogate"]) == (False, "normal", None)
    assert content["provenance"]["command"] == "equipoise discover"


def test_a_seed_gives_the_same_investigation_and_another_classifier_another_fingerprint(
    planted: Investigation,
) -> None:
    once, twice = (
        discover(painter(), reader(5.0, weight), directions=1, restarts=1, settings=quick(steps=5), judging=JUDGED,
                    compare=False, strips=1)
        for weight in (5.0, 4.0)
    )  # fmt: skip
    again = discover(
        painter(), reader(5.0, 5.0), directions=1, restarts=1, settings=quick(steps=5), judging=JUDGED, compare=False,
        strips=1,
    )  # fmt: skip
    assert once.methods == ()
    one, other = once.as_json(), again.as_json()
    one["provenance"].pop("created"), other["provenance"].pop("created")
    assert one == other
    assert once.provenance["fingerprint"] != twice.provenance["fingerprint"]


def with_reference(reference: Classifier | None, **change: Any) -> Investigation:
    asked: dict[str, Any] = {"directions": 1, "restarts": 2, "settings": quick(), "judging": JUDGED, "strips": 1}
    return discover(painter(), reader(6.0, 5.0), reference=reference, **{"compare": False, **asked, **change})


def test_a_reference_is_kept_still_and_how_far_it_goes_is_said() -> None:
    patch, tint = meaning(0, TARGET, "patch"), meaning(0, BIAS, "tint")
    free, held = with_reference(None), with_reference(reader(6.0, 0.0), names=("one", "two", "sound"), compare=True)
    for made, least, most in ((free, 0.5, 1.0), (held, 0.0, 0.2)):
        plane = made.directions[0].judged.plane
        assert plane is not None
        assert least < abs(plane.cosine(patch)) < most
    (shown,) = held.directions
    assert shown.judged.plane is not None
    assert abs(shown.judged.plane.cosine(tint)) > 0.9
    assert 0.0 < shown.judged.reference_change < 0.1 * shown.judged.total_change
    content = held.as_json()
    assert content["reference"] == "sound"
    assert content["directions"][0]["reference_way"] == shown.judged.reference_change
    # Nothing kept the baselines away from what the reference sees.
    assert max(one["reference_way"] for one in content["methods"]) > shown.judged.reference_change
    assert content["settings"]["reference"]["logits"] is False
    said = (
        "of the reference (sound) should not change; on the same fresh latents it changes by {:.3f} along {} in total."
    )
    assert said.format(shown.judged.reference_change, shown.judged.name) in held.notes[-1]
    assert with_reference(reader(6.0, 0.0), settings=quick(steps=1)).reference == "reference"
    assert free.notes == ()


def test_the_fingerprint_is_that_of_the_reference_too() -> None:
    given = (None, reader(6.0, 0.0), reader(5.0, 0.0), Classifier(reader(6.0, 0.0).module, size=8))
    made = [with_reference(one, settings=quick(steps=1)).provenance["fingerprint"] for one in given]
    assert len(set(made)) == len(given)
    assert made[1] == with_reference(reader(6.0, 0.0), settings=quick(steps=1)).provenance["fingerprint"]


class Logits(torch.nn.Module):
    """Say numbers that are no probabilities."""

    def forward(self, images: Any) -> Any:
        return 9 * images.mean((1, 2, 3)) + 2


@pytest.mark.parametrize(
    ("reference", "change", "words"),
    [
        (
            reader(6.0, 0.0),
            {"surrogate": SurrogateSettings()},
            r"(?s)a surrogate replaces one classifier.*--no-surrogate",
        ),
        (reader(6.0, 0.0), {"search": False, "known": [meaning(0, BIAS, "tint")]}, "without a search"),
        (Classifier(Logits()), {}, r"(?s)The reference returned numbers .*help: give a Classifier, which declares"),
        (Classifier(reader(6.0, 0.0).module, size=16), {}, "and the reference was trained on 16 x 16"),
    ],
    ids=["surrogate", "no search", "logits", "size"],
)
def test_a_reference_that_cannot_be_used_is_refused(reference: Classifier, change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        with_reference(reference, **change)


def test_the_bar_moves_in_every_phase_of_a_surrogate() -> None:
    told: list[tuple[str, float]] = []
    few = SurrogateSettings(latents=640, width=16, steps=30, batch=64, least_r2=-9, polish=10)
    with_reference(None, surrogate=few, report=lambda what, done: told.append((what, done)), settings=quick(steps=20))
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(1.0)
    steps = {phase: len({done for what, done in told if what == phase}) for phase, _ in told}
    assert steps == {
        "Labelling latents for a surrogate": 11, "Fitting the surrogate": 30, "Searching on the surrogate": 20,
        "Polishing on the networks": 10, "Judging on fresh latents": 2,
    }  # fmt: skip


class Pair(torch.nn.Module):
    """Say two numbers of every picture."""

    def forward(self, images: Any) -> Any:
        p = images.mean((1, 2, 3))
        return torch.stack([p, 1 - p], 1)


def own_prior(number: int, random: Any) -> Any:
    return torch.randn(number, LATENT, generator=random)


def origin(classifier: dict[str, Any] | None = None, prior: Any = "normal", **change: Any) -> dict[str, Any]:
    """Return where the numbers of an investigation come from that only walks what has a name."""
    asked: dict[str, Any] = {"search": False, "known": [meaning(0, BIAS, "tint")], "strips": 1, "judging": JUDGED}
    made = discover(
        Generator(painter().module, LATENT, prior), Classifier(Pair(), **{"output": 0, **(classifier or {})}),
        **{**asked, "settings": quick(), **change},
    )  # fmt: skip
    return dict(made.provenance)


@pytest.mark.parametrize(
    "change",
    [
        {"classifier": {"output": 1}},
        {"classifier": {"logits": True}},
        {"classifier": {"logits": "sigmoid"}},
        {"classifier": {"size": (8, 8), "resize": True}},
        {"prior": "uniform"},
        {"prior": own_prior},
        {"known": [Hyperplane("tint", meaning(0, BIAS, "tint").normal, 0.5)]},
        {"known": [meaning(0, BIAS, "shade")]},
        {"known": [meaning(0, TARGET, "tint")]},
        {"known": [], "target": meaning(0, BIAS, "tint")},
        {"directions": 2},
        {"restarts": 3},
        {"compare": False},
        {"surrogate": SurrogateSettings()},
        {"settings": quick(chunk=3)},
        {"judging": replace(JUDGED, random_directions=40)},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_the_fingerprint_is_that_of_everything_that_decides_the_result(change: dict[str, Any]) -> None:
    plain = origin()
    assert origin()["fingerprint"] == plain["fingerprint"]
    other = origin(**change)
    assert other["fingerprint"] != plain["fingerprint"]
    if "known" not in change:
        assert other["options"] != plain["options"]


def test_names_of_a_class_and_of_a_prior_are_kept() -> None:
    named = {"output": "dog", "names": ("cat", "dog")}
    assert origin(named)["options"]["classifier class"] == "dog"
    assert origin(named)["options"]["classifier output"] == 1
    assert origin(prior=own_prior)["options"]["generator prior"] == "function own_prior"
    assert origin(prior=partial(own_prior))["options"]["generator prior"] == "function own_prior"
    few = SurrogateSettings(latents=7)
    assert origin(surrogate=few)["options"]["surrogate latents"] == 7


class Counted(torch.nn.Module):
    """Count the pictures that go through a network at once."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module, self.most = module, 0

    def forward(self, given: Any) -> Any:
        self.most = max(self.most, len(given))
        return self.module(given)


def test_no_more_pictures_than_a_chunk_go_through_at_once() -> None:
    generator, classifier = Counted(painter().module), Counted(reader(5.0, 5.0).module)
    settings = quick(steps=2, chunk=3, held_out=8)
    discover(
        Generator(generator, LATENT), Classifier(classifier), target=meaning(0, TARGET, "patch"), directions=1,
        restarts=2, settings=settings, judging=JUDGED, strips=5, strip_pictures=7, compare=False,
    )  # fmt: skip
    assert (generator.most, classifier.most) == (3, 3)
    whole = strips_of(painter(), reader(5.0, 5.0), number=4, pictures=5, ends=(-2, 2), seed=0)
    parts = strips_of(painter(), reader(5.0, 5.0), number=4, pictures=5, ends=(-2, 2), seed=0, chunk=3)
    tint = meaning(0, BIAS, "tint")
    for one, other in zip(whole.along(tint), parts.along(tint), strict=True):
        np.testing.assert_array_equal(one.pictures, other.pictures)
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-6)


def test_a_constant_classifier_has_nothing_to_find_and_says_so() -> None:
    made = discover(
        painter(), Classifier(Constant()), target=meaning(0, TARGET, "patch"), settings=quick(), judging=JUDGED
    )
    assert made.verdict == "nothing found"
    assert "same probability" in str(made.reason)
    assert made.directions == made.methods == ()
    assert made.known[0].change == (0.0, 0.0, 0.0)
    content = made.as_json()
    assert content["reason"] == str(made.reason)
    assert content["reason_code"] == "constant_classifier"
    assert any("nothing to find" in note for note in content["notes"])


def test_a_classifier_that_sees_its_target_alone_yields_nothing() -> None:
    made = discover(
        painter(), reader(5.0, 0.0), target=meaning(0, TARGET, "patch"), directions=1, restarts=2, settings=quick(),
        judging=JUDGED, compare=False,
    )  # fmt: skip
    assert made.verdict == "nothing found"
    assert made.directions[0].judged.reason


def test_without_a_search_only_known_attributes_are_walked() -> None:
    made = discover(
        painter(), reader(5.0, 3.0), target=meaning(0, TARGET, "patch"), known=[meaning(0, BIAS, "tint")],
        settings=quick(), judging=JUDGED, search=False, strips=2,
    )  # fmt: skip
    assert made.verdict is None
    assert made.directions == made.methods == ()
    assert [one.name for one in made.known] == ["patch", "tint"]
    assert len(made.known[0].strips) == 2
    assert made.as_json()["reason"] == "no search was run"
    with pytest.raises(BadInput, match="no known attribute"):
        discover(painter(), reader(5.0, 3.0), search=False)


@pytest.mark.parametrize("guard", [None, 0.9])
def test_known_changes_agree_with_a_plain_loop(guard: float | None) -> None:
    generator, classifier, plane = painter(), reader(5.0, 3.0), meaning(0, BIAS, "tint")
    evaluator = Evaluator(generator, classifier, quick(guard=guard), JUDGED)
    drawn = strips_of(generator, classifier, number=0, pictures=3, ends=(-2, 2), seed=0)
    found = known_change(evaluator, plane, drawn)
    changes, variations, flips = [], [], []
    for latent in evaluator.latents:
        walked = [plane.project(latent[None]) + alpha * torch.tensor(plane.normal) for alpha in quick().alphas]
        p = [float(classifier.probabilities(generator.images(one))) for one in walked]
        inside = [evaluator.guard is None or bool(evaluator.guard.inside(one)) for one in walked]
        steps = [(a, b) for (a, b), (i, j) in zip(pairwise(p), pairwise(inside), strict=True) if i and j]
        changes.append(sum(b - a for a, b in steps))
        variations.append(sum(abs(b - a) for a, b in steps) / (len(p) - 1))
        flips.append(any((a >= 0.5) != (b >= 0.5) for a, b in steps))
    for name, values in (("change", changes), ("variation", variations), ("flips", flips)):
        value, low, high = getattr(found, name)
        assert value == pytest.approx(np.mean(values), abs=1e-6)
        assert low <= value <= high
        error = np.std(values) / math.sqrt(len(values))
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.2, abs=1e-9)
    assert found.strips == ()


@pytest.mark.parametrize(("low", "high", "ends"), [(0.0, 1.0, (0, 1)), (-1.0, 1.0, (-1, 1)), (0.0, 255.0, (0, 255))])
def test_black_and_white_are_those_of_the_generator(low: float, high: float, ends: tuple[float, float]) -> None:
    class Scaled(torch.nn.Module):
        def forward(self, latents: Any) -> Any:
            shade = (latents[:, :1] > 0).float() * (high - low) + low
            return shade[:, :, None, None].expand(-1, 2, 4, 4)

    class Flat(torch.nn.Module):
        def forward(self, images: Any) -> Any:
            return images.flatten(1).mean(1).sigmoid()

    generator = Generator(Scaled(), 2)
    drawn = strips_of(generator, Classifier(Flat()), number=8, pictures=2, ends=(-1, 1), seed=0)
    assert (drawn.black, drawn.white) == ends
    strip = drawn.along(Hyperplane("shade", np.array([1.0, 0.0])))[0]
    assert strip.pictures.shape == (2, 4, 4, 1)
    assert strip.pictures[0].max() == 0
    assert strip.pictures[1].min() == 255


def test_strips_of_one_picture_are_refused() -> None:
    with pytest.raises(BadInput, match="2 pictures or more"):
        strips_of(painter(), reader(1.0, 1.0), number=1, pictures=1, ends=(-1, 1), seed=0)


def test_baselines_choose_what_is_left_beside_target_and_known() -> None:
    known = [Hyperplane(f"axis {place}", np.eye(LATENT)[place]) for place in range(LATENT - 1)]
    made = discover(
        painter(), reader(5.0, 5.0), known=known, directions=1, restarts=1, settings=quick(steps=5), judging=JUDGED,
        strips=0,
    )  # fmt: skip
    axes = next(method for method in made.methods if method.method == "axes")
    assert axes.judged.name == f"axis {LATENT - 1}"
    assert axes.judged.reason == because(DiscoveryReason.NOTHING_TO_COMPARE)
    assert made.as_json()["methods"][0]["rank_among_random"] is None
