"""Opening files: CSV, Parquet (a file, a folder of shards, a glob), JSON lines and Arrow, larger than memory too.

DuckDB only opens the file and runs the group-by; what is counted is written elsewhere, once for every engine.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import tempfile
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cohorts.csv_files import check_distinct, distinct_columns, literal, quoted, read_csv_files
from equipoise.foundation.errors import BadInput, listing, nearest_file
from equipoise.foundation.imports import require
from equipoise.foundation.text import shortened
from equipoise.tallies.lazy import open_engines, register_engine, run_query, unreadable

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw

CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst")
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
ARROW = (".arrow", ".feather", ".ipc")
TABLES = PARQUET + CSV + JSON_LINES + ARROW
# Files of arrays: array_files opens them.
ARRAYS = (".npy", ".npz", ".safetensors")

# What people have instead of such a file, and what to do about it.
OTHERS = {
    (".xlsx", ".xls", ".xlsm", ".ods"): "save the sheet as CSV in UTF-8, or pandas.read_excel(FILE).to_parquet(NEW).",
    (".db", ".sqlite", ".sqlite3", ".duckdb"): "write the table to a file first: "
    "sqlite3 FILE -header -csv 'SELECT * FROM people' > people.csv; or pass a data frame from Python.",
    (".zip", ".7z", ".tar", ".tgz", ".tar.gz", ".rar", ".bz2", ".xz"): "unpack it first, and name the file or folder.",
    (".json",): "write one object a line and call it .jsonl: jq -c '.[]' FILE > NEW.jsonl",
    (".sav", ".dta", ".sas7bdat", ".xpt", ".rds", ".rdata"): "save it as CSV or Parquet in the program that wrote it, "
    "or read it with pandas (read_spss, read_stata, read_sas) and pass the data frame.",
    (".pkl", ".pickle", ".joblib"): "pickled objects can run code and are not opened; save the table as Parquet.",
}  # fmt: skip

MEMORY_LIMIT = "400MB"


def open_table(
    path: str | os.PathLike[str], *, missing: Sequence[str] = (), wanted: Collection[str] | None = None
) -> nw.LazyFrame[Any]:
    """Open a file, a folder or a glob as a lazy frame. Text values listed in ``missing`` are read as missing.

    Columns that share a name are refused; in a single CSV or Parquet file only where one of them is ``wanted``, if
    that is given, and left out otherwise.
    """
    import narwhals as nw

    given = os.fspath(path)
    files = _files(given)
    ending = _ending(files[0])
    if ending in ARROW:
        return _open_arrow(files)
    connection = _connection()
    import duckdb

    try:
        if ending in PARQUET:
            relation = _read_parquet(connection, files, wanted)
        elif ending in JSON_LINES:
            relation = _read_json_lines(connection, files)
        else:
            relation = read_csv_files(connection, files, missing, wanted)
    except duckdb.Error as error:
        problem = unreadable(error)
        raise BadInput(f"{given!r}: {problem.given}", available=problem.available, help=problem.help) from error
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


def _files(given: str) -> list[str]:
    """Return the files that a path means: itself, the shards below it, or what the pattern matches."""
    if re.match(r"^[a-z][a-z0-9+]*://", given):
        raise BadInput(f"{given!r} is a URL, not a file", available="files on this machine", help="download it first.")
    if given == "-":
        raise BadInput(
            "Standard input is not supported: rows are read several times",
            available=f"a file, a folder or a glob ({', '.join(TABLES)})",
            help="save it to a file first: COMMAND > people.csv",
        )
    path = Path(given)
    if _is_folder(given):
        below = [file for file in path.rglob("*") if _ending(str(file)) and file.is_file()]
        files = sorted(str(file) for file in below if not _hidden(file.relative_to(path)))
        if not files:
            hidden = f" (names that begin with . or _ are not counted: {listing(below, 3)})" if below else ""
            raise BadInput(f"The folder {given!r} has no data files{hidden}", available=", ".join(TABLES))
    elif path.exists():
        files = [given]
    else:
        files = sorted(file for file in glob.glob(given, recursive=True) if os.path.isfile(file))
    if not files:
        raise _not_found(path)
    endings = {_format(file) for file in files}
    if len(endings) > 1:
        raise BadInput(f"{given!r} mixes files of different formats", help="keep one format in the folder.")
    if not next(iter(endings)):
        raise _no_table(given)
    for file in files:
        if os.path.getsize(file) == 0:
            raise BadInput(f"The file {file!r} is empty", available="a header and at least one row")
        if not os.access(file, os.R_OK):
            raise BadInput(f"The file {file!r} may not be read by this user", help="ask for read permission.")
    return files


def _is_folder(given: str) -> bool:
    """Tell whether a path is a folder; a name that no file system takes is no path at all."""
    try:
        return stat.S_ISDIR(os.stat(given).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"There is no file {shortened(given)!r} ({reason})", help="check the path.") from error


def _hidden(file: Path) -> bool:
    """Tell whether a file below a folder is no part of the data: copies of an editor, marks of an engine."""
    return any(part.startswith((".", "_")) for part in file.parts)


def _no_table(given: str) -> BadInput:
    allowed = ", ".join(TABLES)
    if Path(given).suffix.lower() not in ARRAYS:
        hint = next((told for endings, told in OTHERS.items() if given.lower().endswith(endings)), "")
        if hint:
            return BadInput(f"{given!r} has a format that is not supported", available=allowed, help=hint)
        return BadInput(f"{given!r} has an unknown file ending", available=allowed)
    return BadInput(
        f"{given!r} holds arrays, not a table of rows",
        available=allowed,
        help="to audit points, name their array and the table of their rows: --embedding KEY --rows FILE "
        "(audit_embedding); a .npy file has one array, so any KEY works.",
    )


def _not_found(path: Path) -> BadInput:
    folder = path.parent
    if not folder.is_dir():
        return BadInput(f"There is no file {str(path)!r}: its folder does not exist", help="check the path.")
    guess = nearest_file(path.name, [name for name in os.listdir(folder) if _ending(name)])
    hint = f"did you mean {str(folder / guess)!r}?" if guess else "check the path."
    return BadInput(f"There is no file {str(path)!r}", help=hint)


def _ending(file: str) -> str:
    name = file.lower()
    return next((ending for ending in TABLES if name.endswith(ending)), "")


def _format(file: str) -> str:
    ending = _ending(file)
    return next((kind[0] for kind in (CSV, PARQUET, JSON_LINES, ARROW) if ending in kind), "")


def engine_progress() -> float:
    """Return how far the running query is, in per cent."""
    import duckdb

    # An engine that is between two queries says -1.
    return max(0.0, *(duckdb.query_progress(connection=engine) for engine in open_engines()), 0.0)


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
    register_engine(engine)
    return engine


def _read_parquet(connection: Any, files: list[str], wanted: Collection[str] | None) -> Any:
    names = [literal(file) for file in files]
    headers = [_parquet_columns(connection, name) for name in names]
    for file, header in zip(files, headers, strict=True):
        check_distinct(header, os.path.basename(file), wanted if len(files) == 1 else None)
    relation = connection.read_parquet(names, union_by_name=True, hive_partitioning=False)
    return distinct_columns(relation, headers[0]) if len(files) == 1 else relation


def _parquet_columns(connection: Any, file: str) -> list[str]:
    """Return the names of a file's columns as they are; the engine gives a second one of the same name another."""
    elements = run_query(connection.execute("SELECT name, num_children FROM parquet_schema(?)", [file]).fetchall)
    names, inner = [], 0
    for name, children in elements[1:]:  # the first is the table itself; what is inside a column follows it
        if inner:
            inner += (children or 0) - 1
        else:
            names.append(name)
            inner = children or 0
    return names


def _read_json_lines(connection: Any, files: list[str]) -> Any:
    relation = connection.read_json(
        [literal(file) for file in files], format="newline_delimited", sample_size=-1, union_by_name=True,
        hive_partitioning=False,
    )  # fmt: skip
    check_distinct(relation.columns, os.path.basename(files[0]))
    # Values of several kinds stay JSON, in which text has quotes.
    kinds = zip(relation.columns, relation.types, strict=True)
    plain = (
        f"{quoted(name)} ->> '$' AS {quoted(name)}" if str(kind) == "JSON" else quoted(name) for name, kind in kinds
    )
    return relation.project(", ".join(plain))


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
