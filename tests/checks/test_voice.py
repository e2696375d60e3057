"""No text of the package is written in the dialect that was replaced (docs/voice.md says by what)."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "equipoise"
DIALECT = (
    "held against", "held up to", "cannot be told", "not told", "could be chance", "more than chance", "goes a way",
    "way out:", "couples of runs", "bring home", "bring trials home", "let go of", "dealt out", "does not stand",
    "it stands.", "these runs do not show", "majoritised side has", "a line a technique", "a row a person", "95 %",
)  # fmt: skip
MAYBE = re.compile("|".join(r"[\s\"'rf]+".join(map(re.escape, phrase.split())) for phrase in DIALECT))
# Values of JSON that was written before, and names of random streams.
DATA = {"results/_record.py": ("cannot be told",), "discovery/_agreement.py": ("dealt out",)}


def phrases_in(text: str) -> list[str]:
    """Return the phrases of the dialect in a text, wherever its lines break and its literals are split."""
    flat = " ".join(text.split()).lower()
    return [phrase for phrase in DIALECT if phrase in flat]


def literals(path: Path) -> Iterator[str]:
    """Yield the text of a Python file's strings; comments and names are left out, and split strings are joined."""
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.STRING:
            before += re.sub(r"^[a-zA-Z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$", "", token.string)
        elif token.type not in (tokenize.NL, tokenize.COMMENT):
            yield before
            before = ""


def test_no_text_of_the_package_is_in_the_old_dialect() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*")):
        place = path.relative_to(SOURCE).as_posix()
        if path.suffix == ".py":
            # Reading every file's tokens is slow: only those that may have a phrase in a string are.
            texts = list(literals(path)) if MAYBE.search(path.read_text(encoding="utf-8").lower()) else []
        elif path.suffix in (".jinja", ".js", ".css"):
            texts = [path.read_text(encoding="utf-8")]
        else:
            continue
        found += [(place, phrase) for text in texts for phrase in phrases_in(text) if phrase not in DATA.get(place, ())]
    assert found == []


def test_no_page_that_a_user_reads_is_in_the_old_dialect() -> None:
    """The pages about papers have their own checks; the voice's page shows the dialect, and what replaced it."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")]
    pages += [*(ROOT / "docs" / "start").glob("*.md"), *(ROOT / "examples" / "notebooks").glob("*.ipynb")]
    found = []
    for path in pages:
        if path.name != "voice.md":
            text = path.read_text(encoding="utf-8")
            found += [(path.name, phrase) for phrase in phrases_in(text)]
            found += [(path.name, phrase) for phrase in re.findall(r"[Pp]aper 00\d", text)]
    assert found == []


def test_the_check_finds_a_phrase_over_lines_and_split_strings_and_leaves_comments_alone(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    lines = (
        "# held against",
        "X = (",
        '    "what it is held "',
        '    "against"',
        ")",
        "",
        "def f():",
        '    """Not',
        '    told."""',
    )
    path.write_text("\n".join(lines))
    assert MAYBE.search(path.read_text())
    assert [phrase for text in literals(path) for phrase in phrases_in(text)] == ["held against", "not told"]
