"""For the API's pages: docstrings as ``help()`` shows them, and examples in them as code."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Put docstrings into the form that pages are made of."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Complete the docstring of a function from the running package, and fence examples outside a section."""
        if obj.docstring is None:
            return
        if "{parameters}" in obj.docstring.value:
            home = importlib.import_module(obj.module.path)
            obj.docstring.value = inspect.cleandoc(getattr(home, obj.name).__doc__ or "")
        obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Fence the examples of a docstring that has no section for them.

    >>> print(fenced("Add.\\n\\n>>> 1 + 1\\n2"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    if ">>>" not in text or re.search(r"^Examples\n---", text, re.MULTILINE):
        return text
    parts = re.split(r"\n\n", text)
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in parts)
