"""The shared checks over everything registered, proof that the checks bite, and plug-ins."""

from __future__ import annotations

import importlib.metadata
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.cohorts import Cohort
from equipoise.foundation import (
    KINDS,
    BadInput,
    Entry,
    ratio,
    registry,
)
from equipoise.foundation._registry import (
    PLUGIN_GROUP,
    PluginFailure,
    Registry,
)
from equipoise.measures import (
    get_measure,
    largest_difference,
)
from equipoise.measures._classification import selection_rates
from equipoise.testing import check, random_rows
from helpers.oracles.rates import AUTHORS, ORACLES

# Means over classes are asked for on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:.* is the mean over the classes")

MEASURES = [entry.name for entry in registry.entries("measure")]
AUTHORED = [name for name in MEASURES if "authors" in get_measure(name).variants]
COUNTED = [name for name in MEASURES if get_measure(name).needs in ("predictions", "counts")]


@pytest.fixture(autouse=True)
def registered_things_are_put_back() -> Iterator[None]:
    for kind in KINDS:
        registry.entries(kind)
    entries = {kind: dict(found) for kind, found in registry._entries.items()}
    loaded, failures = set(registry._loaded), list(registry.plugin_failures)
    yield
    for kind, found in entries.items():
        registry._entries[kind].clear()
        registry._entries[kind].update(found)
    registry._loaded.clear()
    registry._loaded.update(loaded)
    registry.plugin_failures[:] = failures


# Everything that is registered keeps the promises.


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_passes_the_shared_checks_and_agrees_with_its_slow_reference(name: str) -> None:
    assert name in ORACLES, f"{name} has no reference in tests/helpers/oracles/rates.py"
    check("measure", name, reference=ORACLES[name], trials=10)


def test_there_is_no_reference_for_a_measure_that_is_not_registered() -> None:
    assert set(ORACLES) <= set(MEASURES)
    assert set(AUTHORS) == set(AUTHORED)


@pytest.mark.parametrize("name", AUTHORED)
def test_every_variant_of_the_authors_agrees_with_its_slow_reference(name: str) -> None:
    measure = get_measure(name)
    for trial in range(25):
        target, outcome, group, weights = random_rows(measure, np.random.default_rng([7, trial]))
        asked = [None] if not measure.classwise else [None, int(target[0])]
        for favourable in asked:
            for heavy in (None, weights):
                value = measure(
                    target, outcome, sensitive_features=group, favourable=favourable, sample_weight=heavy,
                    variant="authors",
                )  # fmt: skip
                expected = AUTHORS[name](target, outcome, group, heavy, favourable)
                assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


ROW = st.tuples(
    st.sampled_from(["no", "yes", "perhaps", "never"]),
    st.sampled_from(["no", "yes", "perhaps"]),
    st.sampled_from(["x", "Y", "10", "9", "é"]),
    st.sampled_from([0.0, 0.25, 1.0, 3.5]),
)


@settings(deadline=None, max_examples=25)
@given(rows=st.lists(ROW, min_size=2, max_size=25), weighted=st.booleans())
def test_measures_of_counts_agree_with_their_references_on_sparse_text_with_empty_cells(
    rows: list[tuple[str, str, str, float]], weighted: bool
) -> None:
    rows = [*rows, ("no", "no", "x", 1.0), ("yes", "no", "Y", 1.0)]
    target, outcome, group, weights = (list(column) for column in zip(*rows, strict=True))
    heavy = weights if weighted else None
    for name in COUNTED:
        for favourable in (None, "yes"):
            value = get_measure(name)(
                target, outcome, sensitive_features=group, favourable=favourable, sample_weight=heavy
            )
            expected = ORACLES[name](target, outcome, group, heavy, favourable)
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True), (name, favourable)


def test_the_bundled_cohort_passes_the_shared_checks() -> None:
    check("cohort", "adult")


def test_an_unknown_kind_or_name_is_refused_with_the_nearest_known() -> None:
    with pytest.raises(BadInput, match="did you mean 'demographic_parity'"):
        check("measure", "demografic_parity")
    with pytest.raises(BadInput, match="did you mean 'measure'"):
        check("measures", "demographic_parity")


# The checks bite.


def register(function: Any, name: str = "broken", **options: Any) -> None:
    chosen = {"kind": "gap", "better": "low", "needs": "predictions", "paper": "none", **options}
    equipoise.measure(name, **chosen)(function)


def test_a_sound_new_measure_passes() -> None:
    def sound(table: Any) -> Any:
        """The largest difference of selection rates, halved."""
        return largest_difference(selection_rates(table)) / 2

    register(sound, "half_parity", of="selection_rate")
    check("measure", "half_parity", trials=5)


