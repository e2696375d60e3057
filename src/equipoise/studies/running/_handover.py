"""What a worker process is handed: files in a folder that only this user may read, JSON and tensors, never a pickle."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Cohort
from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    defer_interrupts,
    write_file,
)
from equipoise.studies.plans import OwnFunction
from equipoise.studies.running._own_function import OwnWork
from equipoise.studies.running._packing import description_of, tensors_of, work_of
from equipoise.studies.running._work import Work
from equipoise.studies.storage import EvaluationLabels, SplitLabels

DESCRIPTION, TENSORS, PROCESS = "work.json", "work.safetensors", "process.json"
# What the names of tensors begin with that belong to the truth, and to the columns of a cohort.
TRUTH, COLUMN = "truth.", "column."
SPLIT_PARTS = ("target", "group", "cell", "cluster")


class NotTransferable(EquipoiseError):
    """Something of the work is only in this process: a function of a notebook, an object without a name."""


@dataclass(frozen=True)
class StoreAccess:
    """The store that all workers open: its path or URL, the plan in it, and the folder for what is too large."""

    location: str
    plan: str
    artefacts: str | os.PathLike[str] | None = None


@dataclass(frozen=True, eq=False)
class WorkerInput:
    """Everything that a worker needs: what to train, what to count it against, where to record it, on how many cores.

    ``parent`` is the process that a worker belongs to: when it is gone, the worker stops.
    """

    work: Work
    labels: EvaluationLabels
    store: StoreAccess
    threads: int
    parent: int


@contextlib.contextmanager
def worker_folder(worker_input: WorkerInput) -> Iterator[Path]:
    """Lend a folder with everything that workers need; it is gone when the work is."""
    folder: Path | None = None
    try:
        with defer_interrupts():
            folder = _private_folder()
        write(folder, worker_input)
        yield folder
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _private_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="equipoise-workers-"))
    except OSError as error:
        raise BadInput(
            f"Workers need a temporary folder, and none can be made in {tempfile.gettempdir()!r} ({error.strerror})",
            help="free some space, or set TMPDIR to another folder.",
        ) from error


def write(folder: Path, worker_input: WorkerInput) -> None:
    """Write what workers need into a folder; what cannot leave this process raises ``NotTransferable``."""
    from safetensors.numpy import save

    work = worker_input.work
    if type(work) not in (Work, OwnWork):
        raise NotTransferable(f"Work of the kind {type(work).__name__} exists only in this process.")
    described, tensors = _truth_parts(worker_input.labels)
    content: dict[str, Any] = {
        "work": description_of(replace(work, learners={}), ""),  # learners may be objects
        "learners": {key: _coded(dict(values)) for key, values in work.learners.items()},
        "checkpoints": work.checkpoints,
        "keep_models": work.keep_models,
        "truth": described,
        "shared": [
            os.fspath(value) if isinstance(value, os.PathLike) else value for value in vars(worker_input.store).values()
        ],
        "threads": worker_input.threads,
        "parent": worker_input.parent,
    }
    tensors |= tensors_of(work)
    if isinstance(work, OwnWork):
        function_parts, columns = _own_parts(work)
        content["own"] = function_parts
        tensors |= columns
    write_file(folder / TENSORS, save(tensors), announced=False)
    write_file(folder / DESCRIPTION, json.dumps(content), announced=False)


def read(folder: Path) -> WorkerInput:
    """Read what ``write`` wrote."""
    from safetensors.numpy import load

    content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    tensors: dict[str, NDArray[Any]] = load((folder / TENSORS).read_bytes())
    work = replace(
        work_of(content["work"], tensors),
        learners={key: _restored(values) for key, values in content["learners"].items()},
        checkpoints=content["checkpoints"],
        keep_models=content["keep_models"],
    )
    if "own" in content:
        work = _own_work(work, content["own"], tensors)
    return WorkerInput(
        work, _truth(content["truth"], tensors), StoreAccess(*content["shared"]), content["threads"], content["parent"]
    )


def _truth_parts(truth: EvaluationLabels) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    said = {field.name: getattr(truth, field.name) for field in fields(EvaluationLabels) if field.name != "splits"}
    arrays = {
        f"{TRUTH}{split}.{part}": np.ascontiguousarray(values)
        for split, rows in truth.splits.items()
        for part in SPLIT_PARTS
        if (values := getattr(rows, part)) is not None
    }
    return {**said, "splits": list(truth.splits)}, arrays


def _truth(content: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> EvaluationLabels:
    splits = {
        split: SplitLabels(**{part: tensors.get(f"{TRUTH}{split}.{part}") for part in SPLIT_PARTS})  # type: ignore[arg-type]
        for split in content["splits"]
    }
    return EvaluationLabels(
        content["cohort"], content["task"], tuple(content["classes"]), tuple(content["attributes"]),
        tuple(map(tuple, content["groups"])), splits, content["pivot"],
    )  # fmt: skip


def _own_parts(work: OwnWork) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return functions by their names, and the cohort that they see: numbers as tensors, texts as JSON."""
    cohort = work.cohort
    assert cohort is not None
    arrays: dict[str, NDArray[Any]] = {}
    texts: dict[str, Any] = {}
    for index, (name, column) in enumerate(cohort.columns.items()):
        if column.dtype.kind in "biuf" and column.dtype.isnative:
            arrays[f"{COLUMN}{index}"] = np.ascontiguousarray(column)
            texts[name] = {"tensor": f"{COLUMN}{index}"}
        else:
            texts[name] = {"dtype": column.dtype.str, "shape": column.shape, "values": _flat(column, name)}
    roles = {field.name: getattr(cohort, field.name) for field in fields(Cohort) if field.name != "columns"}
    return {
        "functions": [
            {
                "function": _coded(function.function),
                "name": function.name,
                "version": function.version,
                "source": function.source,
            }
            for function in work.functions.values()
        ],
        "favourable": work.favourable,
        "scored": work.scored,
        "columns": texts,
        "cohort": _coded(roles),
    }, arrays


