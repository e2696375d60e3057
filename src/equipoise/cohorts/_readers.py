"""Opening files: CSV, Parquet (a file, a folder of shards, a glob), JSON lines and Arrow, larger than memory too.

DuckDB only opens the file and runs the group-by; what is counted is written elsewhere, once for every engine. Of CSV
the engine's own guesses lose rows without a word: it skips what stands before the widest lines, takes a line that
begins with ``#`` for a comment, renames a second column of the same name, and lets a folder called ``p=0`` replace the
column ``p``. So each file's layout is looked at here before it is read: every line is a row or the file is refused, and
shards are joined by column name.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import gzip
import itertools
import os
import re
import stat
import tempfile
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from equipoise.foundation import (
    BadInput,
    is_number,
    listing,
    nearest_file,
    plural,
    require,
    shortened,
)
from equipoise.tallies import (
    open_engines,
    register_engine,
    run_query,
    unreadable_error,
)

if TYPE_CHECKING:
    import duckdb
    import narwhals as nw


CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst")
PARQUET = (".parquet", ".pq")
JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
ARROW = (".arrow", ".feather", ".ipc")
TABLES = PARQUET + CSV + JSON_LINES + ARROW
# Files of arrays: array_files opens them.
ARRAY_ENDINGS = (".npy", ".npz", ".safetensors")

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
    path: str | os.PathLike[str], *, missing: Sequence[str] = (), columns: Collection[str] | None = None
) -> nw.LazyFrame[Any]:
    """Open a file, a folder or a glob as a lazy frame. Text values listed in ``missing`` are read as missing.

    Columns that share a name are refused; in a single CSV or Parquet file only where one of them is among ``columns``,
    if that is given, and left out otherwise.
    """
    import narwhals as nw

    path_text = os.fspath(path)
    files = _files(path_text)
    ending = _ending(files[0])
    if ending in ARROW:
        return _open_arrow(files)
    connection = _connection()
    import duckdb

    try:
        if ending in PARQUET:
            relation = _read_parquet(connection, files, columns)
        elif ending in JSON_LINES:
            relation = _read_json_lines(connection, files)
        else:
            relation = read_csv_files(connection, files, missing, columns)
    except duckdb.Error as error:
        problem = unreadable_error(error)
        raise BadInput(f"{path_text!r}: {problem.given}", available=problem.available, help=problem.help) from error
    frame: nw.LazyFrame[Any] = nw.from_native(relation)
    return frame


def _files(path_text: str) -> list[str]:
    """Return the files that a path means: itself, the shards below it, or what the pattern matches."""
    if re.match(r"^[a-z][a-z0-9+]*://", path_text):
        raise BadInput(
            f"{path_text!r} is a URL, not a file", available="files on this machine", help="download it first."
        )
    if path_text == "-":
        raise BadInput(
            "Standard input is not supported: rows are read several times",
            available=f"a file, a folder or a glob ({', '.join(TABLES)})",
            help="save it to a file first: COMMAND > people.csv",
        )
    path = Path(path_text)
    if _is_folder(path_text):
        below = [file for file in path.rglob("*") if _ending(str(file)) and file.is_file()]
        files = sorted(str(file) for file in below if not _hidden(file.relative_to(path)))
        if not files:
            hidden = f" (names that begin with . or _ are not counted: {listing(below, 3)})" if below else ""
            raise BadInput(f"The folder {path_text!r} has no data files{hidden}", available=", ".join(TABLES))
    elif path.exists():
        files = [path_text]
    else:
        files = sorted(file for file in glob.glob(path_text, recursive=True) if os.path.isfile(file))
    if not files:
        raise _not_found(path)
    endings = {_format(file) for file in files}
    if len(endings) > 1:
        raise BadInput(f"{path_text!r} mixes files of different formats", help="keep one format in the folder.")
    if not next(iter(endings)):
        raise _no_table(path_text)
    for file in files:
        if os.path.getsize(file) == 0:
            raise BadInput(f"The file {file!r} is empty", available="a header and at least one row")
        if not os.access(file, os.R_OK):
            raise BadInput(f"The file {file!r} may not be read by this user", help="ask for read permission.")
    return files


def _is_folder(path_text: str) -> bool:
    """Tell whether a path is a folder; a name that no file system takes is no path at all."""
    try:
        return stat.S_ISDIR(os.stat(path_text).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"There is no file {shortened(path_text)!r} ({reason})", help="check the path.") from error


def _hidden(file: Path) -> bool:
    """Tell whether a file below a folder is no part of the data: copies of an editor, marks of an engine."""
    return any(part.startswith((".", "_")) for part in file.parts)


def _no_table(path_text: str) -> BadInput:
    allowed = ", ".join(TABLES)
    if Path(path_text).suffix.lower() not in ARRAY_ENDINGS:
        hint = next((advice for endings, advice in OTHERS.items() if path_text.lower().endswith(endings)), "")
        if hint:
            return BadInput(f"{path_text!r} has a format that is not supported", available=allowed, help=hint)
        return BadInput(f"{path_text!r} has an unknown file ending", available=allowed)
    return BadInput(
        f"{path_text!r} holds arrays, not a table of rows",
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


def engine_percent() -> float:
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
    # Keep count of how far a query is, but never print: standard output is ours. In a notebook DuckDB refuses to count
    # where ipywidgets is missing.
    with contextlib.suppress(duckdb.InvalidInputException):
        engine.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    register_engine(engine)
    return engine


def _read_parquet(connection: Any, files: list[str], columns: Collection[str] | None) -> Any:
    names = [literal(file) for file in files]
    headers = [_parquet_columns(connection, name) for name in names]
    for file, header in zip(files, headers, strict=True):
        check_distinct(header, os.path.basename(file), columns if len(files) == 1 else None)
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
        raise unreadable_error(error) from error
    frame: nw.LazyFrame[Any] = nw.from_native(table, eager_only=True).lazy()
    return frame


# Up to this size a CSV is read in full to tell the types of its columns.
SMALL_CSV = 64 * 1024 * 1024
SAMPLE = 1_000_000
# A CSV has numbers and text. Guessing more would turn a column of T and F, or F alone, into true and false.
TYPES = ("BIGINT", "DOUBLE", "VARCHAR")
SEPARATORS = (",", ";", "\t", "|")
# What the engine writes where it found no quotes.
NONE_FOUND = "(empty)"
DOUBLE_QUOTES = "quote='\"'"
# Whole numbers from here on are no longer told apart by a float64.
EXACT = 2**53
FIRST_ROWS = 1_000
# So many lines are searched for the one that has another number of fields.
MOST_LINES = 5_000_000
SHOWN_LETTERS = 60
# The name of a column is repeated in every record about it.
MOST_LETTERS = 1_000


@dataclass(frozen=True)
class Layout:
    """How one CSV file is laid out: its separator and quotes, the lines before its header, and its columns' types."""

    delimiter: str
    quote: str
    escape: str
    skipped: int
    types: dict[str, str]
    # Whether apostrophes of its text were taken for quotes.
    apostrophes: bool = False


