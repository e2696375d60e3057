"""An audit kept as a file: read strictly, written so that it reads back, and the same audit when run again."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from equipoise.audits._config import KEYS, AuditConfig, config_text, read_config, schema_text
from equipoise.cli.commands.audit import audit as command
from equipoise.cohorts import load
from equipoise.foundation import BadInput
from equipoise.foundation._files import MOST_BYTES
from helpers.running import Program

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "schemas" / "audit-config-1.json"
WAY = """python -c "from equipoise.audits._config import schema_text; print(schema_text(), end='')" > """
ASK = ("--target", "income", "--prediction", "predicted", "--favourable", ">50K", "--group", "sex", "--draws", "20")


@pytest.fixture(scope="module")
def predictions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "predictions.parquet"
    frame = load("adult").where("test").to_frame("pandas").iloc[:3_000]
    frame.assign(earlier=frame["predicted"].to_numpy()[::-1]).to_parquet(path)
    return path


def numbers(path: Path) -> list[Any]:
    records: list[Any] = json.loads(path.read_text(encoding="utf-8"))["records"]
    return records


def test_the_published_schema_is_that_of_the_model_and_takes_the_example() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), f"write it again: {WAY}{PUBLISHED.name}"
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    validator.validate(tomllib.loads((ROOT / "examples" / "audit.toml").read_text(encoding="utf-8")))
    assert not validator.is_valid({"grop": "sex"})
    assert not validator.is_valid({"threshold": "high"})


def test_the_keys_are_the_options_with_the_same_defaults() -> None:
    options = {
        "data" if name == "file" else name: parameter.default
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in ("ctx", "config", "save_config", "model_card") and not name.startswith("no_")
    }
    assert {"schema", *options} == set(KEYS)
    for name, field in AuditConfig.model_fields.items():
        key = field.alias or name
        if key != "schema":
            assert (field.default or None) == (options[key] or None), key


@pytest.mark.long
def test_the_example_runs_and_the_command_line_goes_before_the_file(
    equipoise: Program, predictions: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "monthly"
    folder.mkdir()
    shutil.copy(ROOT / "examples" / "audit.toml", folder)
    shutil.copy(predictions, folder)
    ended = equipoise("audit", "--config", folder / "audit.toml", "--draws", "20", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert sorted(path.name for path in folder.iterdir()) == [
        "audit.html", "audit.json", "audit.toml", "predictions.parquet",
    ]  # fmt: skip
    said = json.loads((folder / "audit.json").read_text(encoding="utf-8"))["provenance"]
    assert said["options"]["intersections"] is True
    assert said["options"]["draws"] == 20
    assert said["options"]["bins"] == {"age": "(25.0, 45.0, 65.0)"}

    other = tmp_path / "other.json"
    ended = equipoise(
        "audit", predictions, "--config", folder / "audit.toml", "--group", "race", "--no-intersections", "--reference",
        "race=White", "--bin", "age=40", "--json", other, "--html", tmp_path / "other.html", "--fail-if", "DP > 0.001",
        "--draws", "20",
    )  # fmt: skip
    assert ended.code == 2
    assert "Bins were given for 'age', which is not a group column" in ended.err
    ended = equipoise(
        "audit", predictions, "--config", folder / "audit.toml", "--group", "age", "--group", "sex",
        "--no-intersections", "--bin", "age=40", "--json", other, "--html", tmp_path / "other.html",
        "--fail-if", "DP > 0.001", "--draws", "20",
    )  # fmt: skip
    assert ended.code == 1
    assert "gate broken: DP > 0.001" in ended.err
    said = json.loads(other.read_text(encoding="utf-8"))["provenance"]
    assert said["columns"]["groups"] == ["age", "sex"]
    assert said["options"]["intersections"] is False


def test_a_saved_command_is_the_same_audit_when_it_runs_again(
    equipoise: Program, predictions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(predictions, "data.parquet")
    Path("kept").mkdir()
    options = (
        *ASK, "--group", "age", "--bin", "age=25,45", "--reference", "sex=Male", "--against-prediction", "earlier",
        "--include-missing", "--gap", "0.05", "--fail-if", "DP > 0.9", "--json", "first.json", "--quiet",
    )  # fmt: skip
    assert equipoise("audit", "data.parquet", *options, "--save-config", "kept/audit.toml").code == 0
    kept = tomllib.loads(Path("kept/audit.toml").read_text(encoding="utf-8"))
    assert kept["data"] == "../data.parquet"
    assert kept["json"] == "../first.json"
    assert kept["bin"] == {"age": "25,45"}
    assert "threshold" not in kept
    first = numbers(Path("first.json"))
    Path("first.json").unlink()
    assert equipoise("audit", "--config", "kept/audit.toml").code == 0
    assert numbers(Path("first.json")) == first
    ended = equipoise("audit", "--config", "kept/audit.toml", "--save-config", "again.toml")
    assert ended.code == 0
    assert tomllib.loads(Path("again.toml").read_text(encoding="utf-8")) == {
        **kept, "data": "data.parquet", "json": "first.json",
    }  # fmt: skip


def test_a_command_that_fails_leaves_no_config(equipoise: Program, predictions: Path, tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    assert equipoise("audit", predictions, *ASK, "--group", "nobody", "--save-config", path).code == 2
    assert not path.exists()
    assert equipoise("audit", predictions, *ASK, "--save-config", predictions).code == 2
    ended = equipoise("audit", predictions, *ASK, "--json", path, "--save-config", path)
    assert "--save-config names" in ended.err
    ended = equipoise("audit", *ASK)
    assert ended.code == 2
    assert "No file was given" in ended.err
    assert "No group column was given" in equipoise("audit", predictions, "--prediction", "predicted").err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('grop = "sex"', "key 'grop' not found in audit.toml.*did you mean 'group'?"),
        ('[references]\nsex = "Male"', "key 'references' not found.*did you mean 'reference'?"),
        ('threshold = "0.5"', "The key 'threshold' of audit.toml is '0.5'.*available: a number"),
        ("draws = 1.5", "The key 'draws' .* is 1.5.*a whole number"),
        ("draws = -1", "The key 'draws' .* is -1.*0 or more"),
        ("seed = true", "The key 'seed' .* is True.*a whole number"),
        ("strict = 1", "The key 'strict' .* is 1.*true or false"),
        ("group = [1, 2]", "The key 'group'.*text in quotes"),
        ('task = "clas"', "The key 'task' .*'class', 'multilabel' or 'regression'"),
        ("favourable = 1979-05-27", "The key 'favourable'.*text in quotes or a whole number"),
        ('reference = "sex=Male"', "The key 'reference'.*a table such as"),
        ("[reference]\nsex = [1]", "The key 'reference.sex'"),
        ('schema = "equipoise.audit-config/9"', "The key 'schema'.*'equipoise.audit-config/1'"),
        ('group = "sex"\ntarget = income\n', r"is not TOML.*at line 2, column 10"),
        ('group = "sex"\ngroup = "race"\nseed = 1', r"is not TOML.*at line 2"),
        ("a = " + "[" * 5_000, "audit.toml"),
        ("", "No file was given"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_the_place(equipoise: Program, tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(text, encoding="utf-8")
    ended = equipoise("audit", "--config", path)
    assert ended.code == 2
    assert re.search(complaint, ended.err, flags=re.DOTALL), ended.err
    assert "Traceback" not in ended.err


def test_garbage_folders_and_giants_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    with pytest.raises(BadInput, match="cannot be read"):
        read_config(path)
    with pytest.raises(BadInput, match="is a folder"):
        read_config(tmp_path)
    path.write_bytes(b'group = "sex"\ntarget = "\xff\xfe"\n')
    with pytest.raises(BadInput, match=r"is not UTF-8 \(at line 2\)"):
        read_config(path)
    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(BadInput, match="bytes"):
        read_config(path)
    path.write_bytes(b'\xef\xbb\xbfgroup = "sex"\r\n')
    assert read_config(path) == {"group": ["sex"]}


names = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "group": st.lists(names, min_size=1), "favourable": names, "reference": st.dictionaries(names, names),
            "bin": st.dictionaries(names, st.lists(st.floats(allow_nan=False), min_size=1)),
            "threshold": st.floats(0, 1), "draws": st.integers(0, 10**6), "strict": st.booleans(),
            "missing": st.lists(names), "control": names,
        },
    )
)  # fmt: skip
def test_whatever_is_said_reads_back(said: dict[str, Any]) -> None:
    config = AuditConfig.model_validate(tomllib.loads(config_text(said, ".")))
    told = config.model_dump(by_alias=True, exclude_unset=True)
    for key, value in said.items():
        assert told.get(key, AuditConfig.model_fields[key].default) == value


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be written as TOML"):
        config_text({"favourable": "\ud800"}, ".")
