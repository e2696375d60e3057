"""Studies of every shape, made of drawn predictions, as the tests of their report and page need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from equipoise.studies import StudyResult, Trial
from equipoise.studies.analysis import Composition, Failure, Layout, StudyData, TestRows
from equipoise.studies.findings import result_of
from equipoise.studies.plans import Named
from equipoise.tallies import (
    ResidualPivot,
    residual_sums,
)
from helpers.cases.report import HOSTILE

COHORT = "sha256:" + "c" * 64
HERE = {"processor": "one", "threads": 2, "packages": {"torch": "2.13.0"}}
THERE = {**HERE, "processor": "another"}


@dataclass(frozen=True)
class Arm:
    """How a treatment predicts: its true positive rate in both groups, its true negative rate, and its spreads."""

    name: str
    rates: tuple[float, float] = (0.62, 0.78)
    correct: float = 0.93
    seeds: float = 0.01
    reruns: float = 0.003
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 1.0
    selection: str = "dto"


ARMS = (
    Arm("untreated"),
    Arm("reweighting", rates=(0.72, 0.75), correct=0.91, seconds=1.1),
    Arm("adversarial", rates=(0.70, 0.74), correct=0.92, seeds=0.03, reruns=0.012, seconds=2.7),
    Arm("inlp", rates=(0.60, 0.66), correct=0.90, seconds=1.9),
)


def interpolation(alpha: float, mode: str = "joint") -> Named:
    return Named("interpolation", 1, {"mode": mode, "alpha": alpha})


def trial(
    arm: Arm, condition: Named, seed: int, repeat: int = 0, *, groups: Sequence[str] = ("sex",), size: int = 2_000
) -> Trial:
    return Trial(
        cohort=COHORT, groups=tuple(groups), condition=condition, size=size, learner=Named("mlp", 1, {"hidden": 300}),
        treatments=(Named(arm.name, 1, dict(arm.settings)),), seed=seed, repeat=repeat, rounding="jitter",
        precision="float32", device="cpu", selection=arm.selection,
    )  # fmt: skip


def study(
    *,
    arms: Sequence[Arm] = ARMS,
    conditions: Sequence[Named] = (interpolation(0), interpolation(1)),
    seeds: int = 6,
    repeats: int = 3,
    people: int = 3_000,
    classes: Sequence[str] = ("<=50K", ">50K"),
    sexes: Sequence[str | None] = ("Female", "Male"),
    environments: Callable[[int, int], int] = lambda seed, repeat: 0,
    name: str = "adult",
    kept: bool = True,
    seed: int = 0,
) -> StudyData:
    """Draw a study: who is predicted right depends on a difficulty of each person that all runs share."""
    generator = np.random.default_rng(seed)
    groups = tuple((sex, race) for sex in sexes for race in ("Black", "White"))
    rows = {
        split: (generator.integers(0, len(groups), people), (generator.random(people) < 0.35).astype(np.int64),
                generator.random(people))
        for split in ("dev", "test")
    }  # fmt: skip
    trials, tables, predictions, seconds, places = [], {"dev": [], "test": []}, [], [], []
    for shift, condition in enumerate(conditions):
        for arm in arms:
            for number in range(seeds):
                own = generator.normal(0, arm.seeds, 2)
                for repeat in range(repeats):
                    # Under a later condition the first group does better.
                    rates = np.array(arm.rates) + own + generator.normal(0, arm.reruns, 2) + [0.05 * shift, 0.0]
                    for split, (group, truth, hard) in rows.items():
                        rate = np.where(truth == 1, rates[(group >= len(groups) // 2).astype(int)], arm.correct)
                        noise = generator.normal(0, 0.02, people)
                        said = np.where(hard + noise < rate, truth, 1 - truth)
                        tables[split].append(counted(group, truth, said, len(groups)))
                        if split == "test":
                            predictions.append(said.astype(np.uint8))
                    trials.append(trial(arm, condition, number, repeat))
                    seconds.append(arm.seconds * (1 + 0.1 * generator.random()))
                    places.append(environments(number, repeat))
    group, truth, _ = rows["test"]
    whole = np.stack(predictions)
    kinds = (HERE, THERE)[: max(places) + 1]
    return StudyData(
        name=name,
        layout=Layout(("sex", "race"), groups, tuple(classes), favourable=classes[1]),
        trials=tuple(trials),
        tables={split: np.stack(table).astype(np.float64) for split, table in tables.items()},
        seconds=np.array(seconds),
        environments=kinds,
        environment=np.array(places),
        rows=TestRows(np.arange(people) + 10_000, group, truth) if kept else None,
        predictions=(lambda asked: whole[list(asked)]) if kept else None,
        compositions={
            f"JB alpha {alpha}": Composition(tuple(classes), ("Female", "Male"), rows)
            for alpha, rows in ((0, ((700, 800), (90, 410))), (1, ((500, 500), (500, 500))))
        },
    )


def counted(group: np.ndarray, truth: np.ndarray, said: np.ndarray, groups: int) -> np.ndarray:
    return np.bincount((group * 2 + truth) * 2 + said, minlength=groups * 4).reshape(groups, 2, 2)


@cache
def plain() -> StudyResult:
    """Four treatments, two conditions, six seeds, three identical runs of each."""
    return result_of(study(), command=["equipoise", "study", "report", "adult.toml"])


@cache
def demo() -> StudyResult:
    """One seed and four identical runs, as the demo has them."""
    return result_of(study(seeds=1, repeats=4, people=2_000))


@cache
def curves() -> StudyResult:
    """Nine treatments over five alphas in two modes."""
    names = ("untreated", "downsampling", "reweighting", "adversarial", "diverse_adversarial", "fairbatch",
             "equal_opportunity_class", "equal_opportunity_global", "inlp")  # fmt: skip
    arms = [replace(ARMS[0], name=name, rates=(0.60 + 0.015 * index, 0.78)) for index, name in enumerate(names)]
    conditions = [interpolation(a, mode) for mode in ("group_given_class", "joint") for a in (0, 0.5, 1, 1.5, 2)]
    return result_of(study(arms=arms, conditions=conditions, seeds=6, repeats=1, people=1_500))


@cache
def settings() -> StudyResult:
    """A grid of hyper-parameters, a control selected both ways, failures, and two environments."""
    grid = [
        replace(ARMS[2], settings={"strength": strength, "layers": 2}, rates=(0.6 + 0.03 * index, 0.76))
        for index, strength in enumerate((0.01, 0.1, 1.0, 10.0))
    ]
    control = replace(ARMS[0], selection="performance", correct=0.94)
    data = study(
        arms=(ARMS[0], control, *grid), seeds=3, repeats=2, conditions=[Named("as_given", 1)],
        environments=lambda seed, repeat: int(seed == 2 and repeat == 1),
    )  # fmt: skip
    lost = trial(replace(ARMS[3]), Named("as_given", 1), 0)
    return result_of(replace(
        data, failures=(Failure(lost, "the cell >50K / Female is empty: merge groups, or choose another condition"),),
        unfinished=5,
    ))  # fmt: skip


@cache
def odd() -> StudyResult:
    """No baseline, one run of each, a group that is missing, undefined fairness, and nothing kept."""
    arms = [Arm("mine.first", settings={"penalty": p}) for p in (0, 1)] + [Arm("mine.second")]
    data = study(arms=arms, conditions=[Named("gone_plugin", 2, {"x": [1, 2]})], seeds=1, repeats=1, kept=False,
                 sexes=("Female", None))  # fmt: skip
    return result_of(data)


@cache
def hostile() -> StudyResult:
    """Names that try to run, to break out or to break the page."""
    arms = [Arm("untreated"), *(Arm(f"{name}{index}", rates=(0.7, 0.75)) for index, name in enumerate(HOSTILE[:8]))]
    data = study(
        arms=arms, seeds=1, repeats=4, people=800, name=HOSTILE[0], classes=(HOSTILE[1], HOSTILE[2]),
        sexes=(HOSTILE[4], HOSTILE[5]),
        conditions=[Named("</script><script>window.injected = 3</script>", 1, {HOSTILE[2]: HOSTILE[4]})],
    )  # fmt: skip
    reason = "</script><script>window.injected = 5</script> {{ 7*7 }} \u202egnorw"
    failure = Failure(trial(arms[1], data.trials[0].condition, 0), reason)
    return result_of(
        replace(data, failures=(failure,), environments=({"<b>machine</b>": "</style><script>1</script>"},)),
        command=["equipoise", "</script><script>window.injected = 4</script>"], show_rows=True,
    )  # fmt: skip


@cache
def regression() -> StudyResult:
    """Numbers in place of classes: sums per group, and predictions that are kept."""
    return result_of(regression_data())


def regression_data() -> StudyData:
    generator = np.random.default_rng(5)
    people, groups, pivot = 1_200, (("Female",), ("Male",)), ResidualPivot(3.0, 3.0)
    group, target = generator.integers(0, 2, people), generator.normal(3.0, 1.0, people)
    noise = generator.normal(0, 1, people)
    trials, tables, predictions = [], [], []
    for arm, spread in (("untreated", (1.2, 0.5)), ("reweighting", (0.8, 0.6))):
        for seed in range(6):
            said = target + noise * np.array(spread)[group] + generator.normal(0, 0.05, people)
            sums = [np.ones(people)] * 3 + residual_sums(target, said, pivot)
            tables.append([[part[group == place].sum() for part in sums] for place in (0, 1)])
            predictions.append(said.astype(np.float32))
            trials.append(trial(Arm(arm), Named("as_given", 1), seed))
    whole, made = np.stack(predictions), np.array(tables)
    return StudyData(
        name="crime", layout=Layout(("sex",), groups, ("lowest quarter",), task="regression", pivot=pivot),
        trials=tuple(trials), tables={"dev": made, "test": made}, seconds=np.ones(len(trials)),
        environments=(HERE,), environment=np.zeros(len(trials), dtype=np.int64),
        rows=TestRows(np.arange(people), group, target), predictions=lambda asked: whole[list(asked)],
    )  # fmt: skip


# Of each technique, how it is read, its bias, and the spread of its runs.
TECHNIQUES = (
    ("untreated", None, 0.22, 0.02), ("oversampling", None, 0.20, 0.02), ("uniform_confusion", None, 0.19, 0.05),
    ("gradient_projection", None, 0.16, 0.14), ("domain_discriminative", "sum", 0.25, 0.02),
    ("domain_discriminative", "max_prior_shift", 0.08, 0.015),
    ("domain_discriminative", "sum_prior_shift", 0.08, 0.015), ("domain_discriminative", "rba", 0.105, 0.03),
    ("domain_independent", "known_domain", 0.06, 0.02), ("domain_independent", "sum", 0.05, 0.015),
)  # fmt: skip


def picture_data(
    *,
    images: int = 600,
    runs: int = 16,
    seeds: int = 1,
    techniques: Sequence[tuple[str, str | None, float, float]] = TECHNIQUES,
) -> StudyData:
    """Ten techniques on ten classes, every image in colour and in grey: a cluster of two rows (paper 004).

    A technique leans towards the domain that a class is mostly seen in, by a bias of its own and a spread of its runs.
    """
    generator = np.random.default_rng(11)
    classes = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    groups = (("colour",), ("grey",))
    truth = np.tile(generator.integers(0, 10, images), 2)
    group, cluster = np.repeat([0, 1], images), np.tile(np.arange(images), 2)
    hard, other = np.tile(generator.random(images), 2), np.tile(generator.integers(1, 5, images), 2)
    coin = np.tile(generator.random(images), 2)
    dev_group, dev_truth = np.repeat([0, 1], images // 2), np.tile(generator.integers(0, 10, images // 2), 2)
    trials, tables, predictions = [], {"dev": [], "test": []}, []
    for name, readout, bias, spread in techniques:
        arm = Arm(name, settings={} if readout is None else {"readout": readout})
        for seed in range(seeds):
            for repeat in range(runs):
                lean = bias + generator.normal(0, spread, 10)
                for split, (g, t) in (("dev", (dev_group, dev_truth)), ("test", (group, truth))):
                    rare = (t % 2) == g  # odd classes are mostly seen in colour
                    own = hard if split == "test" else generator.random(len(t))
                    right = 0.85 - lean[t] * rare - (0.04 if spread >= 0.05 else 0.0)
                    wrong = own + generator.normal(0, 0.03, len(t)) > right
                    # Who is wrong goes to a class that is mostly seen in the domain of the picture.
                    away = other if split == "test" else generator.integers(1, 5, len(t))
                    luck = coin if split == "test" else generator.random(len(t))
                    said = np.where(wrong, (t + 2 * away + (rare & (luck < 4 * bias))) % 10, t)
                    cells = np.bincount((g * 10 + t) * 10 + said, minlength=200).reshape(2, 10, 10)
                    tables[split].append(cells)
                    if split == "test":
                        predictions.append(said.astype(np.uint8))
                trials.append(trial(arm, Named("as_given", 1), seed, repeat, groups=("domain",)))
    whole = np.stack(predictions)
    return StudyData(
        name="cifar10s", layout=Layout(("domain",), groups, classes), trials=tuple(trials),
        tables={split: np.stack(table).astype(np.float64) for split, table in tables.items()},
        seconds=np.ones(len(trials)), environments=(HERE,), environment=np.zeros(len(trials), dtype=np.int64),
        rows=TestRows(np.arange(2 * images), group, truth, cluster), predictions=lambda asked: whole[list(asked)],
    )  # fmt: skip


@cache
def pictures() -> StudyResult:
    """Ten techniques, sixteen identical runs of one seed, ten classes."""
    return result_of(picture_data())


CASES = {
    "plain": plain, "demo": demo, "curves": curves, "settings": settings, "odd": odd, "hostile": hostile,
    "regression": regression, "pictures": pictures,
}  # fmt: skip
