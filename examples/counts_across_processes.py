"""Count halves of the bundled census cohort in two processes, add them up, and audit the sum."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import equipoise
from equipoise import Counts

PROCESSES = 2


def count_share(rank: int) -> dict[str, object]:
    """Count every second row and return the counts as plain values."""
    cohort = equipoise.load("adult").where("test")
    mine = slice(rank, None, PROCESSES)
    counts = Counts().update(
        cohort["income"][mine],
        cohort["predicted"][mine],
        sensitive_features={"sex": cohort["sex"][mine], "race": cohort["race"][mine]},
    )
    return counts.to_dict()


def main() -> None:
    total = Counts()
    with ProcessPoolExecutor(PROCESSES) as pool:
        for state in pool.map(count_share, range(PROCESSES)):
            total.merge(Counts.from_dict(state))
    added = equipoise.audit(total, favourable=">50K")
    at_once = equipoise.audit(equipoise.load("adult").where("test"))
    for alias in ("DP", "EOFP", "EOTP", "BA"):
        one, other = (result.value(alias, attribute="sex") for result in (added, at_once))
        print(f"{alias:<5} {one:.4f} counted in {PROCESSES} processes, {other:.4f} at once")
        assert one == other


if __name__ == "__main__":
    main()
