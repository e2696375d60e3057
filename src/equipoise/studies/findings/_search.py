"""What a study's search tried, chose and found to matter, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# How the weight of a hyper-parameter is told: by an analysis of variance of the better settings against all (Watanabe
# et al. 2023), and by the rank correlation of its values with the distance to the optimum.
ImportanceMethod = Literal["PED-ANOVA"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedRange:
    """A hyper-parameter of an arm that was searched, and where.

    ``start`` is the value of the first setting, ``chosen`` the one of the verdicts. ``importance`` is its share among
    the hyper-parameters of the arm (None where there is one alone, or too few settings), and ``correlation`` Spearman's
    rank correlation of its values with the distance to the optimum on dev rows.
    """

    condition: str
    learner: str
    treatment: str
    selection: str
    name: str
    low: float
    high: float
    scale: str
    integer: bool
    start: float
    chosen: float
    importance: float | None
    correlation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSetting:
    """A setting that was tried, and what dev rows say of it: means over the seeds it was trained with.

    One that is ``pruned`` was not trained with every seed of the search, one that ``failed`` with none.
    """

    condition: str
    learner: str
    treatment: str
    selection: str
    values: dict[str, float]
    generation: int
    seeds: int
    performance: float
    fairness: float
    distance: float
    collapsed: bool
    failed: bool
    pruned: bool
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySearch:
    """The search before the trials of the verdicts: equal budgets for every arm, by seeds that no verdict has.

    ``trials`` is how many settings each arm has, ``generation`` how many of them train at once. Without
    ``per_condition`` settings were searched under the first condition and are used under all.
    """

    trials: int
    generation: int
    seeds: tuple[int, ...]
    per_condition: bool
    sampler: str
    importance_method: ImportanceMethod
    ranges: tuple[SearchedRange, ...]
    settings: tuple[SearchSetting, ...]
