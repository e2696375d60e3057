"""Comparisons of every shape, as the tests of their page need them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import equipoise
from equipoise.audits.compare import CompareResult
from helpers.cases.report import HOSTILE


def _people(
    rows: int, seed: int, **groups: tuple[list[str], list[float]]
) -> tuple[np.random.Generator, dict[str, Any]]:
    draw = np.random.default_rng([seed, rows])
    return draw, {name: draw.choice(np.array(names, dtype=object), rows, p=p) for name, (names, p) in groups.items()}


@cache
def planted() -> CompareResult:
    """Two thousand people with three attributes; the change hits young women, and some of their predictions."""
    draw, groups = _people(
        2_000, 1, sex=(["Female", "Male"], [0.45, 0.55]), age=(["under 25", "25 to 45", "over 45"], [0.25, 0.5, 0.25]),
        race=(["Asian", "Black", "Other", "White"], [0.12, 0.2, 0.08, 0.6]),
    )  # fmt: skip
    before = draw.normal(size=(2_000, 16))
    before[:, 0] += 1.5 * (groups["sex"] == "Female")
    hit = (groups["sex"] == "Female") & (groups["age"] == "under 25") & (draw.random(2_000) < 0.75)
    after = before + draw.normal(size=before.shape) * np.where(hit, 1.2, 0.12)[:, None]
    said = draw.random(2_000) < 0.4
    says = said ^ (draw.random(2_000) < np.where(hit, 0.4, 0.03))
    return equipoise.compare(
        before, after, sensitive_features=groups, direction="sex=Female,Male", draws=300,
        prediction_before=np.where(said, "granted", "refused"), prediction_after=np.where(says, "granted", "refused"),
        rerun=after + 0.08 * draw.normal(size=after.shape),
    )  # fmt: skip


@cache
def noise() -> CompareResult:
    """A change that is no larger than that of an identical rerun, though it hits women more; so does the rerun."""
    draw, groups = _people(1_500, 7, sex=(["Female", "Male"], [0.4, 0.6]))
    before = draw.normal(size=(1_500, 8))
    size = np.where(groups["sex"] == "Female", 0.6, 0.2)[:, None]
    after, rerun = (before + size * draw.normal(size=before.shape) for _ in range(2))
    return equipoise.compare(before, after, sensitive_features=groups, draws=200, rerun=rerun)


@cache
def hostile() -> CompareResult:
    """Names that try to run, to break out or to break the page."""
    draw = np.random.default_rng(2)
    group = np.array(HOSTILE, dtype=object)[draw.integers(0, len(HOSTILE), 1_500)]
    other = np.where(draw.random(1_500) < 0.3, "</style><script>window.injected = 2</script>", "x.y[z]")
    before = draw.normal(size=(1_500, 6))
    after = before + draw.normal(size=before.shape) * np.where(group == HOSTILE[0], 1.0, 0.2)[:, None]
    said = np.array(["<b>yes</b> {{ 1 }}", "</title>no"], dtype=object)[draw.integers(0, 2, 1_500)]
    return equipoise.compare(
        before, after,
        sensitive_features={
            "</script><script>window.injected = 3</script> {{ 7*7 }}": group, "שלום \u202ea.b['c']": other,
        },
        prediction_before=said, prediction_after=np.where(group == HOSTILE[0], "</title>no", said), draws=100,
        command=["equipoise", "compare", "</script><script>window.injected = 4</script>"],
    )  # fmt: skip


@cache
def hidden() -> CompareResult:
    """Groups, bars and moves of a few people that must not be shown."""
    draw, groups = _people(900, 3, site=(["a", "b", "tiny"], [0.5, 0.49, 0.01]), sex=(["f", "m"], [0.5, 0.5]))
    before = draw.normal(size=(900, 5))
    before[:, 0] += 1.0 * (groups["sex"] == "f")  # the direction of the projection
    after = before + draw.normal(size=before.shape) * np.where(groups["sex"] == "f", 0.9, 0.2)[:, None]
    said = draw.integers(0, 2, 900)
    return equipoise.compare(
        before, after, sensitive_features=groups, suppress_below=20, direction="sex=f,m", draws=100,
        prediction_before=said, prediction_after=np.where(draw.random(900) < 0.06, 1 - said, said),
        rerun=after + 0.1 * draw.normal(size=after.shape),
    )  # fmt: skip


@cache
def copies() -> CompareResult:
    """A few profiles that many people share, predicted numbers, and individuals who were asked for."""
    draw = np.random.default_rng(4)
    profile = draw.integers(0, 60, 1_200)
    points = draw.normal(size=(60, 6))
    group = np.array(["north", "south", None], dtype=object)[draw.choice(3, 60, p=[0.5, 0.4, 0.1])][profile]
    moved = points + draw.normal(size=points.shape) * np.linspace(0.05, 1.5, 60)[:, None]
    score = draw.random(1_200)
    return equipoise.compare(
        points[profile], moved[profile], sensitive_features={"region": group}, show_rows=True, draws=200,
        prediction_before=score, prediction_after=score + np.where(group == "south", 0.2, 0.0),
    )  # fmt: skip


@cache
def many() -> CompareResult:
    """More attributes and groups than a chart has room for, with long names; nothing is tested."""
    draw = np.random.default_rng(5)
    groups = {
        f"{'жы' * 40}{place}": np.array([f"{'юш' * 40}{name}" for name in range(3 + 4 * place)], dtype=object)[
            draw.integers(0, 3 + 4 * place, 3_000)
        ]
        for place in range(9)
    }
    before = draw.normal(size=(3_000, 6))
    return equipoise.compare(
        before, before + 0.5 * draw.normal(size=before.shape), sensitive_features=groups, draws=0, show_rows=True,
        direction=np.eye(6)[0], rerun=before, prediction_before=draw.integers(0, 9, 3_000),
        prediction_after=draw.integers(0, 9, 3_000),
    )  # fmt: skip


@cache
def same() -> CompareResult:
    """The same space twice: nobody changed."""
    draw, groups = _people(200, 6, sex=(["f", "m"], [0.5, 0.5]))
    points = draw.normal(size=(200, 4))
    return equipoise.compare(points, points, sensitive_features=groups, draws=50)


CASES = {case.__name__: case for case in (planted, noise, hostile, hidden, copies, many, same)}
