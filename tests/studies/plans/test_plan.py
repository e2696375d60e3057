"""Plans: what is read, what is refused and in which words, which trials they mean, and what names a trial."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from equipoise import Study
from equipoise.conditions import draw_training, make_condition
from equipoise.foundation import BadInput
from equipoise.foundation._files import MOST_BYTES
from equipoise.studies import (
    Trial,
    read_plan,
    schema_text,
)
from equipoise.studies._planfile import (
    StudyPlan,
    line_of,
)
from equipoise.studies.plans import (
    CHOICE,
    BadPlan,
    Named,
    canonical,
    trial_of,
)
from equipoise.studies.plans._rows import _values, data_fingerprint, rows_of, trained_fingerprint, with_splits
from equipoise.studies.running._work import draw_name
from helpers.cases.plan import COHORT, PLAN, cohort, columns, write_plan

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "docs" / "schemas" / "study-plan-1.json"
WAY = """python -c "from equipoise.studies import schema_text; print(schema_text(), end='')" > """


def test_the_published_schema_is_that_of_the_model_and_takes_the_examples() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), f"write it again: {WAY}{PUBLISHED.name}"
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for plan in ("adult.toml", "adult_001.toml"):
        validator.validate(tomllib.loads((ROOT / "examples" / plan).read_text(encoding="utf-8")))
    assert not validator.is_valid({"cohort": {"name": "adult"}, "grop": "sex"})
    assert not validator.is_valid({})


def test_the_plan_of_the_first_real_run_is_what_the_paper_asks_for() -> None:
    study = read_plan(ROOT / "examples" / "adult_001.toml").study()
    names = ["untreated", "downsampling", "reweighting", "adversarial", "diverse_adversarial", "fairbatch",
             "equal_opportunity_class", "equal_opportunity_global", "inlp", "inlp: refitted head alone"]  # fmt: skip
    assert [arm.name for arm in study.arms] == names
    found = [(named.settings["mode"], named.settings["alpha"]) for named, _ in study.conditions]
    assert found == [(mode, alpha) for mode in ("group_given_class", "joint") for alpha in (0, 1, 2)]
    assert len(study.seeds) == 10
    assert study.groups == ("sex",)
    assert study.learners[0].named.settings["width"] == 300


def test_a_plan_expands_to_every_combination_in_order(tmp_path: Path) -> None:
    text = (
        PLAN.replace("repeats = 2", 'repeats = 3\nselection = ["dto", "performance"]')
        + """
[[treatments]]
name = "adversarial"
strength = [0.1, 1, 10]
width = [4, 8]

[[treatments]]
name = ["reweighting", "adversarial"]
strength = 0.5
"""
    )
    study = read_plan(write_plan(tmp_path, text)).study()
    trials = study.trials()
    assert len(trials) == len({trial.key for trial in trials}) == 2 * 2 * (2 + 6 + 1) * 2 * 3
    adversarial = [
        (treatment.settings["strength"], treatment.settings["width"])
        for arm in study.arms for treatment in arm.treatments if arm.name == "adversarial"
    ]  # fmt: skip
    assert adversarial == [(0.1, 4), (0.1, 8), (1, 4), (1, 8), (10, 4), (10, 8)]
    assert study.arms[-1].name == "reweighting + adversarial"
    assert {trial.size for trial in trials} == {study.drawing.size}


def test_stacks_hold_every_trial_once_and_only_like_with_like(tmp_path: Path) -> None:
    text = (
        PLAN.replace("repeats = 2", "repeats = 2\nstack = 3")
        + """