def read_csv_files(
    connection: Any, files: Sequence[str], missing: Sequence[str], selected: Collection[str] | None = None
) -> Any:
    """Return the rows of CSV files; text values listed in ``missing`` are read as missing.

    Of a single file, columns that share a name are left out where none of them is ``selected``.
    """
    sample_all = sum(os.path.getsize(file) for file in files) <= SMALL_CSV
    layouts = [_layout(connection, file, missing, sample_all=sample_all) for file in files]
    for file, layout in zip(files[1:], layouts[1:], strict=True):
        _check_related(file, layout, files[0], layouts[0])
    headers = [_header(connection, file, layout) for file, layout in zip(files, layouts, strict=True)]
    for file, header in zip(files, headers, strict=True):
        check_distinct(header, os.path.basename(file), selected if len(files) == 1 else None)
    relation = _typed(connection, files, layouts, missing, sample_all=sample_all)
    return distinct_columns(relation, headers[0]) if len(files) == 1 else relation


def _typed(
    connection: Any, files: Sequence[str], layouts: Sequence[Layout], missing: Sequence[str], *, sample_all: bool
) -> Any:
    """Read files with the types that all their rows have, and codes too long for a number as text."""
    relation = _relation(connection, files, layouts, missing, {}, sample_all=sample_all)
    kinds: dict[str, str] = {}
    sampled = {} if sample_all else _sampled_numbers(relation)
    if sampled:
        texts = _relation(connection, files, layouts, missing, dict.fromkeys(sampled, "VARCHAR"), sample_all=sample_all)
        kinds = _kinds_of_all(texts, sampled)
        relation = _relation(connection, files, layouts, missing, kinds, sample_all=sample_all)
    _check_header_once(relation, files)
    long = dict.fromkeys(_beyond_doubles(relation), "VARCHAR")
    if not long:
        return relation
    codes = _only_digits(
        _relation(connection, files, layouts, missing, {**kinds, **long}, sample_all=sample_all), [*long]
    )
    text_kinds = {**kinds, **dict.fromkeys(codes, "VARCHAR")}
    return _relation(connection, files, layouts, missing, text_kinds, sample_all=sample_all) if codes else relation


