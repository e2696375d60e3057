"""What a headline may say, from constructed records: nothing that a corrected test does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from equipoise.foundation import report_of
from equipoise.reports import Document
from equipoise.results import Verdict, because
from equipoise.stats import LimitedBy
from equipoise.studies import StudyResult
from equipoise.studies.analysis import ConstantRecord, StudyReason
from equipoise.studies.findings._claims import Claim, ClaimKind, claims_of, seeds_needed, standing_of
from equipoise.studies.findings._reporting import outcome_of
from equipoise.studies.findings._result import (
    Alternative,
    CellRecord,
    RankRecord,
    StudyRecord,
)
from equipoise.studies.findings._words import alternative_words

CONDITION, LEARNER = "as given", "mlp"
NAMES = {"accuracy": (), "fairness": ("sex",), "distance_to_optimum": ("sex",)}


def record(treatment: str, measure: str, verdict: str | None, mean: float, **fields: Any) -> StudyRecord:
    better = "low" if measure == "distance_to_optimum" else "high"
    change = fields.pop("change", None)
    return StudyRecord(**{
        "condition": CONDITION, "learner": LEARNER, "treatment": treatment, "setting": "", "chosen": True,
        "baseline": None if verdict is None else "untreated", "measure": measure, "alias": None, "better": better,
        "class_": None, "attribute": NAMES.get(measure, ("sex",)), "unit": "seeds", "runs": 5, "seeds": 5, "mean": mean,
        "stdev": 0.01, "low": mean, "high": mean, "min": mean, "max": mean, "spread_people": 0.0, "spread_reruns": 0.0,
        "spread_seeds": 0.01, "change": change, "verdict": None if verdict is None else Verdict(verdict),
        "p": None if verdict is None else 0.5,
        "spread_change_people": 0.002, "smallest_effect": None if verdict is None else 0.02,
        "runs_needed": None if verdict is None else 14,
        "limited_by": LimitedBy.SEEDS if verdict == "undecided" else None, **fields,
    })  # fmt: skip


def cell(treatment: str, *, collapsed: bool = False, distance: float = 0.2) -> CellRecord:
    return CellRecord(
        condition=CONDITION, learner=LEARNER, treatment=treatment, setting="", chosen=True, size=100, runs=5, seeds=5,
        repeats=1, seconds=1.0, seconds_ratio=13.8, attribute=("sex",), dev_performance=0.8, dev_fairness=0.9,
        dev_distance=distance, test_performance=0.8, test_fairness=0.9, test_distance=distance, on_front=False,
        environments=1, collapsed=collapsed, collapsed_runs=5 if collapsed else 0,
        collapsed_share=1.0 if collapsed else 0.0,
    )  # fmt: skip


def rank(treatment: str, value: float, place: float, prob_best: float, may_be_best: bool = True) -> RankRecord:
    return RankRecord(
        condition=CONDITION, learner=LEARNER, treatment=treatment, setting="", measure="distance_to_optimum",
        alias="DTO", attribute=("sex",), value=value, rank=place, prob_best=prob_best, prob_best_single=prob_best,
        prob_best_if_equal=0.6, may_be_best=may_be_best,
    )  # fmt: skip


# Of each treatment: distance, probability of being the nearest, and verdicts on accuracy, fairness and distance.
Arm = tuple[str, float, float, str | None, str | None, str | None]


def made(arms: Sequence[Arm], collapsed: Sequence[str] = (), **fields: Any) -> StudyResult:
    sign = {"lower": -0.03, "higher": 0.03}
    records = [
        record(name, measure, verdict, mean, change=None if verdict is None else sign.get(verdict, 0.001))
        for name, distance, _, *verdicts in arms
        for (measure, mean), verdict in zip(
            (("accuracy", 0.8), ("fairness", 0.9), ("distance_to_optimum", distance)), verdicts, strict=True
        )
    ]
    known = sorted((arm for arm in arms if arm[0] not in collapsed), key=lambda arm: arm[1])
    result = StudyResult(
        schema="equipoise.study/2", records=tuple(records), provenance={"options": {"threshold": 0.05}},
        notes=(), attribute=("sex",), performance=("accuracy", "balanced_accuracy"), fairness="fairness",
        distance="distance_to_optimum", baseline="untreated",
        cells=tuple(cell(arm[0], collapsed=arm[0] in collapsed, distance=arm[1]) for arm in arms),
        # A treatment that is hardly ever drawn as the best is not one that may be it.
        ranks=tuple(rank(arm[0], arm[1], index + 1.0, arm[2], arm[2] > 0.05) for index, arm in enumerate(known)),
        **fields,
    )  # fmt: skip
    return replace(result, claims=claims_of(result))


def headline(result: StudyResult) -> str:
    """Return the answer, the first thing that is said of a study."""
    return result.words[0]


def words_of(result: StudyResult) -> tuple[str, ...]:
    return result.words


def _document(result: StudyResult) -> Document:
    made = replace(result, provenance={**result.provenance, "equipoise": "0.1.0", "python": "3.11"})
    document: Document = report_of("study").document(made)
    return document


UNTREATED: Arm = ("untreated", 0.24, 0.0, None, None, None)


def test_no_winner_is_named_when_nothing_is_confirmed_however_often_it_would_be_drawn() -> None:
    result = made([UNTREATED, ("adversarial", 0.20, 1.0, "none", "none", "undecided")])
    assert result.claims[0].kind is ClaimKind.NOTHING_CONFIRMED
    told = headline(result)
    assert told.startswith("No treatment is distinguishable from the untreated model with 5 seeds. About ")
    assert "seeds per treatment would detect a change of 2 points in fairness" in told
    assert "adversarial" not in told
    assert not any("is nearest" in words for words in words_of(result))


def test_a_winner_is_named_only_if_it_is_confirmed_and_separable_from_the_rest() -> None:
    better = ("reweighting", 0.20, 0.99, "none", "higher", "lower")
    other = ("inlp", 0.23, 0.01, "none", "none", "none")
    assert standing_of(made([UNTREATED, better, other]), (CONDITION, LEARNER)).kind is ClaimKind.NEAREST
    close = made([UNTREATED, (*better[:2], 0.6, *better[3:]), (*other[:2], 0.4, *other[3:])])
    standing = standing_of(close, (CONDITION, LEARNER))
    assert (standing.kind, standing.treatments) == (ClaimKind.AMONG, ("reweighting", "inlp"))
    assert "comes nearest" not in headline(close)
    assert headline(close).startswith("With reweighting, the model is fairer than the untreated model (fairness 0.900 ")


def test_untreated_is_nearest_only_if_every_treatment_is_confirmed_to_be_further() -> None:
    nearest = ("untreated", 0.10, 1.0, None, None, None)
    worse = ("inlp", 0.2, 0.0, "lower", "none", "higher")
    unsure = ("reweighting", 0.11, 0.0, "none", "none", "none")
    assert standing_of(made([nearest, worse]), (CONDITION, LEARNER)).treatments == ("untreated",)
    assert standing_of(made([nearest, worse, unsure]), (CONDITION, LEARNER)).kind is ClaimKind.NOT_SEPARABLE


def test_good_news_is_named_as_well_as_bad() -> None:
    result = made([UNTREATED, ("reweighting", 0.2, 0.5, "lower", "higher", "none")])
    words = " ".join(words_of(result))
    assert "reweighting: Fairer: fairness 0.900 against 0.900 (+0.030)." in words
    assert "reweighting: Less accurate: accuracy 0.800 against 0.800 (−0.030)." in words
    assert headline(result) == (
        "With reweighting, the model is fairer and less accurate than the untreated model (fairness 0.900 against "
        "0.900, accuracy 0.800 against 0.800; significant after correction)."
    )


def test_where_only_bad_news_is_confirmed_the_headline_says_that_nothing_is_fairer() -> None:
    worse = ("inlp", 0.3, 0.0, "lower", "none", "none")
    assert headline(made([UNTREATED, worse])).startswith(
        "With inlp, the model is less accurate and not significantly fairer than the untreated model ("
    )
    other = ("adversarial", 0.3, 0.0, "none", "none", "none")
    assert headline(made([UNTREATED, worse, other])).endswith("No treatment is significantly fairer (1 − GAP).")
    no_gain = made([UNTREATED, worse])
    records = tuple(replace(one, change=-0.01) if one.measure == "fairness" else one for one in no_gain.records)
    assert "is less accurate and no fairer than the untreated model (" in headline(replace(no_gain, records=records))


def test_a_change_of_another_measure_is_named_and_does_not_make_a_headline() -> None:
    result = made([UNTREATED, ("adversarial", 0.20, 0.9, "none", "none", "none")])
    other = record("adversarial", "demographic_parity", "lower", 0.12, change=-0.02, better="low")
    result = replace(result, records=(*result.records, other))
    result = replace(result, claims=claims_of(result))
    assert "(1 change of another measure is significant)" in headline(result)
    assert "adversarial: Better on other measures: demographic parity (−0.020)." in words_of(result)


def test_a_collapsed_treatment_is_no_good_news_and_is_said_to_have_collapsed() -> None:
    result = made([UNTREATED, ("adversarial", 0.06, 1.0, "lower", "higher", "lower")], collapsed=["adversarial"])
    assert not any(claim.kind is ClaimKind.BETTER for claim in result.claims)
    assert any(claim.kind is ClaimKind.COLLAPSED for claim in result.claims)
    words = " ".join(words_of(result))
    assert "adversarial has collapsed under as given" in words
    assert "Fairer" not in words
    assert "is fairer" not in words


def test_when_all_have_collapsed_that_is_said_first() -> None:
    result = made([UNTREATED, ("inlp", 0.06, 1.0, "none", "higher", "lower")], collapsed=["untreated", "inlp"])
    assert [claim.kind for claim in result.claims] == [ClaimKind.ALL_COLLAPSED]
    assert headline(result).startswith("Every model has collapsed")


def test_a_collapsed_baseline_is_named_first_and_no_seeds_are_counted_from_it() -> None:
    arms = [UNTREATED, ("inlp", 0.2, 1.0, "none", "none", "none")]
    result = made(arms, collapsed=["untreated"])
    assert headline(result).startswith("The untreated model itself has collapsed under as given: ")
    [claim] = [claim for claim in result.claims if claim.kind is ClaimKind.NOTHING_CONFIRMED]
    assert claim.needed is None
    assert made(arms).claims[0].needed is not None


def test_what_was_not_tested_over_people_asks_for_no_seeds_and_says_why() -> None:
    result = made([UNTREATED, ("inlp", 0.2, float("nan"), "none", "undecided", "undecided")])
    records = tuple(
        replace(one, people_untested=one.verdict == "undecided", seeds=12, smallest_effect=None)
        for one in result.records
    )
    result = replace(result, records=records)
    result = replace(result, claims=claims_of(result))
    assert result.claims[0].needed is None
    assert headline(result).endswith("Fairness is not tested over people, which more seeds would not change.")


def test_a_study_of_the_baseline_alone_says_that_there_is_nothing_to_compare_it_with() -> None:
    alone, others = made([UNTREATED]), made([("inlp", 0.2, 1.0, None, None, None)])
    assert headline(alone) == "Only untreated was run: there is nothing to compare it with."
    assert "without a baseline" not in " ".join(words_of(alone))
    assert "there is no baseline ('untreated')" in headline(others)


def test_contended_seconds_are_in_no_sentence() -> None:
    result = made([UNTREATED, ("reweighting", 0.2, 0.99, "none", "higher", "lower")])
    assert not any("times as long" in words or "takes" in words for words in words_of(result))
    assert result.cells[0].seconds_ratio == 13.8, "it stays in the JSON"


def test_rewording_a_reason_changes_nothing_that_is_said() -> None:
    result = made([UNTREATED, ("inlp", 0.2, 1.0, "undecided", "undecided", "undecided")])
    other = replace(
        result,
        records=tuple(replace(one, reason=because(StudyReason.NOT_LIMITED, effect=0.5)) for one in result.records),
    )
    other = replace(other, claims=claims_of(other))
    first, second = (_document(one) for one in (result, other))
    assert (first.answer, first.lead, first.tiles) == (second.answer, second.lead, second.tiles)
    assert len(result.words) == len(other.words)


def test_the_constant_prediction_is_told_beside_every_headline() -> None:
    constant = ConstantRecord(
        prediction="<=50K", share=0.76, basis="original training rows", attribute=("sex",), performance=0.764,
        fairness=1.0, distance=0.236,
    )  # fmt: skip
    arms = [UNTREATED, ("inlp", 0.2, 1.0, "none", "none", "none")]
    words = list(words_of(made(arms, constant=constant)))
    assert words[1] == (
        "For orientation, a model that always predicts '<=50K' would score 0.236 in distance to the optimum (lower is "
        "better; accuracy 0.764, fairness 1.000); on average no better than that: untreated."
    )


@pytest.mark.parametrize(
    ("fair", "change", "cost", "lost", "expected"),
    [
        ("higher", 0.02, "none", -0.001, "confirmed"),
        ("higher", 0.02, "lower", -0.005, "confirmed"),
        ("higher", 0.02, "lower", -0.02, "less performance"),
        ("higher", 0.02, "none", -0.08, "less performance"),
        ("higher", 0.02, "undecided", -0.08, "less performance"),
        ("higher", 0.02, "undecided", float("nan"), "less performance"),
        ("none", 0.02, "none", 0.0, "not confirmed"),
        ("undecided", 0.02, "none", 0.0, "not confirmed"),
        ("none", -0.003, "none", 0.0, "less fair"),
        ("lower", -0.03, "none", 0.0, "less fair"),
    ],
)
def test_an_alternative_is_named_only_if_the_test_rows_confirm_it(
    fair: str, change: float, cost: str, lost: float, expected: str
) -> None:
    fairness = record("inlp", "fairness", fair, 0.95, change=change)
    assert outcome_of(fairness, record("inlp", "accuracy", cost, 0.8, change=lost), 0.01) == expected
    named = expected == "confirmed"
    made = Alternative(
        condition=CONDITION, learner=LEARNER, attribute=("sex",), baseline="untreated",
        treatment="inlp" if named else None, setting="" if named else None, margin=0.01, performance=0.80,
        baseline_performance=0.80, fairness=0.949, baseline_fairness=0.952, verdict=fair, words="",  # type: ignore[arg-type]
        candidate="inlp", candidate_setting="", outcome=expected,  # type: ignore[arg-type]
    )  # fmt: skip
    assert alternative_words(made, "accuracy", "under as given").startswith("Less discriminatory alternative") == named


def test_what_would_detect_a_change_of_fairness_is_told_from_the_comparisons() -> None:
    arms: list[Arm] = [UNTREATED, *((name, 0.2, 0.1, "none", "undecided", "none") for name in ("a", "b", "c"))]
    base = made(arms)

    def needing(*numbers: int | None, limit: LimitedBy = LimitedBy.SEEDS) -> StudyResult:
        given = iter(numbers)
        records = tuple(
            replace(one, runs_needed=next(given), limited_by=limit)
            if one.measure == "fairness" and one.verdict is not None else one
            for one in base.records
        )  # fmt: skip
        result = replace(base, records=records)
        return replace(result, claims=claims_of(result))

    found = seeds_needed(needing(9, 14, 40))
    assert found is not None
    assert (found.seeds, found.most, found.most_of, found.comparisons) == (14, 40, "c", 3)
    assert headline(needing(9, 14, 40)) == (
        "No treatment is distinguishable from the untreated model with 5 seeds. About 14 seeds per treatment would "
        "detect a change of 2 points in fairness (c: about 40)."
    )
    assert "(c: no number of seeds would)" in headline(needing(9, 14, None))
    people = needing(None, None, None, limit=LimitedBy.PEOPLE)
    assert headline(people).endswith(
        "More seeds cannot detect a change of 2 points in fairness: only more test people can."
    )
    both = needing(None, None, None, limit=LimitedBy.BOTH)
    assert headline(both).endswith(
        "It takes more seeds and more test people to detect a change of 2 points in fairness."
    )
    assert "That is enough to detect a change of 2 points" in headline(needing(3, 4, 4, limit=LimitedBy.NOTHING))


def test_claims_are_plain_data() -> None:
    result = made([UNTREATED, ("adversarial", 0.20, 1.0, "none", "none", "undecided")])
    [first, *_] = result.as_json()["claims"]  # type: ignore[misc]
    assert first["kind"] == "nothing confirmed"  # type: ignore[index]
    assert isinstance(result.claims[0], Claim)


def test_a_change_between_the_groups_of_another_attribute_is_said_of_its_treatment() -> None:
    """What the tiles count is somewhere in words: better and worse, of treatments with and without other changes."""
    result = made(
        [UNTREATED, ("adversarial", 0.20, 0.9, "none", "none", "none"), ("inlp", 0.2, 0.9, "none", "none", "none")]
    )
    worse = replace(
        record("adversarial", "demographic_parity", "higher", 0.16, change=0.02, better="low"), attribute=("race",)
    )
    better = replace(
        record("inlp", "demographic_parity", "lower", 0.12, change=-0.03, better="low"), attribute=("race",)
    )
    result = replace(result, records=(*result.records, worse, better))
    told = words_of(replace(result, claims=claims_of(result)))
    assert "adversarial: Worse between groups of race: demographic parity (+0.020)." in told
    assert "inlp: Better between groups of race: demographic parity (−0.030)." in told