def _flat(column: NDArray[Any], name: str) -> list[Any]:
    values: list[Any] = column.reshape(-1).tolist()
    if column.dtype.kind not in "OU" or not {type(value) for value in values} <= {str, int, float, bool, type(None)}:
        raise NotTransferable(f"The column {name!r} holds values that cannot be passed to other processes.")
    return values


def _own_work(work: Work, content: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> OwnWork:
    columns: dict[str, NDArray[Any]] = {}
    for name, column_content in content["columns"].items():
        if "tensor" in column_content:
            columns[name] = tensors[column_content["tensor"]]
            continue
        column = np.empty(len(column_content["values"]), dtype=column_content["dtype"])
        column[:] = column_content["values"]
        columns[name] = column.reshape(column_content["shape"])
    functions = [
        OwnFunction(**{**function_content, "function": _restored(function_content["function"])})
        for function_content in content["functions"]
    ]
    return OwnWork(
        **{field.name: getattr(work, field.name) for field in fields(Work)},
        cohort=Cohort(columns=columns, **_restored(content["cohort"])),
        functions={function.name: function for function in functions},
        favourable=content["favourable"],
        scored=content["scored"],
    )


def _coded(value: Any) -> Any:
    """Write a value as JSON that says of everything but plain values what it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [_coded(element) for element in value]
    if type(value) is tuple:
        return {"tuple": [_coded(element) for element in value]}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufU":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {"table": {name: _coded(element) for name, element in value.items()}}
    if hasattr(value, "__qualname__"):
        return {"named": _name(value)}
    if hasattr(value, "get_params"):  # an estimator of scikit-learn's kind: made again as its clone would be
        return {"made": _name(type(value)), "with": _coded(dict(value.get_params(deep=False)))}
    raise NotTransferable(f"{value!r} exists only in this process.")


def _restored(coded: Any) -> Any:
    """Read back what ``_coded`` wrote."""
    if isinstance(coded, list):
        return [_restored(element) for element in coded]
    if not isinstance(coded, dict):
        return coded
    if "tuple" in coded:
        return tuple(_restored(element) for element in coded["tuple"])
    if "array" in coded:
        return np.array(coded["array"], dtype=coded["dtype"])[()]
    if "table" in coded:
        return {name: _restored(element) for name, element in coded["table"].items()}
    if "named" in coded:
        return _object(coded["named"])
    return _object(coded["made"])(**_restored(coded["with"]))


def _name(thing: Any) -> list[str]:
    """Return module and name of a class or function that another process finds under them."""
    module, name = str(thing.__module__), str(thing.__qualname__)
    main = sys.modules["__main__"]
    there = module != "__main__" or getattr(main, "__spec__", None) or getattr(main, "__file__", None)
    try:
        same = bool(there) and _object([module, name]) is thing
    except (ImportError, AttributeError):
        same = False
    if not same:
        raise NotTransferable(
            f"{module}.{name} exists only in this process: move it to a module that other processes find to use "
            "several workers."
        )
    return [module, name]


def _object(named: list[str]) -> Any:
    module, name = named
    attribute: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        attribute = getattr(attribute, part)
    return attribute
