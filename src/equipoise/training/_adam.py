"""Adam for stacked parameters: one update for all trials, each with its own rate and decay (Kingma and Ba 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equipoise.foundation import require

if TYPE_CHECKING:
    import torch

STATE = ("exp_avg", "exp_avg_sq")


class StackedAdam:
    """torch's fused Adam over parameters ``[trial, ...]``.

    ``rates`` and ``decays`` are one number, or one a trial (the decay is Adam's L2 penalty, added to the gradient).
    Trials that share both are updated in one call; a slice of trials shares the memory of its parameter, so nothing is
    copied.
    """

    def __init__(
        self,
        parameters: Sequence[torch.Tensor],
        rates: float | Sequence[float],
        decays: float | Sequence[float] = 0.0,
    ) -> None:
        self._torch = require("torch", extra="train", purpose="Training")
        self.parameters = list(parameters)
        trials = len(self.parameters[0])
        self.rates = _each(rates, trials)
        self.decays = _each(decays, trials)
        self._averages = {name: [self._torch.zeros_like(parameter) for parameter in self.parameters] for name in STATE}
        # How many steps each parameter has taken: one count for all, until a step leaves one of them out.
        count = self._torch.zeros((), dtype=self._torch.float32, device=self.parameters[0].device)
        self._counts = [count] * len(self.parameters)
        self._arrange()

    def _arrange(self) -> None:
        """Group trials by rate and decay: runs of neighbours become one slice of every tensor."""
        settings = list(zip(self.rates, self.decays, strict=True))
        edges = [0, *(index for index in range(1, len(settings)) if settings[index] != settings[index - 1])]
        spans = list(zip(edges, [*edges[1:], len(settings)], strict=True))
        self._spans: dict[tuple[float, float], list[slice]] = {}
        for begin, end in spans:
            self._spans.setdefault(settings[begin], []).append(slice(begin, end))

    def step(self, gradients: Sequence[torch.Tensor | None] | None = None) -> None:
        """Update every parameter by its gradient (by default its ``.grad``, which is then let go).

        A parameter without a gradient had no part in the loss: it is left as it is, as torch's own Adam does.
        """
        if gradients is None:
            gradients = [parameter.grad for parameter in self.parameters]
            for parameter in self.parameters:
                parameter.grad = None
        lists: list[list[Any]] = [
            [parameter.detach() for parameter in self.parameters],
            [
                gradient if gradient is None else _laid(gradient, other)
                for gradient, other in zip(gradients, self.parameters, strict=True)
            ],
            *(self._averages[name] for name in STATE),
        ]
        counts = self._counts
        if any(gradient is None for gradient in gradients):
            reached = [index for index, gradient in enumerate(gradients) if gradient is not None]
            if counts[0] is counts[-1]:
                counts = self._counts = [count.clone() for count in counts]
            lists = [[many[position] for position in reached] for many in lists]
            counts = [counts[position] for position in reached]
        for count in {id(count): count for count in counts}.values():
            count += 1
        if not counts:
            return
        for (rate, decay), spans in self._spans.items():
            if len(self._spans) == 1:
                self._update(lists, counts, rate, decay)
            else:
                cut = [[tensor[span] for span in spans for tensor in many] for many in lists]
                self._update(cut, counts * len(spans), rate, decay)

    def _update(self, lists: list[list[Any]], counts: list[Any], rate: float, decay: float) -> None:
        parameters, gradients, first, second = lists
        self._torch._fused_adam_(
            parameters, gradients, first, second, [], counts,
            lr=rate, beta1=0.9, beta2=0.999, weight_decay=decay, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip

    def state(self) -> dict[str, torch.Tensor]:
        """Return what is remembered of each parameter, where it lies; a count that they share is named once."""
        averages = {
            f"{name} {index}": tensor for name, many in self._averages.items() for index, tensor in enumerate(many)
        }
        counts = {id(count): (position, count) for position, count in reversed(list(enumerate(self._counts)))}
        return averages | {f"steps {position}": count for position, count in counts.values()}

    def select_trials(self, trials: torch.Tensor, parameters: Sequence[torch.Tensor]) -> None:
        """Go on with these trials only, whose parameters are now these tensors."""
        self.parameters = list(parameters)
        chosen = trials.tolist()
        self.rates = tuple(self.rates[index] for index in chosen)
        self.decays = tuple(self.decays[index] for index in chosen)
        self._averages = {
            name: [_laid(tensor[trials], parameter) for tensor, parameter in zip(many, self.parameters, strict=True)]
            for name, many in self._averages.items()
        }
        self._arrange()


def _laid(values: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Let values lie in memory as their parameter does: the kernel reads memory from end to end."""
    same_layout = values.stride() == parameter.stride()
    return values if same_layout else parameter.detach().clone().copy_(values)


def _each(values: float | Sequence[float], trials: int) -> tuple[float, ...]:
    return (float(values),) * trials if isinstance(values, int | float) else tuple(map(float, values))
