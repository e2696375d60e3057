"""What the benchmark says: means with intervals clustered by generator, who leads, and what is above chance.

Triplets of one generator share its latent space, so generators (kind x seed) are drawn anew, with all their triplets.
Methods are compared on the triplets that all of them have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery import leading
from equipoise.foundation import stream
from equipoise.stats import percentiles
from reproductions.sprites.methods import ABLATION, KNOWN, PAPER, TABLE

Row = dict[str, Any]
DRAWS = 10_000
# With fewer clusters than this a bootstrap of clusters says nothing.
LEAST_GENERATORS = 5
# Where gaps of accuracy are cut: below the first a classifier hardly looks at what was planted.
GAPS = (0.02, 0.1)
# How often two halves go together where every sprite is seen as often.
EVEN = 0.5
COLUMNS = ("biased", "target", "difference")
WORDS = {
    "method": "which direction is scored; the names are under methods",
    "triplets": "how many settings (target, biased factor, generator) the row is over",
    "generators": "how many generators (kind x seed) they belong to: these are drawn anew for the interval",
    "mean": "the mean over triplets",
    "deviation": "the standard deviation over triplets, as the paper gives it",
    "low": "lower end of the 95 % interval of the mean, bootstrap over generators; null with fewer than 5 of them",
    "high": "its upper end",
    "biased": "|cos| of the direction to the biased factor's plane: high is good",
    "target": "|cos| of the direction to the target's plane: low is good",
    "difference": "the first less the second, in each triplet",
    "leading_of_paper": "share of triplets in which the method has the largest difference among axis, hessian and ours",
    "leading": "the same among all methods of the table; the random ones enter with their means over draws",
    "above_chance": "ours less random_orthogonal, in each triplet; it works where the interval is above 0",
    "works": "whether the lower end of above_chance is above 0; null without an interval",
    "right_angled": "the difference of what is left of the direction at right angles to target and known factors",
    "right_angled_above_chance": "the same of right_angled, which is at right angles as the random ones are",
    "known": "how many other factors the search stays away from, beside the target",
    "step": "what one more known factor changes of the difference, in the same triplets",
    "chance": "the mean difference of directions at right angles to what the method stays away from",
    "agreement": "how often two halves went together in what the generator was trained on; 0.5 is no skew",
    "less_even": "right_angled less that of the generator of the same kind and seed that saw every sprite as often",
    "gap": "accuracy where halves agree less that where they do not: how far the planted bias went; from, to below",
    "told": "whether the planes of target and biased factor both tell them: an AUC of 0.65, an R2 of 0.1 or more",
    "unfitted": "triplets whose target or biased factor has no plane in the generator: counted, not scored",
    "scope": "the classifiers are the same for all generators: no interval covers other classifiers",
}


def summarised(
    rows: Sequence[Row], gaps: Mapping[tuple[str, str], float], fitted_factors: Mapping[str, Set[str]], seed: int = 0
) -> dict[str, Any]:
    """Return the tables of the benchmark from what the files of triplets say.

    ``gaps`` has, by target and biased factor, how far a classifier's planted bias went; ``fitted_factors`` has, by
    generator, the factors whose planes tell them.
    """
    plain = [row for row in rows if row["skew"] is None]
    fitted = [row for row in plain if not row["unfitted"]]
    kinds = list(dict.fromkeys(row["kind"] for row in plain))
    return {
        "counts": counts(plain),
        "table": table(fitted, TABLE, seed),
        "above_chance": above_chance(fitted, seed),
        "right_angled_above_chance": above_chance(fitted, seed, "right_angled"),
        "by_kind": [{"kind": kind} | _both([row for row in fitted if row["kind"] == kind], seed) for kind in kinds],
        "by_biased": _by(fitted, "biased", seed),
        "by_target": _by(fitted, "target", seed),
        "by_gap": by_gap(fitted, gaps, seed),
        "by_fit": by_fit(fitted, fitted_factors, seed),
        "ablation": table(fitted, ("ours", *ABLATION), seed),
        "known": known(fitted, seed),
        "skew": skewed(rows, seed),
    }


def counts(rows: Sequence[Row]) -> Row:
    """Return how many triplets there are, and how many have no plane, in all and by factor."""
    lost = [row for row in rows if row["unfitted"]]
    return {
        "triplets": len(rows), "unfitted": len(lost), "scored": len(rows) - len(lost),
        "generators": len({row["generator"] for row in rows}),
    }  # fmt: skip


def table(rows: Sequence[Row], methods: Sequence[str], seed: int = 0) -> list[Row]:
    """Return a row for each method that has scores, over the triplets that all of these have."""
    present = [method for method in methods if any(_has(row, method) for row in rows)]
    shared = [row for row in rows if all(_has(row, method) for method in present)]
    if not present or not shared:
        return []
    differences = {method: _values(shared, method, "difference").tolist() for method in present}
    of_paper = [method for method in PAPER if method in present]
    shares = leading(differences)
    paper_shares = leading({method: differences[method] for method in of_paper}) if of_paper else {}
    table_rows = []
    for method in present:
        columns = {name: _mean(_values(shared, method, name), shared, seed) for name in COLUMNS}
        table_rows.append({
            "method": method, "triplets": len(shared), "generators": _generators(shared), **columns,
            "leading": shares[method], "leading_of_paper": paper_shares.get(method),
        })  # fmt: skip
    return table_rows


def above_chance(rows: Sequence[Row], seed: int = 0, method: str = "ours") -> Row:
    """Return a method less what is at right angles by chance, and whether that is above 0."""

    def less(row: Row) -> float:
        difference: float = row["methods"][method]["difference"] - row["methods"]["random_orthogonal"]["difference"]
        return difference

    return _contrast(rows, (method, "random_orthogonal"), less, seed)


def known(rows: Sequence[Row], seed: int = 0) -> list[Row]:
    """Return the recovery by the number of known factors, with the chance that goes with each number.

    A generator in which a factor has no plane has fewer to know, so rows are over different triplets; ``step`` is the
    mean of changes inside the same triplets.
    """
    table_rows = []
    for number, method in enumerate(KNOWN):
        method_rows = [row for row in rows if _has(row, method)]
        if not method_rows:
            continue
        chance = np.array([row["methods"][method]["chance"] for row in method_rows])
        differences = _values(method_rows, method, "difference")
        table_rows.append({
            "known": number, "triplets": len(method_rows), "generators": _generators(method_rows),
            **{name: _mean(_values(method_rows, method, name), method_rows, seed) for name in COLUMNS},
            "chance": float(chance.mean()), "above_chance": _mean(differences - chance, method_rows, seed),
            **_left(method_rows, method, seed),
            "step": _step(rows, number, seed),
        })  # fmt: skip
    return table_rows


def by_gap(rows: Sequence[Row], gaps: Mapping[tuple[str, str], float], seed: int = 0) -> list[Row]:
    """Return the recovery of ours by how far the planted bias went: what a classifier ignores cannot be found."""
    edges = (-np.inf, *GAPS, np.inf)
    table_rows = []
    for low, high in pairwise(edges):
        in_range = [row for row in rows if _has(row, "ours") and low <= gaps[row["target"], row["biased"]] < high]
        if in_range:
            table_rows.append({
                "gap": [None if np.isinf(low) else low, None if np.isinf(high) else high], "triplets": len(in_range),
                "generators": _generators(in_range),
                **{name: _mean(_values(in_range, "ours", name), in_range, seed) for name in COLUMNS},
                "above_chance": above_chance(in_range, seed),
                "right_angled_above_chance": above_chance(in_range, seed, "right_angled"),
            })  # fmt: skip
    return table_rows


def by_fit(rows: Sequence[Row], fitted_factors: Mapping[str, Set[str]], seed: int = 0) -> list[Row]:
    """Return the table of triplets whose two planes tell their factors, and of those that are held against less."""
    table_rows = []
    for both in (True, False):
        of_fit = [row for row in rows if both == ({row["target"], row["biased"]} <= fitted_factors[row["generator"]])]
        if of_fit:
            table_rows.append(
                {"told": both, "triplets": len(of_fit), "generators": _generators(of_fit)} | _both(of_fit, seed)
            )
    return table_rows


def skewed(rows: Sequence[Row], seed: int = 0) -> list[Row]:
    """Return the recovery by how skewed the generator's own training data were.

    Beside them stand the generators of the same kinds that saw every sprite as often (an agreement of 0.5), for the
    same classifiers; ``less_even`` is the change from those, seed by seed.
    """
    settings = {_setting(row) for row in rows if row["skew"] is not None}
    by_agreement: dict[float, list[Row]] = {}
    for row in rows:
        if _setting(row) in settings:
            agreement = EVEN if row["skew"] is None else row["skew"]["agreement"]
            by_agreement.setdefault(agreement, []).append(row)
    even = by_agreement.get(EVEN, [])
    table_rows = []
    for agreement, all_here in sorted(by_agreement.items()):
        of_setting = [row for row in all_here if not row["unfitted"] and _has(row, "ours")]
        columns = (
            {name: _mean(_values(of_setting, "ours", name), of_setting, seed) for name in COLUMNS} if of_setting else {}
        )
        table_rows.append({
            "agreement": agreement, "triplets": len(of_setting),
            "unfitted": sum(bool(row["unfitted"]) for row in all_here),
            "generators": _generators(of_setting), **columns, "above_chance": above_chance(of_setting, seed),
            "right_angled_above_chance": above_chance(of_setting, seed, "right_angled"),
            "less_even": _less_even(of_setting, even, seed) if agreement != EVEN else None,
        })  # fmt: skip
    return table_rows


def _setting(row: Row) -> tuple[str, str, str]:
    return row["kind"], row["target"], row["biased"]


def _less_even(rows: Sequence[Row], even: Sequence[Row], seed: int) -> Row:
    """Return what a skew changes of the part at right angles: each generator less the even one of its seed."""
    at_right_angles = {
        (*_setting(row), row["seed"]): row["methods"]["right_angled"]["difference"]
        for row in even if not row["unfitted"] and _has(row, "right_angled")
    }  # fmt: skip
    matched = [row for row in rows if (*_setting(row), row["seed"]) in at_right_angles]

    def less(row: Row) -> float:
        difference: float = (
            row["methods"]["right_angled"]["difference"] - at_right_angles[(*_setting(row), row["seed"])]
        )
        return difference

    return _contrast(matched, ("right_angled",), less, seed)


def clustered(values: NDArray[np.float64], clusters: Sequence[str], seed: int = 0) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a mean by drawing clusters anew; none with too few of them."""
    names, cluster_index = np.unique(np.asarray(clusters), return_inverse=True)
    if len(names) < LEAST_GENERATORS:
        return None, None
    sums, sizes = np.bincount(cluster_index, values), np.bincount(cluster_index)
    draws = stream(seed, "generators drawn anew").multinomial(len(names), np.full(len(names), 1 / len(names)), DRAWS)
    low, high = percentiles((draws @ sums) / (draws @ sizes))
    return float(low), float(high)


