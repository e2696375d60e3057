"""Steps recorded once and replayed: a CUDA graph for each kind of step, on a stream of their own.

A step of a small network is hundreds of short kernels; launching them one by one from Python leaves the card idle. A
graph launches them at once, and graphs of several trainings fill the card side by side. On a CPU steps are just taken.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch

# Steps before recording: libraries choose their kernels and allocate in them.
WARM_UP = 3
# The kind of a training whose steps are all alike.
ONE_KIND = "all"


class Recorder:
    """Takes steps by their kind, on a card as recorded graphs.

    ``tensors`` names all that a step moves: the steps that warm up move it too, so it is put back. What is not there
    before the first step, such as the moments of an optimiser, begins as zeros. Where it is ``tolerant``, steps that
    cannot be recorded are plain ones from then on, and ``refusal`` says why.
    """

    def __init__(
        self, device: str, tensors: Callable[[], Mapping[str, torch.Tensor]], *, record: bool = True,
        tolerant: bool = False,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Training")
        self.on_card = device != "cpu"
        self.records = record and self.on_card
        self.tolerant, self.refusal = tolerant, ""
        self._tensors = tensors
        self._stream: Any = self.torch.cuda.Stream(device) if self.on_card else None
        self._graphs: dict[str, Any] = {}
        if self.on_card:
            # What was built came by another stream.
            self.torch.cuda.synchronize()

    def record(self, kind: str, step: Callable[[], None], warm_up: int = WARM_UP) -> None:
        """Record a kind of step, unless it has been."""
        if not self.records or kind in self._graphs:
            return
        cuda = self.torch.cuda
        cuda.synchronize()
        with cuda.stream(self._stream):
            before = {name: value.detach().clone() for name, value in self._tensors().items()}
        try:
            graph = self._recorded(step, warm_up)
        except RuntimeError as error:
            if not self.tolerant or isinstance(error, self.torch.OutOfMemoryError):
                raise
            self.records, self.refusal = False, str(error).strip().partition("\n")[0]
            graph = None
        cuda.synchronize()
        with cuda.stream(self._stream), self.torch.no_grad():
            restore_tensors(self._tensors(), before)
        cuda.synchronize()
        if graph is not None:
            self._graphs[kind] = graph

    def _recorded(self, step: Callable[[], None], warm_up: int) -> Any:
        """Take some steps and record one more; what would wait for the device inside a tolerated step is an error."""
        cuda = self.torch.cuda
        mode = cuda.get_sync_debug_mode()
        try:
            if self.tolerant:
                with warnings.catch_warnings():
                    # It says that it does not notice everything that waits; the recording does.
                    warnings.filterwarnings("ignore", message="Synchronization debug mode")
                    cuda.set_sync_debug_mode("error")
            with cuda.stream(self._stream):
                for _ in range(warm_up):
                    step()
        finally:
            cuda.set_sync_debug_mode(mode)
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph, stream=self._stream):
            step()
        return graph

    def take(self, kind: str, step: Callable[[], None]) -> None:
        """Take one step of a kind."""
        with self.streamed():
            if self.records:
                self._graphs[kind].replay()
            else:
                step()

    def streamed(self) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which tensors of the steps may be touched."""
        return self.torch.cuda.stream(self._stream) if self.on_card else contextlib.nullcontext()

    def wait(self) -> None:
        """Return when every step is done."""
        if self.on_card:
            self._stream.synchronize()


def restore_tensors(tensors: Mapping[str, torch.Tensor], before: Mapping[str, torch.Tensor]) -> None:
    """Give tensors the values they had, in place; those that were not there become zeros."""
    for name, value in tensors.items():
        if name in before:
            value.detach().copy_(before[name])
        else:
            value.detach().zero_()
