"""Write the numbers of a page about a paper anew from the JSON that each links to, at the digits shown.

python tools/refresh_numbers.py docs/papers/004.md

A link such as ``[65.4%](004/cifar10s.json#/techniques/untreated/measures/accuracy/mean)`` keeps its unit and digits;
in a table with a row for each technique, an arrow behind a mean follows the verdict beside it (higher, lower, or none).
What changed is printed: the sentences around it are to be read again. ``tests/docs/test_paper_numbers.py`` compares the
same numbers.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

# A row of a table for one technique.
TECHNIQUE = re.compile(r"\| (S-|`)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+\.json)#(/[^)\s]*)\)( [\u25b2\u25bc])?")
ARROWS = {"higher": " \u25b2", "lower": " \u25bc"}


def refreshed(page: Path) -> tuple[str, list[str]]:
    """Return the text of a page with its numbers as they are now, and what changed."""
    documents: dict[str, Any] = {}
    changed = []
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)

    def written(found: re.Match[str]) -> str:
        shown, file, pointer, arrow = found.groups()
        if file not in documents:
            documents[file] = json.loads((page.parent / file).read_text(encoding="utf-8"))
        document = documents[file]
        *above, last = [unquote(part).replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        try:
            for key in above:
                document = document[int(key)] if isinstance(document, list) else document[key]
            value = document[int(last)] if isinstance(document, list) else document[last]
        except (KeyError, IndexError):
            changed.append(f"{shown} -> no longer there   {file}#{pointer}")
            return found.group()
        now = as_shown(shown, value)
        told = arrow or ""
        if TECHNIQUE.match(found.string) and last == "mean" and "verdict" in document:
            told = ARROWS.get(document["verdict"], "")
        if (now, told) != (shown, arrow or ""):
            changed.append(f"{shown}{arrow or ''} -> {now}{told}   {file}#{pointer}")
        return f"[{now}]({file}#{pointer}){told}"

    return "".join(LINK.sub(written, line) for line in lines), changed


def as_shown(shown: str, value: Any) -> str:
    """Write a value with the digits and the unit that a text has; one that was undefined has a digit and is a share."""
    if value is None:
        return "undefined"
    if isinstance(value, list):
        return ", ".join(str(one).replace("_", " ") for one in value) or "none"
    if isinstance(value, str):
        return value
    unit = next((unit for unit in (" %", "%") if shown.endswith(unit)), "%" if shown == "undefined" else "")
    digits = 1 if shown == "undefined" else len(shown.removesuffix(unit).partition(".")[2])
    text = f"{(100 if unit else 1) * value:,.{digits}f}"
    return f"{text[1:] if re.fullmatch('-[0.,]+', text) else text}{unit}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        text, changes = refreshed(Path(name))
        Path(name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(changes)} numbers changed")
        print("\n".join(changes))
