"""EO_CLA and EO_GLB against loops over cells, in float64, values and gradients."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise import BadInput
from equipoise.treatments import EqualOpportunityClass, EqualOpportunityGlobal
from helpers.cases.treatment import batch, context, one_of

torch = pytest.importorskip("torch")

KINDS = [EqualOpportunityClass, EqualOpportunityGlobal]
SHAPES = [(3, 2), (28, 2), (2, 5), (4, 3)]


def by_hand(given: Any, classes: int, groups: int, strength: float, kind: type, variant: str) -> Any:
    """One trial, one cell after another."""
    losses, total = given.loss[0], torch.zeros((), dtype=torch.float64)
    for c in range(classes):
        rows_of_class = [row for row in range(len(losses)) if given.cell[0, row] == c]
        for g in range(groups):
            rows = [row for row in rows_of_class if given.group[0, row] == g]
            if not rows:
                continue
            own = sum(losses[row] for row in rows) / len(rows)
            if kind is EqualOpportunityClass:
                middle = sum(losses[row] for row in rows_of_class) / len(rows_of_class)
            else:
                middle = sum(losses) / len(losses)
            if variant == "paper":
                total = total + abs(own - middle)
            elif own > middle:
                total = total + own
            elif own < middle:
                total = total - own
    return strength * total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", ["paper", "authors"])
@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_the_penalty_and_its_gradient_are_those_of_a_loop_and_of_one_trial_alone(
    kind: Any, variant: str, classes: int, groups: int
) -> None:
    strengths = [0.1, 2.0, 0.0]
    trials = [kind(strength=strength, variant=variant) for strength in strengths]
    stack = context((1, 2, 3), classes=classes, groups=groups)
    given = batch(stack)
    found = kind.during(trials, stack).penalty(given)
    (slope,) = torch.autograd.grad(found.sum(), given.loss)
    for index, strength in enumerate(strengths):
        alone = one_of(given, index)
        expected = by_hand(alone, classes, groups, strength, kind, variant)
        assert found[index].item() == pytest.approx(expected.item(), abs=1e-12)
        if strength:
            (by_loop,) = torch.autograd.grad(expected, alone.loss)
            assert torch.allclose(slope[index], by_loop[0], atol=1e-12, rtol=0)
        alone = one_of(given, index)
        single = kind.during(trials[index : index + 1], one_of(stack, index)).penalty(alone)
        assert single.item() == pytest.approx(found[index].item(), abs=1e-12)


def test_with_two_groups_the_two_variants_pull_the_same_way_inside_a_class_but_not_over_all() -> None:
    stack = context((1,), classes=2, groups=2)
    given = batch(stack)
    for kind, same in ((EqualOpportunityClass, True), (EqualOpportunityGlobal, False)):
        slopes = []
        for variant in ("paper", "authors"):
            part = kind.during([kind(variant=variant)], stack)
            (slope,) = torch.autograd.grad(part.penalty(given).sum(), given.loss)
            slopes.append(slope)
        assert torch.allclose(*slopes, atol=1e-12) is same, kind


def test_a_cell_without_rows_adds_nothing_and_a_class_of_one_group_has_no_difference() -> None:
    stack = context((1,), classes=2, groups=2)
    given = batch(stack)
    given.group[given.cell == 1] = 0
    for variant in ("paper", "authors"):
        found = EqualOpportunityClass.during([EqualOpportunityClass(strength=1.0, variant=variant)], stack)
        expected = by_hand(one_of(given, 0), 2, 2, 1.0, EqualOpportunityClass, variant)
        assert found.penalty(given).item() == pytest.approx(expected.item(), abs=1e-12)
        (slope,) = torch.autograd.grad(found.penalty(given).sum(), given.loss)
        assert (slope[given.cell == 1] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_trials_that_stopped_are_let_go(kind: Any) -> None:
    stack = context((1, 2, 3))
    given = batch(stack)
    trials = [kind(strength=strength) for strength in (0.1, 0.2, 0.3)]
    part = kind.during(trials, stack)
    before = part.penalty(given)
    part.select_trials(torch.tensor([2, 0]))
    for index, was in enumerate((2, 0)):
        alone = kind.during([trials[was]], one_of(stack, was))
        assert part.strengths[index] == trials[was].values["strength"]
        assert alone.penalty(one_of(given, was)).item() == pytest.approx(before[was].item(), abs=1e-12)


def test_variants_cannot_train_together() -> None:
    trials = [EqualOpportunityClass(), EqualOpportunityClass(variant="authors")]
    with pytest.raises(BadInput, match="variant = authors, paper"):
        EqualOpportunityClass.during(trials, context((1, 2)))
