"""The reference: pages made of the registry, the command line, the doors of the package and the JSON schemas."""

from __future__ import annotations

import html
import importlib
import json
import pkgutil
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

import equipoise
from equipoise.cli import app
from equipoise.foundation import Entry, citation, references_of, registry
from equipoise.training import (
    LACKING,
    all_treatments,
    compatibility_matrix,
    groups_at_prediction,
    tasks_of,
)

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
PAPERS = {page.stem for page in (ROOT / "docs" / "papers").glob("*.md")}
PLANS = ("study-plan-1", "audit-config-1")
# Names of tasks, as they are said.
TASKS = {"class": "classes", "regression": "numbers", "multilabel": "several labels"}
# What is looked up besides the API and the command line: page, title, kinds, and where it is explained.
KINDS = (
    ("measures", "Measures", ("measure",), "[Measures](../guide/measures.md) explains when each is undefined"),
    ("comparisons", "Comparisons", ("comparison",), "[Representations](../guide/representations.md) explains them"),
    ("conditions", "Conditions", ("condition",), "[Conditions](../guide/conditions.md) explains them"),
    ("learners", "Learners", ("learner",), "[Learners](../guide/learners.md) explains them"),
    (
        "cohorts",
        "Cohorts",
        ("cohort", "sentence_encoder"),
        "[Cohorts](../guide/cohorts.md) says what each holds, and what is contested",
    ),
    (
        "metric-learning",
        "Losses, miners, samplers",
        ("metric_loss", "miner", "sampler", "metric_preset"),
        "[Metric learning](../guide/metric-learning.md) explains them",
    ),
)
NAMES = {
    "metric_loss": "Losses", "miner": "Miners", "sampler": "Samplers", "metric_preset": "Presets",
    "measure": "Measures", "comparison": "Comparisons",
    "condition": "Conditions", "learner": "Learners", "cohort": "Cohorts",
    "sentence_encoder": "Sentence encoders",
}  # fmt: skip

# What is registered about a thing that a reader chooses by.
DETAILS = ("kind", "better", "needs", "stage", "pointwise", "licence", "bundled")


def navigation() -> list[Any]:
    """Return the entries of the navigation."""
    return [
        "reference/index.md",
        "reference/measures.md",
        "reference/treatments.md",
        *(f"reference/{page}.md" for page, *_ in KINDS[1:]),
        "reference/plans.md",
        "reference/json.md",
        {"Command line": ["reference/cli/index.md", *(f"reference/cli/{name}.md" for name in commands())]},
        {"Python": ["reference/api/index.md", *(f"reference/api/{room}.md" for room in doors())]},
    ]


def pages() -> dict[str, str]:
    """Return every page of the reference, by its path."""
    return {
        "reference/index.md": index(),
        "reference/cli/index.md": commands_page(),
        **{f"reference/cli/{name}.md": command_page(name, command) for name, command in commands().items()},
        "reference/api/index.md": doors_page(),
        **{f"reference/api/{room}.md": door_page(room, names) for room, names in doors().items()},
        "reference/treatments.md": treatments_page(),
        **{f"reference/{page}.md": kinds_page(title, kinds, more) for page, title, kinds, more in KINDS},
        "reference/plans.md": schemas_page(
            "Plans and config files",
            PLANS,
            "[Studies](../guide/studies.md#a-plan) and [audits](../guide/audit.md) explain them",
        ),
        "reference/json.md": schemas_page(
            "JSON",
            sorted(path.stem for path in SCHEMAS.glob("*.json") if path.stem not in PLANS),
            "[The JSON](../guide/json.md) explains it with examples",
        ),
    }


def index() -> str:
    """Return the page that says where to look."""
    counts = [(title, page, sum(len(own(kind)) for kind in kinds)) for page, title, kinds, _ in KINDS]
    counts.append(("Treatments", "treatments", len(own("treatment"))))
    rows = [
        ["[Command line](cli/index.md)", f"{len(commands())} commands with every option"],
        ["[Python](api/index.md)", f"{len(doors())} doors: every public class and function"],
        *([f"[{title}]({page}.md)", f"{number} registered"] for title, page, number in sorted(counts)),
        ["[Plans and config files](plans.md)", "every key of a study's plan and of an audit's config"],
        ["[JSON](json.md)", "every field of every document that is written"],
    ]
    return "\n\n".join([
        "# Reference",
        "Everything here is made from the program itself when the site is built. The "
        "[guide](../guide/which-measure.md) explains; this looks up.",
        table(["where", "what"], rows),
    ])  # fmt: skip


