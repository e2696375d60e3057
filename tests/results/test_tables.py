"""Tables for other programs: no formula in a spreadsheet, no command in LaTeX, no digit lost."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import equipoise
from equipoise.audits.evidence import evidence
from equipoise.foundation import csv_text
from equipoise.reports.render.latex import LATEX, escaped, latex
from equipoise.results import Interval, Table
from helpers.cases.report import HOSTILE
from helpers.running import Program

names = st.text() | st.sampled_from(HOSTILE)


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(names)
@example('=HYPERLINK("http://x")')
@example("@SUM(1)")
@example("-1+1")
@example("\t=1")
@example("＝1")
def test_no_name_is_a_formula(name: str) -> None:
    ((_,), (cell,)) = read(csv_text(["group"], [[name]])) if name else (("group",), ("",))
    assert not cell.startswith(tuple("=+-@\t\r\n＝＋－＠")) or re.fullmatch(r"[+-]?\d*\.?\d*", cell)
    known = name.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")
    assert cell in (known, f"'{known}")


@pytest.mark.parametrize("name", ["-1", "+2.5", "plain", "a,b", 'a "quote"', "two\nlines", "Ünï ✓", "a=b", "1-2"])
def test_an_innocent_name_comes_back_as_it_was(name: str) -> None:
    assert read(csv_text(["group"], [[name]]))[1] == [name]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_comes_back_as_it_was(value: float) -> None:
    (_, (cell,)) = read(csv_text(["value"], [[value]]))
    assert float(cell) == value


def test_undefined_is_empty_and_truth_is_a_word() -> None:
    text = csv_text(["a", "b", "c", "d", "e"], [[None, math.nan, math.inf, True, 3]])
    assert text == "a,b,c,d,e\r\n,,,true,3\r\n"


@given(names)
@example("[x] & \\input{/etc/passwd} % $1_2^3~#{}")
@example("--``''\"|<>*")
def test_no_name_is_a_command(name: str) -> None:
    text = escaped(name)
    # Take away what we wrote ourselves: then nothing is left that LaTeX would act on.
    left = text
    for written in sorted(LATEX.values(), key=len, reverse=True):
        left = left.replace(written, "")
    assert not re.search(r"[\\{}$&#_%~^<>|\"`\[\]*-]", left)
    assert "\n" not in text
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def rows_of(text: str, table: str) -> list[list[str]]:
    """The cells of a LaTeX table between its head and its end."""
    body = text.partition(f"tab:equipoise-{table}")[2].partition("\\endfoot\n")[2].partition("\\end{longtable}")[0]
    return [re.split(r" (?<!\\)& ", line.removesuffix(r" \\")) for line in body.splitlines()]


def test_a_table_has_the_rules_of_booktabs_and_says_undefined_with_a_dash() -> None:
    table = Table(
        "t", "A & B", ("name", "value", "interval"),
        (("a_b", -0.25, Interval(-0.5, 0.1)), ("[c]", math.nan, Interval(None, None)), ("d", 1e-7, Interval(0.0, None)),
         ("e", 12_345.0, Interval(1.0, 2_000.5))),
    )  # fmt: skip
    text = latex([table, Table("empty", "nobody", ("x",), ())])
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [2, 2, 1]
    assert r"\caption{A \& B}" in text
    assert "nobody" not in text
    assert r"\begin{longtable}{lrr}" in text
    assert rows_of(text, "t") == [
        [r"a\_b", "$-$0.250", "{[}$-$0.500, 0.100{]}"],
        ["{[}c{]}", "--", "--"],
        ["d", r"$1.0 \times 10^{-7}$", "{[}0.000, --{]}"],
        ["e", "12{,}345", "{[}1.000, $2.0 \\times 10^{3}${]}"],
    ]
    assert not re.search(r"\\\\\s*[\[*]", text)  # these would be read as options of the line's end


@pytest.fixture(scope="module")
def audit() -> equipoise.AuditResult:
    generator = np.random.default_rng(0)
    group = np.array(["=cmd|' /C calc'!A0", "50% & \\input{x}", "plain"])[generator.integers(0, 3, 400)]
    target, new, old = (generator.integers(0, 2, 400) for _ in range(3))
    return equipoise.audit(
        target=target, prediction=new, against_prediction=old, favourable=1, sensitive_features={"a_b": group},
        draws=20,
    )  # fmt: skip


def test_every_record_and_change_of_an_audit_is_in_the_csv(audit: equipoise.AuditResult, tmp_path: Path) -> None:
    text = audit.to_csv(tmp_path / "audit.csv")
    assert (tmp_path / "audit.csv").read_bytes().decode("utf-8") == text
    head, *rows = read(text)
    assert len(rows) == len(audit.records) + len(audit.changes)
    assert {len(row) for row in rows} == {len(head)}
    told = [dict(zip(head, row, strict=True)) for row in rows]
    for record, row in zip(audit.records, told, strict=False):
        assert (row["measure"], row["kind"]) == (record.measure, record.kind)
        assert row["value"] == "" if math.isnan(record.value) else float(row["value"]) == record.value
        assert row["attribute"] == " & ".join(record.attribute)
    for change, row in zip(audit.changes, told[len(audit.records) :], strict=True):
        assert row["kind"] == f"change of {change.kind}"
        assert float(row["value"]) == change.change
        assert (float(row["before"]), float(row["after"])) == (change.before, change.after)
    assert "'=cmd|' /C calc'!A0" in {row["group"] for row in told}
    assert not any(cell.startswith("=") for row in rows for cell in row)


def test_the_tables_of_an_audit_are_rates_contrasts_gaps_and_changes(audit: equipoise.AuditResult) -> None:
    text = audit.to_latex()
    for name in ("rates", "contrasts", "gaps", "changes"):
        table = next(table for table in audit.tables() if table.name == name)
        rows = rows_of(text, name)
        assert len(rows) == len(table.rows) > 0
        assert {len(row) for row in rows} == {len(table.headings)}
    assert r"50\% \& \textbackslash{}input\{x\}" in text
    assert r"\input{x}" not in text
    assert r"a\_b" in text


def test_the_favourable_class_is_named_once_a_table_and_no_record_is_lost() -> None:
    draw = np.random.default_rng(1)
    target, said = (np.array(["yes", "no", "later"])[draw.integers(0, 3, 300)] for _ in range(2))
    ask = {"target": target, "prediction": said, "sensitive_features": {"g": draw.choice(["a", "b"], 300)}, "draws": 20}
    result = equipoise.audit(**ask, favourable="yes")
    tables = {table.name: table for table in result.tables() if table.rows}
    text = result.to_latex()
    assert [text.count(word) for word in ("class: yes", " yes &", "& yes")] == [3, 0, 0]
    for name in ("rates", "contrasts", "gaps"):
        assert tables[name].caption.endswith("; class: yes, where a measure is of one class")
        assert "class" not in tables[name].headings
    kinds = {
        "rates": ("rate", "value", "ratio to group"),
        "contrasts": ("contrast",),
        "gaps": ("gap", "ratio", "summary"),
    }
    for name, kind in kinds.items():
        records = [r for r in result.records if r.kind in kind and r.attribute]
        told = [row for table in tables.values() if table.name.startswith(name) for row in table.rows]
        twice = [r for r in records if r.scope == "class" and r.class_ == "yes"]  # the same numbers as favourable
        assert len(told) == len(records) - len(twice)
    rows = tables["rates-by-class"].rows
    assert {row[tables["rates-by-class"].headings.index("class")] for row in rows} == {"no", "later", None}
    # Without a favourable class every class has its rows.
    [rates, *_] = equipoise.audit(**ask).tables()
    assert {row[rates.headings.index("class")] for row in rates.rows} == {"yes", "no", "later", None}
    assert rates.caption == "Rates and values of each group, with 95% intervals"


def test_evidence_has_its_csv_and_its_table() -> None:
    runs = {
        "technique": [name for name in ("base", "S_GR") for _ in range(4)], "metric": ["D&P"] * 8,
        "run": [*range(4), *range(4)], "value": [0.3, 0.31, 0.32, 0.33, 0.1, 0.1 + 1e-16, 0.12, 0.13],
    }  # fmt: skip
    result = evidence(runs, technique="technique", metric="metric", run="run", value="value", baseline="base")
    head, *rows = read(result.to_csv())
    assert [dict(zip(head, row, strict=True))["technique"] for row in rows] == ["base", "S_GR"]
    assert [float(row[head.index("mean")]) for row in rows] == [record.mean for record in result.records]
    (base, other) = rows_of(result.to_latex(), "evidence")
    assert other[:3] == [r"S\_GR", r"D\&P", "4"]
    assert base[-2:] == ["--", "--"]


def test_the_commands_write_both_and_refuse_one_file_for_two(equipoise: Program, tmp_path: Path) -> None:
    table, tex = tmp_path / "demo.csv", tmp_path / "demo.tex"
    people = tmp_path / "people.csv"
    people.write_text("y,p,g\n" + "".join(f"{n % 2},{n % 3 % 2},{'ab'[n % 5 > 2]}\n" for n in range(200)))
    ask = ("audit", people, "--target", "y", "--prediction", "p", "--group", "g", "--draws", "5")
    ended = equipoise(*ask, "--csv", table, "--latex", tex)
    assert ended.code == 0
    assert str(table.name) in ended.out.replace("\n", "")
    assert read(table.read_text())[0][0] == "measure"
    assert tex.read_text().startswith("% Needs")
    ended = equipoise(*ask, "--csv", table, "--latex", table)
    assert ended.code == 2
    assert "--csv and --latex both write" in ended.err
    assert equipoise(*ask, "--csv", people).code == 2

    runs = tmp_path / "runs.csv"
    runs.write_text("technique,metric,run,value\n" + "".join(f"{t},DP,{n},{n / 10}\n" for t in "ab" for n in range(5)))
    assert equipoise("evidence", runs, "--baseline", "a", "--csv", table, "--latex", tex, "--quiet").code == 0
    assert read(table.read_text())[0][0] == "technique"
    assert "tab:equipoise-evidence" in tex.read_text()
