"""What a command shows while it works, where its result goes, and how it ends.

Work that takes long has a bar. Paths are checked before anything is done, and files appear whole, all of them or none.
Nothing here needs the libraries of the command line before it is used: a bare compute node ends by it too.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    STANDARD_OUTPUT,
    BadInput,
    EquipoiseError,
    ProgressTracker,
    check_writable,
    interrupt_received,
    printable,
    write_file,
    write_together,
    written_files,
)

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.reports import Report
    from equipoise.results import GateCheck, Result

GATE_BROKEN = 1
# What a command that reports was asked to write, and how the terminal names it.
WRITTEN = {"json": "Every number", "html": "The page", "pdf": "The page, printed", "csv": "The records",
           "latex": "The tables", "markdown": "The summary", "figures": "The charts"}  # fmt: skip
# A bar appears once work has taken this many seconds, and is drawn again this often.
PATIENCE = 2.0
EVERY = 0.2
# A log, where no terminal is there for a bar, gets a line this often.
LOG_EVERY = 30.0
INTERRUPTED = 130


@contextmanager
def show_progress(stage: str, *, quiet: bool, measure: Callable[[], float] | None = None) -> Iterator[ProgressTracker]:
    """Show how far work is, with the time left: a bar in a terminal, otherwise a line on standard error at times."""
    from rich.console import Console

    tracker = ProgressTracker(stage, measure=measure)
    if quiet:
        yield tracker
        return
    console = Console(stderr=True)
    ended = threading.Event()
    show = _show_bar if console.is_terminal else _log
    watcher = threading.Thread(target=show, args=(tracker, console, ended), daemon=True)
    watcher.start()
    try:
        yield tracker
    finally:
        ended.set()
        watcher.join()


def query_share() -> float:
    """Return how much of the running query is done, from 0 to 1."""
    from equipoise.cohorts import engine_percent

    return engine_percent() / 100


def _log(tracker: ProgressTracker, console: Console, ended: threading.Event) -> None:
    while not ended.wait(LOG_EVERY):
        console.print(tracker.line, highlight=False, markup=False)


def _show_bar(tracker: ProgressTracker, console: Console, ended: threading.Event) -> None:
    if ended.wait(PATIENCE):
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
               TimeElapsedColumn(), TextColumn("{task.fields[time_left]}", markup=False))  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(tracker.stage, total=1.0, time_left="")
        while not ended.is_set():
            bars.update(bar, description=tracker.stage, completed=tracker.done, time_left=tracker.time_left)
            time.sleep(EVERY)


@dataclass(frozen=True)
class Output:
    """Where a result goes."""

    json: Path | None = None
    html: Path | None = None
    pdf: Path | None = None
    figures: Path | None = None
    csv: Path | None = None
    latex: Path | None = None
    markdown: Path | None = None
    quiet: bool = False
    open: bool = False

    def __post_init__(self) -> None:
        if self.open and self.html is None:
            object.__setattr__(self, "html", temporary_page())

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Output:
        """Return the output that options ask for."""
        return cls(**{field.name: values[field.name] for field in fields(cls) if field.name in values})

    @property
    def files(self) -> dict[str, Path]:
        """The files that are written, by the name of the option."""
        every = {name: getattr(self, name) for name in ("json", "html", "pdf", "csv", "latex", "markdown")}
        return {name: path for name, path in every.items() if path is not None}

    @property
    def prints(self) -> bool:
        """Whether words for people go to the terminal: not if asked to be quiet, or if - takes standard output."""
        return not self.quiet and STANDARD_OUTPUT not in (self.json, self.csv, self.latex, self.markdown)

    def check(self, *, inputs: Iterable[str] = (), others: Mapping[str, Iterable[Path]] | None = None) -> None:
        """Refuse paths that cannot be written, that are read, or that two options write, before any work is done.

        ``others`` are files that further options of the command write, by the option.
        """
        written = {f"--{name}": [path] for name, path in self.files.items()}
        written |= {option: list(paths) for option, paths in (others or {}).items()}
        check_distinct_files(written, inputs)
        if self.pdf is not None:
            from equipoise.reports import find_browser

            find_browser()
        if self.figures is not None:
            if self.figures.exists() and not self.figures.is_dir():
                raise BadInput(f"The folder for figures {str(self.figures)!r} is a file", help="name a folder.")
            for option, paths in written.items():
                if any(path.resolve() == self.figures.resolve() for path in paths):
                    raise BadInput(
                        f"{option} and --figures both write {str(self.figures)!r}",
                        help="name another folder for charts.",
                    )
            check_writable(self.figures / "a.svg" if self.figures.is_dir() else self.figures)

    def deliver(self, result: Result, more: Callable[[], Sequence[str]] | None = None) -> None:
        """Write what was asked for, and print the result unless asked not to, or - names standard output.

        ``more`` writes further files of the command, which appear together with the others, and returns lines on them.
        """
        lines = self.write(result, more)
        self.show(result)
        if self.prints:
            print_lines(lines)

    def write(self, result: Result, more: Callable[[], Sequence[str]] | None = None) -> Sequence[str]:
        """Write the files that were asked for: all of them appear at the end, or none."""
        with write_together():
            lines = more() if more is not None else ()
            if self.html is not None:
                _report(result).write(result, self.html)
            if self.pdf is not None:
                write_file(self.pdf, _report(result).pdf(result))
            if self.figures is not None:
                _report(result).write_figures(result, self.figures)
            for path, write in self._texts(result):
                if path is not None and path != STANDARD_OUTPUT:
                    write(path)
        return lines

    def show(self, result: Result) -> None:
        """Print the result unless asked not to, or what - asks for."""
        import typer

        for path, write in self._texts(result):
            if path == STANDARD_OUTPUT:
                typer.echo(write(), nl=False)
        if self.prints:
            self._print(result)
        if self.open and self.html is not None:
            open_page(self.html)

    def _texts(self, result: Result) -> tuple[tuple[Path | None, Callable[..., str]], ...]:
        return (
            (self.json, result.to_json), (self.csv, result.to_csv), (self.latex, result.to_latex),
            (self.markdown, functools.partial(_markdown, result)),
        )  # fmt: skip

    def _print(self, result: Result) -> None:
        from rich.console import Console

        _report(result).show(result, Console())
        paths = {name: getattr(self, name) for name in WRITTEN}
        print_lines([f"{WRITTEN[name]}: {path}" for name, path in paths.items() if path is not None])


def print_lines(lines: Iterable[str]) -> None:
    """Print lines as they are: names in them are wrapped by the terminal, and coloured by nobody."""
    from rich.console import Console

    console = Console()
    for line in lines:
        console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


def _markdown(result: Result, path: Path | None = None) -> str:
    """Return a result as Markdown, and write it to a file when a path is given, whatever its name ends in."""
    text = _report(result).markdown(result)
    if path is not None:
        write_file(path, text)
    return text


def _report(result: Result) -> Report:
    """Return what shows a result."""
    from equipoise.foundation import (
        kind_of,
        report_of,
    )

    report: Report = report_of(kind_of(result.schema))
    return report


def end_if_broken(check: GateCheck) -> None:
    """Say which gates are broken, and end with 1 if any is."""
    import typer

    for breach in check.broken:
        typer.echo(printable(f"gate broken: {breach}"), err=True)
    if check.broken:
        raise typer.Exit(GATE_BROKEN)


def temporary_page() -> Path:
    """Return the path of a page that is to be looked at, and was given no file."""
    return Path(tempfile.mkdtemp(prefix="equipoise-")) / "report.html"


def open_page(page: Path) -> None:
    """Open a page in a browser, or say that there is none."""
    import webbrowser

    import typer

    # Without a screen only browsers for a terminal are left, and they would take it over.
    screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    if not screen or not webbrowser.open(page.resolve().as_uri()):
        typer.echo(f"No browser could be opened; the page is {page}", err=True)


def check_distinct_files(written: Mapping[str, Iterable[Path]], inputs: Iterable[str]) -> None:
    """Refuse files that cannot be written, that are read, or that two options write, before any work is done."""
    read = list(inputs)
    options: dict[Path, str] = {}
    for option, files in written.items():
        for file in files:
            if file != STANDARD_OUTPUT or option in ("--html", "--pdf"):
                check_writable(file, inputs=read)
            path = file.resolve()
            if path in options:
                raise BadInput(f"{options[path]} and {option} both write {str(file)!r}", help="give each its own file.")
            options[path] = option


class Interrupted(EquipoiseError):
    """Ctrl-C, told apart from the errors of the command line itself."""


class Ended(SystemExit):
    """The end of the program after a message that said why."""


def interrupted(more: str = "") -> Interrupted:
    """Say that the program was interrupted, and which files it has written whole."""
    files = written_files()
    written = f"written: {', '.join(map(str, files))}" if files else more or "nothing was written"
    return Interrupted(f"interrupted; {written}{f'; {more}' if files and more else ''}")


def interruptible(command: Callable[..., None], more: str = "") -> Callable[..., None]:
    """Let Ctrl-C end a command, whatever error it was turned into on its way up, or if nothing came up at all."""

    @functools.wraps(command)
    def run(*positional: Any, **named: Any) -> None:
        try:
            command(*positional, **named)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or interrupt_received():
                raise interrupted(more) from None
            raise
        if interrupt_received():
            raise interrupted(more)

    return run
