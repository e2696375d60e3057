"""Ctrl-C at any moment of a command: exit code 130, no half-written file, and a message that is true."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROWS = "sex,y,p\n" + "".join(f"{'FM'[place % 2]},{place % 3 % 2},{place % 5 % 2}\n" for place in range(200))
ASK = ("--target", "y", "--prediction", "p", "--group", "sex")
INTERRUPTED = 130
# Ctrl-C comes to the program from outside, at a place that the test chooses and not after a time.
PRESS = "import os, signal\ndef press(): os.kill(os.getpid(), signal.SIGINT)\n"
RUN = "from equipoise.cli import main\nmain()\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(ROWS)
    return path


def pressed(people: Path, before: str, *more: object) -> subprocess.CompletedProcess[str]:
    """Audit people and write JSON and page; ``before`` says where Ctrl-C is pressed."""
    folder = people.parent
    outputs = ("--json", folder / "a.json", "--html", folder / "a.html", *more)
    command = [sys.executable, "-c", PRESS + before + RUN, "audit", *map(str, (people, *ASK, *outputs))]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, preexec_fn=heeds)


def heeds() -> None:
    """Let a program heed Ctrl-C, also where these tests run in the background and ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_ctrl_c_while_rows_are_counted_stops_the_engine(people: Path) -> None:
    """The engine is asked for more than it could count in an hour: only an interrupt ends the query."""
    before = (
        "import threading, time\n"
        "from equipoise.tallies import _lazy as lazy\n"
        "real = lazy.register_engine\n"
        "def counts_for_ever(engine):\n"
        "    real(engine)\n"
        "    def busy():\n"
        "        while all(one.name != 'equipoise-query' for one in threading.enumerate()): time.sleep(0.01)\n"
        "        press()\n"
        "    threading.Thread(target=busy, daemon=True).start()\n"
        "    endless = 'SELECT sum((a.range * b.range) % 7) FROM range(10000000) a, range(10000000) b'\n"
        "    lazy.run_query(engine.sql(endless).fetchall)\n"
        "from equipoise.cohorts import _readers as readers\n"
        "readers.register_engine = counts_for_ever\n"
    )
    done = pressed(people, before)
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip() == "equipoise: interrupted; nothing was written"
    assert names(people.parent) == ["people.csv"]


def test_ctrl_c_that_a_library_swallows_while_it_is_imported_still_ends_the_command(people: Path) -> None:
    before = (
        "import sys, importlib.abc\n"
        "class Swallows(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'equipoise.audits':\n"
        "            try: press()\n"
        "            except: pass\n"
        "sys.meta_path.insert(0, Swallows())\n"
    )
    done = pressed(people, before)
    assert done.returncode == INTERRUPTED, done.stderr
    assert "nothing was written" in done.stderr
    assert names(people.parent) == ["people.csv"]


def test_ctrl_c_in_code_that_a_library_makes_up_ends_with_130_too(people: Path) -> None:
    """Python would end by the signal itself, as after every interrupt of such a call."""
    before = (
        "from equipoise.cohorts import _readers as readers\n"
        "readers.register_engine = lambda engine: exec('press()', globals())\n"
    )
    done = pressed(people, before)
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip() == "equipoise: interrupted; nothing was written"


def test_ctrl_c_that_meets_the_end_of_an_object_is_not_dropped(people: Path) -> None:
    """Python prints and drops whatever is raised there; the command would go on to its end."""
    before = (
        "import time\n"
        "class Ends:\n"
        "    def __del__(self): press()\n"
        "from equipoise.cohorts import _readers as readers\n"
        "def register(engine):\n"
        "    Ends()\n"
        "    time.sleep(60)\n"
        "readers.register_engine = register\n"
    )
    done = pressed(people, before)
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip() == "equipoise: interrupted; nothing was written"


