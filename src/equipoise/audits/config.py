"""An audit kept as a TOML file, to be run again next month: reading it strictly, and writing it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.toml_files import read_toml

SCHEMA = "equipoise.audit-config/1"
PATHS = ("data", "against", "rows", "json", "html", "figures", "csv", "latex")

Name = str | int | float | bool
Names = str | list[str]
Whole = Annotated[int, Field(ge=0)]


class AuditConfig(BaseModel):
    """An audit. Keys are the options of `equipoise audit`, with _ for -; paths are relative to the file itself."""

    model_config = ConfigDict(extra="forbid", strict=True, title="An audit to run again")

    schema_: Literal["equipoise.audit-config/1"] = Field(
        "equipoise.audit-config/1", alias="schema", description="The form of this file."
    )
    data: str | None = Field(None, description="CSV, Parquet (file, folder or glob) or Arrow.")
    group: Names = Field([], description="Columns of groups.")
    target: Names = Field([], description="The true outcome; several columns for several labels.")
    prediction: Names = Field([], description="The predicted outcome.")
    score: str | None = Field(None, description="The score of the favourable class.")
    favourable: Name | None = Field(None, description="The class people want to get.")
    task: Literal["class", "multilabel", "regression"] = Field("class", description="What is predicted.")
    reference: dict[str, Name] = Field({}, description="The group that others are held against, by column.")
    control: str | None = Field(None, description="Also compute every gap within the values of this column.")
    weight: str | None = Field(None, description="The column of sample weights.")
    split: str | None = Field(None, description="Audit each value of this column by itself.")
    bin: dict[str, str | list[float]] = Field({}, description='Cuts by column: "25,45", [25, 45] or "quantile:4".')
    categorical: Names = Field([], description="Group columns whose numbers are codes.")
    missing: Names = Field([], description="Values that mean missing.")
    threshold: float | None = Field(
        None, description="Predicted where the score is at least this; by default 0.5 for scores from 0 to 1."
    )
    score_class: Name | None = Field(None, description="The class the score speaks for, if not the favourable one.")
    intersections: bool = Field(False, description="Also cross all groups.")
    pairs: bool = Field(False, description="Also cross the groups two at a time.")
    include_missing: bool = Field(False, description="Let (missing) be a group in gaps.")
    strict: bool = Field(False, description="A mean over classes is undefined as soon as one class is.")
    variant: Literal["paper", "authors"] = Field("paper", description="How measures are computed.")
    suppress_below: Whole = Field(0, description="Hide numbers about fewer people.")
    cluster: str | None = Field(None, description="Rows that belong together.")
    against: str | None = Field(None, description="Earlier data with the same columns, of other people.")
    against_prediction: str | None = Field(None, description="What an earlier model predicted of the same rows.")
    against_score: str | None = Field(None, description="The score an earlier model gave the same rows.")
    embedding: str | None = Field(None, description="Audit an embedding: the array or column of points in the data.")
    rows: str | None = Field(None, description="The table that says whose points they are.")
    id: str | None = Field(None, description="Match rows and points by this column.")
    drop: bool = Field(False, description="Leave out rows with points not finite, or with ids not in both files.")
    k: Annotated[int, Field(ge=1)] = Field(1, description="How many nearest neighbours of a point count.")
    metric: Literal["euclidean", "cosine"] = Field("euclidean", description="How far points are apart.")
    majoritised: dict[str, str] = Field({}, description='Groups that others are held against, by column: "A,B".')
    minoritised: dict[str, str] = Field({}, description="Groups that are held against those, by column.")
    downstream: Names = Field(
        [], description="Classifiers to train on the points, or all; with settings: logistic_regression:C=0.1,1,10."
    )
    downstream_target: str | None = Field(None, description="What they learn, if not the target.")
    rebalance: Literal["up", "down", "weights"] | None = Field(None, description="Train on equal class x group.")
    macro: Literal["default", "paper"] = Field("default", description="How means over a group's classes are taken.")
    train: str | None = Field(None, description="True for rows they learn from; or train, dev and test.")
    leakage: bool = Field(False, description="How well can the groups be read from the points?")
    map: Literal["pca", "tsne", "umap", "none"] = Field("pca", description="The map of the points.")
    least_people: Whole = Field(30, description="Test no contrast with fewer people.")
    gap: float | None = Field(None, description="Say how many people it takes to find this gap.")
    equivalence_margin: float | None = Field(
        None, description="Also say which differences are shown to be smaller than this."
    )
    draws: Whole = Field(2000, description="How often rows or clusters are drawn again; 0 for no tests.")
    seed: Whole = Field(0, description="Where random draws start.")
    fail_if: Names = Field([], description="Gates: the program ends with 1 if one of them holds.")
    allow_undefined: bool = Field(False, description="A gate on an undefined number is not broken.")
    json_: str | None = Field(None, alias="json", description="Write every number as JSON.")
    html: str | None = Field(None, description="Write a page that works offline.")
    figures: str | None = Field(None, description="Write the charts as PNG and SVG into this folder.")
    csv: str | None = Field(None, description="Write the records as CSV.")
    latex: str | None = Field(None, description="Write tables for LaTeX.")
    quiet: bool = Field(False, description="Print nothing.")


KEYS = tuple(field.alias or name for name, field in AuditConfig.model_fields.items())


def schema_text() -> str:
    """Return the JSON schema of the file, as it is published."""
    start = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA}
    return json.dumps({**start, **AuditConfig.model_json_schema()}, indent=2, ensure_ascii=False) + "\n"


def read_config(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read a file; only what it says is returned, with its paths as seen from here and lists for what may be many."""
    file = Path(path)
    _, content = read_toml(file, "config", example='favourable = ">50K" or group = ["sex", "race"]')
    try:
        config = AuditConfig.model_validate(content)
    except ValidationError as error:
        raise _refused(error, file) from None
    said = config.model_dump(by_alias=True, exclude_unset=True)
    said.pop("schema", None)
    for name in ("group", "target", "prediction", "categorical", "missing", "fail_if", "downstream"):
        if isinstance(said.get(name), str):
            said[name] = [said[name]]
    for name in PATHS:
        if said.get(name) is not None:
            said[name] = os.path.join(file.parent, said[name])
    return said


