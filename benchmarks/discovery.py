"""Claim: the search for a direction takes at most half the time of a plain loop on two cores, and under 1 GB: 16
restarts against one after another through one graph that lets gradients flow to the networks' weights.

Run it as: python benchmarks/discovery.py [--small] [--one-thread] [--restarts N] [--plain N] [--rounds N] [--chunk N]
[--device cuda]
python benchmarks/discovery.py --surrogate [--restarts N] [--steps N] [--latents N] [--fit-steps N]
[--polish N] [--device cuda]
python benchmarks/discovery.py --race [--restarts N] [--steps N] [--precision bfloat16] [--device cuda]

Generator and classifier are paper 002's (decoder and encoder of 64 x 64 pictures, latent size 10), untrained; a step is
20 points along 64 latents, so 1,280 pictures a restart. Each side runs in a process of its own, in turns, for its peak
of memory too. The plain loop is timed on ``--plain`` restarts: one after another, they cost the same each. Counted is
the time of a step of a restart, the first step left out; ``--one-thread`` counts the time of the processor, which a
shared machine changes little.

With ``--surrogate`` a whole search is timed, its steps counted from those above: the plain loop and ours for
``--steps`` steps a restart (1,000 in the paper), against a search on a surrogate of p(z) that is fitted first and
polished after; and beside it a short search of 100 steps and two restarts on the networks themselves, with its loss on
fresh latents, its time and the cosine between both directions. No claim: on these networks the short one is better.

With ``--race`` two whole searches are timed, one in which restarts drop out on the way (its steps in ``--precision``)
and one in which none does, against the plain loop's steps. Claim: on a card, in bfloat16, at least 10 times the plain
loop, and the loss on fresh latents within 0.05 of the other's, which keeps every bit.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import torch

from equipoise.discovery import Classifier, SearchSettings, SurrogateSettings, search, surrogate_search
from equipoise.discovery.generative import Generator
from equipoise.networks import vae_decoder, vae_encoder

LATENT, BATCH, RATE = 10, 64, 0.01
CLAIM, MEMORY, RACE_CLAIM = 2.0, 1000, 10.0


def networks(device: str) -> tuple[torch.nn.Module, torch.nn.Module]:
    torch.manual_seed(0)
    decoder = torch.nn.Sequential(vae_decoder(LATENT), torch.nn.Sigmoid())
    encoder = vae_encoder(1)
    # Untrained, both answer the same to everything; with larger weights a prediction moves.
    for layer in (*decoder.modules(), *encoder.modules()):
        if isinstance(layer, torch.nn.Conv2d | torch.nn.ConvTranspose2d):
            layer.weight.data *= 3.0
    return decoder.to(device), encoder.to(device)


def ours(asked: argparse.Namespace, clock: Callable[[], float]) -> list[float]:
    decoder, encoder = networks(asked.device)
    generator, classifier = Generator(decoder, LATENT, device=asked.device), Classifier(encoder, logits=True)
    settings = SearchSettings(steps=asked.steps + 1, batch=asked.batch, held_out=2, chunk=asked.chunk)
    ticks: list[float] = []
    search(
        generator, classifier, restarts=asked.restarts, settings=settings,
        report=lambda done, of, loss: ticks.append(clock()),
    )  # fmt: skip
    return [(after - before) / asked.restarts for before, after in pairwise(ticks)]


def plain(asked: argparse.Namespace, clock: Callable[[], float]) -> list[float]:
    """What one writes first: the paper's loss, one graph through both networks, whose weights have gradients too."""
    decoder, encoder = networks(asked.device)
    alphas = torch.linspace(-2, 2, 20, device=asked.device)
    spent = []
    for restart in range(asked.plain):
        torch.manual_seed(restart)
        normal = torch.randn(LATENT, device=asked.device).requires_grad_()
        offset = torch.randn(1, device=asked.device).requires_grad_()
        optimiser = torch.optim.Adam([normal, offset], lr=RATE)
        for _ in range(asked.steps + 1):
            began = clock()
            z = torch.randn(asked.batch, LATENT, device=asked.device)
            unit = normal / normal.norm()
            projected = z - (z @ unit + offset)[:, None] * unit
            moved = projected[None] + alphas[:, None, None] * unit
            p = encoder(decoder(moved.reshape(-1, LATENT))).sigmoid().reshape(len(alphas), -1)
            loss = -torch.log(1e-10 + (p[1:] - p[:-1]).abs().mean())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            loss.item()
            spent.append(clock() - began)
    return spent[1:]


