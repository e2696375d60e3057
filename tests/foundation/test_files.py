"""Files appear whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole


def test_a_file_is_written_whole_and_readable_by_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        path = write_whole(tmp_path / "a.json", "ünicode\n")
    finally:
        os.umask(mask)
    assert path.read_text(encoding="utf-8") == "ünicode\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_an_older_file_is_replaced(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", "old")
    write_whole(tmp_path / "a.json", b"new")
    assert (tmp_path / "a.json").read_bytes() == b"new"


def test_a_failed_rename_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "a.json", "old")

    def refuse(source: str, target: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(BadInput, match="Permission denied"):
        write_whole(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
