"""Files of Python that a user names as ``file.py:name``: they are run when they are named so, and at no other time."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from equipoise.foundation._errors import (
    BadInput,
    describe_error,
    nearest,
    nearest_file,
    unknown_name,
)

# How the modules that files become are called, before a part of a hash of the path.
PREFIX = "equipoise_user_"


def imported(path: Path) -> ModuleType:
    """Run a file of Python as a module, once in a process."""
    check_file(path)
    name = PREFIX + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise BadInput(
            f"{path.name} could not be run ({describe_error(error)})", available="a Python file that can be imported",
            help=f"run it by itself: python {path}",
        ) from error  # fmt: skip
    return module


def attribute(module: ModuleType, path: Path, name: str) -> Any:
    """Return what a file of Python defines under a name."""
    if not hasattr(module, name):
        public = [name for name in vars(module) if not name.startswith("_")]
        raise unknown_name("name", name, public, path.name)
    return getattr(module, name)


def module_name(module: str) -> str:
    """Return what a module is called in a message: one that is a user's file by the name of the file."""
    file = getattr(sys.modules.get(module), "__file__", None) if module.startswith(PREFIX) else None
    return module if file is None else Path(file).name


@contextmanager
def importable_folder(folder: Path) -> Iterator[None]:
    """Let a file import what lies beside it, as Python does for a script."""
    folder_path = str(folder.resolve())
    sys.path.insert(0, folder_path)
    try:
        yield
    finally:
        if folder_path in sys.path:
            sys.path.remove(folder_path)


def check_file(path: Path) -> None:
    """Refuse a file that does not exist, with the nearest one that does."""
    if path.is_file():
        return
    neighbours = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    guess = nearest_file(path.name, neighbours) if neighbours else nearest(path.name, neighbours)
    raise BadInput(
        f"There is no file {str(path)!r}",
        available="an existing file",
        help=f"did you mean {guess!r}?" if guess else "check the name and the folder.",
    )
