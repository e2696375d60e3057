"""The tree of what a result holds, each leaf in one line: ``result.help()`` prints it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from equipoise.foundation import plural, printable

if TYPE_CHECKING:
    from equipoise.results._result import Result

# What writes a result or reads it out, in the order in which it is asked for.
REPORTS = ("report", "model_card", "to_frame", "to_dict", "to_json", "to_csv", "to_latex", "check")
Leaf = tuple[str, str]


def help_tree(result: Result, charts: Mapping[str, str]) -> str:
    """Return the tree of a result: its tables, its other records, its plots with their titles, and what writes it."""
    branches = {
        "tables": [*_tables(result)],
        "records": [*_records(result)],
        "plots": [(f".plot.{name}()", title) for name, title in charts.items()],
        "reports": [*_reports(result)],
    }
    lines = [printable(repr(result))]
    shown = {name: leaves for name, leaves in branches.items() if leaves}
    for at, (name, leaves) in enumerate(shown.items(), 1):
        last = at == len(shown)
        lines.append(f"{'└' if last else '├'}── {name}")
        width = max(len(leaf) for leaf, _ in leaves)
        for index, (leaf, says) in enumerate(leaves, 1):
            stem = f"{' ' if last else '│'}   {'└' if index == len(leaves) else '├'}── "
            lines.append(f"{stem}{leaf.ljust(width)}  {printable(says)}".rstrip())
    return "\n".join(lines)


def _first_line(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def _tables(result: Result) -> Iterator[Leaf]:
    """Yield the views of records that print as tables, and how many rows each has."""
    for name, member in inspect.getmembers_static(type(result)):
        reads = member.func if isinstance(member, cached_property) else getattr(member, "fget", None)
        if not name.startswith("_") and str(getattr(reads, "__annotations__", {}).get("return")).startswith("Records["):
            yield f".{name}", f"{_first_line(reads)} ({len(getattr(result, name)):,})"


def _records(result: Result) -> Iterator[Leaf]:
    """Yield the fields that hold records of one kind: how many, and what one is."""
    for field in dataclasses.fields(result):
        held = getattr(result, field.name)
        if isinstance(held, tuple) and held and dataclasses.is_dataclass(held[0]):
            yield f".{field.name}", f"{plural(len(held), 'record')}: {_first_line(type(held[0]))}"


def _reports(result: Result) -> Iterator[Leaf]:
    for name in REPORTS:
        method = getattr(type(result), name, None)
        if method is not None:
            yield f".{name}()", _first_line(method)
