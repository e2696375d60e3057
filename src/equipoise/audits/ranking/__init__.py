"""Fairness of a ranking: the share of each group in the top k, and its exposure, compared and tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.audits import _options as shared
from equipoise.audits._group_result import AuditKind, register
from equipoise.foundation import Option, door

if TYPE_CHECKING:
    from equipoise.audits.ranking._ranking import ranking as ranking
    from equipoise.audits.ranking._result import RankingResult as RankingResult

_MODULES = {"_ranking": ("ranking",), "_result": ("RankingResult",)}
__all__, __getattr__, __dir__ = door(__name__, _MODULES, "OPTIONS")

OPTIONS = (
    Option(
        name="score", metavar="COL", values="columns", type_name=shared.COLUMN,
        help="The score that rows are ranked by, the highest first.",
    ),
    Option(
        name="rank", metavar="COL", values="columns", type_name=shared.COLUMN,
        help="The rank of each row, 1 first, where there is no score.",
    ),
    Option(
        name="query", metavar="COL", values="columns", type_name=shared.COLUMN,
        help="The query that a row answers: each is a ranking, and queries are the sample. Without it, one ranking.",
    ),
    Option(
        name="relevance", metavar="COL", values="columns", type_name=shared.COLUMN,
        help="How relevant each row is, from 0: exposure is also compared with merit.",
    ),
    Option(
        name="top", kind="texts", metavar="K", default=(), type_name="int, float, str or list of them",
        help="A cut such as 10 or 10%; may be given again. By default 10 with queries, and 10% without.",
    ),
    shared.GROUP,
    shared.audit_option("reference"),
    shared.BIN,
    shared.CATEGORICAL,
    shared.INCLUDE_MISSING,
    shared.audit_option("intersections"),
    shared.SUPPRESS_BELOW,
    shared.MISSING,
    shared.audit_option("least_people"),
    shared.audit_option("gap"),
    shared.audit_option("equivalence_margin"),
    shared.DRAWS,
    shared.SEED,
    Option(
        name="fail_if", kind="texts", panel=shared.GATES, metavar="GATE", argument=None, default=(),
        help='Exit with 1 if it holds: "exposure_ratio < 0.8", "selection_at_k_difference.low > 0.05".',
    ),
    shared.audit_option("allow_undefined"),
    *shared.OUTPUTS,
)  # fmt: skip

register(
    AuditKind(
        name="ranking",
        summary="Audit a ranking: who is in the top k, who gets the exposure, and whether that is chance.",
        function="equipoise.audits.ranking._ranking:ranking",
        result="equipoise.audits.ranking._result:RankingResult",
        options=OPTIONS,
        needed=("group",),
        examples=(
            "ranking candidates.csv --score score --group sex --top 10 --top 10%",
            "ranking results.parquet --score score --query query --relevance clicks --group sex --html ranking.html",
            'ranking candidates.csv --rank rank --group sex --fail-if "exposure_ratio < 0.8"',
        ),
    )
)
