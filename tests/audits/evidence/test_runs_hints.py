"""Hints for tables of runs that are wide, or whose runs could be paired."""

import numpy as np
import pandas as pd
import pytest

from equipoise import BadInput, evidence


def wide() -> pd.DataFrame:
    generator = np.random.default_rng(4)
    return pd.DataFrame({
        "technique": np.repeat(["untreated", "treated"], 6), "run": np.tile(np.arange(6), 2),
        "accuracy": generator.normal(0.8, 0.01, 12), "DP": generator.normal(0.2, 0.02, 12),
    })  # fmt: skip


def test_a_wide_table_is_answered_with_the_line_that_makes_it_long():
    asked = {"technique": "technique", "run": "run", "metric": "metric", "value": "value", "baseline": "untreated"}
    with pytest.raises(BadInput) as refused:
        evidence(wide(), **asked)
    assert "frame.melt(id_vars=['technique', 'run'], var_name='metric', value_name='value')" in str(refused.value)
    assert "accuracy, DP" in str(refused.value)
    long = wide().melt(id_vars=["technique", "run"], var_name="metric", value_name="value")
    assert evidence(long, **asked).records


@pytest.mark.parametrize(("ids", "hinted"), [(np.tile(np.arange(6), 2), True), (np.arange(12), False)])
def test_runs_that_share_their_ids_are_answered_with_a_hint_at_pairing(ids, hinted):
    long = wide().assign(run=ids).melt(id_vars=["technique", "run"], var_name="metric", value_name="value")
    told = evidence(long, technique="technique", run="run", metric="metric", value="value", baseline="untreated")
    assert any("--pair" in note for note in told.notes) == hinted
    paired = evidence(
        long, technique="technique", run="run", metric="metric", value="value", baseline="untreated", pair="run"
    )
    assert not any("--pair (pair=)" in note for note in paired.notes)