def test_a_measure_that_answers_differently_to_the_same_rows_in_another_order_is_caught() -> None:
    calls: list[int] = []

    def restless(table: Any) -> Any:
        """It counts how often it was asked: a function of counts cannot see the order of rows by itself."""
        calls.append(1)
        return np.full(len(table.classes), (len(calls) % 7) / 7)

    register(restless)
    with pytest.raises(AssertionError, match="depends on the order of rows"):
        check("measure", "broken")


def test_a_gap_that_is_0_where_a_group_has_no_denominator_is_caught() -> None:
    def silent(table: Any) -> Any:
        """Undefined rates become 0."""
        return np.nan_to_num(largest_difference(ratio(table.true_positives, table.positives)))

    register(silent, needs="counts", of="true_positive_rate")
    with pytest.raises(AssertionError, match="though a group has no denominator"):
        check("measure", "broken")


@pytest.mark.parametrize("kind", ["rate", "gap of F1", "value"])
def test_any_measure_that_is_a_number_without_a_denominator_is_caught(kind: str) -> None:
    def rate(table: Any) -> Any:
        """A rate whose denominator is never 0."""
        return table.true_positives, np.maximum(table.positives, 1e-9)

    def gap(table: Any) -> Any:
        """An undefined F1 counts as 0."""
        return largest_difference(np.nan_to_num(ratio(2 * table.true_positives, table.positives + table.predicted)))

    def value(scores: Any) -> Any:
        """An undefined AUC counts as one half."""
        return np.nan_to_num(get_measure("auc").by_class(scores), nan=0.5)

    if kind == "rate":
        register(rate, kind="rate", needs="counts")
    elif kind == "value":
        register(value, kind="value", needs="scores", classwise=False)
    else:
        register(gap, needs="counts", of="f1")
    with pytest.raises(AssertionError, match="denominator"):
        check("measure", "broken", trials=10)


def test_a_measure_that_leaves_its_bounds_is_caught() -> None:
    def large(table: Any) -> Any:
        """One too much."""
        return 1.1 + largest_difference(selection_rates(table))

    register(large)
    with pytest.raises(AssertionError, match=r"outside \[0.0, 1.0\]"):
        check("measure", "broken")


def test_a_measure_that_depends_on_the_names_of_groups_is_caught() -> None:
    def first_group(table: Any) -> Any:
        """How far the first group of the alphabet is from the mean of all."""
        rates = selection_rates(table)
        return np.abs(rates[..., 0, :] - rates.mean(axis=-2))

    register(first_group)
    with pytest.raises(AssertionError, match="depends on the names of groups"):
        check("measure", "broken")


def test_a_gap_that_is_not_0_for_groups_that_are_alike_is_caught() -> None:
    def not_a_gap(table: Any) -> Any:
        """The highest rate, not a difference."""
        return selection_rates(table).max(axis=-2)

    register(not_a_gap)
    with pytest.raises(AssertionError, match="though the groups are alike"):
        check("measure", "broken")


def test_a_measure_that_disagrees_with_its_reference_is_caught() -> None:
    def sound(table: Any) -> Any:
        """The largest difference of selection rates."""
        return largest_difference(selection_rates(table))

    register(sound)
    with pytest.raises(AssertionError, match="its reference says"):
        check("measure", "broken", reference=ORACLES["statistical_parity_subgroup_fairness"])


def test_a_measure_that_is_not_documented_or_names_no_paper_is_caught() -> None:
    def silent(table: Any) -> Any:
        return largest_difference(selection_rates(table))

    register(silent)
    with pytest.raises(AssertionError, match="has no docstring"):
        check("measure", "broken")

    def homeless(table: Any) -> Any:
        """The largest difference of selection rates."""
        return largest_difference(selection_rates(table))

    register(homeless, paper="")
    with pytest.raises(AssertionError, match="names no paper"):
        check("measure", "broken")


def test_an_alias_that_already_means_another_measure_is_refused() -> None:
    def twin(table: Any) -> Any:
        """The largest difference of selection rates."""
        return largest_difference(selection_rates(table))

    with pytest.raises(BadInput, match="takes a name or alias of 'demographic_parity'"):
        register(twin, "zz_twin", alias="DP")


def test_a_name_that_another_module_has_taken_or_that_is_no_name_is_refused() -> None:
    entry = registry.get("measure", "DP")
    stranger = Entry(**{**entry.__dict__, "module": "elsewhere"})
    with pytest.raises(BadInput, match="already registered"):
        registry.add(stranger)
    with pytest.raises(BadInput, match="is not a valid name"):
        registry.add(Entry(**{**entry.__dict__, "name": "Demographic Parity"}))


