"""Equal rows as one, against a dictionary of rows; and what happens when two rows share a hash."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.foundation import distinct_rows

VALUE = st.sampled_from([0.0, -0.0, 1.0, 0.1, -3.5, 1e300])


@settings(deadline=None)
@given(rows=st.lists(st.tuples(VALUE, VALUE, VALUE), min_size=1, max_size=30))
def test_every_row_is_found_again_and_none_twice(rows: list[tuple[float, ...]]) -> None:
    array = np.array(rows)
    distinct, inverse = distinct_rows(array)
    assert np.array_equal(distinct[inverse], array)
    assert len(distinct) == len({tuple(value + 0.0 for value in row) for row in rows})


def test_two_rows_that_share_a_hash_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clumsy:
        def integers(self, *_: object, **__: object) -> np.ndarray:
            return np.zeros(2, dtype=np.uint64)  # all columns count alike, so (a, b) and (b, a) collide

    monkeypatch.setattr(np.random, "default_rng", lambda _: Clumsy())
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    distinct, inverse = distinct_rows(rows)
    assert len(distinct) == 2
    assert np.array_equal(distinct[inverse], rows)
