"""The example of paper 000, cut short, from its plan to its page: on the real features where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from equipoise.studies import read_plan
from equipoise.studies.running import run_in_store

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "findml-cub200.toml"
SHORTER = (
    ("seeds = 10", "seeds = 2"),
    ("epochs = 50", "epochs = 1"),
    ('loss = ["margin", "triplet"]', 'loss = "margin"'),
    ('downstream = ["logistic_regression", "svm", "k_means"]', 'downstream = ["logistic_regression"]'),
)


def shortened(folder: Path, data: Path) -> Path:
    """Return the example's plan with less to do, and with the data where they are."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for long, short in (*SHORTER, ('path = "../data/cub200"', f'path = "{data}"')):
        assert text.count(long) == 1, long
        text = text.replace(long, short)
    path = folder / "findml.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA is not set")
def test_the_example_runs_from_its_plan_to_its_page(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    plan = shortened(tmp_path, Path(os.environ["EQUIPOISE_DATA"]) / "cub200")
    study = read_plan(plan).study()
    assert study.drawing.size == 4355
    run_in_store(study, tmp_path / "findml.db")
    found = study.result(tmp_path / "findml.db")
    assert {(space.condition, space.treatment) for space in found.spaces} == {
        (condition, treatment)
        for condition in ("50-50, 50 classes minoritised", "90-10, 50 classes minoritised")
        for treatment in ("untreated", "parade")
    }
    gaps = {
        space_contrast.training: space_contrast for space_contrast in found.space_contrasts
        if (space_contrast.kind, space_contrast.of, space_contrast.treatment) == ("imbalance", "gap", "untreated")
        and (space_contrast.source, space_contrast.measure) == ("logistic_regression:C=1", "macro_recall")
    }  # fmt: skip
    # A tenth of the pictures for 50 classes: a classifier on such rows fails them, one on balanced rows does not.
    assert gaps["own"].difference > 0.3
    assert abs(gaps["balanced"].difference) < 0.15
    page = tmp_path / "findml.html"
    found.report(page)
    assert "Embedding spaces: do they serve every group equally" in page.read_text(encoding="utf-8")