def test_ctrl_c_while_the_program_is_imported_is_no_traceback(people: Path) -> None:
    before = (
        "import sys, importlib.abc\n"
        "class Presses(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': press()\n"
        "sys.meta_path.insert(0, Presses())\n"
    )
    done = pressed(people, before)
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip() == "equipoise: interrupted; nothing was written"


def test_ctrl_c_while_the_page_is_drawn_leaves_no_json_either(people: Path) -> None:
    before = "from equipoise.reports.render import html\nhtml.page = lambda *given: press()\n"
    done = pressed(people, before, "--figures", people.parent / "charts")
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip() == "equipoise: interrupted; nothing was written"
    assert names(people.parent) == ["people.csv"]


@pytest.mark.long
def test_ctrl_c_while_files_get_their_names_lets_all_of_them_appear_and_says_so(people: Path) -> None:
    before = "real = os.replace\ndef replace(*given):\n    press()\n    real(*given)\nos.replace = replace\n"
    done = pressed(people, before)
    folder = people.parent
    assert done.returncode == INTERRUPTED, done.stderr
    assert done.stderr.strip() == f"equipoise: interrupted; written: {folder / 'a.html'}, {folder / 'a.json'}"
    assert names(folder) == ["a.html", "a.json", "people.csv"]


@pytest.mark.long
def test_ctrl_c_while_the_result_is_printed_says_what_is_there(people: Path) -> None:
    before = "from equipoise.cli._console import Output\nOutput.show = lambda *given: press()\n"
    done = pressed(people, before)
    assert done.returncode == INTERRUPTED, done.stderr
    assert f"written: {people.parent / 'a.html'}, {people.parent / 'a.json'}" in done.stderr


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Fifty million people, which take several seconds to count."""
    import duckdb

    path = tmp_path_factory.mktemp("large") / "people.parquet"
    with duckdb.connect(config={"memory_limit": "1GB"}) as engine:
        engine.execute(
            "COPY (SELECT (hash(i) % 2)::INT AS y, (hash(i + 7) % 2)::INT AS p, 'g' || (hash(i + 3) % 6) AS sex "
            f"FROM range(50000000) t(i)) TO '{path}' (FORMAT PARQUET)"
        )
    yield path
    path.unlink()


@pytest.mark.slow
def test_ctrl_c_at_24_moments_of_an_audit_of_a_large_file(large: Path, tmp_path: Path) -> None:
    """From the first moments of the program to the last: the moments are spread over the time that an audit takes."""
    folder = tmp_path / "outputs"
    folder.mkdir()
    outputs = ["--json", str(folder / "a.json"), "--html", str(folder / "a.html")]
    command = [sys.executable, "-m", "equipoise", "audit", str(large), *ASK, *outputs]
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    whole, wanted = time.monotonic() - began, names(folder)
    place = attempts = 0
    while place < 24:
        attempts += 1
        assert attempts < 100, "the audit ends before it can be interrupted"
        for file in folder.iterdir():
            file.unlink()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=heeds
        ) as running:
            time.sleep(delay := whole * (place + 0.5) / 24)
            if running.poll() is not None:  # the machine has become faster: it was done before the moment came
                whole = delay
                continue
            running.send_signal(signal.SIGINT)
            pressed_at = time.monotonic()
            _, said = running.communicate(timeout=60)
        found, code, took = names(folder), running.returncode, time.monotonic() - pressed_at
        sys.stdout.write(f"moment {place}: {delay:.2f} s after the start, exit {code} after {took:.2f} s, ")
        sys.stdout.write(f"files {found}, said {said.strip()!r}\n")
        place += 1
        # A shell says 130 of a program that the signal itself ends, as before Python takes note of it and after the
        # program is done; one that was ending when the signal came may also end as it would have.
        assert code in (INTERRUPTED, -signal.SIGINT, 0), said
        assert found in ([], wanted), said
        assert found == [] or code != INTERRUPTED or "written: " in said
        assert found == wanted or code != 0
        if code == INTERRUPTED:
            assert said.startswith("equipoise: interrupted; ")
