"""Run the notebooks of examples/notebooks, and keep what they show.

python tools/notebooks.py [NAME]...

``tests/docs/test_notebooks.py`` runs them too and compares what they print. Pages of the site are made of what is kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"


def run(path: Path, folder: Path) -> nbformat.NotebookNode:
    """Return a notebook with what its cells show when they are run in a folder."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    notebook.metadata.pop("language_info", None)
    return notebook


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """Return what every cell of code says in words: pictures and tables of frames are left out."""
    return [
        "".join(part.text for part in cell.outputs if part.output_type == "stream")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def main() -> None:
    """Run those that are named, or all."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as folder:
                nbformat.write(run(path, Path(folder)), path)
            print(path.name)


if __name__ == "__main__":
    main()