def own(kind: str) -> list[Entry]:
    """Return what the package itself registers of a kind."""
    return [entry for entry in registry.entries(kind) if entry.module.startswith("equipoise.")]


def kinds_page(title: str, kinds: Iterable[str], more: str) -> str:
    """Return the page of one or several kinds of registered things."""
    parts = [f"# {title}", f"Generated from the registry, as `equipoise list` prints it. {more}."]
    for kind in kinds:
        entries = own(kind)
        if len(tuple(kinds)) > 1:
            parts.append(f"## {NAMES[kind]}")
        details = [key for key in DETAILS if any(entry.details.get(key) for entry in entries)]
        rows = [
            [
                f"`{entry.name}`" + (f"<br>{entry.alias}" if entry.alias else ""),
                prose(entry.summary),
                *(shown(entry.details.get(key)) for key in details),
                source(entry),
            ]
            for entry in entries
        ]
        parts.append(listing(["name", "what it is", *details, "from"], rows))
        parts += [settings(entry) for entry in entries if parameters(entry)]
        if kind == "cohort":
            parts += [f"## `{entry.name}`\n\n{prose(datasheet(entry))}" for entry in entries]
    return "\n\n".join(parts)


def datasheet(entry: Entry) -> str:
    """Return a cohort's datasheet: what it holds, and what is contested; what depends on the files is left out."""
    text = (
        importlib.import_module(entry.module)
        .DATASHEET.replace("{rows:,} of ", "Up to ")
        .replace("{there:,}", "737,280")
    )
    return re.sub(r"\{\w+\}", lambda found: "64" if found[0] == "{side}" else "", text)


def treatments_page() -> str:
    """Return the page of treatments: what each does and sets, and which learner it fits."""
    kinds = all_treatments()
    names = [entry.name for entry in own("treatment")]
    targets = [entry.name for entry in own("learner")]
    rows, reasons, found = [], {}, compatibility_matrix()
    for name in names:
        cells = []
        for learner in targets:
            reason = found[name][learner]
            if reason is None:
                cells.append("●")
            else:
                need = reason.missing[0]
                cells.append(f"[{reasons.setdefault(need, len(reasons) + 1)}](#why-not)")
        rows.append([f"`{name}`", *cells])
    said = [
        [
            f"`{entry.name}`" + (f"<br>{entry.alias}" if entry.alias else ""),
            prose(entry.summary),
            str(entry.details.get("stage") or ""),
            "two classes"
            if kinds[entry.name].two_classes
            else ", ".join(TASKS[task] for task in tasks_of(kinds[entry.name])),
            groups_at_prediction(kinds[entry.name]),
            source(entry),
        ]
        for entry in own("treatment")
    ]
    return "\n\n".join([
        "# Treatments",
        "Generated from the registry. [Treatments](../guide/treatments.md) explains each one and how to add one.",
        "## Which fits which learner",
        "● fits; a number says [why not](#why-not).",
        table(["treatment", *(f"`{name}`" for name in targets)], rows),
        "### Why not",
        "\n".join(f"{number}. {LACKING[need]}" for need, number in reasons.items()),
        "## What each does",
        "*Groups* says whether a model so treated needs people's groups when it predicts.",
        listing(["name", "what it does", "acts", "targets", "groups", "from"], said),
        "## Settings",
        "*Searched* is the range that the paper searched, or in which a search looks.",
        *(settings(entry) for entry in own("treatment") if parameters(entry)),
    ])  # fmt: skip


def parameters(entry: Entry) -> Mapping[str, Any]:
    """Return the settings of a registered class."""
    found = getattr(entry.implementation, "parameters", None)
    return found if isinstance(found, Mapping) else {}


