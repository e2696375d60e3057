"""What is PostgreSQL's own: turns to write, one moment to read, other programs beside a store, troubles in words."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from equipoise.foundation import (
    BadInput,
    MissingExtra,
)
from helpers.cases.store import Predicting, failed, planned
from helpers.postgres import Server

pytest.importorskip("sqlalchemy")

from equipoise.studies.storage import Look, digest_of, remember_look
from equipoise.studies.storage import _database as opening
from equipoise.studies.storage import _database as troubles
from equipoise.studies.storage import _planning as planning
from equipoise.studies.storage._database import reading, writing
from equipoise.studies.storage._store import VERSION, Store, open_store

pytestmark = pytest.mark.once

DONE = Predicting()


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    with postgres.database() as url:
        yield url


def told(url: str, *statements: str) -> list[Any]:
    """Tell a database something, as another program would, and return the last answer."""
    import psycopg

    with psycopg.connect(url) as connection:
        for statement in statements:
            answer = connection.execute(statement)
        return answer.fetchall() if answer.description else []


def test_writers_take_turns_and_one_that_waits_too_long_says_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(url) as one, open_store(url) as two:
        one.plan(planned(3))
        with writing(one._engine, one.location):
            monkeypatch.setattr(opening, "PATIENCE", 0.2)
            with pytest.raises(BadInput, match="held by another program for too long") as refused:
                two.lease("two", 60)
            monkeypatch.undo()
            assert two.status().waiting == 3  # who reads does not wait
        assert len(two.lease("two", 60)) == 3
    assert url.split(":")[2].partition("@")[0] not in str(refused.value)  # the password


def test_a_writer_that_is_not_heard_of_loses_its_turn(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(url) as lost, open_store(url) as other:
        monkeypatch.setattr(opening, "PATIENCE", 0.2)

        def stand_still(connection: Any, *_: object) -> None:
            monkeypatch.undo()
            assert other.plan(planned(3)) == 3  # it waits, and the turn of the first runs out
            connection.exec_driver_sql("DELETE FROM places")

        monkeypatch.setattr(planning, "plan", stand_still)
        with pytest.raises(BadInput, match="was suspended during a write"):
            lost.plan(planned(5))
        assert lost.status().waiting == 3


def test_who_reads_sees_one_moment_and_cannot_write(url: str) -> None:
    with open_store(url) as store, open_store(url) as other:
        store.plan(planned(3))
        count = "SELECT count(*) FROM places"
        with reading(store._engine, store.location) as connection:
            assert connection.exec_driver_sql(count).scalar() == 3
            other.plan(planned(5))
            assert connection.exec_driver_sql(count).scalar() == 3
            with pytest.raises(Exception, match="read-only transaction"):
                connection.exec_driver_sql("DELETE FROM places")
        assert store.status().waiting == 5


def test_a_connection_that_was_cut_is_made_again(url: str, postgres: Server) -> None:
    with open_store(url) as store:
        store.plan(planned(3))
        name = url.rpartition("/")[2]
        postgres.tell(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        assert store.status().waiting == 3


@pytest.fixture
def restarted(postgres: Server) -> Iterator[Callable[[], None]]:
    """Stop the server and cut everybody off; it comes back a moment later, and is there for the tests that follow."""
    returning: list[threading.Timer] = []

    def restart() -> None:
        postgres.stop()
        returning.append(threading.Timer(0.5, postgres.start))
        returning[-1].start()

    yield restart
    for one in returning:
        one.join()


def test_a_server_that_is_restarted_is_waited_for(url: str, restarted: Callable[[], None]) -> None:
    with open_store(url) as store:
        store.plan(planned(3))
        restarted()
        leased = store.lease("worker", 60)
        assert len(leased) == 3
        restarted()
        written, _ = store.record_and_lease("worker", [DONE(one) for one in leased], DONE.truth, 60)
        assert len(written.new) == 3
        restarted()
        assert store.status().done == 3


def test_a_server_that_stays_away_ends_the_wait_with_an_error(
    url: str, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(troubles, "OUTAGE", 0.3)
    with open_store(url) as store:
        store.plan(planned(1))
        postgres.stop()
        try:
            with pytest.raises(BadInput, match="did not answer"):
                store.lease("worker", 60)
        finally:
            postgres.start()
        assert store.status().waiting == 1


def test_a_transaction_whose_answer_was_lost_is_not_done_twice(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server commits, and the connection breaks before it can say so."""
    lost: list[str] = []

    def losing(self: Any, work: Any) -> Any:
        answer = real(self, work)
        if lost:
            raise troubles.Unreachable(lost.pop())
        return answer

    real = Store._write_once
    monkeypatch.setattr(Store, "_write_once", losing)
    with open_store(url) as store:
        store.plan(planned(4, stack=2))
        lost.append("the answer to a lease")
        leased = store.lease("worker", 60)
        assert store.status().running == len(leased) == 2  # and not the stack of the lease before too
        lost.append("the answer to a record")
        _, following = store.record_and_lease("worker", [DONE(one) for one in leased], DONE.truth, 60)
        status = store.status()
        assert (status.done, status.running, status.waiting) == (2, 2, 0)
        assert len(following) == 2
        assert {one.key for one in following}.isdisjoint({one.key for one in leased})


