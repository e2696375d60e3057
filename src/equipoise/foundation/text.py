"""Text that came from a file, made safe to print."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """Show control and direction characters as codes, so that a name in a file cannot drive the terminal."""
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )
