"""Every emitted JSON keeps to its published schema, and to the names that programs rely on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

import equipoise
from equipoise.results import Record, record_as_json
from helpers.cases import embedding as embedding_cases

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "audit-1.json"

# These names are a promise: a program that reads one of them must not break.
RECORD = {
    "measure", "alias", "kind", "variant", "scope", "class", "label", "attribute", "group", "against", "control",
    "split", "value", "low", "high", "interval", "p", "p_adjusted", "finding", "numerator", "denominator", "status",
    "reason",
}  # fmt: skip
SEVEN = {"DP", "DI", "SPSF", "FPSF", "EOFP", "EOTP", "BA"}
STATUSES = {"ok", "undefined", "too small", "dropped"}
SCOPES = {"overall", "class", "favourable"}
INTERVALS = {"score", "exact", "bootstrap", "lower-bound", None}


def people() -> pd.DataFrame:
    generator = np.random.default_rng(4)
    size = 60
    truth = generator.choice(["no", "yes"], size)
    return pd.DataFrame(
        {
            "truth": [None if index == 0 else value for index, value in enumerate(truth)],
            "guess": generator.choice(["no", "yes"], size),
            "score": generator.integers(0, 101, size) / 100,
            "logit": generator.normal(size=size),
            "sex": ["X", None, "Y\u202e\n<b>", *generator.choice(["F", "M"], size - 3)],
            "race": generator.choice(["x", "y"], size),
            "age": generator.integers(18, 80, size),
            "room": generator.choice(["p", "q"], size),
            "part": generator.choice(["train", "test"], size),
            "weight": generator.random(size) + 0.1,
            "labels": [list(generator.choice(["cat", "dog"], generator.integers(0, 3))) for _ in range(size)],
            "said": [list(generator.choice(["cat", "dog", "eel"], generator.integers(0, 3))) for _ in range(size)],
        }
    )


COMMON: dict[str, Any] = {
    "target": "truth", "prediction": "guess", "sensitive_features": ["sex", "race"], "draws": 0,
}  # fmt: skip
AUDITS: dict[str, dict[str, Any]] = {
    "plain": COMMON,
    "favourable, reference, crossed": {
        **COMMON, "favourable": "yes", "reference": {"race": "x"}, "intersections": True,
    },
    "score": {**COMMON, "prediction": None, "score": "score", "favourable": "yes"},
    "score that is no probability": {**COMMON, "score": "logit", "favourable": "yes"},
    "weights": {**COMMON, "score": "score", "favourable": "yes", "weight": "weight"},
    "control and split": {**COMMON, "control": "room", "split": "part", "favourable": "yes"},
    "bins": {**COMMON, "sensitive_features": ["age"], "bins": {"age": "quantile:3"}},
    "hidden": {**COMMON, "score": "score", "favourable": "yes", "suppress_below": 10},
    "missing groups compared": {**COMMON, "include_missing": True, "strict": True},
    "authors": {**COMMON, "variant": "authors"},
    "no target": {**COMMON, "target": None},
    "regression": {**COMMON, "target": "logit", "prediction": "score", "task": "regression"},
    "labels": {**COMMON, "target": "labels", "prediction": "said", "task": "multilabel"},
}  # fmt: skip


# The same with everything that is drawn at random: intervals, tests and what follows from them.
DRAWN = {
    name: {**AUDITS[name], "draws": 100, "least_people": 5}
    for name in ("favourable, reference, crossed", "weights", "hidden", "regression", "labels")
}


@pytest.fixture(scope="module")
def emitted() -> dict[str, str]:
    return {name: equipoise.audit(people(), **options).to_json() for name, options in AUDITS.items()}


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def strictly(text: str) -> dict[str, Any]:
    """Read JSON as the standard has it: no NaN, no Infinity, no name twice."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    read: dict[str, Any] = json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    return read


@pytest.mark.parametrize("name", AUDITS)
def test_every_emitted_audit_keeps_to_the_published_schema(
    name: str, emitted: dict[str, str], validator: Draft202012Validator
) -> None:
    errors = list(validator.iter_errors(strictly(emitted[name])))
    assert not errors, [(list(error.absolute_path), error.message) for error in errors[:5]]


@pytest.mark.long
@pytest.mark.parametrize("name", ["plain", "classes", "hidden"])
def test_audits_of_embeddings_keep_to_the_schema_too(name: str, validator: Draft202012Validator) -> None:
    content = strictly(embedding_cases.CASES[name]().to_json())
    errors = list(validator.iter_errors(content))
    assert not errors, [(list(error.absolute_path), error.message) for error in errors[:5]]
    for entry in (*content["downstream"], *content["propagation"]):
        assert (entry["level"] is None) == (entry["low"] is None)
    assert "map" not in content, "its points are single people"
    assert content["downstream"]
    for part in ("downstream", "propagation", *(["leakage"] if name == "plain" else [])):
        # Documents from before there was a code, a level, or a reason of a probe, stay valid.
        later = ("reason", "reason_code") if part == "leakage" else ("reason_code", "level")
        for field in [name for name in (content[part][0] if content[part] else ()) if name not in later]:
            broken = {**content, part: [{key: value for key, value in content[part][0].items() if key != field}]}
            assert not validator.is_valid(broken), (part, field)


@pytest.mark.parametrize("name", DRAWN)
def test_audits_with_intervals_and_tests_keep_to_the_schema_too(name: str, validator: Draft202012Validator) -> None:
    content = strictly(equipoise.audit(people(), **DRAWN[name]).to_json())
    errors = list(validator.iter_errors(content))
    assert not errors, [(list(error.absolute_path), error.message) for error in errors[:5]]


@pytest.mark.parametrize("name", DRAWN)
def test_intervals_and_tests_add_records_and_change_no_number(name: str, emitted: dict[str, str]) -> None:
    drawn = strictly(equipoise.audit(people(), **DRAWN[name]).to_json())["records"]
    assert any(record["p"] is not None for record in drawn)
    told = [record for record in drawn if record["kind"] != "contrast"]
    for before, after in zip(strictly(emitted[name])["records"], told, strict=True):
        same = ("measure", "kind", "scope", "class", "label", "attribute", "group", "against", "value")
        assert [before[field] for field in same] == [after[field] for field in same]


@pytest.mark.parametrize("name", AUDITS)
def test_every_record_has_every_name_that_programs_rely_on(name: str, emitted: dict[str, str]) -> None:
    content = strictly(emitted[name])
    assert content["schema"] == "equipoise.audit/1"
    assert {"schema", "records", "provenance"} <= set(content)
    assert content["records"]
    for record in content["records"]:
        assert set(record) >= RECORD
        assert record["scope"] in SCOPES
        assert record["status"] in STATUSES
        assert record["interval"] in INTERVALS
        assert isinstance(record["attribute"], list)


@pytest.mark.parametrize("name", AUDITS)
def test_undefined_is_null_and_says_why(name: str, emitted: dict[str, str]) -> None:
    assert "NaN" not in emitted[name]
    assert "Infinity" not in emitted[name]
    for record in strictly(emitted[name])["records"]:
        if record["status"] == "undefined":
            assert record["value"] is None
            assert record["reason"]
        if record["status"] == "ok":
            assert isinstance(record["value"], (int, float))
        if record["value"] is None:
            assert record["status"] in ("undefined", "too small")


@pytest.mark.parametrize("name", AUDITS)
def test_json_read_and_written_again_is_the_same(name: str, emitted: dict[str, str]) -> None:
    content = strictly(emitted[name])
    assert strictly(json.dumps(content, allow_nan=False)) == content


def test_the_json_says_what_the_result_says(emitted: dict[str, str]) -> None:
    result = equipoise.audit(people(), **AUDITS["weights"])
    content = strictly(emitted["weights"])
    assert len(content["records"]) == len(result.records)
    for written, record in zip(content["records"], result.records, strict=True):
        assert (written["measure"], written["class"], written["group"]) == (record.measure, record.class_, record.group)
        assert written["attribute"] == list(record.attribute)
        if record.defined:
            assert written["value"] == pytest.approx(record.value, rel=1e-15)
        else:
            assert written["value"] is None
    assert content["words"] == list(result.words)
    assert content["card"]["rows"] == 60


