"""The page of an investigation: whole, small, safe, and true to the numbers. test_discovery_browser opens it."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import altair
import numpy as np
import pytest

from equipoise.foundation.errors import BadInput
from equipoise.reports.discovery_page import charts_of, page, write_figures, write_page
from equipoise.reports.discovery_words import CAUTIONS, ends_of
from equipoise.reports.formats import safe_name
from investigation_cases import ALPHAS, CASES, NULL_HIGH, NULL_MEDIAN, found, known_only, many
from page_checks import Tree, check_alone, check_charts, check_names_are_data, check_readable, check_small
from pages import Pages, check_figures
from report_cases import HOSTILE

pytestmark = pytest.mark.once

BARE = ("constant", "known only")
pages = Pages(CASES, page, charts_of)


@pytest.mark.parametrize("name", [name for name in CASES if name not in BARE])
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@pytest.mark.parametrize("name", BARE)
def test_a_page_without_charts_runs_nothing(name: str) -> None:
    check_alone(pages.html(name), pages.tree(name))
    check_readable(pages.tree(name))
    assert not pages.tree(name).all("script")


def test_the_answer_comes_first_in_one_sentence() -> None:
    assert "Found 2 directions, of 3 looked for" in pages.words("found", "verdict")
    assert "Nothing found: random directions change it as much (p = 0.6)." in pages.words("nothing", "verdict")
    assert "not proof of no bias" in pages.words("nothing", "verdict")
    assert "Nothing found: the classifier gives every picture the same" in pages.words("constant", "verdict")
    assert "No search was asked for" in pages.words("known only", "verdict")
    for name in CASES:
        assert all(caution in pages.words(name, "cautions") for caution in CAUTIONS)


def test_parts_stand_in_the_order_that_a_reader_needs() -> None:
    ids = [element.attributes["id"] for element in pages.tree("found").all("section")]
    assert ids == [
        "verdict", "direction-1", "direction-2", "direction-3", "naming", "methods", "curves", "known", "how",
        "cautions", "provenance",
    ]  # fmt: skip
    assert {"methods", "known", "naming"}.isdisjoint(pages.ids("constant"))
    assert {"known", "how"} <= pages.ids("known only")


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
    odds = [one.words for one in tree.elements if one.attributes.get("class") == "odds"]
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
    assert f"the probability goes from {ends[0]:.2f} to {ends[1]:.2f} on average, over the 3 latents shown" in told
    assert (
        f"On 256 fresh latents it goes a way of 0.627 ({19 * one.judged.low:.3f} to {19 * one.judged.high:.3f})" in told
    )
    assert f"{one.judged.variation / NULL_MEDIAN:.1f} times" in told
    assert "◆ found" in told
    assert f"{NULL_MEDIAN:.3f}" in told
    assert f"{NULL_HIGH:.3f}" in told
    assert "target +0.020 age −0.050" in told
    last = pages.words("found", "direction-3")
    assert "It does not stand: random directions change it as much." in last
    assert "rises for some where it falls for others" in last
    assert "It does not stand: it is made of the target alone." in pages.words("undefined", "direction-1")


def test_every_setting_is_shown() -> None:
    told = pages.words("found", "how")
    assert "Settings of the search steps 60" in told
    assert "Settings of the judging latents 256" in told
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
    assert "is not kept" in told
    assert "--sheet rater1.csv --sheet rater2.csv --key sheet.key.json" in told


def test_methods_are_shown_from_the_same_latents() -> None:
    told = pages.words("found", "methods")
    for label in ("this search", "best axis", "best principal component", "Hessian penalty", "best random orthogonal"):
        assert told.count(label) >= 3  # two tables of strips, and the table of numbers
    assert "Latent 1, walked along" in told
    assert "Latent 2, walked along" in told


def test_known_attributes_have_intervals() -> None:
    told = pages.words("known only", "known")
    assert "target the target +0.810 +0.770 to +0.850 0.030 0.020 to 0.040 40.0% 30.0 to 50.0" in told
    assert "age −0.060 −0.100 to −0.020" in told
    assert known_only().notes[0] in pages.words("known only", "how")


def test_charts_draw_what_was_judged() -> None:
    [chart] = pages.parts("found")["direction 2"]
    own, null = chart.spec["datasets"]["rows"]
    judged = found().directions[1].judged
    assert (own["value"], own["from"], own["to"]) == pytest.approx((judged.variation, judged.low, judged.high))
    assert (null["value"], null["from"], null["to"]) == (NULL_MEDIAN, NULL_MEDIAN, NULL_HIGH)
    assert pages.parts("undefined")["direction 1"] == []
    rows = pages.rows("found", "methods")
    assert [row["value"] for row in rows] == pytest.approx(
        [found().directions[0].judged.variation, *(one.judged.variation for one in found().methods)], rel=1e-5
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
    assert "The first 12 of 14 directions; all of them are in the JSON." in told
    assert "Shown are the first 9 of 14 directions. Shown are the first 7 of 20 restarts." in told
    assert "of their width, to keep the page small" in told
    assert "of their width" not in pages.html("found")
    assert many().directions[0].strips[0].pictures.shape[1] == 200


def test_small_pictures_are_shown_with_sharp_pixels() -> None:
    assert 'class="strips sharp"' in pages.html("found")
    assert "image-rendering: pixelated" in pages.html("found")


def test_the_page_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    written = write_page(found(), tmp_path / "found.html")
    tree = Tree(written.read_text(encoding="utf-8"))
    check_small(written.read_text(encoding="utf-8"), tree)
    check_names_are_data(tree.specs())
    with pytest.raises(BadInput, match="does not exist"):
        write_page(found(), tmp_path / "nowhere" / "found.html")


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    check_charts(pages.charts("grey"))
    folder = tmp_path / "figures"
    assert check_figures(write_figures(CASES["grey"](), folder), folder) == [
        "01-direction-1-against-chance.svg", "02-loss-curves.svg",
    ]  # fmt: skip
