"""The scripts behind the papers' pages, loaded from their files: docs/papers is no package."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

PAPERS = Path(__file__).parents[2] / "docs" / "papers"


def paper_script(paper: str, name: str) -> ModuleType:
    """Return docs/papers/PAPER/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(f"papers_{paper}_{name}", PAPERS / paper / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
