"""Kinds of audits as data: what each is called, what it takes, and where its function is.

A kind is a folder of ``equipoise.audits`` whose door registers an ``AuditKind``. Its function in Python
(``equipoise.<name>``), its command (``equipoise <name> FILE``) with every option, and its place in
``equipoise list audits`` come from that. The function returns a ``Result``; its words are in
``equipoise.reports.narrative``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from equipoise.foundation.options import Option
from equipoise.foundation.registry import Entry, registry

if TYPE_CHECKING:
    from equipoise.results import Result


@dataclass(frozen=True, kw_only=True)
class AuditKind:
    """A kind of audit. ``function`` and ``result`` are named as ``module:name``, and imported when they are used.

    ``data`` is the help of its first argument, a file; ``needed`` are the options that have to be given; ``inputs``
    those that name further files to read; ``converted`` maps an argument to the function that reads what was typed.
    """

    name: str
    summary: str
    function: str
    result: str
    options: tuple[Option, ...]
    data: str = "CSV, Parquet (file, folder or glob) or Arrow."
    examples: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    converted: Mapping[str, str] = field(default_factory=dict)
    doing: str = "Counting"
    paper: str = "field"

    def load(self) -> Callable[..., Result]:
        """Return the function in Python."""
        function: Callable[..., Result] = named_object(self.function)
        return function

    @property
    def result_type(self) -> type[Result]:
        """The class of its results."""
        kind: type[Result] = named_object(self.result)
        return kind


def named_object(name: str) -> Any:
    """Import what ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def register(kind: AuditKind) -> AuditKind:
    """Add a kind of audit to the registry."""
    module = kind.function.partition(":")[0]
    registry.add(Entry("audit", kind.name, kind, kind.summary, kind.paper, module=module))
    return kind
