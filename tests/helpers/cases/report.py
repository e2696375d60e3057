"""Audits of every shape, as the tests of the report need them."""

from __future__ import annotations

from functools import cache

import numpy as np

import equipoise
from equipoise.audits import AuditResult

HOSTILE = (
    "</script><script>window.injected = 1; document.title = 'injected'</script>",
    "<img src=x onerror='window.injected = 1'>",
    "{{ 7*7 }}{% raw %}${7*7}",
    "a.b[0]['c']\\\"d",
    "שלום עולם \u202egnorw",
    "👩‍👩‍👧 emoji & é\ud800",
    "__proto__",
    "constructor",
    "long " + "x" * 500,
    "-->\x00\u2028]]>",
    "javascript:alert(1)",
    "",
)


@cache
def adult() -> AuditResult:
    """The demo: scores, two attributes and their crossing."""
    return equipoise.audit(equipoise.load("adult").where("test"), reference={"sex": "Male"}, intersections=True)


def _draws(rows: int, seed: int = 0) -> np.random.Generator:
    return np.random.default_rng([seed, rows])


@cache
def hostile() -> AuditResult:
    """Names that try to run, to break out or to break the page."""
    generator = _draws(6_000)
    group = np.array(HOSTILE, dtype=object)[generator.integers(0, len(HOSTILE), 6_000)]
    other = np.where(generator.random(6_000) < 0.3, "</style><script>window.injected = 2</script>", "x.y[z]")
    score = np.clip(generator.random(6_000) + 0.2 * (group == HOSTILE[0]) - 0.1, 0, 1)
    wanted = "<b>yes</b> {{ 1 }}"
    target = np.where(generator.random(6_000) < score, wanted, "</title>no")
    return equipoise.audit(
        target=target,
        score=score,
        favourable=wanted,
        sensitive_features={"</script><script>window.injected = 3</script> {{ 7*7 }}": group, "a.b['c']": other},
        command=["equipoise", "audit", "</script><script>window.injected = 4</script>"],
    )


@cache
def fifty_groups() -> AuditResult:
    """Fifty groups with scores: more lines and rows than a chart can hold."""
    generator = _draws(60_000)
    group = generator.integers(0, 50, 60_000)
    score = np.clip(generator.beta(2, 3, 60_000) + 0.004 * (group - 25), 0, 1)
    target = np.where(generator.random(60_000) < score, "yes", "no")
    return equipoise.audit(
        target=target,
        score=score,
        favourable="yes",
        sensitive_features={"region": np.array([f"region {place:02d}" for place in group])},
    )


@cache
def regression() -> AuditResult:
    """A predicted number."""
    generator = _draws(3_000)
    group = np.array(["a", "b", "c"])[generator.integers(0, 3, 3_000)]
    target = generator.normal(50, 10, 3_000)
    prediction = target + generator.normal(0, 5, 3_000) + 2.0 * (group == "a")
    return equipoise.audit(target=target, prediction=prediction, sensitive_features={"site": group}, task="regression")


@cache
def many_classes() -> AuditResult:
    """Five classes, none of them favourable."""
    generator = _draws(4_000)
    classes = np.array(["cat", "dog", "fox", "hen", "owl"])
    target = generator.integers(0, 5, 4_000)
    group = np.array(["north", "south", "west"])[generator.integers(0, 3, 4_000)]
    wrong = generator.random(4_000) < np.where(group == "north", 0.35, 0.15)
    prediction = np.where(wrong, generator.integers(0, 5, 4_000), target)
    return equipoise.audit(target=classes[target], prediction=classes[prediction], sensitive_features={"place": group})


@cache
def many_labels() -> AuditResult:
    """Three labels, of which a row may have several."""
    generator = _draws(3_000)
    group = np.array(["f", "m"])[generator.integers(0, 2, 3_000)]
    target = (generator.random((3_000, 3)) < [0.5, 0.3, 0.2]).astype(int)
    flip = generator.random((3_000, 3)) < np.where(group == "f", 0.25, 0.1)[:, None]
    return equipoise.audit(
        target=target, prediction=np.where(flip, 1 - target, target), sensitive_features={"sex": group},
        task="multilabel",
    )  # fmt: skip


