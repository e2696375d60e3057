"""Tutorials: the notebooks as pages, with what their cells showed when they were kept."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
ORDER = ("auditor", "engineer", "researcher", "discovery")
PICTURES = (("image/svg+xml", "svg"), ("image/png", "png"))


def page(name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and the pictures that it shows by their path beside the page."""
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    parts, pictures = [], {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            text, found = shown(output)
            pictures |= {f"{name}-{digest}": content for digest, content in found.items()}
            parts.append(re.sub(r"PICTURE:(\S+?)\)", rf"{name}-\1)", text))
    # Below the title, where the reader can get it.
    parts[0] = re.sub(
        r"\A(# .*\n)",
        rf"\1\nA notebook: [{name}.ipynb](../files/examples/notebooks/{name}.ipynb). Below a cell is what it shows.\n",
        parts[0],
    )
    return "\n\n".join(part for part in parts if part), pictures


def shown(output: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """Return one output of a cell as Markdown, with the picture that it is."""
    if output["output_type"] == "stream":
        return f"```text {{ .output }}\n{''.join(output['text']).rstrip()}\n```", {}
    data = output["data"]
    for kind, ending in PICTURES:
        if kind in data:
            raw = "".join(data[kind])
            content = base64.b64decode(raw) if ending == "png" else raw.encode()
            digest = f"{hashlib.sha256(content).hexdigest()[:8]}.{ending}"
            return f"![What the cell shows](PICTURE:{digest})", {digest: content}
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        table = re.sub(r"\s*\n\s*", "", table)
        return f'<div class="frame">{table}</div>', {}
    return f"```text {{ .output }}\n{''.join(data['text/plain'])}\n```", {}
