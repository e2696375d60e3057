"""The closed loop on a planted tint: held-out pictures are labelled, the gap is found, and none where there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.cohorts import Cohort
from equipoise.discovery import (
    DirectionAudit,
    Hyperplane,
    audit_direction,
    judge,
    labelled,
    random_orthogonal_directions,
    read_distances,
    search,
)
from equipoise.discovery._reading import Probe
from equipoise.foundation import BadInput, stream
from equipoise.measures import equalized_odds
from equipoise.reports import markdown
from helpers.cases.discovery import quick, reader
from helpers.cases.labelling import LATENT, PATCH, TINT, TRAINED, painted, predicted, taught, wall


@pytest.fixture(scope="module")
def probe() -> Probe:
    return taught()


@pytest.fixture(scope="module")
def faces() -> Cohort:
    return painted()


@pytest.fixture(scope="module")
def direction() -> Hyperplane:
    """What the search finds for the biased classifier, less what is left of its target in it."""
    generator, biased = wall(), reader(6.0, 4.0)
    found = search(generator, biased, target=PATCH, restarts=2, settings=quick())
    plane = judge(generator, biased, found).ranked[0].plane
    assert plane is not None
    return Hyperplane("found", plane.normal, plane.offset)


def audited(faces: Cohort, bias: float, plane: Hyperplane, probe: Probe, **more: Any) -> DirectionAudit:
    return audit_direction(faces, predicted(faces, bias), plane, probe=probe, target=PATCH, draws=500, **more)


def test_the_loop_labels_real_pictures_and_finds_the_gap_that_was_planted(
    faces: Cohort, direction: Hyperplane, probe: Probe
) -> None:
    held = labelled(faces, direction, probe=probe).where("test")
    same = float((held["found"] == held["true tint"]).mean())
    assert max(same, 1 - same) > 0.9  # either end of a direction may be the upper one
    found = audited(faces, 4.0, direction, probe)
    assert found.verdict == "gap"
    assert found.reason is None
    assert (found.rank_among_random or 200) <= 2  # of 200
    assert found.people <= 0.01
    assert found.gap > np.quantile(found.chance, 0.99)
    assert sum(found.rows.values()) == len(faces) - TRAINED
    assert all(
        contrast.low is not None and contrast.high is not None and contrast.low * contrast.high > 0
        for contrast in found.contrasts
    )
    assert "A gap is shown." in found.words


@pytest.mark.parametrize("seed", range(3))
def test_a_classifier_without_the_bias_shows_no_gap(
    seed: int, faces: Cohort, direction: Hyperplane, probe: Probe
) -> None:
    found = audited(faces, 0.0, direction, probe, seed=seed)
    assert found.verdict == "no gap shown"
    assert found.reason is not None
    assert any(word.startswith("No gap is shown") for word in found.words)


def test_gap_and_null_are_those_of_a_loop_over_directions(faces: Cohort, probe: Probe) -> None:
    few = faces.take(np.arange(TRAINED - 150, TRAINED + 150))
    said = predicted(few, 4.0)
    found = audit_direction(few, said, TINT, probe=probe, target=PATCH, null=19, draws=0, seed=7)
    others = random_orthogonal_directions(
        LATENT, 19, int(stream(7, "null of a direction's audit").integers(2**31)), [PATCH]
    )  # fmt: skip
    slow = []
    for plane in (TINT, *others):
        assert abs(plane.cosine(PATCH)) < 1e-9
        held = labelled(few, plane, probe=probe, name="side").where("test")
        slow.append(
            equalized_odds(held["patch"], said[150:], sensitive_features=held["side"], favourable="yes")
        )  # fmt: skip
    assert found.gap == pytest.approx(slow[0])
    np.testing.assert_allclose(found.chance, slow[1:])
    assert found.rank_among_random == 1 + sum(one >= slow[0] for one in slow[1:])
    assert len(found.chance) == 19
    assert np.isnan(found.people)  # without draws nothing is tested, and nothing is shown
    assert found.verdict == "no gap shown"


def aside(faces: Cohort, probe: Probe, spreads: float) -> Hyperplane:
    """Return the tint's plane, so many spreads of the training rows away from their middle."""
    train = faces["image"][faces["split"] == "train"]
    read = read_distances(train, [TINT], probe)[:, 0]
    return Hyperplane("tint", TINT.normal, float(spreads * read.std() - read.mean()))


@pytest.mark.parametrize("trained", [True, False])
def test_at_the_plane_random_ones_are_as_far_from_the_middle_of_the_training_rows(
    trained: bool, faces: Cohort, probe: Probe
) -> None:
    plane = aside(faces, probe, 1.0)
    rows = faces if trained else faces.where("test")
    said = predicted(rows, 4.0)
    found = audit_direction(rows, said, plane, probe=probe, target=PATCH, null=19, draws=0, halves="plane", seed=7)
    seed = int(stream(7, "null of a direction's audit").integers(2**31))
    others = random_orthogonal_directions(LATENT, 19, seed, [PATCH])
    read = read_distances(rows["image"], [plane, *others], probe)
    middle, held = rows["split"] == ("train" if trained else "test"), rows["split"] == "test"
    far = read[middle, 0].mean() / read[middle, 0].std()
    slow, uppers = [], []
    for index, values in enumerate(read.T):
        cut = 0.0 if index == 0 else values[middle].mean() - far * values[middle].std()
        side = np.where(values >= cut, "upper", "lower")[held]
        slow.append(
            equalized_odds(rows["patch"][held], said[held], sensitive_features=side, favourable="yes")
        )  # fmt: skip
        uppers.append((side == "upper").mean())
    assert found.gap == pytest.approx(slow[0])
    np.testing.assert_allclose(found.chance, slow[1:])
    # A plane one spread off has a sixth of the rows on its lower side, and so have those that it is held against.
    assert found.rows["lower"] == round((1 - uppers[0]) * held.sum())
    assert uppers[0] == pytest.approx(0.84, abs=0.05)
    np.testing.assert_allclose(uppers[1:], uppers[0], atol=0.06)


