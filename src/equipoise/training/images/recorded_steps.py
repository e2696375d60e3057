"""Steps recorded once and replayed: a CUDA graph for each kind of step, on a stream of the run's own.

A step of a small network is hundreds of short kernels; launching them one by one from Python leaves the card idle. A
graph launches them at once, and graphs of several runs fill the card side by side. On a CPU steps are just taken.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from equipoise.training.images.optimising import restore, state_of
from equipoise.training.images.run import Run

if TYPE_CHECKING:
    import torch

# Steps before recording: libraries choose their kernels and allocate in them.
WARM_UP = 3


class Steps:
    """The steps of one run: ``take(phase)`` is one of them; ``wait`` returns when all of them are done."""

    def __init__(self, run: Run, *, record: bool = True) -> None:
        self.run = run
        self.on_gpu = run.settings.device != "cpu"
        self.record = record and self.on_gpu
        self.stream: Any = run.torch.cuda.Stream() if self.on_gpu else None
        self._graphs: dict[str, Any] = {}
        if self.on_gpu:
            # What was built came by another stream.
            run.torch.cuda.synchronize()

    def begin(self, epoch: int) -> None:
        """Prepare an epoch; its kind of step is recorded if it has not been."""
        phase = self.run.phase(epoch)
        with self._streamed():
            self.run.begin(epoch)
        if self.record and phase not in self._graphs:
            self._graphs[phase] = self._recorded(phase)

    def take(self, phase: str) -> None:
        """Take one step."""
        with self._streamed():
            if self.record:
                self._graphs[phase].replay()
            else:
                self.run.step(phase)

    def again(self, phase: str) -> None:
        """Take the first step of the epoch once more, with the network as it is now."""
        with self._streamed():
            self.run.counter.zero_()
        self.take(phase)

    def wait(self) -> None:
        """Return when every step is done."""
        if self.on_gpu:
            self.stream.synchronize()

    def _streamed(self) -> Any:
        return self.run.torch.cuda.stream(self.stream) if self.on_gpu else contextlib.nullcontext()

    def _recorded(self, phase: str) -> Any:
        """Record a step. The steps that warm up move the network, so what they changed is put back."""
        torch, run = self.run.torch, self.run
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            kept = _snapshot(run)
            for _ in range(min(WARM_UP, run.steps)):
                run.step(phase)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            run.step(phase)
        with torch.cuda.stream(self.stream):
            _put_back(run, kept)
        torch.cuda.synchronize()
        return graph


def _snapshot(run: Run) -> dict[str, dict[str, torch.Tensor]]:
    modules = {name: {key: value.clone() for key, value in part.state_dict().items()}
               for name, part in run.parts.items()}  # fmt: skip
    moments = {f"{name} optimiser": {key: value.clone() for key, value in state_of(optimiser).items()}
               for name, optimiser in run.optimisers.items()}  # fmt: skip
    return modules | moments


def _put_back(run: Run, kept: dict[str, dict[str, torch.Tensor]]) -> None:
    with run.torch.no_grad():
        for name, part in run.parts.items():
            for key, value in part.state_dict().items():
                value.copy_(kept[name][key])
        for name, optimiser in run.optimisers.items():
            restore(optimiser, kept[f"{name} optimiser"])
    run.counter.zero_()
    run.losses.zero_()
