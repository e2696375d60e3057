"""A training function of one's own: what it sees, what it may return, what its trials are known by."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import Cohort, Study
from equipoise.foundation import BadInput
from equipoise.studies.plans._own_functions import named_function
from equipoise.studies.running import run_in_store
from helpers.cases.plan import by_the_mean, cohort, columns, threshold


def study(train: Any, people: Cohort | None = None, **how: Any) -> Study:
    return Study(people or cohort(), **{"group": "sex", "train": train, "version": 1, "seeds": 2, **how})


def outcome(train: Callable[..., Any], people: Cohort | None = None, **how: Any) -> Any:
    made = study(train, people, **how)
    return made.work.outcomes(made.trials()[:1])[0]


def test_it_sees_neither_test_labels_nor_test_groups_nor_columns_that_play_no_part() -> None:
    seen: list[Cohort] = []

    def looks(people: Cohort, seed: int) -> Any:
        seen.append(people)
        return by_the_mean(people, seed)

    assert outcome(looks).failure is None
    (given,) = seen
    assert set(given.columns) == {"a", "b", "kind", "sex", "race", "hired", "split"}
    test = given.where("test")
    for name in ("hired", "sex", "race"):
        assert set(test[name].tolist()) == {None}, name
        assert None not in given.where("train")[name].tolist()
        assert None not in given.where("dev")[name].tolist()
    assert np.array_equal(test["a"], cohort().where("test")["a"])
    assert given.prediction is None
    assert outcome(looks, needs_group_at_prediction=True).failure is None
    declared = seen[-1].where("test")
    assert declared["sex"].tolist() == cohort().where("test")["sex"].tolist()
    assert set(declared["hired"].tolist()) == {None}


def test_it_is_trained_on_the_rows_that_the_condition_drew() -> None:
    seen: list[Any] = []

    def counts(people: Cohort, seed: int) -> Any:
        train = people.where("train")
        seen.append((len(train), (train["sex"] == "F").mean(), sorted(train["a"].tolist())))
        return by_the_mean(people, seed)

    made = study(
        counts, conditions=[{"name": "interpolation", "mode": "JB", "alpha": [0, 1]}], seeds=2, name="balanced"
    )
    for trial in made.trials():
        made.work.outcomes([trial])
    sizes = {size for size, _, _ in seen}
    assert sizes == {made.drawing.size}
    assert seen[2][1] == pytest.approx(0.5, abs=0.01)
    assert seen[0][2] != seen[1][2], "another seed draws other rows"


def test_classes_scores_of_all_classes_and_one_score_are_understood() -> None:
    dev, test = outcome(by_the_mean).dev, outcome(by_the_mean).test
    assert dev.scores is not None
    assert dev.scores[:, 1] == pytest.approx(1 - dev.scores[:, 0], abs=1e-6)
    assert np.array_equal(dev.values, (dev.scores[:, 1] >= 0.5).astype(int))
    assert np.array_equal(test.values, test.scores.argmax(axis=1))
    assert outcome(threshold).dev.scores is None
    for favourable, place in (("no", 0), ("yes", 1), (None, 1)):
        found = outcome(lambda_like(0.9), cohort(favourable=favourable))
        assert set(found.dev.values.tolist()) == {place}
        assert found.dev.scores[:, place] == pytest.approx(0.9)


def lambda_like(score: float) -> Callable[..., Any]:
    def scores(people: Cohort, seed: int) -> Any:
        return {split: np.full(len(people.where(split)), score) for split in ("dev", "test")}

    return scores


def test_numbers_are_predicted_in_a_regression() -> None:
    data = {**columns(), "hired": columns()["a"] * 2}

    def doubles(people: Cohort, seed: int) -> Any:
        return people.where("dev")["a"] * 2, people.where("test")["a"] * 2

    found = outcome(doubles, Cohort("numbers", data, "hired", ("sex",), ("a", "b"), split="split", task="regression"))
    assert found.failure is None
    assert found.test.values == pytest.approx(data["hired"][data["split"] == "test"].astype(float), rel=1e-5)


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "returned NoneType"),
        ([1, 2, 3], "returned list"),
        (([], []), "one prediction for each of the 100 rows"),
        ((["maybe"] * 100, ["yes"] * 100), "'maybe'"),
        ((np.zeros((100, 3)), np.zeros((100, 3))), "one for each of the classes no, yes"),
        ((np.full(100, np.nan), np.zeros(100)), "not finite"),
        ((np.linspace(-2, 3, 100), np.zeros(100)), "outside 0 to 1, such as -2"),
    ],
)
def test_what_cannot_be_understood_fails_the_trial_in_words(returned: Any, complaint: str) -> None:
    def bad(people: Cohort, seed: int) -> Any:
        return returned

    assert complaint in str(outcome(bad).failure)


def test_an_error_fails_one_trial_and_no_other_and_seeds_are_fixed_before_each() -> None:
    drawn: list[float] = []

    def fails(people: Cohort, seed: int, broken: int = 0) -> Any:
        drawn.append(float(np.random.random()))  # what users' code draws from
        if seed == 0 and broken:
            sys.exit("I give up")
        return by_the_mean(people, seed)

    made = study(fails, hyper={"broken": [0, 1]}, repeats=2)
    ended = [made.work.outcomes([trial])[0] for trial in made.trials()]
    assert [one.failure for one in ended if one.failure] == ["SystemExit: I give up"] * 2
    assert len(set(drawn)) == 2, "one number a seed, whatever else differs"


def test_trials_are_known_by_dotted_name_version_and_hyper_parameters() -> None:
    made = study(threshold, hyper={"cut": [0.2, 0.8]})
    assert [str(arm.treatments[0]) for arm in made.arms] == [
        "helpers.cases.plan.threshold(cut=0.2)", "helpers.cases.plan.threshold(cut=0.8)",
    ]  # fmt: skip
    first = made.trials()[0]
    assert first.learner.name == "own_function"
    assert study(threshold, hyper={"cut": [0.2, 0.8]}, version=2).trials()[0].key != first.key
    assert study(threshold, hyper={"cut": [0.2]}).trials()[0].key == first.key
    declared = study(threshold, hyper={"cut": 0.2}, needs_group_at_prediction=True)
    assert declared.trials()[0].key != first.key
    two = study([threshold, by_the_mean], baseline="by_the_mean")
    assert two.baseline == "helpers.cases.plan.by_the_mean"
    assert len(two.trials()) == 4


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"version": None}, "without a version"),
        ({"version": 0}, "version of threshold is 0"),
        ({"train": lambda people, seed: None}, "a function with a name"),
        ({"train": [threshold, threshold]}, "is in the plan twice"),
        ({"treatments": ["reweighting"]}, "does its own training"),
        ({"rounding": "jitter"}, "makes its own batches"),
        ({"rounding": "deterministic jitter"}, 'rounding is "deterministic jitter"'),
        ({"baseline": "thresold"}, "treatment 'thresold' not found"),
        ({"train": None}, "version was given without train"),
        ({"hyper": {"cut": object()}}, "they identify the trial"),
        ({"hyper": {"cut": float("nan")}}, "they identify the trial"),
        ({"hyper": {"cutt": 1}}, "cannot be called with .cohort, seed, cutt=1."),
        ({"hyper": 3}, "hyper is 3"),
    ],
)
def test_what_makes_no_sense_with_a_function_is_refused(how: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        study(**{"train": threshold, **how})


def test_a_changed_source_warns_and_keeps_what_was_trained(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    file = tmp_path / "changing.py"
    text = "from helpers.cases import plan\ndef mine(cohort, seed):\n    return plan.by_the_mean(cohort, seed)\n"
    texts = [text, text.replace("return", "return  ")]

    def read(text: str, place: int) -> Any:
        file.with_stem(f"changing{place}").write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("changing", file.with_stem(f"changing{place}"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.mine

    first, second = (read(text, index) for index, text in enumerate(texts))
    assert named_function(first, 1).name == named_function(second, 1).name == "changing.mine"
    run_in_store(study(first), tmp_path / "s.db")
    run_in_store(study(first), tmp_path / "s.db")
    with pytest.warns(UserWarning, match=r"source of changing.mine has changed.*raise version="):
        run_in_store(study(second), tmp_path / "s.db")
    assert study(second).status(tmp_path / "s.db").done == 2


def test_a_function_that_other_processes_cannot_find_runs_here(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")

    def local(people: Cohort, seed: int) -> Any:
        return by_the_mean(people, seed)

    with pytest.warns(UserWarning, match="one worker runs here"):
        run_in_store(study(local), tmp_path / "s.db", workers=2)
    assert study(local).status(tmp_path / "s.db").done == 2


@pytest.mark.parametrize("without", ["dev", "test"])
def test_a_study_by_the_auc_needs_scores_of_dev_and_of_test_rows(without: str) -> None:
    def half(people: Cohort, seed: int) -> Any:
        dev, test = by_the_mean(people, seed)
        found = {"dev": dev, "test": test[:, 1]}
        return {**found, without: np.where(found[without] >= 0.5, "yes", "no")}

    assert "classes without scores" in outcome(half, performance="auc").failure
    assert outcome(half).failure is None
    assert outcome(by_the_mean, performance="auc").failure is None


def test_the_auc_of_trials_without_scores_says_that_learners_train_again_for_another_performance(
    tmp_path: Path,
) -> None:
    pytest.importorskip("sqlalchemy")
    run_in_store(study(threshold), tmp_path / "s.db")
    with pytest.raises(BadInput, match=r"(?s)kept no scores.*learners are then trained again"):
        study(threshold, performance="auc").result(tmp_path / "s.db")


def test_hard_scores_of_a_first_class_that_is_favourable_are_not_guessed_at() -> None:
    """0.0 and 1.0 are classes and scores alike; for the class "0" the two readings contradict each other."""
    data = columns()
    numbered = {**data, "hired": (data["hired"] == "yes").astype(int)}
    people = Cohort(
        name="numbered", columns=numbered, target="hired", groups=("sex",), features=("a", "b"), split="split",
        favourable="0",
    )  # fmt: skip

    def hard(given: Cohort, seed: int) -> dict[str, Any]:
        return {name: (given.where(name)["a"] < 0.5).astype(float) for name in ("dev", "test")}

    failed = outcome(hard, people)
    assert "may be classes or scores of the favourable class '0'" in failed.failure
    assert study(hard, people).trials()[0].key != study(hard, replace(people, favourable="1")).trials()[0].key


def test_a_torch_that_a_function_imports_is_seeded_too(tmp_path: Path) -> None:
    """Whether torch was imported before the first trial must not matter."""
    pytest.importorskip("torch")
    script = tmp_path / "late.py"
    script.write_text(
        "import sys\nfrom helpers.cases.plan import cohort\nfrom equipoise import Study\n"
        "def late(given, seed):\n    import torch\n"
        "    return {name: torch.rand(len(given.where(name))).numpy() for name in ('dev', 'test')}\n"
        "study = Study(cohort(), train=late, version=1, group='sex', seeds=1, repeats=2)\n"
        "assert 'torch' not in sys.modules\n"
        "first, second = (study.work.outcomes([trial])[0] for trial in study.trials())\n"
        "assert first.failure is None, first.failure\n"
        "assert (first.test.scores == second.test.scores).all()\n"
    )
    done = subprocess.run(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def weighed(people: Cohort, seed: int, weighted: bool = False, cut: float = 0.5) -> Any:
    """Another threshold where weights are asked for, so that the two settings differ in every run."""
    return threshold(people, seed, cut=cut + 0.7 * weighted)


def test_settings_of_one_function_are_compared_with_the_first_of_them(tmp_path: Path) -> None:
    made = study(weighed, hyper={"weighted": [False, True], "cut": 0.4}, seeds=4)
    assert made.baseline.endswith("weighed (cut=0.4, weighted=False)")
    result = made.run(tmp_path / "s.db")
    compared = {(record.treatment, record.baseline) for record in result.records if record.baseline}
    assert compared == {(made.baseline.replace("False", "True"), made.baseline)}
    assert all(cell.chosen for cell in result.cells), "none speaks for the other"


@pytest.mark.parametrize("spelt", ["weighed(weighted=True)", "weighed (cut=0.4, weighted=True)"])
def test_a_setting_can_be_the_baseline(spelt: str) -> None:
    made = study(weighed, hyper={"weighted": [False, True], "cut": 0.4}, baseline=spelt)
    assert made.baseline.endswith("weighed (cut=0.4, weighted=True)")
    both = study([weighed, threshold], hyper={"cut": [0.4, 0.5]}, baseline="threshold(cut=0.5)")
    assert (both.baseline, both.every_setting) == ("helpers.cases.plan.threshold (cut=0.5)", True)
    with pytest.raises(BadInput, match=r"treatment 'weighed\(weighted=2\)' not found"):
        study(weighed, hyper={"weighted": [False, True]}, baseline="weighed(weighted=2)")


def test_of_several_functions_each_still_has_one_setting_chosen() -> None:
    made = study([weighed, threshold], hyper={"cut": [0.4, 0.5]}, baseline="threshold")
    assert (made.baseline, made.every_setting) == ("helpers.cases.plan.threshold", False)


def test_a_report_of_settings_of_which_one_has_failed_is_still_made(tmp_path: Path) -> None:
    def half(people: Cohort, seed: int, broken: bool = False) -> Any:
        if broken:
            raise RuntimeError("this setting does not work")
        return by_the_mean(people, seed)

    result = study(half, hyper={"broken": [False, True]}, seeds=2).run(tmp_path / "s.db")
    assert [cell.treatment.partition(" ")[2] for cell in result.cells] == ["(broken=False)"]
