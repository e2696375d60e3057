"""Small studies of every learner with every treatment, whose trial keys and predictions are frozen in tests/fixtures.

``python tools/make_fixtures.py`` writes what is frozen, and ``tests/checks/test_fixtures.py`` makes it again. Data come
from whole numbers alone, so that they are the same everywhere.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cohorts import Cohort
from equipoise.foundation import registry
from equipoise.studies import Study, Trial
from equipoise.studies.running._folder import files_of, read_trial
from equipoise.training import Learner, Need, Treatment, incompatibility, learner_of, required

FIXTURES = Path(__file__).parent / "fixtures"
KEYS, PREDICTIONS, MADE_ON = "trial_keys.json", "predictions.npz", "predictions.json"
# Predictions that were frozen later: each file beside a JSON file of what made it.
ADDED = "predictions_{name}.npz"
# Of trainings on another processor: how far a score (or a number, relative to its size where that is above 1) may lie
# from the frozen one; and an embedding, which is kept in half precision.
SCORES_WITHIN, HALVES_WITHIN = 1e-5, 2e-3
# Short enough that rounding does not decide which directions are erased.
BRIEF: dict[str, dict[str, Any]] = {
    "inlp": {"iterations": 2}, "lfr": {"starts": 1, "evaluations": 20, "group_fairness": 1.0},
    "exponentiated_gradient": {"max_iter": 5},
}  # fmt: skip
SEEDS = (0, 1)
PACKAGES = ("torch", "numpy", "scikit-learn", "scipy")
SPLITS = {"train": 96, "dev": 32, "test": 32}

Arrays = dict[str, np.ndarray]


def mixed(rows: int, column: int) -> np.ndarray:
    """Return a whole number below 2**32 for each row, from the row and the column alone (splitmix64)."""
    with np.errstate(over="ignore"):
        x = np.arange(rows, dtype=np.uint64) + np.uint64(column) * np.uint64(1_000_003) + np.uint64(1)
        x = x * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (x ^ (x >> np.uint64(31))) >> np.uint64(32)


def cells(classes: int, groups: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the split, class and group of each row: every split has every cell, and class and group come together."""
    split = np.concatenate([np.repeat(name, number) for name, number in SPLITS.items()]).astype(object)
    rows = len(split)
    target = np.arange(rows) % classes
    group = np.where(mixed(rows, 90) % 10 < 6, target % groups, np.arange(rows) // classes % groups)
    return split, target, group


def numbers(target: np.ndarray, group: np.ndarray, columns: int = 4) -> np.ndarray:
    """Return features in eighths: the class shows in the first columns, the group in the second last."""
    made = np.stack([mixed(len(target), place) % 33 for place in range(columns)], axis=1) / 8.0 - 2.0
    made[:, 0] += 1.5 * target
    made[:, 1] -= target
    made[:, -2] += group
    return made


@cache
def table(regression: bool = False) -> Cohort:
    """Two classes (or a number), two groups, four numbers and a word."""
    split, target, group = cells(2)
    features = numbers(target, group)
    said: Any = np.array(["no", "yes"], dtype=object)[target]
    if regression:
        said = 10.0 * features[:, 0] + features[:, 3]
    columns = {f"x{place}": features[:, place] for place in range(4)}
    return Cohort(
        name="frozen_numbers" if regression else "frozen_table",
        columns={**columns, "word": np.array(["a", "b", "c"], dtype=object)[mixed(len(split), 50) % 3],
                 "y": said, "sex": np.array(["woman", "man"], dtype=object)[group], "split": split},
        target="y", groups=("sex",), features=(*columns, "word"), split="split",
        task="regression" if regression else "class", favourable=None if regression else "yes",
    )  # fmt: skip


@cache
def embeddings() -> Cohort:
    """Four classes, two groups and eight numbers, for metric learning."""
    split, target, group = cells(4)
    features = numbers(target, group, 8)
    columns = {f"x{place}": features[:, place] for place in range(8)}
    return Cohort(
        name="frozen_embeddings",
        columns={**columns, "y": np.array(list("abcd"), dtype=object)[target],
                 "sex": np.array(["woman", "man"], dtype=object)[group], "split": split},
        target="y", groups=("sex",), features=tuple(columns), split="split",
    )  # fmt: skip


@cache
def pictures() -> Cohort:
    """Two classes and two groups of pictures of 8 x 8: a bright square is the class, a colour the group."""
    split, target, group = cells(2)
    rows = len(split)
    shown = np.stack([mixed(rows, 100 + place) % 80 for place in range(8 * 8 * 3)], axis=1).reshape(rows, 8, 8, 3)
    for row, (y, g) in enumerate(zip(target.tolist(), group.tolist(), strict=True)):
        shown[row, 4 * y : 4 * y + 4, :4] += 110
        shown[row, :, :, g] += 40
    return Cohort(
        name="frozen_pictures",
        columns={"image": shown.astype(np.uint8), "y": np.array(["top", "bottom"], dtype=object)[target],
                 "domain": np.array(["red", "green"], dtype=object)[group], "split": split},
        target="y", groups=("domain",), features=("image",), split="split",
    )  # fmt: skip


def network(features: int, classes: int, width: int = 5) -> Any:
    """Make a network of one's own that shows its hidden layer."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden, self.out = torch.nn.Linear(features, width), torch.nn.Linear(width, classes)

        def forward(self, rows: Any) -> Any:
            hidden = torch.tanh(self.hidden(rows))
            return self.out(hidden), hidden

    return Network()


def nearest_mean(cohort: Cohort, seed: int, shift: float = 0.0) -> dict[str, np.ndarray]:
    """Train a model of one's own: the score of the favourable class by the distances to two class means."""
    part = cohort["split"]
    rows = np.stack([cohort[f"x{place}"].astype(np.float64) for place in range(4)], axis=1)
    train, said = part == "train", cohort["y"]
    yes, no = (rows[train & (said == word)].mean(axis=0) for word in ("yes", "no"))
    nearer = ((rows - no) ** 2).sum(axis=1) - ((rows - yes) ** 2).sum(axis=1)
    score = 1 / (1 + np.exp(-(nearer + shift + seed) / 8))
    return {split: score[part == split] for split in ("dev", "test")}


@dataclass(frozen=True)
class Case:
    """A study that is frozen: of what, with which learner, and under which treatments beside the registered ones."""

    name: str
    cohort: Callable[[], Cohort]
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    more: Sequence[Any] = ()
    # None: every registered treatment that fits the learner.
    treatments: Sequence[Any] | None = None
    selection: str = "last"

    def fitting(self) -> list[dict[str, Any]]:
        """Return the registered treatments that act with the learner and the cohort, in the order of their names."""
        kind, cohort = learner_of(self.learner), self.cohort()
        several = cohort.task == "class" and len(set(cohort[cohort.target].tolist())) > 2
        return [
            {"name": entry.name, **BRIEF.get(entry.name, {})}
            for entry in registry.entries("treatment")
            if isinstance(entry.implementation, type) and issubclass(entry.implementation, Treatment)
            if incompatibility(kind, entry.implementation, cohort.task) is None
            and not (entry.implementation.two_classes and several)
            if not (self.cohort is pictures and Need.FLAT_INPUTS in required(entry.implementation))
        ]

    def study(self, *, conditions: Sequence[Any] = ("as_given",)) -> Study:
        """Return the study; trials of both seeds train together where the learner stacks."""
        how: dict[str, Any] = {
            "seeds": SEEDS, "conditions": conditions, "device": "cpu", "precision": "float32", "name": self.name,
        }  # fmt: skip
        if self.learner == "own":
            return Study(self.cohort(), train=nearest_mean, version=1, hyper={"shift": [0.0, 0.5]}, **how)
        arms = [*(self.fitting() if self.treatments is None else self.treatments), *self.more]
        return Study(
            self.cohort(), learner={"name": self.learner, **self.settings}, treatments=arms, rounding="deterministic",
            selection=self.selection, stack=2, **how,
        )  # fmt: skip


SHORT = {"width": 6, "layers": 1, "batch_size": 24, "epochs": 3}
ON_PICTURES = {"network": "small", "batch_size": 24, "epochs": 2, "learning_rate": 0.02}
METRIC = {"embedding_size": 4, "batch_size": 8, "epochs": 2, "learning_rate": 0.02}
# Which triplets are mined is decided by distances: small steps keep them from being decided by rounding.
METRIC_NETWORK = {"backbone": "small", "embedding_size": 4, "batch_size": 16, "epochs": 1, "learning_rate": 1e-4}
READ = [
    {"name": "domain_discriminative", "readout": ["max_prior_shift", "sum_prior_shift", "rba", "rba_dev"]},
    {"name": "domain_independent", "readout": "known_domain"},
]
# How far from what was frozen an amplified rounding may lead on another processor. Five steps a batch at this strength
# lead anywhere: the same treatment at a strength of 0.5 is compared everywhere. Whitening divides by small deviations.
AMPLIFIED = {
    "image_network | fairalm(favourable=None, growth=1.01, strength=20) | ": math.inf,
    "image_network | leace(erase=True) | ": 1e-4,
}
LOSSES = ("arcface", "contrastive", "multi_similarity", "n_pair", "proxy_nca", "triplet")
CASES: tuple[Case, ...] = (
    Case("mlp", table, "mlp", SHORT, more=[["reweighting", "adversarial"]], selection="dto"),
    Case("mlp_regression", lambda: table(regression=True), "mlp", SHORT),
    Case("module", table, "module", {"factory": "fixture_cases:network", "batch_size": 24, "epochs": 3}),
    Case("image_network", pictures, "image_network", ON_PICTURES, more=[*READ, {"name": "fairalm", "strength": 0.5}]),
    Case("metric_learner", embeddings, "metric_learner", METRIC),
    *(
        Case(f"metric_learner_{loss}", embeddings, "metric_learner", {**METRIC, "loss": loss}, treatments=["untreated"])
        for loss in LOSSES
    ),
    Case("metric_network", pictures, "metric_learner", METRIC_NETWORK),
    Case("raw_features", embeddings, "raw_features"),
    Case("scikit_learn", table, "scikit_learn", {"estimator": "sklearn.linear_model:LogisticRegression"}),
    Case("own", table, "own"),
)
# One of every kind of condition, of a cohort with two classes and two groups.
CONDITIONS: tuple[Any, ...] = (
    "as_given",
    {"name": "interpolation", "mode": "joint", "alpha": 0.5},
    {"name": "interpolation", "mode": "group_given_class", "alpha": 1},
)


def learners_without_case() -> list[str]:
    """Return registered learners that no case freezes."""
    ours = [
        entry.name
        for entry in registry.entries("learner")
        if isinstance(entry.implementation, type) and issubclass(entry.implementation, Learner)
    ]
    return sorted(set(ours) - {case.learner for case in CASES})


def called(trial: Trial) -> str:
    """Name a trial in a fixture: its treatments with what they were given, its condition and its seed."""
    treatments = " + ".join(map(str, trial.treatments))
    return f"{treatments} | {trial.condition} | seed {trial.seed}"


def predicted(case: Case, folder: Path) -> Arrays:
    """Train a case and return what its trials say of dev and test rows; a trial that failed is an error."""
    from threadpoolctl import threadpool_limits

    study = case.study()
    with threadpool_limits(limits=1):
        study.run(to=folder)
    found: Arrays = {}
    for path in files_of(folder):
        ended = read_trial(path)
        name = f"{case.name} | {called(ended.trial)}"
        if ended.state != "done":
            raise AssertionError(f"{name} failed: {ended.failure}")
        for split, said in ended.predictions.items():
            values = said.values
            found[f"{name} | {split} values"] = values.astype(np.uint8) if values.dtype.kind in "iu" else values
            if said.scores is not None:
                found[f"{name} | {split} scores"] = said.scores
        found |= {f"{name} | {kept}": array for kept, array in ended.arrays.items() if array.dtype.kind == "f"}
    return found


def keys_of(case: Case) -> dict[str, str]:
    """Return the key of every trial of a case under every condition, by name."""
    return {called(trial): trial.key for trial in case.study(conditions=conditions_for(case)).trials()}


def conditions_for(case: Case) -> list[Any]:
    """Return the conditions that the cohort of a case can be drawn under."""
    if case.name == "mlp_regression":
        return ["as_given"]
    classes = sorted(set(case.cohort()[case.cohort().target].tolist()))
    group = sorted(set(case.cohort()[case.cohort().groups[0]].tolist()))
    pairs = {name: group[index % 2] for index, name in enumerate(classes)}
    return [
        *CONDITIONS,
        {"name": "class_ratio", "shares": {classes[0]: 0.6}},
        {"name": "stereotyping", "pairs": pairs, "ratio": 0.7},
        {"name": "minoritised", "degree": 0.6, "classes": 1},
    ]


def machine() -> dict[str, Any]:
    """Return what predictions may depend on to the last bit: processor, its features as torch uses them, packages."""
    import torch

    return {
        "processor": _processor(), "capability": torch.backends.cpu.get_cpu_capability(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: metadata.version(name) for name in PACKAGES},
    }  # fmt: skip


def _processor() -> str:
    """Return the features of the processor that libraries choose their code by, as one text."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return " ".join(sorted(flag for flag in flags if flag.startswith(("avx", "fma", "amx", "sse4", "f16c"))))


def amplified(name: str) -> float:
    """Return how far rounding may lead the predictions of a trial."""
    return next((within for trial, within in AMPLIFIED.items() if name.startswith(trial)), 0.0)


def read_json(name: str) -> Any:
    """Read a fixture."""
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


def read_predictions() -> Arrays:
    """Read the frozen predictions; nothing in the files can run."""
    return {name: array for path in prediction_files() for name, array in read_arrays(path).items()}


def prediction_files() -> list[Path]:
    """Return the files of frozen predictions."""
    return [FIXTURES / PREDICTIONS, *sorted(FIXTURES.glob(ADDED.format(name="*")))]


def read_arrays(path: Path) -> Arrays:
    """Read one file of predictions."""
    with np.load(path, allow_pickle=False) as kept:
        return {name: kept[name] for name in kept.files}


def made_here() -> set[str]:
    """Return the names of the predictions that were made on a machine like this one, to the last bit."""
    here = machine()
    files = [path for path in prediction_files() if read_json(path.with_suffix(".json").name) == here]
    return {name for path in files for name in read_arrays(path)}
