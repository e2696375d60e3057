"""Two representations of the same people: whom a change touched, by how much, and whether that is chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.compare._compare import compare as compare
    from equipoise.audits.compare._compare import mirrored as mirrored
    from equipoise.audits.compare._groups import composition as composition
    from equipoise.audits.compare._groups import cut_lowest as cut_lowest
    from equipoise.audits.compare._projection import bounded_omega as bounded_omega
    from equipoise.audits.compare._projection import omega as omega
    from equipoise.audits.compare._result import SCHEMA as SCHEMA
    from equipoise.audits.compare._result import ChangeRecord as ChangeRecord
    from equipoise.audits.compare._result import CompareReason as CompareReason
    from equipoise.audits.compare._result import CompareResult as CompareResult
    from equipoise.audits.compare._result import Description as Description
    from equipoise.audits.compare._result import FloorRecord as FloorRecord
    from equipoise.audits.compare._result import Histogram as Histogram
    from equipoise.audits.compare._result import Move as Move
    from equipoise.audits.compare._result import OutcomeLink as OutcomeLink
    from equipoise.audits.compare._result import OutcomeRecord as OutcomeRecord
    from equipoise.audits.compare._result import ProjectionRecord as ProjectionRecord
    from equipoise.audits.compare._result import RingPart as RingPart
    from equipoise.audits.compare._result import RowRecord as RowRecord
    from equipoise.audits.compare._result import Similarity as Similarity
    from equipoise.audits.compare._spec import Attribute as Attribute
    from equipoise.audits.compare._spec import ColumnRoles as ColumnRoles
    from equipoise.audits.compare._spec import Quantity as Quantity
    from equipoise.audits.compare._spec import rows_of as rows_of

_MODULES = {
    "_compare": (
        "compare",
        "mirrored",
    ),
    "_groups": (
        "composition",
        "cut_lowest",
    ),
    "_projection": (
        "bounded_omega",
        "omega",
    ),
    "_result": (
        "ChangeRecord",
        "CompareReason",
        "CompareResult",
        "Description",
        "FloorRecord",
        "Histogram",
        "Move",
        "OutcomeLink",
        "OutcomeRecord",
        "ProjectionRecord",
        "RingPart",
        "RowRecord",
        "SCHEMA",
        "Similarity",
    ),
    "_spec": (
        "Attribute",
        "Quantity",
        "ColumnRoles",
        "rows_of",
    ),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
