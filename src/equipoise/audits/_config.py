"""An audit kept as a TOML file, to be run again next month: reading it strictly, and writing it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from equipoise.audits._options import AUDIT_OPTIONS
from equipoise.foundation import (
    BadInput,
    Option,
    read_toml,
    unknown_name,
)

SCHEMA = "equipoise.audit-config/1"

Name = str | int | float | bool
Names = str | list[str]
PAIRS: dict[str, Any] = {"reference": dict[str, Name], "bin": dict[str, str | list[float]]}
# Names that a model has already.
RESERVED_NAMES = ("schema", "json")

DATA = Option(name="data", kind="input", help="CSV, Parquet (file, folder or glob) or Arrow.")
CONFIG_OPTIONS = (DATA, *AUDIT_OPTIONS)
SEVERAL = tuple(option.name for option in CONFIG_OPTIONS if option.kind == "texts")
PATHS = tuple(option.name for option in CONFIG_OPTIONS if option.kind in ("input", "output"))


def _field(option: Option) -> tuple[Any, Any]:
    """Return the type of an option's value in a file, and its default."""
    types: dict[str, Any] = {
        "flag": bool, "text": str | None, "texts": Names, "label": Name | None, "number": float | None,
        "pairs": PAIRS.get(option.name, dict[str, str]), "whole": Annotated[int, Field(ge=option.least or 0)],
        "input": str | None, "output": str | None,
    }  # fmt: skip
    kind: Any = types.get(option.kind)
    if option.kind == "choice":
        kind = Literal[option.choices]
        kind = kind if option.default is not None else kind | None
    default = {"texts": [], "pairs": {}}.get(option.kind, option.default)
    return kind, Field(default, alias=option.name if option.name in RESERVED_NAMES else None, description=option.help)


AuditConfig: type[BaseModel] = create_model(  # type: ignore[call-overload]
    "AuditConfig",
    __config__=ConfigDict(extra="forbid", strict=True, title="An audit to run again"),
    __doc__="An audit. Keys are the options of `equipoise audit`, with _ for -; paths are relative to the file itself.",
    schema_=(Literal["equipoise.audit-config/1"], Field(SCHEMA, alias="schema", description="The form of this file.")),
    **{
        f"{option.name}_" if option.name in RESERVED_NAMES else option.name: _field(option) for option in CONFIG_OPTIONS
    },
)

KEYS = tuple(field.alias or name for name, field in AuditConfig.model_fields.items())


def schema_text() -> str:
    """Return the JSON schema of the file, as it is published."""
    start = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA}
    return json.dumps({**start, **AuditConfig.model_json_schema()}, indent=2, ensure_ascii=False) + "\n"


def read_config(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read the file of an audit.

    Parameters
    ----------
    path : path
        A TOML file. Its keys are the options of ``equipoise audit``, with _ for -.

    Returns
    -------
    dict
        Only what the file says: paths as seen from here, and lists for what may be given several times. A key or value
        that is not allowed raises ``BadInput``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from equipoise.audits import config_text, read_config
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "audit.toml"
    >>> _ = file.write_text(config_text({"group": ["sex"], "favourable": ">50K"}, file.parent))
    >>> read_config(file)
    {'favourable': '>50K', 'group': ['sex']}
    """
    file = Path(path)
    _, content = read_toml(file, "config", example='favourable = ">50K" or group = ["sex", "race"]')
    if "favorable" in content and content.setdefault("favourable", content["favorable"]) != content.pop("favorable"):
        raise BadInput(f"'favourable' and 'favorable' of {file.name} differ", help="keep one of them.")
    try:
        config = AuditConfig.model_validate(content)
    except ValidationError as error:
        raise _refused(error, file) from None
    settings = config.model_dump(by_alias=True, exclude_unset=True)
    settings.pop("schema", None)
    for name in SEVERAL:
        if isinstance(settings.get(name), str):
            settings[name] = [settings[name]]
    for name in PATHS:
        if settings.get(name) is not None:
            settings[name] = os.path.join(file.parent, settings[name])
    return settings


# What is allowed, by what pydantic found wrong.
ALLOWED = {
    "string_type": "text in quotes", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "list_type": "a list such as [\"a\", \"b\"]",
    "dict_type": 'a table such as { sex = "Male" }', "greater_than_equal": "0 or more",
}  # fmt: skip


def _refused(error: ValidationError, file: Path) -> BadInput:
    """Say which key is wrong, what it holds, and what it may hold."""
    problems = error.errors()
    unknown = next((item for item in problems if item["type"] == "extra_forbidden"), None)
    if unknown is not None:
        return unknown_name("key", ".".join(map(str, unknown["loc"])), KEYS, file.name)
    key = str(problems[0]["loc"][0])
    of_key = [item for item in problems if item["loc"][0] == key]
    allowed = dict.fromkeys(
        str(item["ctx"]["expected"]) if item["type"] == "literal_error" else ALLOWED.get(item["type"], item["msg"])
        for item in of_key
    )
    if key in ("reference", "bin") and len(of_key[-1]["loc"]) > 1:
        key = f"{key}.{of_key[-1]['loc'][1]}"
    return BadInput(f"The key {key!r} of {file.name} is {of_key[-1]['input']!r}", available=" or ".join(allowed))


def config_text(options: Mapping[str, object], folder: str | os.PathLike[str]) -> str:
    """Write an audit as TOML, to be read by ``read_config``.

    Parameters
    ----------
    options : mapping
        Options by name. Those at their defaults are left out.
    folder : path
        Where the file will be: relative paths are written as seen from there.

    Returns
    -------
    str
        The text of the file.

    Examples
    --------
    >>> from equipoise.audits import config_text
    >>> print(config_text({"group": ["sex"], "draws": 2_000}, "."), end="")
    # An audit to run again: equipoise audit --config FILE
    schema = "equipoise.audit-config/1"
    group = ["sex"]
    """
    plain, tables = [f"schema = {_value(SCHEMA)}"], []
    for name, field in AuditConfig.model_fields.items():
        key = field.alias or name
        value = options.get(key)
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
