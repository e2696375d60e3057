"""How often a study calls a difference that is not there, and how often it finds one that is: through the public API.

A simulated study is a ``Study`` of a training function that emits predictions made up here. It is run into a store and
reported as any other; the p-values of its report are counted at the levels 0.05, 0.05 / 6 and 0.05 / 36, as they decide
alone, among six and among 36 comparisons. Everything is told with its Monte Carlo standard error.

The long version, resumable setting by setting (a setting that is in the file already is not run again):

    python tests/simulations/test_study_verdicts.py --simulations 2000 --workers 16 --json verdicts.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

from equipoise import Cohort, Study
from equipoise.stats import (
    add_people_variance,
    banerjee_critical_value,
    paired_change,
)
from equipoise.studies.running import run_in_store

pytestmark = pytest.mark.long

Rows = list[dict[str, Any]]

LEVELS = {"0.05": 0.05, "0.05/6": 0.05 / 6, "0.05/36": 0.05 / 36}
RATIOS = (0.0, 0.25, 0.5, 1.0, 2.0)
SEEDS = (3, 5, 12)
# Comparisons of one simulated study, and the people it is tested on.
REPLICATES, PEOPLE, DEV = 100, 400, 20
# The standard error that seeds give a change; everything else is told in multiples of it.
SCALE = 0.05
# Of the studies of classes: how often the baseline is right.
RIGHT = 0.7


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    ``ratio`` is the standard error of people over that of seeds; with ``interaction`` half of the spread of seeds is
    what single seeds do to single people. ``shape`` is the distribution of seeds: normal, skewed (lognormal) or
    collapsing (a fifth of them far off). ``effect`` is the true change in total standard errors. ``task`` is a
    regression, whose mean residual is exactly a mean over seeds and people, or classes, of which accuracy, fairness and
    the distance to the optimum are looked at.
    """

    seeds: int
    ratio: float
    interaction: bool = False
    shape: str = "normal"
    effect: float = 0.0
    task: str = "regression"

    @property
    def name(self) -> str:
        """How a setting is known in the file."""
        people = "" if self.task == "class" else f", people/seeds {self.ratio:g}"
        parts = [f"{self.task}, {self.seeds} seeds{people}", self.shape]
        parts += ["seed x person"] if self.interaction else []
        parts += [f"effect {self.effect:g} SE"] if self.effect else []
        return ", ".join(parts)


def settings() -> list[Setting]:
    """Return what the long version simulates: true nulls first, then shapes, classes and power."""
    nulls = [Setting(s, r, i) for s in SEEDS for r in RATIOS for i in (False, True)]
    shapes = [Setting(s, 0.5, True, shape) for shape in ("skewed", "collapsing") for s in SEEDS]
    classes = [Setting(s, math.nan, True, task="class") for s in SEEDS]
    power = [Setting(s, r, True, effect=4.0) for s in SEEDS for r in RATIOS]
    return [*nulls, *shapes, *classes, *power]


# What the function of the study now run sees; each process has its own.
CURRENT: dict[str, Any] = {}


def simulated(cohort: Cohort, seed: int, replicate: int) -> tuple[np.ndarray, np.ndarray]:
    """Predict dev and test rows as the current setting says; replicate 0 is the baseline."""
    own, truth = CURRENT["setting"], CURRENT["truth"]
    if replicate == 0:
        return truth["dev"], truth["baseline"]
    of_people = np.random.default_rng([*CURRENT["entropy"], replicate])
    of_seed = np.random.default_rng([*CURRENT["entropy"], replicate, 1 + seed])
    made = _numbers if own.task == "regression" else _classes
    return truth["dev"], made(own, truth, of_people, of_seed)


def _seed_shift(own: Setting, generator: np.random.Generator) -> float:
    """Draw what a seed adds to everybody: mean 0, standard deviation 1."""
    if own.shape == "skewed":
        return float((math.exp(generator.normal()) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e))
    if own.shape == "collapsing":
        return -2.0 if generator.random() < 0.2 else 0.5
    return float(generator.normal())


