"""Opening files: CSV, Parquet (a file, a folder of shards, a glob) and Arrow, larger than memory too.

DuckDB only opens the file and runs the group-by; what is counted is written elsewhere, once for every engine.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
import uuid
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput, nearest_file
from equipoise.foundation.imports import require
from equipoise.tallies.lazy import unreadable

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
# Files of arrays: array_files opens them.
ARRAYS = (".npy", ".npz", ".safetensors")

# Up to this size a CSV is read in full to tell the types of its columns.
SMALL_CSV = 64 * 1024 * 1024
# Whole numbers from here on are no longer told apart by a float64.
EXACT = 2**53
FIRST_ROWS = 1_000
MEMORY_LIMIT = "400MB"


def open_table(path: str | os.PathLike[str], *, missing: Sequence[str] = ()) -> nw.LazyFrame[Any]:
    """Open a file, a folder or a glob as a lazy frame. Text values listed in ``missing`` are read as missing."""
    import narwhals as nw

    given = os.fspath(path)
    files = _files(given)
    ending = _ending(files[0])
    if ending in ARROW:
        return _open_arrow(files)
    connection = _connection()
    import duckdb

    try:
        relation = (
            connection.read_parquet([_literal(file) for file in files], union_by_name=True)
            if ending in PARQUET
            else _read_csv(connection, files, missing)
        )
    except duckdb.Error as error:
        problem = unreadable(error)
        raise BadInput(f"{given!r}: {problem.given}", allowed=problem.allowed, way_out=problem.way_out) from error
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


def _files(given: str) -> list[str]:
    """Return the files that a path means: itself, the shards below it, or what the pattern matches."""
    if re.match(r"^[a-z][a-z0-9+]*://", given):
        raise BadInput(
            f"{given!r} is an address, not a file", allowed="files on this machine", way_out="download it first."
        )
    path = Path(given)
    if path.is_dir():
        files = sorted(str(file) for file in path.rglob("*") if _ending(str(file)) and file.is_file())
        if not files:
            raise BadInput(f"The folder {given!r} has no data files", allowed=", ".join(PARQUET + CSV + ARROW))
    elif path.exists():
        files = [given]
    else:
        files = sorted(file for file in glob.glob(given, recursive=True) if os.path.isfile(file))
    if not files:
        raise _not_found(path)
    endings = {_format(file) for file in files}
    if len(endings) > 1:
        raise BadInput(f"{given!r} mixes files of different formats", way_out="keep one format in the folder.")
    if not next(iter(endings)):
        raise _no_table(given)
    for file in files:
        if os.path.getsize(file) == 0:
            raise BadInput(f"The file {file!r} is empty", allowed="a header and at least one row")
        if not os.access(file, os.R_OK):
            raise BadInput(f"The file {file!r} may not be read by this user", way_out="ask for permission to read it.")
    return files


def _no_table(given: str) -> BadInput:
    allowed = ", ".join(PARQUET + CSV + ARROW)
    if Path(given).suffix.lower() not in ARRAYS:
        return BadInput(f"{given!r} has no ending that says what it is", allowed=allowed)
    return BadInput(
        f"{given!r} holds arrays, not a table of rows",
        allowed=allowed,
        way_out="to audit points, name their array and whose they are: --embedding KEY --rows FILE (audit_embedding); "
        "a .npy file has one array, for which any KEY will do.",
    )


def _not_found(path: Path) -> BadInput:
    folder = path.parent
    if not folder.is_dir():
        return BadInput(f"There is no file {str(path)!r}: its folder does not exist", way_out="check the path.")
    guess = nearest_file(path.name, [name for name in os.listdir(folder) if _ending(name)])
    way_out = f"did you mean {str(folder / guess)!r}?" if guess else "check the path."
    return BadInput(f"There is no file {str(path)!r}", way_out=way_out)


def _ending(file: str) -> str:
    name = file.lower()
    return next((ending for ending in (*CSV, *PARQUET, *ARROW) if name.endswith(ending)), "")


def _format(file: str) -> str:
    ending = _ending(file)
    return next((kind[0] for kind in (CSV, PARQUET, ARROW) if ending in kind), "")


# Engines that are open, so that a watcher can ask how far they are.
_engines: weakref.WeakSet[Any] = weakref.WeakSet()


def engine_progress() -> float:
    """Return how far the running query is, in per cent."""
    import duckdb

    # An engine that is between two queries says -1.
    return max(0.0, *(duckdb.query_progress(connection=engine) for engine in list(_engines)), 0.0)


def _connection() -> duckdb.DuckDBPyConnection:
    """Open an engine that fetches nothing by itself and spills to disk before it fills the memory."""
    import duckdb

    engine = duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": MEMORY_LIMIT,
            # A name nobody else can have made beforehand; DuckDB makes the folder when it needs it, and removes it.
            "temp_directory": os.path.join(tempfile.gettempdir(), f"equipoise-spill-{uuid.uuid4().hex}"),
            "python_enable_replacements": False,
        }
    )
    # Keep count of how far a query is, but never print: standard output is ours.
    engine.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    _engines.add(engine)
    return engine


def _literal(file: str) -> str:
    """Write a file name so that DuckDB does not take its brackets and stars for a pattern."""
    return re.sub(r"([\[*?])", r"[\1]", file)


def _read_csv(connection: Any, files: list[str], missing: Sequence[str]) -> Any:
    whole = sum(os.path.getsize(file) for file in files) <= SMALL_CSV
    options: dict[str, Any] = {"na_values": ["", *missing]} if missing else {}
    # A CSV has numbers and text. Guessing more would turn a column of T and F, or F alone, into true and false.
    options["auto_type_candidates"] = ["BIGINT", "DOUBLE", "VARCHAR"]
    options |= {"header": True, "sample_size": -1 if whole else 1_000_000}
    names = [_literal(file) for file in files]
    relation = connection.read_csv(names, **options)
    long = dict.fromkeys(_beyond_doubles(relation), "VARCHAR")
    codes = _only_digits(connection.read_csv(names, **options, dtype=long), [*long]) if long else []
    return connection.read_csv(names, **options, dtype=dict.fromkeys(codes, "VARCHAR")) if codes else relation


def _beyond_doubles(relation: Any) -> list[str]:
    """Return the columns of fractions that have none, but whole numbers so long that several become one as a fraction.

    The engine has no other place for whole numbers of more than 18 digits, and they are codes, not amounts.
    """
    columns = [name for name, kind in zip(relation.columns, relation.types, strict=True) if str(kind) == "DOUBLE"]
    for part in (relation.limit(FIRST_ROWS), relation):  # nearly every such column shows a fraction at once
        if columns:
            found = part.aggregate(", ".join(f"bool_or({_quoted(name)} != trunc({_quoted(name)}))" for name in columns))
            columns = [name for name, broken in zip(columns, found.fetchone(), strict=True) if not broken]
    if not columns:
        return []
    largest = relation.aggregate(", ".join(f"max(abs({_quoted(name)}))" for name in columns)).fetchone()
    return [name for name, size in zip(columns, largest, strict=True) if size is not None and size >= EXACT]


def _only_digits(relation: Any, columns: Sequence[str]) -> list[str]:
    """Return the columns of text that are whole numbers throughout: 1e300 is a number, no code."""
    digits = (f"bool_and(regexp_full_match({_quoted(name)}, '\\s*[-+]?[0-9]+\\s*'))" for name in columns)
    found = relation.aggregate(", ".join(digits)).fetchone()
    return [name for name, whole in zip(columns, found, strict=True) if whole]


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _open_arrow(files: list[str]) -> nw.LazyFrame[Any]:
    """Open Arrow files by memory map; DuckDB does not read them by itself."""
    import narwhals as nw

    dataset = require("pyarrow.dataset", extra="arrow", purpose="Reading Arrow files")
    try:
        table = dataset.dataset(files, format="ipc").to_table()
    except (OSError, ValueError) as error:
        raise unreadable(error) from error
    frame: nw.LazyFrame[Any] = nw.from_native(table, eager_only=True).lazy()
    return frame
