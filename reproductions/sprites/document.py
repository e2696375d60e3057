"""The benchmark as one JSON document: settings, classifiers, generators, tables, triplets, words for every column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from reproductions.sprites.classifiers import WORDS as CLASSIFIER_WORDS
from reproductions.sprites.methods import METHODS
from reproductions.sprites.planes import WORDS as PLANE_WORDS
from reproductions.sprites.planes import fit_as_json
from reproductions.sprites.running import Benchmark, planes_of, results, taught
from reproductions.sprites.scoring import WORDS as SCORE_WORDS
from reproductions.sprites.summary import WORDS as SUMMARY_WORDS
from reproductions.sprites.summary import summarised

SCHEMA = "equipoise.benchmark.sprites/1"
DIGITS = 5
# Of a triplet's file what a reader of the document has no use for.
LEFT_OUT = ("schema", "asked")
DIRECTION = ("normal", "offset")


def document(benchmark: Benchmark, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return everything that the benchmark found so far."""
    rows, classifiers = results(benchmark), taught(benchmark)
    gaps = {(classifier.pair.target, classifier.pair.biased): classifier.right["gap"] for classifier in classifiers}
    generators, fitted_factors = [], {}
    for name, plan in benchmark.plans().items():
        if benchmark.plane_file(name).is_file():
            planes = planes_of(benchmark, name)
            fitted_factors[name] = planes.told()
            generators.append({"generator": name, **plan.said(), "fits": list(map(fit_as_json, planes.fits))})
    contents = {
        "schema": SCHEMA,
        "settings": {
            "classifiers": asdict(benchmark.taught), "planes": asdict(benchmark.planes),
            "score": benchmark.score.plain(), "device": benchmark.device,
        },
        "asked": len(benchmark.triplets()),
        **(more or {}),
        **summarised(rows, gaps, fitted_factors),
        "classifiers": [asdict(classifier.pair) | classifier.right for classifier in classifiers],
        "generators": generators,
        "triplets": [_short(row) for row in rows],
        "methods": METHODS,
        "words": {"asked": "how many triplets there are to score; fewer are in the tables where a run was stopped",
                  **SUMMARY_WORDS, "a triplet": SCORE_WORDS, "a classifier": CLASSIFIER_WORDS,
                  "a generator": PLANE_WORDS},
    }  # fmt: skip
    rounded: dict[str, Any] = _rounded(contents)
    return rounded


def _short(row: Mapping[str, Any]) -> dict[str, Any]:
    methods = {
        name: None if estimate is None else {key: value for key, value in estimate.items() if key not in DIRECTION}
        for name, estimate in row["methods"].items()
    }
    return {key: value for key, value in row.items() if key not in LEFT_OUT} | {"methods": methods}


def _rounded(value: Any) -> Any:
    """Return a value with fewer digits; what is no number is null."""
    if isinstance(value, float):
        return round(value, DIGITS) if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(entry) for entry in value]
    return value
