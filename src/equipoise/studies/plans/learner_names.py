"""Learners by the names that tables and charts give them: those of one name by what differs among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from equipoise.studies.trial import Named, canonical


class LearnerTexts:
    """The texts of learners, ``texts[learner]``: the name, and the settings in which those of one name differ.

    Without ``numbers`` by texts and switches only: a learner that was tried with several numbers is one learner with
    several settings, of which one may be chosen.
    """

    def __init__(self, learners: Iterable[Named], *, numbers: bool = True) -> None:
        self._numbers = numbers
        varied: dict[tuple[str, str], set[str]] = {}
        for learner in learners:
            for name, value in learner.settings.items():
                varied.setdefault((learner.name, name), set()).add(canonical(value))
        self._differ = {key for key, values in varied.items() if len(values) > 1}

    def __getitem__(self, learner: Named) -> str:
        if not self._differ:
            return learner.name
        told = [
            self._told(name, value)
            for name, value in learner.settings.items()
            if (learner.name, name) in self._differ and (self._numbers or not _is_number(value))
        ]
        return ", ".join([learner.name, *told])

    def _told(self, name: str, value: Any) -> str:
        return value if isinstance(value, str) else f"{name}={value}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
