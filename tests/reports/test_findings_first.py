"""What an audit says first: only what its test and its interval confirm, and otherwise that nothing is confirmed."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits.change import Change
from equipoise.audits.compare import ChangeRecord
from equipoise.reports._document import Name, plain
from equipoise.reports.narrative._change_words import change_headlines, change_story
from equipoise.reports.narrative._change_words import lead_change_of as lead_of_changes
from equipoise.reports.narrative._compare_words import answer_of, headline_of
from equipoise.reports.narrative._outcome_words import headlines, lead_of, needed_for, outcome_story
from equipoise.reports.narrative._spaces import space_story
from equipoise.results import ReasonCode, Record, because
from equipoise.stats import (
    interval_excludes,
    is_finding,
)


def contrast(measure: str, group: str, value: float, *, finding: bool | None = True, **about: object) -> Record:
    own = {
        "against": "the rest", "low": value - 0.02, "high": value + 0.02, "p": 0.001, "p_adjusted": 0.001,
        "numerator": 30.0, "denominator": 100.0, "scope": "favourable", "class_": "yes", "attribute": ("race",),
    }  # fmt: skip
    if finding is False:
        own |= {"low": value - 0.3, "high": value + 0.3, "p": 0.5, "p_adjusted": 0.6}
    if finding is None:
        own |= {"low": None, "high": None, "p": None, "p_adjusted": None, "status": "too small"}
        own |= {"reason": "19 people on one side: fewer than 30"}
    return Record(measure=measure, kind="contrast", group=group, value=value, finding=finding, **{**own, **about})  # type: ignore[arg-type]


def test_a_gap_that_nobody_tested_is_never_stated() -> None:
    records = [
        contrast("true_positive_rate", "Other", -0.164, finding=None),
        contrast("selection_rate", "Black", -0.02, finding=False),
        Record(measure="equalized_odds_true_positive", kind="gap", alias="EOTP", value=0.164, scope="favourable",
               class_="yes", attribute=("race",), group="Other", against="Amer-Indian-Eskimo", p=0.5, p_adjusted=0.51,
               finding=False),
    ]  # fmt: skip
    (made,) = headlines(records)
    assert made.claims == ()
    first, second, *others = list(outcome_story(records).sentences())
    assert first.startswith("No difference between groups is confirmed in 1 comparison.")
    assert second == "That does not show that the groups are treated alike."
    assert "Not significant after correction: selection rate of Black" in others[0]
    assert "Not tested (19 people on one side: fewer than 30): true positive rate of Other" in others[1]
    assert not any("16.4" in sentence for sentence in (first, second, *others))


def test_the_largest_confirmed_difference_leads_and_no_later_sentence_calls_a_smaller_one_the_widest() -> None:
    records = [
        contrast("selection_rate", "b", -0.049),
        contrast("true_positive_rate", "b", -0.182),
        contrast("accuracy", "c", 0.06, scope="overall", class_=None),
        contrast("selection_rate", "c", 0.3, finding=False),
    ]
    (made,) = headlines(records)
    assert [claim.record.value for claim in made.claims] == [-0.182, -0.049, 0.06]
    words = list(outcome_story(records).sentences())
    assert words[0] == (
        "Where the truth is 'yes', the model predicts it less often for b than for the rest (race): 30.0% against "
        "48.2% (true positive rate, 18.2 points, interval 16.2 to 20.2)."
    )
    assert not any("widest" in sentence for sentence in words)
    assert any("The model is right more often for c than for the rest" in sentence for sentence in words), (
        "good news too"
    )


@pytest.mark.parametrize(
    ("group", "against", "about", "compared"),
    [
        ("Female", "Male", {}, "for Female than for Male (race): "),
        ("1", "0", {}, "for race = 1 than for race = 0: "),
        ("-1.5", "the rest", {}, "for race = -1.5 than for the rest: "),
        ("Yes", "No", {"split": "test"}, "for race = Yes than for race = No (race (test)): "),
        ("(missing)", "18 to 25", {}, "for (missing) than for 18 to 25 (race): "),
        ("1 & 0", "the rest", {"attribute": ("sex", "race")}, "for 1 & 0 than for the rest (sex × race): "),
        ("<b>*x*</b>", "a\nb", {}, "for <b>*x*</b> than for a\nb (race): "),
    ],
)
def test_groups_of_any_name_are_compared_in_a_sentence(
    group: str, against: str, about: dict[str, object], compared: str
) -> None:
    record = contrast("selection_rate", group, -0.182, against=against, **about)
    first = outcome_story([record]).answer
    assert plain(first).startswith(f"The model predicts 'yes' less often {compared}30.0% against 48.2% (18.2 points")
    names = [piece.text for piece in first if isinstance(piece, Name)]
    assert {group, against} <= set(names), "what a renderer escapes and shortens"


def test_a_confirmed_gap_over_all_groups_is_told_where_no_single_contrast_is() -> None:
    rates = [
        Record(measure="selection_rate", kind="rate", value=value, scope="favourable", class_="yes",
               attribute=("race",), group=group)
        for group, value in (("a", 0.1), ("b", 0.3))
    ]  # fmt: skip
    gap = Record(measure="demographic_parity", kind="gap", value=0.2, scope="favourable", class_="yes", low=0.12,
                 attribute=("race",), group="a", against="b", pair=("a", "b"), p=0.001, p_adjusted=0.01,
                 finding=True)  # fmt: skip
    records = [*rates, gap, contrast("selection_rate", "a", -0.1, finding=False)]
    assert next(outcome_story(records).sentences()) == (
        "The model predicts 'yes' less often for a than for b (race): 10.0% against 30.0% "
        "(20.0 points, groups differ by at least 12.0 points)."
    )


@given(
    st.floats(0, 1), st.one_of(st.none(), st.floats(-2, 2)), st.one_of(st.none(), st.floats(-2, 2)),
    st.sampled_from([0.0, 0.5, 1.0]),
)  # fmt: skip
def test_nothing_is_a_finding_against_its_own_interval(
    p: float, low: float | None, high: float | None, null: float
) -> None:
    found = is_finding(p, low, high, null=null)
    if low is None and high is None:
        assert found == (p <= 0.05)
    elif found:
        assert (low is not None and low > null) or (high is not None and high < null)
    assert is_finding(None, low, high) is None
    assert is_finding(math.nan, low, high) is None


def test_at_least_0_is_no_finding_and_neither_is_an_interval_around_0() -> None:
    def gap(measure: str, low: float, high: float | None, scope: str = "favourable") -> Record:
        return Record(measure=measure, kind="gap", value=0.164, p=0.0001, low=low, high=high, scope=scope,
                      class_="yes", attribute=("race",))  # type: ignore[arg-type]  # fmt: skip

    made = MultipleTesting().finish([
        gap("equalized_odds_true_positive", 0.0, None), gap("rbf_uniformity_gap", -30.28, 1.22),
        gap("demographic_parity", 0.1, None), gap("disparate_impact", 0.0, None),
        Record(measure="impact_ratio", kind="ratio", value=0.5, p=0.0001, scope="favourable", class_="yes",
               attribute=("race",)),
    ])  # fmt: skip
    # DP, DI and the impact ratio are one test: a bound of 0 on one of them leaves none confirmed.
    assert [record.finding for record in made] == [False, False, False, False, False]
    alone = MultipleTesting().finish([gap("demographic_parity", 0.1, None), gap("equalized_odds", 0.2, None)])
    assert [record.finding for record in alone] == [True, True]


@pytest.mark.long
@pytest.mark.once
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(0, 0.4), st.booleans())
def test_no_audit_calls_something_a_finding_whose_interval_includes_no_difference(
    seed: int, groups: int, gap: float, favourable: bool
) -> None:
    generator = np.random.default_rng(seed)
    rows = 500
    group = generator.integers(0, groups, rows)
    target = generator.integers(0, 2, rows)
    score = np.clip(generator.random(rows) * 0.7 + 0.3 * target - gap * (group == 0), 0, 1)
    result = equipoise.audit(
        target=target, score=score, favourable=1 if favourable else None, score_class=1,
        sensitive_features={"g": group.astype(str)}, draws=100,
    )  # fmt: skip
    for record in result.records:
        if record.finding:
            assert record.p_adjusted is not None
            assert record.p_adjusted <= 0.05
            assert interval_excludes(record.low, record.high, 1.0 if record.kind == "ratio" else 0.0), record
    lead = lead_of(headlines(result.records))
    assert result.words[0].startswith("No difference") == (lead is None)


@pytest.mark.long
@pytest.mark.once
def test_of_tables_in_which_nothing_differs_hardly_any_headline_names_a_gap() -> None:
    named = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        target = generator.integers(0, 2, 400)
        result = equipoise.audit(
            target=target,
            prediction=np.where(generator.random(400) < 0.7, target, 1 - target),
            favourable=1,
            sensitive_features={"sex": generator.choice(["F", "M"], 400), "race": generator.choice(list("abc"), 400)},
            draws=300,
            seed=seed,
        )
        named += not result.words[0].startswith("No difference between groups is confirmed")
    assert named / 200 <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 200)


def test_without_a_finding_the_first_sentence_says_how_many_people_it_would_take() -> None:
    generator = np.random.default_rng(3)
    data = {"p": generator.integers(0, 2, 400), "g": generator.choice(["a", "b"], 400)}
    result = equipoise.audit(data, prediction="p", favourable=1, sensitive_features="g", draws=100)
    needed = needed_for(result.records, None, result.power[0].level)
    assert needed is not None
    alone = needed_for(result.records)
    assert alone is not None
    assert 1.3 * alone.people < needed.people < 7_000, "one test of several, after correction"
    assert needed.people_now == 400
    assert result.words[0].startswith("No difference between groups is confirmed")
    assert "Detecting a difference of 5.0 points in the selection rate of '1' would take about" in result.words[0]
    assert "people (80% power); 400 were compared." in result.words[0]
    wide = equipoise.audit(data, prediction="p", favourable=1, sensitive_features="g", draws=100, gap_of_interest=0.3)
    assert "would probably have been detected" in wide.words[0]


def test_with_weights_the_people_compared_are_an_effective_number_and_it_says_so() -> None:
    generator = np.random.default_rng(3)
    data = {"p": generator.integers(0, 2, 400), "g": generator.choice(["a", "b"], 400), "w": np.tile([1.0, 3.0], 200)}
    result = equipoise.audit(data, prediction="p", favourable=1, weight="w", sensitive_features="g", draws=100)
    needed = needed_for(result.records)
    assert needed is not None
    assert needed.effective
    # Weights that have nothing to do with the outcome: about (sum of w)^2 / sum of w^2 (Kish), of each group.
    assert needed.people_now == pytest.approx(400 * 2**2 / 5, rel=0.05)
    assert (
        f"those compared count as {needed.people_now:,.0f} (their effective number, with these weights"
        in result.words[0]
    )
    assert "were compared" not in result.words[0]


@pytest.mark.skipif("EQUIPOISE_DATA" not in os.environ, reason="EQUIPOISE_DATA is not set")
def test_the_audit_of_adult_says_first_that_women_are_predicted_the_income_a_third_as_often() -> None:
    from equipoise.cohorts import load

    result = equipoise.audit(load("adult").where("test"), reference={"sex": "Male"})
    assert result.words[0] == (
        "The model predicts '>50K' a third as often for Female as for Male (sex): 8.7% against 25.2% "
        "(16.5 points, 96.4% interval 15.3 to 17.7)."
    )
    told = "\n".join(result.words)
    assert (
        "sex: Where the truth is '>50K', the model predicts it less often for Female than for Male: 59.8% against 65.3%"
        in told
    )
    assert "sex: The model is right more often for Female than for Male: 93.4% against 83.9%" in told
    assert "true positive rate of Amer-Indian-Eskimo (19" in told
    assert "16.4 points" not in told, "52.0% of 25 and 68.4% of 19 people were never compared by a test"
    # A gap of two groups is the contrast of them: the two are findings together.
    (gap,) = result.find("EOTP", attribute=("sex",), scope="favourable")
    (own,) = result.find("TPR", attribute=("sex",), kind="contrast")
    assert gap.finding
    assert own.finding
    assert gap.low is not None
    assert gap.low > 0


def change(kind: str, before: float, after: float, *, finding: bool = True, **about: object) -> Change:
    moved = after - before
    edge = 0.01 if finding else 0.5
    return Change(
        measure="selection_rate", alias=None, kind=kind, design="paired", scope="favourable", class_="yes",  # type: ignore[arg-type]
        **{"attribute": ("sex",), "group": "F", "against": "M" if kind == "contrast" else None, **about},  # type: ignore[arg-type]
        before=before, after=after, change=moved, low=moved - edge, high=moved + edge, p=0.01, p_adjusted=0.01,
        finding=finding,
    )  # fmt: skip


def test_changes_for_the_better_are_named_as_well_as_those_for_the_worse() -> None:
    changes = [
        change("contrast", -0.3, -0.1),
        change("contrast", -0.1, -0.25, group="X"),
        change("rate", 0.2, 0.3),
        change("rate", 0.2, 0.25, group="M", finding=False),
    ]
    (made,) = change_headlines(changes)
    assert ([c.group for c in made.widened], [c.group for c in made.narrowed]) == (["X"], ["F"])
    lead = lead_of_changes([made])
    assert lead is not None
    assert lead[1].group == "F"
    words = list(change_story(changes).sentences())
    assert words[0].startswith(
        "The difference between F and M (sex) in the selection rate of 'yes' shrank from −30.0 to −10.0 points (a "
        "change of +20.0 points, 95% interval "
    )
    assert any("difference between X and M in the selection rate of 'yes' grew from −10.0 to −25.0" in w for w in words)
    assert any("The selection rate of 'yes' for F rose from 20.0% to 30.0%" in word for word in words)
    assert any(
        w.startswith("sex: Changes not significant after correction: selection rate of 'yes' of M") for w in words
    )


def test_without_a_confirmed_change_the_first_sentence_says_so() -> None:
    first, *_ = change_story([change("rate", 0.2, 0.25, finding=False)]).sentences()
    assert first == (
        "No change is confirmed in 1 comparison. A change of up to 55.0 points cannot be ruled out; more people would "
        "narrow that."
    )


def test_a_space_in_which_nothing_is_confirmed_says_so_before_any_number() -> None:
    rates = [
        Record(measure="recall_at_k", kind="rate", value=value, attribute=("sex",), group=group)
        for group, value in (("woman", 0.7), ("man", 0.9))
    ]
    gap = Record(measure="recall_at_k_gap", kind="gap", value=0.2, attribute=("sex",), p=0.4, p_adjusted=0.5,
                 low=-0.1, high=0.5, finding=False)  # fmt: skip
    first, context, last = space_story([*rates, gap]).sentences()
    assert first.startswith("No difference between groups is confirmed in 1 test of this space.")
    assert context == "That does not show that the space is as good for everyone."
    assert last == (
        "sex: Not significant after correction: recall of woman 70.0%, man 90.0% (20.0 points, interval −10.0 to 50.0)."
    )


def test_a_wide_interval_does_not_lead_although_its_estimate_is_the_largest() -> None:
    records = [
        contrast("selection_rate", "few", -0.2, low=-0.39, high=-0.01),
        contrast("selection_rate", "many", -0.17, low=-0.18, high=-0.16),
    ]
    assert [claim.record.group for claim in headlines(records)[0].claims] == ["many", "few"]


def test_what_too_few_people_leave_untested_is_one_sentence_with_their_numbers() -> None:
    class Why(ReasonCode):
        FEW = "few", "{people:people} on one side: fewer than {least}"

    records = [
        contrast("true_positive_rate", name, -0.1, finding=None, reason=because(Why.FEW, people=people, least=30))
        for name, people in (("Other", 25), ("Few", 19))
    ]
    assert list(outcome_story(records).sentences())[-1] == (
        "race: Too few people to test (fewer than 30): TPR of Other (25), TPR of Few (19).".replace(
            "TPR", "true positive rate"
        )
    )


def group(name: str, difference: float, finding: bool) -> ChangeRecord:
    return ChangeRecord(
        attribute="sex", group=name, people=100, undefined=0, profiles=100, mean=0.9, q05=0.9, q25=0.9, median=0.9,
        q75=0.9, q95=0.9, share_changed=0.5 + difference, share_population=0.5, difference=difference,
        low=difference - 0.1, high=difference + 0.1, p=0.01, p_adjusted=0.02, finding=finding,
    )  # fmt: skip


def test_the_two_groups_of_a_binary_attribute_are_counted_as_one_finding() -> None:
    both = headline_of([group("M", -0.3, True), group("F", 0.3, True)], 0.1)
    assert (both.findings, both.tested) == (1, 1)
    with_others_untested = headline_of([group("M", -0.3, True), group("F", 0.2, True)], 0.1)
    assert with_others_untested.findings == 2
    three = headline_of([group("a", -0.3, True), group("b", 0.3, True), group("c", 0.0, False)], 0.1)
    assert three.findings == 2


def test_a_comparison_names_the_group_that_is_shown_to_be_changed_most_and_else_nobody() -> None:
    found = headline_of([group("M", -0.3, True), group("F", 0.3, True)], 0.1)
    assert [record.group for record in found.claims] == ["F", "M"]
    assert plain(answer_of(found)) == (
        "Of the 10% most changed people, 80% are F (sex), against 50% of the population (+30.0 points, 95% interval "
        "+20.0 to +40.0; corrected p 0.020)."
    )
    nothing = headline_of([group("M", -0.05, False), group("F", 0.05, False)], 0.1)
    assert answer_of(nothing) == (
        "No group is significantly more or less common among the 10% most changed people than in the population. "
        "Differences of up to 15.0 points cannot be ruled out; more people would narrow that."
    )
