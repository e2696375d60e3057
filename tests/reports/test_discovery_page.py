"""The page of an investigation: whole, small, safe, and true to the numbers. test_discovery_browser opens it."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from pathlib import Path

import altair
import numpy as np
import pytest

from equipoise import reports
from equipoise.discovery._reasons import DiscoveryReason
from equipoise.foundation import BadInput, report_of
from equipoise.reports._formats import safe_name
from equipoise.reports.narrative.discovery import CAUTIONS, KNOWN_CAUTIONS, ends_of
from equipoise.results import Direction, because
from helpers.cases.investigation import (
    ALPHAS,
    AS_MUCH,
    CASES,
    NULL_HIGH,
    NULL_MEDIAN,
    found,
    investigation,
    known_only,
    many,
    shown,
)
from helpers.cases.report import HOSTILE
from helpers.page_checks import Tree, check_alone, check_charts, check_names_are_data, check_readable, check_small
from helpers.pages import Pages, check_figures

pytestmark = [pytest.mark.long, pytest.mark.once]

BARE = ("constant", "known only")
pages = Pages(CASES, reports.page, lambda made: {name: [one] for name, one in reports.charts_of(made).items()})


@pytest.mark.parametrize("name", [name for name in CASES if name not in BARE])
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@pytest.mark.parametrize("name", BARE)
def test_a_page_without_charts_has_no_library_to_draw_them(name: str) -> None:
    check_alone(pages.html(name), pages.tree(name))
    check_readable(pages.tree(name))
    data, own = pages.tree(name).all("script")
    assert "".join(data.text) == "[]"
    assert len("".join(own.text)) < 20_000


def answer(name: str) -> str:
    return next(element.words for element in pages.tree(name).elements if element.attributes.get("class") == "headline")


def test_the_answer_comes_first_in_one_sentence() -> None:
    low, high = ends_of(found().directions[0].strips) or (0, 0)
    assert answer("found") == (
        f"The classifier reacts to something beside its target: along direction 1 its probability rises from {low:.2f} "
        f"to {high:.2f} while the target stays put."
    )
    told = pages.words("found", "verdict")
    assert "No random direction of 199 changes it as much." in told
    assert "stays put (cosine 0.02 with the direction of target)" in told
    assert f"Inconclusive, and why direction 3 Not confirmed: {AS_MUCH}." in told
    assert answer("nothing") == f"No reaction was confirmed: {AS_MUCH}."
    assert "no proof that there is no bias" in pages.words("nothing", "verdict")
    assert "A longer search may find more" in pages.words("nothing", "verdict")
    assert answer("constant") == (
        "No reaction was confirmed: the classifier gives every picture the same probability: there is nothing to find."
    )
    assert answer("known only") == (
        "Of the known attributes beside the target, age changes the probability most: by −0.060 (95% interval −0.100 "
        "to −0.020). No search was made."
    )
    still = replace(known_only().known[1], change=(0.01, -0.02, 0.04))
    assert "No change along a known attribute is shown; the largest is along age, by +0.010" in reports.markdown(
        replace(known_only(), known=(still,), target=None)
    )
    for name in CASES:
        cautions = KNOWN_CAUTIONS if name == "known only" else CAUTIONS
        assert all(caution in pages.words(name, "verdict") for caution in cautions)


def test_the_answer_says_no_more_than_what_is_confirmed() -> None:
    one = found().directions[0]
    named = investigation(directions=(replace(one, judged=replace(one.judged, name="background colour")),))
    words = reports.page(named)
    assert "The classifier reacts to <bdi>background colour</bdi>: along this direction its probability rises" in words
    up_and_down = replace(one, strips=tuple(replace(s, probabilities=s.probabilities * 0 + 0.5) for s in one.strips))
    assert "changes by 0.63 in total, up and down" in reports.page(investigation(directions=(up_and_down,)))
    free = replace(one, judged=replace(one.judged, cosines={}))
    alone = reports.markdown(investigation(directions=(free,), target=None, known=()))
    assert "reacts to something: along direction 1" in alone
    assert "stays put" not in alone
    assert 'class="verdict neutral"' in reports.page(investigation(directions=(free,), target=None, known=()))
    close = shown("direction 1", strength=0.45, verdict="nothing found", rank_among_random=1, low=0.01, high=0.02,
                  reason=because(DiscoveryReason.NO_REACTION))  # fmt: skip
    assert "More fresh latents would decide it (--latents above 256)." in reports.markdown(
        investigation(directions=(close,), verdict="nothing found")
    )


def test_parts_stand_in_the_order_that_a_reader_needs() -> None:
    ids = [element.attributes["id"] for element in pages.tree("found").all("section")]
    assert ids == [
        "verdict", "directions", "direction-1", "direction-2", "direction-3", "naming", "methods", "known", "curves",
        "how", "notes", "provenance",
    ]  # fmt: skip
    assert {"methods", "known", "naming"}.isdisjoint(pages.ids("constant"))
    assert {"known", "how"} <= pages.ids("known only")
    folded = [one for one in pages.tree("found").all("details") if one.attributes.get("class") == "fold"]
    opened = [one.words.partition(":")[0] for one in folded if "open" in one.attributes]
    assert [words[:12] for words in opened[:3]] == ["Every direct", "1. direction", "2. direction"]


def test_strips_have_every_picture_with_its_probability_under_it() -> None:
    tree = pages.tree("found")
    shown = [one for one in tree.all("img") if str(one.attributes["src"]).startswith("data:image/png")]
    # Three directions from three latents, six methods and two attributes from two.
    assert len(shown) == (3 * 3 + 6 * 2 + 2 * 2) * len(ALPHAS)
    alts = [str(one.attributes["alt"]) for one in shown]
    first = found().directions[0]
    for latent, strip in enumerate(first.strips, start=1):
        for alpha, p in zip(("−2.0", "−1.3", "−0.7", "0.0", "+0.7", "+1.3", "+2.0"), strip.probabilities, strict=True):
            assert f"direction 1, latent {latent}, step {alpha}: probability {p:.2f}" in alts
    odds = [element.words for element in tree.elements if element.attributes.get("class") == "odds"]
    verdict = pages.html("found").partition('<nav class="contents"')[0]
    assert verdict.count("data:image/png") == 3 * len(ALPHAS)
    assert len(odds) == len(shown)
    assert odds[: len(ALPHAS)] == [f"{p:.2f}" for p in first.strips[0].probabilities]
    source = str(shown[0].attributes["src"])
    assert base64.b64decode(source.partition(",")[2]).startswith(b"\x89PNG")
    bars = re.findall(r'<i style="width:([\d.]+)%">', pages.html("found"))
    assert float(bars[0]) == pytest.approx(100 * first.strips[0].probabilities[0], abs=0.06)


def test_a_direction_is_told_in_words_and_numbers() -> None:
    one = found().directions[0]
    ends = ends_of(one.strips)
    assert ends is not None
    assert ends[0] == pytest.approx(np.mean([strip.probabilities[0] for strip in one.strips]))
    told = pages.words("found", "direction-1")
    assert f"The probability goes from {ends[0]:.2f} to {ends[1]:.2f}, averaged over the 3 latents shown." in told
    total = (
        "On 256 fresh latents it changes by 0.627 in total "
        f"(95% interval {19 * one.judged.low:.3f} to {19 * one.judged.high:.3f})"
    )
    assert total in told
    assert f"{one.judged.variation / NULL_MEDIAN:.1f} times as much" in told
    assert "1. direction 1: confirmed" in told
    assert "target +0.020 age −0.050" in told
    row = "direction 1 ● confirmed 0.627 0.564 to 0.690 1 of 200 97% 8.2 0.02 −0.05 age 0.033 0.030 to 0.036"
    assert f"{row} {NULL_MEDIAN:.3f} {NULL_HIGH:.3f}" in pages.words("found", "directions")
    last = pages.words("found", "direction-3")
    assert "Not confirmed: 119 of 199 random directions change it as much (rank 120 of 200)." in last
    assert "it rises for some and falls for others" in last
    assert "Not confirmed: it is made of the target and the known attributes alone." in pages.words(
        "undefined", "direction-1"
    )
    assert "direction 1 not confirmed undefined undefined" in pages.words("undefined", "directions")


def test_the_reference_is_told_of() -> None:
    one = found().directions[0]
    held = replace(one, judged=replace(one.judged, reference_change=0.031))
    told = reports.markdown(investigation(directions=(held,), reference="sound.py:net"))
    assert "The probability of the reference (sound.py:net) changes by 0.031 in total." in told


def test_every_setting_is_shown() -> None:
    told = pages.words("found", "how")
    assert "Settings of the search steps 60" in told
    assert "Settings of the measurement latents 256" in told
    assert "What was asked for directions 3 restarts 4" in told
    assert "How the classifier was read output 1 class smiles names frowns, smiles logits True" in told
    assert "What latents were drawn latent size 6 prior normal image 3, 32, 32" in told
    assert "surrogate" not in told
    assert "Settings of the surrogate latents" in pages.words("hostile", "how")


def test_a_name_can_be_written_and_the_page_says_how_it_is_kept() -> None:
    tree = pages.tree("found")
    labels = {one.attributes["for"] for one in tree.all("label")}
    inputs = {one.attributes["id"] for one in tree.all("input")}
    assert labels == inputs == {"name-1", "name-2", "name-3"}
    told = pages.words("found", "naming")
    assert "Nothing that you write on this page is kept" in told
    assert '--name "direction 1=YOUR NAME"' in told
    assert "--sheet rater1.csv --sheet rater2.csv --key sheet.key.json" in told


def test_methods_are_shown_from_the_same_latents() -> None:
    told = pages.words("found", "methods")
    for label in ("this search", "best axis", "best principal component", "Hessian penalty", "best random orthogonal"):
        assert told.count(label) >= 3  # two tables of strips, and the table of numbers
    assert "Latent 1, moved along" in told
    assert "Latent 2, moved along" in told


def test_known_attributes_have_intervals() -> None:
    told = pages.words("known only", "known")
    assert "target the target +0.810 +0.770 to +0.850 0.030 0.020 to 0.040 40.0% 30.0 to 50.0" in told
    assert "age −0.060 −0.100 to −0.020" in told
    assert known_only().notes[0] in pages.words("known only", "notes")


def test_charts_draw_what_was_judged() -> None:
    [chart] = pages.parts("found")["direction_2"]
    own, null = chart.spec["datasets"]["rows"]
    judged = found().directions[1].judged
    assert (own["value"], own["from"], own["to"]) == pytest.approx((judged.variation, judged.low, judged.high))
    assert (null["value"], null["from"], null["to"]) == (NULL_MEDIAN, NULL_MEDIAN, NULL_HIGH)
    assert "direction_1" not in pages.parts("undefined")
    rows = pages.rows("found", "methods")
    assert [row["value"] for row in rows] == pytest.approx(
        [found().directions[0].judged.variation, *(method.judged.variation for method in found().methods)], rel=1e-5
    )
    curves = found().curves
    for row in pages.rows("found", "curves"):
        assert row["loss"] == pytest.approx(curves[row["panel"], row["line"], row["step"] - 1], rel=1e-5)
    assert len(pages.rows("found", "curves")) == curves.size
    assert {row["step"] for row in pages.rows("many", "curves")} >= {1, 500}


def test_charts_keep_to_the_schema_of_vega_lite() -> None:
    pages.check_schema("grey")
    altair.Chart.from_dict(pages.parts("found")["methods"][0].spec, validate=True)


def test_names_that_try_to_run_are_only_shown() -> None:
    pages.check_harmless("hostile")
    told = pages.words("hostile", "known")
    for name in HOSTILE:
        assert " ".join(safe_name(name).split()) in told


def test_more_than_a_page_can_hold_is_cut_and_said() -> None:
    told = pages.tree("many").all("main")[0].words
    assert "Pictures are shown for the first 12 of 14 directions; the JSON has all of them." in told
    assert "Shown are the first 9 of 14 directions. Shown are the first 7 of 20 restarts." in told
    assert "of their width, to keep the page small" in told
    assert "of their width" not in pages.html("found")
    assert many().directions[0].strips[0].pictures.shape[1] == 200


def test_small_pictures_are_shown_with_sharp_pixels() -> None:
    assert 'class="strips sharp"' in pages.html("found")
    assert "image-rendering: pixelated" in pages.html("found")


def test_the_page_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    written = found().report(tmp_path / "found.html")
    tree = Tree(written.read_text(encoding="utf-8"))
    check_small(written.read_text(encoding="utf-8"), tree)
    check_names_are_data(tree.specs())
    with pytest.raises(BadInput, match="does not exist"):
        found().report(tmp_path / "nowhere" / "found.html")


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    check_charts(pages.charts("grey"))
    folder = tmp_path / "figures"
    assert check_figures(report_of("discovery").write_figures(CASES["grey"](), folder), folder) == [
        "01-direction-1-compared-with-chance.svg", "02-loss-curves.svg",
    ]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_notebook_shows_strips_and_nothing_that_runs(name: str) -> None:
    fragment = Tree(CASES[name]()._repr_html_() or "")
    assert len(CASES[name]()._repr_html_() or "") < 200_000
    assert not fragment.all("script", "style", "link", "b", "input")
    pictures = [str(one.attributes["src"]) for one in fragment.all("img")]
    assert all(source.startswith("data:image/png;base64,") for source in pictures)
    assert bool(pictures) == bool(CASES[name]().confirmed)


@pytest.mark.parametrize("name", CASES)
def test_markdown_has_the_answer_and_no_markup_of_a_stranger(name: str) -> None:
    told = reports.markdown(CASES[name]())
    assert "data:image" not in told
    assert "<img" not in told
    assert "<b>yes" not in told
    assert told.startswith("# What does ")


def test_an_investigation_is_a_result_like_any_other(tmp_path: Path) -> None:
    made = found()
    assert repr(made) == "Investigation(faces.py:smiles, 2 of 3 directions confirmed)"
    assert repr(known_only()) == "Investigation(faces.py:smiles, no search, 2 known attributes)"
    assert [record.kind for record in made.records] == ["direction"] * 3 + ["baseline"] * 5 + ["known"] * 2
    assert [finding.group for finding in made.findings] == ["direction 1", "direction 2"]
    assert [statement.direction for statement in made.statements] == [Direction.DIFFERENT] * 2 + [
        Direction.INCONCLUSIVE
    ]
    judged = made.directions[0].judged
    first = made.findings[0]
    assert (first.estimate, first.low, first.high, first.n) == (
        judged.total_change,
        judged.total_change_low,
        judged.total_change_high,
        256,
    )
    made.to_json(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8")) == json.loads(json.dumps(made.as_json()))
    assert made.to_csv().splitlines()[0].startswith("kind,method,name,verdict,reason,variation,low,high,total_change")
    assert len(made.to_csv().splitlines()) == 1 + len(made.records)
    assert made.to_dict()["direction/direction 1/total_change"] == judged.total_change
    assert made.to_dict()["known/age/change"] == -0.06
    assert "baseline/random orthogonal/variation" in made.to_dict()
    assert made.to_latex().count(r"\begin{longtable}") == 3
    assert known_only().to_latex().count(r"\begin{longtable}") == 1
    assert list(made.charts()) == ["direction_1", "direction_2", "direction_3", "methods", "curves"]
    assert made.plot.methods().to_dict()["facet"]
    assert len(made.to_frame()) == len(made.records)


def test_undefined_numbers_are_never_zero() -> None:
    assert "direction/direction 1/total_change" not in CASES["undefined"]().to_dict()
    assert CASES["undefined"]().findings[:] == ()
