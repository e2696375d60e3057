"""Hyperplanes of labelled latents: planted normals come back, right angles hold, what cannot be fitted is said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.discovery import Hyperplane, hyperplanes_from_labels, leading, recovery
from equipoise.discovery import _truth as fitting
from equipoise.discovery._truth import FittedHyperplanes
from equipoise.foundation import BadInput

pytest.importorskip("torch")
ROWS, SIZE = 800, 6


def planted(seed: int = 0) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Latents, four orthonormal normals, and attributes that follow three of them and an angle of two."""
    draws = np.random.default_rng(seed)
    z = draws.normal(size=(ROWS, SIZE))
    normals = np.linalg.qr(draws.normal(size=(SIZE, SIZE)))[0].T
    score = z @ normals.T
    noise = draws.normal(size=(ROWS, 2))
    return z, normals, {
        "size": 40 + 3 * score[:, 0] + 0.3 * noise[:, 0],
        "kind": np.where(score[:, 1] - 0.4 + 0.3 * noise[:, 1] > 0, "round", "angular").astype(object),
        "angle": np.arctan2(score[:, 3], score[:, 2]) % (2 * np.pi),
    }  # fmt: skip


@pytest.mark.parametrize("how", ["orthonormal", "regression"])
def test_planted_normals_and_offsets_come_back(how: Any) -> None:
    z, normals, attributes = planted()
    truth = hyperplanes_from_labels(z, attributes, how, circular=["angle"])
    assert [plane.name for plane in truth.hyperplanes] == ["size", "kind", "angle sine", "angle cosine"]
    for name, place in (("size", 0), ("kind", 1), ("angle sine", 3), ("angle cosine", 2)):
        assert truth[name].normal @ normals[place] > 0.97
    # Where the number is at its mean, and where both kinds are as likely.
    assert truth["size"].offset == pytest.approx(0.0, abs=0.1)
    assert truth["kind"].offset == pytest.approx(-0.4, abs=0.1)
    assert [fit.measure for fit in truth.fits] == ["R2", "AUC", "R2", "R2"]
    assert truth.fits[0].value > 0.97
    assert truth.fits[1].value > 0.97
    assert not truth.dropped
    cosines = np.array([[hyperplane.cosine(other) for other in truth.hyperplanes] for hyperplane in truth.hyperplanes])
    assert np.allclose(cosines, np.eye(4), atol=1e-9 if how == "orthonormal" else 0.2)


def test_the_order_of_attributes_bends_no_normal() -> None:
    z, _, attributes = planted(1)
    attributes["size again"] = attributes["size"] + 2 * z[:, 0]
    forwards = hyperplanes_from_labels(z, attributes, circular=["angle"])
    backwards = hyperplanes_from_labels(z, dict(reversed(attributes.items())), circular=["angle"])
    for plane in forwards.hyperplanes:
        assert plane.cosine(backwards[plane.name]) > 0.999


def test_an_orthonormal_fit_of_numbers_is_no_worse_than_any_frame_near_it() -> None:
    draws = np.random.default_rng(3)
    z = draws.normal(size=(300, 3))
    values = z @ draws.normal(size=(3, 2)) + draws.normal(size=(300, 2))
    attributes = {"a": values[:, 0], "b": values[:, 1]}
    least = {"R2": -1.0, "AUC": 0.0}
    truth = hyperplanes_from_labels(z, attributes, held_out=0.01, least=least)
    kept = np.ones(300, dtype=bool)  # what was fitted on, as good as all

    def missed(frame: np.ndarray) -> float:
        total = 0.0
        for column, normal in zip(values.T, frame, strict=True):
            score = z[kept] @ normal
            total += 1 - np.corrcoef(score, column[kept])[0, 1] ** 2
        return total

    best = missed(np.stack([plane.normal for plane in truth.hyperplanes]))
    for _ in range(300):
        moved = np.linalg.qr(
            np.stack([plane.normal for plane in truth.hyperplanes]).T + 0.3 * draws.normal(size=(3, 2))
        )[0].T
        assert missed(moved) > best - 0.01


def test_what_cannot_be_fitted_is_dropped_and_said() -> None:
    z, _, attributes = planted(2)
    attributes["coin"] = np.random.default_rng(9).random(ROWS) < 0.5
    attributes["noise"] = np.random.default_rng(8).normal(size=ROWS)
    attributes["same"] = np.full(ROWS, 7.0)
    truth = hyperplanes_from_labels(z, attributes, circular=["angle"])
    assert {fit.name for fit in truth.fits if not fit.accepted} == {"coin", "noise", "same"}
    assert any(one.startswith("coin: AUC is 0.") and "below 0.65" in one for one in truth.dropped)
    assert any(one.startswith("noise: R2 is") for one in truth.dropped)
    assert "same: it has the same value in all rows" in truth.dropped
    assert math.isnan(truth.fits[-1].value)
    with pytest.raises(BadInput, match="hyperplane 'coin' not found"):
        truth["coin"]
    alone = hyperplanes_from_labels(z, {"coin": attributes["coin"]})
    assert alone.hyperplanes == ()


