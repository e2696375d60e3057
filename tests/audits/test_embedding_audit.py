"""The audit of an embedding: records, words, leakage, what carries over, and what is refused."""

from __future__ import annotations

import doctest
import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise import AuditResult, BadInput
from equipoise.audits.downstream import downstream
from equipoise.audits.embedding import EMBEDDING_EVIDENCE, EmbeddingReason, audit_embedding, embedding_map
from equipoise.audits.leakage import leakage
from equipoise.reports._spaces import finding_text
from equipoise.results import because

Space = tuple[np.ndarray, dict[str, np.ndarray]]


def space(seed: int = 0, *, worse: float = 0.0, people: int = 40, pictures: int = 6, width: int = 12) -> Space:
    """Several pictures of each person around a place of its own; ``worse`` scatters those of the second group."""
    generator = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), pictures)
    group = np.array(["a", "a", "b"])[np.arange(people) % 3][person]
    place = generator.normal(size=(people, width))[person]
    noise = generator.normal(size=place.shape) * np.where(group == "b", 0.3 + worse, 0.3)[:, None]
    return place + noise, {"person": person, "group": group, "half": np.where(person % 2, "x", "y")}


def audited(points: np.ndarray, rows: dict[str, np.ndarray], **options: Any) -> AuditResult:
    ask = {"target": "person", "sensitive_features": "group", "draws": 200, **options}
    return audit_embedding(points, rows=rows, **ask)


def test_a_space_that_serves_one_group_worse_is_told_in_words_and_numbers() -> None:
    result = audited(*space(worse=1.2))
    gap = next(r for r in result.find("recall_at_k_gap") if r.variant == "paper")
    assert gap.value > 0.2  # positive: the minoritised group is worse off
    assert gap.finding
    assert gap.low is not None
    assert gap.low > 0
    assert result.words[0].startswith("Nearest neighbours are of the same class less often for b than for a (group): ")
    assert " points, 95% interval " in result.words[0]
    rates = {r.group: r for r in result.find("recall_at_k", attribute=("group",))}
    assert set(rates) == {"a", "b"}
    assert rates["a"].value == pytest.approx(rates["a"].numerator / rates["a"].denominator)  # type: ignore[operator]


def test_a_space_that_serves_all_alike_has_no_finding() -> None:
    found = [any(r.finding for r in audited(*space(seed), draws=100).records) for seed in range(12)]
    assert sum(found) <= 3  # 5 % each


def test_every_value_is_told_for_everyone_for_each_group_and_as_a_gap() -> None:
    result = audited(*space(), sensitive_features=["group", "half"])
    names = {r.measure for r in result.records if r.kind in ("rate", "value")}
    assert {"recall_at_k", "mean_average_precision_at_r", "intra_class_alignment", "inter_class_alignment",
            "uniformity", "rbf_uniformity", "normalised_mutual_information", "adjusted_mutual_information",
            "normalised_mutual_information_by_chance"} <= names  # fmt: skip
    for name in names:
        assert len(result.find(name, attribute=())) == 1, name
        assert {r.group for r in result.find(name, attribute=("half",))} == {"x", "y"}, name
    assert {r.variant for r in result.find("recall_at_k_gap", attribute=("group",))} == {"paper", "paper_sign"}
    # Of two groups of one size the first is the one that others are compared with, and a note says so.
    halves = {r.variant: r for r in result.find("recall_at_k_gap", attribute=("half",))}
    rates = {r.group: r.value for r in result.find("recall_at_k", attribute=("half",))}
    assert halves["paper"].value == pytest.approx(rates["x"] - rates["y"])
    assert any("no group is the largest" in note for note in result.notes)
    loaded = json.loads(result.to_json())
    assert "map" not in loaded
    assert result.map is not None
    assert len(result.map.x) == 240
    assert result.map.classes == ()  # forty people are not named


def test_three_groups_are_compared_by_every_rule_of_the_paper() -> None:
    points, rows = space()
    rows["group"] = np.array(["a", "b", "c"])[rows["person"] % 3]
    result = audited(points, rows, majoritised={"group": ["a", "b"]})
    gaps = {r.variant: r.value for r in result.find("recall_at_k_gap")}
    assert set(gaps) == {"paper", "paper_sign", "best_minus_worst", "each_against_worst", "halves"}
    rates = {r.group: r.value for r in result.find("recall_at_k", attribute=("group",))}
    assert gaps["paper"] == pytest.approx((rates["a"] + rates["b"]) / 2 - rates["c"])
    assert gaps["best_minus_worst"] == pytest.approx(max(rates.values()) - min(rates.values()))