def test_a_worker_whose_clock_is_wrong_takes_no_lease_that_still_runs(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(url) as store, open_store(url) as ahead:
        store.plan(planned(3))
        assert len(store.lease("worker", 60)) == 3
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 7_200)
        assert ahead.lease("one whose clock is two hours ahead", 60) == ()
        assert ahead.status().running == 3


def test_tables_of_other_programs_are_left_alone(url: str) -> None:
    told(url, "CREATE TABLE invoices (number INTEGER)", "INSERT INTO invoices VALUES (7)")
    with pytest.raises(BadInput, match="is empty"):
        open_store(url, read_only=True)
    with open_store(url) as store:
        store.plan(planned(2))
    assert told(url, "SELECT number FROM invoices") == [(7,)]


def test_a_database_whose_tables_have_our_names_is_refused(url: str) -> None:
    told(url, "CREATE TABLE trials (patient TEXT)")
    with pytest.raises(BadInput, match="belongs to another program"):
        open_store(url)
    assert told(url, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'") == [("trials",)]


def test_an_older_layout_is_carried_forward_and_a_newer_one_is_refused(url: str) -> None:
    with open_store(url) as store:
        store.plan(planned(3))
        store.record("worker", [DONE(one) for one in store.lease("worker", 60)], DONE.truth)
    told(
        url,
        "UPDATE trials SET environment = (SELECT described FROM environments)",
        "DROP TABLE environments",
        "ALTER TABLE trials DROP COLUMN tries",
        *(f"ALTER TABLE {table} DROP COLUMN checksum" for table in ("cohorts", "details", "readouts")),
        "UPDATE meta SET value = '0' WHERE name = 'schema'",
    )
    with open_store(url) as store:
        assert {kept.tries for kept in store.trials()} == {1}
        (environment,) = store.environments().values()
        assert environment == DONE(planned(1)[0][0]).environment
        assert not any(kept.damaged for kept in store.trials())
        assert len(store.readouts("test").keys) == 3
    told(url, "UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(BadInput, match="version 99, which is newer") as refused:
        open_store(url)
    assert f"version {VERSION} and older" in str(refused.value)


def test_a_reason_that_postgresql_cannot_hold_is_kept_without_what_it_cannot(url: str) -> None:
    with open_store(url) as store:
        store.plan(planned(1))
        (one,) = store.lease("worker", 60)
        store.record("worker", [failed(one, "no such file: a\0b")], DONE.truth)
        assert store.trials()[0].failure == "no such file: a\N{REPLACEMENT CHARACTER}b"


def test_a_server_that_is_not_there_and_a_wrong_password_are_told_without_the_password(url: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(BadInput, match="did not answer") as refused:
            open_store(f"postgresql://me:secret@127.0.0.1:{nobody.getsockname()[1]}/study")
    assert "secret" not in str(refused.value)
    kind, _, place = url.partition("://")
    with pytest.raises(BadInput, match="password authentication failed") as refused:
        open_store(f"{kind}://tests:wrong-secret@{place.partition('@')[2]}")
    assert "wrong-secret" not in str(refused.value)


@pytest.mark.usefixtures("postgres")
@pytest.mark.parametrize("rest", ["://me:secret@host:port/study", "+nothing://me:secret@host/study"])
def test_a_url_that_is_none_is_refused_without_the_password(rest: str) -> None:
    with pytest.raises(BadInput, match="is not a store that can be opened") as refused:
        open_store(f"postgresql{rest}")
    assert "secret" not in str(refused.value)


def test_without_the_extra_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"\[postgres\]"):
        open_store("postgresql://me@localhost/study")


def test_looks_of_many_readers_are_remembered_once_each(url: str) -> None:
    with open_store(url) as store:
        store.plan(planned(3))
    looks = [Look(digest_of([str(number % 2)]), float(number), number, number) for number in range(8)]
    threads = [threading.Thread(target=remember_look, args=(url, "crowd", look)) for look in looks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_store(url, create=False, read_only=True) as store:
        assert len(store.looks("crowd")) == 2
        assert store.margins("crowd") == {}
    with open_store(url, create=False) as store:
        store.remember_margin("crowd", 0.02)
        store.remember_margin("crowd", 0.02)
        assert store.margins("crowd") == {0.02: 2}, "after two looks"
