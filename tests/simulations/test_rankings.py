"""Error rates of audits of rankings where scores have nothing to do with groups, through ``equipoise.ranking``.

The long version: ``python tests/simulations/test_rankings.py --simulations 2000 --workers 2 --json rankings.json``.
Its table is in docs/guide/ranking.md.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import equipoise

sys.path.insert(0, str(Path(__file__).parent))
from harness import Outcome, Setting, main, simulate

pytestmark = pytest.mark.long

ROWS = 240
# Not the random numbers on which the tests were developed.
STREAM = 20_261_118


def nothing_differs(setting: Setting, seed: int) -> Outcome:
    """Three groups (60%, 30% and 10%) in one ranking or in queries: which tests reject at 5%.

    With ``uneven``, each query favours one group or another at random: there is no difference on average.
    """
    draw = np.random.default_rng([STREAM, seed])
    queries = setting["queries"]
    group = draw.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1])
    table = {"group": group, "score": draw.normal(size=ROWS), "relevance": draw.integers(0, 3, ROWS)}
    if queries:
        table["query"] = draw.integers(0, queries, ROWS)
    if setting.get("uneven"):
        lean = draw.normal(size=queries)
        table["score"] = table["score"] + lean[table["query"]] * np.where(group == "a", 1.0, -1.0)
    result = equipoise.ranking(
        table, score="score", query="query" if queries else None, relevance="relevance", sensitive_features="group",
        top=[3 if queries else 20], draws=100, least_people=10, seed=seed,
    )  # fmt: skip
    outcome = {}
    for record in (*result.contrasts, *result.gaps):
        if record.p is not None and record.kind != "ratio":
            name = f"contrast of {record.measure}, {record.group}" if record.kind == "contrast" else record.measure
            outcome[name] = float(record.p <= 0.05)
    outcome["any finding"] = float(any(record.finding for record in result.records))
    return outcome


PARTS = {
    "nothing differs": (
        nothing_differs,
        [{"queries": 0}, {"queries": 24}, {"queries": 24, "uneven": True}],
    )
}


@pytest.mark.once
@pytest.mark.parametrize("setting", PARTS["nothing differs"][1])
def test_errors_are_at_most_nominal_where_nothing_differs(setting: Setting) -> None:
    """The small version, within four standard errors of 5%."""
    simulations = 60
    found = simulate(nothing_differs, setting, simulations)
    assert len(found) >= 12
    allowed = 0.05 + 4 * math.sqrt(0.05 * 0.95 / simulations)
    assert all(row["rate"] <= allowed for row in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("setting", PARTS["nothing differs"][1])
def test_the_long_version_keeps_its_error_rates(setting: Setting) -> None:
    found = simulate(nothing_differs, setting, 500, workers=2)
    assert all(row["rate"] <= 0.05 + 3 * max(row["error"], 0.0097) for row in found.values()), found


if __name__ == "__main__":
    main("rankings", PARTS)
