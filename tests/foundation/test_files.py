"""Files appear whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from equipoise.foundation import (
    BadInput,
    make_output_folder,
    write_file,
    write_together,
)


def test_a_file_is_written_whole_and_readable_by_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        path = write_file(tmp_path / "a.json", "ünicode\n")
    finally:
        os.umask(mask)
    assert path.read_text(encoding="utf-8") == "ünicode\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_an_older_file_is_replaced(tmp_path: Path) -> None:
    write_file(tmp_path / "a.json", "old")
    write_file(tmp_path / "a.json", b"new")
    assert (tmp_path / "a.json").read_bytes() == b"new"


def test_a_failed_rename_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "a.json", "old")

    def refuse(source: str, target: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(BadInput, match="Permission denied"):
        write_file(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_name_that_the_disk_cannot_hold_is_refused_in_words(tmp_path: Path) -> None:
    longest = tmp_path / ("n" * 250 + ".json")
    assert write_file(longest, "whole").read_text() == "whole"
    with pytest.raises(BadInput, match=r"cannot be used .*too long"):
        write_file(tmp_path / ("n" * 300), "whole")


def test_a_disk_that_takes_no_more_files_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_inodes(**how: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", no_inodes)
    with pytest.raises(BadInput, match=r"could not be written \(No space left on device"):
        write_file(tmp_path / "a.json", "whole")


def test_files_that_belong_together_appear_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("old")

    def draw() -> None:
        with write_together():
            write_file(tmp_path / "a.json", "new")
            make_output_folder(tmp_path / "charts")
            raise BadInput("The page cannot be drawn")

    with pytest.raises(BadInput, match="cannot be drawn"):
        draw()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.json": "old"}
    with write_together():
        write_file(tmp_path / "a.json", "new")
        write_file(tmp_path / "b.html", "page")
        assert not (tmp_path / "b.html").exists()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.json": "new", "b.html": "page"}
