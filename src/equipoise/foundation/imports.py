"""Optional libraries are imported when they are used, and fail with the install line."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from equipoise.foundation.errors import MissingExtra


def installed(module: str) -> bool:
    """Tell whether a module could be imported, without importing it."""
    return importlib.util.find_spec(module.partition(".")[0]) is not None


def install_line(extra: str) -> str:
    """Return the line that installs an extra. The package is on no index: it is run in the folder of a clone."""
    return f"in the folder of a clone: pip install -c constraints.txt '.[{extra}]'"


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module that belongs to an extra, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise MissingExtra(f"{purpose} needs {module!r}, which is not installed", help=install_line(extra)) from error
