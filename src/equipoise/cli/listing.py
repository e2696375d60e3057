"""``equipoise list``: everything that has a name."""

from __future__ import annotations

from typing import Annotated

import typer


def list_registered(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="measures, comparisons, treatments, conditions, learners, cohorts, metric_losses, miners, samplers or "
            "metric_presets.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List what is registered, with the paper it comes from and what it needs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from equipoise.foundation.errors import unknown_name
    from equipoise.foundation.registry import KINDS, plural_of, registry

    plurals = {plural_of(name): name for name in KINDS}
    if kind is not None and kind not in plurals and kind not in KINDS:
        raise unknown_name("kind", kind, plurals, "equipoise list")
    console = Console()
    for plural, singular in plurals.items():
        if kind is not None and kind not in (plural, singular):
            continue
        entries = registry.entries(singular)
        console.print(f"[bold]{plural}[/] ({len(entries)})")
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(entries))
        for heading in ("name", "alias", "paper", "what it is"):
            table.add_column(heading, overflow="fold")
        for entry in entries:
            needs = "" if entry.available else f" (needs: equipoise[{entry.extra}])"
            cells = (entry.name, entry.alias or "", entry.paper, entry.summary + needs)
            table.add_row(*(Text(cell) for cell in cells))
        console.print(table if entries else "  none in this version; a plug-in can add them")
    for failure in registry.plugin_failures:
        console.print(Text(f"plug-in {failure.plugin!r} could not be loaded: {failure.reason}", style="red"))
