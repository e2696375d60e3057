"""``equipoise list``: everything that has a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from equipoise.cli._options import kinds

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.foundation import Entry
    from equipoise.training import Treatment

EXAMPLES = ("list", "list measures", "list treatments --json", "list treatments --matrix --task multilabel")


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
    task: Annotated[
        str | None, typer.Option("--task", help="With --matrix: what fits for class, regression or multilabel targets.")
    ] = None,
) -> None:  # fmt: skip
    """Count what is registered, or list one kind with papers, aliases and what it needs."""
    from rich.console import Console

    from equipoise.cohorts import Task
    from equipoise.foundation import (
        KINDS,
        BadInput,
        plural_of,
        registry,
        unknown_name,
    )

    plurals = {plural_of(name): name for name in KINDS}
    singular = plurals.get(kind or "", kind)
    if singular is not None and singular not in KINDS:
        raise unknown_name("kind", str(kind), plurals, "equipoise list")
    if task is not None and (not matrix or task not in get_args(Task)):
        raise BadInput(
            f"--task was given as {task!r}" + ("" if matrix else " without --matrix"),
            available=", ".join(get_args(Task)),
            help="equipoise list treatments --matrix --task multilabel",
        )
    if matrix:
        if singular != "treatment":
            raise BadInput(
                f"--matrix was given with {kind or 'no kind'}",
                available="--matrix with treatments, which it compares with learners",
                help="equipoise list treatments --matrix",
            )
        typer.echo(_matrix_document(task)) if json else _show_matrix(Console(), task)
        return
    chosen = {plural: registry_kind for plural, registry_kind in plurals.items() if singular in (None, registry_kind)}
    if json:
        typer.echo(_document(chosen))
        return
    console = Console()
    if singular is None:
        for plural, registry_kind in plurals.items():
            console.print(f"{plural:<16}{len(registry.entries(registry_kind)):>4}", highlight=False)
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


# What a target of each task is called in a narrow column.
TARGETS = {"class": "classes", "regression": "numbers"}
# The mark behind the name of a treatment.
GROUPS_AT_PREDICTION = {"never": "", "some readouts": " (*)", "always": " *"}


def _show_matrix(console: Console, task: str | None) -> None:
    """Print treatments x learners: a dot where they fit, and elsewhere the number of a reason, given below."""
    from rich.table import Table
    from rich.text import Text

    from equipoise.training import (
        all_learners,
        all_treatments,
        compatibility_matrix,
        groups_at_prediction,
    )

    reasons: dict[str, int] = {}
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("treatment", no_wrap=True, overflow="ignore", vertical="bottom")
    table.add_column("target", no_wrap=True)
    for name in all_learners():
        # A name stands in as many lines as it has words: all columns fit into 80 characters.
        table.add_column(name.replace("_", "\n"), justify="center", overflow="fold")
    kinds = all_treatments()
    for treatment, row in compatibility_matrix(task).items():
        cells = [
            "●" if reason is None else f"({reasons.setdefault(str(reason), len(reasons) + 1)})"
            for reason in row.values()
        ]
        mark = GROUPS_AT_PREDICTION[groups_at_prediction(kinds[treatment])]
        table.add_row(*map(Text, (treatment + mark, _target_of(kinds[treatment]), *cells)))
    console.print(table)
    console.print(Text("●    fits"))
    for reason, number in reasons.items():
        line = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        line.add_row(Text(f"({number})".ljust(4)), Text(reason))
        console.print(line)
    console.print(Text("*    needs the group of each row at prediction; (*) in some readouts"))


def _target_of(treatment: type[Treatment]) -> str:
    """Return what the target may be: "any" is classes or numbers. What is for several labels, ``--task`` tells."""
    from equipoise.training import tasks_of

    if treatment.two_classes:
        return "2 classes"
    targets = [target for task, target in TARGETS.items() if task in tasks_of(treatment)]
    return "any" if len(targets) == len(TARGETS) else " or ".join(targets)


def _matrix_document(task: str | None) -> str:
    """Return treatments x learners as JSON, a record for each pair; ``task`` is null where none was named."""
    import json

    from equipoise.training import all_treatments, compatibility_matrix, groups_at_prediction, tasks_of

    kinds = all_treatments()
    records = [
        {
            "treatment": treatment, "learner": learner, "task": task, "compatible": reason is None,
            "reason": None if reason is None else str(reason),
            "missing": [] if reason is None else [need.value for need in reason.missing],
            "tasks": list(tasks_of(kinds[treatment])), "two_classes": kinds[treatment].two_classes,
            "groups_at_prediction": groups_at_prediction(kinds[treatment]),
        }
        for treatment, row in compatibility_matrix(task).items() for learner, reason in row.items()
    ]  # fmt: skip
    return json.dumps({"schema": "equipoise.compatibility/1", "records": records}, ensure_ascii=False, indent=1)


def _document(chosen: dict[str, str]) -> str:
    """Return the list as JSON, by kind."""
    import json

    from equipoise.foundation import registry

    records: list[dict[str, Any]] = [
        {
            "kind": singular, "name": entry.name, "alias": entry.alias, "paper": entry.paper, "summary": entry.summary,
            "extra": entry.extra, "available": entry.available, "module": entry.module,
        }
        for singular in chosen.values() for entry in registry.entries(singular)
    ]  # fmt: skip
    failures = [
        {"plugin": plugin_failure.plugin, "reason": plugin_failure.reason}
        for plugin_failure in registry.plugin_failures
    ]
    counts = {plural: len(registry.entries(kind)) for plural, kind in chosen.items()}
    content = {"schema": "equipoise.list/1", "counts": counts, "records": records, "plugin_failures": failures}
    return json.dumps(content, ensure_ascii=False, indent=1)