# What is allowed, by what pydantic found wrong.
ALLOWED = {
    "string_type": "text in quotes", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "list_type": "a list such as [\"a\", \"b\"]",
    "dict_type": 'a table such as { sex = "Male" }', "greater_than_equal": "0 or more",
}  # fmt: skip


def _refused(error: ValidationError, file: Path) -> BadInput:
    """Say which key is wrong, what it holds, and what it may hold."""
    found = error.errors()
    unknown = next((item for item in found if item["type"] == "extra_forbidden"), None)
    if unknown is not None:
        return unknown_name("key", ".".join(map(str, unknown["loc"])), KEYS, file.name)
    key = str(found[0]["loc"][0])
    own = [item for item in found if item["loc"][0] == key]
    allowed = dict.fromkeys(
        str(item["ctx"]["expected"]) if item["type"] == "literal_error" else ALLOWED.get(item["type"], item["msg"])
        for item in own
    )
    if key in ("reference", "bin") and len(own[-1]["loc"]) > 1:
        key = f"{key}.{own[-1]['loc'][1]}"
    return BadInput(f"The key {key!r} of {file.name} is {own[-1]['input']!r}", available=" or ".join(allowed))


def config_text(said: Mapping[str, object], folder: str | os.PathLike[str]) -> str:
    """Write what differs from the defaults as TOML; relative paths are told from the folder of the file."""
    plain, tables = [f"schema = {_value(SCHEMA)}"], []
    for name, field in AuditConfig.model_fields.items():
        key = field.alias or name
        value = said.get(key)
        if value is None or value == field.default or value in ((), [], {}):
            continue
        if key in PATHS:
            value = _relative(str(value), folder)
        if isinstance(value, Mapping):
            lines = [f"{_value(str(column))} = {_value(item)}" for column, item in value.items()]
            tables += ["", f"[{key}]", *lines]
        else:
            plain.append(f"{key} = {_value(value)}")
    return "\n".join(["# An audit to run again: equipoise audit --config FILE", *plain, *tables]) + "\n"


def _relative(path: str, folder: str | os.PathLike[str]) -> str:
    """Return a path as seen from a folder; an absolute one stays, and so does one on another drive."""
    if os.path.isabs(path):
        return path
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        return os.path.abspath(path)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(_value(item) for item in value)}]"
    text = json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(f"{value!r} cannot be written as TOML", available="names in UTF-8") from None
    return text
