"""Write the fixtures that later versions must not change: trial keys, predictions, and a JSON document of each kind.

python tools/make_fixtures.py keys            tests/fixtures/trial_keys.json
python tools/make_fixtures.py predictions     tests/fixtures/predictions.npz and predictions.json (what made them)
python tools/make_fixtures.py documents       tests/fixtures/documents/*.json
python tools/make_fixtures.py all
python tools/make_fixtures.py keys --add NAME          keys of trials that have none yet
python tools/make_fixtures.py predictions --add NAME   those that are not frozen, as predictions_NAME.npz and .json

With --add nothing changes that is there. Else a file that is there is left alone and the command fails, unless it is
given --overwrite: a fixture that changes means that stored trials are no longer found, that trainings come out
otherwise, or that programs read other fields. Say which, and why, in the change that does it. Stores of each version
are frozen by tests/studies/storage/stores/freeze.py.
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
from helpers import fixture_documents as documents  # noqa: E402


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


def add_keys(name: str) -> None:
    """Freeze the keys of trials that have none yet."""
    frozen = cases.read_json(cases.KEYS)
    written(cases.KEYS, as_json({case.name: cases.keys_of(case) | frozen.get(case.name, {}) for case in cases.CASES}))


def make_predictions() -> None:
    """Train every case and freeze what it predicts."""
    write_predictions(cases.PREDICTIONS, predicted())


def add_predictions(name: str) -> None:
    """Freeze what is predicted by trials that are not frozen yet, in a file of their own."""
    path, frozen = cases.FIXTURES / cases.ADDED.format(name=name), cases.read_predictions()
    if path.exists():
        raise SystemExit(f"frozen already: {path.name}\nhelp: give another name with --add")
    found = {name: array for name, array in predicted().items() if name not in frozen}
    if not found:
        raise SystemExit("every trial is frozen already")
    write_predictions(path.name, found)


def predicted() -> cases.Arrays:
    """Train every case and return what it predicts."""
    found: cases.Arrays = {}
    for case in cases.CASES:
        with tempfile.TemporaryDirectory() as folder:
            found |= cases.predicted(case, Path(folder))
    return found


def write_predictions(name: str, found: cases.Arrays) -> None:
    """Write predictions beside what made them."""
    cases.FIXTURES.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(cases.FIXTURES / name, **found)  # type: ignore[arg-type]
    size = (cases.FIXTURES / name).stat().st_size
    print(f"tests/fixtures/{name}: {len(found):,} arrays, {size:,} bytes")
    written(Path(name).with_suffix(".json").name, as_json(cases.machine()))


def make_documents() -> None:
    """Freeze a JSON document of each kind."""
    for name, make in documents.DOCUMENTS.items():
        written(f"{documents.FOLDER}/{name}.json", as_json(documents.frozen(make()), indent=None))


MAKERS: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "keys": (make_keys, (cases.KEYS,)),
    "predictions": (make_predictions, (cases.PREDICTIONS, cases.MADE_ON)),
    "documents": (make_documents, tuple(f"{documents.FOLDER}/{name}.json" for name in documents.DOCUMENTS)),
}


ADDERS: dict[str, Callable[[str], None]] = {"keys": add_keys, "predictions": add_predictions}


def main() -> None:
    """Make what is asked for, and overwrite nothing that was not given up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*MAKERS, "all"])
    parser.add_argument("--overwrite", action="store_true", help="replace fixtures that are there")
    parser.add_argument("--add", metavar="NAME", help="freeze what is new alone (keys and predictions)")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.add is not None:
        if asked.what not in ADDERS or not asked.add.isidentifier():
            raise SystemExit(f"--add {asked.add} was given with {asked.what}\nhelp: {' or '.join(ADDERS)} --add NAME")
        ADDERS[asked.what](asked.add)
        return
    chosen = list(MAKERS) if asked.what == "all" else [asked.what]
    there = [file for name in chosen for file in MAKERS[name][1] if (cases.FIXTURES / file).exists()]
    if there and not asked.overwrite:
        raise SystemExit(
            f"frozen already: {', '.join(there[:3])}{' ...' if len(there) > 3 else ''}\n"
            "help: give --overwrite to replace them, and say in the change why stored results mean something else now"
        )
    for name in chosen:
        MAKERS[name][0]()


if __name__ == "__main__":
    main()
