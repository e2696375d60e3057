"""Studies that add seeds until their comparisons are decided: what is trained, what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from equipoise import Cohort, Study
from equipoise.foundation import BadInput
from equipoise.stats import CORRECTIONS, looks_p, nominal_level
from equipoise.studies import StudyResult, Trial, read_plan, run_study
from equipoise.studies.storage import open_store

PEOPLE = 600
# How much more often each treatment is right than the baseline, on average over seeds, and the spread of seeds.
GAINS = {"none": 0.0, "small": 0.03, "large": 0.12}
SPREAD = 0.04


def cohort() -> Cohort:
    generator = np.random.default_rng(3)
    split = np.repeat(["train", "dev", "test"], [30, 60, PEOPLE])
    return Cohort.from_frame(
        {"feature": np.zeros(len(split)), "group": np.where(generator.random(len(split)) < 0.4, "a", "b"),
         "split": split, "target": generator.integers(0, 2, len(split))},
        target="target", groups=["group"], features=["feature"], split="split", name="growing",
    )  # fmt: skip


TRAINED: list[tuple[int, str]] = []
STOP_AFTER: list[int] = []


def simulated(cohort: Cohort, seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Predict rows right as often as the kind says; each seed adds its own to that."""
    TRAINED.append((seed, kind))
    if STOP_AFTER and len(TRAINED) > STOP_AFTER[0]:
        raise KeyboardInterrupt
    gain = GAINS.get(kind, 0.0)
    generator = np.random.default_rng([7, seed, len(kind)])
    truth = np.random.default_rng(3)
    truth.random(30 + 60 + PEOPLE)
    target = truth.integers(0, 2, 30 + 60 + PEOPLE)
    # Each person has the same place under every seed and treatment: test people add little to a change.
    place = np.random.default_rng(11).permutation(60 + PEOPLE) / (60 + PEOPLE)
    right = place < 0.7 + gain + SPREAD * generator.normal() * (kind != "baseline")
    predicted = np.where(right, target[30:], 1 - target[30:])
    return predicted[:60], predicted[60:]


def study(**options: object) -> Study:
    settings: dict[str, object] = {"seeds": "auto", "measures": ["accuracy"], "name": "growing", **options}
    return Study(cohort(), train=simulated, version=1, hyper={"kind": ["baseline", *GAINS]}, **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    TRAINED.clear()
    STOP_AFTER.clear()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyResult, Path, list[tuple[int, str]]]:
    where = tmp_path_factory.mktemp("growing") / "s.db"
    TRAINED.clear()
    run_study(study(), where)
    return study().result(where), where, list(TRAINED)


def seeds_by_kind(result: StudyResult) -> dict[str, int]:
    assert result.stopping is not None
    return {
        next(kind for kind in ("baseline", *GAINS) if kind in arm.treatment): arm.seeds for arm in result.stopping.arms
    }


def test_an_arm_ends_at_the_look_that_decides_it(
    finished: tuple[StudyResult, Path, list[tuple[int, str]]],
) -> None:
    result, _, trained = finished
    seeds = seeds_by_kind(result)
    assert seeds["baseline"] == 20
    assert seeds["none"] == 20
    assert seeds["large"] in (5, 10)
    assert len(trained) == sum(seeds.values())
    assert len(set(trained)) == len(trained)


def test_p_values_are_those_of_all_looks(finished: tuple[StudyResult, Path, list[tuple[int, str]]]) -> None:
    """By hand: a t-test at each look (people add nothing that seeds do not), the smallest p, Pocock, the correction."""
    result, where, _ = finished
    with open_store(str(where), create=False, read_only=True, plan=study().plan_key) as store:
        trials = [stored.trial for stored in store.trials() if stored.state == "done"]
        truth = study().labels
        counts = store.readouts("test", truth)
    accuracy = {}
    for trial in trials:
        table = counts.counts[counts.keys.index(trial.key)]
        kind = trial.treatments[0].settings["kind"]
        accuracy[kind, trial.seed] = float(np.einsum("gcc->", table) / table.sum())
    records = [r for r in result.records if r.measure == "accuracy" and r.verdict is not None]
    assert len(records) == len(GAINS)
    for record in records:
        kind = next(kind for kind in GAINS if kind in record.treatment)
        seeds = sorted(seed for name, seed in accuracy if name == kind)
        difference = np.array([accuracy[kind, seed] - accuracy["baseline", seed] for seed in seeds])
        looks = [look for look in (5, 10, 15, 20) if look <= len(seeds)]
        smallest = min(float(stats.ttest_1samp(difference[:look], 0.0).pvalue) for look in looks)
        assert record.p_runs is not None
        assert record.p is not None
        # People widen the test, so its p is at least that over seeds.
        assert record.p >= float(looks_p(smallest)) * (1 - 1e-9)
        if record.verdict.value in ("none", "undecided"):
            assert record.p_runs == pytest.approx(float(looks_p(stats.ttest_1samp(difference, 0.0).pvalue)), rel=1e-6)
    family = [r for r in result.records if r.p is not None and r.verdict is not None]
    adjusted = CORRECTIONS["bh"]([r.p for r in family])
    assert np.allclose(adjusted, [r.p_adjusted for r in family])


def test_verdict_and_interval_are_one_test(finished: tuple[StudyResult, Path, list[tuple[int, str]]]) -> None:
    result, _, _ = finished
    for record in result.records:
        if record.p is not None and record.change_low is not None:
            assert (record.verdict.value in ("higher", "lower")) == (record.change_low > 0 or record.change_high < 0)


