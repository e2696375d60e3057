"""A door lists its names, imports them when they are used, and refuses others."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import pytest

from equipoise.foundation import doors

ROOMS = (
    "equipoise.audits", "equipoise.audits.change", "equipoise.audits.compare", "equipoise.audits.downstream",
    "equipoise.audits.embedding", "equipoise.audits.evidence", "equipoise.audits.leakage", "equipoise.audits.ranking",
    "equipoise.results", "equipoise.stats",
)  # fmt: skip


@pytest.mark.parametrize("name", ROOMS)
def test_every_name_of_a_door_leads_somewhere(name: str) -> None:
    room = importlib.import_module(name)
    assert len(set(room.__all__)) == len(room.__all__)
    assert dir(room) == sorted(room.__all__)
    for public in room.__all__:
        assert getattr(room, public) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        room.nonsense  # noqa: B018


def test_nothing_is_imported_before_it_is_used() -> None:
    script = (
        "import sys, equipoise.results as room\n"
        "assert not [name for name in sys.modules if name.startswith(room.__name__ + '._')]"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_the_example_runs() -> None:
    assert doctest.testmod(doors).failed == 0
