"""Random mining (paper 000, Definition 4), as the base code does it: a batch's worth of all its triplets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import registered, require
from equipoise.training.metric import MinedTriplets, Miner, pairs_of, take_rows

if TYPE_CHECKING:
    import torch


@registered("miner", "random", paper="000", extra="train")
class RandomTriplets(Miner):
    """As many triplets as samples, out of all triplets of the batch, without replacement (all, if they are fewer).

    The triplets are numbered, numbers are drawn, and a number is read as its triplet: the triplets are never listed.
    """

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> MinedTriplets:
        """Return the triplets; any anchor may come several times, or not at all."""
        library = require("torch", extra="train", purpose="Mining")
        same_class, different_class = (pairs.cumsum(-1) for pairs in pairs_of(labels))
        negatives_each = different_class[..., -1]
        triplet_counts = same_class[..., -1] * negatives_each
        heights = triplet_counts.cumsum(-1)
        total = heights[..., -1:]
        numbers = distinct_numbers(total, uniforms[..., 0, :])
        anchors = library.searchsorted(heights, numbers, right=True).clamp_max_(labels.shape[-1] - 1)
        rest = numbers - (heights - triplet_counts).gather(-1, anchors)
        choices = negatives_each.gather(-1, anchors).clamp_min_(1)
        places = [
            # The first place at which so many of the pairs have been passed.
            library.searchsorted(take_rows(passed, anchors), rank.unsqueeze(-1) + 1).squeeze(-1)
            for passed, rank in ((same_class, rest // choices), (different_class, rest % choices))
        ]
        positives, negatives = (position.clamp_max_(labels.shape[-1] - 1) for position in places)
        mask = library.arange(labels.shape[-1], device=labels.device) < total
        return MinedTriplets(anchors, positives, negatives, mask)


def distinct_numbers(total: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Return distinct numbers below ``total [..., 1]``, one for each of ``uniforms [..., draw]``; all sets come alike.

    Robert Floyd's algorithm: for k = total - n, ..., total - 1 draw t in 0..k, and take k instead where t was taken
    before. Here for all k at once: t was taken before if an earlier draw was t as well, or if t is itself an earlier k
    that was taken instead; the second leads from k to k, in chains that are followed by doubling. Where there are fewer
    numbers than draws, the first ``total`` are all of them and the rest is void.
    """
    library = require("torch", extra="train", purpose="Mining")
    draws = uniforms.shape[-1]
    steps = library.arange(draws, device=uniforms.device)
    first = (total - draws).clamp_min(0)
    last = first + steps
    tried = (uniforms * (last + 1)).long()
    again = (tried.unsqueeze(-1) == tried.unsqueeze(-2)).tril_(-1).any(-1)
    led = tried - first
    onward = library.where((led >= 0) & (led < steps), led, steps)
    for _ in range(max(draws - 1, 1).bit_length()):
        again = again | again.gather(-1, onward)
        onward = onward.gather(-1, onward)
    numbers: torch.Tensor = library.where(again, last, tried)
    return numbers
