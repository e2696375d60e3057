"""Tables of the benchmark against slow loops, and what they say where there is too little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reproductions.sprites.methods import ABLATION, KNOWN, TABLE
from reproductions.sprites.summary import (
    LEAST_GENERATORS,
    WORDS,
    above_chance,
    clustered,
    known,
    skewed,
    summarised,
    table,
)

METHODS = (*TABLE, *ABLATION, *KNOWN)
DRAWN = np.random.default_rng(0)


def row(generator: str, *, kind: str = "vae", methods: Any = METHODS, ours: float = 0.0, **more: Any) -> dict[str, Any]:
    """Return a triplet whose scores are drawn; ours is better by so much."""
    found = {}
    for method in methods:
        biased, target = DRAWN.random(2)
        biased += ours if method == "ours" else 0.0
        found[method] = {"biased": biased, "target": target, "difference": biased - target, "chance": 0.1,
                         "right_angled": {"difference": biased}}  # fmt: skip
    said = {"generator": generator, "kind": kind, "seed": 0, "skew": None, "target": "x", "biased": "y", "unfitted": ""}
    return said | {"methods": found} | more


def test_an_interval_of_clusters_is_that_of_a_slow_loop() -> None:
    values = DRAWN.normal(size=40)
    clusters = [f"g{place % 7}" for place in range(36)] + ["g0"] * 4
    low, high = clustered(values, clusters, seed=0)
    slow = []
    draws = np.random.default_rng(3)
    for _ in range(10_000):
        taken = [value for name in draws.integers(0, 7, 7) for value, cluster in zip(values, clusters, strict=True)
                 if cluster == f"g{name}"]  # fmt: skip
        slow.append(np.mean(taken))
    expected = np.quantile(slow, [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(expected), abs=0.02)
    assert clustered(values, [f"g{place % (LEAST_GENERATORS - 1)}" for place in range(40)]) == (None, None)


def test_a_table_has_means_deviations_and_who_leads() -> None:
    rows = [row(f"g{place % 6}") for place in range(30)]
    made = {one["method"]: one for one in table(rows, TABLE)}
    assert list(made) == list(TABLE)
    leads = dict.fromkeys(TABLE, 0)
    leads_of_paper = dict.fromkeys(("axis", "hessian", "ours"), 0)
    for one in rows:
        leads[max(TABLE, key=lambda method: one["methods"][method]["difference"])] += 1
        leads_of_paper[max(leads_of_paper, key=lambda method: one["methods"][method]["difference"])] += 1
    for method in TABLE:
        values = [one["methods"][method]["biased"] for one in rows]
        assert made[method]["biased"]["mean"] == pytest.approx(np.mean(values))
        assert made[method]["biased"]["deviation"] == pytest.approx(np.std(values))
        assert made[method]["leading"] == pytest.approx(leads[method] / 30)
        assert made[method]["triplets"] == 30
        assert made[method]["generators"] == 6
    assert made["ours"]["leading_of_paper"] == pytest.approx(leads_of_paper["ours"] / 30)
    assert made["random"]["leading_of_paper"] is None


def test_methods_are_compared_on_the_triplets_that_all_of_them_have() -> None:
    rows = [row("a"), row("b"), row("c", methods=("ours", "random"))]
    rows[1]["methods"]["axis"] = None
    rows[2]["methods"]["ours"]["difference"] = None
    assert {one["triplets"] for one in table(rows, ("ours", "axis"))} == {1}
    assert table(rows[2:], ("ours",)) == []
    assert [one["method"] for one in table(rows[2:], TABLE)] == ["random"]


def test_ours_works_where_it_is_above_chance_in_every_draw_of_generators() -> None:
    better = above_chance([row(f"g{place % 6}", ours=3.0) for place in range(24)])
    assert better["works"] is True
    assert better["low"] > 1.0
    same = above_chance([row(f"g{place % 6}", ours=-3.0) for place in range(24)])
    assert same["works"] is False
    few = above_chance([row("g0", ours=3.0), row("g1", ours=3.0)])
    assert few["mean"] > 1.0
    assert few["works"] is few["low"] is None
    none = above_chance([])
    assert none["triplets"] == 0
    assert none["mean"] is None


def test_recovery_by_known_factors_and_by_skew() -> None:
    rows = [row(f"g{place % 6}") for place in range(12)]
    rows[0]["methods"]["known_3"] = None
    made = known(rows)
    assert [one["known"] for one in made] == [0, 1, 2, 3]
    assert [one["triplets"] for one in made] == [12, 12, 12, 11]
    first = [one["methods"]["known_0"]["difference"] for one in rows]
    second = [one["methods"]["known_1"]["difference"] for one in rows]
    assert made[0]["step"] is None
    assert made[0]["above_chance"]["mean"] == pytest.approx(np.mean(first) - 0.1)
    assert made[1]["step"]["mean"] == pytest.approx(np.mean(second) - np.mean(first))
    assert made[3]["step"]["triplets"] == 11
    assert made[2]["right_angled_above_chance"]["mean"] == pytest.approx(made[2]["biased"]["mean"] - 0.1)
    skew = {"target": "x", "biased": "y", "agreement": 0.9}
    lost = row("h", skew=skew, unfitted="x: too vague", methods=())
    found = skewed([row("g", skew=skew), lost, row("h", skew=skew | {"agreement": 0.5})])
    assert [(one["agreement"], one["triplets"], one["unfitted"]) for one in found] == [(0.5, 1, 0), (0.9, 1, 1)]
    assert "mean" in found[0]["difference"]


def test_a_skewed_generator_is_held_against_the_even_one_of_its_kind_and_seed() -> None:
    skew = {"target": "x", "biased": "y", "agreement": 0.9}
    even = [row(f"vae-{seed}", seed=seed) for seed in range(6)]
    uneven = [row(f"vae-{seed}-skewed", seed=seed, skew=skew) for seed in range(1, 7)]
    others = [row("beta_vae-1", kind="beta_vae", seed=1), row("vae-1", seed=1, target="y", biased="x")]
    made = skewed([*even, *others, *uneven])
    assert [(one["agreement"], one["triplets"]) for one in made] == [(0.5, 6), (0.9, 6)]
    assert made[0]["less_even"] is None

    def right_angled(one: dict[str, Any]) -> float:
        found: float = one["methods"]["right_angled"]["difference"]
        return found

    # Seeds 1 to 5 are on both sides.
    changes = [right_angled(one) - right_angled(other) for one, other in zip(uneven, even[1:], strict=False)]
    less = made[1]["less_even"]
    assert less["triplets"] == len(changes) == 5
    assert less["mean"] == pytest.approx(np.mean(changes))
    assert less["low"] < less["mean"] < less["high"]
    chance = [one["methods"]["random_orthogonal"]["difference"] for one in uneven]
    expected = np.mean([right_angled(one) for one in uneven]) - np.mean(chance)
    assert made[1]["right_angled_above_chance"]["mean"] == pytest.approx(expected)


def test_a_summary_counts_what_is_unfitted_and_keeps_skewed_generators_apart() -> None:
    skew = {"target": "x", "biased": "y", "agreement": 0.9}
    rows = [
        *(row(f"g{place % 5}", kind=("vae", "beta_vae")[place % 2]) for place in range(10)),
        row("g0", unfitted="y: too vague", methods=()),
        row("s", skew=skew),
    ]
    planes = {name: {"x", "y"} for name in ("g1", "g2", "g3", "g4", "s")} | {"g0": {"x"}}
    made = summarised(rows, {("x", "y"): 0.05}, planes)
    assert made["counts"] == {"triplets": 11, "unfitted": 1, "scored": 10, "generators": 5}
    assert made["table"][0]["triplets"] == 10
    assert [one["kind"] for one in made["by_kind"]] == ["vae", "beta_vae"]
    assert [one["method"] for one in made["ablation"]] == ["ours", *ABLATION]
    assert made["by_biased"][0]["biased"] == "y"
    assert [(one["gap"], one["triplets"]) for one in made["by_gap"]] == [([0.02, 0.1], 10)]
    assert made["right_angled_above_chance"]["triplets"] == 10
    assert [(one["told"], one["triplets"]) for one in made["by_fit"]] == [(True, 8), (False, 2)]
    assert [one["agreement"] for one in made["skew"]] == [0.5, 0.9]
    told = set(WORDS) | {
        "counts",
        "table",
        "by_kind",
        "by_fit",
        "by_biased",
        "by_target",
        "by_gap",
        "ablation",
        "skew",
        "scored",
        "kind",
    }
    assert _keys(made) <= told


def test_nothing_scored_is_said_and_no_number_is_made_up() -> None:
    made = summarised([row("g", unfitted="x: too vague", methods=())], {}, {"g": set()})
    assert made["counts"]["unfitted"] == 1
    assert made["table"] == made["ablation"] == made["known"] == made["skew"] == []
    assert made["above_chance"]["works"] is None
    assert made["right_angled_above_chance"]["works"] is None


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | set().union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()
