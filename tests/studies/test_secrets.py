"""A study in a PostgreSQL database: its password appears in no file, no page and no message."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from equipoise.foundation import BadInput
from equipoise.studies.storage._database import store_location
from helpers.cases.plan import PLAN, write_plan
from helpers.postgres import Server
from helpers.running import Program

pytest.importorskip("torch")

ODD = "Zq9@x/Kw?y:Vj8#z%25 ünü"
SMALL = PLAN.replace("seeds = 2\nrepeats = 2", "seeds = 1").replace("epochs = 2", "epochs = 1")


def pieces(text: str) -> list[str]:
    return [piece for piece in ("Zq9", "Kw", "Vj8", "ünü", quote(ODD, safe="")) if piece in text]


# As typed without escapes (but for %, which begins one), with all of them, and as a parameter.
SPELT = {"plain": ODD.replace("%25", "%2525"), "escaped": quote(ODD, safe=""), "parameter": ""}


@pytest.mark.once
@pytest.mark.parametrize("how", SPELT)
def test_the_password_of_the_store_is_in_no_json_page_table_or_message(
    how: str, equipoise: Program, postgres: Server, tmp_path: Path
) -> None:
    plan = write_plan(tmp_path, SMALL, rows=200)
    role, spelt = f"odd_{how}", SPELT[how]
    postgres.tell(f"CREATE ROLE {role} SUPERUSER LOGIN PASSWORD '{ODD}'")
    with postgres.database() as url:
        place = url.partition("@")[2]
        userinfo, query = (f"{role}:{spelt}", "") if spelt else (role, f"?password={quote(ODD)}")
        where = f"postgresql://{userinfo}@{place}{query}"
        files = [tmp_path / name for name in ("r.json", "r.html", "r.csv", "r.tex", "t.csv", "t.parquet")]
        said = [
            equipoise("study", "run", plan, "--store", where, "--artefacts", tmp_path),
            equipoise(
                "study", "report", plan, "--store", where, "--json", files[0], "--html", files[1], "--csv", files[2],
                "--latex", files[3],
            ),
            equipoise("study", "export", plan, files[4], f"--store={where}"),
            equipoise("study", "export", plan, files[5], f"--store={where}"),
            equipoise("study", "status", plan, "--store", where),
        ]  # fmt: skip
        assert [one.code for one in said] == [0] * len(said), [one.err for one in said]
        wrong = where.replace(place, f"127.0.0.1:1/{place.rpartition('/')[2]}")
        refused = [
            equipoise("study", "report", plan, "--store", wrong),
            equipoise("study", "report", plan, where),
            equipoise("study", "report", plan, "--store", where.replace("postgresql", "mysql")),
            equipoise("audit", where, "--target", "y"),
            equipoise("study", "run", plan, "--workers", where),
            equipoise("study", "run", where),
            equipoise("study", "status", plan, "--store", where.partition("://")[2]),
        ]
        assert all(one.code == 2 for one in refused), [(one.code, one.err) for one in refused]
    for one in (*said, *refused):
        assert not pieces(one.out + one.err), one
    for file in files:
        assert not pieces(file.read_bytes().decode("utf-8", "replace")), file
    assert role in files[0].read_text(encoding="utf-8"), "the user's name is no secret"


@pytest.mark.once
def test_a_traceback_from_python_has_no_part_of_the_password(postgres: Server) -> None:
    from equipoise.studies.storage import open_store

    for where in (
        f"postgresql://me:{ODD}@127.0.0.1:{postgres.port}/study", f"postgresql://me:{ODD}@127.0.0.1:Zq9Kw/study",
        f"postgresql://me@127.0.0.1:{postgres.port}/study?password={ODD}",
    ):  # fmt: skip
        with pytest.raises(BadInput) as refused:
            open_store(where)
        said = "".join(str(error) for error in _chain(refused.value)) + repr(store_location(where))
        assert not pieces(said), said


def _chain(error: BaseException | None) -> list[BaseException]:
    return [] if error is None else [error, *_chain(error.__cause__), *_chain(error.__context__)]
