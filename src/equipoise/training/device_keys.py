"""The numbers of samples (``fixing.sample_keys``) made on a device: the same 64 bits, wherever they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equipoise.training.fixing import COPY_STEP, ID_STEP, MIX_1, MIX_2, stream_words

if TYPE_CHECKING:
    import torch

BITS = 64


def device_keys(
    seeds: int | Sequence[int], epoch: int, ids: torch.Tensor, copies: torch.Tensor, purpose: str
) -> torch.Tensor:
    """Return ``sample_keys`` of ids and copies (int64) as int64 on their device: of one seed, or ``[seed, sample]``.

    Products wrap, as in numpy.
    """
    first, second = _words(seeds, epoch, ids, purpose)
    key = _mixed(ids * _signed(int(ID_STEP)) + first)
    return _mixed(key ^ (copies * _signed(int(COPY_STEP)) + second))


def _words(seeds: int | Sequence[int], epoch: int, ids: torch.Tensor, purpose: str) -> tuple[Any, Any]:
    """Return the numbers that part streams: two, or two columns with a row for each seed."""
    if not isinstance(seeds, Sequence):
        first, second = stream_words(seeds, epoch, purpose)
        return _signed(first), _signed(second)
    words = [[_signed(word) for word in stream_words(seed, epoch, purpose)] for seed in seeds]
    columns = ids.new_tensor(words)
    return columns[:, :1], columns[:, 1:]


def _mixed(key: torch.Tensor) -> torch.Tensor:
    key = (key ^ _right(key, 30)) * _signed(int(MIX_1))
    key = (key ^ _right(key, 27)) * _signed(int(MIX_2))
    return key ^ _right(key, 31)


def _right(key: torch.Tensor, places: int) -> torch.Tensor:
    """Shift to the right and let zeros in: torch's own shift lets the sign in."""
    return (key >> places) & ((1 << (BITS - places)) - 1)


def _signed(number: int) -> int:
    """Return the int64 that has the bits of a uint64."""
    return number - (1 << BITS) if number >= 1 << (BITS - 1) else number
