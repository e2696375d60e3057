"""Studies whose trials kept embedding spaces, drawn in memory, as the tests of their findings and pages need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from equipoise.studies import StudyResult, Trial
from equipoise.studies.analysis import Composition, Layout, StudyData, TestRows
from equipoise.studies.findings import result_of
from equipoise.studies.findings.spaces._values import StoredArrays, ValueCache, partition_of
from equipoise.studies.plans import (
    Named,
    Recorded,
)
from equipoise.studies.storage import EvaluationLabels, SplitLabels
from equipoise.training import Predicted
from helpers.cases.report import HOSTILE

COHORT = "sha256:" + "e" * 64
HERE = {"processor": "one", "threads": 2, "packages": {"torch": "2.13.0"}}
CLASSES, EACH, WIDTH = 12, 12, 6
COLOURS = ("black", "brown", "red", "white")
# How often a classifier errs beyond the space, by how it was trained.
USUAL = {"own": 0.05, "balanced": 0.02}


@dataclass(frozen=True)
class Method:
    """A learner or treatment: how noisy its space is, and how much noisier for who is minoritised."""

    loss: str
    noise: float = 0.55
    harm: float = 0.9
    learner: str = "metric_learner"
    treatments: tuple[Named, ...] = (Named("untreated", 1, {}),)
    leakage: float = 0.6


@dataclass
class Drawn:
    """What is kept of the trials, by name and place, and what they said of dev and test rows."""

    kept: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    said: dict[tuple[str, int], np.ndarray] = field(default_factory=dict)
    read: list[tuple[str, int]] = field(default_factory=list)

    def recorded(self, data: StudyData) -> list[Recorded]:
        """Return the trials as a store takes them."""
        return [
            Recorded(
                trial, "done", {split: Predicted(self.said[split, index]) for split in ("dev", "test")}, (), 1,
                seconds=1.0, environment=HERE,
                arrays={name: array for (name, at), array in self.kept.items() if at == index},
            )
            for index, trial in enumerate(data.trials)
        ]  # fmt: skip

    def arrays(self, truth: EvaluationLabels | None, remembered: ValueCache | None = None) -> StoredArrays:
        """Return what is kept, as a study reads it."""

        def array(name: str, place: int) -> np.ndarray | None:
            self.read.append((name, place))
            return self.kept.get((name, place))

        names = tuple(dict.fromkeys(name for name, _ in self.kept))
        return StoredArrays(names, array, truth, remembered or ValueCache())


def minoritised(degree: float) -> Named:
    return Named("minoritised", 1, {"degree": degree, "classes": 3})


def study(
    methods: Sequence[Method],
    conditions: Sequence[Named],
    *,
    seeds: int = 8,
    name: str = "birds",
    classes: Sequence[str] = tuple(f"bird {place:02d}" for place in range(CLASSES)),
    colours: Sequence[str] = COLOURS,
    classifiers: Sequence[str] = ("logistic_regression", "random_forest"),
    trainings: Mapping[str, float] = USUAL,
    keeps: Callable[[Trial], bool] = lambda trial: True,
    sensitive: bool = False,
) -> tuple[StudyData, Drawn]:
    """Draw a study: spaces of classes around centres, whose noise grows with imbalance for minoritised classes."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(CLASSES, WIDTH))
    colour_of = np.arange(CLASSES) % len(colours)
    target = {split: np.repeat(np.arange(CLASSES), EACH // (1 + (split == "dev"))) for split in ("dev", "test")}
    trials, tables, predictions, drawn = [], {"dev": [], "test": []}, [], Drawn()
    for condition in conditions:
        for method in methods:
            for seed in range(seeds):
                sides = partition_of(condition, classes, seed)
                degree = float(condition.settings.get("degree", 0.5))
                few = colour_of >= len(colours) // 2 if sides is None else np.array(sides) == "minoritised"
                away = 0.4 if sides is None else (degree - 0.5) * 2
                place = len(trials)
                trials.append(Trial(
                    cohort=COHORT, groups=("colour",), condition=condition, size=240,
                    learner=Named(method.learner, 1, {"loss": method.loss} if method.loss else {}),
                    treatments=method.treatments, seed=seed, repeat=0, rounding="native", precision="float32",
                    device="cpu", selection="last",
                ))  # fmt: skip
                own = np.random.default_rng((seed, 7))
                for split, truth in target.items():
                    spread = method.noise * (1 + method.harm * away * few[truth])[:, None]
                    points = centres[truth] + spread * own.normal(size=(len(truth), WIDTH))
                    points += 0.05 * generator.normal(size=points.shape)
                    points = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float16)
                    if keeps(trials[-1]):
                        drawn.kept[f"embedding.{split}", place] = points
                    said = drawn.said[split, place] = _nearest(points, centres)
                    tables[split].append(np.bincount(
                        (colour_of[truth] * CLASSES + truth) * CLASSES + said, minlength=len(colours) * CLASSES**2
                    ).reshape(len(colours), CLASSES, CLASSES))  # fmt: skip
                    if split == "test":
                        predictions.append(said)
                        for learner in classifiers if keeps(trials[-1]) else ():
                            name, _, code = learner.partition(" ")  # a code of settings, or none
                            for rows, luck in trainings.items():
                                if "domain_independent" in rows and name != "logistic_regression":
                                    continue
                                wrong = generator.random(len(said)) < luck * (1 + 2 * few[truth])
                                guess = np.where(wrong, generator.integers(0, CLASSES, len(said)), said)
                                drawn.kept[".".join(filter(None, ("downstream", name, rows, code, "test"))), place] = (
                                    guess
                                )
                if keeps(trials[-1]) and method.treatments[0].name == "parade":
                    drawn.kept["leakage.embedding", place] = np.array([method.leakage])
                    drawn.kept["leakage.features", place] = np.array([0.9])
                if sensitive and keeps(trials[-1]) and len(method.treatments[0].settings):
                    # Each colour about a corner of its own; streams of their own leave the other cases as they are.
                    corners = np.eye(WIDTH)[colour_of[target["dev"]] % WIDTH]
                    points = corners + 0.1 * np.random.default_rng((seed, 8)).normal(size=corners.shape)
                    drawn.kept["sensitive.0", place] = points.astype(np.float16)
    whole = np.stack(predictions)
    truth = _truth(target, colour_of, classes, colours)
    data = StudyData(
        name=name,
        layout=Layout(("colour",), tuple((colour,) for colour in colours), tuple(classes)),
        trials=tuple(trials),
        tables={split: np.stack(table).astype(np.float64) for split, table in tables.items()},
        seconds=np.ones(len(trials)),
        environments=(HERE,),
        environment=np.zeros(len(trials), dtype=np.int64),
        rows=TestRows(np.arange(len(target["test"])), colour_of[target["test"]], target["test"]),
        predictions=lambda asked: whole[list(asked)],
        compositions={"any": Composition(tuple(classes), tuple(colours), ((5,) * len(colours),) * CLASSES)},
        stored_arrays=drawn.arrays(truth),
    )
    return data, drawn


def _truth(
    target: Mapping[str, np.ndarray], colour_of: np.ndarray, classes: Sequence[str], colours: Sequence[str]
) -> EvaluationLabels:
    splits = {split: SplitLabels(own, colour_of[own]) for split, own in target.items()}
    return EvaluationLabels(
        COHORT, "class", tuple(classes), ("colour",), tuple((colour,) for colour in colours), splits
    )


def _nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    units = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    return (points.astype(np.float64) @ units.T).argmax(axis=1)


def parade(alpha: float, rho: float) -> tuple[Named, ...]:
    return (Named("parade", 1, {"alpha": alpha, "rho": rho, "scaling": "mean", "shuffled": False}),)


RAW = Method("", noise=0.8, harm=0.0, learner="raw_features")


@cache
def imbalance() -> StudyResult:
    """Two losses and the raw features under three degrees of imbalance, eight draws."""
    methods = (Method("margin"), Method("triplet", noise=0.7, harm=0.5), RAW)
    data, _ = study(methods, [minoritised(degree) for degree in (0.5, 0.7, 0.9)])
    return result_of(data, command=["equipoise", "study", "report", "findml.toml"])


@cache
def trainings() -> StudyResult:
    """Classifiers that were oversampled, trained domain by domain, and in a way that nobody here knows."""
    more = {**USUAL, "oversampled": 0.03, "domain_independent": 0.2, "re_weighted": 0.04}
    data, _ = study([Method("margin"), Method("triplet")], [minoritised(0.5), minoritised(0.9)], trainings=more)
    return result_of(data)


@cache
def sweep() -> StudyResult:
    """Logistic regression with five values of C and one chosen on dev rows, and a forest; also on balanced rows."""
    codes = ("c_0p01__std_no", "c_0p1__std_no", "std_no", "c_10p0__std_no", "c_100p0__std_no", "c_dev__std_no")
    more = {**USUAL, "balanced_oversampled": 0.03, "balanced_domain_independent": 0.2}
    data, _ = study(
        [Method("margin"), Method("triplet")], [minoritised(0.5), minoritised(0.9)], seeds=4, trainings=more,
        classifiers=(*(f"logistic_regression {code}" for code in codes), "random_forest"),
    )  # fmt: skip
    return result_of(data)


def grid_data(**how: Any) -> tuple[StudyData, Drawn]:
    methods = [Method("margin", noise=0.6, harm=1.0)]
    methods += [
        Method("margin", noise=0.6 + 0.1 * alpha, harm=0.8 - rho / 4000, treatments=parade(alpha, rho),
               leakage=0.7 - rho / 8000)
        for alpha in (0.1, 0.5) for rho in (0.0, 150.0, 1500.0)
    ]  # fmt: skip
    return study([*methods, RAW], [Named("as_given", 1, {})], **how)


@cache
def grid() -> StudyResult:
    """PARADE over a grid of alpha and rho, against untreated, by colour."""
    return result_of(grid_data()[0])


def apart_data(**how: Any) -> tuple[StudyData, Drawn]:
    methods = (Method("margin"), Method("margin", noise=0.6, harm=0.4, treatments=parade(0.3, 1500.0)))
    data, drawn = study(methods, [Named("as_given", 1, {})], **{"seeds": 2, "sensitive": True, **how})
    return replace(data, pictures=painted), drawn


def painted(rows: np.ndarray) -> np.ndarray:
    """Return a plain picture a dev row, whose shade is its place."""
    return np.broadcast_to((3 * rows).astype(np.uint8)[:, None, None, None], (len(rows), 48, 48, 3))


@cache
def apart() -> StudyResult:
    """PARADE whose trials kept the sensitive space of dev rows, and a cohort that can show its pictures."""
    return result_of(apart_data()[0])


@cache
def mixed() -> StudyResult:
    """Trials of which some kept nothing, one seed each: nothing can be paired."""
    methods = (Method("margin"), Method("", learner="mlp"))
    data, _ = study(
        methods, [minoritised(0.5), minoritised(0.9)], seeds=1, keeps=lambda trial: trial.learner.name != "mlp"
    )
    return result_of(data)


@cache
def hostile() -> StudyResult:
    """Names that try to run, to break out or to break the page."""
    classes = [f"{HOSTILE[place % len(HOSTILE)]}{place}" for place in range(CLASSES)]
    methods = (Method(HOSTILE[2]), Method(HOSTILE[2], treatments=(Named(HOSTILE[3], 1, {HOSTILE[4]: 1}),)))
    data, _ = study(
        methods, [Named(HOSTILE[1], 1, {HOSTILE[2]: HOSTILE[4]})], seeds=3, name=HOSTILE[0], classes=classes,
        colours=HOSTILE[:3], classifiers=("own_one",), sensitive=True,
    )  # fmt: skip
    data = replace(data, pictures=painted)
    return result_of(data, command=["equipoise", "</script><script>window.injected = 4</script>"])


CASES: Mapping[str, Callable[[], StudyResult]] = {
    "imbalance": imbalance, "grid": grid, "apart": apart, "mixed": mixed, "hostile": hostile, "trainings": trainings,
    "sweep": sweep,
}  # fmt: skip
