"""PARADE against a slow loop over rows, in float64; batches from which nothing can be learnt; and its controls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.training.metric import MetricEnded
from equipoise.training.metric._presets import TABLE
from equipoise.treatments import Parade
from equipoise.treatments.parade import Separated, attribute_codes
from helpers.cases.parade import SAMPLES, WIDTH, SlowParade, close, finite, metric_batch, metric_context

torch = pytest.importorskip("torch")

SEEDS = (3, 4, 5)
NUMBERS = ({"alpha": 0.3, "rho": 20.0}, {"alpha": 0.9, "rho": 1500.0}, {"alpha": 0.1, "rho": 0.0})


def parted(context: Any, numbers: Any = NUMBERS, **more: Any) -> Separated:
    return Parade.during([Parade(**number, **more) for number in numbers], context)


def leaves_of(part: Separated) -> list[Any]:
    return [tensor for learnt in part.parts().values() for tensor in learnt.tensors]


def gradients(part: Separated, batch: Any) -> list[Any]:
    wanted = [batch.features, batch.output, *leaves_of(part)]
    return list(torch.autograd.grad(part.penalty(batch).sum(), wanted, allow_unused=True))


@pytest.mark.parametrize("scaling", ["mean", "sum"])
@pytest.mark.parametrize(("groups", "unknown"), [((3,), 0.0), ((2, 5), 0.0), ((3, 4), 0.4)])
def test_a_stack_has_the_loss_and_gradients_of_a_loop_over_rows(
    groups: tuple[int, ...], unknown: float, scaling: str
) -> None:
    context, batch = metric_context(SEEDS, groups=groups, unknown=unknown), metric_batch(SEEDS)
    part = parted(context, scaling=scaling)
    penalty, found = part.penalty(batch), gradients(part, batch)
    for trial, numbers in enumerate(NUMBERS):
        alpha, rho = numbers["alpha"], numbers["rho"] / (1 if scaling == "sum" else WIDTH)
        features = batch.features[trial].detach().clone().requires_grad_()
        embedding = batch.output[trial].detach().clone().requires_grad_()
        value, by_features, by_embedding, by_leaf = 0.0, 0.0, 0.0, []
        for index, head in enumerate(part.heads):
            slow = SlowParade(head, trial)
            codes = context.codes[index, trial][batch.positions[trial]].tolist()
            told_apart = context.draws(f"sensitive attribute {index}", batch.step, SAMPLES)[trial]
            own = slow.own_loss(features, codes, told_apart)
            met = slow.towards(features, embedding, codes)
            value += float((alpha * own - rho * met).detach())
            # Everything but xi lowers c, though the loss says minus c.
            inner = [*slow.head, slow.beta, features]
            lowered = torch.autograd.grad(alpha * own + rho * met, inner, retain_graph=True)
            by_features = by_features + lowered[-1]
            by_embedding = by_embedding + torch.autograd.grad(rho * met, embedding, retain_graph=True)[0]
            raised = torch.autograd.grad(-rho * met, slow.xi)
            by_leaf += [*lowered[: len(slow.head)], *raised, lowered[len(slow.head)]]
        assert float(penalty[trial].detach()) == pytest.approx(value, rel=1e-10)
        expected = [by_features, by_embedding, *by_leaf]
        for one, other in zip(found, expected, strict=True):
            assert close(one[trial], other)


def test_the_sum_is_the_mean_times_the_dimensions() -> None:
    batch = metric_batch(SEEDS)
    numbers = [{"alpha": 0.0, "rho": 7.0}] * 3
    mean, total = (parted(metric_context(SEEDS), numbers, scaling=one).penalty(batch) for one in ("mean", "sum"))
    assert close(total, WIDTH * mean)


def test_trials_of_both_scalings_may_train_together() -> None:
    batch = metric_batch(SEEDS)
    trials = [Parade(scaling="sum"), Parade(scaling="mean"), Parade(scaling="sum", shuffled=True)]
    together = Parade.during(trials, metric_context(SEEDS)).penalty(batch)
    for trial, seed in enumerate(SEEDS):
        alone = Parade.during([trials[trial]], metric_context([seed])).penalty(metric_batch([seed]))
        assert close(together[trial], alone[0], 1e-12)


def test_everything_that_learns_has_a_gradient_and_its_own_rate() -> None:
    context, batch = metric_context(SEEDS, groups=(2, 5)), metric_batch(SEEDS)
    part = parted(context, [{"separation_rate": rate} for rate in (1e-5, 1e-4, 1e-3)])
    rates = [(len(learnt.tensors), learnt.rate, learnt.decay) for learnt in part.parts().values()]
    assert rates == [(2, (1e-3,) * 3, (4e-4,) * 3), (4, (1e-5, 1e-4, 1e-3), 0.0), (1, 5e-4, 0.0)] * 2
    for gradient in gradients(part, batch):
        assert all(float(own.abs().max()) > 0 for own in gradient)


def test_a_head_in_a_stack_is_the_head_alone() -> None:
    context, batch = metric_context(SEEDS, groups=(3, 2), unknown=0.2), metric_batch(SEEDS)
    together = gradients(parted(context), batch)
    for trial, seed in enumerate(SEEDS):
        alone_context, alone_batch = metric_context([seed], groups=(3, 2), unknown=0.2), metric_batch([seed])
        alone = gradients(parted(alone_context, NUMBERS[trial : trial + 1]), alone_batch)
        assert all(close(one[trial], other[0], 1e-12) for one, other in zip(together, alone, strict=True))


# Whatever the loss and the batch.

PRESETS = [pytest.param(loss, miner, id=name) for name, loss, miner, _ in TABLE]
BATCHES = {
    "one group": [0] * SAMPLES,
    "all unknown": [-1] * SAMPLES,
    "one row known": [1] + [-1] * (SAMPLES - 1),
    "groups of one row": [0, 1, 2] + [-1] * (SAMPLES - 3),
    "a group absent": [0, 1] * (SAMPLES // 2),
    "some unknown": [0, 1, 2, -1] * (SAMPLES // 4),
}


@pytest.mark.parametrize(("loss", "miner"), PRESETS)
@pytest.mark.parametrize("kind", list(BATCHES))
def test_no_batch_gives_an_undefined_loss_or_gradient(kind: str, loss: str, miner: str | None) -> None:
    codes = np.tile(BATCHES[kind], (1, len(SEEDS), 1))
    places = np.tile(np.arange(SAMPLES), (len(SEEDS), 1))
    context = metric_context(SEEDS, groups=(3,), codes=codes, loss=loss, miner=miner)
    part, batch = parted(context), metric_batch(SEEDS, places=places)
    assert finite(part.penalty(batch))
    assert all(finite(gradient) for gradient in gradients(part, batch) if gradient is not None)
    own, met = part.heads[0].terms(batch)
    known = any(code >= 0 for code in BATCHES[kind])
    assert bool((met > 0).all()) is known
    mined = loss not in ("arcface", "proxy_nca")
    if kind in ("one row known", "groups of one row", "all unknown", "one group") and mined:
        assert own.tolist() == [0.0] * len(SEEDS)
        slopes = torch.autograd.grad(own.sum(), [batch.features, *part.heads[0].head.parameters], allow_unused=True)
        assert all(slope is None or float(slope.abs().max()) == 0 for slope in slopes)


@pytest.mark.parametrize(("loss", "miner"), PRESETS)
def test_rows_of_unknown_value_have_no_part(loss: str, miner: str | None) -> None:
    codes = np.tile([0, 1, 2, -1] * (SAMPLES // 4), (1, len(SEEDS), 1))
    places = np.tile(np.arange(SAMPLES), (len(SEEDS), 1))
    context = metric_context(SEEDS, groups=(3,), codes=codes, loss=loss, miner=miner)
    part, batch = parted(context), metric_batch(SEEDS, places=places)
    by_features, by_embedding = gradients(part, batch)[:2]
    unknown = codes[0, 0] < 0
    assert float(by_features[:, unknown].abs().max()) == float(by_embedding[:, unknown].abs().max()) == 0
    # Without them the batch has the same loss.
    known = torch.from_numpy(np.flatnonzero(~unknown))
    output, target = batch.output[:, known], batch.target[:, known]
    cut = replace(
        batch, features=batch.features[:, known], hidden=output, output=output, target=target, cell=target,
        group=target, positions=batch.positions[:, known],
    )  # fmt: skip
    whole, drawn = part.penalty(batch), context.draws
    assert drawn is not None
    part.heads[0].uniform_numbers = lambda name, step, rows: drawn(name, step, SAMPLES)[:, :, known]  # type: ignore[assignment]
    assert close(whole, part.penalty(cut), 1e-12)


def test_without_weights_nothing_is_added() -> None:
    context, batch = metric_context(SEEDS, groups=(3, 2)), metric_batch(SEEDS)
    part = parted(context, [{"alpha": 0.0, "rho": 0.0}] * 3)
    assert part.penalty(batch).tolist() == [0.0] * 3
    assert all(float(gradient.abs().max()) == 0 for gradient in gradients(part, batch))


def test_without_de_correlation_the_embedding_is_left_alone() -> None:
    part, batch = parted(metric_context(SEEDS), [{"rho": 0.0}] * 3), metric_batch(SEEDS)
    by_features, by_embedding = gradients(part, batch)[:2]
    assert float(by_embedding.abs().max()) == 0
    assert float(by_features.abs().max()) > 0


def test_shuffled_groups_are_dealt_out_by_the_trials_seed() -> None:
    context = metric_context(SEEDS, groups=(3, 2), unknown=0.2)
    codes = context.codes[1]
    mixed = attribute_codes(context, 1, [True, False, True])
    assert torch.equal(mixed[1], codes[1])
    for trial in (0, 2):
        assert not torch.equal(mixed[trial], codes[trial])
        assert torch.equal(mixed[trial] < 0, codes[trial] < 0)
        assert sorted(mixed[trial].tolist()) == sorted(codes[trial].tolist())
        alone = metric_context([SEEDS[trial]], groups=(3, 2), unknown=0.2)
        assert torch.equal(attribute_codes(alone, 1, [True])[0], mixed[trial])
    assert torch.equal(context.codes[1], codes)


def test_an_attribute_of_one_value_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"'attribute 1' has 1 value"):
        parted(metric_context(SEEDS, groups=(2, 1)))


def test_what_learns_grows_with_attributes_and_not_with_their_crossings() -> None:
    def number(groups: tuple[int, ...]) -> int:
        context = metric_context([0], groups=groups, loss="proxy_nca", miner=None)
        return sum(one.numel() for one in leaves_of(parted(context, [{}])))

    assert number((4, 5, 6)) == number((4,)) + number((5,)) + number((6,))
    # All that depends on the groups are their proxies: 4 + 5 + 6 of them, not 4 x 5 x 6.
    assert number((4, 5, 6)) - 3 * number((2,)) == (15 - 6) * WIDTH
    assert number((120,)) - number((2,)) == 118 * WIDTH


# What is still told of the groups.


def ended(seed: int = 0, rows: int = 300) -> MetricEnded:
    """Features that tell the first attribute, an embedding that does not, and a second attribute that nothing tells."""
    generator = np.random.default_rng(seed)
    codes = {split: generator.integers(2, size=(2, rows)) for split in ("train", "dev")}
    features = {}
    for split, code in codes.items():
        columns = [code[0] + generator.normal(0, 0.1, rows), generator.normal(0, 1, rows)]
        features[split] = np.stack(columns, axis=1).astype(np.float32)
    embedding = {split: feature[:, 1:] for split, feature in features.items()}
    return MetricEnded(seed, features, embedding, ("first", "second"), (("a", "b"), ("c", "d")), codes)


def test_the_probe_reads_what_can_be_read_and_no_more() -> None:
    kept = Parade().metric_arrays(ended())
    assert kept["leakage.features"][0] > 0.95
    assert kept["leakage.embedding"][0] == pytest.approx(0.5, abs=0.1)
    assert kept["leakage.features"][1] == pytest.approx(0.5, abs=0.1)
    assert kept["leakage.chance"].tolist() == [0.5, 0.5]


def test_a_probe_is_judged_on_dev_rows_group_by_group() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.preprocessing import StandardScaler

    generator = np.random.default_rng(1)
    train_codes, dev_codes = (generator.choice(4, size=400, p=[0.6, 0.2, 0.1, 0.1]) for _ in range(2))
    train_codes[train_codes == 3] = -1
    points = [
        (np.eye(4)[codes] + generator.normal(0, 0.7, (400, 4))).astype(np.float32) for codes in (train_codes, dev_codes)
    ]
    split = {"train": points[0], "dev": points[1]}
    found = Parade().metric_arrays(
        MetricEnded(0, split, split, ("a",), (tuple("wxyz"),), {"train": train_codes[None], "dev": dev_codes[None]})
    )
    known, judged = train_codes >= 0, dev_codes != 3
    scaler = StandardScaler().fit(points[0][known])
    made = LogisticRegression(max_iter=1000).fit(scaler.transform(points[0][known]), train_codes[known])
    likely = made.predict_proba(scaler.transform(points[1][judged])) / np.bincount(train_codes[known])
    expected = balanced_accuracy_score(dev_codes[judged], likely.argmax(axis=1))
    assert found["leakage.embedding"][0] == pytest.approx(expected)
    assert found["leakage.features"][0] == found["leakage.embedding"][0]
    assert found["leakage.chance"][0] == pytest.approx(1 / 3)


def test_nothing_is_told_of_an_attribute_with_one_common_group() -> None:
    one = ended()
    one.codes["dev"][0] = 0
    kept = Parade().metric_arrays(one)
    assert np.isnan([kept[name][0] for name in kept]).all()
    assert not np.isnan([kept[name][1] for name in kept]).any()
