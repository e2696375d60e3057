"""The headline counts of paper 004 (sections 3.1 to 3.3), from the 27 files of numbers its authors published.

The files are not part of this repository. Get the folder ``raw_bias_numbers/overall`` of lin-tan/fairness-variance (69
KB) and name it in the environment variable EQUIPOISE_FIT_YAML. What rests on accuracies as well (70 of the 103 carry a
cost, 54 a lower accuracy, 15 a more variable one) is not checked here: these files hold none.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from equipoise.audits.evidence import EvidenceRecord, EvidenceResult, evidence
from equipoise.studies.findings.identical._runs import compared as by_the_papers_rule

FOLDER = os.environ.get("EQUIPOISE_FIT_YAML")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="EQUIPOISE_FIT_YAML names no folder with the paper's numbers")

# The paper's test, and the spread it compares.
PAPER = {"test": "mann-whitney", "spread": "relative"}
METRICS = ("DP", "DI bar", "SPSF", "FPSF", "EOFP", "EOTP", "BA")


def numbers_in(file: Path) -> dict[str, list[float]]:
    """Read what the files hold: a metric and a colon, then a dash and a number for each run."""
    found: dict[str, list[float]] = {}
    values: list[float] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("- "):
            values.append(float(line.removeprefix("- ")))
        elif line.strip():
            values = found.setdefault(line.strip().removesuffix(":").strip("'\""), [])
    return found


@pytest.fixture(scope="module")
def rows() -> dict[str, list[object]]:
    files = sorted(Path(str(FOLDER)).glob("*.yaml"))
    assert len(files) == 27
    rows = [
        # S-*, C-*, I-*, A-* and N-* are each held against their own *-Base.
        (file.stem, f"{file.stem.partition('-')[0]}-Base", metric, run, value)
        for file in files
        for metric, values in numbers_in(file).items()
        for run, value in enumerate(values)
    ]
    assert len(rows) == 27 * 7 * 16
    names = ("technique", "baseline", "metric", "run", "value")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def judged(rows: dict[str, list[object]], **options: str) -> EvidenceResult:
    return evidence(
        rows, technique="technique", metric="metric", run="run", value="value", baseline_column="baseline", **options
    )


@pytest.fixture(scope="module")
def paper(rows: dict[str, list[object]]) -> EvidenceResult:
    return judged(rows, alternative="observed", correction="none", **PAPER)


def compared(result: EvidenceResult) -> list[EvidenceRecord]:
    return [record for record in result.records if record.verdict is not None]


def only(result: EvidenceResult, technique: str, metric: str) -> EvidenceRecord:
    [record] = result.find(technique=technique, metric=metric)
    return record


def test_103_of_154_experiments_are_lower_and_47_higher(paper: EvidenceResult) -> None:
    assert len(paper.records) == 189
    assert Counter(record.verdict for record in compared(paper)) == {"lower": 103, "higher": 47, "none": 4}


def test_96_of_the_103_have_a_huge_effect(paper: EvidenceResult) -> None:
    assert sum(record.band == "huge" for record in compared(paper) if record.verdict == "lower") == 96


def test_34_of_154_ranges_overlap(paper: EvidenceResult) -> None:
    assert sum(bool(record.overlap) for record in compared(paper)) == 34


def test_15_of_22_techniques_raise_a_metric_all_of_them_bias_amplification(paper: EvidenceResult) -> None:
    higher = [record for record in compared(paper) if record.verdict == "higher"]
    assert len({record.technique for record in higher}) == 15
    assert {record.technique for record in higher} == {r.technique for r in higher if r.metric == "BA"}


def test_36_of_the_103_raise_the_variance_of_the_metric(paper: EvidenceResult) -> None:
    lower = [record for record in compared(paper) if record.verdict == "lower"]
    assert sum("metric variance higher" in record.costs for record in lower) == 36


def test_the_largest_differences_are_those_of_the_paper(paper: EvidenceResult) -> None:
    assert max(record.maxdiff for record in paper.records) == only(paper, "A-L2", "DP").maxdiff
    assert only(paper, "A-L2", "DP").maxdiff == pytest.approx(0.1264, abs=5e-5)
    assert only(paper, "S-GR", "DI bar").maxdiff == pytest.approx(0.1184, abs=5e-5)


def test_the_example_of_section_3_2_has_the_papers_p_values(paper: EvidenceResult) -> None:
    example = only(paper, "S-GR", "BA")
    assert example.verdict == "higher"
    assert example.mean == pytest.approx(0.087, abs=5e-4)
    assert only(paper, "S-Base", "BA").mean == pytest.approx(0.074, abs=5e-4)
    assert example.p == pytest.approx(0.00106, abs=5e-6)
    assert example.levene_p == pytest.approx(0.00049, abs=6e-6)


@pytest.mark.parametrize(
    ("technique", "metric", "p", "d", "levene"),
    [
        # Rows of the authors' own table of tests. They rounded values to four digits first, and give d without a sign
        # and only where there is a difference.
        ("S-GR", "EOTP", 0.00032, 1.60, 0.00022),
        ("S-DD2", "EOTP", 0.0, -15.77, 0.02069),
        ("C-A4", "DI bar", 0.01823, 0.86, 0.58733),
        ("I-A4", "DI bar", 0.00137, 1.14, 0.47841),
        ("A-ALM", "EOFP", 0.00016, -1.50, 0.03659),
        ("A-ALM", "DI bar", 0.49248, None, 0.04983),
        ("N-Flow", "DP", 0.0, -202.10, 0.00312),
    ],
)
def test_rows_of_the_authors_table(
    paper: EvidenceResult, technique: str, metric: str, p: float, d: float | None, levene: float
) -> None:
    record = only(paper, technique, metric)
    assert record.p == pytest.approx(p, abs=2e-4)
    assert d is None or record.d == pytest.approx(d, rel=0.02)
    assert record.levene_p == pytest.approx(levene, rel=0.02)


def test_the_constant_baseline_is_told_in_words(paper: EvidenceResult) -> None:
    for metric in METRICS:
        assert "all 16 runs of 'N-Base' gave the same value" in (only(paper, "N-Flow", metric).reason or "")


def test_a_two_sided_test_with_a_correction_gives_the_same_counts(rows: dict[str, list[object]]) -> None:
    counts = Counter(record.verdict for record in compared(judged(rows, **PAPER)))
    assert counts == {"lower": 103, "higher": 47, "none": 4}


def test_a_study_would_count_the_same_by_the_papers_rule(rows: dict[str, list[object]]) -> None:
    table: dict[str, dict[str, list[float]]] = {}
    for technique, metric, value in zip(rows["technique"], rows["metric"], rows["value"], strict=True):
        table.setdefault(str(technique), {}).setdefault(str(metric), []).append(float(str(value)))
    baselines = dict(zip(map(str, rows["technique"]), map(str, rows["baseline"]), strict=True))
    found = by_the_papers_rule(table, baselines, "accuracy").values()
    assert Counter(one.record.verdict for one in found) == {"lower": 103, "higher": 47, "none": 4}
    # The paper counts 14.
    assert sum(one.record.mean > one.baseline.mean and one.record.min < one.baseline.max for one in found) == 15
