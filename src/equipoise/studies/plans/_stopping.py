"""When a study stops that adds paired seeds until its comparisons are decided: ``seeds = "auto"``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from equipoise.foundation import BadInput, unknown_name
from equipoise.stats import LOOKS, SEEDS_SHARE, check_looks
from equipoise.studies.plans._naming import placed

AUTO = "auto"


class StoppingRule(StrEnum):
    """How a test keeps its level though it is repeated as seeds are added."""

    LOOKS = "looks"
    ANYTIME = "anytime"


@dataclass(frozen=True)
class Stopping:
    """How many paired seeds there are at each look, and the test at them.

    ``looks`` tests at these looks alone, at one nominal level (Pocock 1977, exact for Student's t). ``anytime`` is a
    confidence sequence, valid at every number of seeds; ``seeds_share`` of its level is spent on seeds and the rest on
    test people.
    """

    rule: StoppingRule = StoppingRule.LOOKS
    looks: tuple[int, ...] = LOOKS
    seeds_share: float = SEEDS_SHARE

    @property
    def most(self) -> int:
        """The seeds that there are at most: the budget."""
        return self.looks[-1]

    def described(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        described: dict[str, Any] = {"rule": self.rule.value, "looks": list(self.looks)}
        return described | ({"seeds_share": self.seeds_share} if self.rule is StoppingRule.ANYTIME else {})


def stopping_of(seeds: Any, given: Mapping[str, Any] | None) -> Stopping | None:
    """Return when a study stops; None where its seeds are fixed."""
    if seeds != AUTO:
        if isinstance(seeds, str):
            with placed("seeds"):
                raise BadInput(f"seeds is {seeds!r}", available=f'how many, a list of them, or "{AUTO}"')
        if given:
            with placed("stopping"):
                raise BadInput(
                    "stopping is given, and the seeds are fixed", help=f'write seeds = "{AUTO}", or leave stopping out.'
                )
        return None
    settings = dict(given or {})
    for name in settings:
        if name not in SETTINGS:
            with placed("stopping"):
                raise unknown_name("setting", str(name), SETTINGS, "stopping")
    with placed("stopping", "rule"):
        rule = settings.get("rule", StoppingRule.LOOKS)
        if rule not in tuple(StoppingRule):
            raise unknown_name("rule", str(rule), tuple(StoppingRule), "stopping")
    with placed("stopping", "looks"):
        requested = settings.get("looks", LOOKS)
        if not isinstance(requested, list | tuple):
            raise BadInput(f"looks is {requested!r}", available="numbers of seeds, such as [5, 10, 15, 20]")
        looks = check_looks(requested)
    with placed("stopping", "seeds_share"):
        share = settings.get("seeds_share", SEEDS_SHARE)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise BadInput(f"seeds_share is {share!r}", available="a number between 0 and 1, such as 0.8")
        if "seeds_share" in settings and rule == StoppingRule.LOOKS:
            raise BadInput("seeds_share is given, and the rule is looks", help='it is for rule = "anytime".')
    return Stopping(StoppingRule(rule), looks, float(share))


SETTINGS = ("rule", "looks", "seeds_share")
