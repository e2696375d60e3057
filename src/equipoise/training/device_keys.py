"""The numbers of samples (``fixing.sample_keys``) made on a device: the same 64 bits, wherever they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.training.fixing import COPY_STEP, ID_STEP, MIX_1, MIX_2, stream_words

if TYPE_CHECKING:
    import torch

BITS = 64


def device_keys(seed: int, epoch: int, ids: torch.Tensor, copies: torch.Tensor, purpose: str) -> torch.Tensor:
    """Return ``sample_keys`` of ids and copies (int64) as int64 on their device. Products wrap, as in numpy."""
    first, second = stream_words(seed, epoch, purpose)
    key = _mixed(ids * _signed(int(ID_STEP)) + _signed(first))
    return _mixed(key ^ (copies * _signed(int(COPY_STEP)) + _signed(second)))


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
