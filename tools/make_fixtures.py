"""Write the fixtures that later versions must not change: trial keys, predictions, and a JSON document of each kind.

python tools/make_fixtures.py keys            tests/fixtures/trial_keys.json
python tools/make_fixtures.py predictions     tests/fixtures/predictions.npz and predictions.json (what made them)
python tools/make_fixtures.py documents       tests/fixtures/documents/*.json
python tools/make_fixtures.py all

A file that is there is left alone and the command fails, unless it is given --overwrite: a fixture that changes means
that stored trials are no longer found, that trainings come out otherwise, or that programs read other fields. Say
which, and why, in the change that does it. Stores of each version are frozen by tests/studies/storage/stores/freeze.py.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import numpy as np  # noqa: E402 - threads are set before it starts any

import fixture_cases as cases  # noqa: E402 - it is found beside the tests
import fixture_documents as documents  # noqa: E402


def written(name: str, text: str) -> None:
    """Write a text beside the other fixtures."""
    path = cases.FIXTURES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def as_json(content: Any, indent: int | None = 1) -> str:
    """Write JSON as the fixtures have it."""
    return json.dumps(content, indent=indent, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"


def make_keys() -> None:
    """Freeze the key of every trial."""
    written(cases.KEYS, as_json({case.name: cases.keys_of(case) for case in cases.CASES}))


def make_predictions() -> None:
    """Train every case and freeze what it predicts."""
    found: cases.Arrays = {}
    for case in cases.CASES:
        with tempfile.TemporaryDirectory() as folder:
            found |= cases.predicted(case, Path(folder))
    cases.FIXTURES.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(cases.FIXTURES / cases.PREDICTIONS, **found)  # type: ignore[arg-type]
    size = (cases.FIXTURES / cases.PREDICTIONS).stat().st_size
    print(f"tests/fixtures/{cases.PREDICTIONS}: {len(found):,} arrays, {size:,} bytes")
    written(cases.MADE_ON, as_json(cases.machine()))


def make_documents() -> None:
    """Freeze a JSON document of each kind."""
    for name, make in documents.DOCUMENTS.items():
        written(f"{documents.FOLDER}/{name}.json", as_json(documents.frozen(make()), indent=None))


MAKERS: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "keys": (make_keys, (cases.KEYS,)),
    "predictions": (make_predictions, (cases.PREDICTIONS, cases.MADE_ON)),
    "documents": (make_documents, tuple(f"{documents.FOLDER}/{name}.json" for name in documents.DOCUMENTS)),
}


def main() -> None:
    """Make what is asked for, and overwrite nothing that was not given up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*MAKERS, "all"])
    parser.add_argument("--overwrite", action="store_true", help="replace fixtures that are there")
    asked = parser.parse_args()
    chosen = list(MAKERS) if asked.what == "all" else [asked.what]
    there = [file for name in chosen for file in MAKERS[name][1] if (cases.FIXTURES / file).exists()]
    if there and not asked.overwrite:
        raise SystemExit(
            f"frozen already: {', '.join(there[:3])}{' ...' if len(there) > 3 else ''}\n"
            "help: give --overwrite to replace them, and say in the change why stored results mean something else now"
        )
    warnings.simplefilter("ignore")
    for name in chosen:
        MAKERS[name][0]()


if __name__ == "__main__":
    main()
