"""What the program shows a person, and how quickly it is there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise.foundation._imports as imports
import equipoise.foundation._registry as registries
from equipoise.foundation import install_line
from helpers.running import Program

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
        "import equipoise.foundation as r\nassert r.registry.entries('measure')\nassert r.registry.entries('cohort')"
    )
    assert not loaded & {"torch", "pandas", "polars", "pyarrow", "optuna", "sqlalchemy"}


def test_help_names_every_command(equipoise: Program) -> None:
    ended = equipoise("--help")
    assert ended.code == 0
    for command in ("audit", "list", "demo", "doctor", "--install-completion"):
        assert command in ended.out


def test_an_option_that_several_commands_have_says_the_same_in_each() -> None:
    import typer

    from equipoise.cli import app

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


def test_the_list_counts_every_kind(equipoise: Program) -> None:
    ended = equipoise("list")
    for kind in registries.KINDS:
        plural, number = registries.plural_of(kind), len(registries.registry.entries(kind))
        assert re.search(rf"^{plural} +{number}$", ended.out, flags=re.MULTILINE)
    assert len(ended.out.splitlines()) == len(registries.KINDS) + 1


def test_names_are_never_broken_in_a_list(equipoise: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in registries.KINDS:
        words = set(equipoise("list", kind).out.split())
        for entry in registries.registry.entries(kind):
            assert entry.name in words
            assert entry.alias is None or entry.alias in words


def test_the_list_and_the_doctor_speak_json(equipoise: Program) -> None:
    everything = json.loads(equipoise("list", "--json").out)
    assert everything["schema"] == "equipoise.list/1"
    assert set(everything["counts"]) == set(map(registries.plural_of, registries.KINDS))
    assert len(everything["records"]) == sum(everything["counts"].values())
    measures = json.loads(equipoise("list", "measures", "--json").out)
    assert set(measures["counts"]) == {"measures"}
    assert {"demographic_parity"} <= {record["name"] for record in measures["records"]}
    doctor = json.loads(equipoise("doctor", "--json").out)
    assert doctor["schema"] == "equipoise.doctor/1"
    assert set(doctor["extras"]) == set(registries.EXTRA_MODULES)
    assert doctor["packages"]["duckdb"]


@pytest.mark.parametrize("kind", [*map(registries.plural_of, registries.KINDS), "measure"])
def test_one_kind_can_be_listed(equipoise: Program, kind: str) -> None:
    ended = equipoise("list", kind)
    assert ended.code == 0
    assert ended.out.startswith(kind.removesuffix("s"))


def test_an_unknown_kind_is_refused_with_the_nearest(equipoise: Program) -> None:
    ended = equipoise("list", "mesures")
    assert ended.code == 2
    assert "did you mean 'measures'?" in ended.err


def test_the_demo_speaks_in_words_and_writes_what_it_says(
    equipoise: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "audit.json"
    ended = equipoise("demo", "audit", "--json", output)
    assert ended.code == 0
    assert (tmp_path / "demo.html").read_text(encoding="utf-8").startswith("<!")
    shown = re.findall(r"^.*\((?:DP|DI|EOFP|EOTP|EO)\)", ended.out.partition("Gaps in one number")[2], re.MULTILINE)
    assert shown == 2 * [  # of sex, and of race
        "Demographic parity gap (DP)", "Disparate impact, 1 − ratio (DI)", "Equalized odds, false positives (EOFP)",
        "Equalized odds, true positives (EOTP)", "Equalized odds (EO)",
    ]  # fmt: skip
    assert re.search(r"^\d+ more measures of gaps are in demo.html$", ended.out, flags=re.MULTILINE)
    assert "16,281 rows, 2 classes, favourable: >50K" in ended.out
    assert re.search(r"Female .* 8\.7%  473 / 5,421", ended.out)
    told = " ".join(ended.out.split())
    assert (
        "The model predicts '>50K' a third as often for Female as for Male (sex): 8.7% against 25.2% (16.5 points"
        in told
    )
    written = json.loads(output.read_text())
    gap = [r for r in written["records"] if r["alias"] == "DP" and r["scope"] == "favourable"]
    assert {tuple(record["attribute"]) for record in gap} == {("sex",), ("race",)}


@pytest.mark.long
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
    assert [path.name for path in tmp_path.iterdir()] == ["demo.html"]


def test_a_demo_that_is_not_there_is_refused(equipoise: Program) -> None:
    assert equipoise("demo", "adit").code == 2


def test_quiet_prints_nothing(equipoise: Program, tmp_path: Path) -> None:
    ended = equipoise("demo", "--quiet", "--no-html", "--json", tmp_path / "audit.json")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]
    assert equipoise("demo", "--no-html", "--open").code == 2


def test_a_page_is_opened_or_it_is_said_that_there_is_no_browser(
    equipoise: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def browser(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", browser)
    monkeypatch.setenv("DISPLAY", ":0")
    page = tmp_path / "a b.html"
    assert equipoise("demo", "--quiet", "--html", page, "--open").code == 0
    assert opened == [page.resolve().as_uri()]
    people = tmp_path / "people.csv"
    people.write_text("y,p,g\n" + "1,1,a\n0,1,b\n1,0,a\n0,0,b\n" * 20)
    ask = ("audit", people, "--target", "y", "--prediction", "p", "--group", "g", "--draws", "20", "--quiet", "--open")
    assert equipoise(*ask).code == 0
    assert opened[1].endswith("report.html")  # with no --html the page is temporary
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    ended = equipoise(*ask, "--html", tmp_path / "c.html")
    assert ended.code == 0
    assert f"No browser could be opened; the page is {tmp_path / 'c.html'}" in ended.err
    assert len(opened) == 2


def test_the_doctor_tells_what_is_missing_and_the_line_that_mends_it(
    equipoise: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registries.EXTRA_MODULES, "ray", "a_module_that_is_not_there")
    ended = equipoise("doctor")
    assert ended.code == 0
    assert f"missing: {install_line('ray')}" in ended.out
    assert "duckdb" in ended.out


def test_what_needs_an_extra_is_listed_with_it(equipoise: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registries.EXTRA_MODULES, "train", "a_module_that_is_not_there")
    monkeypatch.setitem(registries.registry._entries, "treatment", {})

    @registries.treatment("planted", stage="pre", paper="none", extra="train")
    class Planted:
        """A treatment that was planted by a test."""

    assert "(needs the extra train)" in " ".join(equipoise("list", "treatments").out.split())
    assert registries.registry.get("treatment", "planted").implementation is Planted


def test_an_install_line_works_where_it_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = imports.source_tree()
    assert clone is not None
    monkeypatch.chdir(clone)
    assert imports.install_line("train") == "pip install -c constraints.txt -e '.[train]'"
    monkeypatch.chdir(tmp_path)
    words = shlex.split(imports.install_line("train"))
    assert Path(words[3]).is_file()
    assert words[5] == f"{clone}[train]"
    monkeypatch.setattr(imports, "source_tree", lambda: None)
    assert imports.install_line("train") == "in the folder of a clone: pip install -c constraints.txt '.[train]'"


def test_a_narrow_and_a_wide_terminal_both_fit(equipoise: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from equipoise.audits import audit
    from equipoise.cohorts import load
    from equipoise.reports import show

    result = audit(load("adult").where("test"))
    for width in (80, 140):
        console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
        show(result, console)
        text = console.export_text()
        assert "…" not in text
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width
        console.file.close()