def test_files_and_frames_give_the_same_as_arrays(tmp_path: Path) -> None:
    points, rows = space()
    np.savez(tmp_path / "z.npz", z=points.astype(np.float32), other=np.zeros((3, 3)))
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(rows).to_parquet(tmp_path / "people.parquet")
    by_file = audit_embedding(
        tmp_path / "z.npz", embedding="z", rows=tmp_path / "people.parquet", target="person",
        sensitive_features="group", draws=0,
    )  # fmt: skip
    by_array = audit_embedding(points, target=rows["person"], sensitive_features={"group": rows["group"]}, draws=0)
    one, two = ({(r.measure, r.variant, r.group): r.value for r in result.records} for result in (by_file, by_array))
    assert one == pytest.approx(two, abs=1e-5, nan_ok=True)
    assert by_file.provenance["columns"]["embedding"] == "z"  # type: ignore[index]


def test_leakage_and_downstream_are_told_when_asked_for() -> None:
    points, rows = space(people=60)
    points[:, 0] += np.where(rows["group"] == "b", 4.0, 0.0)
    result = audited(
        points, rows, leakage=True, downstream=["logistic_regression"], downstream_target="half", cluster="person"
    )
    linear = next(r for r in result.leakage if r.probe == "linear")
    assert linear.balanced > 0.9
    assert {r.learner for r in result.downstream} == {"logistic_regression"}
    assert {p.upstream_measure for p in result.propagation} == {"recall_at_k"}
    assert any("A probe can read group from the embedding" in sentence for sentence in result.words)
    assert any("downstream" in sentence for sentence in result.words)


def test_small_groups_are_hidden_or_marked() -> None:
    points, rows = space()
    rows["group"] = np.where(rows["person"] == 0, "rare", rows["group"])
    marked, without = audited(points, rows), audited(*space())
    rare = next(r for r in marked.find("recall_at_k", group="rare"))
    assert (rare.status, str(rare.reason)) == ("too small", "6 rows: fewer than 30")
    gap = next(r for r in marked.find("uniformity_gap") if r.variant == "paper")
    assert gap.p is not None  # a small group is in no gap, and disables none
    values = [r.find("uniformity", group="b")[0].value for r in (marked, without)]
    assert values[0] == pytest.approx(values[1], rel=0.2)
    hidden = audited(points, rows, suppress_below=10)
    assert not hidden.find("recall_at_k", group="rare")
    assert hidden.map is None
    assert next(row for row in hidden.card.groups if row.group == "rare").rows is None


def test_a_group_of_few_people_says_why_it_has_no_interval() -> None:
    points, rows = space(pictures=20)
    rows["group"] = np.where(rows["person"] < 2, "few", "many")
    records = audited(points, rows, cluster="person").find(attribute="group")
    values = [r for r in records if r.kind in ("rate", "value") and r.measure in EMBEDDING_EVIDENCE and r.defined]
    assert values
    reason = because(EmbeddingReason.FEW_UNITS, group="few", number=2, unit="clusters")
    for record in values:
        few = record.group == "few"
        assert (record.low is None) == few, record.measure
        assert record.reason == (reason if few else None)
        assert record.status == "ok"
    gaps = [r for r in records if r.kind == "gap" and r.variant == "paper" and r.defined]
    assert {(r.low, r.reason) for r in gaps} == {(None, reason)}
    assert str(reason) == "'few' has only 2 clusters: no interval"
    assert all(r.p is not None for r in gaps)


def test_a_person_is_not_recognised_instead_of_the_group() -> None:
    """Groups assigned to people at random cannot be read from new people; a probe that knows the person could."""
    points, rows = space(people=60)
    rows["group"] = np.random.default_rng(5).permutation(np.array(["a", "a", "b"])[np.arange(60) % 3])[rows["person"]]
    result = audited(points, rows, leakage=True, downstream=["logistic_regression"], downstream_target="group")
    assert max(record.balanced for record in result.leakage) < 0.75
    accuracy = next(r for r in result.downstream if r.kind == "overall" and r.measure == "accuracy")
    assert accuracy.value < 0.8
    assert any("rows of a class on one side" in note for note in result.notes)


def test_what_carries_over_has_the_sign_of_the_space() -> None:
    points, rows = space(worse=1.2, people=60)
    train = np.random.default_rng(0).random(len(points)) < np.where(rows["group"] == "a", 0.9, 0.3)
    result = audited(points, {**rows, "train": train}, downstream=["logistic_regression"], train="train")
    assert all(point.upstream > 0 for point in result.propagation)
    recall = [p.downstream for p in result.propagation if p.measure == "accuracy"]
    assert recall
    assert min(recall) > 0  # group b is worse off in both, whichever has more test rows


def test_named_sides_rebalancing_and_the_papers_means_reach_the_numbers() -> None:
    points, rows = space(people=60)
    rows["group"] = np.array(["a", "b", "c"])[rows["person"] % 3]
    result = audited(points, rows, majoritised={"group": ["a"]}, minoritised={"group": ["c"]})
    rates = {r.group: r.value for r in result.find("recall_at_k", attribute=("group",))}
    gap = next(r for r in result.find("recall_at_k_gap") if r.variant == "paper")
    assert gap.value == pytest.approx(rates["a"] - rates["c"])
    ask = {"downstream": ["logistic_regression"], "downstream_target": "half"}
    plain, paper = audited(points, rows, **ask), audited(points, rows, **ask, macro="paper", rebalance="down")
    assert {r.variant for r in plain.downstream} == {"default"}
    assert {r.variant for r in paper.downstream} == {"paper"}
    assert all(r.training != "as given" for r in paper.downstream)


