"""TOML that a user wrote, such as a plan or a config: read whole, or refused with what is wrong and where."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from equipoise.foundation.errors import BadInput

# More than any page of settings has; a larger file is something else.
MOST_BYTES = 1_000_000


def read_toml(file: Path, what: str, *, example: str, available: str = "a TOML file") -> tuple[str, dict[str, Any]]:
    """Return the text of a file and what it says. ``what`` names it in messages, ``example`` shows a line of it."""
    if file.is_dir():
        raise BadInput(f"The {what} {str(file)!r} is a folder", available=available)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"The {what} {str(file)!r} cannot be read ({error.strerror})", available="a TOML file") from None
    if len(data) > MOST_BYTES:
        raise BadInput(f"The {what} {file.name!r} has {len(data):,} bytes", available=f"up to {MOST_BYTES:,}")
    try:
        text = data.decode("utf-8-sig")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"The {what} {file.name!r} is not UTF-8 (at line {line})", available="TOML in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"The {what} {file.name!r} is not TOML: {error}", available=f"lines such as {example}") from None
    except (RecursionError, ValueError) as error:
        raise BadInput(f"The {what} {file.name!r} cannot be read: {error}", available="a plain TOML file") from None
