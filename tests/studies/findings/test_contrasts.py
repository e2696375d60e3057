"""Treatments compared with one another, and which of them may be the best: against the same test done by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.reports import page
from equipoise.stats import banerjee_critical_value, banerjee_p, benjamini_hochberg, sources_interval
from equipoise.studies.analysis import TEST, resample_people
from equipoise.studies.analysis._ranking import MOST_COMPARED
from equipoise.studies.findings import ClaimKind, measure_study, result_of
from helpers.cases.study import ARMS, interpolation, study
from helpers.page_checks import Tree, check_number

CONDITION = [interpolation(0)]


def test_every_pair_of_treatments_is_compared_on_request_and_corrected_apart() -> None:
    data = study(conditions=CONDITION, seeds=6, repeats=1, people=800)
    plain, asked = result_of(data), result_of(data, against="all")
    assert plain.contrasts == ()
    assert plain.as_json()["records"] == asked.as_json()["records"], "no comparison with the baseline changes"
    pairs = {(contrast.treatment, contrast.against) for contrast in asked.contrasts}
    assert pairs == {("adversarial", "reweighting"), ("inlp", "reweighting"), ("inlp", "adversarial")}
    adjusted = benjamini_hochberg([contrast.p for contrast in asked.contrasts])
    assert [contrast.p_adjusted for contrast in asked.contrasts] == pytest.approx(adjusted.tolist(), nan_ok=True)
    for one in asked.contrasts:
        if not math.isnan(one.p):
            assert (one.verdict in ("lower", "higher")) == (one.change_low > 0 or one.change_high < 0)
    found = measure_study(data)
    names = [cell.treatment for cell in found.cells]
    draws = resample_people(data, found.cells, found.quantities)
    first, second, place = names.index("inlp"), names.index("adversarial"), found.quantity_index("accuracy")
    values = [found.values[TEST][found.cells[at].indices, place] for at in (first, second)]
    people = float(draws.variance_of_change(first, second, 6)[place])
    difference = values[0] - values[1]
    expected = banerjee_p(difference.mean(), [difference.var(ddof=1) / 6, people], [5.0, math.inf])
    [one] = [c for c in asked.contrasts if (c.treatment, c.against, c.measure) == ("inlp", "adversarial", "accuracy")]
    assert one.p == pytest.approx(float(expected), rel=1e-6)
    assert any(words.startswith("Treatments compared with one another: ") for words in asked.words)


def test_contrasts_have_a_table_on_the_page_and_each_number_is_that_of_the_json() -> None:
    result = result_of(study(conditions=CONDITION, seeds=4, repeats=1, people=400), against="all")
    content: Any = result.as_json()
    tree = Tree(page(result))
    assert "Treatments compared with one another" in tree.by_id("contrasts").words
    shown = [element for element in tree.elements if element.attributes.get("data-list") == "contrasts"]
    assert {int(str(element.attributes["data-r"])) for element in shown} == set(range(len(result.contrasts)))
    for element in shown:
        field = str(element.attributes["data-f"])
        value = content["contrasts"][int(str(element.attributes["data-r"]))][field]
        check_number(element.words, value, whole=100 if field == "power" else 1)
    assert 'id="contrasts"' not in page(result_of(study(conditions=CONDITION, seeds=2, repeats=1, people=200)))


def test_one_treatment_is_compared_with_all_others_and_an_unknown_one_is_refused() -> None:
    data = study(conditions=CONDITION, seeds=4, repeats=1, people=500)
    found = result_of(data, against=["reweighting"])
    assert {(contrast.treatment, contrast.against) for contrast in found.contrasts} == {
        ("adversarial", "reweighting"), ("inlp", "reweighting"),
    }  # fmt: skip
    with pytest.raises(BadInput, match=r"(?s)'rewighting'.*reweighting"):
        result_of(data, against="rewighting")


def test_the_set_that_may_be_best_and_its_intervals_are_those_of_all_pairs() -> None:
    data = study(conditions=CONDITION, seeds=6, repeats=1, people=1_500)
    result, found = result_of(data), measure_study(data)
    draws = resample_people(data, found.cells, found.quantities)
    place = found.quantity_index(found.main.distance, found.attribute)
    number = len(found.cells)
    differences, halves = np.zeros((number, number)), np.zeros((number, number))
    for i in range(number):
        for j in range(number):
            if i != j:
                own = (
                    found.values[TEST][found.cells[i].indices, place]
                    - found.values[TEST][found.cells[j].indices, place]
                )
                people = float(draws.variance_of_change(i, j, 6)[place])
                differences[i, j] = -own.mean()  # less distance is better
                halves[i, j] = banerjee_critical_value(
                    [own.var(ddof=1) / 6, people], [5.0, math.inf], 2 * 0.05 / (number - 1)
                )
    for rank in result.distance_ranks[CONDITION_NAME, "mlp"]:
        i = [cell.treatment for cell in found.cells].index(rank.treatment)
        others = [j for j in range(number) if j != i]
        assert rank.may_be_best == all(differences[i, j] + halves[i, j] > 0 for j in others)
        assert rank.better_high == pytest.approx(max(0.0, min(differences[i, j] + halves[i, j] for j in others)))
        assert rank.level == 0.05
        assert 0.25 <= rank.prob_best_if_equal <= 1


CONDITION_NAME = "JB alpha 0"


def test_the_interval_of_the_best_is_simultaneous_over_the_treatments() -> None:
    result = result_of(study(conditions=CONDITION, seeds=6, repeats=1, people=800))
    for rank in result.distance_ranks[CONDITION_NAME, "mlp"]:
        if rank.treatment == "untreated":
            assert rank.change is None
            continue
        [record] = result.find(treatment=rank.treatment, measure=result.distance, attribute=result.attribute)
        assert record.spread_pair is not None
        assert record.spread_change_people is not None
        low, high = sources_interval(
            record.change, [record.spread_pair**2 / 6, record.spread_change_people**2], [5.0, math.inf], 0.05 / 3
        )
        assert (rank.change_low, rank.change_high) == pytest.approx((float(low), float(high)))


def test_of_equal_treatments_none_is_named_the_nearest() -> None:
    same = [replace(ARMS[0], name=name) for name in ("untreated", "a", "b", "c")]
    result = result_of(study(arms=same, conditions=CONDITION, seeds=6, repeats=1, people=600))
    assert all(rank.may_be_best for rank in result.distance_ranks[CONDITION_NAME, "mlp"])
    assert not any(claim.kind is ClaimKind.NEAREST for claim in result.claims)


def test_of_many_treatments_the_set_is_told_from_comparisons_with_the_best_alone() -> None:
    many = [ARMS[0], *(replace(ARMS[1], name=f"method {number}") for number in range(MOST_COMPARED + 2))]
    result = result_of(study(arms=many, conditions=CONDITION, seeds=4, repeats=1, people=300))
    ranks = result.distance_ranks[CONDITION_NAME, "mlp"]
    assert len(ranks) == MOST_COMPARED + 3
    assert any(rank.may_be_best for rank in ranks)
