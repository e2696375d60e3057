"""Planes of factors, and scores of methods where the truth is planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproductions.sprites.methods import METHODS, PARTS
from reproductions.sprites.planes import GeneratorPlanes, fitted_planes, load_planes, save_planes
from reproductions.sprites.scoring import ScoreSettings, scored
from reproductions.sprites.triplets import Pair

from equipoise.cohorts import codes_of_cells
from equipoise.cohorts.pictures import SPRITE_FACTORS
from equipoise.discovery import Classifier, Fit, FitReason
from equipoise.discovery.generative import VAESettings
from equipoise.foundation import BadInput
from equipoise.results import because
from helpers.cases.discovery import BIAS, LATENT, TARGET, Constant, meaning, painter, quick, reader

PLACES = {"x": TARGET, "y": BIAS, "shape": 2, "scale": 3, "orientation sine": 4, "orientation cosine": 5}
PAIR = Pair("x", "y")
VAGUE = because(FitReason.LOW, measure="AUC", value=0.6, least=0.65)


def planes(*, without: str = "", calm: bool = True) -> GeneratorPlanes:
    """Return the true planes of the painter: its patch is called x and its tint y."""
    kept = tuple(meaning(0, place, name) for name, place in PLACES.items() if name != without)
    fits = tuple(Fit(name, "AUC", 0.9, VAGUE if name == without else None) for name in PLACES)
    return GeneratorPlanes(kept, fits, tuple(meaning(0, place, f"calm {place}") for place in range(6)) if calm else ())


def settings(**more: Any) -> ScoreSettings:
    return ScoreSettings(**{"search": quick(0), "restarts": 1, "draws": 200, "latents": 16, **more})


class Encoded:
    """Stands in for a VAE whose means say scale and x, y and the angle of each sprite, and nothing of its shape."""

    settings = VAESettings(latent_size=8)

    def encode(self, sprites: Any) -> Any:
        codes = codes_of_cells(sprites.cells, SPRITE_FACTORS)
        angle = SPRITE_FACTORS[2].each(codes["orientation"])
        draws = np.random.default_rng(0)
        columns = [codes["scale"] / 3, codes["x"] / 16, codes["y"] / 16, np.sin(angle), np.cos(angle)]
        return np.column_stack([*columns, *draws.normal(size=(3, len(angle)))])


def test_planes_of_factors_are_found_and_what_cannot_be_seen_is_dropped() -> None:
    made = fitted_planes(Encoded(), rows=3_000, calm_steps=0)  # type: ignore[arg-type]
    assert [plane.name for plane in made.planes] == ["scale", "orientation sine", "orientation cosine", "x", "y"]
    for index, plane in enumerate((made.half("scale"), made.half("x"), made.half("y"), made.half("orientation"))):
        assert plane is not None
        assert abs(plane.normal[index]) > 0.95
    assert "shape: AUC is 0.5" in made.unfitted(Pair("shape", "x"))
    assert made.unfitted(Pair("x", "shape")) == made.unfitted(Pair("shape", "y"))
    assert made.unfitted(Pair("x", "y")) == ""
    every = fitted_planes(Encoded(), rows=3_000, calm_steps=0, least={"R2": -1.0, "AUC": 0.0})  # type: ignore[arg-type]
    assert every.unfitted(Pair("shape", "x")) == ""
    assert len(every.planes) == 6


def test_what_a_search_stays_away_from_is_all_but_the_biased_factor() -> None:
    made = planes()
    assert [one.name for one in made.known(PAIR, ["orientation", "shape"])] == [
        "orientation sine", "orientation cosine", "shape",
    ]  # fmt: skip
    # The other part of an angle belongs to the target, never to what is to be found.
    assert [one.name for one in made.known(Pair("orientation", "x"), ["y"])] == ["orientation cosine", "y"]
    assert made.known(Pair("x", "orientation"), []) == ()


def test_planes_come_back_from_their_file_and_other_settings_are_refused(tmp_path: Path) -> None:
    file, asked = tmp_path / "planes.json", {"rows": 3}
    made = planes(without="shape")
    save_planes(file, made, asked)
    again = load_planes(file, asked)
    assert again.fits == made.fits
    for one, other in zip((*again.planes, *again.calm), (*made.planes, *made.calm), strict=True):
        assert one.name == other.name
        assert one.cosine(other) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(BadInput, match="another folder"):
        load_planes(file, {"rows": 4})


def test_the_search_finds_what_was_planted_and_every_method_has_its_scores() -> None:
    methods = tuple(METHODS)
    found = scored(painter(), reader(6.0, 4.0), planes(), PAIR, "a generator", methods, settings())["methods"]
    assert set(found) == set(METHODS) == {method for part in PARTS.values() for method in part}
    assert found["ours"]["biased"] > 0.9
    assert found["ours"]["target"] < 0.35
    assert found["right_angled"]["target"] == pytest.approx(0.0, abs=1e-9)
    assert found["right_angled"]["biased"] == pytest.approx(1.0)  # one direction is left
    assert found["known_3"] == found["ours"]
    assert [len(found[f"known_{number}"]["known"]) for number in range(4)] == [0, 1, 2, 3]
    # The classifier looks at the patch most: without the penalty a search goes there.
    assert found["without_orthogonality"]["difference"] < 0 < found["ours"]["difference"]
    assert found["hessian"]["chosen"] == f"calm {TARGET}"
    assert found["hessian"]["difference"] == pytest.approx(-1.0)
    assert found["axis"]["chosen"].startswith("axis ")
    # One direction is left beside target and known ones: chance finds it too.
    assert found["random_orthogonal"]["difference"] == pytest.approx(1.0)
    for one in found.values():
        assert one["difference"] == pytest.approx(one["biased"] - one["target"])


def test_chance_is_that_of_directions_in_the_space_that_is_left() -> None:
    found = scored(painter(), reader(6.0, 4.0), planes(), PAIR, "g", ("random", "known_0"), settings(draws=20_000))
    drawn = np.random.default_rng(5).normal(size=(20_000, LATENT))
    expected = np.abs(drawn[:, 0] / np.linalg.norm(drawn, axis=1)).mean()
    assert found["methods"]["random"]["biased"] == pytest.approx(expected, abs=0.01)
    assert found["methods"]["random"]["difference"] == pytest.approx(0.0, abs=0.01)
    left = np.abs(drawn[:, 0] / np.linalg.norm(drawn[:, :5], axis=1)).mean()
    assert found["methods"]["known_0"]["chance"] == pytest.approx(left, abs=0.01)


def test_a_factor_without_a_plane_leaves_the_triplet_unscored_or_is_not_known() -> None:
    lost = scored(painter(), reader(6.0, 4.0), planes(without="y"), PAIR, "g", ("ours",), settings())
    assert lost == {"unfitted": "y: AUC is 0.60 on held-out rows, below 0.65", "methods": {}}
    wanted = ("ours", "known_2", "known_3", "hessian")
    fewer = scored(
        painter(), reader(6.0, 4.0), planes(without="shape", calm=False), PAIR, "g", wanted, settings()
    )  # fmt: skip
    assert sorted(fewer["methods"]["ours"]["known"]) == ["orientation", "scale"]
    assert fewer["methods"]["known_2"] == fewer["methods"]["ours"]
    assert fewer["methods"]["known_3"] is None
    assert fewer["methods"]["hessian"] is None


def test_what_was_done_before_is_taken_over() -> None:
    done = {"ours": {"difference": 7.0}}
    found = scored(painter(), reader(6.0, 4.0), planes(), PAIR, "g", ("ours", "known_3", "random"), settings(), done)
    assert found["methods"]["ours"] == found["methods"]["known_3"] == {"difference": 7.0}
    assert done == {"ours": {"difference": 7.0}}


def test_a_classifier_that_says_nothing_has_no_score_and_says_why() -> None:
    found = scored(painter(), Classifier(Constant()), planes(), PAIR, "g", ("ours",), settings())
    assert found["methods"]["ours"]["difference"] is None
    assert "same probability" in found["methods"]["ours"]["reason"]


def test_other_methods_and_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="pca"):
        scored(painter(), reader(6.0, 4.0), planes(), PAIR, "g", ("pca",), settings())
    with pytest.raises(BadInput, match="restarts"):
        ScoreSettings(restarts=0)