def broken_cohort(**changes: Any) -> Any:
    columns = {
        "y": np.array([0, 1, 0, 1]), "g": np.array(["a", "b", "a", "b"]), "x": np.array([1.0, 2.0, 3.0, 4.0]),
    }  # fmt: skip
    given = {"name": "broken", "columns": columns, "target": "y", "groups": ("g",), "features": ("x",)}
    return Cohort(**{**given, "datasheet": "Four rows.", **changes})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"datasheet": ""}, "has no datasheet"),
        ({"features": ("x", "y")}, "an outcome of broken is among its features"),
        ({"features": ("x", "g")}, "a group of broken is among its features"),
        ({"favourable": "7"}, "is no class of broken"),
        ({"groups": ("one",), "columns": {"y": np.array([0, 1]), "one": np.array(["a", "a"]), "x": np.zeros(2)}},
         "has one group only"),
    ],
)  # fmt: skip
def test_a_broken_cohort_is_caught(changes: dict[str, Any], complaint: str) -> None:
    def loader() -> Any:
        """A cohort with something wrong."""
        return broken_cohort(**changes)

    equipoise.cohort("broken", paper="none", licence="none")(loader)
    with pytest.raises(AssertionError, match=complaint):
        check("cohort", "broken")


def test_a_cohort_that_loads_differently_each_time_is_caught() -> None:
    loads: list[int] = []

    def loader() -> Any:
        """It changes."""
        loads.append(1)
        rows = broken_cohort()
        return Cohort(**{**rows.__dict__, "columns": {**rows.columns, "x": np.full(4, len(loads))}})

    equipoise.cohort("broken", paper="none", licence="none")(loader)
    with pytest.raises(AssertionError, match="differs between two loads"):
        check("cohort", "broken")


# Plug-ins.

PLUGIN = '''
import equipoise
from equipoise.foundation import ratio


@equipoise.measure("plugged_in", alias="PLUG", kind="gap", better="low", needs="predictions", paper="none",
                   of="selection_rate")
def plugged_in(table):
    """max_g PPR_g - min_g PPR_g, once more."""
    rates = ratio(table.predicted, table.people)
    return rates.max(axis=-2) - rates.min(axis=-2)
'''


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install plug-ins: each is the text of a module."""
    made: list[str] = []

    def install(**modules: str) -> None:
        points = []
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
            points.append(importlib.metadata.EntryPoint(name, name, PLUGIN_GROUP))
            made.append(name)
        found = importlib.metadata.EntryPoints(points)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda **wanted: found.select(**wanted))
        registry._loaded.discard(PLUGIN_GROUP)

    yield install
    for name in made:
        sys.modules.pop(name, None)


def test_a_plug_in_is_loaded_and_its_measure_is_in_lists_audits_and_checks(plug_in: Any) -> None:
    plug_in(good_plugin=PLUGIN)
    assert "plugged_in" in [entry.name for entry in registry.entries("measure")]
    check("measure", "PLUG", reference=ORACLES["demographic_parity"], trials=5)
    result = equipoise.audit(target=[0, 1, 0, 1], prediction=[0, 1, 0, 0], sensitive_features=list("aabb"))
    assert [r.value for r in result.find("PLUG", scope="overall")] == [0.5]
    assert registry.plugin_failures == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import a_module_that_nobody_has", "ModuleNotFoundError: No module named 'a_module_that_nobody_has'"),
        ("raise RuntimeError('not today')", "RuntimeError: not today"),
        ("def oops(:", "SyntaxError"),
        (PLUGIN.replace("plugged_in", "demographic_parity"), "already registered"),
    ],
)
def test_a_broken_plug_in_is_reported_and_stops_nothing(plug_in: Any, text: str, reason: str) -> None:
    plug_in(bad_plugin=text, good_plugin=PLUGIN)
    names = [entry.name for entry in registry.entries("measure")]
    assert "plugged_in" in names
    assert set(MEASURES) < set(names)
    (failure,) = registry.plugin_failures
    assert isinstance(failure, PluginFailure)
    assert failure.plugin == "bad_plugin"
    assert reason in failure.reason


def test_a_broken_plug_in_leaves_the_measures_of_the_package_as_they_were(plug_in: Any) -> None:
    before = registry.get("measure", "DP").implementation
    plug_in(bad_plugin=PLUGIN.replace("plugged_in", "demographic_parity"))
    assert registry.get("measure", "DP").implementation is before


def test_a_fresh_registry_asks_for_plug_ins_once(plug_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **wanted: asked.append(wanted) or ())
    fresh = Registry()
    fresh.entries("cohort")
    fresh.entries("measure")
    assert asked == [{"group": "equipoise.plugins"}]
