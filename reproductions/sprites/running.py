"""Running the benchmark: what is missing is made, each thing a file that is whole or not there.

Classifiers first (all at once), then the planes of each generator, then the triplets, in several processes where asked.
What a process was doing when it was killed is done again; nothing else is.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.discovery import LEAST
from equipoise.discovery.generative import StepProgress
from equipoise.foundation import BadInput, require, write_file
from reproductions.sprites.classifiers import (
    BiasedClassifier,
    ClassifierSettings,
    load_classifier,
    train_classifiers,
)
from reproductions.sprites.generators import GeneratorPlan, fingerprint, load_generator, stored
from reproductions.sprites.planes import GeneratorPlanes, fitted_planes, load_planes, save_planes
from reproductions.sprites.scoring import ScoreSettings, scored
from reproductions.sprites.triplets import PAIRS, Pair, Triplet, triplets_of

SCHEMA = "equipoise.benchmark.triplet/1"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PlaneSettings:
    """How planes are fitted: sprites encoded, steps of the Hessian penalty (0: none), and what a fit must reach."""

    rows: int = 20_000
    calm_steps: int = 200
    least_r2: float = LEAST["R2"]
    least_auc: float = LEAST["AUC"]
    seed: int = 0


@dataclass(frozen=True)
class Benchmark:
    """Where everything is, and how it is made."""

    generators: Path
    classifiers: Path
    work: Path
    pairs: tuple[Pair, ...] = PAIRS
    methods: tuple[str, ...] = ()
    taught: ClassifierSettings = field(default_factory=ClassifierSettings)
    planes: PlaneSettings = field(default_factory=PlaneSettings)
    score: ScoreSettings = field(default_factory=ScoreSettings)
    device: str = "cpu"
    jobs: int = 1

    def plans(self) -> dict[str, GeneratorPlan]:
        """Return the generators there are."""
        return stored(self.generators)

    def triplets(self) -> list[Triplet]:
        """Return every triplet to score."""
        return triplets_of(self.plans(), self.pairs)

    def plane_file(self, generator: str) -> Path:
        """Return the file of a generator's planes."""
        return self.work / "planes" / f"{generator}.json"

    def triplet_file(self, triplet: Triplet) -> Path:
        """Return the file of a triplet's scores."""
        return self.work / "triplets" / f"{triplet.name}.json"

    def planes_asked(self, generator: str) -> dict[str, Any]:
        """Return what a generator's planes depend on."""
        return asdict(self.planes) | {"generator": fingerprint(self.generators, generator)}

    def asked(self, generator: str) -> dict[str, Any]:
        """Return what a triplet's scores depend on."""
        return {"score": self.score.plain(), "planes": self.planes_asked(generator), "taught": asdict(self.taught)}


def run(benchmark: Benchmark, progress: Progress, seconds: float = math.inf) -> None:
    """Make everything that is missing; no triplet is begun after so many seconds."""
    started = time.monotonic()
    for folder in (benchmark.classifiers, benchmark.work / "planes", benchmark.work / "triplets"):
        folder.mkdir(parents=True, exist_ok=True)
    teach(benchmark, progress)
    fit = [name for name in benchmark.plans() if not benchmark.plane_file(name).is_file()]
    for done, _ in enumerate(_spread(benchmark, partial(_fit, benchmark), fit), 1):
        progress("generators whose planes are fitted", done, len(fit))
    todo = [triplet for triplet in benchmark.triplets() if lacking(benchmark, triplet)]
    # One seed of every kind first: what is stopped early is whole in itself.
    todo.sort(key=lambda triplet: (triplet.plan.seed, benchmark.pairs.index(triplet.pair)))
    with closing(_spread(benchmark, partial(_score, benchmark), todo)) as scoring:
        for done, _ in enumerate(scoring, 1):
            progress("triplets", done, len(todo))
            if time.monotonic() - started > seconds:
                break


