"""What the program shows a person, and how quickly it is there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise.foundation.registry as registries
from running import Program

HEAVY = {"numpy", "scipy", "narwhals", "altair", "torch", "duckdb", "sklearn", "rich", "typer", "pandas", "polars"}


def modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_equipoise_loads_nothing_heavy() -> None:
    assert not modules_after("import equipoise") & HEAVY


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    import equipoise

    for name in equipoise.__all__:
        assert getattr(equipoise, name) is not None
        assert name in dir(equipoise)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        equipoise.nothing  # noqa: B018


def test_asking_for_help_loads_no_library_of_numbers() -> None:
    loaded = modules_after(
        "sys.argv = ['equipoise', '--help']\nfrom equipoise.cli import main\ntry: main()\nexcept SystemExit: pass"
    )
    assert not loaded & (HEAVY - {"rich", "typer"})


def test_listing_loads_no_extra() -> None:
    loaded = modules_after(
        "import equipoise.foundation.registry as r\n"
        "assert r.registry.entries('measure')\nassert r.registry.entries('cohort')"
    )
    assert not loaded & {"torch", "pandas", "polars", "pyarrow", "optuna", "sqlalchemy"}


def test_help_names_every_command(equipoise: Program) -> None:
    ended = equipoise("--help")
    assert ended.code == 0
    for command in ("audit", "list", "demo", "doctor", "--install-completion"):
        assert command in ended.out


def test_an_option_that_several_commands_have_says_the_same_in_each() -> None:
    import typer

    from equipoise.cli.program import app

    told: dict[str, dict[str, str]] = {}
    commands = typer.main.get_group(app).commands
    for command in ("audit", "compare", "evidence", "demo"):
        for option in commands[command].params:
            told.setdefault(str(option.name), {})[command] = str(
                (getattr(option, "help", None), option.metavar, option.opts)
            )
    shared = {name: texts for name, texts in told.items() if len(texts) > 1}
    assert {"json", "html", "figures", "csv", "latex", "quiet", "group", "rows", "id", "missing", "seed"} <= set(shared)
    # A file, an embedding's name and a gate are another thing in each; so are the columns of runs.
    for name in set(shared) - {"file", "embedding", "fail_if", "metric", "threshold"}:
        assert len(set(shared[name].values())) == 1, (name, shared[name])


def test_the_version_is_told(equipoise: Program) -> None:
    from equipoise import __version__

    assert equipoise("--version").out.strip() == f"equipoise {__version__}"


def test_the_list_shows_every_kind_and_every_name(equipoise: Program) -> None:
    ended = equipoise("list")
    for kind in registries.KINDS:
        assert f"{registries.plural_of(kind)} (" in ended.out
    for name in ("demographic_parity", "bias_amplification", "DTO", "adult", "compas"):
        assert name in ended.out


@pytest.mark.parametrize("kind", [*map(registries.plural_of, registries.KINDS), "measure"])
def test_one_kind_can_be_listed(equipoise: Program, kind: str) -> None:
    ended = equipoise("list", kind)
    assert ended.code == 0
    assert ended.out.startswith(kind.removesuffix("s"))


def test_an_unknown_kind_is_refused_with_the_nearest(equipoise: Program) -> None:
    ended = equipoise("list", "mesures")
    assert ended.code == 2
    assert "did you mean 'measures'?" in ended.err


def test_the_demo_speaks_in_words_and_writes_what_it_says(equipoise: Program, tmp_path: Path) -> None:
    output = tmp_path / "audit.json"
    ended = equipoise("demo", "audit", "--json", output)
    assert ended.code == 0
    assert "16,281 rows, 2 classes, favourable: >50K" in ended.out
    assert "sex: Female 5,421 33 % 4,831 89 % 590 11 %" in " ".join(ended.out.split())  # the cohort card
    told = " ".join(ended.out.split())
    assert "Female (sex) are predicted '>50K' a third as often as Male: 8.7% against 25.2% (16.5 points, 95%" in told
    written = json.loads(output.read_text())
    gap = [r for r in written["records"] if r["alias"] == "DP" and r["scope"] == "favourable"]
    assert {tuple(record["attribute"]) for record in gap} == {("sex",), ("race",)}


def test_the_demo_opens_no_network(tmp_path: Path) -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*given, **named): raise AssertionError('the network was asked for')\n"
        "socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse\n"
        "sys.argv = ['equipoise', 'demo', 'audit']\n"
        "from equipoise.cli import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_not_there_is_refused(equipoise: Program) -> None:
    assert equipoise("demo", "adit").code == 2


def test_quiet_prints_nothing(equipoise: Program, tmp_path: Path) -> None:
    ended = equipoise("demo", "--quiet", "--json", tmp_path / "audit.json")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_the_doctor_tells_what_is_missing_and_the_line_that_mends_it(
    equipoise: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registries.EXTRA_MODULES, "ray", "a_module_that_is_not_there")
    ended = equipoise("doctor")
    assert ended.code == 0
    assert "missing; in the folder of a clone: pip install -c constraints.txt '.[ray]'" in ended.out
    assert "duckdb" in ended.out


def test_what_needs_an_extra_is_listed_with_it(equipoise: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registries.EXTRA_MODULES, "train", "a_module_that_is_not_there")
    monkeypatch.setitem(registries.registry._entries, "treatment", {})

    @registries.treatment("planted", stage="pre", paper="none", extra="train")
    class Planted:
        """A treatment that was planted by a test."""

    assert "(needs: equipoise[train])" in " ".join(equipoise("list", "treatments").out.split())
    assert registries.registry.get("treatment", "planted").thing is Planted


def test_a_narrow_and_a_wide_terminal_both_fit(equipoise: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from equipoise.audits import audit
    from equipoise.cohorts import load
    from equipoise.reports.terminal import show

    result = audit(load("adult").where("test"))
    for width in (80, 140):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        show(result, console)
        text = console.export_text()
        assert "…" not in text
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width
        console.file.close()
