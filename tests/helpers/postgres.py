"""A real PostgreSQL for tests: on a free port of this machine, in a folder of its own, gone when the tests are.

It refuses to run as root, so root starts it as an unprivileged user.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

USERS = ("postgres", "nobody")
PROGRAMS = ("initdb", "postgres", "pg_isready", "pg_ctl")
# Debian keeps a folder a version and has none of them on the path of programs.
FOLDERS = "/usr/lib/postgresql"
# What tests keep need not survive a power cut.
SETTINGS = {
    "listen_addresses": "127.0.0.1", "max_connections": "40", "shared_buffers": "16MB", "fsync": "off",
    "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off",
}  # fmt: skip
# Runs the server, stops it when its own input ends, and removes the folder. The tests hold the other end of that pipe,
# so the server ends with them, in whatever way they end.
KEEPER = """
programs=$1 folder=$2 port=$3
shift 3
"$programs/postgres" "$@" > "$folder/log" 2>&1 &
until "$programs/pg_isready" -q -h "$folder" -p "$port"; do kill -0 $! || break; sleep 0.05; done
if kill -0 $!; then echo ready; else echo failed; fi
cat > /dev/null
# It may have been stopped and started again since: the file says which process it is.
kill -QUIT "$(head -n 1 "$folder/data/postmaster.pid")"
while "$programs/pg_isready" -q -h "$folder" -p "$port"; do sleep 0.05; done
wait $!
rm -rf "$folder"
"""
READY = b"ready\n"
TRIES = 3


def programs() -> Path | None:
    """Return the folder of the newest PostgreSQL here, or None."""
    found = shutil.which("initdb")
    installed = [Path(found).resolve().parent] if found else []
    installed += sorted(Path(FOLDERS).glob("*/bin"), key=_version, reverse=True)
    return next((folder for folder in installed if all((folder / name).exists() for name in PROGRAMS)), None)


def _version(folder: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in folder.parent.name.split(".") if part.isdecimal())


def user() -> str | None:
    """Return the user that the server runs as: this one, or for root an unprivileged one; None where there is none."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    known = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in USERS if name in known), None)


@dataclass(frozen=True)
class Server:
    """A running server; its databases are made as tests ask for them."""

    port: int
    password: str
    folder: Path
    programs: Path
    as_user: str
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def url(self, database: str) -> str:
        return f"postgresql://tests:{self.password}@127.0.0.1:{self.port}/{database}"

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Lend an empty database by its URL; in the end it is dropped, whoever is still connected."""
        name = f"study_{next(self.numbers)}"
        self.tell(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            self.tell(f"DROP DATABASE {name} WITH (FORCE)")

    def stop(self, how: str = "fast") -> None:
        """Stop the server: "fast" cuts all connections off, "immediate" is a crash."""
        self._control("stop", "-m", how)

    def start(self) -> None:
        """Start it again, where it was."""
        self._control("start", "-l", str(self.folder / "log"), "-o", shlex.join(_options(self.folder, self.port)[2:]))

    def _control(self, *what: str) -> None:
        command = [str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *what]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, check=False,
            **_as(self.as_user),
        )  # fmt: skip
        assert done.returncode == 0, (self.folder / "log").read_text()

    def tell(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)


@contextlib.contextmanager
def serving(folder_of_programs: Path, as_user: str) -> Iterator[Server]:
    """Start a server and stop it. Another program may take the port that was free, so several are tried."""
    for left in reversed(range(TRIES)):
        password, port = secrets.token_hex(16), _free_port()
        folder = _made(folder_of_programs, as_user, password)
        keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "keeper", *map(str, (folder_of_programs, folder, port)), *_options(folder, port)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
            start_new_session=True, **_as(as_user),
        )  # fmt: skip
        with keeper:  # in the end closes its input, and waits
            assert keeper.stdout is not None
            if keeper.stdout.readline() == READY:
                yield Server(port, password, folder, folder_of_programs, as_user)
                return
            said = (folder / "log").read_text()
        assert left, f"PostgreSQL did not start: {said}"


def _as(name: str) -> dict[str, Any]:
    """Return what makes a program run as a user; only root can, and only root needs to."""
    if os.geteuid() != 0:
        return {}
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def _made(programs: Path, name: str, password: str) -> Path:
    """Return a new folder with an empty cluster in it that is the user's own."""
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    secret = folder / "password"
    secret.write_text(password)
    if os.geteuid() == 0:
        for path in (folder, secret):
            shutil.chown(path, name)
    command = [
        programs / "initdb", f"--pgdata={folder / 'data'}", "--username=tests", f"--pwfile={secret}",
        "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, **_as(name))
    if done.returncode:
        shutil.rmtree(folder)
        raise AssertionError(f"initdb failed: {done.stderr}")
    return folder


def _options(folder: Path, port: int) -> list[str]:
    settings = {**SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
    return [
        "-D",
        str(folder / "data"),
        *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
    ]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
