"""Settings chosen by the worst group on dev rows, against loops over rows; and proof that test rows are not seen."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import normalized_mutual_info_score

from equipoise.foundation import BadInput
from equipoise.results import because
from equipoise.studies import Trial
from equipoise.studies.analysis import Layout, SpaceReason, StudyData, cells_of
from equipoise.studies.findings.spaces._choosing import MEASURES, choosings_of, dev_rows, rechosen
from equipoise.studies.findings.spaces._values import StoredArrays
from equipoise.studies.plans import (
    ChooseBy,
    Named,
)
from equipoise.studies.storage import EvaluationLabels, SplitLabels

CLASSES, ROWS = 6, 150
GROUPS = (("blue", "yes"), ("blue", "no"), ("red", "yes"), ("red", None))


def evaluation_labels(seed: int = 0) -> EvaluationLabels:
    """Dev rows in four crossed groups, one of them without a value of the second column; two rows have no class."""
    generator = np.random.default_rng(seed)
    splits = {}
    for split in ("dev", "test"):
        target = generator.integers(CLASSES, size=ROWS)
        target[[3, 70]] = -1
        splits[split] = SplitLabels(target, generator.integers(len(GROUPS), size=ROWS))
    names = tuple(f"class {code}" for code in range(CLASSES))
    return EvaluationLabels("sha256:0", "class", names, ("colour", "large"), GROUPS, splits)


class DevOnly(dict[str, SplitLabels]):
    """Splits that may be asked for dev rows only."""

    def __getitem__(self, name: str) -> SplitLabels:
        assert name == "dev", f"the truth of {name} rows was asked for"
        return super().__getitem__(name)


def trial(settings: dict[str, Any], seed: int, repeat: int = 0, name: str = "parade") -> Trial:
    treatments = () if name == "untreated" else (Named(name, 1, settings),)
    return Trial("sha256:0", ("colour",), Named("as_given", 1), 100, Named("metric_learner", 1, {"loss": "margin"}),
                 treatments, seed, repeat, "native", "float32", "cpu", "dto")  # fmt: skip


GRID: list[dict[str, Any]] = [
    {"alpha": alpha, "rho": rho, "scaling": "mean", "shuffled": False}
    for alpha in (0.1, 0.3)
    for rho in (10.0, 100.0, 1000.0)
]


def data_of(trials: list[Trial]) -> StudyData:
    layout = Layout(("colour", "large"), GROUPS, tuple("abcdef"))
    zeros = np.zeros(len(trials))
    return StudyData("study", layout, tuple(trials), {}, zeros, ({},), zeros.astype(np.int64))


class Kept:
    """Embeddings of dev rows, drawn for each trial: rows of a class lie closer the better the trial is."""

    def __init__(self, trials: list[Trial], truth: EvaluationLabels, *, without: frozenset[int] = frozenset()) -> None:
        self.asked: set[str] = set()
        self.arrays: dict[tuple[str, int], NDArray[Any]] = {}
        centres = np.random.default_rng(99).standard_normal((CLASSES + 1, 4))
        for index, one in enumerate(trials):
            generator = np.random.default_rng(index)
            spread = generator.uniform(0.4, 1.0, size=len(GROUPS))[truth.splits["dev"].group]
            points = centres[truth.splits["dev"].target] + spread[:, None] * generator.standard_normal((ROWS, 4))
            if index not in without:
                self.arrays["embedding.dev", index] = points.astype(np.float16)
            self.arrays["leakage.embedding", index] = np.array([0.5 + 0.01 * one.seed])
            self.arrays["leakage.features", index] = np.array([0.9])
            self.arrays["leakage.chance", index] = np.array([0.5])

    def read(self, name: str, place: int) -> NDArray[Any] | None:
        assert "test" not in name, f"{name} was asked for"
        self.asked.add(name)
        return self.arrays.get((name, place))

    @property
    def all(self) -> StoredArrays:
        return StoredArrays(("embedding.dev", "embedding.test"), self.read)


def recalls(points: Any, target: Any, group: Any) -> dict[int, float]:
    """recall@1 of each group by a double loop; groups without a query are left out."""
    points = points.astype(np.float64)
    hits: dict[int, list[float]] = {}
    for query in range(len(target)):
        others = [row for row in range(len(target)) if row != query and target[row] >= 0]
        if target[query] < 0 or not any(target[row] == target[query] for row in others):
            continue
        nearest = min(others, key=lambda row: ((points[row] - points[query]) ** 2).sum())
        hits.setdefault(int(group[query]), []).append(float(target[nearest] == target[query]))
        hits.setdefault(-1, []).append(hits[int(group[query])][-1])
    return {code: sum(hit) / len(hit) for code, hit in hits.items()}


def chosen_among(trials: list[Trial], kept: Kept, truth: EvaluationLabels, **how: Any) -> Any:
    data = data_of(trials)
    cells = cells_of(data, np.zeros(len(trials)))
    return cells, choosings_of(cells, data.trials, kept.all, truth, **how)


def test_the_setting_whose_worst_group_fares_best_is_chosen() -> None:
    truth = evaluation_labels()
    truth = EvaluationLabels(truth.cohort, "class", truth.classes, truth.attributes, GROUPS, DevOnly(truth.splits))
    trials = [trial(settings, seed) for settings in GRID for seed in range(3)]
    kept = Kept(trials, evaluation_labels())
    cells, (choosing,) = chosen_among(trials, kept, truth, attribute=("colour",))
    dev = truth.of("dev")
    colour = np.array([0, 0, 1, 1])[dev.group]
    expected = []
    for place in range(len(trials)):
        found = recalls(kept.arrays["embedding.dev", place], dev.target, colour)
        expected.append((found[-1], abs(found[0] - found[1]), min(found[0], found[1]), found[0], found[1]))
    means = np.array(expected).reshape(len(GRID), 3, 5).mean(axis=1)
    assert [setting.overall for setting in choosing.settings] == pytest.approx(means[:, 0].tolist())
    assert [setting.gap for setting in choosing.settings] == pytest.approx(means[:, 1].tolist())
    assert [setting.worst for setting in choosing.settings] == pytest.approx(means[:, 2].tolist())
    assert [setting.worst_group for setting in choosing.settings] == [
        ("blue", "red")[int(blue > red)] for blue, red in means[:, 3:]
    ]
    assert [setting.chosen for setting in choosing.settings] == (np.arange(len(GRID)) == means[:, 2].argmax()).tolist()
    assert [dict(setting.settings) for setting in choosing.settings] == [
        {"alpha": settings["alpha"], "rho": settings["rho"]} for settings in GRID
    ]
    assert dict(choosing.settings[0].leakage) == pytest.approx({"embedding": 0.51, "features": 0.9, "chance": 0.5})
    assert (choosing.attribute, choosing.left_out, choosing.measure) == ("colour", (), "recall_at_k")
    assert kept.asked == {"embedding.dev", "leakage.embedding", "leakage.features", "leakage.chance"}
    again = rechosen(cells, [choosing])
    assert [cell.setting for cell in again if cell.chosen] == [choosing.chosen.setting]


def test_mutual_information_may_be_declared_instead() -> None:
    assert set(MEASURES) == set(get_args(ChooseBy))
    truth = evaluation_labels()
    trials = [trial(settings, 0) for settings in GRID[:3]]
    kept = Kept(trials, truth)
    _, (choosing,) = chosen_among(trials, kept, truth, measure="nmi", attribute=("colour",))
    rows = dev_rows(truth, ("colour",))
    for index, setting in enumerate(choosing.settings):
        from equipoise.tallies import EmbeddingSpace

        clusters = EmbeddingSpace(
            kept.arrays["embedding.dev", index][rows.indices].astype(np.float64), rows.classes
        ).clusters
        each = [
            normalized_mutual_info_score(rows.classes.codes[rows.codes == code], clusters[rows.codes == code])
            for code in (0, 1)
        ]
        assert setting.worst == pytest.approx(min(each))
        assert setting.measure == "normalised_mutual_information"
    with pytest.raises(BadInput, match=r"recall@1"):
        chosen_among(trials, kept, truth, measure="accuracy")


def test_columns_are_crossed_and_a_missing_value_is_no_group() -> None:
    rows = dev_rows(evaluation_labels())
    assert rows.groups == ("blue & yes", "blue & no", "red & yes")
    assert rows.attribute == "colour & large"
    assert len(rows.indices) == ROWS - 2
    dev = evaluation_labels().of("dev")
    assert np.array_equal(rows.codes, np.array([0, 1, 2, -1])[dev.group[dev.target >= 0]])


def test_groups_without_a_value_are_named_and_left_out() -> None:
    truth = evaluation_labels()
    dev = truth.splits["dev"]
    # Every red row is the only one of its class: it has nobody to find.
    red = np.isin(dev.group, (2, 3))
    dev.target[red] = CLASSES + np.arange(red.sum())
    names = tuple(map(str, range(CLASSES + int(red.sum()))))
    truth = EvaluationLabels(truth.cohort, "class", names, truth.attributes, GROUPS, truth.splits)
    trials = [trial(settings, 0) for settings in GRID[:2]]
    kept = Kept(trials, evaluation_labels())
    _, (choosing,) = chosen_among(trials, kept, truth, attribute=("colour",))
    assert choosing.left_out == ("red",)
    assert {setting.worst_group for setting in choosing.settings} == {"blue"}
    assert all(np.isnan(setting.gap) for setting in choosing.settings)
    assert choosing.chosen is not None
    dev.target[~red] = 1000 + np.arange((~red).sum())
    truth = EvaluationLabels(
        truth.cohort, "class", tuple(map(str, range(2000))), truth.attributes, GROUPS, truth.splits
    )
    _, (choosing,) = chosen_among(trials, kept, truth, attribute=("colour",))
    assert choosing.left_out == ("blue", "red")
    assert choosing.chosen is None
    assert {str(setting.reason) for setting in choosing.settings} == {"no group has a value"}


def test_settings_are_compared_on_the_seeds_that_all_have() -> None:
    truth = evaluation_labels()
    trials = [trial(GRID[0], seed) for seed in range(3)] + [trial(GRID[1], seed) for seed in range(2)]
    kept = Kept(trials, truth)
    _, (choosing,) = chosen_among(trials, kept, truth)
    assert [setting.seeds for setting in choosing.settings] == [2, 2]
    assert choosing.notes == ("1 seed of 3 left out: not every setting has them.",)
    _, (choosing,) = chosen_among(trials[2:4], kept, truth)
    assert choosing.chosen is None
    assert {str(setting.reason) for setting in choosing.settings} == {"the settings have no seed in common"}


def test_a_setting_that_kept_no_embedding_is_named_and_not_chosen() -> None:
    truth = evaluation_labels()
    trials = [trial(settings, 0) for settings in GRID[:3]]
    _, (choosing,) = chosen_among(trials, Kept(trials, truth, without=frozenset({1})), truth)
    assert choosing.settings[1].reason == because(SpaceReason.NO_EMBEDDING)
    assert np.isnan(choosing.settings[1].worst)
    assert choosing.settings[1].worst_group is None
    assert choosing.notes == ("No trial with rho=100.0 kept the embedding of its dev rows.",)
    assert choosing.chosen is not None
    _, choosings = chosen_among(trials, Kept(trials, truth, without=frozenset(range(3))), truth)
    assert choosings == ()


def test_a_control_is_never_chosen_and_stands_for_itself() -> None:
    pytest.importorskip("torch")
    truth = evaluation_labels()
    controls = [{**GRID[0], "shuffled": True}, {**GRID[0], "rho": 0.0}, {**GRID[0], "alpha": 0.0}]
    trials = [trial(settings, 0) for settings in (*controls, GRID[0])]
    kept = Kept(trials, truth)
    for place in range(3):
        # The controls are perfect: all rows of a class on one spot.
        kept.arrays["embedding.dev", place] = np.eye(CLASSES + 1)[truth.splits["dev"].target]
    cells, (choosing,) = chosen_among([*trials, trial({}, 0, name="untreated")], kept, truth)
    assert [setting.chosen for setting in choosing.settings] == [False, False, False, True]
    assert {setting.reason for setting in choosing.settings[:3]} == {because(SpaceReason.CONTROL)}
    again = rechosen(cells, [choosing])
    assert all(cell.chosen for cell in again)
    assert len({cell.treatment for cell in again}) == 5
    assert again[3].treatment == "parade"


def test_an_embedding_of_other_rows_is_refused() -> None:
    truth = evaluation_labels()
    trials = [trial(settings, 0) for settings in GRID[:2]]
    kept = Kept(trials, truth)
    kept.arrays["embedding.dev", 1] = np.zeros((10, 4))
    with pytest.raises(BadInput, match="embedding of 10 dev rows"):
        chosen_among(trials, kept, truth)
