"""A door lists its names, imports them when they are used, and refuses others."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.foundation import _imports as doors

SOURCE = Path(doors.__file__).parents[1]
ROOMS = sorted(
    ".".join(("equipoise", *path.parent.relative_to(SOURCE).parts))
    for path in SOURCE.rglob("__init__.py")
    if "door(__name__" in path.read_text(encoding="utf-8")
)


# Folders of things of one kind, whose files keep plain names; a thing is found by the name of its file.
FOLDERS = (
    "cli/commands", "cohorts/sources", "reports/charts", "reports/narrative", "reports/render", "training/learners",
    "training/metric/losses", "training/metric/miners", "training/metric/samplers", "treatments",
)  # fmt: skip
REPOSITORY = Path(__file__).parents[2]
VERBS = (
    "audit", "audit_embedding", "compare", "discover", "evidence", "fit", "load", "load_model", "ranking", "scorer",
    "cohort", "comparison", "condition", "learner", "measure", "treatment", "Cohort", "Study",
)  # fmt: skip


def imports_of_readers() -> Iterator[tuple[str, str, str]]:
    """Yield (file, module, name) of what pages, notebooks, examples, benchmarks and reproductions import."""
    for folder in ("docs", "examples", "benchmarks", "reproductions"):
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if path.suffix in (".py", ".md", ".ipynb"):
                yield from imports_of(path)
    for path in sorted(REPOSITORY.glob("*.md")):
        yield from imports_of(path)


def imports_of(path: Path) -> Iterator[tuple[str, str, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    elif path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        blocks = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    else:
        blocks = [text]
    for block in blocks:
        lines = [line for line in block.splitlines() if not line.startswith(("%", "!"))]
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "equipoise":
                for alias in node.names:
                    yield str(path.relative_to(REPOSITORY)), str(node.module), alias.name
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name.partition(".")[0] == "equipoise":
                        yield str(path.relative_to(REPOSITORY)), alias.name, ""


def test_a_module_is_private_unless_it_is_a_door_or_in_a_folder_of_things_of_one_kind() -> None:
    public = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if not path.name.startswith("_") and path.parent.relative_to(SOURCE).as_posix() not in FOLDERS
    ]
    assert not public
    assert all((SOURCE / folder / "__init__.py").is_file() for folder in FOLDERS)


def test_every_folder_of_modules_has_a_door_or_holds_things_of_one_kind() -> None:
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")} - {"."}
    rooms = {room.removeprefix("equipoise.").replace(".", "/") for room in ROOMS}
    without = {folder for folder in folders - rooms if not folder.startswith("reproductions/")}
    assert without <= {*FOLDERS, "cli"}  # nothing but the program itself imports the command line


def test_pages_examples_and_benchmarks_import_from_doors_only() -> None:
    found = list(imports_of_readers())
    assert len(found) > 100  # the search finds them
    past = {(file, module) for file, module, _ in found if module != "equipoise" and module not in ROOMS}
    assert not past
    for file, module, name in found:
        if name and module != "equipoise":
            room = importlib.import_module(module)
            assert name in dir(room) or f"{module}.{name}" in ROOMS, (
                f"{file} imports {name}, which {module} does not offer"
            )


def parameters_of(thing: Any) -> Iterator[tuple[str, str]]:
    for name, parameter in inspect.signature(thing).parameters.items():
        yield name, str(parameter.annotation)


@pytest.mark.parametrize("verb", VERBS)
def test_the_arguments_of_what_the_package_offers_have_types(verb: str) -> None:
    thing = getattr(equipoise, verb)
    assert verb in equipoise.__all__
    assert inspect.getdoc(thing)
    for name, annotation in parameters_of(thing):
        # A mapping of metadata may hold anything; a whole argument may not be.
        assert re.sub(r"\w+\[[^\]]*\]", "", annotation).replace(" ", "").split("|").count("object") == 0, name
        assert annotation != str(inspect.Parameter.empty), name


@pytest.mark.parametrize("name", ["equipoise", *ROOMS])
def test_every_public_function_and_class_is_documented(name: str) -> None:
    room = importlib.import_module(name)
    without = [
        public
        for public in room.__all__
        if (inspect.isfunction(thing := getattr(room, public)) or inspect.isclass(thing)) and not inspect.getdoc(thing)
    ]
    assert not without


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
