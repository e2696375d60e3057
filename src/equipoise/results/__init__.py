"""What every command returns: records, findings, and results that turn into JSON, CSV, LaTeX, frames, charts and pages.

Statuses, verdicts and directions are enums; a sentence is made from them at the very end, and decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.results._gates import COMPARISONS as COMPARISONS
    from equipoise.results._gates import FLIPPED_SIGNS as FLIPPED_SIGNS
    from equipoise.results._gates import Breach as Breach
    from equipoise.results._gates import Gate as Gate
    from equipoise.results._gates import GateBroken as GateBroken
    from equipoise.results._gates import GateCheck as GateCheck
    from equipoise.results._gates import Measured as Measured
    from equipoise.results._gates import check_direction as check_direction
    from equipoise.results._gates import parse_gate as parse_gate
    from equipoise.results._record import RECORD_FIELDS as RECORD_FIELDS
    from equipoise.results._record import Better as Better
    from equipoise.results._record import ClaimVerdict as ClaimVerdict
    from equipoise.results._record import Direction as Direction
    from equipoise.results._record import Finding as Finding
    from equipoise.results._record import GapVerdict as GapVerdict
    from equipoise.results._record import Reason as Reason
    from equipoise.results._record import ReasonCode as ReasonCode
    from equipoise.results._record import Record as Record
    from equipoise.results._record import Scope as Scope
    from equipoise.results._record import SearchVerdict as SearchVerdict
    from equipoise.results._record import Status as Status
    from equipoise.results._record import Verdict as Verdict
    from equipoise.results._record import all_reasons as all_reasons
    from equipoise.results._record import because as because
    from equipoise.results._record import direction_of as direction_of
    from equipoise.results._record import field_names as field_names
    from equipoise.results._record import matching as matching
    from equipoise.results._record import reason_as_json as reason_as_json
    from equipoise.results._record import record_as_json as record_as_json
    from equipoise.results._record import without_tests as without_tests
    from equipoise.results._result import GatedResult as GatedResult
    from equipoise.results._result import Interval as Interval
    from equipoise.results._result import NarratedResult as NarratedResult
    from equipoise.results._result import Plots as Plots
    from equipoise.results._result import Records as Records
    from equipoise.results._result import Result as Result
    from equipoise.results._result import Table as Table

_MODULES = {
    "_record": (
        "Better", "ClaimVerdict", "Direction", "Finding", "GapVerdict", "RECORD_FIELDS", "Reason", "ReasonCode",
        "Record", "Scope", "SearchVerdict", "Status", "Verdict", "all_reasons", "because", "direction_of",
        "field_names", "matching", "reason_as_json", "record_as_json", "without_tests",
    ),
    "_gates": (
        "Breach", "COMPARISONS", "FLIPPED_SIGNS", "Gate", "GateBroken", "GateCheck", "Measured", "check_direction",
        "parse_gate",
    ),
    "_result": ("GatedResult", "Interval", "NarratedResult", "Plots", "Records", "Result", "Table"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