def test_rows_that_are_all_alike_are_refused_at_the_plane_too(faces: Cohort) -> None:
    def blind(pictures: Any) -> Any:
        return np.ones((len(pictures), LATENT))

    with pytest.raises(BadInput, match="All rows are on one side of the plane itself"):
        audit_direction(faces, predicted(faces, 0.0), TINT, encoder=blind, halves="plane")


def test_training_rows_have_no_say_but_in_the_cut(faces: Cohort, probe: Probe) -> None:
    said = predicted(faces, 4.0)
    spoilt = said.copy()
    spoilt[:TRAINED] = "yes"
    whole, changed, held = (
        audit_direction(faces, one, TINT, probe=probe, null=19, draws=50) for one in (said, spoilt, said[TRAINED:])
    )
    first, second, third = ({**found.as_json(), "provenance": None} for found in (whole, changed, held))
    assert first == second == third


def test_a_direction_that_goes_with_the_label_is_told(faces: Cohort, probe: Probe) -> None:
    found = audited(faces, 4.0, Hyperplane("mixed", PATCH.normal + TINT.normal), probe, null=19)
    assert found.association.value > 0.3
    assert found.cosines["patch"] == pytest.approx(np.sqrt(0.5))
    assert any("the direction goes with the label" in word for word in found.words)
    assert any("cosine of 0.71 to 'patch'" in word for word in found.words)


def test_thirds_classes_weights_and_json(faces: Cohort, probe: Probe) -> None:
    drawn = np.random.default_rng(0)
    weighted = replace(
        faces,
        columns={
            **faces.columns, "weight": drawn.uniform(0.5, 2, len(faces)),
            "patch": np.where(drawn.random(len(faces)) < 0.2, "perhaps", faces["patch"]),
            "said": predicted(faces, 4.0),
        },
        weight="weight", favourable=None,
    )  # fmt: skip
    found = audit_direction(weighted, "said", TINT, probe=probe, null=19, draws=200, halves="outer thirds")
    held = labelled(weighted, TINT, probe=probe, halves="outer thirds").where("test")
    kept = held.take(held["tint"] != "middle")
    assert found.rows["middle"] == len(held) - len(kept)
    gap = equalized_odds(
        kept["patch"], kept["said"], sensitive_features=kept["tint"], sample_weight=kept["weight"]
    )  # fmt: skip
    assert found.gap == pytest.approx(gap)
    assert {contrast.class_ for contrast in found.contrasts} == {"no", "perhaps", "yes"}
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["schema"] == "equipoise.direction-audit/2"
    assert len(plain["chance"]) == 19
    assert any("in the middle are left out" in word for word in plain["words"])
    assert plain["provenance"]["fingerprint"].startswith("sha256:")


def test_a_page_and_a_summary_answer_first_and_name_the_reason(faces: Cohort, probe: Probe, tmp_path: Path) -> None:
    biased, fair = (audited(faces, bias, TINT, probe, null=19) for bias in (4.0, 0.0))
    assert markdown(biased).startswith("# Does the classifier treat the two sides of tint differently?")
    assert "**The error rates differ between the two sides of tint" in markdown(biased)
    assert f"No gap is shown: {fair.reason}." in markdown(fair)
    assert fair.as_json()["reason_code"] in {"not_significant", "as_large_by_chance"}
    page = biased.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "say nothing about a person" in page
    (finding,) = biased.findings
    assert (finding.kind, finding.group) == ("gap", "tint")
    assert not fair.findings


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        ({}, {"split": "train"}, "training rows cannot be audited"),
        ({}, {"split": "dev"}, r"(?s)no split 'dev'.*available: test"),
        ({"split": None}, {}, "it is unknown which rows were held out"),
        ({}, {"null": 5}, "too few for a p of 0.05"),
        ({}, {"favourable": "maybe"}, "No held-out row is of the class 'maybe'"),
        ({"task": "regression"}, {}, "regression task"),
        ({}, {"predictions": "said"}, "no column 'said'"),
        ({}, {"predictions": np.array(["yes"] * 7)}, r"(?s)shape \[7\].*1,600 rows, or of the 800"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    change: dict[str, Any], options: dict[str, Any], words: str, faces: Cohort, probe: Probe
) -> None:
    given = {"predictions": predicted(faces, 0.0), **options}
    with pytest.raises(BadInput, match=words):
        audit_direction(replace(faces, **change), plane=TINT, probe=probe, **given)
