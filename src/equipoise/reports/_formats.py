"""How numbers and names look on a page. Names come from a stranger's file: they are shown, never obeyed."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TypeGuard

UNDEFINED = "undefined"
LONGEST_NAME = 60

# Control and direction characters, halves of characters, and separators of lines.
UNPRINTABLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Inside words and emoji these two belong.
JOINERS = "\u200c\u200d"


def safe_text(text: str) -> str:
    """Show what cannot be printed, or would turn the text around it, as a code."""
    return "".join(
        char if char in JOINERS or unicodedata.category(char) not in UNPRINTABLE else f"\\u{ord(char):04x}"
        for char in text
    )


def safe_name(text: str, limit: int = LONGEST_NAME) -> str:
    """Return a name as a label: a long one keeps its beginning and its end."""
    name = safe_text(text) if text.strip() else f"(empty) {text!r}"
    if len(name) <= limit:
        return name
    tail = limit // 4
    return f"{name[: limit - tail - 1]}…{name[-tail:]}"


def distinct_names(texts: Sequence[str], limit: int) -> list[str]:
    """Return names as labels of at most ``limit`` letters, no two alike: those that would be are numbered."""
    names = [safe_name(text, limit) for text in texts]
    counts = Counter(names)
    counter: Counter[str] = Counter()
    labels = []
    for text, name in zip(texts, names, strict=True):
        counter[name] += 1
        mark = f" ({counter[name]})"
        labels.append(safe_name(text, limit - len(mark)) + mark if counts[name] > 1 else name)
    return labels


def percent(value: float | None) -> str:
    """Write a share as a percentage with one decimal."""
    return f"{100 * value:.1f}%" if _is_number(value) else UNDEFINED


def interval_name(level: float | None) -> str:
    """Name an interval by its level; the level that decides a report with many tests is not 95%.

    Examples
    --------
    >>> interval_name(0.95), interval_name(0.9667), interval_name(0.99986)
    ('95% interval', '96.7% interval', '99.986% interval')
    """
    if level is None:
        return "interval"
    misses = 100 * (1 - level)
    digits = 0 if misses <= 0 else max(0, -math.floor(math.log10(misses) + 1e-9)) + (1 if misses < 5 - 1e-9 else 0)
    return f"{100 * level:.{digits}f}% interval"


def short_percent(value: float | None) -> str:
    """Write a share in whole per cent, with a decimal where that says more."""
    if not _is_number(value):
        return UNDEFINED
    return f"{100 * value:.0f}%" if abs(100 * value - round(100 * value)) < 0.05 else f"{100 * value:.1f}%"


def points(value: float | None) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    return f"{_signed(100 * value, '.1f')}" if _is_number(value) else UNDEFINED


def bare_percent(value: float | None) -> str:
    """Write a share as a percentage without the sign for it, for the ends of an interval."""
    return f"{100 * value:.1f}" if _is_number(value) else UNDEFINED


def decimal(value: float | None) -> str:
    """Write a number with three decimals, a large or tiny one with four digits."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    size = abs(value)
    return ("−" if value < 0 else "") + (f"{size:.3f}" if 0.0005 <= size < 1_000 or size == 0 else f"{size:.4g}")


def fine(value: float | None) -> str:
    """Write a number of any size in about four digits, a tiny one in two, with a true minus sign."""
    if not _is_number(value):
        return UNDEFINED
    size = abs(value)
    text = f"{size:.3f}" if size == 0 or 0.0005 <= size < 10 else f"{size:.4g}" if size >= 10 else f"{size:.2g}"
    return ("−" if value < 0 else "") + text


def thousandths(value: float | None) -> str:
    """Write a share or a gap as a number with three decimals, as gates and terminals do."""
    return f"{value:.3f}" if _is_number(value) else UNDEFINED


def signed(value: float | None) -> str:
    """Write a difference that is no share, with its sign."""
    return _signed(value, ".4g") if _is_number(value) else UNDEFINED


def signed_fine(value: float | None) -> str:
    """Write a difference of any size in about three decimals, with its sign."""
    return ("+" if value > 0 else "") + fine(value) if _is_number(value) else UNDEFINED


def signed_thousandths(value: float | None) -> str:
    """Write a gap or a difference of shares with three decimals and its sign; what rounds to 0 has none."""
    return _signed(value, ".3f") if _is_number(value) else UNDEFINED


def digits(value: float | None) -> str:
    """Write a number of any size with four digits, and a true minus sign."""
    return f"{value:.4g}".replace("-", "−") if _is_number(value) else UNDEFINED


def signed_short(value: float | None) -> str:
    """Write a number in two digits, with its sign."""
    if not _is_number(value):
        return UNDEFINED
    return _signed(value, ".1f" if abs(value) < 10 else ".0f" if abs(value) < 100_000 else ".0e")


def times(value: float) -> str:
    """Write how many times as large something is, in about two digits."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def count(value: float | None) -> str:
    """Write a number of people; with weights it may have a decimal."""
    if value is None or not math.isfinite(value):
        return "hidden"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def p_value(value: float | None) -> str:
    """Write a p-value; below a thousandth only that."""
    if value is None or not math.isfinite(value):
        return "not tested"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def probability(value: float | None) -> str:
    """Write a probability that was drawn at random: never quite 0 or 1."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return "> 99.9%" if value > 0.999 else "< 0.1%" if value < 0.001 else f"{100 * value:.1f}%"


def _signed(value: float, form: str) -> str:
    """Write a number with a true minus sign, or a plus."""
    text = format(abs(value), form)
    if float(text) == 0:
        return text
    return ("−" if value < 0 else "+") + text


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