def with_surrogate(asked: argparse.Namespace) -> None:
    """Time a search on a surrogate, fit and polish included, against the steps that it saves."""
    decoder, encoder = networks(asked.device)
    generator, classifier = Generator(decoder, LATENT, device=asked.device), Classifier(encoder, logits=True)
    settings = SearchSettings(steps=asked.steps, batch=asked.batch, held_out=64, chunk=asked.chunk)
    fitted = {"latents": asked.latents, "steps": asked.fit_steps, "polish": asked.polish}
    few = SurrogateSettings(**({"latents": 200, "steps": 20, "polish": 1, "least_r2": -9.0} if asked.small else fitted))
    began = time.perf_counter()
    quick = surrogate_search(generator, classifier, restarts=asked.restarts, settings=settings, surrogate=few)
    spent = time.perf_counter() - began
    brief = argparse.Namespace(**{**vars(asked), "steps": 2, "plain": 1})
    step = {
        name: statistics.median(side(brief, time.perf_counter)) for name, side in (("plain", plain), ("ours", ours))
    }
    for name, one in step.items():
        whole = one * asked.steps * asked.restarts
        print(f"{name}: {1e3 * one:.0f} ms a step of a restart, {whole:,.0f} s for {asked.steps} steps of each")
    assert quick.surrogate is not None
    print(f"surrogate: {spent:,.0f} s, R2 {quick.surrogate.r2:.2f}; loss {quick.search.directions[0].loss:.3f}")
    began = time.perf_counter()
    short = search(
        generator, classifier, restarts=2, settings=replace(settings, steps=min(100, asked.steps))
    ).directions[0]
    cosine = abs(short.plane.cosine(quick.search.directions[0].plane))
    print(
        f"100 steps of 2 restarts on the networks themselves: {time.perf_counter() - began:,.1f} s; "
        f"loss {short.loss:.3f}; cosine of the two directions {cosine:.2f}"
    )
    ratio = step["plain"] * asked.steps * asked.restarts / spent
    print(f"{asked.restarts} restarts on a surrogate: ratio {ratio:.1f}")


def with_a_race(asked: argparse.Namespace) -> None:
    """Time whole searches with a race among restarts and without one."""
    decoder, encoder = networks(asked.device)
    generator, classifier = Generator(decoder, LATENT, device=asked.device), Classifier(encoder, logits=True)
    brief = argparse.Namespace(**{**vars(asked), "steps": 2, "plain": 1})
    step = statistics.median(plain(brief, time.perf_counter))
    whole = step * asked.steps * asked.restarts
    print(f"plain: {1e3 * step:.0f} ms a step of a restart, {whole:,.0f} s for {asked.steps} steps of each")
    for race in (True, False):
        settings = SearchSettings(
            steps=asked.steps, batch=asked.batch, held_out=asked.batch, chunk=asked.chunk, race=race,
            precision=asked.precision if race else "native",
        )  # fmt: skip
        began = time.perf_counter()
        found = search(generator, classifier, restarts=asked.restarts, settings=settings).directions[0]
        spent = time.perf_counter() - began
        words = f"with a race ({asked.precision})" if race else "without one"
        print(
            f"{asked.restarts} restarts {words}: {spent:,.1f} s, ratio {whole / spent:.2f}"
            f"{f' (claim on a card {RACE_CLAIM:g})' if race else ''}; loss {found.loss:.3f}, restart {found.restart}"
        )


def one_side(asked: argparse.Namespace) -> None:
    if asked.one_thread:
        torch.set_num_threads(1)
    clock = time.process_time if asked.one_thread else time.perf_counter
    began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = {"ours": ours, "plain": plain}[asked.side](asked, clock)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"step": statistics.median(spent), "peak": peak / 1024, "began": began / 1024}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="2 restarts, 2 latents, 1 round")
    parser.add_argument("--one-thread", action="store_true", help="one thread, and the time of the processor")
    parser.add_argument("--restarts", type=int, default=16)
    parser.add_argument("--plain", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--chunk", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--surrogate", action="store_true", help="time whole searches, with a surrogate and without")
    parser.add_argument("--latents", type=int, default=SurrogateSettings.latents, help="that a surrogate is fitted to")
    parser.add_argument("--fit-steps", type=int, default=SurrogateSettings.steps, help="of that fit")
    parser.add_argument("--polish", type=int, default=SurrogateSettings.polish, help="steps on the networks after it")
    parser.add_argument("--race", action="store_true", help="time whole searches, with a race and without")
    parser.add_argument("--precision", default="native", help="of the race's steps: native or bfloat16")
    parser.add_argument("--side", choices=("ours", "plain"))
    asked = parser.parse_args()
    if asked.small:
        asked.restarts, asked.plain, asked.rounds, asked.batch = 2, 1, 1, 2
    if asked.side:
        return one_side(asked)
    if asked.surrogate:
        return with_surrogate(asked)
    if asked.race:
        return with_a_race(asked)
    seen: dict[str, list[dict[str, float]]] = {"ours": [], "plain": []}
    for _ in range(asked.rounds):
        for side, results in seen.items():
            done = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--side", side], capture_output=True, text=True, check=True
            )
            results.append(json.loads(done.stdout.splitlines()[-1]))
    for side, results in seen.items():
        steps = ", ".join(f"{1e3 * result['step']:.0f}" for result in results)
        peak = max(result["peak"] for result in results)
        grown = max(result["peak"] - result["began"] for result in results)
        print(
            f"{side}: {steps} ms a step of a restart; peak {peak:,.0f} MB, of which {grown:,.0f} MB since torch was in"
        )
    ratios = [one["step"] / other["step"] for one, other in zip(seen["plain"], seen["ours"], strict=True)]
    print(f"memory claimed: {MEMORY:,} MB")
    print(
        f"{asked.restarts} restarts: ratio {statistics.median(ratios):.2f} (lowest {min(ratios):.2f}; claim {CLAIM:g})"
    )


if __name__ == "__main__":
    main()
