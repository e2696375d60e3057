"""The picture of the layers in CONTRIBUTING.md is that of the import graph."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_picture_of_the_layers_is_up_to_date() -> None:
    pytest.importorskip("grimp")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "layer_picture.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
