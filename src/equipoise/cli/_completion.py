"""Values that a shell completes: columns and groups of the file at hand, and registered names.

A completion never fails and never prints: where a file cannot be read, there is nothing to offer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import typer

# The parameters that name the file whose columns are meant: the people of an embedding before its points.
FILES = ("rows", "file", "cohort")
MOST_VALUES = 50

Completion = Callable[[typer.Context, str], Iterable[str]]


def _safely(names: Completion) -> Completion:
    """Offer the names that begin with what was typed; an error on the way offers nothing."""

    @wraps(names)
    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            return [name for name in names(ctx, incomplete) if name.casefold().startswith(incomplete.casefold())]
        except Exception:  # noqa: BLE001 - a shell shows what a completion raises in the middle of a line
            return []

    return complete


@_safely
def columns(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the columns of the file that was given."""
    return list(_table(ctx).columns)


@_safely
def column_and_groups(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer COL=GROUP: first a column, then the groups in it."""
    column, sign, _ = incomplete.partition("=")
    if not sign:
        return [f"{name}=" for name in ctx.params.get("group") or _table(ctx).columns]
    return [f"{column}={value}" for value in _values(ctx, column)]


@_safely
def classes(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the classes of the target that was given, or of the prediction."""
    chosen = ctx.params.get("target") or ctx.params.get("prediction") or ()
    return [value for column in ([chosen] if isinstance(chosen, str) else chosen) for value in _values(ctx, column)]


def registered(*kinds: str) -> Completion:
    """Offer the names and aliases of what is registered."""

    def names(ctx: typer.Context, incomplete: str) -> Iterator[str]:
        from equipoise.foundation.registry import KINDS, registry

        for kind in kinds or KINDS:
            for entry in registry.entries(kind):
                yield entry.name
                yield from [entry.alias] if entry.alias else []

    return _safely(names)


measures = registered("measure")


@_safely
def kinds(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the kinds of things that ``equipoise list`` knows."""
    from equipoise.foundation.registry import KINDS, plural_of

    return map(plural_of, KINDS)


@_safely
def learners(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the classifiers that can be trained on an embedding."""
    from equipoise.audits.downstream import CLASSIFIER_SETTINGS

    return ["all", *CLASSIFIER_SETTINGS]


@_safely
def gates(ctx: typer.Context, incomplete: str) -> Iterable[str]:
    """Offer the beginning of a gate on a measure."""
    return [f"{name} > " for name in measures(ctx, "")]


def choices(names: Iterable[str]) -> Completion:
    """Offer a fixed list."""
    offered = list(names)
    return _safely(lambda ctx, incomplete: offered)


COMPLETIONS: dict[str, Completion] = {
    "columns": columns, "column=groups": column_and_groups, "classes": classes, "measures": measures,
    "learners": learners, "gates": gates,
}  # fmt: skip


def _table(ctx: typer.Context) -> Any:
    from pathlib import Path

    from equipoise.cohorts.readers import open_table
    from equipoise.cohorts.tables import LazyTable

    # An option that waits for its value keeps the rest of the line from being parsed: the file is then among ctx.args.
    named = [ctx.params[name] for name in FILES if ctx.params.get(name)]
    file = next(file for file in (*named, *ctx.args) if Path(file).exists())
    return LazyTable(open_table(file), Path(file).name)


def _values(ctx: typer.Context, column: str) -> list[str]:
    return [str(value) for value in _table(ctx).peek(column) if value is not None][:MOST_VALUES]
