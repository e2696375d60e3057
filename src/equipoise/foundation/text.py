"""Text: what came from a file made safe to print, and numbers of things."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """Show control and direction characters as codes, so that a name in a file cannot drive the terminal."""
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\u{ord(char):04x}"
        for char in text
    )


def shortened(text: str, most: int = 80) -> str:
    """Cut a text that is too long to be shown, and say how long it was."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def plural(number: int, one: str, more: str | None = None) -> str:
    """Write how many of something there are."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def fitting(number: int, one: str, more: str) -> str:
    """Return the words that fit a number of things."""
    return one if number == 1 else more


def is_number(text: str) -> bool:
    """Tell whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def percent(value: float) -> str:
    """Write a share as a percentage with one decimal."""
    return f"{100 * value:.1f}%"


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * value:.1f} points"


def number_of_people(number: float) -> str:
    """Write how many people there are."""
    return f"{number:,.0f} {'person' if round(number) == 1 else 'people'}"
