"""How well the group can be read from an embedding: probes, cross-validated, against guessing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.leakage._leakage import PROBES as PROBES
    from equipoise.audits.leakage._leakage import Leakage as Leakage
    from equipoise.audits.leakage._leakage import LeakageRecord as LeakageRecord
    from equipoise.audits.leakage._leakage import leakage as leakage

_MODULES = {
    "_leakage": ("PROBES", "Leakage", "LeakageRecord", "leakage"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
