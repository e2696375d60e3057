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
    write_file,
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
    argv = sys.argv[1:] if arguments is None else list(arguments)
    options = _asked(argv)
    draw = None if options.html is None else _page(options.html)
    contents = _run(options, argv) if options.given is None else _read(options.given)
    if draw is not None:
        draw(contents)
    return contents


def _run(options: Any, argv: Sequence[str]) -> dict[str, Any]:
    import torch  # a page can be drawn without it

    benchmark = _benchmark(options)
    started = time.perf_counter()
    telling = _Telling()
    run(benchmark, telling, options.seconds)
    seconds = round(time.perf_counter() - started, 1)
    origin = provenance(
        fingerprint=fingerprint_of(fingerprint(options.generators, name).encode() for name in benchmark.plans()),
        command=["python", "-m", "reproductions.sprites.benchmark", *argv],
    )
    more = {"provenance": origin,
            "seconds": {name: round(value, 1) for name, value in telling.spent.items()} | {"in all": seconds},
            "jobs": options.jobs, "parts": options.parts, "torch": torch.__version__,
            "graphics": torch.cuda.get_device_name() if options.device != "cpu" else None}  # fmt: skip
    contents = document(benchmark, more)
    write_file(options.json, json.dumps(contents, indent=1, allow_nan=False) + "\n")
    _print(contents, seconds)
    return contents


def _read(path: Path) -> dict[str, Any]:
    from reproductions.sprites.reading import read_document

    return read_document(path)


def _page(path: Path) -> Callable[[dict[str, Any]], Path]:
    """Return what draws the page: asked for before the run, and only where it is wanted, for some lack its library."""
    from reproductions.sprites.report import Sprites

    check_writable(path)
    return lambda contents: Sprites.of(contents).report(path)


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
            remaining = self.spent[stage] / done * (of - done)
            print(f"{stage}: {done:,} of {of:,}; {self.spent[stage]:.0f} s, {remaining:.0f} s left", flush=True)


def _benchmark(options: Any) -> Benchmark:
    by_name = {pair.name: pair for pair in PAIRS}
    alphas = tuple(np.linspace(-2.0, 2.0, options.alphas).tolist())
    # A step's pictures all at once on a card: launching chunks costs more than memory.
    chunk = options.restarts * options.batch * options.alphas if options.device != "cpu" else None
    search = SearchSettings(steps=options.steps, batch=options.batch, rate=options.rate, alphas=alphas, chunk=chunk,
                            precision=options.precision)  # fmt: skip
    return Benchmark(
        generators=options.generators,
        classifiers=options.classifiers,
        work=options.work or options.json.with_suffix(".work"),
        pairs=tuple(by_name[name] for name in options.pairs),
        methods=tuple(method for part in options.parts for method in PARTS[part]),
        taught=ClassifierSettings(
            steps=options.classifier_steps, batch_size=options.classifier_batch, learning_rate=options.classifier_rate,
            agreement=options.agreement, width=options.width, seed=options.seed, held_out=options.held_out,
            report_every=min(500, options.classifier_steps),
        ),
        planes=PlaneSettings(
            rows=options.rows, calm_steps=options.calm_steps, seed=options.seed,
            least_r2=-1.0 if options.every_plane else LEAST["R2"], least_auc=0.0 if options.every_plane
            else LEAST["AUC"],
        ),
        score=ScoreSettings(search=search, restarts=options.restarts, hessian=options.hessian, seed=options.seed),
        device=options.device,
        jobs=options.jobs,
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
    options = parser.parse_args(arguments)
    needed = ("generators", "classifiers", "json") if options.given is None else ("html",)
    missing = [f"--{name}" for name in needed if getattr(options, name) is None]
    if missing:
        parser.error(f"the following arguments are required: {', '.join(missing)}")
    return options


def _print(contents: dict[str, Any], seconds: float) -> None:
    counted = contents["counts"]
    print(f"{counted['triplets']} triplets, {counted['unfitted']} unfitted, {seconds:.0f} s")
    for row in contents["table"]:
        print(f"{row['method']:>18}  " + "  ".join(_cell(row[name]) for name in ("biased", "target", "difference"))
              + f"  leading {row['leading']:.0%}")  # fmt: skip
    print(f"  ours above chance  {_cell(contents['above_chance'])}")
    for row in contents["by_gap"]:
        print(f"  of {row['triplets']} triplets with a gap from {row['gap'][0]} to {row['gap'][1]}: "
              f"{_cell(row['above_chance'])}")  # fmt: skip


def _cell(estimate: dict[str, Any]) -> str:
    if estimate["mean"] is None:
        return "none"
    ends = "" if estimate["low"] is None else f" [{estimate['low']:+.2f}, {estimate['high']:+.2f}]"
    return f"{estimate['mean']:+.3f}{ends}"


if __name__ == "__main__":
    main()
