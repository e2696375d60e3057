"""The names people give: what of a cell is a name, and when two names are the same."""

from __future__ import annotations

import unicodedata

LONGEST = 60
# Letters, the marks on them, and digits; anything else (signs that begin a formula or a tag, control characters) is a
# blank.
KEPT = ("L", "M", "N")
INSIDE = "-'’"


def cleaned(text: str) -> str:
    """Return the words of a cell in their own spelling: letters, digits, and hyphens and apostrophes inside words."""
    plain = unicodedata.normalize("NFKC", text)
    kept = "".join(char if unicodedata.category(char)[0] in KEPT or char in INSIDE else " " for char in plain)
    return " ".join(word.strip(INSIDE) for word in kept.split() if word.strip(INSIDE))


def same_word(text: str) -> str:
    """Return what names that are the same have in common: no capitals, blanks or hyphens, nor a simple plural."""
    words = cleaned(text).casefold().replace("-", " ").replace("’", "'").split()
    return " ".join(map(_singular, words))


def _singular(word: str) -> str:
    """Return an English word without a simple plural's ending; both forms of a word come to the same."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