def _layout(connection: Any, file: str, missing: Sequence[str], *, sample_all: bool) -> Layout:
    """Look at one file, and refuse what would lose rows or columns."""
    delimiter, quote, escape, skipped, column_types = _sniffed(connection, file, _guessing(missing, sample_all))
    apostrophes = quote == "'"
    if apostrophes:  # taken for quotes, two of them would swallow the lines between
        guessing = f"{_guessing(missing, sample_all)}, {DOUBLE_QUOTES}"
        delimiter, quote, escape, skipped, column_types = _sniffed(connection, file, guessing)
    quote, escape = ("" if sign == NONE_FOUND else sign for sign in (quote, escape))
    if not sample_all:  # quotes may come later
        quote = quote or '"'
    if quote == '"' and not escape:
        escape = '"'
    types = {column["name"]: column["type"] for column in column_types}
    layout = Layout(delimiter, quote, escape, int(skipped), types, apostrophes)
    _check_skipped(file, layout)
    return layout


def _sniffed(connection: Any, file: str, guessing: str) -> Any:
    sniffed = connection.sql(f"FROM sniff_csv({_text(literal(file))}, {guessing})")
    return run_query(sniffed.select("Delimiter", "Quote", "Escape", "SkipRows", "Columns").fetchone)


def _check_skipped(file: str, layout: Layout) -> None:
    """Refuse lines before the header that are rows.

    A title or remark has no separator, or begins with #, or is one line of fewer fields above a header of names.
    """
    first = next(iter(layout.types), "")
    if len(layout.types) == 1:
        separator = max(SEPARATORS, key=first.count)
        if separator in first:
            raise _uneven(file, separator, layout.quote)
    if not layout.skipped:
        return
    with _opened(file) as lines:
        before = list(itertools.islice(lines, layout.skipped))
    parted = [line for line in before if layout.delimiter in line and not _remark(line)]
    title = len(parted) == 1 and parted[0].count(layout.delimiter) + 1 < len(layout.types)
    if parted and not (title and not any(is_number(name) for name in layout.types)):
        raise _uneven(file, layout.delimiter, layout.quote)


def _remark(line: str) -> bool:
    """Tell whether a line is no row: a remark, or the line that tells Excel the separator."""
    return line.startswith("#") or re.fullmatch(r"sep=.\s*", line, re.IGNORECASE) is not None


def _header(connection: Any, file: str, layout: Layout) -> list[str]:
    """Return the names as the file has them; the engine, which takes ``Y`` for ``y``, gives a second one another."""
    plain = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(layout.types)))
    header = connection.sql(f"FROM read_csv({_reading([file], layout, header=False)}, columns={{{plain}}}) LIMIT 1")
    return [name or "" for name in run_query(header.fetchone) or ()]


def check_distinct(names: Sequence[str], where: str, columns: Collection[str] | None = None) -> None:
    """Refuse columns of one name, or of names that differ in capital letters alone: all such, or those wanted."""
    checked = None if columns is None else {name.lower() for name in columns}
    spellings: dict[str, str] = {}
    for name in filter(None, names):
        if "\0" in name:
            raise BadInput(
                f"A column of {where} has a NUL character in its name", help="rename the column in the file."
            )
        if len(name) > MOST_LETTERS:
            raise BadInput(
                f"A column of {where} has a name of {len(name):,} characters: {shortened(name, 40)!r}",
                available=f"names of up to {MOST_LETTERS:,} characters",
                help="rename the column in the file; is the first line of the file its header?",
            )
        other = spellings.get(name.lower())
        if other is not None and (checked is None or name.lower() in checked):
            twice = f"two columns called {name!r}" if other == name else f"the columns {other!r} and {name!r}"
            raise BadInput(
                f"{where} has {twice}",
                available="a header of names that differ in more than capital letters",
                help="rename or remove one of them in the file, or read the file into a data frame and pass that.",
            )
        spellings[name.lower()] = name