def test_it_says_how_it_stopped(finished: tuple[StudyResult, Path, list[tuple[int, str]]]) -> None:
    result, _, _ = finished
    assert any("Pocock" in note for note in result.notes)
    assert any("Seeds of each treatment (at most 20)" in note for note in result.notes)
    content = json.loads(result.to_json())
    assert content["stopping"]["looks"] == [5, 10, 15, 20]
    assert content["provenance"]["options"]["stopping"] == {"rule": "looks", "looks": [5, 10, 15, 20]}
    assert not any(arm["undecided"] for arm in content["stopping"]["arms"])


def test_run_again_it_trains_nothing(finished: tuple[StudyResult, Path, list[tuple[int, str]]]) -> None:
    _, where, _ = finished
    run_study(study(), where)
    assert TRAINED == []


def done_in(where: Path) -> dict[str, Trial]:
    with open_store(str(where), create=False, read_only=True, plan=study().plan_key) as store:
        return {stored.key: stored.trial for stored in store.trials() if stored.state == "done"}


def test_a_study_that_was_stopped_goes_on_to_the_same_end(
    finished: tuple[StudyResult, Path, list[tuple[int, str]]], tmp_path: Path
) -> None:
    result, where, _ = finished
    for number in (3, 17, 30):
        STOP_AFTER[:] = [number]
        with pytest.raises(KeyboardInterrupt):
            run_study(study(), tmp_path / "s.db")
        TRAINED.clear()
    STOP_AFTER.clear()
    run_study(study(), tmp_path / "s.db")
    assert set(done_in(tmp_path / "s.db")) == set(done_in(where))
    again = study().result(tmp_path / "s.db")
    assert [(r.treatment, r.measure, r.p, r.verdict) for r in again.records] == [
        (r.treatment, r.measure, r.p, r.verdict) for r in result.records
    ]


def test_before_the_first_look_nothing_is_decided(tmp_path: Path) -> None:
    STOP_AFTER[:] = [14]
    with pytest.raises(KeyboardInterrupt):
        run_study(study(), tmp_path / "s.db")
    result = study().result(tmp_path / "s.db")
    compared = [r for r in result.records if r.verdict is not None]
    assert {r.verdict.value for r in compared} == {"undecided"}
    assert all(np.isnan(r.p) and "at least 5" in str(r.reason) for r in compared)


def test_anytime_decides_the_large_effect_and_spends_its_level_on_both(tmp_path: Path) -> None:
    made = study(stopping={"rule": "anytime", "looks": [6, 9, 12], "seeds_share": 0.7})
    run_study(made, tmp_path / "s.db")
    result = made.result(tmp_path / "s.db")
    assert result.provenance["options"]["correction"] == "holm"
    verdicts = {
        r.treatment: r.verdict.value for r in result.records if r.measure == "accuracy" and r.verdict is not None
    }
    assert next(v for t, v in verdicts.items() if "large" in t) == "higher"
    assert next(v for t, v in verdicts.items() if "none" in t) != "higher"
    assert any("70% of the level is spent on seeds" in note for note in result.notes)


def test_an_equivalence_margin_ends_a_comparison_too(tmp_path: Path) -> None:
    made = study(equivalence_margin=0.3, stopping={"looks": [5, 20]})
    run_study(made, tmp_path / "s.db")
    assert set(seeds_by_kind(made.result(tmp_path / "s.db")).values()) == {5}


def test_fixed_seeds_are_left_as_they_are(tmp_path: Path) -> None:
    made = study(seeds=5)
    assert made.stopping is None
    run_study(made, tmp_path / "s.db")
    result = made.result(tmp_path / "s.db")
    assert result.stopping is None
    assert len(TRAINED) == 20


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"seeds": "many"}, "seeds is 'many'"),
        ({"seeds": 5, "stopping": {"rule": "looks"}}, "seeds are fixed"),
        ({"stopping": {"rule": "sometimes"}}, "sometimes"),
        ({"stopping": {"look": [5, 10]}}, "look"),
        ({"stopping": {"looks": [5, 6]}}, "looks"),
        ({"stopping": {"looks": 20}}, "looks"),
        ({"stopping": {"looks": []}}, "looks"),
        ({"stopping": {"seeds_share": 0.5}}, "rule is looks"),
        ({"stopping": {"rule": "anytime", "seeds_share": 1.0}}, "seeds_share"),
        ({"stopping": {"rule": "anytime", "seeds_share": True}}, "seeds_share"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, object], word: str) -> None:
    with pytest.raises(BadInput, match=word):
        study(**options)


def test_what_trains_everything_at_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="auto") as refused:
        study().run(to=tmp_path / "out")
    assert "seeds = 20" in refused.value.help


def test_a_plan_says_it(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'seeds = "auto"\ngroup = "sex"\n[cohort]\nname = "adult"\ndev = 0.1\n[stopping]\nlooks = [4, 8]\n',
        encoding="utf-8",
    )
    planned = read_plan(tmp_path / "plan.toml").study()
    assert planned.stopping is not None
    assert planned.stopping.looks == (4, 8)
    assert planned.seeds == tuple(range(8))
    # No stack reaches over a look, so that a stage is trained as the whole plan says.
    assert all(len({trial.seed < 4 for trial in stack.trials}) == 1 for stack in planned.stacks())


def test_the_level_of_looks_is_the_one_that_decides() -> None:
    assert float(nominal_level(0.05)) == pytest.approx(0.0169, abs=1e-4)