def teach(benchmark: Benchmark, progress: Progress) -> None:
    """Train the classifiers that are missing, all at once; those there must have been taught in the same way."""
    trained = [pair for pair in benchmark.pairs if _classifier_file(benchmark, pair).is_file()]
    for pair in trained:
        taught = load_classifier(_classifier_file(benchmark, pair)).settings
        if taught != benchmark.taught:
            raise BadInput(
                f"The classifier {pair.name} was taught with {asdict(taught)}", available=f"{asdict(benchmark.taught)}",
                help="name another folder.",
            )  # fmt: skip
    todo = [pair for pair in benchmark.pairs if pair not in trained]
    if not todo:
        return

    def told(stand: StepProgress) -> None:
        progress(f"steps of {len(todo)} classifiers", stand.step, stand.steps)

    for classifier in train_classifiers(todo, benchmark.taught, benchmark.device, report=told):
        classifier.save(_classifier_file(benchmark, classifier.pair))


def lacking(benchmark: Benchmark, triplet: Triplet) -> list[str]:
    """Return the methods that a triplet's file has not; one scored in another way is refused."""
    stored_result = _read(benchmark, triplet)
    if stored_result is None:
        return list(benchmark.methods)
    if stored_result["asked"] != benchmark.asked(triplet.generator):
        raise BadInput(
            f"{benchmark.triplet_file(triplet).name} was scored with {stored_result['asked']}",
            available=f"{benchmark.asked(triplet.generator)}", help="name another folder (--work).",
        )  # fmt: skip
    return (
        []
        if stored_result["unfitted"]
        else [method for method in benchmark.methods if method not in stored_result["methods"]]
    )


def results(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return what the files of all triplets say, those there are."""
    stored_results = [_read(benchmark, triplet) for triplet in benchmark.triplets()]
    return [stored_result for stored_result in stored_results if stored_result is not None]


def taught(benchmark: Benchmark) -> list[BiasedClassifier]:
    """Return the classifiers of all pairs."""
    return [load_classifier(_classifier_file(benchmark, pair)) for pair in benchmark.pairs]


def planes_of(benchmark: Benchmark, generator: str) -> GeneratorPlanes:
    """Return the planes of a generator."""
    return load_planes(benchmark.plane_file(generator), benchmark.planes_asked(generator))


def _spread(benchmark: Benchmark, work: Callable[[Any], None], tasks: Sequence[Any]) -> Generator[None, None, None]:
    """Do every task, here or in processes of their own."""
    if benchmark.jobs < 2 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    # A process that already uses a graphics card cannot be forked; one that is killed breaks the pool, aloud.
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(benchmark.jobs, len(tasks)), mp_context=spawned, initializer=_alone) as pool:
        try:
            for future in as_completed([pool.submit(work, task) for task in tasks]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _alone() -> None:
    """Let a process among several keep to one core."""
    require("torch", extra="train", purpose="The benchmark").set_num_threads(1)


def _fit(benchmark: Benchmark, name: str) -> None:
    settings = benchmark.planes
    vae = load_generator(benchmark.generators, name, benchmark.device)
    least = {"R2": settings.least_r2, "AUC": settings.least_auc}
    planes = fitted_planes(vae, rows=settings.rows, seed=settings.seed, calm_steps=settings.calm_steps, least=least)
    save_planes(benchmark.plane_file(name), planes, benchmark.planes_asked(name))


def _score(benchmark: Benchmark, triplet: Triplet) -> None:
    earlier = _read(benchmark, triplet)
    scores = scored(
        load_generator(benchmark.generators, triplet.generator, benchmark.device).generator(),
        load_classifier(_classifier_file(benchmark, triplet.pair), benchmark.device).classifier(),
        planes_of(benchmark, triplet.generator),
        triplet.pair, triplet.generator, benchmark.methods, benchmark.score, earlier["methods"] if earlier else None,
    )  # fmt: skip
    contents = {
        "schema": SCHEMA, "generator": triplet.generator, **triplet.plan.said(), **asdict(triplet.pair),
        "asked": benchmark.asked(triplet.generator), **scores,
    }  # fmt: skip
    write_file(benchmark.triplet_file(triplet), json.dumps(contents, indent=1, allow_nan=False) + "\n")


def _read(benchmark: Benchmark, triplet: Triplet) -> dict[str, Any] | None:
    path = benchmark.triplet_file(triplet)
    if not path.is_file():
        return None
    contents: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if contents.get("schema") != SCHEMA:
        raise BadInput(f"{path.name} is no file of a triplet", available=SCHEMA, help="name another folder (--work).")
    return contents


def _classifier_file(benchmark: Benchmark, pair: Pair) -> Path:
    return benchmark.classifiers / f"{pair.name}.safetensors"
