"""PARADE on heads that train together: exact controls, no mixing of trials, and only the target head is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.studies.plans import Named
from equipoise.testing import planted, planted_pictures
from equipoise.training import EncodedDataset, Job, Outcome, Settings, Stack, prepare_job, train
from equipoise.training._preparation import kind_of
from equipoise.training.learners.metric_learner import MetricLearning
from equipoise.training.metric import head_stack, recipe_of
from equipoise.training.metric._training import OTHER_EPOCH, with_stored_arrays
from equipoise.treatments import Oversampling, Parade

torch = pytest.importorskip("torch")

EXACT = Settings(precision="float64", selection="last")
QUICK = {"embedding_size": 8, "batch_size": 32, "epochs": 3, "learning_rate": 0.02}


def dataset(groups: int = 3) -> EncodedDataset:
    return planted(4, groups, seed=1).with_test_labels(target=False, group=False)


def two_attributes() -> EncodedDataset:
    """Six crossed groups that come apart as two columns, of two and three values."""
    parts = np.array([[first, second] for first in range(2) for second in range(3)])
    return replace(dataset(6), attributes=("sex", "race"), attribute_values=(("f", "m"), ("a", "b", "c")), parts=parts)


def jobs_of(given: EncodedDataset, *treatments: tuple[Any, ...], seeds: tuple[int, ...] = (1,)) -> list[Job]:
    rows = np.arange(len(given.train))
    return [Job(rows, seed, treatments=treatment) for treatment in treatments for seed in seeds]


def trained(given: EncodedDataset, *treatments: tuple[Any, ...], **more: Any) -> list[Outcome]:
    ended = train(given, Named("metric_learner", 1, {**QUICK, **more}), jobs_of(given, *treatments), EXACT)
    assert [one.failure for one in ended] == [None] * len(ended)
    return ended


def stack_of(given: EncodedDataset, *treatments: tuple[Any, ...], seeds: tuple[int, ...] = (1,), **more: Any) -> Stack:
    values = MetricLearning.with_defaults({**QUICK, **more})
    ready = [prepare_job(job, given, values) for job in jobs_of(given, *treatments, seeds=seeds)]
    return head_stack(ready, given, recipe_of(ready), EXACT)


def leaves_of(stack: Stack) -> list[Any]:
    """All that is trained: the heads, what their loss learns, and what the treatments add."""
    return [leaf for optimiser in stack.optimisers.values() for leaf in optimiser.parameters]


def first_steps(stack: Stack, number: int) -> None:
    stack.follow(stack.arranged(1), number, stack.callbacks.phase(1))


@pytest.mark.parametrize("numbers", [{"alpha": 0.0, "rho": 0.0}, {"alpha": 0.9, "rho": 0.0}])
@pytest.mark.parametrize("loss", ["margin", "proxy_nca", "n_pair"])
def test_without_de_correlation_frozen_features_give_the_untreated_head(loss: str, numbers: dict[str, float]) -> None:
    stacks = [stack_of(dataset(), own, loss=loss) for own in ((), (Parade(**numbers),))]
    for stack in stacks:
        stack.epoch(1)
        stack.epoch(2)
    for one, other in zip(*(stack.network.parameters for stack in stacks), strict=True):
        assert torch.equal(one, other)
    untreated, control = trained(dataset(), (), (Parade(**numbers),), loss=loss)
    assert np.array_equal(untreated.arrays["embedding.test"], control.arrays["embedding.test"])


def test_de_correlation_moves_the_head_and_more_of_it_moves_it_further() -> None:
    treated = [(Parade(alpha=0.3, rho=rho),) for rho in (0.0, 30.0, 3000.0)]
    stack = stack_of(dataset(), *treated)
    stack.epoch(1)
    weight = stack.network.parameters[0].detach()
    moved = [float((weight[place] - weight[0]).norm()) for place in (1, 2)]
    assert 0 < moved[0] < moved[1]


def test_a_head_beside_others_is_the_head_alone() -> None:
    treated = [(Parade(alpha=alpha, rho=rho),) for alpha in (0.1, 0.9) for rho in (1.0, 2000.0)]
    together = stack_of(two_attributes(), *treated, seeds=(1, 2))
    first_steps(together, 20)
    for index, (own, seed) in enumerate((own, seed) for own in treated for seed in (1, 2)):
        alone = stack_of(two_attributes(), own, seeds=(seed,))
        first_steps(alone, 20)
        for one, other in zip(leaves_of(together), leaves_of(alone), strict=True):
            assert float((one[index] - other[0]).detach().abs().max()) < 1e-10


def test_a_grid_of_weights_trains_as_one_stack() -> None:
    given = dataset()
    values = MetricLearning.with_defaults(QUICK)
    grid = [(Parade(alpha=alpha, rho=rho, separation_rate=rate),)
            for alpha in (0.1, 0.9) for rho in (1.0, 3000.0) for rate in (1e-5, 1e-3)]  # fmt: skip
    kinds = {kind_of(prepare_job(job, given, values), MetricLearning.parameters) for job in jobs_of(given, *grid)}
    assert len(kinds) == 1


def test_what_is_left_of_a_trial_holds_nothing_of_the_sensitive_head_but_where_dev_rows_lie() -> None:
    untreated, treated = trained(dataset(), (), (Parade(),))
    leakage = {"leakage.embedding", "leakage.features", "leakage.chance"}
    assert set(treated.arrays) - set(untreated.arrays) == {*leakage, "sensitive.0"}
    assert treated.arrays["leakage.chance"].tolist() == [1 / 3]
    assert 0 <= treated.arrays["leakage.embedding"][0] <= 1
    for split in ("dev", "test"):
        assert treated.arrays[f"embedding.{split}"].shape == untreated.arrays[f"embedding.{split}"].shape


def test_several_attributes_are_probed_one_by_one() -> None:
    (ended,) = trained(two_attributes(), (Parade(),))
    assert ended.arrays["leakage.chance"].tolist() == [1 / 2, 1 / 3]
    assert ended.arrays["leakage.embedding"].shape == (2,)


def test_repeated_rows_of_small_groups_come_before_it() -> None:
    alone, before = trained(dataset(), (Parade(),), (Oversampling(), Parade()))
    assert before.dev is not None
    assert not np.array_equal(alone.arrays["embedding.dev"], before.arrays["embedding.dev"])


def test_frozen_features_leak_the_same_whatever_stands_on_them() -> None:
    first, second = trained(dataset(), (Parade(rho=1.0),), (Parade(rho=3000.0),))
    assert np.array_equal(first.arrays["leakage.features"], second.arrays["leakage.features"])
    assert not np.array_equal(first.arrays["embedding.dev"], second.arrays["embedding.dev"])


def test_on_pictures_the_sensitive_loss_reaches_the_network_and_without_weights_nothing_does() -> None:
    given = planted_pictures(seed=0).with_test_labels(target=False, group=False)
    how = {"backbone": "small", "batch_size": 24, "epochs": 2, "learning_rate": 3e-3}
    weights = ({"alpha": 0.0, "rho": 0.0}, {"alpha": 0.9, "rho": 0.0}, {"alpha": 0.9, "rho": 1000.0})
    plain, nothing, alone, both = trained(given, (), *((Parade(**weight),) for weight in weights), **how)
    assert np.array_equal(plain.arrays["embedding.test"], nothing.arrays["embedding.test"])
    assert not np.array_equal(plain.arrays["embedding.test"], alone.arrays["embedding.test"])
    assert not np.array_equal(alone.arrays["embedding.test"], both.arrays["embedding.test"])


def test_a_trial_keeps_the_dev_rows_as_each_sensitive_head_embeds_them_in_the_end() -> None:
    given, seeds = two_attributes(), (1, 2)
    stack = stack_of(given, (Parade(),), seeds=seeds)
    for number in range(1, QUICK["epochs"] + 1):
        stack.epoch(number)
    (_, separated) = stack.callbacks
    named = Named("metric_learner", 1, QUICK)
    ended = train(given, named, jobs_of(given, (Parade(),), seeds=seeds), EXACT)
    for trial, one in enumerate(ended):
        for index, head in enumerate(separated.heads):
            weight, bias = (value.detach()[trial].numpy() for value in head.head.parameters)
            rows = given.dev.inputs.astype(np.float64) @ weight + bias
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            kept = one.arrays[f"sensitive.{index}"]
            assert kept.dtype == np.float16
            np.testing.assert_allclose(kept, rows, atol=1e-3)
        assert not any("last epoch" in note for note in one.notes)
    assert not np.array_equal(ended[0].arrays["sensitive.0"], ended[1].arrays["sensitive.0"])


def test_another_epoch_than_the_last_is_told_and_a_head_that_broke_is_not_kept() -> None:
    stack = stack_of(dataset(), (Parade(),))
    dev = dataset().dev.inputs
    ended = Outcome(best_epoch=2, arrays={"embedding.dev": dev})
    told = with_stored_arrays(ended, stack.callbacks, 0, dev, epochs=3, frozen=True)
    assert told.notes == (OTHER_EPOCH.format(epoch=2),)
    assert set(told.arrays) == {"embedding.dev", "sensitive.0"}
    assert with_stored_arrays(ended, stack.callbacks, 0, dev, epochs=3, frozen=False) is ended
    assert with_stored_arrays(ended, stack.callbacks, 0, dev, epochs=2, frozen=False).notes == ()
    failed = replace(ended, failure="it broke")
    assert with_stored_arrays(failed, stack.callbacks, 0, dev, epochs=3, frozen=True) is failed
    with torch.no_grad():
        stack.callbacks[1].heads[0].head.weights[0][0, 0, 0] = float("nan")
    broken = with_stored_arrays(ended, stack.callbacks, 0, dev, epochs=3, frozen=True)
    assert set(broken.arrays) == {"embedding.dev"}
    assert broken.notes == ()
    wrong = with_stored_arrays(ended, stack.callbacks, 0, dev[:, :-1], epochs=3, frozen=True)
    assert wrong.failure is not None
    assert wrong.arrays == {}


def test_on_pictures_the_sensitive_space_is_that_of_the_last_epoch_or_not_kept() -> None:
    given = planted_pictures(seed=0).with_test_labels(target=False, group=False)
    how = {**QUICK, "backbone": "small", "batch_size": 24, "epochs": 2, "learning_rate": 3e-3}
    jobs = jobs_of(given, (Parade(),), ())
    for selection in ("last", "performance"):
        treated, untreated = train(given, Named("metric_learner", 1, how), jobs, replace(EXACT, selection=selection))
        assert ("sensitive.0" in treated.arrays) == (treated.best_epoch == 2)
        assert not any(name.startswith("sensitive") for name in untreated.arrays)
        if selection == "last":
            points = treated.arrays["sensitive.0"]
            assert points.shape == treated.arrays["embedding.dev"].shape
            np.testing.assert_allclose(np.linalg.norm(points.astype(np.float64), axis=1), 1, atol=1e-2)
