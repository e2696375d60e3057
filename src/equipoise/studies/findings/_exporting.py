"""A study as a tidy table: one row per trial, split and measure, as Parquet or CSV."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    atomic_file,
    csv_cells,
    describe_error,
    full_precision,
    write_error,
)
from equipoise.studies.analysis import Measured, StudyData, batched, label_quantities
from equipoise.studies.findings.spaces import Spaces, spaces_of
from equipoise.studies.plans import Trial, canonical, condition_text

if TYPE_CHECKING:
    from equipoise.studies._study import Study


ENDINGS = (".parquet", ".csv")


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says neither Parquet nor CSV."""
    if path.suffix.casefold() not in ENDINGS:
        raise BadInput(f"{path.name!r} has the ending {path.suffix!r}", available=", ".join(ENDINGS))


def write_table(
    study: Study,
    store: str | os.PathLike[str],
    path: str | os.PathLike[str],
    measures: Sequence[str] | None = None,
    *,
    artefacts: str | os.PathLike[str] | None = None,
) -> int:
    """Write every number of every done trial; return how many rows there are."""
    from equipoise.studies.findings._reading import check_same_plan, data_of
    from equipoise.studies.findings._reporting import measure_study
    from equipoise.studies.storage import open_store

    target = Path(path)
    check_ending(target)
    with open_store(os.fspath(store), create=False, read_only=True, plan=study.plan_key, artefacts=artefacts) as opened:
        keys = check_same_plan(study, opened)
        data = data_of(opened, name=study.name, truth=study.labels, favourable=study.cohort.favourable, keys=keys)
        damaged = sum(failure.damaged for failure in data.failures)
        if damaged:
            warnings.warn(
                f"{damaged:,} trials are damaged in the store and left out; study run trains them again.",
                stacklevel=2,
            )
        measured = measure_study(
            data,
            baseline=study.baseline,
            measures=measures or study.measures or None,
            choose_by=study.choose_by,
            every_setting=study.every_setting,
            performance=study.performance,
            fairness=study.fairness,
        )
        spaces = spaces_of(measured)
    return write_measured(measured, spaces, target)


def write_measured(measured: Measured, spaces: Spaces | None, target: Path) -> int:
    """Write the numbers of every trial, and those of the spaces that trials kept, in long form: a row a number.

    Rows are made a measure at a time and never all at once; the file appears whole.
    """
    parts = parts_of(measured, spaces)
    write = _write_csv if target.suffix.casefold() == ".csv" else _write_parquet
    with atomic_file(target) as temporary:
        return write(_described(measured.data), parts, temporary, target)


@dataclass(frozen=True, eq=False)
class Part:
    """The numbers of one measure: of which trials (by their places), what is said of all of them, and the values.

    ``space`` is what only numbers of embedding spaces have; it is empty where no trial kept its space.
    """

    indices: NDArray[np.int64]
    description: Mapping[str, str | None]
    values: NDArray[np.float64]
    space: Mapping[str, str | None]


# What only numbers of embedding spaces have.
SPACE_COLUMNS = ("kind", "group", "against", "source", "training")


def parts_of(measured: Measured, spaces: Spaces | None) -> Iterator[Part]:
    """Yield the numbers of a study, a measure at a time."""
    all_trials = np.arange(len(measured.data), dtype=np.int64)
    nothing = {} if spaces is None else dict.fromkeys(SPACE_COLUMNS)
    for split, values in measured.values.items():
        for number, quantity in enumerate(measured.quantities):
            labels = {
                "split": split,
                "metric": quantity.alias or quantity.measure,
                "measure": quantity.measure,
                "class": quantity.class_,
                "attribute": " & ".join(quantity.attribute) or None,
            }
            yield Part(all_trials, labels, values[:, number], nothing)
        layout = measured.data.layout
        by_label = label_quantities(layout, measured.attributes) if layout.task == "multilabel" else ()
        own_values = batched(by_label, measured.data.tables[split], layout) if by_label else values
        for number, quantity in enumerate(by_label):
            labels = {
                "split": split, "metric": quantity.alias or quantity.measure, "measure": quantity.measure,
                "class": quantity.class_, "attribute": " & ".join(quantity.attribute) or None,
            }  # fmt: skip
            yield Part(all_trials, labels, own_values[:, number], nothing)
    if spaces is not None:
        places = np.array(spaces.trials, dtype=np.int64)
        for number, space_quantity in enumerate(spaces.quantities):
            labels = {
                "split": "test", "metric": space_quantity.name, "measure": space_quantity.measure, "class": None,
                "attribute": space_quantity.attribute,
            }  # fmt: skip
            space_labels = {name: getattr(space_quantity, name) for name in SPACE_COLUMNS}
            yield Part(places, labels, spaces.values[places, number], space_labels)


