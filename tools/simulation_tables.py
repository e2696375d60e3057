"""Write the tables of uncertainty.md and ranking.md (docs/guide) from the JSON of the simulations in docs/simulations.

Run it as: python tools/simulation_tables.py [--check]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide"
SIMULATIONS = ROOT / "docs" / "simulations"


def percent(row: dict[str, float] | None) -> str:
    """Write a rate, or a dash where it was not simulated."""
    return "-" if row is None else f"{100 * row['rate']:.1f}%"


def groups(sizes: list[int]) -> str:
    """Write the sizes of groups, the many equal ones once."""
    if len(sizes) > 5 and len(set(sizes[1:])) == 1:
        rest = f"{len(sizes) - 1} of {sizes[-1]}"
        return f"{len(sizes)} of {sizes[0]}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} and {rest}"
    return ", ".join(f"{size:,}" for size in sizes)


def table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Return a Markdown table."""
    return [
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def audit_tables(found: list[dict[str, Any]]) -> list[str]:
    """Return the tables of simulated audits."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        parts.setdefault(row["part"], []).append(row)
    made: list[str] = []
    if "null report" in parts:
        made += ["Groups that do not differ. A report with any finding is wrong; all intervals of ratios together",
                 "should hold 1 in at least 95%.", ""]  # fmt: skip
        made += table(
            ["groups", "rate", "reports with a finding", "gap test at 5%", "ratios to the fixed group hold 1",
             "ratios to the highest hold 1", "said below four fifths"],
            [[groups(row["setting"]["sizes"]) + (", with a target" if row["setting"].get("target") else ""),
              f"{100 * row['setting']['rate']:g}%",
              *(percent(row["rates"].get(name)) for name in (
                  "any finding", "gap p <= 0.05", "all ratios to the fixed group hold 1",
                  "all ratios to the highest hold 1", "below four fifths said significant"))]
             for row in parts["null report"]],
        )  # fmt: skip
    if "weighted" in parts:
        made += ["Two groups of 400 (or as stated) that do not differ, weights that depend on the outcome.", ""]
        made += table(
            ["rate", "weights", "95% interval holds the rate", "contrast at 5%", "gap test at 5%",
             "reports with a finding"],
            [[f"{100 * row['setting']['rate']:g}%", weights(row["setting"]),
              *(percent(row["rates"].get(name)) for name in (
                  "interval holds the rate", "contrast p <= 0.05", "gap p <= 0.05", "any finding"))]
             for row in parts["weighted"]],
        )  # fmt: skip
    if "gap power" in parts:
        made += ["Groups of 900, 900, 150, 40 and 10: the test of the gap beside chi-square on the same table.", ""]
        made += table(
            ["rates", "gap test at 5%", "chi-square at 5%", "bound above the truth"],
            [[", ".join(f"{100 * rate:g}%" for rate in row["setting"]["rates"]),
              *(percent(row["rates"].get(name)) for name in (
                  "gap p <= 0.05", "chi-square p <= 0.05", "bound above the truth"))]
             for row in parts["gap power"]],
        )  # fmt: skip
    if "rare contrast" in parts:
        made += ["Rare outcomes without a difference: how often the exact test rejects at three levels.", ""]
        made += table(
            ["people", "rate", "at 5%", "at 0.83%", "at 0.14%"],
            [[f"{row['setting']['n1']} and {row['setting']['n2']:,}", f"{100 * row['setting']['rate']:g}%",
              *(f"{100 * row['rates'][name]['rate']:.2f}%" for name in row["rates"])]
             for row in parts["rare contrast"]],
        )  # fmt: skip
    if "equivalence" in parts:
        made += ["Two groups of 2,000 and a margin of 5 points: how often the difference is called within it.", ""]
        made += table(
            ["true difference", "contrast within", "gap within"],
            [[f"{100 * row['setting']['difference']:g} points",
              percent(row["rates"].get("contrast within")), percent(row["rates"].get("gap within"))]
             for row in parts["equivalence"]],
        )  # fmt: skip
    if "power" in parts:
        rate = percent(parts["power"][0]["rates"].get("found"))
        made += [
            f"A gap of the size that the report calls detectable (80%), two groups of 400, is a finding in {rate}.",
            "",
        ]
    return made


def weights(setting: dict[str, Any]) -> str:
    """Say who weighs more."""
    if setting["ratio"] == 1:
        return "equal"
    who = "selected" if setting["ratio"] > 1 else "others"
    times = setting["ratio"] if setting["ratio"] > 1 else 1 / setting["ratio"]
    unit = " (all times 1,000)" if setting.get("unit") else ""
    size = "" if setting["size"] == 400 else f", groups of {setting['size']:,}"
    return f"{who} weigh {times:g} times as much{unit}{size}"


def verdict_tables(found: dict[str, Any]) -> list[str]:
    """Return the tables of simulated studies: without a difference, and the power to find one of 4 standard errors.

    A row is a measure and a number of seeds, and a cell the range over the settings simulated for it.
    """
    shares: dict[bool, dict[tuple[str, str], dict[str, list[float]]]] = {False: {}, True: {}}
    for name, values in found["settings"].items():
        seeds = next(part.removesuffix(" seeds") for part in name.split(", ") if part.endswith(" seeds"))
        for row in values:
            levels = shares[row["effect"] > 0].setdefault((row["measure"].replace("_", " "), seeds), {})
            levels.setdefault(row["level"], []).append(100 * row["share"])

    def rows(kind: dict[tuple[str, str], dict[str, list[float]]]) -> list[list[str]]:
        order = list(dict.fromkeys(measure for measure, _ in kind))
        return [
            [measure, seeds, str(len(kind[measure, seeds]["0.05"])),
             *(between(kind[measure, seeds][level]) for level in ("0.05", "0.05/6", "0.05/36"))]
            for measure, seeds in sorted(kind, key=lambda key: order.index(key[0]))
        ]  # fmt: skip

    headings = ["measure", "seeds", "settings", "at 5%", "at 0.83%", "at 0.14%"]
    power = [
        "How often a change of 4 standard errors is called a difference:",
        "",
        *table(headings, rows(shares[True])),
    ]
    return [*table(headings, rows(shares[False])), *power] if shares[False] else []


def between(values: list[float]) -> str:
    """Write the lowest and the highest of some shares in percent."""
    low, high = f"{min(values):.2f}%", f"{max(values):.2f}%"
    return low if low == high else f"{low} to {high}"


RANKINGS = {
    (0, False): "one ranking, k = 20",
    (24, False): "24 queries of about 10 rows, k = 3",
    (24, True): "24 queries, each favouring a group at random",
}


def ranking_tables(found: list[dict[str, Any]]) -> list[str]:
    """Return the table of simulated rankings in which nothing differs."""

    def span(rates: dict[str, dict[str, float]], *, contrasts: bool) -> str:
        values = [row["rate"] for name, row in rates.items()
                  if name != "any finding" and name.startswith("contrast") == contrasts]  # fmt: skip
        return f"{100 * min(values):.1f}% to {100 * max(values):.1f}%"

    return table(
        ["", "contrasts (nine tests)", "largest differences (three tests)", "reports with a finding"],
        [[RANKINGS[row["setting"]["queries"], row["setting"].get("uneven", False)],
          span(row["rates"], contrasts=True), span(row["rates"], contrasts=False), percent(row["rates"]["any finding"])]
         for row in found],
    )  # fmt: skip


TABLES = (
    ("uncertainty.md", "audits", audit_tables),
    ("uncertainty.md", "verdicts", verdict_tables),
    ("ranking.md", "rankings", ranking_tables),
)


def pages() -> dict[Path, str]:
    """Return the pages as they should be."""
    made: dict[Path, str] = {}
    for page, name, tables in TABLES:
        path = GUIDE / page
        text = made.get(path) or path.read_text(encoding="utf-8")
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        content = json.loads((SIMULATIONS / f"{name}.json").read_text(encoding="utf-8"))
        before, rest = text.split(start)
        made[path] = before + start + "\n" + "\n".join(tables(content)) + end + rest.split(end)[1]
    return made


def main() -> None:
    """Write the pages, or with --check say whether they are as they should be."""
    for path, text in pages().items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif text != path.read_text(encoding="utf-8"):
            sys.exit(f"{path.name} is not that of docs/simulations")


if __name__ == "__main__":
    main()
