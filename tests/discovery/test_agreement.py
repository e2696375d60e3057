"""Agreement of raters, against slow loops over pairs and against chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.discovery import Agreement, Hyperplane, agree
from equipoise.discovery._agreement import BLANK, fleiss_kappa, same_share
from equipoise.discovery._naming import Coded, Named
from equipoise.discovery._reasons import AgreementReason
from equipoise.foundation import BadInput
from equipoise.reports import markdown, page

PLANE = (Hyperplane("x", np.ones(2)),)
METHODS = ("search", "search", "search", "axes", "random", "random orthogonal")
KEY = {
    code: Coded(f"direction {index + 1}" if method == "search" else method, method, "found", PLANE)
    for index, (code, method) in enumerate(zip("ABCDEF", METHODS, strict=True))
}
ANSWERS = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=st.integers(BLANK, 3))


def held(*raters: Sequence[str], confidence: int | None = 3) -> Agreement:
    """Compare raters who wrote these names beside A, B, C..."""
    return agree(
        KEY, [{code: Named(name, confidence) for code, name in zip(KEY, rater, strict=False)} for rater in raters]
    )


def words_of(found: Agreement) -> str:
    return " ".join(markdown(found).split())


def slow_same(answers: np.ndarray) -> float:
    """Go through every pair of raters for every direction."""
    same = pairs = 0
    for direction in range(answers.shape[1]):
        for one, other in itertools.combinations(range(len(answers)), 2):
            names = answers[one, direction], answers[other, direction]
            if BLANK not in names:
                pairs += 1
                same += int(names[0] == names[1])
    return same / pairs if pairs else math.nan


def slow_kappa(answers: np.ndarray) -> float:
    """Count pairs, and how often two names drawn from all names (each changes with every picture) would be the same."""
    names = []
    for direction in range(answers.shape[1]):
        own = [int(name) for name in answers[:, direction] if name != BLANK]
        names += own if len(own) > 1 else []
    if len(set(names)) < 2:
        return math.nan
    expected = sum(name == other for name in names for other in names) / len(names) ** 2
    return (slow_same(answers) - expected) / (1 - expected)


@given(ANSWERS)
def test_the_share_and_kappa_are_those_of_slow_loops(answers: np.ndarray) -> None:
    assert same_share(answers) == pytest.approx(slow_same(answers), nan_ok=True)
    assert fleiss_kappa(answers) == pytest.approx(slow_kappa(answers), nan_ok=True)


def test_kappa_is_that_of_fleiss_own_example() -> None:
    """The ten subjects with fourteen raters and five categories of the usual worked example: kappa is 0.210."""
    table = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    answers = np.array([np.repeat(np.arange(5), counts) for counts in table]).T
    assert fleiss_kappa(answers) == pytest.approx(0.20993, abs=1e-5)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_neither_the_order_of_raters_nor_that_of_directions_matters(answers: np.ndarray, random: object) -> None:
    rows, columns = list(range(answers.shape[0])), list(range(answers.shape[1]))
    random.shuffle(rows)  # type: ignore[attr-defined]
    random.shuffle(columns)  # type: ignore[attr-defined]
    other = answers[rows][:, columns]
    assert same_share(other) == pytest.approx(same_share(answers), nan_ok=True)
    assert fleiss_kappa(other) == pytest.approx(fleiss_kappa(answers), nan_ok=True)
    named = np.where(answers == BLANK, BLANK, 7 - answers)
    assert fleiss_kappa(named) == pytest.approx(fleiss_kappa(answers), nan_ok=True)


def test_raters_who_say_the_same_agree_beyond_chance() -> None:
    names = ["beard", "age", "smile", "hat", "tint", "size"]
    found = held(names, [name.upper() + "s" for name in names], names)
    assert (found.same, found.kappa) == (1.0, 1.0)
    assert found.chance < 0.4
    assert found.p < 0.01
    assert found.beyond_chance
    assert [winner.name for winner in found.winners[:3]] == ["beard", "age", "smile"]
    assert all(winner.agreed and winner.pairs == 1 and winner.share == 1 for winner in found.winners)
    told = words_of(found)
    assert "100% of the pairs that both gave a name gave the same one" in told
    assert "shows “beard” (3 of 3 raters)" in told
    assert "Raters also agree on a random direction" in told


def test_a_rater_who_calls_everything_the_same_agrees_by_habit() -> None:
    found = held(["smile"] * 6, ["smile"] * 6)
    assert found.same == 1
    assert math.isnan(found.kappa)
    assert found.reason is not None
    assert found.reason.code == AgreementReason.ONE_NAME
    assert found.as_json()["reason_code"] == "one_name"
    assert found.p == 1
    assert not found.beyond_chance
    assert "No name is confirmed: raters do not agree significantly more than by chance" in words_of(found)
    assert "Raters agree that" not in words_of(found)
    assert found.findings[:] == ()


def test_no_agreement_is_an_answer() -> None:
    found = held(["a", "b", "c", "d", "e", "f"], ["g", "h", "i", "j", "k", "l"], ["m", "n", "o", "p", "q", "r"])
    assert found.same == 0
    assert found.kappa < 0
    assert found.p == 1
    assert not any(winner.agreed for winner in found.winners)
    assert "**direction 1**: No agreement: no name has more than 1 of 3 raters." in words_of(found)
    assert "raters agreed on a name for 0" in words_of(found)


def test_blanks_are_no_names_and_count_against_a_majority() -> None:
    found = held(["glasses", "", "smile"], ["glasses", "", ""], ["", "", ""], ["beard", "", ""])
    first, second, third = found.winners[:3]
    assert (first.name, first.votes, first.named, first.agreed) == ("glasses", 2, 3, False)
    assert first.pairs == pytest.approx(1 / 3)
    assert (second.name, second.named, second.agreed) == (None, 0, False)
    assert math.isnan(second.pairs)
    assert (third.votes, third.agreed) == (1, False)
    assert "**direction 2**: Nobody named it." in words_of(found)
    assert "No agreement: the most usual name, “glasses”, has 2 of 4 raters." in words_of(found)
    assert found.blanks == 4 * 6 - 4
    assert found.same == pytest.approx(1 / 3)


def test_the_most_usual_spelling_wins_and_a_tie_does_not() -> None:
    found = held(["Glasses", "a"], ["glass", "b"], ["glasses", "b"], ["glasses", "a"])
    assert found.winners[0].name == "glasses"
    assert found.winners[0].votes == 4
    assert (found.winners[1].name, found.winners[1].votes) == (None, 2)


def test_confidence_is_that_of_those_who_gave_the_name() -> None:
    sheets = [{"A": Named("glasses", 5)}, {"A": Named("glasses", 2)}, {"A": Named("beard", 1)}, {"A": Named("glass")}]
    found = agree(KEY, sheets)
    assert found.winners[0].confidence == 3.5
    assert math.isnan(held(["x"], confidence=None).winners[0].confidence)


def test_one_rater_has_names_but_no_agreement() -> None:
    found = held(["glasses", "age", ""])
    assert math.isnan(found.same)
    assert math.isnan(found.p)
    assert "Agreement is inconclusive: one rater cannot agree with another." in words_of(found)
    assert found.winners[0].agreed
    assert not found.winners[2].agreed
    plain = found.as_json()
    assert plain["kappa"] is None
    assert plain["same"] is None
    with pytest.raises(BadInput, match="No filled-in sheet"):
        agree(KEY, [])


def test_raters_who_named_other_directions_cannot_be_compared() -> None:
    found = held(["glasses", ""], ["", "age"])
    assert str(found.reason) == "no two raters named the same direction"
    assert "Agreement is inconclusive" in words_of(found)


def test_p_is_that_of_all_deals() -> None:
    """Two raters, three strips, other names each: of the 6 deals one agrees on all, so p is near 1 / 6."""
    key = {code: KEY[code] for code in "ABC"}
    sheets = [{"A": Named("x"), "B": Named("y"), "C": Named("z")}] * 2
    found = agree(key, sheets)
    assert found.p == pytest.approx(1 / 6, abs=0.03)
    assert agree(key, sheets).p == found.p
    assert "No other directions were among the strips" in words_of(found)


def test_directions_stand_in_their_own_order() -> None:
    key = {code: Coded(name, "search", "found", PLANE) for code, name in (("A", "direction 10"), ("B", "direction 2"))}
    assert [winner.direction for winner in agree(key, [{}]).winners] == ["direction 2", "direction 10"]


def test_an_agreement_is_a_result_like_any_other() -> None:
    found = held(("beard", "age", "hat"), ("beard", "age", "cap"), ("beard", "age", "glasses"))
    assert repr(found) == "Agreement(3 raters, 2 of 3 directions with a name)"
    assert [finding.label for finding in found.findings if finding.kind == "name"] == (
        ["beard", "age"] if found.p <= 0.05 else []
    )
    assert len(found.records) == len(KEY)
    assert found.to_dict()["search/direction 1/votes"] == 3
    assert found.as_json()["schema"] == "equipoise.agreement/1"
    assert len(found.to_csv().splitlines()) == 1 + len(KEY)
    assert "beard" in page(found)
    assert "beard" in str(found._repr_html_())