def distinct_columns(relation: Any, names: Sequence[str]) -> Any:
    """Leave out columns that share a name, given the names as the file has them, and undo the engine's renaming."""
    lowered = Counter(name.lower() for name in names if name)
    if all(number == 1 for number in lowered.values()):
        return relation
    pairs = zip(relation.columns, names, strict=True)
    unique = [(inner, name) for inner, name in pairs if lowered[name.lower()] == 1]  # nor one without a name
    return relation.project(", ".join(f"{quoted(inner)} AS {quoted(name)}" for inner, name in unique))


def _check_related(file: str, layout: Layout, first: str, first_layout: Layout) -> None:
    """Refuse a shard that shares no column with the first: it has no header, or it is another table."""
    if {name.lower() for name in layout.types} & {name.lower() for name in first_layout.types}:
        return
    raise BadInput(
        f"{file!r} has no column in common with {first!r}: its first line is {listing(layout.types, 5)}",
        available="shards of one table, each with a header; columns are matched by name",
        help="add the header to each file, or keep other tables in another folder.",
    )


def _check_header_once(relation: Any, files: Sequence[str]) -> None:
    """Refuse files put end to end with their headers: each would be a row whose values are the names of the columns."""
    if any(str(kind) != "VARCHAR" for kind in relation.types):
        return
    repeats_header = " AND ".join(f"{quoted(name)} = {_text(name)}" for name in relation.columns)
    number = run_query(relation.filter(repeats_header).aggregate("count(*)").fetchone)[0]
    if number:
        where = os.path.basename(files[0]) if len(files) == 1 else "the files"
        raise BadInput(
            f"The header occurs {plural(number + 1, 'time')} in {where}",
            available="one header, in the first line of each file",
            help="remove the other headers; files can stay apart in one folder, each with its header.",
        )


def _relation(
    connection: Any, files: Sequence[str], layouts: Sequence[Layout], missing: Sequence[str], kinds: dict[str, str], *,
    sample_all: bool,
) -> Any:  # fmt: skip
    """Read files: one as it was found to be laid out, several joined by the names of their columns."""
    if len(files) == 1:
        columns = _struct({**layouts[0].types, **kinds})
        reading = _reading(files, layouts[0], header=True)
        return connection.sql(f"FROM read_csv({reading}, columns={columns}, nullstr={_nulls(missing)})")
    options = [_file_list(files), _guessing(missing, sample_all), "hive_partitioning=false", "union_by_name=true"]
    apostrophes = any(layout.apostrophes for layout in layouts)
    if apostrophes or (not sample_all and all(layout.quote == '"' for layout in layouts)):
        options.append(DOUBLE_QUOTES)
        escapes = {layout.escape for layout in layouts}
        options.extend(f"escape={_text(escape)}" for escape in escapes if len(escapes) == 1)
    if kinds:
        options.append(f"types={_struct(kinds)}")
    return connection.sql(f"FROM read_csv({', '.join(options)})")


def _guessing(missing: Sequence[str], sample_all: bool) -> str:
    candidates = ", ".join(_text(kind) for kind in TYPES)
    return (
        f"header=true, comment='', sample_size={-1 if sample_all else SAMPLE}, auto_type_candidates=[{candidates}], "
        f"nullstr={_nulls(missing)}"
    )


def _reading(files: Sequence[str], layout: Layout, *, header: bool) -> str:
    return (
        f"{_file_list(files)}, auto_detect=false, header={str(header).lower()}, delim={_text(layout.delimiter)}, "
        f"quote={_text(layout.quote)}, escape={_text(layout.escape)}, skip={layout.skipped}, comment='', "
        "hive_partitioning=false"
    )


def _nulls(missing: Sequence[str]) -> str:
    return f"[{', '.join(_text(value) for value in ('', *missing))}]"


def _file_list(files: Sequence[str]) -> str:
    return f"[{', '.join(_text(literal(file)) for file in files)}]"


def _struct(columns: dict[str, str]) -> str:
    return "{" + ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in columns.items()) + "}"


def literal(file: str) -> str:
    """Write a file name so that DuckDB does not take its brackets and stars for a pattern."""
    return "".join(f"[{sign}]" if sign in "[*?" else sign for sign in file)


def quoted(name: str) -> str:
    """Write the name of a column for SQL."""
    return '"{}"'.format(name.replace('"', '""'))


def _text(value: str) -> str:
    return "'{}'".format(value.replace("'", "''"))


def _opened(file: str) -> IO[str]:
    """Open a CSV as lines of text; what is packed by zstd has none that could be shown."""
    if file.lower().endswith(".zst"):
        return open(os.devnull, encoding="utf-8")
    opener: Any = gzip.open if file.lower().endswith(".gz") else open
    opened: IO[str] = opener(file, "rt", encoding="utf-8-sig", errors="replace", newline="")
    return opened


