"""Write into docs/papers/004.md which trainings were too short, from the shortened JSON of the study.

python docs/papers/004/unfinished.py docs/papers/004/cifar10s.json docs/papers/004.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

BEGIN, END = "<!-- unfinished: begin -->\n", "<!-- unfinished: end -->\n"
WORDS = {"loss_still_falling": "loss still falling", "constraint_unmet": "constraint unmet"}
TEXT = """\
The [rule](../guide/study-report.md#was-the-training-long-enough) asks each training whether its loss was still falling
and whether its constraints were met, in at least half of the runs. The *late decline* is the share of the whole decline
in loss that the last fifth of the epochs brought, a mean over runs; above 5% the loss was still falling. The *residual*
is how far the share of a domain among the rows of a class lies beyond RBA's bound, at worst.

| technique | late decline | largest residual | runs too short | too short, because |
| --- | --- | --- | --- | --- |
"""
TOTAL = """
**{short} of {number} techniques were trained too briefly to judge them by**, those that agree with the paper included.
"""


def block(file: str, techniques: dict[str, dict[str, object]]) -> str:
    """Return the sentences and the table: one row per technique, every number with its source."""
    rows = []
    for name, own in techniques.items():
        at = f"{file}#/techniques/{name}"
        late, residual = (
            "-" if own[field] is None else f"[{100 * float(str(own[field])):.1f}%]({at}/{field})"
            for field in ("late_decline", "constraint_residual")
        )
        reasons = own["unfinished_training"]
        assert isinstance(reasons, list)
        because = ", ".join(WORDS[str(one)] for one in reasons) or "no"
        runs = f"[{own['unfinished_runs']}]({at}/unfinished_runs) of [{own['runs']}]({at}/runs)"
        rows.append(f"| `{name}` | {late} | {residual} | {runs} | {because} |\n")
    short = sum(bool(own["unfinished_training"]) for own in techniques.values())
    total = TOTAL.format(short=short, number=len(techniques))
    return TEXT + "".join(rows) + total


if __name__ == "__main__":
    source, page = map(Path, sys.argv[1:])
    text = page.read_text(encoding="utf-8")
    start, stop = text.index(BEGIN) + len(BEGIN), text.index(END)
    told = json.loads(source.read_text(encoding="utf-8"))["techniques"]
    made = block(source.relative_to(page.parent).as_posix(), told)
    page.write_text(text[:start] + made + text[stop:], encoding="utf-8")
