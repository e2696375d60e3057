"""Gates: read, refused where they point the wrong way, and held against an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.foundation import BadInput
from equipoise.measures import get_measure
from equipoise.results import check_direction, parse_gate
from helpers.running import Program

AUDIT = ("--target", "y", "--prediction", "p", "--favourable", "1", "--group", "sex", "--group", "race")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """200 rows: by sex 60 and 30 of 100 are predicted 1; race c has two people, none truly 1."""
    rows = ["sex,race,y,p"]
    rows += [f"F,{'c' if i < 2 else 'ab'[i % 2]},{int(i >= 50)},{int(i >= 70)}" for i in range(100)]
    rows += [f"M,{'ab'[i % 2]},{int(i >= 50)},{int(i >= 40)}" for i in range(100)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_gates_are_read_in_all_their_forms() -> None:
    assert parse_gate("DI > 0.2").limit == 0.2
    assert parse_gate("DI>20%").limit == pytest.approx(0.2)
    assert parse_gate("EOTP.low >= .05").field == "low"
    assert parse_gate("DI[sex] > 0.2").attribute == ("sex",)
    assert parse_gate("DI[sex & race] > 0.2").attribute == ("sex", "race")
    assert parse_gate("impact_ratio < 0.8").sign == "<"
    gate = parse_gate("share(DI > 0.2) > 0.05")
    assert (gate.name, gate.limit, gate.share_sign, gate.share) == ("DI", 0.2, ">", 0.05)


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("DI", 2, "one of > >= < <="),
        ("DI > x", 5, "a number"),
        ("> 0.2", 0, "the name of a measure"),
        ("DI > 0.2 please", 9, "the end of the gate"),
        ("DI.high > 0.2", 3, "value or low"),
        ("share(DI > 0.2 > 0.1", 15, "a closing bracket"),
        ("DI = 0.2", 3, "one of > >= < <="),
    ],
)
def test_a_gate_that_cannot_be_read_shows_where(text: str, place: int, expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_gate(text)
    line = str(refused.value).splitlines()[2]
    assert expected in line
    assert line.index("^") in (place + 1, place + 2, place + 3)


def test_a_gate_must_point_in_the_worse_direction() -> None:
    check_direction(parse_gate("DI > 0.2"), get_measure("DI"))
    check_direction(parse_gate("impact_ratio < 0.8"), get_measure("impact_ratio"))
    with pytest.raises(BadInput, match=r'write: --fail-if "DI > 0\.2"'):
        check_direction(parse_gate("DI < 0.2"), get_measure("DI"))
    with pytest.raises(BadInput, match=r'write: --fail-if "accuracy <= 0\.9"'):
        check_direction(parse_gate("accuracy >= 0.9"), get_measure("accuracy"))
    with pytest.raises(BadInput, match="no better direction"):
        check_direction(parse_gate("selection_rate > 0.9"), get_measure("selection_rate"))


def test_a_gate_that_holds_ends_with_0_and_a_broken_one_with_1(equipoise: Program, people: Path) -> None:
    assert equipoise("audit", people, *AUDIT, "--fail-if", "DP[sex] > 0.35").code == 0
    ended = equipoise("audit", people, *AUDIT, "--fail-if", "DP[sex] > 0.25", "--quiet")
    assert (ended.code, ended.out) == (1, "")
    assert "gate broken: DP[sex] > 0.25: DP of sex is 0.3" in ended.err


def test_a_gate_without_an_attribute_is_held_against_all_of_them(equipoise: Program, people: Path) -> None:
    ended = equipoise("audit", people, *AUDIT, "--fail-if", "DP > 0.25", "--quiet")
    assert ended.code == 1
    assert "DP of race" in ended.err
    assert "DP of sex" in ended.err


def test_a_lower_bound_can_be_gated(equipoise: Program, people: Path) -> None:
    assert equipoise("audit", people, *AUDIT, "--fail-if", "DP[sex].low > 0.25", "--quiet").code == 2
    assert equipoise("audit", people, *AUDIT, "--fail-if", "DP.low[sex] > 0.25", "--quiet").code == 0
    assert equipoise("audit", people, *AUDIT, "--fail-if", "DP.low[sex] > 0.05", "--quiet").code == 1


def test_an_undefined_number_breaks_its_gate_unless_that_is_allowed(equipoise: Program, people: Path) -> None:
    gate = ("--fail-if", "EOTP[race] > 0.9", "--quiet")
    ended = equipoise("audit", people, *AUDIT, *gate)
    assert ended.code == 1
    assert "is not known (there are no people truly of the class ('1') in 'c')" in ended.err
    assert equipoise("audit", people, *AUDIT, *gate, "--allow-undefined").code == 0


def test_a_rate_is_gated_for_every_group(equipoise: Program, people: Path) -> None:
    ended = equipoise("audit", people, *AUDIT, "--fail-if", "accuracy[sex] < 0.85", "--quiet")
    assert ended.code == 1
    assert "accuracy of sex, F is 0.8" in ended.err


@pytest.mark.parametrize(
    ("gate", "word"),
    [
        ("DX > 0.2", "measure 'DX' not found"),
        ("DI < 0.2", "better is low"),
        ("DI[age] > 0.2", "which was not audited"),
        ("AUC < 0.7", "it needs scores"),
        ("share(DI > 0.2) > 0.1", "equipoise evidence --fail-if"),
    ],
)
def test_a_gate_that_makes_no_sense_ends_with_2(equipoise: Program, people: Path, gate: str, word: str) -> None:
    ended = equipoise("audit", people, *AUDIT, "--fail-if", gate)
    assert ended.code == 2
    assert word in ended.err


def test_without_a_favourable_class_the_overall_number_is_gated(equipoise: Program, people: Path) -> None:
    ask = [word for word in AUDIT if word not in ("--favourable", "1")]
    assert equipoise("audit", people, *ask, "--fail-if", "DP[sex] > 0.25", "--quiet").code == 1


RUNS = "technique,metric,run,value\n" + "".join(
    f"{technique},{metric},{run},{value}\n"
    for technique, metric, values in [
        ("base", "DI", [0.30, 0.31, 0.29, 0.32, 0.30]),
        ("mine", "DI", [0.15, 0.16, 0.21, 0.14, 0.15]),
        ("base", "accuracy", [0.9, 0.9, 0.91, 0.9, 0.9]),
        ("mine", "accuracy", [0.88, 0.89, 0.88, 0.89, 0.88]),
    ]
    for run, value in enumerate(values)
)
JUDGE = ("--technique", "technique", "--metric", "metric", "--run", "run", "--value", "value", "--baseline", "base")


@pytest.mark.parametrize(
    ("gate", "code", "word"),
    [
        ("share(DI > 0.2) > 0.25", 0, ""),
        ("share(DI > 0.2) > 0.05", 1, "mine: 1 of 5 runs have DI > 0.2"),
        ("share(DI > 20%) >= 20%", 1, "mine: 1 of 5 runs"),
        ("share(accuracy < 0.885) > 0.5", 1, "mine: 3 of 5 runs"),
        ("DI > 0.2", 2, 'write: --fail-if "share(DI > 0.2) > 0.05"'),
        ("share(DI < 0.2) > 0.05", 2, 'write: --fail-if "share(DI > 0.2) > 0.05"'),
        ("share(DI > 0.2) < 0.05", 2, "write: share(DI > 0.2) > 0.05"),
        ("share(DP > 0.2) > 0.05", 2, "metric 'DP' not found"),
        ("share(DI.low > 0.2) > 0.05", 2, "asks more than runs have"),
    ],
)
def test_a_share_of_reruns_can_be_gated(equipoise: Program, tmp_path: Path, gate: str, code: int, word: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(RUNS)
    ended = equipoise("evidence", path, *JUDGE, "--performance", "accuracy", "--quiet", "--fail-if", gate)
    assert ended.code == code, ended.err
    assert word in ended.err


@pytest.mark.parametrize(
    ("gate", "meant"),
    [
        ("DI < 0.8", '"impact_ratio < 0.8" (DI is 1 - impact_ratio: that gate is "DI > 0.2")'),
        ("DI[sex] <= 0.8", '"impact_ratio[sex] <= 0.8" (DI is 1 - impact_ratio: that gate is "DI >= 0.2")'),
        ("disparate_impact < 80%", '"impact_ratio < 80%" (disparate_impact is 1 - impact_ratio'),
    ],
)
def test_whoever_means_the_four_fifths_rule_is_told_the_gate_that_keeps_it(gate: str, meant: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_direction(parse_gate(gate), get_measure("DI"))
    assert meant in str(refused.value)
