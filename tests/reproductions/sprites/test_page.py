"""The page of the benchmark on sprites: whole, small, safe, and true to the JSON."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from reproductions.sprites.reading import read_document
from reproductions.sprites.report import Sprites
from reproductions.sprites.summary import WORDS
from reproductions.sprites.words import CAUTIONS

from equipoise.foundation import BadInput, provenance, report_of
from equipoise.reports import charts_of, markdown
from equipoise.reports import page as page_of
from equipoise.reports._formats import safe_name, signed_thousandths
from helpers.cases.report import HOSTILE
from helpers.cases.sprites import CASES, chanceless, few, hostile, older, whole
from helpers.page_checks import Tree, check_alone, check_number, check_readable, check_small
from helpers.pages import Pages, check_figures

pytestmark = pytest.mark.once

FOLDER = Path(__file__).parents[3] / "docs" / "papers" / "002"
WRITTEN = ("sprites", "sprites-ablation", "sprites-ablation-0", "sprites-skew")
DOCUMENTS = CASES | {name: (lambda name=name: read_document(FOLDER / f"{name}.json")) for name in WRITTEN}


def page(made: Any) -> str:
    """Return the page of a document."""
    return page_of(Sprites.of(made))


pages = Pages(
    {name: (lambda make=make: Sprites.of(make())) for name, make in DOCUMENTS.items()},
    page_of,
    lambda result: {name: [chart] for name, chart in charts_of(result).items()},
)


@pytest.mark.parametrize("name", [name for name in pages.cases if name != "stopped"])
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


def test_a_page_of_a_run_that_did_nothing_says_so_and_runs_nothing() -> None:
    check_alone(pages.html("stopped"), pages.tree("stopped"))
    check_readable(pages.tree("stopped"))
    assert not pages.tree("stopped").specs()
    told = pages.words("stopped", "verdict")
    assert "The search, as in the paper, was not compared with chance" in told
    assert "The run was stopped: 0 of 60 triplets that were asked for are there." in told
    assert "The table of methods was not run" in pages.words("stopped", "methods")


def test_the_answer_comes_first_with_its_interval() -> None:
    told = pages.words("whole", "verdict")
    assert "The search, as in the paper, does worse than chance; its part at right angles to target and known" in told
    assert "known factors beats chance." in told
    for name in ("above_chance", "right_angled_above_chance"):
        mean, low, high = (signed_thousandths(whole()[name][end]) for end in ("mean", "low", "high"))
        assert f"its difference less that of chance is {mean} ({low} to {high}), over 30 triplets of 10" in told
    share = f"{100 * whole()['table'][2]['leading_of_paper']:.1f}%"
    assert f"this one leads most often: search, as in the paper, in {share} of triplets." in told
    assert "Where the classifiers took the planted bias up (a gap of 0.1 or more; 10 triplets)" in told


def test_an_interval_around_0_is_not_distinguished_from_chance() -> None:
    made = whole()
    made["above_chance"] |= {"mean": 0.01, "low": -0.02, "high": 0.04, "works": False}
    told = Tree(page(made)).by_id("verdict").words
    assert "The search, as in the paper, is not distinguishable from chance" in told
    assert "includes 0" in told
    confirmed, _, inconclusive = told.partition("Inconclusive, and why")
    assert "The search, as in the paper: its difference less that of chance" in inconclusive
    assert "Its part at right angles to target and known factors: its difference" in confirmed


def test_without_an_interval_or_chance_nothing_is_claimed() -> None:
    told = pages.words("few", "verdict")
    assert told.count("has no interval, so its comparison with chance is inconclusive") == 2
    assert told.count("With fewer than 5 generators there is no interval.") == 2
    assert "The run was stopped: 9 of 40 triplets" in told
    assert few()["above_chance"]["low"] is None
    assert '"part">above 0' in pages.html("whole")
    assert '"part">above 0' not in pages.html("few")
    assert "to 0.000" not in pages.tree("few").all("main")[0].words
    assert chanceless()["above_chance"]["mean"] is None
    told = pages.words("chanceless", "verdict")
    assert told.count("not compared with chance in this document") == 2
    assert "Search less chance undefined" in told


def test_parts_stand_in_the_order_that_a_reader_needs() -> None:
    wanted = [
        "verdict", "methods", "chance", "ablation", "known", "skew", "classifiers", "generators", "words", "how",
        "cautions", "provenance",
    ]  # fmt: skip
    for name in pages.cases:
        # Notes say what signs mean, where there are any.
        noted = [*wanted[:-1], "notes", wanted[-1]] if "Signs: " in pages.html(name) else wanted
        assert [one.attributes["id"] for one in pages.tree(name).all("section")] == noted
        tags = [one.tag for one in pages.tree(name).all("figure", "table")]
        assert name == "stopped" or tags[0] == "figure"


@pages.every
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    made = DOCUMENTS[name]()
    shown = pointers(pages.tree(name))
    for pointer, words in shown:
        check_number(words, at(made, pointer), whole=100 if words.endswith("%") else 1)
    assert len(shown) > 50 or name == "stopped"


def test_no_number_of_the_tables_is_missing() -> None:
    shown = {pointer for pointer, _ in pointers(pages.tree("whole"))}
    made = whole()
    for part in ("table", "by_kind", "by_gap", "by_fit", "by_biased", "by_target", "ablation", "known", "skew"):
        assert made[part]
        for pointer in numbers(made[part], f"/{part}"):
            # Sizes stand beside the row that they are the sizes of, deviations in tables like the paper's.
            inside = re.search(
                r"/(above_chance|right_angled_above_chance|step|less_even)/(triplets|generators)$", pointer
            )
            column = re.search(r"/(known|agreement|deviation)$|/gap/|^/ablation/./leading_of_paper", pointer)
            assert inside or column or pointer in shown, pointer
    for part, ending in (("table", "difference/deviation"), ("classifiers", "gap"), ("generators", "fits/1/value")):
        assert f"/{part}/1/{ending}" in shown


def test_undefined_is_never_0() -> None:
    made = whole()
    made["table"][2]["difference"] |= {"mean": None, "low": None, "high": None}
    made["classifiers"][0]["gap"] = None
    made["counts"]["unfitted"] = None
    tree = Tree(page(made))
    shown = {pointer for pointer, _ in pointers(tree)}
    assert shown.isdisjoint({"/table/2/difference/mean", "/classifiers/0/gap", "/counts/unfitted"})
    assert "undefined" in tree.by_id("methods").words
    assert "Unfitted undefined" in tree.by_id("verdict").words
    assert "undefined no plane: too few sprites" in pages.words("whole", "generators")


def test_what_was_not_run_is_said() -> None:
    assert "The ablation was not run" in pages.words("few", "ablation")
    assert "The search with fewer known factors was not run" in pages.words("few", "known")
    assert "A skewed generator was not run" in pages.words("few", "skew")
    assert "was not run" not in pages.tree("whole").all("main")[0].words
    assert "not among them" in pages.words("whole", "methods")


def test_rows_of_the_skew_may_be_old_or_new() -> None:
    new, old = pages.words("whole", "skew"), pages.words("older", "skew")
    assert "0.5 (no skew)" in new
    assert "At right angles, less chance" in new
    assert "less the even generator" in new
    assert "the even ones" in new
    assert "less the even generator" not in old
    assert "At right angles, less chance" not in old
    assert older()["skew"][1]["difference"]["mean"] == whole()["skew"][1]["difference"]["mean"]
    # What an old document does not explain is explained by us.
    assert WORDS["less_even"] in pages.words("older", "words")


def test_words_settings_and_provenance_are_there() -> None:
    told = pages.words("whole", "words")
    assert all(words in told for words in WORDS.values())
    how = pages.words("whole", "how")
    assert "Settings: Search steps 200 alphas 3 from -2 to 2" in how
    assert "Settings: Classifiers steps 4000 agreement 0.9" in how
    foot = pages.words("whole", "provenance")
    for words in ("device cuda", "graphics NVIDIA H200", "jobs 6", "parts table", "torch 2.11.0",
                  "seconds classifiers 43.5, in all 505.0"):  # fmt: skip
        assert words in foot
    assert "at a time that was not noted, on a machine not noted" in foot
    assert all(caution in pages.words("whole", "cautions") for caution in CAUTIONS)


def test_when_and_by_what_it_was_made_is_said_where_the_document_says_it() -> None:
    origin = provenance(fingerprint="sha256:12", command=["python", "benchmark.py", "--jobs", "6"])
    tree = Tree(page(whole() | {"provenance": origin}))
    foot = tree.by_id("provenance").words
    assert "python benchmark.py --jobs 6" in foot
    assert "sha256:12" in foot
    assert f"{origin['created']}, on {origin['platform']}" in foot
    assert f"equipoise (the run) {origin['equipoise']}" in foot
    assert f"Made {str(origin['created'])[:10]} by equipoise" in tree.all("header")[0].words
    hostile = page(whole() | {"provenance": {"command": "<script>\x1b[31m</script>" + "x" * 9_000}})
    assert "<script>\x1b" not in hostile
    assert "\x1b" not in hostile
    assert "x" * 2_000 not in hostile


def test_charts_draw_what_the_document_says() -> None:
    made = whole()
    rows = pages.rows("whole", "difference by method")
    for row, one in zip(rows, made["table"], strict=True):
        found = one["difference"]
        assert (row["value"], row["from"], row["to"]) == pytest.approx(
            (found["mean"], found["low"], found["high"]), rel=1e-5
        )
    rows = pages.rows("whole", "above chance")
    assert rows[0]["value"] == pytest.approx(made["above_chance"]["mean"], rel=1e-5)
    assert (rows[0]["what"], rows[1]["what"]) == ("below chance", "above chance")
    groups = sum(len(made[part]) for part in ("by_gap", "by_fit", "by_kind", "known", "skew"))
    assert len(rows) == 2 * (1 + groups)
    assert {row["what"] for row in pages.rows("few", "above chance")} == {"no interval"}
    pages.check_schema("whole", "few", "hostile")


def test_names_that_try_to_run_are_only_shown() -> None:
    pages.check_harmless("hostile")
    told = pages.words("hostile", "generators")
    for name in HOSTILE[:4]:
        assert " ".join(safe_name(name).split()) in told
    assert hostile()["torch"] not in pages.html("hostile")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"), ("[]", "is a list"), ('{"schema": "equipoise.audit/1"}', "schema 'equipoise.audit/1'"),
        ('{"schema": "equipoise.benchmark.sprites/2"}', "sprites/2"), ("{}", "schema None"), ('{"a": NaN}', "NaN"),
        ('{"schema": "equipoise.benchmark.sprites/1"}', "has no settings and no counts"),
        ("[" * 100_000, "is not JSON"),
    ],
)  # fmt: skip
def test_what_is_no_such_document_is_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "sprites.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        read_document(file)
    assert said in refused.value.given
    assert "benchmark --json" in refused.value.available
    assert refused.value.help
    with pytest.raises(BadInput, match="could not be read"):
        read_document(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("/table", 3, "/table .* is not a list"), ("/table", [3], "not a list of tables"),
        ("/table/0/method", 3, "/table/0/method .* is not text"), ("/table/0/biased/mean", "1", "is not a number"),
        ("/above_chance", [], "is not a table"), ("/counts/scored", 1.5, "is not a whole number"),
        ("/settings/score/search/alphas", ["a"], "is not a number"), ("/by_gap/0/gap", {}, "is not a list"),
    ],
)  # fmt: skip
def test_an_entry_of_another_kind_is_refused_by_its_place(path: str, value: Any, said: str) -> None:
    made = whole()
    above, _, name = path.rpartition("/")
    at(made, above)[name] = value
    with pytest.raises(BadInput, match=said):
        page(made)


def test_the_document_of_the_paper_page_says_what_that_page_says() -> None:
    told = pages.words("sprites", "verdict")
    assert "does worse than chance; its part at right angles to target and known factors beats chance." in told
    assert "−0.088 (−0.126 to −0.047), over 300 triplets of 15 generators" in told
    assert "+0.100 (+0.072 to +0.130), over 300 triplets of 15 generators" in told
    assert "is not distinguishable from chance" in pages.words("sprites-skew", "verdict")
    assert "was not run" not in pages.words("sprites-ablation", "ablation")


def test_the_page_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    text = Sprites.of(whole()).report(tmp_path / "page.html").read_text(encoding="utf-8")
    check_small(text, Tree(text))
    assert text == pages.html("whole")
    with pytest.raises(BadInput, match="does not exist"):
        Sprites.of(whole()).report(tmp_path / "nowhere" / "page.html")
    with pytest.raises(BadInput, match="schema"):
        Sprites.of({})
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_every_medium_has_the_answer() -> None:
    result = Sprites.of(whole())
    answer = "The search, as in the paper, does worse than chance"
    assert answer in markdown(result)
    assert answer in str(result._repr_html_())
    assert answer in repr(result)
    assert result.as_json() == whole()


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    report = report_of("benchmark_sprites")
    assert check_figures(report.write_figures(Sprites.of(whole()), folder), folder) == [
        "01-difference-by-method.svg", "02-above-chance.svg",
    ]  # fmt: skip


def pointers(tree: Tree) -> list[tuple[str, str]]:
    """Return every number on a page as it is shown, after the JSON pointer that its attributes make."""
    found = []
    for element in tree.elements:
        if "data-f" in element.attributes:
            part, place, field = (str(element.attributes.get(name)) for name in ("data-list", "data-r", "data-f"))
            single = part in ("counts", "above_chance", "right_angled_above_chance")
            found.append((f"/{part}/{field}" if single else f"/{part}/{place}/{field}", element.words))
    return found


def at(made: Any, pointer: str) -> Any:
    """Return what stands at a JSON pointer."""
    return reduce(lambda part, key: part[int(key) if isinstance(part, list) else key], pointer.split("/")[1:], made)


def numbers(part: Any, pointer: str) -> list[str]:
    """Return the pointers of all numbers in a part of a document."""
    if isinstance(part, dict | list):
        items = part.items() if isinstance(part, dict) else enumerate(part)
        return [found for key, value in items for found in numbers(value, f"{pointer}/{key}")]
    return [pointer] if isinstance(part, int | float) and not isinstance(part, bool) else []