def _uneven(file: str, delimiter: str, quote: str) -> BadInput:
    """Say which line has another number of fields than the first."""
    first, other = _uneven_lines(file, delimiter, quote)
    difference = f"{first}, {other}" if other else first or "its lines have no common layout"
    return BadInput(
        f"The lines of {os.path.basename(file)} do not all have the same number of fields: {difference}",
        available="one header, and as many fields in every line as the header has",
        help="fix or remove that line (a decimal comma adds a field: write numbers with decimal points, "
        "0.25); where the header changes, split the file in two and keep both in one folder.",
    )


def _uneven_lines(file: str, delimiter: str, quote: str) -> tuple[str, str]:
    with _opened(file) as lines:
        reader = csv.reader(lines, delimiter=delimiter, quotechar=quote or '"')
        number = 0
        first = ""
        for index, fields in enumerate(_fields(reader)):
            if not fields or index > MOST_LINES:
                continue
            if not first:
                number, first = len(fields), _describe_line(reader.line_num, fields, delimiter)
            elif len(fields) != number:
                return first, _describe_line(reader.line_num, fields, delimiter)
    return first, ""


def _fields(reader: Any) -> Iterator[list[str]]:
    """Yield lines as fields, until one cannot be read."""
    try:
        yield from reader
    except csv.Error:
        return


def _describe_line(line: int, fields: Sequence[str], delimiter: str) -> str:
    return f"line {line:,} has {len(fields):,} ({shortened(delimiter.join(fields), SHOWN_LETTERS)!r})"


def _sampled_numbers(relation: Any) -> dict[str, str]:
    types = zip(relation.columns, map(str, relation.types), strict=True)
    return {name: kind for name, kind in types if kind != "VARCHAR"}


def _kinds_of_all(texts: Any, sampled: dict[str, str]) -> dict[str, str]:
    """Return the types of columns, given as text, by all their rows: a sample of whole numbers may be followed by 0.6.

    As in a file that is sampled whole, a code with leading zeros, or a word, makes a column text.
    """
    aggregates = []
    for name, kind in sampled.items():
        value, number, rounded = (
            quoted(name),
            f"TRY_CAST({quoted(name)} AS DOUBLE)",
            f"TRY_CAST({quoted(name)} AS BIGINT)",
        )
        zeros = f"({value} >= '00' AND {value} < '0:') OR ({value} >= '-00' AND {value} < '-0:')"  # : follows 9
        aggregates.append(f"count({value}) > count({number}) OR count_if({zeros}) > 0")
        aggregates.append(f"count({number}) > count_if({number} = {rounded})" if kind == "BIGINT" else "true")
    answers = run_query(texts.aggregate(", ".join(aggregates)).fetchone)
    pairs = zip(sampled, answers[::2], answers[1::2], strict=True)
    return {name: "VARCHAR" if text else "DOUBLE" if broken else "BIGINT" for name, text, broken in pairs}


def _beyond_doubles(relation: Any) -> list[str]:
    """Return the columns of fractions that have none, but whole numbers so long that several become one as a fraction.

    The engine has no other place for whole numbers of more than 18 digits, and they are codes, not amounts.
    """
    columns = [name for name, kind in zip(relation.columns, relation.types, strict=True) if str(kind) == "DOUBLE"]
    for part in (relation.limit(FIRST_ROWS), relation):  # nearly every such column shows a fraction at once
        if columns:
            fractions = part.aggregate(
                ", ".join(f"bool_or({quoted(name)} != trunc({quoted(name)}))" for name in columns)
            )
            columns = [name for name, broken in zip(columns, run_query(fractions.fetchone), strict=True) if not broken]
    if not columns:
        return []
    largest = run_query(relation.aggregate(", ".join(f"max(abs({quoted(name)}))" for name in columns)).fetchone)
    return [name for name, size in zip(columns, largest, strict=True) if size is not None and size >= EXACT]


def _only_digits(relation: Any, columns: Sequence[str]) -> list[str]:
    """Return the columns of text that are whole numbers throughout: 1e300 is a number, no code."""
    digits = (f"bool_and(regexp_full_match({quoted(name)}, '\\s*[-+]?[0-9]+\\s*'))" for name in columns)
    answers = run_query(relation.aggregate(", ".join(digits)).fetchone)
    return [name for name, is_code in zip(columns, answers, strict=True) if is_code]
