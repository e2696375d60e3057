"""What makes a result again: random streams of one seed, and where the result came from."""

from __future__ import annotations

import hashlib
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from equipoise.foundation._imports import installed
from equipoise.foundation._text import (
    redacted_argument,
    redacted_value,
)

if TYPE_CHECKING:
    import numpy as np


def stream(seed: int, *names: object) -> np.random.Generator:
    """Return the generator of a named stream."""
    import numpy as np

    digest = hashlib.sha256(repr((seed, *map(str, names))).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))


Provenance = Mapping[str, object]

RECORDED_PACKAGES = ("numpy", "narwhals", "duckdb")


def provenance(*, fingerprint: str, command: Iterable[str] | None = None, **details: object) -> dict[str, object]:
    """Describe how a result was made, in plain JSON values; passwords in the command are left out."""
    return {
        "equipoise": str(sys.modules["equipoise"].__version__),  # also where it runs without being installed
        "python": platform.python_version(),
        "packages": dict(_versions()),
        "platform": f"{platform.system()} {platform.machine()}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": fingerprint,
        "command": None if command is None else shlex.join(map(redacted_argument, command)),
        **{name: redacted_value(value) for name, value in details.items()},
    }


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the packages that decide numbers; reading them takes a millisecond."""
    return tuple((name, metadata.version(name)) for name in RECORDED_PACKAGES if installed(name))


def command_line() -> list[str]:
    """Return the command that is running, by the program's public name."""
    return ["equipoise", *sys.argv[1:]]


def fingerprint_of(parts: Iterable[bytes]) -> str:
    """Hash the parts in order: equal data gives an equal fingerprint, whatever file it came from."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return f"sha256:{digest.hexdigest()}"
