"""What changed: two models on the same rows, two periods, and what may be said of either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import equipoise
from equipoise.audits._counting import tally
from equipoise.audits._spec import resolve
from equipoise.audits.change import Change, ChangeReason, before_of, changes_of, resolve_earlier
from equipoise.results import because
from equipoise.stats import difference_interval, pair_interval

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "audit-1.json"
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy")
ASK: dict[str, Any] = {"target": "y", "prediction": "new", "favourable": 1, "sensitive_features": ["g"]}


def people(seed: int, rows: int = 1_200, shift: float = 0.0) -> pd.DataFrame:
    """Two models of which neither is better; the new one selects ``shift`` more of the group b."""
    generator = np.random.default_rng(seed)
    group = generator.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    truth = generator.integers(0, 2, rows)
    first, second = ((generator.random(rows) < 0.25 + 0.4 * truth - 0.1 * (group == "a")) for _ in range(2))
    disagree = generator.random(rows) < 0.2
    new, old = np.where(disagree, second, first), first
    swapped = generator.random(rows) < 0.5
    new, old = np.where(swapped, old, new), np.where(swapped, new, old)
    more = (group == "b") & (generator.random(rows) < shift)
    return pd.DataFrame({
        "y": truth, "new": np.where(more, 1, new).astype(int), "old": old.astype(int), "g": group,
        "w": generator.random(rows) + 0.5, "part": generator.choice(["x", "z"], rows),
    })  # fmt: skip


def found(result: equipoise.AuditResult, measure: str, group: str | None, kind: str = "rate") -> Change:
    (change,) = [c for c in result.changes if (c.measure, c.group, c.kind) == (measure, group, kind)]
    return change


def slow_rate(rows: pd.DataFrame, measure: str, said: str) -> float:
    pick = {
        "selection_rate": (rows[said] == 1, rows[said] >= 0),
        "true_positive_rate": (rows[said] == 1, rows["y"] == 1),
        "false_positive_rate": (rows[said] == 1, rows["y"] == 0),
        "positive_predictive_value": (rows["y"] == 1, rows[said] == 1),
        "accuracy": (rows[said] == rows["y"], rows[said] >= 0),
    }[measure]
    having, among = pick
    weight = rows["w"] if "w" in rows else pd.Series(1.0, index=rows.index)
    return float(weight[having & among].sum() / weight[among].sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_before_and_after_are_the_rates_of_both_models(weighted: bool) -> None:
    frame = people(1, shift=0.2)
    options = {**ASK, "weight": "w"} if weighted else ASK
    result = equipoise.audit(frame, **options, against_prediction="old", draws=10)
    rows = frame if weighted else frame.drop(columns="w")
    for measure in RATES:
        for group in (None, "a", "b", "c"):
            own = rows if group is None else rows[rows.g == group]
            change = found(result, measure, group)
            assert change.before == pytest.approx(slow_rate(own, measure, "old"))
            assert change.after == pytest.approx(slow_rate(own, measure, "new"))
            assert change.change == pytest.approx(change.after - change.before)
            assert change.design == "paired"
        contrast = found(result, measure, "b", "contrast")
        rest = rows[rows.g != "b"]
        before, after = (
            slow_rate(rows[rows.g == "b"], measure, said) - slow_rate(rest, measure, said) for said in ("old", "new")
        )
        assert (contrast.before, contrast.after) == (pytest.approx(before), pytest.approx(after))
        assert contrast.against == "the rest"


def test_the_same_rows_are_judged_by_mcnemar_and_other_rows_by_miettinen_and_nurminen() -> None:
    frame = people(2, shift=0.1)
    result = equipoise.audit(frame, **ASK, against_prediction="old", draws=10)
    own = frame[frame.g == "b"]
    gained, lost = int(((own.new == 1) & (own.old == 0)).sum()), int(((own.new == 0) & (own.old == 1)).sum())
    change = found(result, "selection_rate", "b")
    low, high = pair_interval(gained, lost, len(own), level_of(result))
    assert (change.low, change.high) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert change.interval == "score"

    later, earlier = frame.iloc[:700], frame.iloc[700:]
    result = equipoise.audit(later, **ASK, against=earlier, draws=10)
    x1, n1 = int((later[later.g == "b"].new == 1).sum()), int((later.g == "b").sum())
    x2, n2 = int((earlier[earlier.g == "b"].new == 1).sum()), int((earlier.g == "b").sum())
    change = found(result, "selection_rate", "b")
    low, high = difference_interval(x1, n1, x2, n2, level_of(result))
    assert (change.low, change.high) == (pytest.approx(float(low)), pytest.approx(float(high)))
    assert (change.numerator_after, change.denominator_before) == (x1, n2)
    assert change.design == "independent"


def level_of(result: equipoise.AuditResult) -> float:
    tested = [change for change in result.changes if change.finding is not None]
    return 1 - 0.05 * max(sum(bool(change.finding) for change in tested), 1) / len(tested)


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.3])
def test_a_change_is_a_finding_exactly_when_its_interval_excludes_0(shift: float) -> None:
    frame = people(5, shift=shift)
    for given_as in ({"against_prediction": "old"}, {"against": people(6)}, {"against": people(6), "weight": "w"}):
        result = equipoise.audit(frame, **ASK, **given_as, draws=10)
        tested = [change for change in result.changes if change.finding is not None]
        assert len(tested) == 35
        for change in tested:
            assert change.low is not None
            assert change.high is not None
            assert change.finding == (change.low > 0 or change.high < 0), change
            assert change.level == pytest.approx(level_of(result))


def changes_only(frame: pd.DataFrame, **given_as: Any) -> tuple[Change, ...]:
    """Compute the changes without the rest of the audit."""
    against = given_as.pop("against", None)
    given = {**ASK, "threshold": 0.5, "draws": 1}
    spec = resolve(frame, {**given, **given_as})
    earlier = None if against is None else resolve_earlier(frame, against, given)
    tallies = tally(spec)
    before = before_of(spec, tallies, earlier, against)
    return changes_of(spec, tallies.counts[None], before, "1", [None])


@pytest.mark.long
@pytest.mark.parametrize("design", ["paired", "independent"])
def test_when_nothing_changed_a_report_has_a_finding_at_most_one_time_in_twenty(design: str) -> None:
    reports = 150
    any_finding = []
    for seed in range(reports):
        given_as = {"against_prediction": "old"} if design == "paired" else {"against": people(10_000 + seed)}
        any_finding.append(any(change.finding for change in changes_only(people(seed), **given_as)))
    # Two standard errors above 5 %: a true 5 % exceeds this about once in forty runs of another seed.
    assert np.mean(any_finding) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / reports)


def test_many_differences_between_groups_do_not_make_a_change_easier_to_call_real() -> None:
    frame = people(3)
    plain = equipoise.audit(frame, **ASK, against_prediction="old", draws=50)
    crossed = equipoise.audit(frame, **ASK, against_prediction="old", draws=0)
    assert [c.p_adjusted for c in plain.changes] == [
        c.p_adjusted for c in changes_only(frame, against_prediction="old")
    ]
    assert {c.p for c in crossed.changes} == {None}
    assert all(c.before == c.before for c in crossed.changes)


def test_a_planted_change_is_told_first_and_in_words() -> None:
    result = equipoise.audit(people(7, rows=4_000, shift=0.3), **ASK, against_prediction="old", draws=10)
    change = found(result, "selection_rate", "b")
    assert change.finding
    assert change.change > 0.1
    contrast = found(result, "selection_rate", "b", "contrast")
    assert contrast.finding
    told = "\n".join(result.words)
    assert "The selection rate of '1' for b rose from" in told
    assert "The difference between b and the rest" in told
    lead = max((c for c in result.changes if c.finding and c.kind == "contrast"), key=lambda c: abs(c.change))
    assert result.words[0].startswith("The difference between ")
    assert f"The difference between {lead.group} and {lead.against} (g) in the " in result.words[0]
    assert str(result).index("'1' for b") > 0


def test_the_order_of_rows_and_of_models_changes_only_signs() -> None:
    frame = people(8, shift=0.1)
    first = equipoise.audit(frame, **ASK, against_prediction="old", draws=10)
    shuffled = equipoise.audit(frame.sample(frac=1, random_state=1), **ASK, against_prediction="old", draws=10)
    assert first.changes == shuffled.changes
    turned = equipoise.audit(frame, **{**ASK, "prediction": "old"}, against_prediction="new", draws=10)
    for change, other in zip(first.changes, turned.changes, strict=True):
        assert change.change == pytest.approx(-other.change)
        assert change.p == pytest.approx(other.p)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_counts_and_rows_give_the_same_changes(seed: int, times: int) -> None:
    frame = people(seed, rows=80)
    counted = frame.groupby(["y", "new", "old", "g"], as_index=False).size()
    result = equipoise.audit(frame, **ASK, against_prediction="old", draws=1, least_people=5)
    repeated = counted.loc[counted.index.repeat(counted["size"])]
    assert equipoise.audit(repeated, **ASK, against_prediction="old", draws=1, least_people=5).changes == result.changes
    heavy = frame.assign(w=float(times))
    weighted = equipoise.audit(heavy, **ASK, weight="w", against_prediction="old", draws=1, least_people=5)
    for change, other in zip(result.changes, weighted.changes, strict=True):
        assert change.p == pytest.approx(other.p, nan_ok=True)


def test_arrays_scores_splits_and_counts_can_be_held_against_earlier_ones() -> None:
    frame = people(9)
    arrays = equipoise.audit(
        target=frame.y, prediction=frame.new, against_prediction=frame.old, favourable=1,
        sensitive_features={"g": frame.g}, draws=10,
    )  # fmt: skip
    assert arrays.changes == equipoise.audit(frame, **ASK, against_prediction="old", draws=10).changes

    scored = frame.assign(s=frame.new * 0.6 + 0.2, t=frame.old * 0.6 + 0.2)
    by_score = equipoise.audit(
        scored, target="y", score="s", against_score="t", favourable=1, sensitive_features="g", draws=10
    )
    assert by_score.changes == arrays.changes

    split = equipoise.audit(frame, **ASK, against_prediction="old", split="part", draws=10)
    assert {change.split for change in split.changes} == {"x", "z"}
    assert any(word.startswith("g (x): ") for word in split.words)

    def counts(said: str) -> equipoise.Counts:
        return equipoise.Counts().update(frame.y, frame[said], sensitive_features={"g": frame.g})

    counted = equipoise.audit(counts("new"), against=counts("old"), favourable=1, draws=10)
    assert counted.changes[0].design == "independent"
    assert counted.changes[0].before == arrays.changes[0].before


def test_quantiles_are_cut_where_the_later_rows_are_cut() -> None:
    later = people(1).assign(age=np.arange(1_200) % 50)
    earlier = people(2).assign(age=np.arange(1_200) % 90)
    result = equipoise.audit(
        later, target="y", prediction="new", favourable=1, sensitive_features="age", bins={"age": "quantile:2"},
        against=earlier, draws=10,
    )  # fmt: skip
    assert {change.group for change in result.changes} == {None, "under 25", "25 and over"}
    assert found(result, "accuracy", "25 and over").denominator_before == int((earlier.age >= 25).sum())


def test_yes_and_no_may_be_spelled_in_two_ways() -> None:
    frame = people(4)
    spelled = frame.assign(old=frame.old.map({0: "False", 1: "True"}))
    plain = equipoise.audit(frame, **ASK, against_prediction="old", draws=5)
    assert equipoise.audit(spelled, **ASK, against_prediction="old", draws=5).changes == plain.changes
    words = frame.assign(y=frame.y.map({0: "no", 1: "yes"}), new=frame.new.map({0: "no", 1: "yes"}))
    with pytest.raises(equipoise.BadInput, match="earlier predictions 'old' differ: 0, 1 there, no, yes"):
        equipoise.audit(words, **{**ASK, "favourable": "yes"}, against_prediction="old")


def test_groups_on_one_side_only_are_shown_and_not_tested() -> None:
    later, earlier = people(1), people(2)
    later.loc[later.index[:60], "g"] = "new here"
    earlier.loc[earlier.index[:60], "g"] = "gone"
    result = equipoise.audit(later, **ASK, against=earlier, draws=10)
    here, gone = (found(result, "selection_rate", group) for group in ("new here", "gone"))
    assert (here.status, here.reason, here.p) == ("undefined", because(ChangeReason.NOT_EARLIER), None)
    assert here.after == pytest.approx(later.iloc[:60].new.mean())
    assert np.isnan(here.before)
    assert str(gone.reason) == "not in the later data"
    assert not [c for c in result.changes if c.kind == "contrast" and c.group in ("gone", "new here")]
    assert any("Cannot be compared: new here (not in the earlier data); gone" in w for w in result.words)
    referred = equipoise.audit(later, **ASK, against=earlier, reference={"g": "new here"}, draws=10)
    assert not [c for c in referred.changes if c.kind == "contrast"]


def test_few_people_are_not_tested_and_hidden_ones_not_shown() -> None:
    frame = people(1, rows=400)
    frame.loc[frame.index[:12], "g"] = "few"
    result = equipoise.audit(frame, **ASK, against_prediction="old", draws=10)
    few = found(result, "selection_rate", "few")
    assert (few.status, few.finding) == ("too small", None)
    assert (few.low, few.level, few.interval, few.p) == (None, None, None, None)
    assert "12 people before or after: fewer than 30" in str(few.reason)
    hidden = equipoise.audit(frame, **ASK, against_prediction="old", suppress_below=15, draws=10)
    few = found(hidden, "selection_rate", "few")
    assert np.isnan([few.before, few.after, few.change]).all()
    assert few.denominator_after is None


def test_rows_without_an_earlier_prediction_or_group_are_counted_out_loud() -> None:
    frame = people(1).astype({"old": object})
    frame.loc[frame.index[:7], "old"] = None
    frame.loc[frame.index[7:20], "g"] = None
    result = equipoise.audit(frame, **ASK, against_prediction="old", draws=10)
    assert "7 of 1,200 rows have no earlier prediction: they are left out of the changes." in result.notes
    assert found(result, "accuracy", None).denominator_after == 1_193
    assert "(missing)" not in {change.group for change in result.changes}
    with_missing = equipoise.audit(frame, **ASK, against_prediction="old", include_missing=True, draws=10)
    assert "(missing)" in {change.group for change in with_missing.changes}


def test_many_classes_change_each_by_itself() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({name: generator.choice(["x", "y", "z"], 900) for name in ("t", "p", "q")})
    frame["g"] = generator.choice(["a", "b"], 900)
    result = equipoise.audit(
        frame, target="t", prediction="p", against_prediction="q", sensitive_features="g", draws=10
    )
    assert {c.class_ for c in result.changes if c.measure == "selection_rate"} == {"x", "y", "z"}
    fewer = frame.assign(q=frame.q.replace("z", "y"))
    result = equipoise.audit(
        fewer, target="t", prediction="p", against_prediction="q", sensitive_features="g", draws=10
    )
    assert "The class 'z' is not among the earlier predictions 'q'." in result.notes


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"against_prediction": "new"}, "which is the new one too"),
        ({"against_prediction": "odl"}, "column 'odl' not found"),
        ({"against_prediction": "w"}, "earlier prediction column 'w' holds continuous values"),
        ({"against_prediction": "old", "against": people(2)}, "more than one thing"),
        ({"against_score": "w"}, "--against-score was given without --score"),
        ({"score": "w", "against_score": "w"}, "which is the new one too"),
        ({"against_prediction": "old", "cluster": "part"}, "together with a cluster column"),
        ({"against_prediction": "old", "task": "regression"}, "with --task regression"),
        ({"against": people(2).drop(columns="g")}, "In the earlier data: column 'g' not found"),
        ({"against": people(2).assign(g="a")}, "In the earlier data: The group column 'g' has one group only"),
        ({"against": people(2).replace({"y": {1: 2}, "new": {1: 2}})}, "classes of the earlier data differ"),
        ({"against": "nowhere.csv"}, "In the earlier data: There is no file"),
        ({"against": equipoise.Counts()}, "Counts were given on one side only"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(equipoise.BadInput, match=complaint):
        equipoise.audit(people(1), **{**ASK, **changes})


def test_arrays_have_no_earlier_file() -> None:
    frame = people(1)
    with pytest.raises(equipoise.BadInput, match="Arrays were given together with against"):
        equipoise.audit(target=frame.y, prediction=frame.new, sensitive_features=frame.g, against=frame)


@pytest.mark.parametrize("given_as", [{"against_prediction": "old"}, {"against": people(2, rows=90)}])
def test_the_json_keeps_to_its_schema_and_older_json_stays_valid(given_as: dict[str, Any]) -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    content = json.loads(equipoise.audit(people(1, rows=90), **ASK, **given_as, draws=5).to_json())
    validator.validate(content)
    assert content["changes"][0]["group"] is None
    for change in content["changes"]:
        assert (change["low"] is None) == (change["level"] is None)
        assert (change["reason"] is None) == (change["reason_code"] is None)
    assert any(change["level"] for change in content["changes"])
    assert content["provenance"]["against"]["data"]
    del content["changes"]
    validator.validate(content)
    content["changes"] = [{"measure": "accuracy"}]
    assert not validator.is_valid(content)
