"""What a reader must know to read evidence: how the tests were made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equipoise.audits.evidence._comparison import BRUNNER_MUNZEL, MANN_WHITNEY, PERMUTATION, SIGN_FLIP, WILCOXON, Plan
from equipoise.audits.evidence._result import EvidenceRecord
from equipoise.audits.evidence._verdict import NAMES
from equipoise.foundation.text import plural

TESTS = {
    PERMUTATION: "Studentised permutation test with Welch's t", SIGN_FLIP: "Sign-flip test of pairs with Student's t",
    MANN_WHITNEY: "Mann-Whitney U", BRUNNER_MUNZEL: "Brunner-Munzel", WILCOXON: "Wilcoxon signed-rank",
}  # fmt: skip
SPREADS = {
    "absolute": "The spread that counts as a cost is that of the values (Levene's test around the median).",
    "relative": "The spread that counts as a cost is relative to the mean (Levene's test on values divided by it).",
}


def notes_of(plan: Plan, records: Sequence[EvidenceRecord]) -> Iterator[str]:
    """Yield how the tests were made."""
    judged = [record for record in records if record.verdict is not None]
    tests = sum(record.p is not None and not math.isnan(record.p) for record in judged)
    name = TESTS[plan.test]
    side = "two-sided" if plan.alternative == "two-sided" else "one-sided in the observed direction"
    number = plural(tests, "test", "tests")
    yield f"{name}, {side}, threshold {plan.threshold:g}, {NAMES[plan.correction]} over {number}."
    if plan.alternative == "observed":
        yield (
            "The direction was chosen from the same runs, so the error rate of one test is "
            f"{100 * plan.error_rate:g}%, not {100 * plan.threshold:g}%: the share of techniques without an effect "
            "that would be called lower or higher."
        )
    if plan.margins:
        yield (
            "Whether a difference is within its margin is tested separately, by two one-sided t-tests, corrected over "
            "all of them. The margin has to be fixed before results are seen."
        )
    yield SPREADS[plan.spread]
    if plan.correction == "none" and tests > 1:
        yield (
            f"Without correction, {tests:,} tests without any effect would give about {plan.threshold * tests:.3g} "
            "significant results."
        )