def settings(entry: Entry) -> str:
    """Return the settings of one thing, with defaults and what is allowed."""
    rows = []
    for name, parameter in parameters(entry).items():
        if hasattr(parameter, "options"):
            allowed = ", ".join(f"`{option}`" for option in parameter.options)
        else:
            least, most = getattr(parameter, "least", None), getattr(parameter, "most", None)
            allowed = (
                ""
                if least is None
                else f"at least {least:g}" + ("" if most in (None, float("inf")) else f", at most {most:g}")
            )
        default = getattr(parameter, "default", None)
        low, high = getattr(parameter, "low", None), getattr(parameter, "high", None)
        searched = "" if low is None or high is None or low == high else f"{low:g} to {high:g}"
        cells = [f"`{name}`", prose(parameter.meaning), "" if default is None else f"`{default}`", allowed, searched]
        rows.append(cells)
    columns = ["setting", "meaning", "default", "allowed", "searched"]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return f"### `{entry.name}`\n\n" + table(columns, rows)


def source(entry: Entry) -> str:
    """Return the paper of a thing, linked to its page where there is one."""
    names = [reference.short for reference in references_of(entry)]
    if entry.paper in PAPERS:
        return f"[{citation(entry.paper)}](../papers/{entry.paper}.md)"
    return ", ".join(names) or {"field": "common knowledge", "none": ""}.get(entry.paper, entry.paper)


def commands() -> dict[str, Any]:
    """Return the commands of the program, as Click knows them."""
    return dict(program().commands)


def program() -> Any:
    """Return the program."""
    return typer.main.get_command(app)


def commands_page() -> str:
    """Return the list of commands."""
    rows = [[f"[`equipoise {name}`]({name}.md)", prose(command.help or "")] for name, command in commands().items()]
    return "\n\n".join([
        "# Command line",
        "`equipoise COMMAND --help` shows the same in the terminal. Exit code 0 is fine, 1 a broken gate or failed "
        "trials, 2 bad input, 130 Ctrl-C.",
        table(["command", "what it does"], rows),
    ])  # fmt: skip


def command_page(name: str, command: Any) -> str:
    """Return the page of a command, with those below it."""
    below = getattr(command, "commands", {})
    parts = [f"# equipoise {name}", prose(command.help or "")]
    if below:
        parts.append(
            table(
                ["command", "what it does"],
                [
                    [f"[`equipoise {name} {sub}`](#equipoise-{name}-{sub})", prose(part.help or "")]
                    for sub, part in below.items()
                ],
            )
        )
        for sub, part in below.items():
            parts += [f"## equipoise {name} {sub}", prose(part.help or ""), *options(f"{name} {sub}", part, "###")]
    else:
        parts += options(name, command, "##")
    return "\n\n".join(part for part in parts if part)


def options(name: str, command: Any, heading: str) -> list[str]:
    """Return usage, arguments, options by panel, and examples of a command."""
    given = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join(
        ["equipoise", name, "[OPTIONS]", *(p.name.upper() if p.required else f"[{p.name.upper()}]" for p in given)]
    )
    parts = [f"```text\n{usage}\n```"]
    examples = [line.strip() for line in (command.epilog or "").splitlines() if line.strip().startswith("$")]
    if examples:
        parts.append("```console\n" + "\n".join(examples) + "\n```")
    if given:
        parts.append(table(["argument", "what it is"], [[f"`{p.name.upper()}`", prose(p.help or "")] for p in given]))
    panels: dict[str, list[list[str]]] = {}
    for p in command.params:
        if p.param_type_name == "option" and not getattr(p, "hidden", False):
            flags = ", ".join(f"`{flag}`" for flag in [*p.opts, *p.secondary_opts])
            kind = f" `{p.metavar}`" if p.metavar and not p.is_flag else ""
            default = (
                "" if p.default in (None, (), [], False, "") or p.is_flag or callable(p.default) else f"`{p.default}`"
            )
            panels.setdefault(p.rich_help_panel or "Options", []).append([flags + kind, prose(p.help or ""), default])
    for panel, rows in panels.items():
        head = panel if heading == "##" else f"{panel} of {name}"
        parts.append(f"{heading} {head}\n\n" + listing(["option", "what it does", "default"], rows))
    return parts


def doors() -> dict[str, list[str]]:
    """Return the public names of every door, by the room's path below the package."""
    rooms = {"equipoise": list(equipoise.__all__)}
    for module in pkgutil.walk_packages(equipoise.__path__, "equipoise."):
        if module.ispkg and not any(part.startswith("_") for part in module.name.split(".")):
            names = list(getattr(importlib.import_module(module.name), "__all__", ()))
            if names and module.name != "equipoise.cli":
                rooms[module.name] = names
    return rooms


