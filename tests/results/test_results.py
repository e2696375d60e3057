"""One base for every kind of result: views, findings, charts, gates and a line to read."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import pytest

import equipoise
from equipoise.foundation import (
    BadInput,
    MissingExtra,
)
from equipoise.foundation import _tabular as tabular
from equipoise.results import (
    Direction,
    Finding,
    GateBroken,
    Record,
    Records,
    Status,
    direction_of,
)
from helpers.cases import compare as compare_cases
from helpers.cases import evidence as evidence_cases
from helpers.cases import study as study_cases
from helpers.cases.result import KINDS, audited, diagnosed, reproduced

GAPS = ("gap", "ratio", "summary")


def test_the_line_says_how_much_of_what_and_what_came_of_it() -> None:
    result = audited()
    tests = sum(statement.tested for statement in result.statements)
    assert repr(result) == f"AuditResult(4,000 rows, sex x race, {len(result.findings)} findings of {tests} tests)"
    assert repr(diagnosed()) == "Diagnosis(3 steps, first difference in step 2)"
    assert repr(reproduced()) == "Reproduction(Qian et al. 2021, rows, 1 of 3 claims hold)"


def test_the_line_of_hostile_names_is_one_line() -> None:
    result = evidence_cases.hostile()
    assert "\n" not in repr(result)
    assert repr(result).isprintable()


def test_no_frame_library_is_an_error_with_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "installed", lambda name: False)
    with pytest.raises(MissingExtra, match="pip install"):
        audited().rates.to_frame()
    with pytest.raises(BadInput, match="numpy"):
        audited().findings.to_frame("numpy")


def test_the_views_of_an_audit_are_its_records_by_kind() -> None:
    result = audited()
    assert tuple(result.rates) == tuple(record for record in result.records if record.kind in ("rate", "value"))
    assert tuple(result.gaps) == tuple(record for record in result.records if record.kind in GAPS)
    assert tuple(result.contrasts) == tuple(record for record in result.records if record.kind == "contrast")
    women = result.rates.find(measure="selection_rate", group="Female", scope="favourable")
    assert [one.value for one in women] == [one.value for one in result.find("selection_rate", group="Female",
                                            scope="favourable", kind="rate")]  # fmt: skip
    assert len(women[:0]) == 0
    frame = nw.from_native(result.gaps.to_frame("polars"), eager_only=True)
    assert frame["value"].to_list() == pytest.approx([gap.value for gap in result.gaps], nan_ok=True)
    assert set(frame["status"].to_list()) <= {str(one) for one in Status}


def test_a_view_prints_as_a_small_table() -> None:
    result = audited()
    lines = repr(result.rates).splitlines()
    assert lines[0] == f"{len(result.rates)} rates"
    assert "measure" in lines[1]
    assert len(lines) == 15
    assert lines[-1] == f"... and {len(result.rates) - 12:,} more; .to_frame() has all of them"
    assert len(repr(result.contrasts).splitlines()) == len(result.contrasts) + 2
    assert "<table>" in result.contrasts._repr_html_()
    empty = result.contrasts.find(group="nobody")
    assert (repr(empty), len(empty)) == ("no contrasts", 0)
    with pytest.raises(BadInput, match="did you mean 'group'"):
        result.contrasts.find(groups="Female")


def test_a_view_shows_hostile_names_harmlessly() -> None:
    records = Records(
        [Record(measure="<script>x</script>", kind="rate", value=math.nan, group="a\nb\x1b[31m")], Record, name="rates"
    )
    assert "<script>" not in records._repr_html_()
    assert len(repr(records).splitlines()) == 3
    assert "\x1b" not in repr(records)


def test_findings_of_an_audit_are_the_records_that_say_so() -> None:
    result = audited()
    contrasts = [statement for statement in result.statements if statement.kind == "contrast"]
    assert [contrast.index for contrast in contrasts] == [
        index for index, record in enumerate(result.records) if record.kind == "contrast"
    ]
    for statement in result.statements:
        record = result.records[statement.index]
        assert (statement.measure, statement.estimate, statement.low, statement.p_adjusted) == (
            record.measure, pytest.approx(record.value, nan_ok=True), record.low, record.p_adjusted,
        )  # fmt: skip
        assert statement.confirmed == bool(record.finding)
    confirmed = {(finding.attribute, finding.kind) for finding in result.findings}
    assert (("sex",), "contrast") in confirmed
    assert (("sex",), "gap") in confirmed


def test_a_finding_says_how_many_stand_on_each_side() -> None:
    result = audited()
    one = next(
        finding for finding in result.findings if finding.measure == "selection_rate" and finding.kind == "contrast"
    )
    people = {record.group: record.denominator for record in result.find("selection_rate", scope="favourable",
              attribute="sex", kind="rate")}  # fmt: skip
    assert (one.n, one.n_against) == (people[one.group], people[one.against])
    assert one.direction == Direction.DIFFERENT  # nobody says that being selected more is better
    found = next(
        finding for finding in result.findings if finding.measure == "true_positive_rate" and finding.kind == "contrast"
    )
    assert found.direction == (Direction.BETTER if found.group == "Male" else Direction.WORSE)


def test_findings_of_runs_point_by_what_is_better() -> None:
    result = evidence_cases.plain()
    assert len(result.statements) == len(result.contrasts) > 0
    for statement in result.statements:
        record = result.records[statement.index]
        assert record.verdict is not None
        assert statement.confirmed == (record.verdict.significant or bool(record.equivalent))
        better = statement.measure in result.performance
        if record.verdict.significant:
            good = (record.difference > 0) == better
            assert statement.direction == (Direction.BETTER if good else Direction.WORSE)


def test_findings_of_a_study_are_those_that_its_records_call_good_or_not() -> None:
    result = study_cases.plain()
    assert result.statements
    for statement in result.statements:
        if statement.source == "records":
            expected = {True: Direction.BETTER, False: Direction.WORSE}
            good = result.records[statement.index].good
            assert good is None or statement.direction == expected[good]
            assert statement.condition == result.records[statement.index].condition


def test_findings_of_the_other_kinds() -> None:
    compared = compare_cases.planted()
    assert [finding.index for finding in compared.findings if finding.source == "records"] == [
        index for index, record in enumerate(compared.records) if record.finding
    ]
    assert [finding.direction for finding in diagnosed().findings] == [Direction.DIFFERENT]
    assert [statement.direction for statement in reproduced().statements] == [
        Direction.EQUIVALENT, Direction.INCONCLUSIVE, Direction.DIFFERENT,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "direction"),
    [
        ({"estimate": 0.1, "significant": True}, Direction.DIFFERENT),
        ({"estimate": 0.1, "significant": True, "better": "high"}, Direction.BETTER),
        ({"estimate": 0.1, "significant": True, "better": "low"}, Direction.WORSE),
        ({"estimate": -0.1, "significant": True, "better": "low"}, Direction.BETTER),
        ({"estimate": -0.1, "significant": True, "better": "low", "equivalent": True}, Direction.BETTER),
        ({"estimate": 0.0, "significant": False, "equivalent": True}, Direction.EQUIVALENT),
        ({"estimate": 0.1, "significant": False}, Direction.INCONCLUSIVE),
        ({"estimate": math.nan, "significant": None}, Direction.INCONCLUSIVE),
    ],
)
def test_directions(given: dict[str, Any], direction: Direction) -> None:
    assert direction_of(**given) == direction


def test_findings_turn_into_a_frame() -> None:
    findings = audited().findings
    frame = nw.from_native(findings.to_frame("pandas"), eager_only=True)
    assert frame["direction"].to_list() == [finding.direction.value for finding in findings]
    assert frame["attribute"].to_list() == [" & ".join(finding.attribute) for finding in findings]
    assert isinstance(findings[0], Finding)


def test_a_chart_takes_properties() -> None:
    plot = audited().plot.rates
    assert plot(background="#eee").to_dict(validate=False)["background"] == "#eee"
    assert "rates" in repr(plot)


def test_an_unknown_chart_is_an_error_with_a_guess() -> None:
    with pytest.raises(BadInput, match="did you mean 'rates'"):
        audited().plot.ratess()
    with pytest.raises(AttributeError):
        audited().plot._private  # noqa: B018


def test_a_check_passes_or_names_what_broke_the_gate() -> None:
    result = audited()
    passed, broken = result.check("DP[race] > 0.2"), result.check("DP > 0.1")
    assert passed
    assert passed.passed
    assert repr(passed) == "GateCheck(passed: DP[race] > 0.2)"
    passed.raise_if_broken()
    assert not broken
    assert [breach.gate for breach in broken.broken] == ["DP > 0.1"]
    assert f"{result.value('DP', attribute='sex'):.4g}" in broken.broken[0].detail
    with pytest.raises(GateBroken, match=r"DP > 0\.1: DP of sex is 0\."):
        broken.raise_if_broken()


def test_several_gates_are_checked_together() -> None:
    check = audited().check("DP[race] > 0.2", "DP[sex] > 0.1", "EOTP[sex] > 0.1")
    assert [breach.gate for breach in check.broken] == ["DP[sex] > 0.1", "EOTP[sex] > 0.1"]
    assert audited().check().passed


def test_what_is_undefined_breaks_a_gate_unless_allowed() -> None:
    result = equipoise.audit(
        target=["no", "no", "yes", "no"] * 5,
        prediction=["no", "no", "yes", "no"] * 5,
        favourable="yes",
        sensitive_features={"sex": ["a", "b"] * 10},
    )
    nobody = equipoise.audit(
        target=["no"] * 10 + ["yes", "no"] * 5,
        prediction=["no"] * 20,
        favourable="yes",
        sensitive_features={"sex": ["a"] * 10 + ["b"] * 10},
    )
    assert not nobody.check("EOTP > 0.1")
    assert nobody.check("EOTP > 0.1", allow_undefined=True)
    assert not result.check("EOTP > 0.1").passed


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("DP >", "a number such as"),
        ("DP < 0.1", "stops when"),
        ("nonsense > 1", "nonsense"),
        ("DP[income] > 0.1", "income"),
        ("share(DP > 0.1) > 0.5", "repeated runs"),
    ],
)
def test_a_gate_that_cannot_be_checked_is_refused(gate: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        audited().check(gate)


def test_evidence_has_gates_over_runs() -> None:
    result = evidence_cases.plain()
    metric = next(record.metric for record in result.records if record.metric not in result.performance)
    assert result.check(f"share({metric} > 1e9) > 0.05").passed
    assert not result.check(f"share({metric} > -1e9) > 0.05").passed
    with pytest.raises(BadInput, match="one number"):
        result.check(f"{metric} > 0.1")


@pytest.mark.parametrize("kind", ["compare", "study", "diagnosis", "reproduction"])
def test_other_kinds_have_no_gates(kind: str) -> None:
    with pytest.raises(BadInput, match="has no gates"):
        KINDS[kind]().check("DP > 0.1")