def _numbers(
    own: Setting, truth: dict[str, Any], of_people: np.random.Generator, of_seed: np.random.Generator
) -> np.ndarray:
    """Predict the target plus the effect, what people and seeds add, and what a seed adds to a person."""
    number = len(truth["target"])
    paired = own.seeds * SCALE**2  # the variance of one pair of seeds
    shared, single = (paired / 2, number * paired / 2) if own.interaction else (paired, 0.0)
    people = own.ratio * SCALE * math.sqrt(number) * of_people.normal(size=number)
    total = SCALE * math.hypot(1.0, own.ratio)
    noise = math.sqrt(single) * of_seed.normal(size=number) if single else 0.0
    shift = math.sqrt(shared) * _seed_shift(own, of_seed)
    return np.asarray(truth["target"] + own.effect * total + shift + people + noise, dtype=np.float32)


def _classes(
    own: Setting, truth: dict[str, Any], of_people: np.random.Generator, of_seed: np.random.Generator
) -> np.ndarray:
    """Predict each person right where ability, effects of people and seeds and an offset are above 0 together.

    The offset makes people right as often as under the baseline, over all people and seeds.
    """
    number = len(truth["target"])
    people, single, seeds = 0.4 * of_people.normal(size=number), 0.4 * of_seed.normal(size=number), 0.1
    ability = truth["ability"] + people + single + seeds * _seed_shift(own, of_seed) + _offset(0.4, 0.4, seeds)
    right = ability > 0
    return np.where(right, truth["target"], 1 - truth["target"])


@cache
def _offset(people: float, single: float, seeds: float) -> float:
    """Return what makes a normal sum be above 0 with the baseline's probability."""
    return float(special.ndtri(RIGHT)) * math.sqrt(1 + people**2 + single**2 + seeds**2)


def _study(own: Setting, entropy: list[int]) -> Study:
    """Return a simulated study: a baseline that is what it is, and a hundred treatments that each differ by chance."""
    generator = np.random.default_rng([*entropy, 0])
    split = np.repeat(["train", "dev", "test"], [DEV, DEV, PEOPLE])
    group = np.where(generator.random(len(split)) < 0.4, "a", "b")
    group[:4] = ["a", "b", "a", "b"]
    if own.task == "regression":
        target = generator.normal(size=len(split)).astype(np.float32)
        truth = {"target": target[-PEOPLE:], "dev": target[DEV : 2 * DEV], "baseline": target[-PEOPLE:]}
    else:
        target = (np.arange(len(split)) % 2).astype(np.float32)
        ability = generator.normal(size=PEOPLE)
        codes = target[-PEOPLE:].astype(np.int64)
        right = ability + float(special.ndtri(RIGHT)) > 0
        truth = {
            "target": codes, "ability": ability, "dev": target[DEV : 2 * DEV].astype(np.int64),
            "baseline": np.where(right, codes, 1 - codes),
        }  # fmt: skip
    CURRENT.update(setting=own, truth=truth, entropy=entropy)
    columns = {
        "feature": np.zeros(len(split)), "group": group, "split": split,
        "target": target if own.task == "regression" else target.astype(np.int64),
    }  # fmt: skip
    cohort = Cohort.from_frame(
        columns, target="target", groups=["group"], features=["feature"], split="split", task=own.task, name="simulated"
    )
    return Study(
        cohort, train=simulated, version=1, hyper={"replicate": list(range(REPLICATES + 1))}, seeds=own.seeds,
        stack=own.seeds, measures=["mean_residual"] if own.task == "regression" else ["accuracy"],
        name="simulated",
    )  # fmt: skip


def p_values(own: Setting, entropy: list[int]) -> dict[str, list[float]]:
    """Run one simulated study into a store and report it; return its p-values by measure."""
    made = _study(own, entropy)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        where = Path(folder) / "study.db"
        run_in_store(made, where)
        result = made.result(where)
    main = (result.performance[0], result.fairness, result.distance)
    wanted = ("mean_residual",) if own.task == "regression" else main
    found: dict[str, list[float]] = {measure: [] for measure in wanted}
    for record in result.records:
        if record.verdict is not None and record.measure in found and record.attribute in ((), result.attribute):
            found[record.measure].append(math.nan if record.p is None else record.p)
    return found


