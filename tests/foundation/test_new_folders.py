"""A folder for output appears whole or not at all, and what is there already is not lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from equipoise.foundation import (
    BadInput,
    atomic_folder,
    check_new_folder,
    forget_written_files,
    written_files,
)
from equipoise.foundation import _files as files


def write(target: Path, text: str = "new") -> None:
    with atomic_folder(target, replaceable=lambda one: (one / "mine").exists()) as folder:
        files.write_file(folder / "mine", text)


def half_written(target: Path) -> None:
    with atomic_folder(target, replaceable=lambda _: True) as folder:
        files.write_file(folder / "mine", "half")
        raise ZeroDivisionError


def test_a_folder_appears_with_all_its_files(tmp_path: Path) -> None:
    forget_written_files()
    write(tmp_path / "a" / "out")
    assert (tmp_path / "a" / "out" / "mine").read_text() == "new"
    assert written_files() == (tmp_path / "a" / "out",), "files are known by the folder that they ended up in"
    assert [one.name for one in (tmp_path / "a").iterdir()] == ["out"]


def test_a_folder_of_the_kind_gives_way_and_another_does_not(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out" / "more").touch()
    write(tmp_path / "out")
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["mine"]
    (tmp_path / "other").mkdir()
    write(tmp_path / "other")  # an empty folder is taken
    (tmp_path / "other" / "mine").rename(tmp_path / "other" / "thesis")
    for refuse in (write, check_new_folder):
        with pytest.raises(BadInput, match="something else"):
            refuse(tmp_path / "other")
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="something else"):
        write(tmp_path / "file")


def test_an_error_leaves_everything_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    for target in (tmp_path / "out", tmp_path / "new"):
        with pytest.raises(ZeroDivisionError):
            half_written(target)
    assert (tmp_path / "out" / "mine").read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_where_the_new_folder_cannot_be_put_the_old_one_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "out", "old")
    rename, calls = files.os.rename, []

    def failing(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(files.os, "rename", failing)
    with pytest.raises(BadInput, match="No space left"):
        write(tmp_path / "out")
    assert (tmp_path / "out" / "mine").read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_a_name_that_is_too_long_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be used"):
        write(tmp_path / ("x" * 400))


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_another_program_puts_there_meanwhile_gives_way(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, rename, others = tmp_path / "out", os.rename, iter(range(2))
    if there:
        write(target, "old")

    def renamed(source: Path, name: Path) -> None:
        if Path(name) == target and next(others, None) is not None:  # just before, twice
            target.mkdir(exist_ok=True)
            (target / "mine").write_text("another's")
        rename(source, name)

    monkeypatch.setattr(os, "rename", renamed)
    write(target)
    assert (target / "mine").read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["out"], "nothing is left aside"


def test_an_error_inside_names_the_file_as_it_would_have_been_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadInput, match="No space left on device") as refused:
        write(tmp_path / "out")
    assert str(tmp_path / "out" / "mine") in refused.value.given
    assert ".part" not in str(refused.value)
    assert not list(tmp_path.iterdir())
