"""Reasons are codes with details; the sentence and the JSON are made from them."""

from __future__ import annotations

import json
import math

import pytest

from equipoise.results import (
    Reason,
    ReasonCode,
    Record,
    Result,
    Status,
    all_reasons,
    because,
)
from equipoise.results import record_as_json as as_json


class Why(ReasonCode):
    FEW = "few_people", "{people:people} on one side: fewer than {least:,}"
    ABSENT = "absent", "there are no {what} in {groups:list 2}"
    DROPPED = "dropped", "{rows:plural row} of {total:plural person/people}"


def test_a_reason_says_its_details() -> None:
    assert str(because(Why.FEW, people=1.0, least=1_000)) == "1 person on one side: fewer than 1,000"
    assert str(because(Why.ABSENT, what="rows", groups=("a", "b", "c"))) == "there are no rows in 'a', 'b' and 1 more"
    assert str(because(Why.DROPPED, rows=1, total=2)) == "1 row of 2 people"


def test_reasons_can_be_details_of_a_reason() -> None:
    class Costs(ReasonCode):
        COSTS = "costs", "costs: {costs:join}"

    few, absent = because(Why.FEW, people=2, least=30), because(Why.ABSENT, what="rows", groups=("a",))
    expected = "costs: 2 people on one side: fewer than 30, there are no rows in 'a'"
    assert str(because(Costs.COSTS, costs=(few, absent))) == expected


def test_names_with_braces_are_printed_as_they_are() -> None:
    assert (
        str(because(Why.ABSENT, what="{rows:plural row}", groups=("{0}",))) == "there are no {rows:plural row} in '{0}'"
    )


def test_a_missing_detail_is_an_error() -> None:
    with pytest.raises(KeyError):
        str(because(Why.FEW, people=1))


def test_several_reasons_are_one() -> None:
    few, absent = because(Why.FEW, people=2, least=30), because(Why.ABSENT, what="rows", groups=("a",))
    assert all_reasons([]) is None
    assert all_reasons([None, few]) == few
    both = all_reasons([few, None, absent])
    assert isinstance(both, Reason)
    assert str(both) == "2 people on one side: fewer than 30; there are no rows in 'a'"
    assert both.code == Why.FEW
    assert both.has(Why.ABSENT)
    assert not both.has(Why.DROPPED)


def test_json_has_the_sentence_and_the_code() -> None:
    record = Record(
        measure="m", kind="rate", value=math.nan, status=Status.UNDEFINED, reason=because(Why.FEW, people=2, least=3)
    )
    assert as_json(record)["reason"] == "2 people on one side: fewer than 3"
    assert as_json(record)["reason_code"] == "few_people"
    assert as_json(Record(measure="m", kind="rate", value=1.0))["reason_code"] is None


def test_tables_and_frames_have_the_sentence() -> None:
    class Lone(Result):
        kind, record_type = "lone", Record

    record = Record(measure="m", kind="rate", value=1.0, reason=because(Why.FEW, people=2, least=3))
    lone = Lone("equipoise.lone/1", (record,), {})
    headings, rows = lone.flat()
    assert rows[0][headings.index("reason")] == "2 people on one side: fewer than 3"
    assert "fewer than 3" in lone.to_csv()
    assert json.loads(lone.to_json())["records"][0]["reason_code"] == "few_people"
