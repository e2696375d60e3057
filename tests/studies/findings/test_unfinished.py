"""Whether trainings were too short: the rule on losses and constraints, and what studies and papers make of it."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import fixture_cases
from equipoise.reports import page, show
from equipoise.reports._comparisons import marks_text
from equipoise.results import record_as_json
from equipoise.studies import Study
from equipoise.studies.analysis._data import (
    STILL_FALLING,
    TrainingEnd,
    Unfinished,
    cell_end,
    late_decline,
    training_end,
)
from equipoise.studies.findings import result_of
from equipoise.studies.findings.identical._paper import paper_claims, reproduction_of
from equipoise.treatments import GradientProjection, UniformConfusion
from equipoise.treatments._domain_heads import EVERY, NETWORK_LEARNS, WithDomainHead
from helpers.cases import study as study_cases

FALLING, UNMET = Unfinished.LOSS_STILL_FALLING, Unfinished.CONSTRAINT_UNMET


def by_hand(losses: list[float]) -> float:
    """Compute the late decline slowly: means of the last two fifths, over the way from the first loss to the last."""
    window = max(int(len(losses) / 5 + 0.5), 1)
    last = sum(losses[len(losses) - window :]) / window
    before = sum(losses[len(losses) - 2 * window : len(losses) - window]) / window
    return (before - last) / (losses[0] - last)


def epochs(losses: np.ndarray) -> np.ndarray:
    """The epochs of a training as a store has them."""
    filler = np.full(len(losses), 0.5)
    return np.stack([np.arange(1, len(losses) + 1), losses, filler, filler], axis=1).astype(np.float64)


@pytest.mark.parametrize("number", [3, 9, 10, 25, 47, 200])
def test_the_late_decline_is_that_of_a_slow_computation(number: int) -> None:
    losses = np.sort(np.random.default_rng(number).random(number))[::-1] + 0.1
    assert late_decline(losses) == pytest.approx(by_hand(losses.tolist()), rel=1e-12)


@pytest.mark.parametrize(("constants", "falling"), [(1.0, True), (3.0, True), (4.0, False), (10.0, False)])
def test_a_loss_that_decays_is_falling_until_about_three_time_constants(constants: float, falling: bool) -> None:
    steps = np.linspace(0.0, 1.0, 101)
    decline = late_decline(0.3 + np.exp(-constants * steps))
    assert decline is not None
    assert (decline > STILL_FALLING) is falling


@pytest.mark.parametrize("losses", [[], [2.0], [2.0, 1.0], [1.0, 1.2, 1.5, 2.0], [1.0, math.nan, 0.5], [1.0, 1.0, 1.0]])
def test_where_nothing_can_be_told_there_is_no_number_and_no_reason(losses: list[float]) -> None:
    assert late_decline(np.array(losses)) is None
    assert training_end(epochs(np.array(losses)), 1, "last") == TrainingEnd()


def test_a_loss_that_rises_again_at_the_end_is_not_falling() -> None:
    ended = training_end(epochs(np.array([2.0, 1.0, 0.5, 0.4, 0.6])), 5, "last")
    assert ended.late_decline is not None
    assert ended.late_decline < 0
    assert ended.reasons == ()


def test_where_dev_rows_chose_an_epoch_before_the_last_fifth_the_training_was_long_enough() -> None:
    line = epochs(np.linspace(2.0, 1.0, 20))
    assert training_end(line, 20, "last").reasons == (FALLING,)
    assert training_end(line, 20, "dto").reasons == (FALLING,)
    assert training_end(line, 17, "dto").reasons == (FALLING,)
    assert training_end(line, 16, "dto").reasons == ()
    assert training_end(line, 16, "last").reasons == (FALLING,)


def test_only_epochs_count_in_which_the_network_learns() -> None:
    """The losses of an adversary that takes turns are of something else, and would hide or feign a decline."""
    losses = np.array([2.0, 9.0, 9.0, 1.0, 9.0, 9.0, 0.9, 0.1, 0.1, 0.899])
    assert training_end(epochs(losses), 10, "last", every=3).reasons == ()
    falling = np.array([2.0, 0.1, 0.1, 1.5, 0.1, 0.1, 1.0, 0.1, 0.1, 0.5])
    ended = training_end(epochs(falling), 10, "last", every=3)
    assert ended.late_decline == pytest.approx(0.5 / 1.5)
    assert ended.reasons == (FALLING,)


@pytest.mark.parametrize("treatment", [UniformConfusion, GradientProjection])
def test_adversaries_that_take_turns_say_in_which_epochs_the_network_learns(treatment: type) -> None:
    assert treatment.network_every == EVERY
    for epoch in range(1, 12):
        learns = WithDomainHead.phase(None, epoch) == NETWORK_LEARNS  # type: ignore[arg-type]
        assert learns is ((epoch - 1) % treatment.network_every == 0)


def test_a_constraint_is_unmet_where_a_residual_is_positive() -> None:
    done = epochs(np.array([2.0, 1.0, 1.0, 1.0]))
    assert training_end(done, 4, "last", residuals=np.array([[-0.1, 0.0]])).reasons == ()
    ended = training_end(done, 4, "last", residuals=np.array([[-0.1, 0.02], [0.3, -0.4]]))
    assert ended.reasons == (UNMET,)
    assert ended.residual == 0.3


def test_a_cell_is_unfinished_if_half_of_its_runs_are() -> None:
    short, long = TrainingEnd((FALLING,), 0.05), TrainingEnd((), 0.001)
    assert cell_end([short, long]).reasons == (FALLING,)
    ended = cell_end([short, long, long])
    assert (ended.reasons, ended.runs) == ((), 1)
    assert ended.late_decline == pytest.approx((0.05 + 0.002) / 3)
    assert cell_end([]).reasons == ()


def test_a_study_says_which_trainings_were_too_short(tmp_path: Path) -> None:
    """Through a store: the losses that trials recorded, and the residuals that RBA kept."""
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    study = Study(
        fixture_cases.pictures(), seeds=1, repeats=2, rounding="jitter", selection="last",
        learner={"name": "image_network", **fixture_cases.ON_PICTURES, "epochs": 4},
        treatments=["untreated", {"name": "domain_discriminative", "readout": ["sum", "rba"]}],
    )  # fmt: skip
    result = study.run(tmp_path / "study.db")
    assert result is not None
    for cell in result.cells:
        shown = record_as_json(cell)
        assert shown["late_decline"] is not None
        assert shown["unfinished_training"] == [str(reason) for reason in cell.unfinished_training]
        assert shown["unfinished_runs"] in (0, 1, 2)
        assert bool(cell.unfinished_training) is (cell.unfinished_runs >= 1)
    balanced = [cell for cell in result.cells if cell.constraint_residual is not None]
    assert [cell.settings["domain_discriminative"]["readout"] for cell in balanced] == ["rba"]
    marked = [cell for cell in result.cells if FALLING in cell.unfinished_training]
    assert marked, "four epochs of these pictures should be too few"
    assert "loss still falling" in marks_text(marked[0])
    assert any(note.startswith("Trained too briefly to judge the treatment") for note in result.notes)
    assert "loss still falling" in str(result._repr_html_())


def test_a_finding_that_rests_on_short_trainings_is_inconclusive_whichever_way_it_points() -> None:
    data = study_cases.study(arms=study_cases.ARMS[:3], seeds=1, repeats=6, people=400)
    fine = paper_claims(result_of(data))
    assert {claim.inconclusive for claim in fine} == {None}
    short = replace(data, training_ends=tuple(TrainingEnd((FALLING,), 0.2) for _ in data.trials))
    made = reproduction_of(result_of(short))
    for before, after in zip(fine, made.records, strict=True):
        assert after.numbers == before.numbers
        if before.holds == "cannot be told":
            assert after.holds == before.holds
            continue
        assert after.holds == "inconclusive"
        assert after.as_trained == before.holds
        assert after.inconclusive == "unfinished_training"
        assert set(after.unfinished) >= {"untreated under JB alpha 0", "adversarial under JB alpha 1"}
    assert sum("inconclusive" in word for word in made.words) >= 5
    assert all("inconclusive" in text and "as trained" in text for text in (page(made), str(made._repr_html_())))
    console = Console(record=True, width=160, file=io.StringIO())
    show(made, console)
    assert "inconclusive, as trainings were too short (holds as trained)" in console.export_text()
    assert any("whether it agrees with the paper or not" in note for note in made.notes)


def test_a_finding_that_finished_trainings_show_by_themselves_stands() -> None:
    data = study_cases.study(arms=study_cases.ARMS[:3], seeds=1, repeats=6, people=400)
    ends = tuple(
        TrainingEnd((FALLING,), 0.2) if trial.treatment == "reweighting" else TrainingEnd((), 0.0)
        for trial in data.trials
    )
    fine, partly = paper_claims(result_of(data)), paper_claims(result_of(replace(data, training_ends=ends)))
    first = partly[0]
    assert (first.finding, first.holds, first.inconclusive) == ("1", fine[0].holds, None)
    assert first.unfinished == ("reweighting under JB alpha 0", "reweighting under JB alpha 1")


def test_a_baseline_that_was_too_short_takes_every_comparison_with_it() -> None:
    data = study_cases.study(arms=study_cases.ARMS[:3], seeds=1, repeats=6, people=400)
    ends = tuple(
        TrainingEnd((FALLING,), 0.2) if trial.treatment == "untreated" else TrainingEnd((), 0.0)
        for trial in data.trials
    )
    claims = {claim.finding: claim for claim in paper_claims(result_of(replace(data, training_ends=ends)))}
    assert claims["1"].holds != "inconclusive"
    for finding in ("2", "3", "4", "4, without a cost"):
        assert claims[finding].holds == "inconclusive"


def test_the_json_of_an_earlier_version_says_that_it_is_not_known() -> None:
    content = result_of(study_cases.study(arms=study_cases.ARMS[:3], seeds=1, repeats=6, people=400)).as_json()
    for cell in content["cells"]:  # type: ignore[attr-defined]
        for name in ("unfinished_training", "unfinished_runs", "late_decline", "constraint_residual"):
            del cell[name]
    made = reproduction_of(content)
    assert any("is not known" in note for note in made.notes)
    assert all(claim.inconclusive is None for claim in made.records)
