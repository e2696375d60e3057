"""What stands at the foot of every page: where its numbers come from, and what none of them says."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.foundation.errors import listing
from equipoise.reports._document import Provenance
from equipoise.results import Result

NOT_CERTIFIED = "No number on this page certifies that a model is fair."


def document_provenance(result: Result, call: str) -> Provenance:
    """Return where a result comes from, for its document; ``call`` is the Python function that makes it."""
    made = dict(result.provenance)
    packages, columns, options = (made.get(part, {}) for part in ("packages", "columns", "options"))
    assert isinstance(packages, dict)
    assert isinstance(columns, dict)
    assert isinstance(options, dict)
    versions = {"equipoise": made["equipoise"], "Python": made["python"], **packages}
    facts = [
        ("data", made.get("data")), ("fingerprint of the data", made.get("fingerprint")),
        ("made", ", ".join(str(made[part]) for part in ("created", "platform") if made.get(part))),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        *((str(name).replace("_", " "), _setting(value)) for name, value in [*columns.items(), *options.items()]
          if value not in (None, "", False, [], {})),
        ("format of the JSON", result.schema),
    ]  # fmt: skip
    return Provenance(
        command=str(made["command"]) if made.get("command") else None,
        call=call,
        facts=tuple((name, str(value)) for name, value in facts if value not in (None, "")),
        created=str(made.get("created") or ""),
        version=str(made["equipoise"]),
    )


def settings_terms(settings: object) -> tuple[tuple[str, str], ...]:
    """Return settings as names and values in words; those that were left open are left out."""
    terms = []
    for name, value in (settings if isinstance(settings, Mapping) else vars(settings)).items():
        if name == "alphas":
            value = f"{len(value)} from {value[0]:g} to {value[-1]:g}"
        if isinstance(value, list | tuple):
            value = listing(value) or None
        if value is not None:
            terms.append((str(name).replace("_", " "), str(value)))
    return tuple(terms)


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items() if item is not None)
    return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)
