"""A page does not contradict itself: a chart, a table and a sentence about one number say the same of it."""

from __future__ import annotations

from dataclasses import replace

from equipoise.audits import AuditResult
from equipoise.foundation import report_of
from equipoise.reports import formats
from equipoise.reports._document import Cell, DataTable, Details, Document, Meaning, plain
from equipoise.reports._records import bound_includes_zero, class_of, record_verdict, subjects_of, title_of
from equipoise.reports._spaces import main_gaps
from equipoise.reports.charts.forest import main_forest, space_gaps
from equipoise.reports.narrative._study_words import LONGEST_SENTENCE, unknown
from helpers.cases import embedding as embedding_cases
from helpers.cases import report as report_cases
from helpers.cases import study as study_cases

AUDITS = report_of("audit")


def tables(document: Document, section: str) -> list[DataTable]:
    blocks = next(part.blocks for part in document.sections if part.id == section)
    inside = [one for block in blocks if isinstance(block, Details) for one in block.blocks]
    return [block for block in (*blocks, *inside) if isinstance(block, DataTable)]


def cells_of(table: DataTable, title: str) -> list[Cell]:
    place = [plain(column.title) for column in table.columns].index(title)
    return [row.cells[place] for row in table.rows]


def rows_of(result: AuditResult, chart: object) -> list[dict[str, object]]:
    spec = chart.spec  # type: ignore[attr-defined]
    return list(spec["datasets"]["rows"])


def test_a_gap_of_an_embedding_means_the_same_in_both_tables_and_in_the_chart() -> None:
    result = embedding_cases.plain()
    means = {
        place: Meaning.QUIET if not record.finding else Meaning.BETTER if record.value < 0 else Meaning.WORSE
        for subject in subjects_of(result)
        for place, record in main_gaps(result, subject)
    }
    assert {Meaning.BETTER, Meaning.WORSE} <= set(means.values())
    *short, every = tables(AUDITS.document(result), "gaps")
    in_short = [cell.meaning for table in short for cell in cells_of(table, "Verdict")]
    assert sorted(in_short, key=str) == sorted(means.values(), key=str)
    in_every = [cell.meaning for cell in cells_of(every, "Verdict") if plain(cell.text) == "confirmed"]
    assert in_every.count(Meaning.BETTER) == list(means.values()).count(Meaning.BETTER)
    chart = space_gaps(result)
    for row in rows_of(result, chart):
        said = {"confirmed, worse off": Meaning.WORSE, "confirmed, better off": Meaning.BETTER}.get(str(row["what"]))
        assert (said or Meaning.QUIET) == means[row["record"]]  # type: ignore[index]


def test_the_first_chart_of_several_labels_shows_one_label_and_names_it() -> None:
    result = report_cases.many_labels()
    chart = main_forest(result)
    assert chart is not None
    rows = rows_of(result, chart)
    labels = {result.records[int(str(row["record"]))].label for row in rows}
    assert len(labels) == 1
    assert len({(row["line"], row["panel"]) for row in rows}) == len(rows)
    assert chart.title.endswith(f"of '{labels.pop()}'")


def test_a_mean_over_classes_is_called_so_in_tables() -> None:
    result = report_cases.adult()
    means = result.find("selection_rate", kind="rate", scope="overall", group="Female", attribute="sex")
    assert {class_of(record) for record in means} <= {"mean of all", "all rows together"}
    assert means
    [accuracy] = result.find("accuracy", kind="rate", scope="overall", group="Female", attribute="sex")[:1]
    assert class_of(accuracy) == ""


def test_a_small_p_that_is_no_finding_says_why() -> None:
    result = report_cases.regression()
    [gap] = result.find("mean_absolute_error_difference", kind="gap")
    assert gap.finding is False
    assert gap.p_adjusted is not None
    assert gap.p_adjusted < 0.05
    assert bound_includes_zero(gap)
    [table] = tables(AUDITS.document(result), "gaps")[:1]
    place = [plain(cell.text) for cell in cells_of(table, "Measure")].index("Mean absolute error difference")
    assert cells_of(table, "Verdict")[place].below == ("its bound is 0: p and bound must both say so",)
    contrast = next(r for r in result.contrasts if r.finding is False)
    assert record_verdict(replace(contrast, p_adjusted=0.01)).below == ("its interval includes 0",)
    assert record_verdict(replace(contrast, p_adjusted=0.2)).below == ()


def test_names_of_measures_keep_their_capitals() -> None:
    assert title_of("auc_difference") == "AUC difference"
    assert title_of("best_group_f1") == "Best group F1"
    assert title_of("no_such_measure") == "No such measure"


def test_a_negative_number_has_a_true_minus_sign() -> None:
    assert formats.decimal(-0.009359) == "−0.009"
    assert formats.decimal(-12_345.6) == "−1.235e+04"


def test_what_is_inconclusive_in_a_large_study_is_never_cut_in_the_middle() -> None:
    sentences = list(unknown(study_cases.curves()))
    assert sentences
    assert max(map(len, sentences)) < 1.5 * LONGEST_SENTENCE
    assert not any("…" in sentence for sentence in sentences)
