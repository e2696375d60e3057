"""Audits of embeddings of every shape, as the tests of the report need them."""

from __future__ import annotations

from functools import cache

import numpy as np

from equipoise.audits import AuditResult
from equipoise.audits.embedding import audit_embedding
from helpers.cases.report import HOSTILE

Space = tuple[np.ndarray, dict[str, np.ndarray]]


def pictures(worse: float = 1.0, people: int = 30) -> Space:
    """Several pictures of each person around a place of its own; those of the second group are scattered wider."""
    generator = np.random.default_rng(people)
    person = np.repeat(np.arange(people), 6)
    group = np.array(["a", "a", "b"])[np.arange(people) % 3][person]
    place = generator.normal(size=(people, 8))[person]
    noise = generator.normal(size=place.shape) * np.where(group == "b", 0.3 + worse, 0.3)[:, None]
    return place + noise, {"person": person, "group": group, "half": np.where(person % 2, "x", "y")}


@cache
def plain() -> AuditResult:
    """Two attributes, of which one has a gap and the other no group that is the largest; probes and a classifier."""
    points, rows = pictures()
    return audit_embedding(
        points, rows=rows, target="person", sensitive_features=["group", "half"], cluster="person", draws=100,
        leakage=True, downstream=["logistic_regression"], downstream_target="half",
    )  # fmt: skip


@cache
def classes() -> AuditResult:
    """Three classes that are named on the map, three groups, two classifiers."""
    generator = np.random.default_rng(3)
    kind, site = generator.choice(["cat", "dog", "owl"], 360), generator.choice(["n", "s", "w"], 360, p=[0.5, 0.3, 0.2])
    points = generator.normal(size=(360, 5))
    for index, name in enumerate(["dog", "owl"]):
        points[:, index] += 3.0 * (kind == name) * np.where(site == "w", 0.3, 1.0)
    return audit_embedding(
        points, rows={"kind": kind, "site": site}, target="kind", sensitive_features="site", draws=100, k=3,
        downstream=["logistic_regression", "k_means"], map="tsne",
    )  # fmt: skip


@cache
def hostile() -> AuditResult:
    """Names that try to run, to break out or to break the page: groups, attributes and classes."""
    generator = np.random.default_rng(5)
    group = np.array(HOSTILE, dtype=object)[np.repeat(np.arange(len(HOSTILE)), 24)]
    rows = {
        "</script><script>window.injected = 3</script> {{ 7*7 }}": group,
        "a.b['c']": np.where(
            generator.random(len(group)) < 0.3, "</style><script>window.injected = 2</script>", "x.y[z]"
        ),
    }
    target = np.array(["<b>yes</b> {{ 1 }}", "</title>no", "{% raw %}"], dtype=object)[np.arange(len(group)) % 3]
    points = generator.normal(size=(len(group), 4)) + 2.0 * (np.arange(len(group)) % 3)[:, None]
    points[:, 0] += 4.0 * (rows["a.b['c']"] == "x.y[z]")
    return audit_embedding(
        points, target=target, sensitive_features=rows, draws=30, leakage=True,
        downstream=["logistic_regression", "k_means"],
        command=["equipoise", "audit", "</script><script>window.injected = 4</script>"],
    )  # fmt: skip


@cache
def hidden() -> AuditResult:
    """Small groups that must not be shown: no map, and nothing tested."""
    points, rows = pictures()
    rows["group"] = np.where(rows["person"] == 0, "tiny", rows["group"])
    return audit_embedding(
        points, rows=rows, target="person", sensitive_features="group", draws=0, suppress_below=20,
        downstream=["logistic_regression"], downstream_target="half",
    )  # fmt: skip


@cache
def many_groups() -> AuditResult:
    """Fifty groups in two attributes: more lines than a chart can hold."""
    generator = np.random.default_rng(7)
    region = np.repeat(np.arange(50), 12)
    points = generator.normal(size=(600, 3))
    kind = generator.integers(0, 4, 600)
    points[:, 0] += 2.0 * kind
    groups = {"region": [f"region {place:02d}" for place in region], "part": [f"part {place % 25}" for place in region]}
    return audit_embedding(
        points, target=kind, draws=20, least_people=5,
        sensitive_features={name: np.array(group) for name, group in groups.items()},
    )  # fmt: skip


CASES = {case.__name__: case for case in (plain, classes, hostile, hidden, many_groups)}
