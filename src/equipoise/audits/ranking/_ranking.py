"""Fairness of a ranking: who is in the top k, and who gets the attention (Singh and Joachims 2018).

Its tally is the exposure and the selection of every row, summed by query and group. A row at rank r has the exposure 1
/ log2(1 + r), and is selected at top k where r <= k. Rows with the same score share their ranks: each has the mean over
all orders of the tie, exactly, not that of one order drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._columns import axes_of, named_labels
from equipoise.audits._contrasts import power_of_means
from equipoise.audits._counting import dropped_rows
from equipoise.audits._engine import GroupStatistic, audit_groups, most_tests, same_tests
from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._reasons import AuditReason
from equipoise.audits._spec import AuditSpec, resolve
from equipoise.audits.ranking import OPTIONS
from equipoise.audits.ranking._result import BEYOND_MERIT, EXPOSURE, SCHEMA, SELECTION, STATISTICS, RankingResult
from equipoise.cohorts import (
    Axis,
    Bins,
    Cohort,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    as_floats,
    document_options,
    fingerprint_of,
    fitting,
    plural,
    provenance,
    stream,
)
from equipoise.results import Record, Status, because
from equipoise.stats import ENOUGH_CLUSTERS, ClusterMeans, GroupMeans, RowMeans
from equipoise.tallies import (
    Cells,
    Coded,
    group_labels,
    group_name,
    is_missing,
    row_group_codes,
)

if TYPE_CHECKING:
    from equipoise.cohorts import Cohort, ColumnLike, ColumnsLike, LabelLike, TableLike

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class TopK:
    """A cut of the ranking: the first ``number`` rows, or a ``share`` of them (rounded up)."""

    number: int | None = None
    share: float | None = None

    @classmethod
    def of(cls, top: object) -> TopK:
        """Read 10, 0.1 or "10%"."""
        value: object = top
        if isinstance(top, str):
            text = top.strip()
            try:
                value = float(text[:-1]) / 100 if text.endswith("%") else int(text) if text.isdigit() else float(text)
            except ValueError:
                value = None
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
            return cls(number=int(value))
        if isinstance(value, (float, np.floating)) and 0 < value < 1:
            return cls(share=float(value))
        if isinstance(value, (float, np.floating)) and value >= 1 and float(value).is_integer():
            return cls(number=int(value))
        raise BadInput(
            f"top is {top!r}", available="a whole number of 1 or more, or a share such as 10%", help="write --top 10."
        )

    @property
    def label(self) -> str:
        """As it is told: top 10, or top 10%."""
        return f"top {self.number}" if self.share is None else f"top {100 * self.share:g}%"

    def size(self, rows: int) -> int:
        """How many rows of a ranking it selects."""
        if self.number is not None:
            return self.number
        assert self.share is not None
        return math.ceil(self.share * rows - 1e-9)


def discounts(rows: int) -> Floats:
    """Return the exposure 1 / log2(1 + rank) of each rank."""
    return np.asarray(1.0 / np.log2(np.arange(2.0, rows + 2.0)), dtype=np.float64)


def ranked_values(scores: Floats, tops: Sequence[TopK]) -> Floats:
    """Return the exposure of every row of one ranking, and its selection at each k: ``[row, 1 + len(tops)]``.

    Both are expectations over the orders of rows with the same score.
    """
    number = len(scores)
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if number else np.zeros(0, int)
    ends = np.append(starts[1:], number)
    total = np.concatenate([[0.0], np.cumsum(discounts(number))])
    columns = [(total[ends] - total[starts]) / np.maximum(ends - starts, 1)]
    columns += [np.clip((top.size(number) - starts) / np.maximum(ends - starts, 1), 0.0, 1.0) for top in tops]
    means = np.empty((number, len(columns)))
    means[order] = np.repeat(np.stack(columns, axis=1), ends - starts, axis=0)
    return means


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows in their rankings: exposure and selections ``[row, 1 + top]``, relevance, and the query of each."""

    values: Floats
    relevance: Floats | None
    query: Codes | None
    queries: int

    @classmethod
    def of(cls, scores: Floats, tops: Sequence[TopK], relevance: Floats | None, query: Codes | None) -> RankedRows:
        """Rank the rows of each query by their scores, the highest first."""
        if query is None:
            return cls(ranked_values(scores, tops), relevance, None, 1)
        number = int(query.max()) + 1 if len(query) else 0
        values = np.empty((len(scores), 1 + len(tops)))
        order = np.argsort(query, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(query, minlength=number))[:-1]):
            values[rows] = ranked_values(scores[rows], tops)
        return cls(values, relevance, query, number)

    def _totals(self, values: Floats) -> Floats:
        """Return the sum of a query's rows, for every row."""
        if self.query is None:
            return np.full(len(values), values.sum())
        sums = np.bincount(self.query, weights=values, minlength=self.queries)
        return np.asarray(sums[self.query], dtype=np.float64)

    @property
    def beyond_merit(self) -> Floats:
        """Exposure less what it would be if it were shared out by relevance; NaN where nothing is relevant."""
        assert self.relevance is not None
        exposure = self.values[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = self._totals(exposure) / self._totals(self.relevance)
            return np.where(np.isfinite(rate), exposure - rate * self.relevance, np.nan)

    def numbers(self) -> Floats:
        """Return what is averaged: selections at each k, exposure, and with relevance exposure beyond merit."""
        parts = [self.values[:, 1:], self.values[:, :1]]
        if self.relevance is not None:
            parts.append(self.beyond_merit[:, None])
        return np.concatenate(parts, axis=1)

    def means(self, codes: Codes, groups: int) -> GroupMeans:
        """Return the tally of an attribute: rows of one ranking, or sums of each query."""
        numbers = self.numbers()
        if self.query is None:
            return RowMeans(numbers, codes, groups)
        cell = self.query * groups + codes
        size = self.queries * groups
        counts = np.bincount(cell, minlength=size).reshape(self.queries, groups).astype(np.float64)
        sums = [np.bincount(cell, weights=column, minlength=size) for column in numbers.T]
        table = np.stack(sums, axis=1).reshape(self.queries, groups, -1)
        return ClusterMeans(np.asarray(table, dtype=np.float64), counts)

    def shares(self, codes: Codes, groups: int, column: Floats | None = None) -> Floats:
        """Return each group's share of rows, or of what a column holds: averaged over queries where it is defined."""
        weights = np.ones(len(codes)) if column is None else column
        query = np.zeros(len(codes), dtype=np.int64) if self.query is None else self.query
        sums = np.bincount(query * groups + codes, weights=weights, minlength=self.queries * groups)
        table = sums.reshape(self.queries, groups)
        total = table.sum(axis=1)
        has_total = total > 0
        if not has_total.any():
            return np.full(groups, np.nan)
        return np.asarray((table[has_total] / total[has_total, None]).mean(axis=0), dtype=np.float64)


# What a ranking calls the roles that columns have in other audits.
CALLED = {"cluster": "query", "target": "relevance"}
# Where nobody says it: the first page of every query, or a tenth of one long ranking.
TOP_OF_QUERIES, TOP_OF_ALL = 10, "10%"


@document_options(OPTIONS)
def ranking(  # noqa: D417 - the other parameters are written from their declarations
    data: TableLike | Cohort | None = None,
    *,
    score: ColumnLike | None = None,
    rank: ColumnLike | None = None,
    query: ColumnLike | None = None,
    relevance: ColumnLike | None = None,
    top: float | str | Sequence[float | str] = (),
    sensitive_features: ColumnsLike | None = None,
    reference: Mapping[str, LabelLike] | None = None,
    bins: Mapping[str, str | Sequence[float] | Bins] | None = None,
    categorical: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    intersections: bool | str = False,
    include_missing: bool = False,
    suppress_below: int = 0,
    least_people: int = 30,
    gap_of_interest: float | None = None,
    equivalence_margin: float | None = None,
    draws: int = 2_000,
    seed: int = 0,
    command: Iterable[str] | None = None,
) -> RankingResult:
    """Audit a ranking: the share of each group in the top k, and its exposure.

    Parameters
    ----------
    data : path, data frame or Cohort, optional
        CSV, Parquet (file, folder or glob) or Arrow, or any data frame narwhals knows; the other arguments then name
        its columns. Without data they are arrays, with one value per row.
    {parameters}

    Returns
    -------
    RankingResult
        Records, findings and provenance. Groups with fewer than ``least_people`` rows are shown and not tested.

    Examples
    --------
    >>> from equipoise.audits.ranking import ranking
    >>> result = ranking(
    ...     score=[0.9, 0.8, 0.7, 0.6], sensitive_features=["a", "a", "b", "b"], top=2, draws=0, least_people=1
    ... )
    >>> [(record.group, record.value) for record in result.rates.find(measure="selection_at_k")]
    [('a', 1.0), ('b', 0.0)]
    """
    if (score is None) == (rank is None):
        raise BadInput(
            "Neither a score nor a rank was given" if score is None else "Both a score and a rank were given",
            help="name one column with --score (score=; higher is better) or --rank (rank=; 1 is best).",
        )
    arguments = {
        "score": score if rank is None else rank, "cluster": query, "target": relevance,
        "sensitive_features": sensitive_features, "reference": reference, "bins": bins, "categorical": categorical,
        "missing": missing, "intersections": intersections, "include_missing": include_missing,
        "suppress_below": suppress_below, "least_people": least_people, "gap_of_interest": gap_of_interest,
        "equivalence_margin": equivalence_margin, "draws": draws, "seed": seed,
    }  # fmt: skip
    source = data
    if isinstance(data, Cohort):
        source = data.columns
        arguments["sensitive_features"] = sensitive_features if sensitive_features is not None else list(data.groups)
    spec = resolve(source, arguments, CALLED if rank is None else {**CALLED, "score": "rank"})
    tops = _tops(top, queries=spec.cluster is not None)
    return _Audit(spec, tops, by_rank=rank is not None).result(command)


def _tops(value: object, *, queries: bool) -> tuple[TopK, ...]:
    several = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if not len(several):
        several = (TOP_OF_QUERIES if queries else TOP_OF_ALL,)
    return tuple(dict.fromkeys(map(TopK.of, several)))


@dataclass(frozen=True)
class _Audit:
    """One audit of a ranking: what was asked, and the steps to its answer."""

    spec: AuditSpec
    tops: tuple[TopK, ...]
    by_rank: bool

    def result(self, command: Iterable[str] | None) -> RankingResult:
        spec = self.spec
        rows = _read(spec, by_rank=self.by_rank)
        ranked = RankedRows.of(rows.scores, self.tops, rows.relevance, rows.query)
        statistics = self._statistics(ranked)
        cells = Cells.from_codes(rows.groups)
        named = {tuple(names): self._groups(cells, names) for names in spec.attributes}
        compared = [group_labels(cells, list(names), include_missing=spec.include_missing) for names in named]
        tests = most_tests(len(statistics), map(len, compared))
        testing = MultipleTesting(
            spec.equivalence_margin, same_hypothesis=same_tests(STATISTICS),
            on_rate_scale=(SELECTION.name, EXPOSURE.name, BEYOND_MERIT.name),
        )  # fmt: skip
        records = [Record(measure="rows", kind="count", value=float(rows.total))]
        records += [dropped_rows(number, rows.total, what) for what, number in rows.dropped.items()]
        for attribute, groups in named.items():
            codes = row_group_codes(rows.groups, list(attribute), groups)
            generator = stream(spec.seed, "ranking", *attribute)
            records += audit_groups(
                ranked.means(codes, len(groups)), statistics, groups, attribute, spec, testing, generator, tests
            )
            records += self._shares(ranked, codes, groups, attribute)
        finished = testing.finish(records)
        return RankingResult(
            schema=SCHEMA,
            records=tuple(finished),
            provenance=self._provenance(rows, command),
            rows=len(rows.scores),
            queries=ranked.queries,
            tops=tuple(top.label for top in self.tops),
            notes=tuple(self._notes(rows, ranked, finished)),
            power=tuple(power_of_means(testing.contrasts, testing.level, spec.gap_of_interest)),
        )

    def _statistics(self, ranked: RankedRows) -> list[GroupStatistic]:
        statistics = [*(replace(SELECTION, label=top.label) for top in self.tops), EXPOSURE]
        return statistics if ranked.relevance is None else [*statistics, BEYOND_MERIT]

    def _groups(self, cells: Cells, attribute: Sequence[str]) -> list[str]:
        return [group_name(labels) for labels in group_labels(cells, list(attribute), include_missing=True)]

    def _shares(
        self, ranked: RankedRows, codes: NDArray[np.int64], groups: Sequence[str], attribute: tuple[str, ...]
    ) -> Iterator[Record]:
        """Yield each group's share of rows, of exposure, and of merit: descriptions, whose tests are those above."""
        number = len(groups)
        shares = {"people_share": ranked.shares(codes, number)}
        shares["exposure_share"] = ranked.shares(codes, number, ranked.values[:, 0])
        if ranked.relevance is not None:
            merit = shares["merit_share"] = ranked.shares(codes, number, ranked.relevance)
            with np.errstate(invalid="ignore", divide="ignore"):
                shares["exposure_per_merit"] = np.where(merit > 0, shares["exposure_share"] / merit, np.nan)
        people = np.bincount(codes, minlength=number)
        hidden = people < self.spec.suppress_below
        for measure, values in shares.items():
            for group, value, small in zip(groups, values.tolist(), hidden.tolist(), strict=True):
                no_merit = AuditReason.NO_MERIT if measure == "exposure_per_merit" else AuditReason.NOTHING_RELEVANT
                yield Record(
                    measure=measure, kind="value", attribute=attribute, group=group,
                    value=float("nan") if small else value,
                    status=Status.TOO_SMALL if small else Status.UNDEFINED if np.isnan(value) else Status.OK,
                    reason=because(AuditReason.SUPPRESSED, least=self.spec.suppress_below) if small
                    else because(no_merit) if np.isnan(value) else None,
                )  # fmt: skip
        if ranked.relevance is not None:
            yield self._merit_ratio(shares["exposure_per_merit"], groups, attribute, people)

    def _merit_ratio(
        self, values: Floats, groups: Sequence[str], attribute: tuple[str, ...], people: NDArray[np.int64]
    ) -> Record:
        """Return the smallest exposure per merit over the largest (disparate treatment ratio)."""
        compared = [
            index for index, group in enumerate(groups)
            if people[index] >= max(self.spec.suppress_below, 1) and not np.isnan(values[index])
            and (self.spec.include_missing or not is_missing(group))
        ]  # fmt: skip
        record = Record(
            measure="exposure_per_merit_ratio", kind="ratio", attribute=attribute, value=float("nan"),
            status=Status.UNDEFINED, reason=because(AuditReason.FEW_GROUPS_WITH_MERIT),
        )  # fmt: skip
        if len(compared) < 2 or not max(values[compared]) > 0:
            return record
        low, high = (compared[int(pick(values[compared]))] for pick in (np.argmin, np.argmax))
        return replace(
            record, value=float(values[low] / values[high]), group=groups[low], against=groups[high],
            status=Status.OK, reason=None,
        )  # fmt: skip

    def _notes(self, rows: _Rows, ranked: RankedRows, records: Iterable[Record]) -> Iterator[str]:
        for what, number in rows.dropped.items():
            dropped = fitting(number, "was dropped: it has", "were dropped: they have")
            yield f"{number:,} of {plural(rows.total, 'row')} {dropped} no {what}."
        if ranked.query is None:
            yield (
                "There is one ranking. Tests permute the groups over its rows: they say whether the order is related "
                "to the group, not what another ranking would show. Name a query column for that."
            )
        else:
            yield (
                f"Numbers are averaged over {plural(ranked.queries, 'query', 'queries')}; intervals and tests take "
                "queries as the sample, and compare groups within each query that has both."
            )
        ties = len(rows.scores) - _distinct(rows)
        if ties:
            yield (
                f"{plural(ties, 'row')} {fitting(ties, 'shares its', 'share their')} score with another of the same "
                "ranking: each has the mean over all orders of the tie."
            )
        if self.spec.suppress_below:
            yield f"Groups with fewer than {self.spec.suppress_below:,} people are hidden."
        number = sum(record.approximate for record in records)
        if number:
            yield (
                f"{number:,} intervals or tests rest on fewer than {ENOUGH_CLUSTERS} queries and are approximate "
                "(`approximate` in the JSON)."
            )

    def _provenance(self, rows: _Rows, command: Iterable[str] | None) -> dict[str, object]:
        spec = self.spec
        return provenance(
            fingerprint=rows.fingerprint,
            command=command,
            data=spec.table.name,
            rows=rows.total,
            columns={
                "rank" if self.by_rank else "score": spec.score, "query": spec.cluster,
                "relevance": spec.target[0] if spec.target else None, "groups": list(spec.groups),
            },
            options={
                "top": [top.label.removeprefix("top ") for top in self.tops], "reference": dict(spec.reference),
                "bins": {name: str(request.edges or f"quantile:{request.quantiles}")
                         for name, request in spec.bins.items()},
                "categorical": list(spec.categorical), "missing": list(spec.missing),
                "intersections": spec.intersections, "include_missing": spec.include_missing,
                "suppress_below": spec.suppress_below, "least_people": spec.least_people,
                "gap_of_interest": spec.gap_of_interest, "equivalence_margin": spec.equivalence_margin,
                "draws": spec.draws, "seed": spec.seed,
            },
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows that have a place in a ranking, and how many have none and why."""

    scores: Floats
    relevance: Floats | None
    query: NDArray[np.int64] | None
    named_queries: Coded | None
    groups: Mapping[str, Coded]
    total: int
    dropped: Mapping[str, int]

    @property
    def fingerprint(self) -> str:
        """A hash of everything that was read, whatever the order of the rows."""
        named = dict(self.groups) if self.named_queries is None else {**self.groups, "query": self.named_queries}
        columns: list[NDArray[Any]] = [self.scores, *([] if self.relevance is None else [self.relevance])]
        parts: list[bytes] = []
        for name, coded in named.items():
            order = sorted(range(len(coded.labels)), key=lambda code: (coded.labels[code] is None, coded.labels[code]))
            rank_of = np.empty(len(order), dtype=np.int64)
            rank_of[order] = np.arange(len(order))
            columns.append(rank_of[coded.codes])
            parts += [name.encode(), repr([coded.labels[code] for code in order]).encode()]
        rows = np.lexsort(columns)
        return fingerprint_of([*parts, *(np.ascontiguousarray(column[rows]).tobytes() for column in columns)])


def _distinct(rows: _Rows) -> int:
    """Return how many scores are the only one of their value in their ranking."""
    query = np.zeros(len(rows.scores)) if rows.query is None else rows.query
    _, counts = np.unique(np.stack([query, rows.scores]), axis=1, return_counts=True)
    return int((counts == 1).sum())


def _read(spec: AuditSpec, *, by_rank: bool) -> _Rows:
    """Read the columns into memory, and leave out rows without a score or a query."""
    assert spec.score is not None
    axes, words = axes_of(spec)
    relevance = spec.target[0] if spec.target else None
    columns = [spec.score, *(name for name in (spec.cluster, relevance) if name is not None)]
    table = spec.table.in_memory(list(dict.fromkeys([*columns, *(axis.column for axis in axes.values())])))
    what = "rank" if by_rank else "score"
    scores = as_floats(table.column(spec.score), f"the {what} column {spec.score!r}")
    if np.isinf(scores).any():
        raise BadInput(f"The {what} column {spec.score!r} has infinite values", available="finite numbers")
    selection = ~np.isnan(scores)
    dropped = {what: int((~selection).sum())}
    query, named_queries = None, None
    if spec.cluster is not None:
        coded = named_labels(table.coded(Axis(spec.cluster)), {}, spec.missing)
        unknown = np.array([label is None for label in coded.labels], dtype=bool)[coded.codes]
        dropped["query"] = int((unknown & selection).sum())
        selection &= ~unknown
        query = np.unique(coded.codes[selection], return_inverse=True)[1].reshape(-1).astype(np.int64)
        named_queries = Coded(coded.codes[selection], coded.labels)
    if not selection.any():
        raise BadInput(f"No row has a {what}" + (" and a query" if spec.cluster else ""), help="check the columns.")
    merit = None if relevance is None else _merit(table.column(relevance), relevance, selection)
    groups = {
        name: Coded(coded.codes[selection], coded.labels)
        for name, coded in (
            (name, named_labels(table.coded(axis), words.get(name, {}), spec.missing)) for name, axis in axes.items()
        )
    }
    signed = -scores[selection] if by_rank else scores[selection]
    lost = {name: number for name, number in dropped.items() if number}
    return _Rows(signed, merit, query, named_queries, groups, len(scores), lost)


def _merit(column: object, name: str, selection: NDArray[np.bool_]) -> Floats:
    values = as_floats(column, f"the relevance column {name!r}")[selection]
    if not np.isfinite(values).all():
        number = int((~np.isfinite(values)).sum())
        raise BadInput(
            f"{plural(number, 'ranked row')} {fitting(number, 'has', 'have')} no relevance",
            available="a number of 0 or more for each row", help="write 0 where a row is not relevant.",
        )  # fmt: skip
    if (values < 0).any():
        raise BadInput(f"The relevance column {name!r} has values below 0", available="numbers of 0 or more")
    return values