def _both(rows: Sequence[Row], seed: int) -> Row:
    return {
        "table": table(rows, TABLE, seed), "above_chance": above_chance(rows, seed),
        "right_angled_above_chance": above_chance(rows, seed, "right_angled"),
    }  # fmt: skip


def _by(rows: Sequence[Row], column: str, seed: int) -> list[Row]:
    names = list(dict.fromkeys(row[column] for row in rows))
    table_rows = []
    for name in names:
        of_group = [row for row in rows if row[column] == name and _has(row, "ours")]
        if of_group:
            table_rows.append({
                column: name, "triplets": len(of_group),
                "difference": _mean(_values(of_group, "ours", "difference"), of_group, seed),
                "above_chance": above_chance(of_group, seed),
            })  # fmt: skip
    return table_rows


def _left(rows: Sequence[Row], method: str, seed: int) -> Row:
    """Return the recovery of what is left of a search's direction at right angles to what it knew."""
    complete = [row for row in rows if row["methods"][method]["right_angled"] is not None]
    if not complete:
        return {"right_angled": None, "right_angled_above_chance": None}
    differences = np.array([row["methods"][method]["right_angled"]["difference"] for row in complete])
    chance = np.array([row["methods"][method]["chance"] for row in complete])
    return {
        "right_angled": _mean(differences, complete, seed),
        "right_angled_above_chance": _mean(differences - chance, complete, seed)
    }  # fmt: skip


