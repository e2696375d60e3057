"""Embeddings out of a torch module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.training import extract

torch = pytest.importorskip("torch")


@pytest.fixture
def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.Dropout(0.5), torch.nn.Sequential(torch.nn.Linear(7, 3), torch.nn.Tanh())
    )


def batches(inputs: Any, size: int = 4) -> list[Any]:
    return [(inputs[start : start + size], "labels") for start in range(0, len(inputs), size)]


def test_a_layer_is_read_in_order_and_nothing_is_left_behind(network: Any) -> None:
    inputs = torch.randn(10, 5)
    network.train()
    found = extract(network, batches(inputs), "2.0")
    expected = network[2][0](network[0](inputs)).detach().numpy()  # without dropout
    assert found.shape == (10, 3)
    assert found == pytest.approx(expected, abs=1e-6)
    assert network.training
    assert all(not part._forward_hooks for part in network.modules())


def test_without_a_layer_the_output_is_taken_and_maps_are_flattened() -> None:
    network = torch.nn.Conv2d(1, 2, 3)
    inputs = torch.randn(4, 1, 5, 5)
    found = extract(network, [inputs[:2], {"x": inputs[2:]}])
    assert found.shape == (4, 2 * 3 * 3)
    assert found == pytest.approx(network(inputs).detach().numpy().reshape(4, -1), abs=1e-6)


def test_the_first_of_a_tuple_is_taken() -> None:
    network = torch.nn.LSTM(3, 2, batch_first=True)
    assert extract(network, [torch.randn(4, 6, 3)]).shape == (4, 12)


def test_the_hook_is_removed_when_the_module_fails(network: Any) -> None:
    with pytest.raises(BadInput, match=r"failed on a batch of shape \(3, 99\) and type torch.float32 \(mat1 and mat2"):
        extract(network, [torch.randn(3, 99)], "0")
    assert all(not part._forward_hooks for part in network.modules())


ROWS = torch.zeros(6, 5)
ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "no module": ({"module": None}, "The module is of type NoneType"),
    "a function": ({"module": torch.relu}, "The module is of type builtin_function"),
    "the other way round": ({"module": [ROWS]}, r"available: a torch.nn.Module, then a loader"),
    "no loader": ({"loader": None}, "The loader is of type NoneType"),
    "a number": ({"loader": 5}, "The loader is of type int"),
    "a text": ({"loader": "rows.npy"}, "The loader is of type str"),
    "one tensor": ({"loader": ROWS}, r"The loader is of type Tensor(?s:.*)put it into a list"),
    "one array": ({"loader": ROWS.numpy()}, "The loader is of type ndarray"),
    "a data set": (
        {"loader": torch.utils.data.TensorDataset(ROWS)},
        r"TensorDataset(?s:.*)wrap it: .*DataLoader",
    ),
    "an empty tuple": ({"loader": [()]}, "A batch of the loader is empty"),
    "an empty mapping": ({"loader": [{}]}, "A batch of the loader is empty"),
    "an empty batch": ({"loader": [ROWS[:0]]}, r"A batch of the loader has the shape \(0, 5\)"),
    "a single number": ({"loader": [torch.tensor(1.0)]}, r"A batch of the loader has the shape \(\)"),
    "texts": ({"loader": ["abc"]}, "A batch of the loader is str"),
    "whole numbers": ({"loader": [ROWS.long()]}, r"type torch.int64 \((?s:.*)inputs.float\(\)"),
    "a place of a layer": ({"layer": 3}, "The layer is of type int"),
    "several layers": ({"layer": ["0"]}, "The layer is of type list"),
    "an unknown layer": ({"layer": "2.O"}, "layer '2.O' not found"),
    "a strange device": ({"device": "gpu"}, "The module cannot be moved to the device 'gpu'"),
    "another device": ({"device": "cuda:99"}, "The module cannot be moved to the device 'cuda:99'"),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_wrong_arguments_are_refused_in_words_and_leave_the_module_as_it_was(network: Any, case: str) -> None:
    given, words = ARGUMENTS[case]
    network.train()
    with pytest.raises(BadInput, match=words):
        extract(**{"module": network, "loader": [ROWS], **given})
    assert network.training
    assert all(not part._forward_hooks for part in network.modules())


def test_a_loader_of_a_data_set_is_read(network: Any) -> None:
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(ROWS), batch_size=4)
    assert extract(network, loader, "0").shape == (6, 7)
    assert extract(network, (batch for batch in loader), "0", device="cpu").shape == (6, 7)


def test_bad_input_says_how_to_fix_it(network: Any) -> None:
    with pytest.raises(BadInput, match=r"2\.O"):
        extract(network, [torch.randn(3, 5)], "2.O")
    with pytest.raises(BadInput, match="no batch"):
        extract(network, [], "0")
    with pytest.raises(BadInput, match="A batch of the loader is ndarray"):
        extract(network, [np.zeros((3, 5))], "0")

    class Twice(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.step = torch.nn.Linear(5, 5)

        def forward(self, x: Any) -> Any:
            return self.step(self.step(x))

    with pytest.raises(BadInput, match="ran 2 times"):
        extract(Twice(), [torch.randn(3, 5)], "step")
    with pytest.raises(BadInput, match="first dimension of rows"):
        extract(torch.nn.Flatten(0), [torch.randn(3, 5)])
