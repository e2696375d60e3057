"""What the documentation shows is true: its code runs, its commands answer as shown, its links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import equipoise
from equipoise import measures
from equipoise.foundation import installed, registry
from helpers.cases.picture import write_binary, write_photos

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAPERS = ROOT / "docs" / "papers"
# What ran for a paper took days and other people's data: its commands are not run again here.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for page in DOCS if PAPERS not in page.parents)]
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
COMMAND_LINES = ROOT / "tests" / "helpers" / "command_lines.py"
BAD_INPUT = 2
# What trains networks or keeps trials: skipped where the extra is not installed.
NEEDS_TRAIN = ("examples/own_sklearn.py", "examples/own_torch.py")
TRAIN = all(installed(module) for module in ("torch", "sqlalchemy"))

# Just enough of ProPublica's file for the first example of docs/guide/cohorts.md.
COMPAS = """sex,age,age_cat,race,juv_fel_count,decile_score,juv_misd_count,juv_other_count,priors_count,\
days_b_screening_arrest,c_charge_degree,is_recid,score_text,two_year_recid
Female,33,25 - 45,Caucasian,0,2,0,0,1,-1,F,0,Low,0
Male,23,Less than 25,African-American,1,9,2,3,4,30,M,1,High,1
"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    first_line: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A line that starts with "$ equipoise", and the output shown below it."""

    line: str
    shown: tuple[str, ...]

    @property
    def fails(self) -> bool:
        return any(line.startswith("error: ") or "Error" in line for line in self.shown)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def needs_of(page: Path) -> list[str]:
    """Return the modules that a page says it needs."""
    return re.findall(r"^<!-- needs: (\w+) -->$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)


def once(path: Path, needs: bool) -> object:
    """Return a page or an example for a test; what needs no more than the core is run once, without torch."""
    return pytest.param(path, id=name_of(path), marks=() if needs else pytest.mark.once)


def blocks_of(page: Path) -> list[Block]:
    blocks: list[Block] = []
    language, start, lines = "", 0, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```") and not language:
            language, start, lines = line.removeprefix("```").strip() or "text", number + 1, []
        elif line.startswith("```"):
            blocks.append(Block(language, start, tuple(lines)))
            language = ""
        else:
            lines.append(line)
    assert not language, f"a block of {name_of(page)} is not closed"
    return blocks


def script_of(page: Path) -> str:
    """Return the python blocks of a page as one script, each line at its own line number."""
    script: list[str] = []
    for block in blocks_of(page):
        if block.language == "python":
            script += [""] * (block.first_line - 1 - len(script))
            script += block.lines
    return "\n".join(script) + "\n"


def commands_of(page: Path) -> list[Command]:
    commands: list[Command] = []
    for block in blocks_of(page):
        if block.language != "console":
            continue
        for line in block.lines:
            if line.startswith("$ "):
                commands.append(Command(line.removeprefix("$ "), ()))
            elif commands:
                commands[-1] = Command(commands[-1].line, (*commands[-1].shown, line))
    return [command for command in commands if command.line.startswith("equipoise ")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that pages take for granted."""
    folder = tmp_path_factory.mktemp("files")
    frame = equipoise.load("adult").where("test").to_frame("pandas")
    frame.to_parquet(folder / "predictions.parquet")
    (folder / "compas-scores-two-years.csv").write_text(COMPAS, encoding="utf-8")
    write_binary(folder / "cifar10")
    if installed("PIL"):
        write_photos(folder / "photos")
    (folder / "examples").mkdir()
    for plan in (ROOT / "examples").glob("adult*.toml"):
        shutil.copy(plan, folder / "examples")
    return folder


def run(arguments: list[str], folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "120", "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "utf-8"}
    environment.pop("FORCE_COLOR", None)
    environment["XDG_CACHE_HOME"] = str(folder / ".cache")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("page", [once(page, bool(needs_of(page))) for page in PAGES])
def test_every_code_block_and_command_of_a_page_does_what_the_page_shows(
    page: Path, files: Path, tmp_path: Path
) -> None:
    for module in needs_of(page):
        pytest.importorskip(module)
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    script = script_of(page)
    if script.strip():
        check_script(script, page, tmp_path)
    check_commands(commands_of(page), tmp_path)


def check_script(script: str, page: Path, folder: Path) -> None:
    name = name_of(page)
    # A process of its own: what a page registers must not be seen by other tests.
    file = folder / f"{Path(name).stem}_blocks.py"
    file.write_text(script, encoding="utf-8")
    done = run([str(file)], folder)
    assert done.returncode == 0, f"{name} (the line numbers are those of the page):\n{done.stderr}"
    printed = done.stdout.splitlines()
    promises = re.findall(r"^print\(.*\)  # (.+)$", script, flags=re.MULTILINE)
    # A quotation below a block is a sentence that it prints.
    promises += re.findall(r"^```\n\n> (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for promised in promises:
        assert promised in printed, f"{name} promises {promised!r}, but printed:\n{done.stdout}"


def check_commands(commands: list[Command], folder: Path) -> None:
    if not commands:
        return
    lines = json.dumps([shlex.split(command.line)[1:] for command in commands])
    done = run(["-P", str(COMMAND_LINES)], folder, given=lines)
    assert done.returncode == 0, done.stderr
    for command, (code, output) in zip(commands, json.loads(done.stdout), strict=True):
        check_command(command, code, output)


def check_command(command: Command, code: int, output: str) -> None:
    expected = BAD_INPUT if command.fails else 0
    assert code == expected, f"{command.line}\nended with {code}:\n{output}"
    for line in command.shown:
        # "..." stands for what is left out, within a line or for whole lines.
        for part in line.strip().split("..."):
            assert part in output, f"{command.line}\nshould print {line!r}, but printed:\n{output}"


@pytest.mark.long
@pytest.mark.parametrize("example", [once(example, name_of(example) in NEEDS_TRAIN) for example in EXAMPLES])
def test_every_example_runs(example: Path, tmp_path: Path) -> None:
    if name_of(example) in NEEDS_TRAIN and not TRAIN:
        pytest.skip("needs equipoise[train]")
    done = run([str(example)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    ("kind", "page"),
    [
        ("measure", "docs/guide/measures.md"),
        ("comparison", "docs/guide/representations.md"),
        ("cohort", "docs/guide/cohorts.md"),
        ("sentence_encoder", "docs/guide/cohorts.md"),
        ("treatment", "docs/guide/treatments.md"),
        ("condition", "docs/guide/conditions.md"),
        ("learner", "docs/guide/learners.md"),
        ("metric_loss", "docs/guide/metric-learning.md"),
        ("miner", "docs/guide/metric-learning.md"),
        ("sampler", "docs/guide/metric-learning.md"),
        ("metric_preset", "docs/guide/metric-learning.md"),
    ],
)
def test_everything_registered_has_an_entry(kind: str, page: str) -> None:
    rows = [line for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith(("|", "#"))]
    own = [entry for entry in registry.entries(kind) if entry.module.startswith("equipoise.")]
    assert own
    for entry in own:
        about = [row for row in rows if f"`{entry.name}`" in row]
        assert about, f"{page} has no entry for the {kind} {entry.name}"
        if entry.alias is not None:
            assert any(f"| {entry.alias} |" in row for row in about), f"{page} does not name the alias {entry.alias}"


def test_the_changelog_counts_the_measures_right() -> None:
    own = [entry for entry in registry.entries("measure") if entry.module.startswith("equipoise.")]
    assert f"- {len(own)} measures" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PROSE, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{name_of(page)} links to {link}, which is not there"
        if anchor and target.suffix == ".md":  # pointers into JSON are compared by test_paper_numbers
            assert anchor in anchors_of(target), f"{name_of(page)} links to {link}, which has no such heading"


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_picture_shows_the_numbers_of_today(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("draw_demo", ROOT / "examples" / "draw_demo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = (ROOT / "docs" / "pictures" / "demo.svg").read_text(encoding="utf-8")
    advice = "redraw it: python examples/draw_demo.py docs/pictures/demo.svg"
    assert numbers_in(kept) == numbers_in(module.draw()), advice
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg|https://www\.textualize\.io", "", kept)


def numbers_in(picture: str) -> list[str]:
    text = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", picture)).replace("&#160;", " ")
    return sorted(re.findall(r"\d[\d,.]*", text))


# What peers.md says of Fairlearn, and of the same questions here.
QUESTIONS = {
    "scores": ([1, 0, 1, 0], [0.9, 0.8, 0.1, 0.2], ["a", "a", "b", "b"]),
    "text": (["yes", "no", "yes", "no"], ["yes", "yes", "no", "no"], ["a", "a", "b", "b"]),
    "one group": ([1, 0, 1, 0], [1, 1, 0, 0], ["a", "a", "a", "a"]),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_fairlearn_answers_zero_as_peers_says(question: str) -> None:
    fairlearn_metrics = pytest.importorskip("fairlearn.metrics")
    target, prediction, group = QUESTIONS[question]
    assert fairlearn_metrics.demographic_parity_difference(target, prediction, sensitive_features=group) == 0.0


@pytest.mark.parametrize(("prediction", "answer"), [([0, 0, 1, 0], 1.0), ([0, 0, 0, 0], 0.0)])
def test_fairlearn_gives_a_group_without_positives_a_number_and_we_do_not(prediction: list[int], answer: float) -> None:
    fairlearn_metrics = pytest.importorskip("fairlearn.metrics")
    target, group = [0, 0, 1, 0], ["a", "a", "b", "b"]
    assert fairlearn_metrics.equalized_odds_difference(target, prediction, sensitive_features=group) == answer
    ours = measures.equalized_odds(target, prediction, sensitive_features=group, favourable=1)
    assert ours != ours  # NaN


def test_we_refuse_or_count_what_fairlearn_calls_zero() -> None:
    for question in ("scores", "one group"):
        target, prediction, group = QUESTIONS[question]
        with pytest.raises(equipoise.BadInput):
            measures.demographic_parity(target, prediction, sensitive_features=group)
    target, prediction, group = QUESTIONS["text"]
    assert measures.demographic_parity(target, prediction, sensitive_features=group, favourable="yes") == 1.0


def test_the_tables_of_simulations_are_those_of_their_json() -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "tools/simulation_tables.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
