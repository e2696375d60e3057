"""The script behind the noise floor of docs/papers/004.md, in small on a CPU."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from helpers.cases.picture import write_binary
from helpers.paper_scripts import paper_script

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

SMALL = ("--network", "small", "--epochs", "2", "--batch-size", "32", "--precision", "float32", "--device", "cpu",
         "--runs", "3")  # fmt: skip


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return paper_script("004", "noise_floor")


def test_identical_runs_are_nearer_to_each_other_than_to_another_seed(script: ModuleType, tmp_path: Path) -> None:
    write_binary(tmp_path / "cifar10", train=400, test=60)
    file = tmp_path / "floor.json"
    found = script.main(["--data", str(tmp_path / "cifar10"), "--json", str(file), "--rounding", "jitter", *SMALL])
    assert json.loads(file.read_text(encoding="utf-8")) == found
    assert found["test_rows"] == 120
    assert found["identical"]["pairs"] == 3
    assert found["seed"]["pairs"] == 3
    assert 0.99 < found["identical"]["mean"] < 1.0
    assert found["seed"]["mean"] < found["identical"]["lowest_pair"]
    assert set(found["identical"]["by_group"]) == {"colour", "grey"}


def test_native_runs_on_a_cpu_have_no_noise_and_nothing_is_said_of_pictures_that_no_run_has(
    script: ModuleType, tmp_path: Path
) -> None:
    write_binary(tmp_path / "cifar10", train=400, test=60)
    file = tmp_path / "floor.json"
    found = script.main(["--data", str(tmp_path / "cifar10"), "--json", str(file), *SMALL])["identical"]
    assert found["mean"] == pytest.approx(1.0, abs=1e-9)
    assert found["churn"] == 0
    assert found["other_class"] is None


def test_a_pair_in_numbers_is_what_the_whole_kernels_say(script: ModuleType) -> None:
    generator = np.random.default_rng(0)
    before, after = generator.normal(size=(2, 40, 5))
    classes, others = generator.integers(0, 3, (2, 40))
    group = np.arange(40) % 2
    found = script.pair_of(
        (torch.from_numpy(before), torch.from_numpy(classes)), (torch.from_numpy(after), torch.from_numpy(others)),
        group, ("colour", "grey"),
    )  # fmt: skip
    kernels = [(one - one.mean(axis=0)) @ (one - one.mean(axis=0)).T for one in (before, after)]
    scores = np.array(
        [one @ two / np.linalg.norm(one) / np.linalg.norm(two) for one, two in zip(*kernels, strict=True)]
    )
    assert found["mean"] == pytest.approx(scores.mean())
    assert found["by_group"]["grey"] == pytest.approx(scores[group == 1].mean())
    assert found["other_class"] == pytest.approx(scores[classes != others].mean())
    assert found["churn"] == pytest.approx((classes != others).mean())
    assert found["quantiles"]["0.10"] == pytest.approx(np.quantile(scores, 0.1))
