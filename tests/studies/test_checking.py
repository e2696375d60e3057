"""A probe of a plan: what cannot be trained here is said, and is never a short time."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise import BadInput, Study
from equipoise.studies.checking import check
from plan_cases import cohort

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

LEARNER = {"name": "mlp", "width": 4, "epochs": 50}


def test_a_probe_says_how_long_it_takes_at_most() -> None:
    found = check(Study(cohort(), group="sex", learner=LEARNER, seeds=2), probe=True)
    assert found.at_most is not None
    assert found.at_most > 0
    assert found.words[-1].startswith("By one epoch of each treatment, it takes at most ")


def test_a_probe_for_a_card_that_is_not_here_is_refused_and_a_check_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    made = Study(cohort(), group="sex", learner=LEARNER, device="cuda")
    assert check(made).at_most is None
    with pytest.raises(BadInput, match="torch finds no graphics card here"):
        check(made, probe=True)


def test_a_probe_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.training.learners.mlp import MultilayerPerceptron

    def broken(*_: Any) -> Any:
        raise RuntimeError("no luck today")

    monkeypatch.setattr(MultilayerPerceptron, "train", broken)
    with pytest.raises(BadInput, match=r"(?s)One epoch of untreated was tried, and failed: .*no luck today.*Way out"):
        check(Study(cohort(), group="sex", learner=LEARNER), probe=True)
