"""One JSON document of each kind, as programs read them, made of small data: what is frozen in tests/fixtures.

A document may gain fields. What it has said it says again: numbers to seven digits, names, statuses and verdicts as
they are. Sentences are for people and may be reworded, so only that they are there is compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import equipoise
from equipoise.audits.embedding import audit_embedding
from equipoise.studies.findings import result_of
from equipoise.studies.findings.identical._paper import reproduction_of
from fixture_cases import CASES, mixed
from helpers.cases import investigation as investigation_cases
from helpers.cases import study as study_cases

FOLDER = "documents"
# Fields that say where and when, or how long it took: they are there, and differ.
VOLATILE = frozenset({"provenance", "environments", "seconds", "seconds_ratio", "deterministic_times"})
# What is written for people to read.
PROSE = frozenset({
    "words", "differences", "notes", "note", "claim", "here", "reason", "sentence", "headline", "scope", "explanation",
    "caption", "limits", "summary", "description", "remedy", "message", "title", "spread_note", "undefined", "why",
})  # fmt: skip
# Of these kinds numbers depend on the processor, and only what is named is compared.
BY_PROCESSOR = frozenset({"diagnosis"})
# A whole number that the processor's rounding decides: a distance in units in the last place.
ROUNDED = frozenset({"units"})
CLOSE = 1e-7

Document = Mapping[str, Any]


def audit() -> Document:
    """Audit 400 people with scores."""
    rows = 400
    sex = np.array(["Female", "Male"])[mixed(rows, 1) % 2]
    truth = mixed(rows, 3) % 10 < np.where(sex == "Male", 5, 3)
    score = np.clip((mixed(rows, 4) % 100 + 30 * truth) / 130, 0, 1)
    return equipoise.audit(
        target=np.where(truth, "yes", "no"), score=score, favourable="yes",
        sensitive_features={"sex": sex}, draws=100,
    ).as_json()  # fmt: skip


def audit_of_embedding() -> Document:
    """Audit the embedding of 120 pictures of 20 people."""
    person = np.arange(120) % 20
    group = np.array(["a", "b"])[person % 2]
    points = np.stack([mixed(20, 10 + place)[person] % 97 / 97 for place in range(6)], axis=1)
    points += np.stack([mixed(120, 20 + place) % 89 / 300 for place in range(6)], axis=1)
    return audit_embedding(
        points, rows={"person": person, "group": group}, target="person", sensitive_features="group",
        cluster="person", draws=50,
    ).as_json()  # fmt: skip


def compare() -> Document:
    """Compare the representations of 200 people before and after a change that hits one group."""
    before = np.stack([mixed(200, 30 + place) % 101 / 50 - 1 for place in range(6)], axis=1)
    sex = np.array(["Female", "Male"])[mixed(200, 40) % 2]
    moved = np.stack([mixed(200, 50 + place) % 101 / 50 - 1 for place in range(6)], axis=1)
    after = before + moved * np.where(sex == "Female", 0.8, 0.1)[:, None]
    return equipoise.compare(before, after, sensitive_features={"sex": sex}, draws=100).as_json()


def evidence() -> Document:
    """Weigh 8 identical runs of three techniques."""
    columns: dict[str, list[Any]] = {"technique": [], "metric": [], "run": [], "value": []}
    for at, (technique, shift) in enumerate((("untreated", 0.0), ("one", -0.03), ("two", 0.002))):
        for number, (metric, base) in enumerate((("DP", 0.3), ("accuracy", 0.9))):
            for run, noise in enumerate((mixed(8, 60 + 2 * at + number) % 1_000 / 1e5).tolist()):
                for name, value in zip(columns, (technique, metric, str(run), base + shift + noise), strict=True):
                    columns[name].append(value)
    names = {name: name for name in columns}
    return equipoise.evidence(columns, **names, baseline="untreated", performance="accuracy").as_json()


def ranking() -> Document:
    """Audit rankings of 480 people in 40 queries, with relevance and ties."""
    rows = 480
    sex = np.array(["Female", "Male"])[mixed(rows, 70) % 2]
    score = mixed(rows, 71) % 40 + np.where(sex == "Male", 8, 0)
    return equipoise.ranking(
        {"score": score, "query": mixed(rows, 72) % 40, "relevance": mixed(rows, 73) % 3, "sex": sex},
        score="score", query="query", relevance="relevance", sensitive_features="sex", top=[3, "20%"], draws=100,
    ).as_json()  # fmt: skip


def study() -> Document:
    """Report a study of two treatments, two conditions, four seeds and two identical runs of each."""
    return result_of(study_cases.study(arms=study_cases.ARMS[:2], seeds=4, repeats=2, people=400)).as_json()


def reproduction() -> Document:
    """Compare a study of identical runs with Qian et al. 2021."""
    data = study_cases.study(arms=study_cases.ARMS[:3], seeds=1, repeats=6, people=400)
    return reproduction_of(result_of(data)).as_json()


def diagnosis() -> Document:
    """Follow two jittered runs step by step."""
    case = next(case for case in CASES if case.name == "mlp")
    made = equipoise.Study(
        case.cohort(), learner={"name": "mlp", **case.settings}, seeds=1, repeats=2, rounding="jitter", name="frozen"
    )
    return made.diagnose(steps=4).as_json()


def discovery() -> Document:
    """Write an investigation that found a direction."""
    return investigation_cases.found().as_json()


DOCUMENTS: dict[str, Callable[[], Document]] = {
    "audit": audit, "audit-embedding": audit_of_embedding, "compare": compare, "evidence": evidence,
    "ranking": ranking, "study": study,
    "reproduction": reproduction, "diagnosis": diagnosis, "discovery": discovery,
}  # fmt: skip


def frozen(content: Document) -> Document:
    """Return a document as it is kept: of what is volatile only the names of the fields, and shorter numbers."""
    made: Document = _frozen(json.loads(json.dumps(content, allow_nan=False)))
    return made


def _frozen(value: Any, name: str = "") -> Any:
    if name in VOLATILE:
        return sorted(value) if isinstance(value, dict) else None
    if isinstance(value, dict):
        return {key: _frozen(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_frozen(one, name) for one in value]
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value


def changes(kept: Any, now: Any, *, loose: bool = False, place: str = "", name: str = "") -> Iterator[str]:
    """Yield what a document no longer says as it was kept; fields that were added are no change."""
    if name in VOLATILE:
        if isinstance(kept, list) and isinstance(now, dict) and not set(kept) <= set(now):
            yield f"{place} lost {sorted(set(kept) - set(now))}"
    elif name in PROSE:
        if (kept is None) != (now is None):
            yield f"{place} was {kept!r} and is {now!r}"
    elif isinstance(kept, dict):
        if not isinstance(now, dict):
            yield f"{place} is no object any more"
            return
        for key, value in kept.items():
            if key not in now:
                yield f"{place}/{key} is missing"
            else:
                yield from changes(value, now[key], loose=loose, place=f"{place}/{key}", name=key)
    elif isinstance(kept, list):
        if not isinstance(now, list) or len(now) != len(kept):
            yield f"{place} had {len(kept)} entries and has {len(now) if isinstance(now, list) else now!r}"
            return
        for at, (value, other) in enumerate(zip(kept, now, strict=True)):
            yield from changes(value, other, loose=loose, place=f"{place}/{at}", name=name)
    elif loose and name in ROUNDED:
        if not isinstance(now, int | float) or isinstance(now, bool):
            yield f"{place} was {kept!r} and is {now!r}"
    elif not _same(kept, now, loose=loose):
        yield f"{place} was {kept!r} and is {now!r}"


def _same(kept: Any, now: Any, *, loose: bool) -> bool:
    numbers = isinstance(kept, int | float) and not isinstance(kept, bool)
    if not numbers:
        return bool(kept == now)
    if not isinstance(now, int | float) or isinstance(now, bool):
        return False
    return (loose and isinstance(kept, float)) or math.isclose(kept, now, rel_tol=CLOSE, abs_tol=CLOSE)
