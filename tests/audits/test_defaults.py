"""Defaults of an audit that are said: the favourable class of yes and no, and the measures that are chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.audits import AuditResult
from equipoise.foundation import BadInput
from helpers.running import Program


def people(no: object, yes: object, rows: int = 400) -> dict[str, Any]:
    random = np.random.default_rng(0)
    group = random.integers(2, size=rows)
    target = random.random(rows) < 0.5
    said = random.random(rows) < np.where(group == 0, 0.3, 0.6)
    names = np.array([no, yes], dtype=object)
    return {
        "target": names[target.astype(int)], "prediction": names[said.astype(int)],
        "sensitive_features": np.array(["a", "b"])[group], "draws": 100,
    }  # fmt: skip


def number_of_tests(result: AuditResult) -> int:
    return sum(record.p is not None for record in result.records)


@pytest.mark.parametrize(
    ("no", "yes", "positive"),
    [(0, 1, "1"), (False, True, "True"), ("no", "yes", "yes"), ("No", "Yes", "Yes"), ("FALSE", "TRUE", "TRUE")],
)
def test_the_positive_class_is_favourable_and_it_is_said(no: object, yes: object, positive: str) -> None:
    result = equipoise.audit(**people(no, yes))
    assert result.favourable == positive
    assert any(f"{positive!r} is taken to be favourable" in note for note in result.notes)
    options: Any = result.provenance["options"]
    assert options["favourable"] == positive
    assert options["favourable_by_default"] is True


def test_a_class_that_is_named_goes_first_and_nothing_is_said() -> None:
    result = equipoise.audit(**people(0, 1), favourable=0)
    options: Any = result.provenance["options"]
    assert result.favourable == "0"
    assert options["favourable_by_default"] is False
    assert not any("taken to be favourable" in note for note in result.notes)


@pytest.mark.parametrize(("no", "yes"), [("rejected", "hired"), (1, 2), ("no", "maybe")])
def test_other_classes_have_no_default(no: object, yes: object) -> None:
    result = equipoise.audit(**people(no, yes))
    assert result.favourable is None
    assert any("No favourable class was declared" in note for note in result.notes)


def test_both_spellings_are_taken_and_two_values_are_refused() -> None:
    given = people("x", "y")
    assert equipoise.audit(**given, favorable="y").favourable == "y"
    assert equipoise.audit(**given, favorable="y", favourable="y").favourable == "y"
    with pytest.raises(BadInput, match="given with different values"):
        equipoise.audit(**given, favorable="y", favourable="x")


def test_chosen_measures_are_reported_with_their_rates_and_make_fewer_tests() -> None:
    given = people(0, 1)
    everything, chosen = equipoise.audit(**given), equipoise.audit(**given, measures=["DP"])
    assert {record.measure for record in chosen.records} == {"rows", "demographic_parity", "selection_rate"}
    assert 0 < number_of_tests(chosen) < number_of_tests(everything)
    options: Any = chosen.provenance["options"]
    assert options["measures"] == ["demographic_parity"]

    def gap(result: AuditResult) -> Any:
        return next(r for r in result.records if r.measure == "demographic_parity" and r.scope == "favourable")

    assert gap(chosen).value == gap(everything).value
    assert gap(chosen).finding is gap(everything).finding is True


def test_changes_are_told_of_chosen_measures_alone() -> None:
    given = people(0, 1)
    result = equipoise.audit(
        **given, against_prediction=np.roll(given["prediction"], 7), measures="equalized_odds_true_positive"
    )
    assert {change.measure for change in result.changes} == {"true_positive_rate"}


@pytest.mark.parametrize(
    ("measures", "words"),
    [
        ("DPP", "did you mean 'DP'"),
        ("auc", "needs a score"),
        ("pearson", "needs a number to be predicted"),
        ("uniformity", "needs an embedding"),
        (3, "where the name of a column is expected"),
    ],
)
def test_measures_that_cannot_be_told_are_refused(measures: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        equipoise.audit(**people(0, 1), measures=measures)


def test_the_command_line_and_a_config_file_choose_measures_too(equipoise: Program, tmp_path: Path) -> None:
    rows = people("no", "yes")
    lines = zip(rows["target"], rows["prediction"], rows["sensitive_features"], strict=True)
    (tmp_path / "people.csv").write_text("y,p,g\n" + "".join(f"{','.join(map(str, line))}\n" for line in lines))
    ask = ("audit", tmp_path / "people.csv", "--target", "y", "--prediction", "p", "--group", "g", "--draws", "50")
    ended = equipoise(*ask, "--measure", "DP", "--measure", "eotp", "--json", tmp_path / "a.json",
                      "--save-config", tmp_path / "audit.toml")  # fmt: skip
    assert ended.code == 0
    assert "'yes' is taken to be favourable" in " ".join(ended.out.split())
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["provenance"]["options"]["measures"] == ["demographic_parity", "equalized_odds_true_positive"]
    assert 'measure = ["DP", "eotp"]' in (tmp_path / "audit.toml").read_text()
    refused = equipoise(*ask, "--measure", "DPP")
    assert refused.code == 2
    assert "did you mean 'DP'?" in refused.err
    (tmp_path / "two.toml").write_text('favourable = "yes"\nfavorable = "no"\n')
    refused = equipoise(*ask, "--config", tmp_path / "two.toml")
    assert refused.code == 2
    assert "differ" in refused.err
    (tmp_path / "american.toml").write_text('favorable = "no"\n')
    assert equipoise(*ask, "--config", tmp_path / "american.toml", "--json", tmp_path / "b.json").code == 0
    assert json.loads((tmp_path / "b.json").read_text())["favourable"] == "no"