@cache
def no_target() -> AuditResult:
    """Predictions only: who is selected, and nothing about who should be."""
    generator = _draws(2_000)
    group = np.array(["f", "m", "x"])[generator.choice(3, 2_000, p=[0.48, 0.48, 0.04])]
    prediction = np.where(generator.random(2_000) < np.where(group == "f", 0.2, 0.4), "hired", "not")
    return equipoise.audit(prediction=prediction, favourable="hired", sensitive_features={"sex": group})


@cache
def splits() -> AuditResult:
    """Two splits, audited each by itself, and a control column."""
    generator = _draws(5_000)
    group = np.array(["f", "m"])[generator.integers(0, 2, 5_000)]
    split = np.array(["dev", "test"])[generator.integers(0, 2, 5_000)]
    level = np.array(["high school", "university"])[generator.integers(0, 2, 5_000)]
    target = generator.integers(0, 2, 5_000)
    prediction = np.where(generator.random(5_000) < np.where(group == "f", 0.3, 0.1), 1 - target, target)
    return equipoise.audit(
        target=target, prediction=prediction, favourable=1, split=split, control=level,
        sensitive_features={"sex": group},
    )  # fmt: skip


@cache
def clusters() -> AuditResult:
    """Rows that belong together: several pictures of a person."""
    generator = _draws(2_000)
    person = np.repeat(np.arange(500), 4)
    group = np.array(["young", "middle", "old"])[person % 3]
    target = generator.integers(0, 2, 2_000)
    prediction = np.where(generator.random(2_000) < 0.2, 1 - target, target)
    return equipoise.audit(
        target=target, prediction=prediction, favourable=1, cluster=person, sensitive_features={"age": group}
    )


@cache
def hidden() -> AuditResult:
    """Small groups that must not be shown."""
    generator = _draws(1_500)
    group = np.array(["a", "b", "tiny"])[generator.choice(3, 1_500, p=[0.5, 0.49, 0.01])]
    target = generator.integers(0, 2, 1_500)
    prediction = np.where(generator.random(1_500) < 0.2, 1 - target, target)
    return equipoise.audit(
        target=target, prediction=prediction, favourable=1, sensitive_features={"site": group}, suppress_below=50
    )


@cache
def stated_gap() -> AuditResult:
    """A gap that somebody wants to be able to find."""
    generator = _draws(800)
    group = np.array(["f", "m"])[generator.integers(0, 2, 800)]
    target = generator.integers(0, 2, 800)
    prediction = np.where(generator.random(800) < 0.2, 1 - target, target)
    return equipoise.audit(
        target=target, prediction=prediction, favourable=1, sensitive_features={"sex": group}, gap_of_interest=0.05
    )


@cache
def changed() -> AuditResult:
    """Two models on the same rows, groups that try to run among them."""
    generator = _draws(3_000)
    group = np.array([HOSTILE[0], HOSTILE[4], "plain"], dtype=object)[generator.choice(3, 3_000, p=[0.3, 0.1, 0.6])]
    target = generator.integers(0, 2, 3_000)
    old = np.where(generator.random(3_000) < 0.25, 1 - target, target)
    new = np.where((generator.random(3_000) < 0.15) & (group == "plain"), 1, old)
    return equipoise.audit(
        target=target, prediction=new, against_prediction=old, favourable=1, sensitive_features={"site": group}
    )


@cache
def periods() -> AuditResult:
    """Two samples of people, with groups that only one of them has."""
    generator = _draws(2_000)

    def people(groups: list[str]) -> dict[str, np.ndarray]:
        target = generator.integers(0, 3, 1_000)
        said = np.where(generator.random(1_000) < 0.3, generator.integers(0, 3, 1_000), target)
        return {"y": target, "p": said, "g": np.array(groups)[generator.integers(0, 3, 1_000)]}

    return equipoise.audit(
        people(["a", "b", "later"]), against=people(["a", "b", "earlier"]), target="y", prediction="p",
        sensitive_features="g",
    )  # fmt: skip


CASES = {
    case.__name__: case
    for case in (
        adult, hostile, fifty_groups, regression, many_classes, many_labels, no_target, splits, clusters, hidden,
        stated_gap, changed, periods,
    )
}  # fmt: skip