def test_the_authors_fit_has_right_angles_and_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    z, normals, attributes = planted(4)
    attributes = {"kind": attributes["kind"], "size": (attributes["size"] - 40) / 3}
    truth = hyperplanes_from_labels(z, attributes, "authors", seed=5)
    assert abs(truth.hyperplanes[0].cosine(truth.hyperplanes[1])) < 1e-9
    assert truth["size"].normal @ normals[0] > 0.8
    monkeypatch.setattr(fitting, "AUTHORS_STEPS", 20)
    least = {"R2": -9.0, "AUC": 0.0}
    first, again = (hyperplanes_from_labels(z, attributes, "authors", seed=5, least=least) for _ in range(2))
    assert [plane.normal.tolist() for plane in first.hyperplanes] == [
        hyperplane.normal.tolist() for hyperplane in again.hyperplanes
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attributes": {"colour": np.array(["red", "green", "blue", ""] * 200)}}, "not finite numbers"),
        ({"attributes": {"short": np.zeros(3)}}, "a value for each of 800"),
        ({"attributes": {"angle": np.array(["n", "s"] * 400)}, "circular": ["angle"]}, "angles in radians"),
        ({"attributes": {"some": np.where(np.arange(ROWS) % 2, np.nan, 1.0)}}, "missing or not finite"),
        ({"attributes": {"some": np.where(np.arange(ROWS) % 2, np.inf, 1.0)}}, "missing or not finite"),
        ({"attributes": {"some": np.array([1.0, 2.0, 3.0, np.nan] * 200)}}, "missing or not finite"),
        ({"attributes": {"some": np.array(["yes", None] * 400, dtype=object)}}, "missing or not finite"),
        ({"attributes": {"some": np.array(["yes", np.nan] * 400, dtype=object)}}, "missing or not finite"),
        ({"attributes": {"angle": np.full(ROWS, np.nan)}, "circular": ["angle"]}, "missing or not finite"),
        ({"method": "svm"}, "fit 'svm' not found"),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"latents": np.full((ROWS, SIZE), np.nan)}, "of finite numbers"),
        ({"attributes": {f"n{at}": planted()[0][:, 0] + at for at in range(7)}}, "in 6 dimensions"),
    ],
)  # fmt: skip
def test_bad_labels_are_refused(change: dict[str, Any], words: str) -> None:
    z, _, attributes = planted()
    given_all = {"latents": z, "attributes": {"size": attributes["size"]}, **change}
    with pytest.raises(BadInput, match=words):
        hyperplanes_from_labels(**given_all)


def test_recovery_is_about_lines_and_not_their_sense() -> None:
    biased, target = Hyperplane("biased", np.array([1.0, 0, 0])), Hyperplane("target", np.array([0, 2.0, 0]))
    found = recovery(Hyperplane("found", np.array([-3.0, 4.0, 0])), biased, target)
    assert (found.biased, found.target) == (pytest.approx(0.6), pytest.approx(0.8))
    assert found.difference == pytest.approx(-0.2)


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, math.nan])] * 3), min_size=1, max_size=12))
def test_shares_of_leading_agree_with_a_plain_count(rows: list[tuple[float, ...]]) -> None:
    names = ("ours", "axes", "random")
    shares = leading({name: [row[index] for row in rows] for index, name in enumerate(names)})
    counts, settings = dict.fromkeys(names, 0.0), 0
    for row in rows:
        known = [value for value in row if not math.isnan(value)]
        if known:
            settings += 1
            first = [name for name, value in zip(names, row, strict=True) if value == max(known)]
            for name in first:
                counts[name] += 1 / len(first)
    for name in names:
        expected = counts[name] / settings if settings else math.nan
        assert shares[name] == pytest.approx(expected, nan_ok=True)


def test_methods_with_different_numbers_of_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="as many of each method"):
        leading({"one": [1.0], "other": []})


def test_a_truth_names_its_planes() -> None:
    plane = Hyperplane("a", np.array([1.0, 0.0]))
    assert FittedHyperplanes((plane,), ())["a"] is plane


def test_halves_that_are_all_but_parted_in_latents_of_little_spread_are_fitted() -> None:
    # Logistic regression gives them slopes of hundreds, which an offset has to follow when they are held down.
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(1500, 4)) * [0.05, 1.0, 0.7, 0.05] + [0.4, 0.0, 0.0, 0.0]
    attributes = {"parted": latents[:, 0] + 0.1 * latents[:, 2] > 0.45, "number": latents[:, 1] + latents[:, 3]}
    truth = hyperplanes_from_labels(latents, attributes)
    assert not truth.dropped
    assert min(fit.value for fit in truth.fits) > 0.95
