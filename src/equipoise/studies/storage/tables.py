"""The tables of a store. ``docs/store.md`` describes them for people who read them with other tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData, Table

# The layout that this program reads and writes. A change of the tables raises it and adds a step to migrations.py.
VERSION = 2
# From this one on a store can be read as it is: later layouts have more columns, which may be empty.
READABLE = 1


def sql() -> ModuleType:
    """Return SQLAlchemy, or say how to install it."""
    return require("sqlalchemy", extra="train", purpose="The store of a study")


@dataclass(frozen=True, eq=False)
class Tables:
    """One field a table."""

    metadata: MetaData
    meta: Table
    cohorts: Table
    environments: Table
    trials: Table
    details: Table
    places: Table
    readouts: Table
    artefacts: Table


@cache
def tables() -> Tables:
    """Return the tables of the present version."""
    sa = sql()
    metadata = sa.MetaData()
    column, text, whole, number, blob = sa.Column, sa.Text, sa.Integer, sa.Double, sa.LargeBinary

    def of_trial(**how: Any) -> Any:
        return column("trial", whole, sa.ForeignKey("trials.id"), **how)

    meta = sa.Table("meta", metadata, column("name", text, primary_key=True), column("value", text, nullable=False))
    # What the places of a readout mean, and a hash of the truth that predictions were counted against.
    cohorts = sa.Table(
        "cohorts", metadata,
        column("cohort", text, primary_key=True),
        column("digest", text, nullable=False),
        column("names", text, nullable=False),
        column("checksum", text),
    )  # fmt: skip
    environments = sa.Table(
        "environments", metadata,
        column("environment", text, primary_key=True),
        column("described", text, nullable=False),
    )  # fmt: skip
    # Narrow on purpose: this is what leasing and counting walk through. What is long stands in details.
    trials = sa.Table(
        "trials", metadata,
        column("id", whole, primary_key=True),
        column("key", text, nullable=False, unique=True),
        column("state", text, nullable=False),
        column("owner", text),
        column("until", number),
        column("tries", whole, nullable=False),
        column("seconds", number, nullable=False),
        column("ended", number),
        column("environment", text),
    )  # fmt: skip
    sa.Index("trials_by_owner", trials.c.owner)
    details = sa.Table(
        "details", metadata,
        of_trial(primary_key=True, autoincrement=False),
        column("cohort", text, nullable=False),
        column("described", text, nullable=False),
        column("best_epoch", whole, nullable=False),
        column("notes", text, nullable=False),
        column("failure", text),
        column("history", blob),
        # Of what is known of a trial that ended; see damage.py.
        column("checksum", text),
    )  # fmt: skip
    places = sa.Table(
        "places", metadata,
        column("plan", text, primary_key=True),
        of_trial(primary_key=True, autoincrement=False),
        column("stack", whole, nullable=False),
        column("place", whole, nullable=False),
        column("cell", text, nullable=False),
    )  # fmt: skip
    sa.Index("places_by_stack", places.c.plan, places.c.stack, places.c.place)
    # Status counts cell by cell along this one, without looking at the table itself.
    sa.Index("places_by_cell", places.c.plan, places.c.cell, places.c.place, places.c.trial)
    readouts = sa.Table(
        "readouts", metadata,
        of_trial(primary_key=True, autoincrement=False),
        column("split", text, primary_key=True),
        column("kind", text, nullable=False),
        column("shape", text, nullable=False),
        column("counts", blob, nullable=False),
        column("checksum", text),
    )  # fmt: skip
    artefacts = sa.Table(
        "artefacts", metadata,
        of_trial(primary_key=True, autoincrement=False),
        column("name", text, primary_key=True),
        column("size", whole, nullable=False),
        column("file", text),
        column("digest", text),
        column("content", blob),
    )  # fmt: skip
    return Tables(metadata, meta, cohorts, environments, trials, details, places, readouts, artefacts)


def present(connection: Connection, column: Any) -> Any:
    """Return a column to be selected, or NULL where a store of an older layout, opened to be read, lacks it."""
    there = {one["name"] for one in sql().inspect(connection).get_columns(column.table.name)}
    return column if column.name in there else sql().null().label(column.name)


def insert_new(connection: Connection, table: Table) -> Any:
    """Return an INSERT that leaves a row alone that is there already, in the words of the database."""
    dialect = require(f"sqlalchemy.dialects.{connection.dialect.name}", extra="train", purpose="The store of a study")
    return dialect.insert(table).on_conflict_do_nothing()