def _one(task: tuple[int, Setting, int]) -> tuple[int, dict[str, list[float]], float]:
    place, own, number = task
    began = time.process_time()
    kinds = ("regression", "class")
    entropy = [
        20, own.seeds, int(1000 * (0 if math.isnan(own.ratio) else own.ratio)), int(own.interaction),
        len(own.shape), int(own.effect), kinds.index(own.task), number,
    ]  # fmt: skip
    return place, p_values(own, entropy), time.process_time() - began


def table_of(own: Setting, p: dict[str, list[float]]) -> Rows:
    """Count p-values at every level, with the Monte Carlo standard error of the share."""
    rows = []
    for measure, values in p.items():
        known = np.array([value for value in values if not math.isnan(value)])
        for name, level in LEVELS.items():
            share = float((known <= level).mean()) if len(known) else math.nan
            # Of a true null the error is that of the level itself: one that was never seen is not known to be 0.
            at = level if own.effect == 0 else share
            error = math.sqrt(at * (1 - at) / max(len(known), 1))
            rows.append({
                **asdict(own), "setting": own.name, "measure": measure, "level": name, "simulations": len(known),
                "undefined": len(values) - len(known), "share": share, "error": error, "nominal": level,
                "within": None if own.effect else bool(share <= level + 2 * error),
            })  # fmt: skip
    return rows


def studies_of(simulations: int) -> int:
    """Return how many studies a setting is simulated by."""
    return max(1, math.ceil(simulations / REPLICATES))


def simulate(chosen: list[Setting], simulations: int, workers: int = 1) -> Iterator[tuple[Setting, Rows]]:
    """Yield each setting with its table as soon as it is done."""
    tasks = [(index, own, number) for index, own in enumerate(chosen) for number in range(studies_of(simulations))]
    kept: dict[int, dict[str, list[float]]] = {}
    done: dict[int, int] = {}

    def taken(place: int, found: dict[str, list[float]]) -> bool:
        mine = kept.setdefault(place, {})
        for measure, values in found.items():
            mine.setdefault(measure, []).extend(values)
        done[place] = done.get(place, 0) + 1
        return done[place] == studies_of(simulations)

    if workers == 1:
        for task in tasks:
            place, found, _ = _one(task)
            if taken(place, found):
                yield chosen[place], table_of(chosen[place], kept.pop(place))
        return
    with get_context("spawn").Pool(workers, maxtasksperchild=40) as pool:
        for place, found, _ in pool.imap_unordered(_one, tasks):
            if taken(place, found):
                yield chosen[place], table_of(chosen[place], kept.pop(place))


def simulate_test(seeds: int, ratio: float, simulations: int, effect: float = 0.0, seed: int = 0) -> Rows:
    """Simulate the test itself, without a study around it: normal seeds, people's variance known."""
    generator = np.random.default_rng([seed, seeds, int(100 * ratio)])
    people = ratio**2 / seeds
    rejected = dict.fromkeys(LEVELS, 0)
    left, total = simulations, math.sqrt((1 + ratio**2) / seeds)
    while left:
        number = min(left, 100_000)
        left -= number
        values = generator.normal(size=(seeds, number)) + math.sqrt(people) * generator.normal(size=number)
        found = add_people_variance(paired_change(values + effect * total, np.zeros_like(values)), people)
        for name, level in LEVELS.items():
            critical = banerjee_critical_value(found.variances, found.degrees, level)
            rejected[name] += int((np.abs(found.change) > critical).sum())
    return [
        {"seeds": seeds, "ratio": ratio, "effect": effect, "level": name, "simulations": simulations,
         "share": count / simulations, "nominal": LEVELS[name],
         "error": math.sqrt(LEVELS[name] * (1 - LEVELS[name]) / simulations)}
        for name, count in rejected.items()
    ]  # fmt: skip