def test_a_group_too_small_to_compare_is_not_named_as_the_best_or_the_worst() -> None:
    points, rows = space(worse=1.2, people=60)
    rows["group"] = np.array(["a", "b", "c"])[rows["person"] % 3].astype(object)
    rows["group"][0] = "alone"
    result = audited(points, rows)
    (alone,) = result.find("recall_at_k", attribute="group", group="alone")
    assert alone.status == "too small"
    large = [r.value for r in result.find("recall_at_k", attribute="group") if r.group != "alone"]
    (widest,) = result.find("recall_at_k_gap", attribute="group", variant="best_minus_worst")
    assert widest.value == pytest.approx(max(large) - min(large))
    assert f"{100 * widest.value:.1f} points" in result.words[0]
    assert "alone" not in result.words[0]
    assert "alone" not in finding_text(result, widest)


def test_bad_input_says_what_is_allowed(tmp_path: Path) -> None:
    points, rows = space()
    with pytest.raises(BadInput, match="No target was given"):
        audited(points, rows, target=None)
    with pytest.raises(BadInput, match="rows differ"):
        audited(points[:-1], rows)
    with pytest.raises(BadInput, match="'pcb'"):
        audited(points, rows, map="pcb")
    with pytest.raises(BadInput, match="majoritised"):
        audited(points, rows, majoritised="a")
    with pytest.raises(BadInput, match="'z'"):
        audited(points, rows, majoritised={"group": ["z"]})
    with pytest.raises(BadInput, match="points are no file"):
        audited(points, rows, embedding="z")
    broken = points.copy()
    broken[5, 2] = np.nan
    with pytest.raises(BadInput, match="row 5"):
        audited(broken, rows)
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(BadInput, match="pickle"):
        audit_embedding(tmp_path / "objects.npy", rows=rows, target="person", sensitive_features="group")
    with pytest.raises(BadInput, match="train column"):
        audited(points, rows, train="half", downstream=True)
    for bad, word in ((points * 1e200, "reach from"), (points * 1e-300, "reach from"), (points * 0, "are the same")):
        with pytest.raises(BadInput, match=word):
            audited(bad, rows)
    for name, number in (("k", 240), ("k", 0), ("k", "3"), ("draws", -1), ("seed", -1), ("least_people", 0.5)):
        with pytest.raises(BadInput, match=f"{name} is {number!r}"):
            audited(points, rows, **{name: number})
    with pytest.raises(BadInput, match="suppress_below is -1"):
        audited(points, rows, suppress_below=-1)
    with pytest.raises(BadInput, match="no values: every one is missing"):
        audited(points, {**rows, "person": np.full(len(points), None)})
    with pytest.raises(BadInput, match="'5'"):
        audited(points, rows, majoritised={"group": 5})
    with pytest.raises(BadInput, match="bins is"):
        audited(points, rows, bins=["group"])
    with pytest.raises(BadInput, match="one class only"):
        audited(points, {**rows, "person": np.zeros(len(points))})
    with pytest.raises(BadInput, match="a class of its own"):
        audited(points, {**rows, "person": np.arange(len(points))})
    with pytest.raises(BadInput, match="All groups of group"):
        audited(points, rows, majoritised={"group": ["a", "b"]})


@pytest.mark.parametrize("written", [["True", "False"], ["1", "0"], ["true", "false"]])
def test_a_train_column_may_be_written_as_a_file_writes_it(written: list[str], tmp_path: Path) -> None:
    points, rows = space()
    lines = [f"{person},{group},{half},{written[index % 2]}"
             for index, (person, group, half) in enumerate(zip(*rows.values(), strict=True))]  # fmt: skip
    (tmp_path / "rows.csv").write_text("\n".join(["person,group,half,train", *lines]))
    result = audit_embedding(
        points, rows=tmp_path / "rows.csv", target="person", sensitive_features="group", train="train", draws=0,
        downstream=["logistic_regression"], downstream_target="half",
    )  # fmt: skip
    assert {r.learner for r in result.downstream} == {"logistic_regression"}


@pytest.mark.parametrize("function", [audit_embedding, embedding_map, downstream, leakage])
def test_every_argument_is_documented_once_and_the_example_runs(function: Callable[..., object]) -> None:
    documented = str(inspect.getdoc(function))
    for name in inspect.signature(function).parameters:
        lines = re.findall(rf"^(?:\w+, )?{name}(?:, \w+)? : ", documented, re.MULTILINE)
        assert len(lines) == (0 if name == "command" else 1), name
    assert "Returns\n-------" in documented
    (examples,) = doctest.DocTestFinder(recurse=False).find(function, globs=dict(function.__globals__))
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
