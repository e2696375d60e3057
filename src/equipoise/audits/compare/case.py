"""One comparison: the points and whose they are, everybody's score, and what that alone can tell."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.audits.compare.most_changed import TIES, Cut, lowest
from equipoise.audits.compare.result import RowRecord, Similarity
from equipoise.audits.compare.rows import CompareRows
from equipoise.audits.compare.scores import Scored
from equipoise.cohorts.array_files import NPY, ending_of
from equipoise.cohorts.embeddings import Embedding, open_embedding
from equipoise.cohorts.pairing import Dropped, align, drop_unusable, listed, read_row_ids
from equipoise.foundation.errors import BadInput
from equipoise.foundation.provenance import fingerprint_of, provenance
from equipoise.stats import Units, profiles_of
from equipoise.tallies.labels import Label, label_of

MOST_ROWS = 1_000
# The part of a column that only names the rows that are listed.
LABEL = "label"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked, checked."""

    share: float
    ties: str
    least: int
    draws: int
    seed: int
    include_missing: bool
    show_rows: bool


def options_of(share: float, ties: str, least: int, draws: int, seed: int, **flags: bool) -> Options:
    """Refuse options that cannot be, before any file is opened."""
    if not isinstance(share, (int, float)) or not 0 < share < 1:
        raise BadInput(f"The share is {share!r}", available="a number between 0 and 1, such as 0.1")
    if ties not in TIES:
        raise BadInput(f"ties is {ties!r}", available=", ".join(TIES))
    for name, number in (("suppress_below", least), ("draws", draws), ("seed", seed)):
        if not isinstance(number, int) or number < 0:
            raise BadInput(f"{name} is {number!r}", available="a whole number of 0 or more")
    if flags["show_rows"] and least > 1:
        raise BadInput(
            f"Rows of single people were asked for, and numbers about fewer than {least:,} people are to be hidden",
            help="leave out --show-rows (show_rows=) or --suppress-below (suppress_below=).",
        )
    return Options(share=share, ties=ties, least=least, draws=draws, seed=seed, **flags)


@dataclass(frozen=True, eq=False)
class Spaces:
    """The points before and after, and of a rerun, all in one order."""

    before: Embedding
    after: Embedding
    rerun: Embedding | None
    dropped: Dropped | None = None


def spaces_of(
    before: object,
    after: object,
    rerun: object,
    key: str | None,
    id: str | None,
    *,
    rows: object = None,
    missing: Sequence[str] = (),
    drop: bool = False,
) -> Spaces:
    """Open the points and bring them into the order of the first; with ``drop``, only rows that all of them have."""
    first = open_embedding(before, key, id=id, name=_called(before, "before"), drop=drop)
    second = open_embedding(after, key, id=id, name=_called(after, "after"), drop=drop)
    by_id = id is not None
    if not drop:
        second = align(first, second, by_id=by_id)
    third = None
    if rerun is not None:
        for role, other in (("AFTER", second), ("BEFORE", first)):
            if other.path is not None and isinstance(rerun, (str, os.PathLike)) and Path(rerun).samefile(other.path):
                raise BadInput(
                    f"The rerun is the file {role} itself",
                    available="what a second, identical run of the same change gave",
                )
        third = open_embedding(rerun, key, id=id, name=_called(rerun, "rerun"), drop=drop)
        if not drop:
            third = align(first, third, by_id=by_id)
    if not drop:
        return Spaces(first, second, third)
    opened = {"before": first, "after": second, **({} if third is None else {"rerun": third})}
    row_ids = None if id is None or rows is None else read_row_ids(rows, id, missing)
    usable, dropped = drop_unusable(opened, by_id=by_id, row_ids=row_ids)
    return Spaces(usable["before"], usable["after"], usable.get("rerun"), dropped)


def have_no_ids(*points: object) -> bool:
    """Tell whether none of these can say which row is whose: arrays in memory, and files of one array."""
    return not any(
        source.ids is not None
        if isinstance(source, Embedding)
        else isinstance(source, (str, os.PathLike)) and ending_of(source) != NPY
        for source in points
        if source is not None
    )


