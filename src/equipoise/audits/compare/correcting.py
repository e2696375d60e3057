"""One correction for all tests of a report, whatever kind of record carries them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from equipoise.evidence.correction import benjamini_hochberg

LEVEL = 0.05


def corrected(*lists: Sequence[Any]) -> tuple[list[Any], ...]:
    """Return the lists with ``p_adjusted`` and ``finding`` filled in wherever there is a ``p``."""
    ps = [math.nan if record.p is None else record.p for records in lists for record in records]
    adjusted = iter(benjamini_hochberg(ps).tolist())
    return tuple([_with(record, next(adjusted)) for record in records] for records in lists)


def _with(record: Any, adjusted: float) -> Any:
    return record if math.isnan(adjusted) else replace(record, p_adjusted=adjusted, finding=adjusted <= LEVEL)