[[treatments]]
name = "adversarial"
strength = [0.1, 1]
width = [4, 8]
"""
    )
    study = read_plan(write_plan(tmp_path, text)).study()
    stacks = study.stacks()
    assert Counter(key for stack in stacks for key in stack.keys) == Counter(trial.key for trial in study.trials())
    for stack in stacks:
        assert len(stack) <= 3
        assert len({canonical([trial.condition.settings, trial.treatment]) for trial in stack.trials}) == 1
        assert len({trial.treatments[0].settings.get("width") for trial in stack.trials}) == 1
    first = [stack.cell for stack in stacks[: len({stack.cell for stack in stacks})]]
    assert len(set(first)) == len(first), "every cell is reached before any comes a second time"
    again = read_plan(tmp_path / "plan.toml").study().stacks()
    assert [stack.keys for stack in again] == [stack.keys for stack in stacks]


def test_the_drawn_rows_are_those_of_the_conditions_room(tmp_path: Path) -> None:
    study = read_plan(write_plan(tmp_path)).study()
    plan = [make_condition("interpolation", mode="CB", alpha=alpha) for alpha in (0, 1)]
    for trial in study.trials()[::5]:
        condition = make_condition(trial.condition.name, **trial.condition.settings)
        drawn = draw_training(condition, study.cohort, trial.seed, group="sex", plan=plan)
        own = study.dataset.train.ids[study.work.draws[draw_name(trial)]]
        assert np.array_equal(own, drawn.rows)
        assert len(own) == trial.size == drawn.feasibility.largest


# What names a trial.

TRIAL = Trial(
    cohort="sha256:1", groups=("sex",), condition=Named("interpolation", 1, {"mode": "joint", "alpha": 1.0}), size=100,
    learner=Named("mlp", 1, {"width": 300, "layers": 2}),
    treatments=(Named("adversarial", 1, {"strength": 0.5, "width": 8}), Named("reweighting", 1, {})),
    seed=3, repeat=1, rounding="native", precision="float32", device="cpu", selection="dto",
)  # fmt: skip
CHANGES: dict[str, Any] = {
    "cohort": "sha256:2", "groups": ("sex", "race"), "condition": Named("as_given", 1), "size": 101,
    "learner": Named("mlp", 2, TRIAL.learner.settings), "treatments": TRIAL.treatments[::-1], "seed": 4, "repeat": 2,
    "rounding": "jitter", "precision": "float64", "device": "cuda", "selection": "performance",
    "performance": "accuracy", "fairness": "GAP", "choice": 2,
}  # fmt: skip


@pytest.mark.parametrize("field", CHANGES)
def test_every_part_of_a_trial_is_part_of_its_name(field: str) -> None:
    assert replace(TRIAL, **{field: CHANGES[field]}).key != TRIAL.key


def test_a_trial_of_an_earlier_version_keeps_its_key() -> None:
    assert TRIAL.key == "5696730461959b4d1d3b5ad06439c8ce"
    assert not {"performance", "fairness", "choice"} & set(TRIAL.described())
    chosen = replace(TRIAL, performance="balanced_accuracy", fairness="DP", choice=CHOICE)
    assert chosen.as_earlier() == TRIAL
    assert trial_of(json.loads(json.dumps(chosen.described()))) == chosen


def test_every_setting_is_part_of_the_name() -> None:
    keys = {TRIAL.key}
    for name, value in TRIAL.treatments[0].settings.items():
        other = Named("adversarial", 1, {**TRIAL.treatments[0].settings, name: value * 2})
        keys.add(replace(TRIAL, treatments=(other, TRIAL.treatments[1])).key)
    keys.add(replace(TRIAL, condition=Named("interpolation", 1, {"mode": "joint", "alpha": 1.25})).key)
    assert len(keys) == 4


values = st.one_of(
    st.integers(-(2**40), 2**40), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text(max_size=8)
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=6), values, max_size=6), st.randoms())
def test_the_name_does_not_depend_on_the_order_of_settings_or_on_writing(said: dict[str, Any], random: Any) -> None:
    shuffled = list(said.items())
    random.shuffle(shuffled)
    one = replace(TRIAL, treatments=(Named("x", 1, said),))
    other = replace(TRIAL, treatments=(Named("x", 1, dict(shuffled)),))
    assert one.key == other.key == trial_of(json.loads(json.dumps(one.described()))).key


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), values, min_size=1, max_size=3), st.sampled_from("abc"), values)
def test_another_value_is_another_name(said: dict[str, Any], name: str, value: Any) -> None:
    changed = {**said, name: value}
    same = canonical(said) == canonical(changed)
    keys = [replace(TRIAL, treatments=(Named("x", 1, one),)).key for one in (said, changed)]
    assert (keys[0] == keys[1]) == same
    if same and name in said:
        assert said[name] == value
        assert isinstance(said[name], bool) == isinstance(value, bool)


def test_settings_that_are_left_out_are_named_with_their_defaults() -> None:
    plain = Study(cohort(), group="sex", treatments=["adversarial"], seeds=1).trials()[0]
    full = Study(cohort(), group="sex", treatments=[{"name": "ADV", "strength": 1}], seeds=1).trials()[0]
    assert plain.key == full.key
    assert plain.treatments[0].settings["strength"] == 1.0


# The data.


def test_the_fingerprint_is_of_values_and_of_all_of_them() -> None:
    first = trained_fingerprint(cohort())
    assert first == trained_fingerprint(cohort())
    data = columns()
    as_objects = {name: column.astype(object) for name, column in data.items()}
    assert trained_fingerprint(replace(cohort(), columns=as_objects)) == first
    for name in ("a", "kind", "sex", "race", "hired", "split"):
        changed = {key: column.copy() for key, column in data.items()}
        changed[name][0] = changed[name][1] if changed[name][0] != changed[name][1] else changed[name][2]
        if changed[name][0] != data[name][0]:
            assert trained_fingerprint(replace(cohort(), columns=changed)) != first, name
    assert trained_fingerprint(replace(cohort(), features=("a", "b"))) != first
    assert data_fingerprint(replace(cohort(), features=("a", "b"))) == data_fingerprint(cohort())


def test_a_share_of_training_rows_becomes_the_dev_split_by_the_seed() -> None:
    data = columns()
    data["split"] = np.where(data["split"] == "dev", "train", data["split"])
    plain = replace(cohort(), columns=data)
    with pytest.raises(BadInput, match=r"(?s)has no dev split.*dev = 0\.2 takes"):
        with_splits(plain)
    one, same, other = (with_splits(plain, dev=0.2, seed=seed) for seed in (0, 0, 1))
    assert len(rows_of(one, "dev")) == round(0.2 * len(rows_of(plain, "train")))
    assert np.array_equal(rows_of(one, "test"), rows_of(plain, "test"))
    assert trained_fingerprint(one) == trained_fingerprint(same) != trained_fingerprint(other)
    assert not set(rows_of(one, "dev")) & set(rows_of(one, "train"))
    whole = with_splits(replace(plain, split=None), dev=0.25, test=0.5)
    assert [len(rows_of(whole, split)) for split in ("train", "dev", "test")] == [150, 50, 200]
    with pytest.raises(BadInput, match="already has a split 'dev'"):
        with_splits(cohort(), dev=0.2)
    data["split"] = np.where(columns()["split"] == "dev", "Validation", columns()["split"])
    with pytest.raises(BadInput, match="rename 'Validation' to 'dev'"):
        with_splits(replace(plain, columns=data))


# What is refused, and in which words.

BAD = [
    ('grop = "sex"', r"plan.toml, line 2 \(grop\): key 'grop' not found in a plan.*did you mean 'group'"),
    ("seeds = 0", r"line 2 \(seeds\): seeds is 0.*1 or more"),
    ("seeds = [0, 0]", "names one twice.*repeats"),
    ('seeds = "five"', "seeds is 'five'.*a whole number"),
    ("repeats = 1.5", r"line 2 \(repeats\): repeats is 1.5.*a whole number"),
    ('rounding = "jiter"', "rounding is 'jiter'.*'native', 'jitter', 'deterministic' or 'deterministic jitter'"),
    ('device = "gpu"', "device is 'gpu'.*'cpu' or 'cuda'"),
    ('selection = ["dto", "dto"]', "each once"),
    ('baseline = "untreted"', r"\(baseline\): treatment 'untreted' not found.*did you mean 'untreated'"),
    ('measures = ["acuracy"]', r"\(measures 1\): measure 'acuracy' not found.*did you mean 'accuracy'"),
    ("size = 0", "size is 0.*1 or more"),
    ('schema = "equipoise.study-plan/9"', "equipoise.study-plan/1"),
    ("seeds = = 2", "is not TOML.*line 2"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "complaint"), BAD)
def test_a_wrong_line_is_refused_with_its_place(tmp_path: Path, line: str, complaint: str) -> None:
    name = line.partition(" ")[0]
    rest = re.sub(rf"^{name} = .*$", "", PLAN, flags=re.MULTILINE)
    with pytest.raises(BadInput) as refused:
        read_plan(write_plan(tmp_path, f"\n{line}{rest}")).study()
    assert re.search(complaint, str(refused.value), flags=re.DOTALL), refused.value


def checked(path: Path) -> None:
    plan = read_plan(path)
    with plan.located():
        plan.study().trials()


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ('[[treatments]]\nname = "reweigthing"', r"\(treatments 3, name\).*did you mean 'reweighting'"),
        ('[[treatments]]\nname = "adversarial"\nstrenght = 1', r"\(treatments 3, strenght\).*did you mean 'strength'"),
        ('[[treatments]]\nname = "adversarial"\nstrength = -1', r"^plan.toml, line 36 \(treatments 3, strength\)"),
        ('[[treatments]]\nname = "adversarial"\nstrength = [1, "x"]', "strength is 'x'.*a number of at least 0"),
        ('[[treatments]]\nname = "adversarial"\nstrength = []', "strength is an empty list"),
        ('[[treatments]]\nname = "untreated"', "untreated is in the plan twice"),
        ('[[treatments]]\nname = ["adversarial", "diverse_adversarial"]\nstrength = 1', "which treatment it is for"),
        ('[[treatments]]\nstrength = 1', r"\(treatments 3\): There is no name"),
        ('[[conditions]]\nname = "interpolatoin"', r"\(conditions 2, name\).*did you mean 'interpolation'"),
        ('[[conditions]]\nname = "interpolation"\nmode = "CB"\nalpha = 3', r"\(conditions 2\).*alpha is 3.*from 0"),
        ('[[conditions]]\nname = "interpolation"\nmode = "CB"\nalpha = 1', "is in the plan twice"),
        ('[[conditions]]\nname = "class_ratio"\nshares = { perhaps = 0.5 }', "The condition class ratio.*perhaps"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_refused_with_its_place(tmp_path: Path, extra: str, complaint: str) -> None:
    path = write_plan(tmp_path, f"{PLAN}\n{extra}\n")
    with pytest.raises(BadInput) as refused:
        checked(path)
    assert re.search(complaint, str(refused.value), flags=re.DOTALL), refused.value


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('group = "sex"', "", r"\(group\): .*several group columns \(sex, race\)"),
        ('group = "sex"', 'group = "sexx"', r"line 7 \(group\).*did you mean 'sex'"),
        ('target = "hired"', "", r"\(cohort\).*has no target"),
        ('target = "hired"', 'target = "hird"', "hird"),
        ('split = "split"\n', "", r"has no dev, test split and no split column.*dev = 0\.2"),
        ('split = "split"\n', 'split = "split"\ndev = 1.5\n', r"\(cohort, dev\): dev is 1.5.*less than 1"),
        ('favourable = "yes"', 'favourable = "Yes"', r"\(cohort, favourable\): class 'Yes' not found.*mean 'yes'"),
        ('file = "people.csv"', 'file = "peple.csv"', r"\(cohort\).*peple"),
        ('file = "people.csv"', 'name = "adult"', r"line 12 \(cohort, features\): features is given for"),
        ('name = "mlp"', 'name = "mpl"', r"line 2\d \(learner, name\).*did you mean 'mlp'"),
        ("width = 8", "width = 0", r"line \d\d \(learner, width\).*at least 1"),
        ("width = 8", "widht = 8", "did you mean 'width'"),
        ('[cohort]', '[cohrt]', "did you mean 'cohort'"),
    ],
)  # fmt: skip
def test_a_wrong_cohort_group_or_learner_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in PLAN
    with pytest.raises(BadInput) as refused:
        read_plan(write_plan(tmp_path, PLAN.replace(old, new))).study()
    assert re.search(complaint, str(refused.value), flags=re.DOTALL), refused.value


def test_garbage_folders_and_giants_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    with pytest.raises(BadInput, match="cannot be read"):
        read_plan(path)
    with pytest.raises(BadInput, match="is a folder"):
        read_plan(tmp_path)
    path.write_bytes(b'group = "sex"\nx = "\xff\xfe"\n')
    with pytest.raises(BadInput, match=r"is not UTF-8 \(at line 2\)"):
        read_plan(path)
    path.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(BadInput, match="bytes"):
        read_plan(path)
    path.write_text("a = " + "[" * 5_000, encoding="utf-8")
    with pytest.raises(BadInput, match=r"'plan\.toml'"):
        read_plan(path)


def test_lines_are_found_in_tables_and_lists_of_tables() -> None:
    text = 'a = 1\n[cohort]\nname = "x"\n[[treatments]]\nname = "b"\n# name = "c"\n[[treatments]]\n"rate" = [\n1,\n]\n'
    places = [("a",), ("cohort", "name"), ("treatments", 0, "name"), ("treatments", 1, "rate")]
    assert [line_of(text, place) for place in places] == [1, 3, 5, 8]
    assert line_of(text, ("treatments", 1, "other")) == 7
    assert line_of(text, ("nothing",)) is None


def test_every_default_of_a_plan_is_that_of_the_python_door(tmp_path: Path) -> None:
    plan = read_plan(write_plan(tmp_path, COHORT)).study()
    door = Study(cohort(name="people"), group="sex")
    assert [trial.key for trial in plan.trials()] == [trial.key for trial in door.trials()]
    assert plan.baseline == door.baseline == "untreated"
    assert set(StudyPlan.model_fields) >= {"cohort", "group", "conditions", "treatments", "learner", "seeds"}


def test_python_names_the_place_of_what_is_wrong() -> None:
    with pytest.raises(BadPlan, match="at least 0") as refused:
        Study(cohort(), group="sex", treatments=["untreated", {"name": "adversarial", "strength": -1}])
    assert refused.value.path == ("treatments", 1, "strength")
    with pytest.raises(BadPlan, match="There are no conditions"):
        Study(cohort(), group="sex", conditions=[])


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"group": 3}, "group is 3"),
        ({"conditions": [3]}, "name of a condition is 3"),
        ({"seeds": True}, "seeds is True"),
        ({"seeds": "three"}, "seeds is 'three'"),
        ({"baseline": 3}, "treatment '3' not found"),
        ({"measures": "acuracy"}, "did you mean 'accuracy'"),
    ],
)
def test_python_refuses_other_types_in_words(how: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        Study(cohort(), **{"group": "sex", **how})


def test_one_class_and_what_is_no_cohort_are_refused() -> None:
    people = cohort()
    same = {**people.columns, people.target: np.full(len(people), "no", dtype=object)}
    with pytest.raises(BadInput, match="have one class of hired"):
        Study(replace(people, columns=same, favourable=None), group="sex").trials()
    with pytest.raises(BadInput, match="The cohort is 'adult'"):
        Study("adult")  # type: ignore[arg-type]


def test_what_a_setting_is_chosen_by_is_declared_in_the_plan(tmp_path: Path) -> None:
    assert read_plan(write_plan(tmp_path, PLAN)).study().choose_by == "recall@1"
    assert read_plan(write_plan(tmp_path, f'choose_by = "nmi"\n{PLAN}')).study().choose_by == "nmi"
    with pytest.raises(BadInput, match=r"(?s)line 1 \(choose_by\).*'recall@1' or 'nmi'"):
        read_plan(write_plan(tmp_path, f'choose_by = "nmj"\n{PLAN}'))
    with pytest.raises(BadInput, match=r"(?s)measure 'recal@1' not found.*did you mean 'recall@1'"):
        Study(cohort(), group="sex", choose_by="recal@1")


def test_untreated_in_a_composition_is_refused_with_how_to_list_several_treatments(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="would be one treatment that composes them all") as told:
        Study(cohort(), group="sex", treatments=[{"name": ["untreated", "reweighting"]}])
    assert '[[treatments]] name = "untreated" [[treatments]] name = "reweighting"' in str(told.value)
    assert "treatments=['untreated', 'reweighting']" in str(told.value)
    path = write_plan(tmp_path)
    path.write_text(PLAN.replace('name = "reweighting"', 'name = ["untreated", "reweighting"]'), encoding="utf-8")
    with pytest.raises(BadInput, match=r"plan.toml, line \d+ \(treatments 2, name\)"):
        read_plan(path).study()


def test_the_fingerprint_of_numbers_is_that_of_their_bytes_whatever_kind_of_column_holds_them() -> None:
    """Columns of a file come as objects; stores of earlier versions know them by these bytes."""
    given = np.array([1, None, 2.5, float("nan"), -0.0, 10**15], dtype=object)
    by_value = np.where(given == None, np.nan, given).astype("<f8").tobytes()  # noqa: E711 - elementwise
    assert list(_values(given)) == [b"numbers", by_value]


@pytest.mark.parametrize("learner", ["metric_learner", "raw_features"])
def test_a_control_that_would_do_nothing_to_an_embedding_is_not_added(learner: str) -> None:
    """INLP and LEACE only erase from an embedding: without that it is the embedding as it is."""
    treatments = ["untreated", "inlp", ["reweighting", "leace"] if learner == "metric_learner" else "leace"]
    study = Study(cohort(), group="sex", learner=learner, treatments=treatments, seeds=1)
    assert [arm.name for arm in study.arms] == [
        "untreated", "inlp", "reweighting + leace" if learner == "metric_learner" else "leace",
    ]  # fmt: skip
    named = Study(cohort(), group="sex", learner=learner, treatments=[{"name": "inlp", "iterations": 0}], seeds=1)
    assert [arm.name for arm in named.arms] == ["inlp: refitted head alone"], "one that the plan names stays"
    with_head = Study(cohort(), group="sex", learner="scikit_learn", treatments=["inlp"], seeds=1)
    assert [arm.name for arm in with_head.arms] == ["inlp", "inlp: refitted head alone"]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_names_its_schema_for_editors_and_keeps_to_it(example: Path) -> None:
    directive = re.match(r"#:schema (\S+)\n", example.read_text(encoding="utf-8"))
    assert directive is not None
    schema = json.loads((example.parent / directive[1]).read_text(encoding="utf-8"))
    content = tomllib.loads(example.read_text(encoding="utf-8"))
    assert content["schema"] == schema["$id"]
    Draft202012Validator(schema).validate(content)