def _described(data: StudyData) -> dict[str, NDArray[Any]]:
    """Say of each trial what it was; settings are JSON, for another treatment has others."""
    columns: dict[str, list[Any]] = {}
    for index, trial in enumerate(data.trials):
        for name, value in _columns(trial).items():
            columns.setdefault(name, []).append(value)
        columns.setdefault("environment", []).append(int(data.environment[index]))
        columns.setdefault("seconds", []).append(float(data.seconds[index]))
    return {name: np.array(values, dtype=None if name in NUMBERS else object) for name, values in columns.items()}


NUMBERS = ("size", "seed", "repeat", "environment", "seconds")


def _columns(trial: Trial) -> dict[str, Any]:
    return {
        "key": trial.key,
        "condition": condition_text(trial.condition),
        "condition_settings": canonical(trial.condition.settings),
        "size": trial.size,
        "learner": trial.learner.name,
        "learner_settings": canonical(trial.learner.settings),
        "treatment": trial.treatment,
        "treatment_settings": canonical([named.settings for named in trial.treatments]),
        "seed": trial.seed,
        "repeat": trial.repeat,
        "run": f"seed {trial.seed} repeat {trial.repeat}",
        "rounding": trial.rounding,
        "precision": trial.precision,
        "device": trial.device,
        "selection": trial.selection,
    }


def _write_csv(described: dict[str, NDArray[Any]], parts: Iterator[Part], temporary: Path, target: Path) -> int:
    """Write CSV that no spreadsheet takes for formulas. What is said of a trial is made text once, for all measures."""
    trials = [csv_cells(cells) for cells in zip(*(column.tolist() for column in described.values()), strict=True)]
    rows = 0
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        for part in parts:
            if not rows:
                file.write(csv_cells([*described, *part.description, "value", *part.space]) + "\r\n")
            before, after = csv_cells(part.description.values()), csv_cells(part.space.values())
            ending = f",{after}\r\n" if part.space else "\r\n"
            file.writelines(
                f"{trials[place]},{before},{full_precision(value)}{ending}"
                for place, value in zip(part.indices.tolist(), part.values.tolist(), strict=True)
            )
            rows += len(part.indices)
    return rows


def _write_parquet(described: dict[str, NDArray[Any]], parts: Iterator[Part], temporary: Path, target: Path) -> int:
    """Let DuckDB join trials, measures and numbers while it writes: no row of the table stands in memory."""
    import duckdb

    columns = ", ".join(f"trials.{name}" for name in described)
    try:
        with duckdb.connect(config={"threads": 1}) as connection:  # one, so that rows keep their order
            connection.register("described", described)
            connection.execute("CREATE TABLE trials AS SELECT row_number() OVER () - 1 AS place, * FROM described")
            connection.execute("CREATE TABLE numbers (place BIGINT, number INTEGER, value DOUBLE)")
            written = list(_numbers_into(connection, parts))
            label_columns, space = list(written[0].description), list(written[0].space)
            texts = ", ".join(f'"{name}" VARCHAR' for name in (*label_columns, *space))
            connection.execute(f"CREATE TABLE measures (number INTEGER, {texts})")
            rows = [[number, *part.description.values(), *part.space.values()] for number, part in enumerate(written)]
            marks = ", ".join("?" for _ in rows[0])
            connection.executemany(f"INSERT INTO measures VALUES ({marks})", rows)  # noqa: S608 - question marks alone
            label_columns, space = ([f'measures."{name}"' for name in names] for names in (label_columns, space))
            connection.execute(
                f"COPY (SELECT {', '.join([columns, *label_columns, 'numbers.value', *space])} FROM numbers "  # noqa: S608
                "JOIN trials USING (place) JOIN measures USING (number)) TO ? (FORMAT parquet)",  # names of this file
                [str(temporary)],
            )
            return int(connection.execute("SELECT count(*) FROM numbers").fetchall()[0][0])
    except duckdb.Error as error:
        raise write_error(target, describe_error(error)) from error


def _numbers_into(connection: Any, parts: Iterator[Part]) -> Iterator[Part]:
    """Put the numbers of every measure into a table of DuckDB; yield what is said of them."""
    for number, part in enumerate(parts):
        connection.register("part", {"place": part.indices, "value": np.ascontiguousarray(part.values)})
        connection.execute("INSERT INTO numbers SELECT place, ?, value FROM part", [number])
        connection.unregister("part")
        yield replace(part, indices=part.indices[:0], values=part.values[:0])
