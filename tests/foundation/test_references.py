"""What to cite: everything registered has a reference, and the bibliography is one that BibTeX can read."""

from __future__ import annotations

import re

import pytest

import equipoise
from equipoise.foundation import (
    KINDS,
    Entry,
    bibtex_of,
    registry,
)
from equipoise.foundation._references import (
    PAPERS,
    REFERENCES,
    references_of,
)
from equipoise.measures import get_measure
from helpers.running import Program

OWN = [entry for kind in KINDS for entry in registry.entries(kind) if entry.module.startswith("equipoise.")]


@pytest.mark.parametrize("entry", OWN, ids=lambda entry: f"{entry.kind} {entry.name}")
def test_everything_registered_can_be_cited(entry: Entry) -> None:
    found = references_of(entry)
    assert found, f"{entry.paper!r} is not in foundation/_references.py"
    assert found[0] is REFERENCES[PAPERS[entry.paper]]


def test_every_reference_is_used_and_every_origin_is_of_something() -> None:
    origins = {entry.origin for entry in OWN if entry.origin is not None}
    assert set(REFERENCES) == {*PAPERS.values(), *origins}


@pytest.mark.parametrize("key", REFERENCES)
def test_an_entry_has_what_bibtex_needs(key: str) -> None:
    reference = REFERENCES[key]
    text = reference.bibtex
    assert text.startswith(f"@{reference.kind}{{{key},\n")
    assert text.count("{") == text.count("}")
    assert text.isascii()
    fields = dict(re.findall(r"^  (\w+) += \{(.*)\},$", text, flags=re.MULTILINE))
    assert len(fields) == len(text.splitlines()) - 2
    assert fields["year"] == str(reference.year)
    assert 1900 < reference.year < 2100
    # A letter tells two papers of one author and year apart.
    assert re.fullmatch(f"{reference.authors[0].partition(',')[0].lower()}{reference.year}[a-z]?", key)
    assert all(re.fullmatch(r"[\w' -]+, [\w. -]+", author) for author in fields["author"].split(" and "))
    assert fields["title"] == f"{{{reference.title}}}"
    assert fields.get({"article": "journal", "inproceedings": "booktitle", "misc": "howpublished"}[reference.kind])
    assert not re.search(r"[&%#_$~^]", re.sub(r"\burl .*", "", text))


def test_a_measure_says_what_to_cite() -> None:
    text = get_measure("EOTP").bibtex
    assert "Equality of Opportunity in Supervised Learning" in text
    assert "Fixed-Seed Training" in text
    assert "brier1950" in get_measure("brier_score_difference").bibtex


def test_the_command_cites_by_name_and_alias_and_each_paper_once(equipoise: Program) -> None:
    ended = equipoise("cite", "dp", "SPSF", "adult")
    assert ended.code == 0
    assert ended.out.count("@inproceedings{qian2021") == 1
    assert "% for DP, SPSF\n" in ended.out
    assert "becker1996" in ended.out
    every = equipoise("cite")
    assert sorted(re.findall(r"@\w+\{([\w-]+),", every.out)) == sorted(
        {reference.key for entry in OWN for reference in references_of(entry)}
    )
    ended = equipoise("cite", "demografic_parity")
    assert ended.code == 2
    assert "did you mean 'demographic_parity'?" in ended.err


def test_a_stranger_is_told_to_ask_the_stranger() -> None:
    entry = Entry("measure", "auc", object(), "", "Somebody 2030", module="elsewhere")
    assert references_of(entry) == ()
    assert bibtex_of([entry]) == "% auc: its package says what to cite (Somebody 2030)\n"
    assert equipoise.measures is not None
