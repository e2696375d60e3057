"""What later versions must not change: keys of trials, predictions to the last bit, and what JSON documents say.

``python tools/make_fixtures.py --help`` says how they were made. Of predictions two comparisons are made. Where
processor features and packages are those of the machine that made them (``predictions*.json``), every bit is compared.
Elsewhere another instruction set rounds otherwise: every score must lie within ``SCORES_WITHIN`` of the frozen one (an
embedding, which is kept in half precision, within ``HALVES_WITHIN``), and a class may differ only where its score is
that close to another's. The largest deviation is in the message.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fixture_cases as cases
from helpers import fixture_documents as documents

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
LARGEST = 2_000_000


@pytest.fixture(scope="module")
def kept() -> cases.Arrays:
    return cases.read_predictions()


def test_every_learner_and_treatment_is_frozen() -> None:
    assert cases.learners_without_case() == [], "a learner has no case in tests/fixture_cases.py"
    frozen = cases.read_json(cases.KEYS)
    for case in cases.CASES:
        names = frozen.get(case.name, {})
        for treatment in () if case.learner == "own" else case.fitting():
            name = treatment["name"]
            found = case.treatments is not None or any(one.startswith(name) for one in names)
            assert found, f"{name} with {case.name} is not frozen: python tools/make_fixtures.py keys --add {name}"


def test_every_frozen_trial_has_frozen_predictions_and_each_stands_once(kept: cases.Arrays) -> None:
    files = [set(cases.read_arrays(path)) for path in cases.prediction_files()]
    assert sum(map(len, files)) == len(set().union(*files)) == len(kept)
    for case, keys in cases.read_json(cases.KEYS).items():
        # Predictions are frozen of the condition as given alone; a store writes 1.0 as 1.
        trials = sum(" | as_given | " in name for name in keys)
        trained = {name.rpartition(" | ")[0] for name in kept if name.startswith(f"{case} | ")}
        assert len(trained) == trials, f"{case}: python tools/make_fixtures.py predictions --add NAME"


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_trials_keep_their_keys(case: cases.Case) -> None:
    """A key that changes loses every stored trial of it; a new treatment adds keys and changes none."""
    frozen, now = cases.read_json(cases.KEYS)[case.name], cases.keys_of(case)
    assert {name: now.get(name) for name in frozen} == frozen


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_trials_predict_what_they_predicted(case: cases.Case, kept: cases.Arrays, tmp_path: Path) -> None:
    now = cases.predicted(case, tmp_path)
    frozen = {name: array for name, array in kept.items() if name.startswith(f"{case.name} | ")}
    assert set(frozen) <= set(now), f"no longer there: {sorted(set(frozen) - set(now))[:3]}"
    exact = cases.made_here()
    deviations = {name: deviation(name, frozen, now) for name in frozen}
    for name, deviates in sorted(deviations.items(), key=lambda item: -item[1]):
        how = "to the last bit" if name in exact else "but for rounding (another processor or other packages)"
        within = cases.HALVES_WITHIN if frozen[name].dtype == np.float16 else cases.SCORES_WITHIN
        within = 0.0 if name in exact else max(within, cases.amplified(name))
        assert deviates <= within, f"{name} deviates by {deviates:.3g}, and is to agree {how}"


def deviation(name: str, frozen: cases.Arrays, now: cases.Arrays) -> float:
    """Return how far an array lies from the frozen one; of classes, how far their scores lie apart at the most.

    A class that differs deviates by the margin by which the frozen scores preferred it; without scores, infinitely.
    """
    old, new = frozen[name], now[name]
    if old.shape != new.shape or old.dtype != new.dtype:
        return np.inf
    if old.dtype.kind == "f":
        apart = np.abs(old.astype(np.float64) - new) / np.maximum(np.abs(old.astype(np.float64)), 1.0)
        return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))
    rows = np.flatnonzero(old != new)
    if not len(rows):
        return 0.0
    scores = frozen.get(name.removesuffix("values") + "scores")
    if scores is None:
        return np.inf
    return float((scores[rows, old[rows]] - scores[rows, new[rows]]).max())


@pytest.mark.parametrize("name", documents.DOCUMENTS)
def test_a_document_says_what_it_said(name: str) -> None:
    """Fields may be added. One that is missing, or says something else, needs a new major of the schema."""
    path = cases.FIXTURES / documents.FOLDER / f"{name}.json"
    if not path.exists():
        pytest.skip("it is frozen last: python tools/make_fixtures.py documents")
    now = documents.DOCUMENTS[name]()
    found = list(documents.changes(cases.read_json(f"{documents.FOLDER}/{name}.json"), now,
                                   loose=name in documents.BY_PROCESSOR))  # fmt: skip
    assert not found, f"{len(found)} changes, such as: {'; '.join(found[:5])}"


def test_what_a_document_loses_or_says_otherwise_is_noticed() -> None:
    kept = {"schema": "equipoise.audit/1", "records": [{"value": 0.5, "name": "a", "words": "so"}], "seconds": None}
    same = {"schema": "equipoise.audit/1", "records": [{"value": 0.5, "name": "a", "words": "other", "more": 1}],
            "seconds": 3.0}  # fmt: skip
    assert not list(documents.changes(kept, same))
    assert list(documents.changes(kept, {**same, "schema": "equipoise.audit/2"}))
    assert list(documents.changes(kept, {**same, "records": []}))
    assert list(documents.changes(kept, {**same, "records": [{"value": 0.5001, "name": "a", "words": "so"}]}))
    assert list(documents.changes(kept, {**same, "records": [{"value": None, "name": "a", "words": "so"}]}))
    assert list(documents.changes(kept, {"records": same["records"], "seconds": 1.0}))
    # What the processor's rounding decides may differ where the processor may.
    assert not list(documents.changes({"units": 1}, {"units": 2}, loose=True))
    assert list(documents.changes({"units": 1}, {"units": None}, loose=True))
    assert list(documents.changes({"units": 1}, {"units": 2}))


def test_the_fixtures_are_small() -> None:
    assert sum(path.stat().st_size for path in cases.FIXTURES.rglob("*") if path.is_file()) < LARGEST


def test_a_fixture_is_not_overwritten_unasked() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_fixtures.py", "keys"], capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert "frozen already: trial_keys.json" in ran.stderr
    assert "--overwrite" in ran.stderr
