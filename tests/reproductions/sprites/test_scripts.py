"""The benchmark on sprites, in small on a CPU: two kinds, two pairs, and a run that goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.foundation import BadInput
from helpers.paper_scripts import PAPERS
from reproductions.sprites import benchmark, train_generators

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

FOLDER = PAPERS / "002"
TRAIN = ("--device", "cpu", "--steps", "3", "--batch-size", "4", "--width", "2", "--latent-size", "8", "--kinds", "vae",
         "dip_vae_ii", "--report-every", "2")  # fmt: skip
SCORE = ("--device", "cpu", "--classifier-steps", "4", "--classifier-batch", "8", "--width", "2", "--steps", "2",
         "--batch", "4", "--alphas", "2", "--restarts", "1", "--calm-steps", "2", "--pairs", "x-y", "scale-x", "--rows",
         "600", "--held-out", "300")  # fmt: skip


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark") / "generators"
    assert train_generators.main(["--out", str(folder), *TRAIN]) == 2
    assert train_generators.main(["--out", str(folder), *TRAIN]) == 0
    assert train_generators.main(["--out", str(folder), *TRAIN, "--kinds", "vae", "--skew", "x", "y", "0.9"]) == 1
    return folder


def run(generators: Path, *more: str) -> dict[str, Any]:
    where = ("--generators", str(generators), "--classifiers", str(generators.parent / "classifiers"))
    found: dict[str, Any] = benchmark.main([*where, *SCORE, *more])
    return found


def test_the_benchmark_runs_goes_on_and_writes_one_document(
    generators: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sprites.json"
    begun = run(generators, "--json", str(file), "--seconds", "0")
    assert (len(begun["triplets"]), begun["asked"]) == (1, 5)
    first = run(generators, "--json", str(file))
    assert json.loads(file.read_text(encoding="utf-8")) == first
    assert first["counts"]["triplets"] == 4
    assert len(first["triplets"]) == 5  # the skewed generator is asked about its own pair
    assert [(one["target"], one["biased"]) for one in first["classifiers"]] == [("x", "y"), ("scale", "x")]
    assert {fit["name"] for fit in first["generators"][0]["fits"]} >= {"orientation sine", "x", "shape"}
    assert "s left" in capsys.readouterr().out
    assert first["provenance"]["command"].startswith("python -m reproductions.sprites.benchmark --generators ")
    assert first["provenance"]["fingerprint"] == begun["provenance"]["fingerprint"]
    # A file that is gone is made again, the same; a torn one that was never renamed is nobody's; the others stay.
    kept = sorted((tmp_path / "sprites.work" / "triplets").glob("*.json"))
    before = {path: path.stat().st_mtime_ns for path in kept}
    text = kept[0].read_text(encoding="utf-8")
    kept[0].unlink()
    (kept[0].parent / ".torn.json.part").write_text("{", encoding="utf-8")
    again = run(generators, "--json", str(file))
    assert kept[0].read_text(encoding="utf-8") == text
    assert {path: path.stat().st_mtime_ns for path in kept[1:]} == {path: before[path] for path in kept[1:]}
    assert again["triplets"] == first["triplets"]
    # More parts are added to what is there.
    more = run(generators, "--json", str(file), "--parts", "table", "known")
    for old, new in zip(first["triplets"], more["triplets"], strict=True):
        assert new["unfitted"] or set(new["methods"]) > set(old["methods"])
        assert all(new["methods"][name] == value for name, value in old["methods"].items())
    with pytest.raises(BadInput, match="--work"):
        run(generators, "--json", str(file), "--rate", "0.5")
    every = run(generators, "--json", str(tmp_path / "every.json"), "--every-plane", "--pairs", "x-y", "--html",
                str(tmp_path / "every.html"))  # fmt: skip
    assert every["counts"]["unfitted"] == 0
    # The page of a run is that of its document.
    drawn = (tmp_path / "every.html").read_bytes()
    again = benchmark.main(["--from", str(tmp_path / "every.json"), "--html", str(tmp_path / "again.html")])
    assert again == every
    assert (tmp_path / "again.html").read_bytes() == drawn
    with pytest.raises(BadInput, match="another folder"):
        run(generators, "--json", str(tmp_path / "other.json"), "--agreement", "0.8")


def test_what_is_needed_depends_on_what_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = benchmark.main
    with pytest.raises(SystemExit):
        main(["--html", str(tmp_path / "page.html")])
    assert "required: --generators, --classifiers, --json" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--from", str(FOLDER / "sprites.json")])
    assert "required: --html" in capsys.readouterr().err
    with pytest.raises(BadInput, match=r"equipoise\.benchmark\.sprites/1"):
        main(["--from", str(FOLDER / "faces.json"), "--html", str(tmp_path / "page.html")])
    with pytest.raises(BadInput, match="does not exist"):
        main(["--from", str(FOLDER / "sprites.json"), "--html", str(tmp_path / "nowhere" / "page.html")])
    assert not list(tmp_path.iterdir())
