"""A step taken many times: recorded once on a graphics card and replayed on a stream of its own; just taken on a CPU.

A step of a small network is hundreds of short kernels, and launching each from Python leaves the card idle. What a step
reads and writes must stay where it is in memory, and what it draws by chance must be drawn before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

# Steps before recording: libraries choose their kernels and allocate in them.
WARM_UP = 3


class RecordedStep:
    """A step that moves some parameters by a fresh optimiser of torch's.

    The numbers are those of plain steps: nothing is prepared while warming up, so no random stream moves, and what the
    warm steps moved is put back.
    """

    def __init__(
        self, step: Callable[[], None], parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer,
        device: str, *, record: bool = True,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Training")
        self.on_card = device != "cpu"
        self.step = step
        self.graph: Any = None
        self.stream: Any = self.torch.cuda.Stream(device) if self.on_card else None
        if self.on_card and record:
            self._record(parameters, optimiser)

    def take(self, prepare: Callable[[], None], after: Callable[[], None] | None = None) -> None:
        """Take one step: what it reads is prepared before, what it wrote may be read after."""
        with self.streamed():
            prepare()
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()
            if after is not None:
                after()

    def streamed(self) -> Any:
        """Return the context in which tensors of the step may be touched."""
        return self.torch.cuda.stream(self.stream) if self.on_card else contextlib.nullcontext()

    def wait(self) -> None:
        """Return when every step is done."""
        if self.on_card:
            self.stream.synchronize()

    def _record(self, parameters: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer) -> None:
        cuda = self.torch.cuda
        begun = [one.detach().clone() for one in parameters]
        cuda.synchronize()  # what was built came by another stream
        with cuda.stream(self.stream):
            for _ in range(WARM_UP):
                self.step()
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph, stream=self.stream):
            self.step()
        with cuda.stream(self.stream):
            put_back(parameters, begun, optimiser)
        cuda.synchronize()
        self.graph = graph


def put_back(
    parameters: Sequence[torch.Tensor], begun: Sequence[torch.Tensor], optimiser: torch.optim.Optimizer
) -> None:
    """Give parameters the values they began with, and an optimiser the state of one that has seen nothing."""
    torch = require("torch", extra="train", purpose="Training")
    with torch.no_grad():
        for one, first in zip(parameters, begun, strict=True):
            one.copy_(first)
        for state in optimiser.state.values():
            for value in state.values():
                value.zero_()
