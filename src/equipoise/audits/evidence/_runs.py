"""Reading the results of repeated runs in long form: a row says which technique, which metric, which run, what value.

They come from a path, any data frame, a mapping of arrays, or arrays. What a technique is compared with is one baseline
for all, or named by a column of the file. What cannot be judged is refused here, before anything is computed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._options import TYPED
from equipoise.cohorts import (
    EagerTable,
    LazyTable,
    Table,
    as_table,
    open_table,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    as_column,
    as_floats,
    fingerprint_of,
    fitting,
    is_number,
    listing,
    plural,
    unknown_name,
)
from equipoise.tallies import (
    Coded,
    factorise,
    label_of,
    ordered,
)

# What every row must say, and what it may say.
NAMES = ("technique", "metric", "run")
OPTIONAL = ("baseline", "pair", "by")
# Roles whose column has another name among the arguments.
ARGUMENTS = {"baseline": "baseline_column"}
LARGEST = 1e100
# 0,25 and 1.234,56: how half of the world writes numbers.
COMMA = re.compile(r"\s*[-+]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][-+]?\d+)?\s*")


# The baseline of each technique; a technique that is compared with none has none.
Baselines = dict[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Rows in memory: a code into names for each role, and the value."""

    name: str
    columns: Mapping[str, str]
    labels: Mapping[str, Coded]
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def where(self, selection: NDArray[Any]) -> Runs:
        """Return the rows that are kept; names that no row has any more stay known."""
        labels = {role: Coded(coded.codes[selection], coded.labels) for role, coded in self.labels.items()}
        return replace(self, labels=labels, values=self.values[selection])

    def label(self, role: str, row: int) -> str:
        """Return the name that a row has in a role."""
        coded = self.labels[role]
        return str(coded.labels[coded.codes[row]])

    def names(self, role: str) -> list[str]:
        """Return the names of a role, in the order of the file."""
        return [label for label in self.labels[role].labels if label is not None]

    def cells(self) -> list[tuple[str, str]]:
        """Return the techniques and metrics that occur together."""
        technique, metric = self.labels["technique"], self.labels["metric"]
        width = len(metric.labels)
        pairs = np.unique(technique.codes * width + metric.codes).tolist()
        return [(str(technique.labels[code // width]), str(metric.labels[code % width])) for code in pairs]

    def fingerprint(self) -> str:
        """Hash what the rows say, whatever their order."""
        roles = list(self.labels)
        names = [
            np.array([str(label) for label in self.labels[role].labels])[self.labels[role].codes] for role in roles
        ]
        order = np.lexsort((self.values, *names))
        parts = [
            part.encode("utf-8", "surrogatepass")  # half a character in a name is hashed like any other
            for role, column in zip(roles, names, strict=True)
            for part in (role, *column[order])
        ]
        return fingerprint_of([*parts, np.ascontiguousarray(self.values[order]).tobytes()])


def read_runs(runs: object, *, missing: str | Iterable[str] = (), value: object, **roles: object) -> Runs:
    """Read rows and refuse what cannot be judged. Roles that are None are left out."""
    columns_given = {role: column for role, column in {**roles, "value": value}.items() if column is not None}
    for role in (*NAMES, "value"):
        if role not in columns_given:
            raise BadInput(f"No {role} was given", help=f"name its column with --{role} ({role}=).")
    texts = (missing,) if isinstance(missing, str) else tuple(missing)
    table, columns = _table(runs, columns_given, texts)
    memory = table.in_memory(list(dict.fromkeys(columns.values())))
    if memory.rows == 0:
        raise BadInput(f"{table.name} has no rows", available="at least one row a run")
    read = Runs(
        name=table.name,
        columns=columns,
        labels={role: factorise(memory.column(columns[role])) for role in (*NAMES, *OPTIONAL) if role in columns},
        values=_numbers(memory.column(columns["value"]), columns["value"]),
    )
    _check_names(read)
    _check_finite(read)
    _check_once(read)
    return read


def _table(runs: object, columns_given: Mapping[str, object], missing: Sequence[str]) -> tuple[Table, dict[str, str]]:
    """Return the rows as a table, and the column of each role."""
    if runs is None:
        named = [role for role, column in columns_given.items() if isinstance(column, str)]
        if named:
            raise BadInput(
                "No runs were given"
                if len(named) == len(columns_given)
                else f"No array was given for {listing(named)}",
                available="runs and the names of their columns, or arrays for technique, metric, run and value",
                help="pass the file or frame first, or every one of those as an array.",
            )
        arrays = {role: as_column(column, role) for role, column in columns_given.items()}
        return EagerTable(arrays, "the runs"), {role: role for role in arrays}
    for role, column in columns_given.items():
        if not isinstance(column, str):
            raise BadInput(
                f"{role} is {type(column).__name__} where the name of a column is expected",
                available="column names together with runs, or arrays without",
                help="pass the array as a column of the runs, or leave the runs out and pass arrays only.",
            )
    columns = {role: str(column) for role, column in columns_given.items()}
    if isinstance(runs, (str, os.PathLike)):
        table: Table = LazyTable(open_table(runs, missing=missing), Path(runs).name)
        _check_header(table, columns)
    else:
        table = _framed(runs)
    _check_long(table, columns)
    table.check_columns({column: TYPED[ARGUMENTS.get(role, role)] for role, column in columns.items()})
    return table, columns


def _check_long(table: Table, columns: Mapping[str, str]) -> None:
    """Notice a wide table, which has one row per run and one column per metric: neither metric nor value is there."""
    absent = [role for role in ("metric", "value") if columns[role] not in table.columns]
    identifying = [columns[role] for role in ("technique", "run") if columns[role] in table.columns]
    numbers = [name for name in table.columns if name not in identifying and table.is_number(name)]
    if len(absent) == 2 and identifying and numbers:
        raise BadInput(
            f"{table.name} has no columns {columns['metric']!r} and {columns['value']!r}; it seems to be wide, with "
            f"one column per metric ({listing(numbers, 4)})",
            available="one row per technique, run and metric, with its value",
            help=f"make it long: frame.melt(id_vars={identifying!r}, var_name={columns['metric']!r}, "
            f"value_name={columns['value']!r}).",
        )


def _framed(runs: object) -> Table:
    try:
        return as_table(runs, "the runs")
    except BadInput as error:
        if not error.given.startswith("The data is a "):
            raise
        raise BadInput(
            error.given.replace("The data is a", "The runs are a"),
            available="a path, a data frame (pandas, Polars, PyArrow, DuckDB, Dask, PySpark) or a mapping of arrays",
            help="or leave it out and pass arrays as technique=, metric=, run= and value=.",
        ) from error


def _check_header(table: Table, columns: Mapping[str, str]) -> None:
    """Notice decimal commas that split each value in two: then the header fits no row and is taken for one."""
    if not set(columns.values()) & set(table.columns) and any(re.fullmatch(r"\d+", name) for name in table.columns):
        raise BadInput(
            f"{table.name} has no header that fits its rows: none of {listing(columns.values())} is a column",
            available="a header and rows with the same number of cells, numbers with a decimal point (0.25)",
            help="if its numbers have decimal commas (0,25), save the file again with decimal points.",
        )


def _numbers(column: Any, name: str) -> Floats:
    """Return the values as numbers; a missing one is NaN."""
    items = column if isinstance(column, np.ndarray) else column.to_numpy()
    if items.dtype.kind in "OUST":
        wrong = [item for item in items.tolist() if isinstance(item, str) and not is_number(item)]
        if wrong:
            raise _not_numbers(wrong, name)
    return as_floats(column, f"the values in {name!r}")


def _not_numbers(wrong: Sequence[str], name: str) -> BadInput:
    comma = next((text for text in wrong if COMMA.fullmatch(text)), None)
    if comma is not None:
        return BadInput(
            f"The values in {name!r} are written with a decimal comma, such as {comma!r}",
            available="numbers with a decimal point, such as 0.25",
            help="export the file with decimal points, or convert it: "
            "pandas.read_csv(OLD, sep=None, engine='python', decimal=',').to_csv(NEW, index=False).",
        )
    return BadInput(
        f"{len(wrong):,} of the values in {name!r} are text, such as {wrong[0]!r}",
        available="numbers such as 0.25; an empty cell is a value that is missing",
        help=f"mend the file; if {wrong[0]!r} means missing, say so with --missing {wrong[0]!r} (missing=).",
    )


def _check_names(runs: Runs) -> None:
    """Every row must say what it is about."""
    for role in NAMES:
        coded = runs.labels[role]
        if None in coded.labels:
            number = int((coded.codes == coded.labels.index(None)).sum())
            raise BadInput(
                f"{number:,} of {plural(len(runs), 'row')} {fitting(number, 'has', 'have')} no {role} (the column "
                f"{runs.columns[role]!r})",
                available="a technique, a metric and a run in every row",
                help="fill the column, or drop those rows.",
            )


def _check_finite(runs: Runs) -> None:
    if np.isnan(runs.values).all():
        raise BadInput(f"Every value in {runs.columns['value']!r} is missing", help="name another column.")
    wrong = np.flatnonzero(np.abs(runs.values) > LARGEST)
    if len(wrong):
        raise BadInput(
            f"{plural(len(wrong), 'value is', 'values are')} infinite or too large to compute with: "
            f"{_row(runs, wrong[0])}",
            available="finite numbers",
            help="leave the cell empty where a metric is undefined, or drop those runs.",
        )


def _check_once(runs: Runs) -> None:
    """Refuse a run that is there twice: it would count as two."""
    keys = [runs.labels[role] for role in (*NAMES, "by") if role in runs.labels]
    key = np.zeros(len(runs), dtype=np.int64)
    for coded in keys:
        key = np.unique(key * len(coded.labels) + coded.codes, return_inverse=True)[1].reshape(-1)
    twice = np.flatnonzero(np.bincount(key) > 1)
    if len(twice):
        rows = np.flatnonzero(key == twice[0])
        raise BadInput(
            f"{plural(len(twice), 'run is', 'runs are')} there more than once: {_row(runs, rows[0], value=False)} has "
            f"{len(rows)} rows",
            available="one value for each technique, metric and run" + (" and class" if "by" in runs.labels else ""),
            help="give each run its own name; if another column tells the rows apart (a class, say), "
            "name it with --by (by=); otherwise drop the copies.",
        )


def _row(runs: Runs, row: int, *, value: bool = True) -> str:
    roles = [role for role in (*NAMES, "by") if role in runs.labels]
    parts = [f"{role} {runs.label(role, row)!r}" for role in roles]
    return ", ".join([*parts, f"value {runs.values[row]:g}"] if value else parts)


def baselines_of(runs: Runs, baseline: object) -> Baselines:
    """Return the baseline of each technique, or refuse."""
    techniques = runs.names("technique")
    baseline_name = label_of(baseline)
    if len(techniques) < 2:
        raise BadInput(
            f"There is one technique only: {techniques[0]!r}",
            available="a baseline and at least one technique to compare with it",
            help="add the runs of the baseline (the training without the technique) to the file.",
        )
    if (baseline_name is None) == ("baseline" not in runs.labels):
        problem = (
            "No baseline was given" if baseline_name is None else "A baseline and a column of baselines were both given"
        )
        raise BadInput(
            problem,
            available=listing(techniques),
            help="name one technique with --baseline (baseline=), "
            "or the column that names each technique's own with --baseline-column (baseline_column=).",
        )
    if baseline_name is not None:
        if baseline_name not in techniques:
            raise unknown_name("technique", baseline_name, techniques, f"{runs.name}, to be the baseline")
        baselines: Baselines = {name: None if name == baseline_name else baseline_name for name in techniques}
    else:
        baselines = _named_in_column(runs, techniques)
    _check_metrics(runs, baselines)
    return baselines


def _named_in_column(runs: Runs, techniques: list[str]) -> Baselines:
    technique, baseline = runs.labels["technique"], runs.labels["baseline"]
    named: dict[str, set[str]] = {name: set() for name in techniques}
    for technique_code, other in set(zip(technique.codes.tolist(), baseline.codes.tolist(), strict=True)):
        label = baseline.labels[other]
        if label is not None:
            named[str(technique.labels[technique_code])].add(label)
    for name, others in named.items():
        if len(others) > 1:
            raise BadInput(
                f"The technique {name!r} names {len(others)} baselines: {listing(ordered(others))}",
                available="one baseline a technique",
                help="give the technique one name for each baseline it is compared with.",
            )
        for other in others - named.keys():
            raise unknown_name("technique", other, techniques, f"{runs.name}, though {name!r} names it as its baseline")
    baselines = {name: next(iter(others - {name}), None) for name, others in named.items()}
    used = {other for other in baselines.values() if other is not None}
    if not used:
        raise BadInput(
            f"The column {runs.columns['baseline']!r} names no baseline for any technique",
            help="write the name of its baseline beside each technique.",
        )
    lost = [name for name, other in baselines.items() if other is None and name not in used]
    if lost:
        raise BadInput(
            f"{plural(len(lost), 'technique has', 'techniques have')} no baseline and "
            f"{fitting(len(lost), 'is', 'are')} none: {listing(lost)}",
            help=f"name their baseline in {runs.columns['baseline']!r}, or leave their rows out.",
        )
    return baselines


def _check_metrics(runs: Runs, baselines: Baselines) -> None:
    """A technique can only be compared on metrics that its baseline has too."""
    cells = set(runs.cells())
    for technique, metric in sorted(cells):
        baseline = baselines[technique]
        if baseline is not None and (baseline, metric) not in cells:
            baseline_metrics = listing(other for name, other in sorted(cells) if name == baseline)
            raise BadInput(
                f"The baseline {baseline!r} has no runs on {metric!r}, but {technique!r} has",
                available=f"the metrics of {baseline!r}: {baseline_metrics}",
                help="add the baseline's runs on that metric, or leave the metric out.",
            )


def root_of(technique: str, baselines: Baselines) -> str:
    """Return the baseline at the end of the line: baselines may have baselines."""
    path = [technique]
    while (above := baselines[path[-1]]) is not None:
        if above in path:
            raise BadInput(
                f"The baselines go round in a circle: {' > '.join([*path, above])}",
                help="leave the baseline of one of them empty.",
            )
        path.append(above)
    return path[-1]


def in_order(baselines: Baselines) -> list[str]:
    """Return the techniques family by family, each baseline before those compared with it."""
    depth: dict[str, int] = {}
    roots = {name: root_of(name, baselines) for name in baselines}
    for name in baselines:
        depth[name], above = 0, name
        while (other := baselines[above]) is not None:
            depth[name], above = depth[name] + 1, other
    rank_of = {name: number for number, name in enumerate(ordered(baselines))}
    return sorted(baselines, key=lambda name: (rank_of[roots[name]], depth[name], rank_of[name]))
