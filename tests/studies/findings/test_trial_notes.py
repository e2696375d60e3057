"""Notes of trials: told once each, with the range of their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.studies.findings._words import MOST, note_texts


def test_notes_that_differ_in_numbers_tell_their_ranges() -> None:
    notes = [(f"INLP: dev rows chose iteration {best} of {last:,}",) for best, last in ((26, 68), (3, 1070), (42, 9))]
    notes += [(), ("dev fairness is undefined",), ("dev fairness is undefined",)]
    assert list(note_texts(notes)) == [
        "3 of 6 trials noted: INLP: dev rows chose iteration 3 to 42 of 9 to 1,070",
        "2 of 6 trials noted: dev fairness is undefined",
    ]


def test_a_trial_that_notes_a_thing_twice_counts_once() -> None:
    assert list(note_texts([("step 1 was cut", "step 7 was cut"), ()])) == [
        "1 of 2 trials noted: step 1 to 7 was cut",
    ]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("the rate fell by -0.5 %.", "the rate fell by 1e-3 %.", ["the rate fell by -0.5 to 1e-3 %."]),
        ("1 of 2, 3 of 40.", "1 of 10, 3 of 4.", ["1 of 2 to 10, 3 of 4 to 40."]),
        # What is a name is no number.
        ("mlp2 stopped", "mlp3 stopped", ["mlp2 stopped", "mlp3 stopped"]),
        ("the group '1' is empty", "the group '2' is empty", ["the group '1' is empty", "the group '2' is empty"]),
    ],
)
def test_what_a_number_is(first: str, second: str, told: list[str]) -> None:
    found = [note.partition(" noted: ")[2] for note in note_texts([(first,), (second,)])]
    assert found == told


def test_of_very_many_notes_the_frequent_are_told_and_the_others_counted() -> None:
    names = [f"note {'x' * place}" for place in range(1, MOST + 4)]
    found = list(note_texts([names, names[-1:]]))
    assert len(found) == MOST + 1
    assert found[0] == f"2 of 2 trials noted: {names[-1]}"
    assert found[-1].startswith("3 other notes of fewer trials")


@given(st.lists(st.text(), max_size=3))
def test_a_note_that_stands_alone_is_told_as_it_was_written(parts: list[str]) -> None:
    note = " 12.5 ".join(parts)
    assert list(note_texts([(note,)])) == [f"1 of 1 trials noted: {note}"]