def doors_page() -> str:
    """Return the list of doors."""
    rows = []
    for room, names in doors().items():
        text = (importlib.import_module(room).__doc__ or "").strip().partition("\n\n")[0]
        rows.append([f"[`{room}`]({room}.md)", rst(" ".join(text.split())), str(len(names))])
    return "\n\n".join([
        "# Python",
        "What a room offers is in its door, the `__init__.py`. Import from here and nowhere else: what begins with an "
        "underscore may change without a word.",
        table(["door", "what it is for", "names"], rows),
    ])  # fmt: skip


def door_page(room: str, names: Iterable[str]) -> str:
    """Return the page of a door: its docstring, and every public name."""
    module = importlib.import_module(room)
    parts = [f"# {room}", rst((module.__doc__ or "").strip())]
    for name in sorted(names, key=str.lower):
        thing = getattr(module, name)
        if getattr(thing, "__doc__", None) and (isinstance(thing, type) or callable(thing)):
            parts.append(f"::: {room}.{name}")
    return "\n\n".join(parts)


def schemas_page(title: str, names: Iterable[str], more: str) -> str:
    """Return the page of JSON schemas: every field with its type and what it means."""
    parts = [f"# {title}", f"Generated from the JSON schemas. {more}."]
    for name in names:
        schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        parts += [f"## {name}", f"[{name}.json](../schemas/{name}.json). {prose(schema.get('description', ''))}"]
        parts.append(fields(schema))
        for part, inner in schema.get("$defs", {}).items():
            if inner.get("properties"):
                parts += [f"### {part} of {name}", prose(inner.get("description", "")), fields(inner)]
    return "\n\n".join(part for part in parts if part)


def fields(schema: Mapping[str, Any]) -> str:
    """Return the fields of an object as a table, those of objects inside it with a dotted name."""
    rows: list[list[str]] = []

    def add(inner: Mapping[str, Any], before: str, depth: int) -> None:
        needed = inner.get("required", ())
        for name, field in inner.get("properties", {}).items():
            meaning = prose(field.get("description", ""))
            if "default" in field and field["default"] not in (None, [], {}):
                meaning += f" Default: `{json.dumps(field['default'])}`."
            rows.append([f"`{before}{name}`", kind_of(field), "yes" if name in needed else "", meaning.strip()])
            if depth < 2:
                add(field, f"{before}{name}.", depth + 1)
                add(
                    field.get("items", {}) if isinstance(field.get("items"), dict) else {},
                    f"{before}{name}[].",
                    depth + 1,
                )

    add(schema, "", 0)
    return table(["field", "type", "always there", "what it is"], rows) if rows else ""


def kind_of(field: Mapping[str, Any]) -> str:
    """Return the type of a field in words."""
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    if "$ref" in field:
        return f"a {field['$ref'].rpartition('/')[2]}"
    if "anyOf" in field or "oneOf" in field:
        return " or ".join(dict.fromkeys(kind_of(part) for part in field.get("anyOf") or field["oneOf"]))
    kind = field.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array" and isinstance(field.get("items"), dict) and field["items"]:
        return f"list of {kind_of(field['items'])}"
    return str(kind)


def shown(value: object) -> str:
    """Return a detail of an entry as a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, tuple):
        return " to ".join(f"{bound:g}" if isinstance(bound, float) else str(bound) for bound in value)
    return prose(str(value))


def prose(text: str) -> str:
    """Return text with every sign kept as it is, on one line."""
    text = " ".join(rst(text).split())
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [
        re.sub(r"([\\*_\[\]|<>{}#^~])", r"\\\1", html.unescape(part))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
        .replace("\\^", "^")
        .replace("\\~", "~")
        for part in parts[::2]
    ]
    parts[1::2] = [part.replace("|", "\\|") for part in parts[1::2]]
    return "".join(parts)


def rst(text: str) -> str:
    """Return a docstring's text with code marked as Markdown marks it."""
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("::\n\n    ", "\n\n    ")


def listing(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table whose second column is prose, and wide enough to be read."""
    return f'<div class="listing" markdown>\n\n{table(head, rows)}\n\n</div>'


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cell or " " for cell in line) + " |" for line in lines)