def simulate_looks(simulations: int, looks: tuple[int, ...] = (5, 12, 20, 30), seed: int = 0) -> Rows:
    """Simulate a study that is extended while nothing is significant: at 0.05 each time, and divided by the looks."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(looks[-1], simulations))
    rows = []
    for divided in (False, True):
        found = np.zeros(simulations, dtype=bool)
        for index, seeds in enumerate(looks):
            level = 0.05 / (index + 1 if divided else 1)
            change = paired_change(values[:seeds], np.zeros((seeds, simulations)))
            found |= np.abs(change.change) > banerjee_critical_value(change.variances, change.degrees, level)
        share = float(found.mean())
        rows.append({"looks": list(looks), "divided": divided, "simulations": simulations, "share": share,
                     "error": math.sqrt(share * (1 - share) / simulations)})  # fmt: skip
    return rows


# Small versions, for every run of the tests.


@pytest.mark.parametrize("own", [Setting(3, 0.5), Setting(5, 1.0, True)], ids=lambda own: own.name)
def test_a_true_null_is_called_a_difference_at_most_as_often_as_stated(own: Setting) -> None:
    [(_, rows)] = simulate([own], 2 * REPLICATES)
    [row] = [row for row in rows if row["level"] == "0.05"]
    assert row["simulations"] == 2 * REPLICATES
    assert row["share"] <= 0.05 + 3 * row["error"]


def test_a_difference_of_four_standard_errors_is_found() -> None:
    [(_, rows)] = simulate([Setting(12, 0.5, True, effect=4.0)], 4 * REPLICATES)
    shares = {row["level"]: row["share"] for row in rows}
    assert shares["0.05/6"] >= 0.65
    assert shares["0.05"] >= shares["0.05/6"] >= shares["0.05/36"]


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_test_itself_keeps_every_level(seeds: int, ratio: float) -> None:
    for row in simulate_test(seeds, ratio, 100_000):
        assert row["share"] <= row["nominal"] + 3 * row["error"]


def test_looking_again_and_again_needs_the_division_by_looks() -> None:
    plain, divided = simulate_looks(20_000)
    assert plain["share"] > 0.1
    assert divided["share"] <= 0.05 * (1 + 1 / 2 + 1 / 3 + 1 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("own", [setting for setting in settings() if not setting.effect], ids=lambda own: own.name)
def test_verdicts_keep_their_level(own: Setting) -> None:
    [(_, rows)] = simulate([own], 2_000)
    for row in rows:
        if own.shape == "normal" and own.task == "regression":
            assert row["share"] <= row["nominal"] + 3 * row["error"]


def main() -> None:
    """Run the long version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", default="", help="settings whose name contains this")
    given = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # for the processes that are started: they are many
    content: dict[str, Any] = {"settings": {}}
    if given.json.exists():
        content = json.loads(given.json.read_text(encoding="utf-8"))
    began = time.perf_counter()

    def write() -> None:
        part = given.json.with_suffix(".part")
        part.write_text(json.dumps(content, indent=1), encoding="utf-8")
        part.replace(given.json)

    if "test" not in content:
        content["test"] = [
            row for effect in (0.0, 4.0) for s in SEEDS for r in RATIOS for row in simulate_test(s, r, 400_000, effect)
        ]
        content["looks"] = simulate_looks(200_000)
        write()
    open_ = [
        setting for setting in settings()
        if given.only in setting.name
        and not any(row["simulations"] + row["undefined"] >= REPLICATES * studies_of(given.simulations)
                    for row in content["settings"].get(setting.name, ()))
    ]  # fmt: skip
    for own, rows in simulate(open_, given.simulations, given.workers):
        content["settings"][own.name] = [_plain(row) for row in rows]
        write()
        shown = "  ".join(
            f"{row['measure']} {row['level']}: {100 * row['share']:.2f}% (+-{100 * row['error']:.2f})" for row in rows
        )
        sys.stdout.write(f"[{time.perf_counter() - began:5.0f} s] {own.name}: {shown}\n")
        sys.stdout.flush()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}


if __name__ == "__main__":
    # Under its own name, the function is found by other processes too.
    import test_study_verdicts

    test_study_verdicts.main()