def test_the_aliases_of_the_seven_and_their_scopes_are_there(emitted: dict[str, str]) -> None:
    records = strictly(emitted["favourable, reference, crossed"])["records"]
    for scope in SCOPES:
        assert {record["alias"] for record in records if record["scope"] == scope} >= SEVEN
    parity = [r for r in records if r["alias"] == "DP" and r["scope"] == "favourable" and r["attribute"] == ["race"]]
    assert [(r["measure"], r["kind"], r["variant"], r["class"]) for r in parity] == [
        ("demographic_parity", "gap", "paper", "yes")
    ]
    assert {tuple(record["attribute"]) for record in records} == {(), ("sex",), ("race",), ("sex", "race")}


def test_provenance_says_what_was_audited_and_with_what(emitted: dict[str, str]) -> None:
    found = strictly(emitted["weights"])["provenance"]
    assert found["equipoise"] == equipoise.__version__
    assert found["fingerprint"].startswith("sha256:")
    assert found["columns"]["groups"] == ["sex", "race"]
    assert found["columns"]["weight"] == "weight"
    assert found["options"]["favourable"] == "yes"
    assert found["rows"] == 60


def test_dropped_rows_are_records_with_their_number(emitted: dict[str, str]) -> None:
    records = strictly(emitted["plain"])["records"]
    (dropped,) = [record for record in records if record["status"] == "dropped"]
    assert (dropped["measure"], dropped["value"], dropped["denominator"]) == ("rows", 1, 60)


def test_curves_and_calibration_are_written_with_undefined_points_as_null(emitted: dict[str, str]) -> None:
    content = strictly(emitted["score"])
    assert {curve["measure"] for curve in content["curves"]} >= {"demographic_parity", "true_positive_rate"}
    for curve in content["curves"]:
        assert len(curve["thresholds"]) == len(curve["values"]) == 101
    assert any(None in curve["values"] for curve in content["curves"])
    assert {point["group"] for point in content["calibration"]} >= {"F", "M"}


def test_a_hidden_number_is_null_everywhere(emitted: dict[str, str]) -> None:
    content = strictly(emitted["hidden"])
    hidden = [r for r in content["records"] if r["status"] == "too small" and r["reason"] == "fewer than 10 people"]
    assert {record["group"] for record in hidden} >= {"X", "(missing)"}
    for record in hidden:
        assert {record[name] for name in ("value", "numerator", "denominator", "low", "high", "p")} == {None}
    assert next(row for row in content["card"]["groups"] if row["group"] == "X")["rows"] is None


def test_names_come_out_of_json_as_they_went_in(emitted: dict[str, str]) -> None:
    groups = {record["group"] for record in strictly(emitted["plain"])["records"]}
    assert "Y\u202e\n<b>" in groups
    assert "(missing)" in groups


def test_each_record_has_a_line_of_its_own(emitted: dict[str, str]) -> None:
    lines = emitted["plain"].splitlines()
    records = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"measure"')]
    assert records == strictly(emitted["plain"])["records"]


def test_what_is_written_to_a_file_is_what_is_returned(tmp_path: Path) -> None:
    result = equipoise.audit(people(), **AUDITS["plain"])
    text = result.to_json(tmp_path / "audit.json")
    assert (tmp_path / "audit.json").read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_say_is_null(value: float) -> None:
    assert record_as_json(Record(measure="m", kind="gap", value=value))["value"] is None


def removed(schema: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Ways to break an audit: take away any name that the schema requires of a record."""
    for name in schema["$defs"]["record"]["required"]:
        yield lambda content, name=name: content["records"][0].pop(name)  # type: ignore[misc]


def test_the_schema_notices_when_a_name_goes_away(emitted: dict[str, str], validator: Draft202012Validator) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert set(schema["$defs"]["record"]["required"]) >= RECORD
    for remove in removed(schema):
        content = strictly(emitted["plain"])
        remove(content)
        assert not validator.is_valid(content)
    content = strictly(emitted["plain"])
    content["a_field_of_tomorrow"] = 1
    assert validator.is_valid(content)


def test_the_schema_refuses_words_it_does_not_know(emitted: dict[str, str], validator: Draft202012Validator) -> None:
    for name, value in (("status", "fine"), ("scope", "everywhere"), ("value", "0.5"), ("attribute", "sex")):
        content = strictly(emitted["plain"])
        content["records"][0][name] = value
        assert not validator.is_valid(content), name
