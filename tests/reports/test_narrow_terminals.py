"""What does not fit is said: columns that a narrow terminal leaves out, names that a label cuts short."""

import io

import pytest
from rich.console import Console

import equipoise
from equipoise.foundation import report_of
from equipoise.reports._formats import distinct_names


@pytest.mark.parametrize(("width", "said"), [(80, True), (200, False)])
def test_rates_that_a_narrow_terminal_leaves_out_are_named(width: int, said: bool) -> None:
    people = equipoise.load("adult")
    result = equipoise.audit(people, prediction="income", favourable=">50K", sensitive_features="race", draws=0)
    text = io.StringIO()
    report_of("audit").show(result, Console(file=text, width=width))
    assert ("Too narrow for" in text.getvalue()) == said
    assert ("True positive rate" in text.getvalue()) or said


def test_names_that_a_label_would_cut_to_the_same_text_are_numbered() -> None:
    long = ["Amer-Indian-Eskimo & Female & 25 to 45", "Amer-Indian-Eskimo & Female & 55 to 45", "Other"]
    labels = distinct_names(long, 17)
    assert len(set(labels)) == 3
    assert all(len(label) <= 17 for label in labels)
    assert labels[2] == "Other"
