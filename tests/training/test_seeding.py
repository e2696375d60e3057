"""Seeds and numbers keyed by sample: the same whatever else there is."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from equipoise.training import copies_of, fix_seeds, prepare_job, sample_keys, sample_uniforms, seed_of
from equipoise.training._seeding import Orders
from helpers.cases.training import jobs_of, planted, stack_of

torch = pytest.importorskip("torch")


def test_one_function_fixes_every_global_generator() -> None:
    def drawn() -> tuple[float, float, float]:
        return random.random(), float(np.random.rand()), float(torch.rand(()))

    fix_seeds(3)
    first = drawn()
    random.random()
    fix_seeds(3)
    assert drawn() == first
    fix_seeds(4)
    assert not set(drawn()) & set(first)


def test_a_sample_keeps_its_number_whichever_others_there_are_and_however_they_are_ordered() -> None:
    ids, none = np.arange(1000), np.zeros(1000, dtype=np.int64)
    whole = sample_uniforms(7, 3, ids, none, "dropout")
    some = np.random.default_rng(0).permutation(1000)[:100]
    assert np.array_equal(sample_uniforms(7, 3, ids[some], none[some], "dropout"), whole[some])


def test_numbers_differ_by_seed_epoch_copy_and_purpose_and_are_uniform() -> None:
    ids, none = np.arange(20_000), np.zeros(20_000, dtype=np.int64)
    drawn = [
        sample_uniforms(*key)
        for key in [
            (0, 1, ids, none, "order"), (1, 1, ids, none, "order"), (0, 2, ids, none, "order"),
            (0, 1, ids, none + 1, "order"), (0, 1, ids, none, "other"),
        ]
    ]  # fmt: skip
    for one in drawn:
        assert kstest(one, "uniform").pvalue > 1e-3
        assert len(np.unique(one)) == len(one)
    correlations = np.corrcoef(drawn)[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 0.03
    # Neighbouring ids are as unrelated as any.
    assert abs(np.corrcoef(drawn[0][1:], drawn[0][:-1])[0, 1]) < 0.03


def test_named_seeds_are_small_whole_numbers_that_differ_by_name() -> None:
    assert seed_of(1, "a") == seed_of(1, "a") != seed_of(1, "b")
    assert 0 <= seed_of(1, "a") < 2**32


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_copies_count_the_equal_ids_before_a_row(ids: list[int]) -> None:
    slow = [ids[:index].count(one) for index, one in enumerate(ids)]
    assert copies_of(np.array(ids)).tolist() == slow


def test_the_order_of_an_epoch_is_the_seeds_and_every_repeat_shares_it() -> None:
    dataset = planted()
    jobs = [*jobs_of(dataset, [0, 1]), *jobs_of(dataset, [0], repeat=5)]
    places = stack_of(dataset, jobs).arranged(1).positions
    keys = sample_keys(0, 1, dataset.train.ids, np.zeros(240, dtype=np.int64), "order")
    assert places[0].tolist() == np.argsort(keys).tolist() == places[2].tolist()
    assert places[0].tolist() != places[1].tolist()


def test_a_device_that_sorts_for_itself_finds_the_same_order() -> None:
    dataset = planted()
    trials = [prepare_job(job, dataset, {}) for job in jobs_of(dataset, [0, 1])]
    here, there = (Orders(trials, dataset.train.ids, device).positions(2, [0, 1]) for device in ("cpu", "cpu:0"))
    assert torch.equal(here, there)


LATE = """
import json, random
import numpy as np
from equipoise.training import fix_seeds
import sys
fix_seeds(3)
assert "torch" not in sys.modules
from sklearn.base import BaseEstimator
from equipoise.training import Settings
from equipoise.training import train
from helpers.cases.training import Learns, jobs_of, planted

class Draws(BaseEstimator):
    def fit(self, X, y):
        import torch
        self.drawn_ = (random.random(), np.random.rand(), float(torch.rand(())))
        return self

    def predict(self, X):
        drawn.append(self.drawn_)
        return np.zeros(len(X), dtype=np.int64)

drawn = []
dataset = planted()
ended = train(dataset, Learns("scikit_learn", {"estimator": Draws}), jobs_of(dataset, [3, 3]))
assert all(one.failure is None for one in ended), ended[0].failure
print(json.dumps(drawn))
"""


def test_a_torch_that_code_imports_only_when_it_runs_is_seeded_in_the_first_trial_of_a_process() -> None:
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r})\n{LATE}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fix_seeds(3, with_torch=True)
    expected = [random.random(), float(np.random.rand()), float(torch.rand(()))]
    assert json.loads(done.stdout) == [expected] * 4  # dev and test rows of two trials


def test_where_torch_is_not_installed_the_others_are_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    fix_seeds(3, with_torch=True)
    first = random.random()
    fix_seeds(3)
    assert random.random() == first