def _called(source: object, role: str) -> str | None:
    """Files are called by their names, arrays by the part they play."""
    return None if isinstance(source, str) or hasattr(source, "__fspath__") else role


def units_of(spaces: Spaces, people: CompareRows) -> Units:
    """Return what tests deal out to: clusters where they were named, otherwise distinct profiles."""
    if people.cluster is not None:
        return Units.of_codes(people.cluster.codes)
    return profiles_of(spaces.before.points, spaces.after.points)


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that is known once everybody has a score."""

    spaces: Spaces
    people: CompareRows
    units: Units
    scores: Scored
    floor: Scored | None
    options: Options

    @property
    def cut(self) -> Cut:
        """Who is among the most changed."""
        return lowest(self.scores.ranked, self.options.share, self.options.ties)


def similarity_of(case: Case, cut: Cut, kernel: str) -> Similarity:
    """Return how alike the spaces are over everyone, and where the most changed were cut off."""
    scores, floor = case.scores, case.floor
    return Similarity(
        measure="pnka",
        kernel=kernel,
        pnka=scores.mean,
        cka=scores.cka,
        rows=len(scores.values),
        undefined=int((~scores.known).sum()),
        units=case.units.number,
        unit="distinct profiles" if case.people.cluster is None else "clusters",
        share=cut.share,
        share_reached=cut.reached if cut.tells_apart else math.nan,
        changed=cut.changed if cut.tells_apart else math.nan,
        cutoff=cut.cutoff if cut.tells_apart else math.nan,
        ties=cut.ties,
        tied=cut.tied,
        overlap=scores.overlap,
        neighbours=scores.neighbours,
        rerun_pnka=None if floor is None else floor.mean,
        rerun_cka=None if floor is None else floor.cka,
        rerun_overlap=None if floor is None else floor.overlap,
    )


def individuals(case: Case, cut: Cut) -> list[RowRecord]:
    """List the most changed, the most changed first."""
    rows = np.flatnonzero(case.scores.known)[cut.weights > 0]
    order = rows[np.argsort(case.scores.values[rows], kind="stable")][:MOST_ROWS]
    before = case.spaces.before
    ids: Sequence[Label] | None = before.ids
    labels = case.people.further.get(LABEL)
    if labels is not None:
        ids = [label_of(value) for value in listed(labels)]
    return [
        RowRecord(
            row=row if before.source_rows is None else int(before.source_rows[row]),
            id=None if ids is None else ids[row],
            score=float(case.scores.values[row]),
            groups=tuple(one.groups[one.codes[row]] for one in case.people.attributes),
        )
        for row in order.tolist()
    ]


def provenance_of(
    case: Case, settings: Mapping[str, Any], direction: object, command: Iterable[str] | None
) -> dict[str, object]:
    """Describe how the result was made."""
    spaces, options = case.spaces, case.options
    prints = [space.fingerprint for space in (spaces.before, spaces.after, spaces.rerun) if space is not None]
    # Half a character in a name is hashed like any other.
    names = ["\0".join(one.groups).encode("utf-8", "surrogatepass") for one in case.people.attributes]
    codes = [one.codes.tobytes() for one in case.people.attributes]
    return provenance(
        fingerprint=fingerprint_of([*(text.encode() for text in prints), *names, *codes]),
        command=command,
        data=f"{spaces.before.name} and {spaces.after.name}",
        rows=len(spaces.before),
        columns=dict(case.people.columns),
        options={
            "before": {"name": spaces.before.name, "key": spaces.before.key, "dimensions": spaces.before.width},
            "after": {"name": spaces.after.name, "key": spaces.after.key, "dimensions": spaces.after.width},
            "rerun": None if spaces.rerun is None else spaces.rerun.name,
            "rows": case.people.name,
            **settings,
            "share": options.share,
            "ties": options.ties,
            "direction": direction if isinstance(direction, str) else None if direction is None else "given",
            "include_missing": options.include_missing,
            "drop": spaces.dropped is not None,
            "dropped": None if spaces.dropped is None else spaces.dropped.as_json(),
            "suppress_below": options.least,
            "draws": options.draws,
        },
    )
