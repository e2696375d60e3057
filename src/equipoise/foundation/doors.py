"""The door of a room: its public names, each imported from a private module when it is first used (PEP 562)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence

Door = tuple[list[str], Callable[[str], object], Callable[[], list[str]]]


def door(room: str, modules: Mapping[str, Sequence[str]], *own: str) -> Door:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a room.

    Parameters
    ----------
    room : str
        The package, as its ``__name__``.
    modules : mapping of str to sequence of str
        Its private modules, and the public names in each.
    *own : str
        Names that the door itself defines.

    Returns
    -------
    tuple
        What the package assigns: ``__all__, __getattr__, __dir__ = door(__name__, {...})``.

    Examples
    --------
    >>> names, get, _ = door("equipoise.foundation", {"text": ("plural", "percent")})
    >>> names, get("percent")(0.5)
    (['plural', 'percent'], '50.0%')
    """
    home = {name: module for module, names in modules.items() for name in names}
    public = [*own, *home]

    def get(name: str) -> object:
        if name in home:
            return getattr(importlib.import_module(f"{room}.{home[name]}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return public, get, lambda: sorted(public)
