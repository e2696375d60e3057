"""Weights from files: what fits is taken, what does not is named, and nothing half-fitted is left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from equipoise.foundation import BadInput
from equipoise.networks import build, load_weights, resnet18

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")

PUBLISHED = ((r"^stem\.conv", "conv1"), (r"^stem\.norm", "bn1"), (r"^stage", "layer"), (r"\.norm", ".bn"),
             (r"\.past\.", ".downsample."), (r"^head", "fc"))  # fmt: skip


def published(name: str) -> str:
    for own, theirs in PUBLISHED:
        name = re.sub(own, theirs, name)
    return name


def test_weights_written_by_a_network_are_read_into_another(tmp_path: Path) -> None:
    written, read = build("small", 3)[0], build("small", 3)[0]
    files.save_file(written.state_dict(), tmp_path / "a.safetensors")
    assert load_weights(read, tmp_path / "a.safetensors") == ()
    assert all(torch.equal(one, read.state_dict()[name]) for name, one in written.state_dict().items())


def test_published_names_are_understood_and_a_head_is_left_out(tmp_path: Path) -> None:
    written, read = resnet18(7), build("resnet18", 3)[0]
    held = {published(name): one for name, one in written.state_dict().items() if not name.endswith("tracked")}
    assert {"conv1.weight", "layer1.0.bn2.running_var", "layer2.0.downsample.1.weight", "fc.bias"} <= set(held)
    files.save_file(held, tmp_path / "a.safetensors")
    assert sorted(load_weights(read, tmp_path / "a.safetensors")) == ["fc.bias", "fc.weight"]
    assert all(torch.equal(one, written.state_dict()[name]) for name, one in read.state_dict().items())


def spoilt(held: dict[str, Any], how: str) -> dict[str, Any]:
    if how == "lacking":
        del held["block2.conv.weight"]
    if how == "shape":
        held["block1.conv.weight"] = torch.zeros(16, 1, 3, 3)
    if how == "strange":
        held["block9.conv.weight"] = torch.zeros(1)
    if how == "broken":
        held["block3.norm.running_mean"] = torch.full((64,), torch.nan)
    return held


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("lacking", "block2.conv.weight is not in the file"),
        ("shape", re.escape("block1.conv.weight has the shape [16, 1, 3, 3] and not [16, 3, 3, 3]")),
        ("strange", "block9.conv.weight is not in the network"),
        ("broken", "block3.norm.running_mean holds numbers that are not finite"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(tmp_path: Path, how: str, told: str) -> None:
    network = build("small", 3)[0]
    before = {name: one.clone() for name, one in network.state_dict().items()}
    files.save_file(spoilt(build("small", 3)[0].state_dict(), how), tmp_path / "a.safetensors")
    with pytest.raises(BadInput, match=told):
        load_weights(network, tmp_path / "a.safetensors")
    assert all(torch.equal(one, before[name]) for name, one in network.state_dict().items())


def test_a_pickle_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    network = build("small", 3)[0]
    (tmp_path / "a.pt").write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(BadInput, match="not read here"):
        load_weights(network, tmp_path / "a.pt")
    with pytest.raises(BadInput, match="no file"):
        load_weights(network, tmp_path / "b.safetensors")
