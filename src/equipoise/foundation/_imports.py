"""Imports at the time of use: optional libraries, which fail with the line that installs them, and doors of rooms."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from equipoise.foundation._errors import MissingExtra

CONSTRAINTS = "constraints.txt"


def installed(module: str) -> bool:
    """Tell whether a module could be imported, without importing it."""
    return importlib.util.find_spec(module.partition(".")[0]) is not None


def source_tree() -> Path | None:
    """Return the folder of the clone that the package runs from, or None where it was installed by copying."""
    folder = Path(__file__).resolve().parents[3]
    return folder if (folder / "pyproject.toml").is_file() and (folder / "src" / "equipoise").is_dir() else None


def install_line(extra: str = "") -> str:
    """Return the line that installs the package with an extra. It is on no index, so the line needs a clone."""
    of = f"[{extra}]" if extra else ""
    clone = source_tree()
    if clone is None:
        return f"in the folder of a clone: pip install -c {CONSTRAINTS} '.{of}'"
    if clone == Path.cwd().resolve():
        return f"pip install -c {CONSTRAINTS} -e '.{of}'"
    return f"pip install -c {shlex.quote(str(clone / CONSTRAINTS))} -e {shlex.quote(f'{clone}{of}')}"


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module that belongs to an extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise MissingExtra(f"{purpose} needs {module!r}, which is not installed", help=install_line(extra)) from error


Door = tuple[list[str], Callable[[str], object], Callable[[], list[str]]]


def door(room: str, modules: Mapping[str, Sequence[str]], *own_names: str) -> Door:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a room.

    Parameters
    ----------
    room : str
        The package, as its ``__name__``.
    modules : mapping of str to sequence of str
        Its private modules, and the public names in each.
    *own_names : str
        Names that the door itself defines.

    Returns
    -------
    tuple
        What the package assigns: ``__all__, __getattr__, __dir__ = door(__name__, {...})``.

    Examples
    --------
    >>> names, get, _ = door("equipoise.foundation", {"_text": ("plural", "percent")})
    >>> names, get("percent")(0.5)
    (['plural', 'percent'], '50.0%')
    """
    home = {name: module for module, names in modules.items() for name in names}
    public = [*own_names, *home]

    def get(name: str) -> object:
        if name in home:
            return getattr(importlib.import_module(f"{room}.{home[name]}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return public, get, lambda: sorted(public)
