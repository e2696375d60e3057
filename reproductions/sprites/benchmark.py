"""Paper 002's benchmark on sprites: classifiers with a planted bias, planes of truth, and the scores of each method.

    python -m reproductions.sprites.benchmark --generators out/generators --classifiers out/classifiers --device cuda \
        --jobs 3 --json docs/papers/002/sprites.json --html out/sprites.html
    python -m reproductions.sprites.benchmark --from docs/papers/002/sprites.json --html out/sprites.html

Generators come from train_generators.py. What is there is not made again: a run that was stopped goes on where it was,
and more parts, generators or methods may be asked for later. Without a card: --device cpu --classifier-steps 20
--width 2 --steps 5 --batch 4 --pairs shape-scale --rows 500 shows that it runs. With --from nothing is run: the page is
drawn from a document that is there.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.discovery import LEAST, SearchSettings
from equipoise.foundation import (
    check_writable,
    fingerprint_of,
    provenance,
    write_whole,
)
from reproductions.sprites.classifiers import ClassifierSettings
from reproductions.sprites.document import document
from reproductions.sprites.generators import fingerprint
from reproductions.sprites.methods import PARTS
from reproductions.sprites.running import Benchmark, PlaneSettings, run
from reproductions.sprites.scoring import ScoreSettings
from reproductions.sprites.triplets import PAIRS


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run what is missing, write the document, print its main table and draw its page."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    asked = _asked(given)
    draw = None if asked.html is None else _page(asked.html)
    made = _run(asked, given) if asked.given is None else _read(asked.given)
    if draw is not None:
        draw(made)
    return made


def _run(asked: Any, given: Sequence[str]) -> dict[str, Any]:
    import torch  # a page can be drawn without it

    benchmark = _benchmark(asked)
    begun = time.perf_counter()
    telling = _Telling()
    run(benchmark, telling, asked.seconds)
    seconds = round(time.perf_counter() - begun, 1)
    origin = provenance(
        fingerprint=fingerprint_of(fingerprint(asked.generators, name).encode() for name in benchmark.plans()),
        command=["python", "-m", "reproductions.sprites.benchmark", *given],
    )
    more = {"provenance": origin,
            "seconds": {name: round(value, 1) for name, value in telling.spent.items()} | {"in all": seconds},
            "jobs": asked.jobs, "parts": asked.parts, "torch": torch.__version__,
            "graphics": torch.cuda.get_device_name() if asked.device != "cpu" else None}  # fmt: skip
    made = document(benchmark, more)
    write_whole(asked.json, json.dumps(made, indent=1, allow_nan=False) + "\n")
    _print(made, seconds)
    return made


def _read(path: Path) -> dict[str, Any]:
    from reproductions.sprites.reading import read_document

    return read_document(path)


def _page(path: Path) -> Callable[[dict[str, Any]], Path]:
    """Return what draws the page: asked for before the run, and only where it is wanted, for some lack its library."""
    from reproductions.sprites.report import Sprites

    check_writable(path)
    return lambda made: Sprites.of(made).report(path)


class _Telling:
    """Prints how far each stage is, at most every two seconds, and how long is left of it."""

    def __init__(self) -> None:
        self.stage, self.said = "", 0.0
        self.begun = self.last = time.perf_counter()
        self.spent: dict[str, float] = {}

    def __call__(self, stage: str, done: int, of: int) -> None:
        now = time.perf_counter()
        if stage != self.stage:
            self.begun, self.stage = self.last, stage
        self.last = now
        self.spent[stage] = now - self.begun
        if done == of or now - self.said > 2:
            self.said = now
            left = self.spent[stage] / done * (of - done)
            print(f"{stage}: {done:,} of {of:,}; {self.spent[stage]:.0f} s, {left:.0f} s left", flush=True)


def _benchmark(asked: Any) -> Benchmark:
    by_name = {pair.name: pair for pair in PAIRS}
    alphas = tuple(np.linspace(-2.0, 2.0, asked.alphas).tolist())
    # A step's pictures all at once on a card: launching chunks costs more than memory.
    chunk = asked.restarts * asked.batch * asked.alphas if asked.device != "cpu" else None
    search = SearchSettings(steps=asked.steps, batch=asked.batch, rate=asked.rate, alphas=alphas, chunk=chunk,
                            precision=asked.precision)  # fmt: skip
    return Benchmark(
        generators=asked.generators,
        classifiers=asked.classifiers,
        work=asked.work or asked.json.with_suffix(".work"),
        pairs=tuple(by_name[name] for name in asked.pairs),
        methods=tuple(method for part in asked.parts for method in PARTS[part]),
        taught=ClassifierSettings(
            steps=asked.classifier_steps, batch_size=asked.classifier_batch, learning_rate=asked.classifier_rate,
            agreement=asked.agreement, width=asked.width, seed=asked.seed, held_out=asked.held_out,
            report_every=min(500, asked.classifier_steps),
        ),
        planes=PlaneSettings(
            rows=asked.rows, calm_steps=asked.calm_steps, seed=asked.seed,
            least_r2=-1.0 if asked.every_plane else LEAST["R2"], least_auc=0.0 if asked.every_plane else LEAST["AUC"],
        ),
        score=ScoreSettings(search=search, restarts=asked.restarts, hessian=asked.hessian, seed=asked.seed),
        device=asked.device,
        jobs=asked.jobs,
    )  # fmt: skip


def _asked(arguments: Sequence[str]) -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generators", type=Path, help="the folder that train_generators.py filled")
    parser.add_argument("--classifiers", type=Path, help="the folder of classifiers, filled here")
    parser.add_argument("--json", type=Path, help="where the document goes")
    parser.add_argument("--html", type=Path, help="where the page of it goes")
    parser.add_argument("--from", dest="given", type=Path, metavar="JSON", help="run nothing: draw this one's page")
    parser.add_argument("--work", type=Path, help="the folder of planes and triplets; JSON.work by default")
    parser.add_argument("--parts", nargs="+", default=["table"], choices=PARTS)
    parser.add_argument("--pairs", nargs="+", default=[pair.name for pair in PAIRS], metavar="TARGET-BIASED",
                        choices=[pair.name for pair in PAIRS])  # fmt: skip
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=1, help="processes that score triplets")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no triplet after so long")
    parser.add_argument("--precision", default="native", choices=["native", "bfloat16"],
                        help="of a search's steps")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200, help="of a search; the paper's code takes 1,000 at 1e-3")
    parser.add_argument("--batch", type=int, default=32, help="latents of a step; the paper's 64")
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--alphas", type=int, default=20, help="points of a traversal")
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--hessian", type=float, default=0.1, help="weight of the Hessian penalty in the ablation")
    parser.add_argument("--calm-steps", type=int, default=200, help="steps of the Hessian penalty's own directions")
    parser.add_argument("--rows", type=int, default=20_000, help="sprites that planes are fitted to")
    parser.add_argument(
        "--every-plane",
        action="store_true",
        help="score every triplet as the paper does, also where a plane tells nothing of its factor",
    )
    parser.add_argument("--classifier-steps", type=int, default=4_000)
    parser.add_argument("--classifier-batch", type=int, default=128)
    parser.add_argument("--classifier-rate", type=float, default=1e-4)
    parser.add_argument("--agreement", type=float, default=0.9, help="how often both halves go together")
    parser.add_argument("--held-out", type=int, default=20_000, help="sprites that classifiers are judged on")
    parser.add_argument("--width", type=int, default=32, help="of the classifiers' narrowest layer")
    asked = parser.parse_args(arguments)
    needed = ("generators", "classifiers", "json") if asked.given is None else ("html",)
    missing = [f"--{name}" for name in needed if getattr(asked, name) is None]
    if missing:
        parser.error(f"the following arguments are required: {', '.join(missing)}")
    return asked


def _print(made: dict[str, Any], seconds: float) -> None:
    counted = made["counts"]
    print(f"{counted['triplets']} triplets, {counted['unfitted']} unfitted, {seconds:.0f} s")
    for row in made["table"]:
        print(f"{row['method']:>18}  " + "  ".join(_cell(row[name]) for name in ("biased", "target", "difference"))
              + f"  leading {row['leading']:.0%}")  # fmt: skip
    print(f"  ours above chance  {_cell(made['above_chance'])}")
    for row in made["by_gap"]:
        print(f"  of {row['triplets']} triplets with a gap from {row['gap'][0]} to {row['gap'][1]}: "
              f"{_cell(row['above_chance'])}")  # fmt: skip


def _cell(found: dict[str, Any]) -> str:
    if found["mean"] is None:
        return "none"
    ends = "" if found["low"] is None else f" [{found['low']:+.2f}, {found['high']:+.2f}]"
    return f"{found['mean']:+.3f}{ends}"


if __name__ == "__main__":
    main()
