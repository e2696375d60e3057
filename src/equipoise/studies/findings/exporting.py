"""A study as a tidy table: a row for each trial, split and measure, as Parquet or CSV."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole
from equipoise.foundation.tables import csv_text
from equipoise.studies.findings.data import StudyData
from equipoise.studies.findings.measuring import Measured
from equipoise.studies.findings.spaces.measuring import Spaces, spaces_of
from equipoise.studies.plans.condition_names import condition_text
from equipoise.studies.trial import Trial, canonical

if TYPE_CHECKING:
    from equipoise.studies.study import Study

ENDINGS = (".parquet", ".csv")


def check_ending(path: Path) -> None:
    """Refuse a file whose ending says neither Parquet nor CSV."""
    if path.suffix.casefold() not in ENDINGS:
        raise BadInput(f"{path.name!r} has the ending {path.suffix!r}", allowed=", ".join(ENDINGS))


def write_table(
    study: Study,
    store: str | os.PathLike[str],
    path: str | os.PathLike[str],
    measures: Sequence[str] | None = None,
    *,
    artefacts: str | os.PathLike[str] | None = None,
) -> int:
    """Write every number of every done trial; return how many rows there are."""
    target = Path(path)
    check_ending(target)
    table = table_of(study, store, measures, artefacts=artefacts)
    _write(table, target)
    return len(table["value"])


def table_of(
    study: Study,
    store: str | os.PathLike[str],
    measures: Sequence[str] | None = None,
    *,
    artefacts: str | os.PathLike[str] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the columns of the table, in long form: what evidence and other tools read."""
    from equipoise.studies.findings.reading import check_same_plan, data_of
    from equipoise.studies.findings.reporting import measure_study
    from equipoise.studies.storage.store import open_store

    with open_store(os.fspath(store), create=False, read_only=True, plan=study.plan_key, artefacts=artefacts) as opened:
        check_same_plan(study, opened)
        data = data_of(
            opened,
            name=study.name,
            truth=study.truth,
            favourable=study.cohort.favourable,
            keys=[trial.key for trial in study.trials()],
        )
        measured = measure_study(
            data, baseline=study.baseline, measures=measures or study.measures or None, choose_by=study.choose_by
        )
        spaces = spaces_of(measured)
    return columns_of(measured, spaces)


def columns_of(measured: Measured, spaces: Spaces | None) -> dict[str, NDArray[Any]]:
    """Return the columns of the table: the numbers of every trial, and those of the spaces that trials kept."""
    data = measured.data
    described = _described(data)
    parts = []
    for split, values in measured.values.items():
        for place, quantity in enumerate(measured.quantities):
            said = {
                "split": split,
                "metric": quantity.alias or quantity.measure,
                "measure": quantity.measure,
                "class": quantity.class_,
                "attribute": " & ".join(quantity.attribute) or None,
            }
            same = {name: np.full(len(data), value, dtype=object) for name, value in said.items()}
            parts.append({**described, **same, "value": values[:, place]})
    if spaces is not None:
        parts = [{**part, **_nothing(SPACE_COLUMNS, len(data))} for part in parts] + list(_of_spaces(spaces, described))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


# What only numbers of embedding spaces have.
SPACE_COLUMNS = ("kind", "group", "against", "source", "training")


def _of_spaces(spaces: Spaces, described: dict[str, NDArray[Any]]) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the numbers of the trials that kept their space, a column a trial's number."""
    places = np.array(spaces.places, dtype=np.int64)
    own = {name: column[places] for name, column in described.items()}
    for number, quantity in enumerate(spaces.quantities):
        said = {
            "split": "test", "metric": quantity.name, "measure": quantity.measure, "class": None,
            "attribute": quantity.attribute, **{name: getattr(quantity, name) for name in SPACE_COLUMNS},
        }  # fmt: skip
        same = {name: np.full(len(places), value, dtype=object) for name, value in said.items()}
        yield {**own, **same, "value": spaces.values[places, number]}


def _nothing(names: Sequence[str], rows: int) -> dict[str, NDArray[Any]]:
    return {name: np.full(rows, None, dtype=object) for name in names}


def _described(data: StudyData) -> dict[str, NDArray[Any]]:
    """Say of each trial what it was; settings are JSON, for another treatment has others."""
    columns: dict[str, list[Any]] = {}
    for place, trial in enumerate(data.trials):
        for name, value in _columns(trial).items():
            columns.setdefault(name, []).append(value)
        columns.setdefault("environment", []).append(int(data.environment[place]))
        columns.setdefault("seconds", []).append(float(data.seconds[place]))
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


def _write(table: dict[str, NDArray[Any]], target: Path) -> None:
    """Write CSV that no spreadsheet takes for formulas, or let DuckDB write Parquet; the file appears whole."""
    if target.suffix.casefold() == ".csv":
        write_whole(target, csv_text(list(table), zip(*(column.tolist() for column in table.values()), strict=True)))
        return
    import duckdb

    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        part = Path(folder) / target.name
        with duckdb.connect() as connection:
            connection.register("exported", table)
            connection.sql("SELECT * FROM exported").write_parquet(str(part))
        os.replace(part, target)