def _step(rows: Sequence[Row], number: int, seed: int) -> Row | None:
    """Return what one more known factor changes in the same triplets."""
    if not number:
        return None
    before, after = KNOWN[number - 1], KNOWN[number]

    def less(row: Row) -> float:
        difference: float = row["methods"][after]["difference"] - row["methods"][before]["difference"]
        return difference

    return _contrast(rows, (before, after), less, seed)


def _contrast(rows: Sequence[Row], methods: Sequence[str], less: Callable[[Row], float], seed: int) -> Row:
    complete = [row for row in rows if all(_has(row, method) for method in methods)]
    if not complete:
        return {"triplets": 0, "generators": 0, "mean": None, "deviation": None, "low": None, "high": None,
                "works": None}  # fmt: skip
    estimate = _mean(np.array([less(row) for row in complete]), complete, seed)
    works = None if estimate["low"] is None else bool(estimate["low"] > 0)
    return {"triplets": len(complete), "generators": _generators(complete), **estimate, "works": works}


def _mean(values: NDArray[np.float64], rows: Sequence[Row], seed: int) -> Row:
    low, high = clustered(values, [row["generator"] for row in rows], seed)
    return {"mean": float(values.mean()), "deviation": float(values.std()), "low": low, "high": high}


def _has(row: Row, method: str) -> bool:
    entry = row["methods"].get(method)
    return entry is not None and entry["difference"] is not None


def _values(rows: Sequence[Row], method: str, column: str) -> NDArray[np.float64]:
    return np.array([row["methods"][method][column] for row in rows], dtype=np.float64)


def _generators(rows: Sequence[Row]) -> int:
    return len({row["generator"] for row in rows})
