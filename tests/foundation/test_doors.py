"""A door lists its names, imports them when they are used, and refuses others."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.foundation import _imports as doors

SOURCE = Path(doors.__file__).parents[1]
ROOMS = sorted(
    ".".join(("equipoise", *path.parent.relative_to(SOURCE).parts))
    for path in SOURCE.rglob("__init__.py")
    if "door(__name__" in path.read_text(encoding="utf-8")
)


def test_these_rooms_have_doors() -> None:
    assert {"equipoise.audits", "equipoise.reports", "equipoise.results", "equipoise.stats"} <= set(ROOMS)


@pytest.mark.parametrize("name", ROOMS)
def test_a_door_lists_what_type_checkers_see_and_says_what_the_room_is_for(name: str) -> None:
    room = importlib.import_module(name)
    tree = ast.parse(inspect.getsource(room))
    checked = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    seen = {
        alias.asname
        for statement in ast.walk(ast.Module([part for block in checked for part in block.body], []))
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.asname == alias.name or alias.name.startswith("_")
    }
    own = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    constants = {target.id for n in tree.body if isinstance(n, ast.Assign) for target in n.targets
                 if isinstance(target, ast.Name)}  # fmt: skip
    assert set(room.__all__) <= seen | own | constants
    assert seen <= set(room.__all__)
    assert inspect.getdoc(room)


@pytest.mark.parametrize("name", ROOMS)
def test_every_name_of_a_door_leads_somewhere(name: str) -> None:
    room = importlib.import_module(name)
    assert len(set(room.__all__)) == len(room.__all__)
    assert sorted(room.__all__) == [one for one in dir(room) if one in room.__all__]
    assert name == "equipoise.measures" or dir(room) == sorted(room.__all__)  # measures offers the registered ones too
    for public in room.__all__:
        assert getattr(room, public) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        room.nonsense  # noqa: B018


def test_nothing_is_imported_before_it_is_used() -> None:
    script = (
        "import sys, equipoise.results as room\n"
        "assert not [name for name in sys.modules if name.startswith(room.__name__ + '._')]"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_example_runs() -> None:
    assert doctest.testmod(doors).failed == 0
