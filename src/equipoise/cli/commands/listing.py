"""``equipoise list``: everything that has a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli._options import kinds

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.foundation.registry import Entry

EXAMPLES = ("list", "list measures", "list treatments --json", "list treatments --matrix")


def list_registered(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]", help="measures, treatments, cohorts, ...: list this kind as a table.", show_default=False,
            autocompletion=kinds,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Of treatments: which learners each one fits, and why not the others.")
    ] = False,
) -> None:  # fmt: skip
    """Count what is registered, or list one kind with papers, aliases and what it needs."""
    from rich.console import Console

    from equipoise.foundation.errors import BadInput, unknown_name
    from equipoise.foundation.registry import KINDS, plural_of, registry

    plurals = {plural_of(name): name for name in KINDS}
    singular = plurals.get(kind or "", kind)
    if singular is not None and singular not in KINDS:
        raise unknown_name("kind", str(kind), plurals, "equipoise list")
    if matrix:
        if singular != "treatment":
            raise BadInput(
                f"--matrix was given with {kind or 'no kind'}",
                available="--matrix with treatments, which it compares with learners",
                help="equipoise list treatments --matrix",
            )
        typer.echo(_matrix_document()) if json else _show_matrix(Console())
        return
    chosen = {plural: one for plural, one in plurals.items() if singular in (None, one)}
    if json:
        typer.echo(_document(chosen))
        return
    console = Console()
    if singular is None:
        for plural, one in plurals.items():
            console.print(f"{plural:<16}{len(registry.entries(one)):>4}", highlight=False)
        console.print("One kind: equipoise list KIND, such as equipoise list measures", highlight=False)
    else:
        _show(plural_of(singular), registry.entries(singular), console)
    for failure in registry.plugin_failures:
        text = f"plug-in {failure.plugin!r} could not be loaded: {failure.reason}"
        console.print(text, style="red", highlight=False, markup=False)


def _show(plural: str, entries: tuple[Entry, ...], console: Console) -> None:
    """Print one kind as a table; what is too long wraps between words, and never within a name."""
    from rich.table import Table
    from rich.text import Text

    console.print(f"[bold]{plural}[/] ({len(entries)})", highlight=False)
    if not entries:
        console.print("  none in this version; a plug-in can add them")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True, overflow="ignore", min_width=max(len(entry.name) for entry in entries))
    table.add_column("alias", no_wrap=True, overflow="ignore", min_width=max(len(e.alias or "") for e in entries))
    table.add_column("paper", no_wrap=True)
    table.add_column("what it is")
    for entry in entries:
        needs = "" if entry.available else f" (needs the extra {entry.extra})"
        table.add_row(*map(Text, (entry.name, entry.alias or "", entry.paper, entry.summary + needs)))
    console.print(table)


def _show_matrix(console: Console) -> None:
    """Print treatments x learners: a dot where they fit, and elsewhere the number of a reason, told below."""
    from rich.table import Table
    from rich.text import Text

    from equipoise.training.compatibility import learners, matrix

    reasons: dict[str, int] = {}
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("treatment", no_wrap=True)
    for name in learners():
        table.add_column(name, justify="center")
    for treatment, row in matrix().items():
        cells = [
            "●" if reason is None else f"({reasons.setdefault(str(reason), len(reasons) + 1)})"
            for reason in row.values()
        ]
        table.add_row(*map(Text, (treatment, *cells)))
    console.print(table)
    console.print(Text("● fits; a number says why not:"))
    for reason, number in reasons.items():
        console.print(Text(f"({number}) {reason}"))


def _matrix_document() -> str:
    """Return treatments x learners as JSON, a record for each pair."""
    import json

    from equipoise.training.compatibility import matrix

    records = [
        {
            "treatment": treatment, "learner": learner, "compatible": reason is None,
            "reason": None if reason is None else str(reason),
            "missing": [] if reason is None else [need.value for need in reason.missing],
        }
        for treatment, row in matrix().items() for learner, reason in row.items()
    ]  # fmt: skip
    return json.dumps({"schema": "equipoise.compatibility/1", "records": records}, ensure_ascii=False, indent=1)


def _document(chosen: dict[str, str]) -> str:
    """Return the list as JSON, by kind."""
    import json

    from equipoise.foundation.registry import registry

    records: list[dict[str, Any]] = [
        {
            "kind": singular, "name": entry.name, "alias": entry.alias, "paper": entry.paper, "summary": entry.summary,
            "extra": entry.extra, "available": entry.available, "module": entry.module,
        }
        for singular in chosen.values() for entry in registry.entries(singular)
    ]  # fmt: skip
    failures = [{"plugin": one.plugin, "reason": one.reason} for one in registry.plugin_failures]
    counts = {plural: len(registry.entries(one)) for plural, one in chosen.items()}
    content = {"schema": "equipoise.list/1", "counts": counts, "records": records, "plugin_failures": failures}
    return json.dumps(content, ensure_ascii=False, indent=1)
