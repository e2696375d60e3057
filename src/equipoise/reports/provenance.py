"""What stands at the foot of every page: where its numbers come from, and what none of them says."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.foundation.errors import listing
from equipoise.reports._document import Provenance
from equipoise.results import Result

NOT_CERTIFIED = "No number on this page certifies that a model is fair."


def provenance_of(result: Result) -> dict[str, object]:
    """Return where a result comes from: versions, fingerprint, settings, and the command that makes it again."""
    made = dict(result.provenance)
    packages = made.pop("packages", {})
    columns = made.pop("columns", {})
    options = made.pop("options", {})
    assert isinstance(packages, dict)
    assert isinstance(columns, dict)
    assert isinstance(options, dict)
    versions = {"equipoise": made["equipoise"], "Python": made["python"], **packages}
    return {
        "data": made.get("data"),
        "fingerprint": made.get("fingerprint"),
        "command": made.get("command"),
        "created": made.get("created"),
        "platform": made.get("platform"),
        "schema": result.schema,
        "versions": [{"name": str(name), "value": str(value)} for name, value in versions.items()],
        "settings": [
            {"name": str(name).replace("_", " "), "value": _setting(value)}
            for name, value in [*columns.items(), *options.items()]
            if value not in (None, "", False, [], {})
        ],
    }


def document_provenance(result: Result, call: str) -> Provenance:
    """Return where a result comes from, for its document; ``call`` is the Python function that makes it."""
    made = provenance_of(result)
    versions, settings = made["versions"], made["settings"]
    assert isinstance(versions, list)
    assert isinstance(settings, list)
    facts = [
        ("data", made["data"]), ("fingerprint of the data", made["fingerprint"]),
        ("made", ", ".join(str(made[part]) for part in ("created", "platform") if made[part])),
        ("versions", ", ".join(f"{version['name']} {version['value']}" for version in versions)),
        *((setting["name"], setting["value"]) for setting in settings),
        ("format of the JSON", made["schema"]),
    ]  # fmt: skip
    return Provenance(
        command=str(made["command"]) if made["command"] else None,
        call=call,
        facts=tuple((str(name), str(value)) for name, value in facts if value not in (None, "")),
        created=str(made["created"] or ""),
        version=str(versions[0]["value"]),
    )


def settings_lines(settings: object) -> list[dict[str, object]]:
    """Return settings as names and values in words; those that were left open are left out."""
    lines: list[dict[str, object]] = []
    for name, value in (settings if isinstance(settings, Mapping) else vars(settings)).items():
        if name == "alphas":
            value = f"{len(value)} from {value[0]:g} to {value[-1]:g}"
        if isinstance(value, list | tuple):
            value = listing(value) or None
        if value is not None:
            lines.append({"name": name.replace("_", " "), "value": str(value)})
    return lines


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items() if item is not None)
    return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)
