"""Reasons of outcome audits are codes of one list, in every kind of task and wherever a number is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import equipoise
from equipoise.audits._contrasts import contrast_by_error, number_of_contrasts, opponents
from equipoise.audits._reasons import AuditReason
from equipoise.results import Reason, Record, Status, because

CODES = {code.value for code in AuditReason}


def everybody(seed: int = 3, size: int = 240) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    group = generator.choice(["a", "b", "few"], size, p=[0.55, 0.42, 0.03]).astype(object)
    group[:9] = None
    truth = generator.integers(0, 2, size)
    truth[group == "few"] = 1
    score = np.clip(0.5 * truth + generator.random(size) / 2, 0, 1)
    return {
        "group": group, "truth": truth, "guess": np.where(generator.random(size) < 0.8, truth, 1 - truth),
        "score": score, "amount": generator.normal(size=size), "person": np.arange(size) // 60,
    }  # fmt: skip


def audits() -> Iterator[tuple[str, dict[str, object]]]:
    data = everybody()
    groups = {"group": data["group"]}
    common = {"target": data["truth"], "prediction": data["guess"], "sensitive_features": groups, "draws": 40}
    yield "rates", common
    yield "clusters", {**common, "cluster": data["person"]}
    yield "control", {**common, "control": np.where(np.arange(240) % 2, "north", "south")}
    yield "suppressed", {**common, "suppress_below": 20}
    yield "scores", {"target": data["truth"], "score": data["score"] * 8, "threshold": 4, "favourable": 1,
                     "sensitive_features": groups, "draws": 40}  # fmt: skip
    yield "regression", {"target": data["amount"], "prediction": data["score"], "task": "regression",
                         "sensitive_features": groups, "draws": 40}  # fmt: skip


@pytest.mark.parametrize(("name", "options"), list(audits()), ids=[name for name, _ in audits()])
def test_every_reason_is_a_code_of_the_list(name: str, options: dict[str, object]) -> None:
    result = equipoise.audit(**options)  # type: ignore[arg-type]
    reasons = [record.reason for record in result.records if record.reason is not None]
    assert reasons, name
    assert all(isinstance(reason, Reason) for reason in reasons)
    told = [record for record in result.as_json()["records"] if record["reason"]]  # type: ignore[attr-defined]
    assert {record["reason_code"] for record in told} <= CODES
    assert all(record.reason is not None for record in result.records if math.isnan(record.value))


def test_codes_are_said_once_each() -> None:
    assert len(CODES) == len(list(AuditReason))
    assert len({code.sentence for code in AuditReason}) == len(CODES)


@pytest.mark.parametrize("groups", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("named", [False, True])
def test_the_number_of_contrasts_is_known_beforehand(groups: int, named: bool) -> None:
    names = [f"g{place}" for place in range(groups)]
    found = opponents(names, "g0" if named else None, np.arange(groups, dtype=float))
    assert len(found) == number_of_contrasts(groups, named=named)


ABOUT = {"measure": "auc", "group": "a", "against": "b"}
FEW = because(AuditReason.FEW_ON_ONE_SIDE, people=4, of="", least=30)


def test_a_contrast_with_an_error_is_tested_by_the_normal_distribution_and_with_clusters_by_students() -> None:
    plain = contrast_by_error(ABOUT, 0.3, 0.1, undefined=None, few=None)
    assert plain.p == pytest.approx(0.0026998, rel=1e-4)  # z = 3
    assert (plain.spread, plain.method, plain.record.status) == (0.1, "normal", Status.OK)
    clustered = contrast_by_error(ABOUT, 0.3, 0.1, undefined=None, few=None, clusters=10)
    assert clustered.spread == pytest.approx(0.1 * np.sqrt(10 / 9))
    assert (clustered.degrees, clustered.method) == (9.0, "bootstrap")
    assert clustered.p > plain.p


def test_a_contrast_without_people_clusters_or_spread_says_so_and_has_no_p() -> None:
    small = contrast_by_error(ABOUT, 0.3, 0.1, undefined=None, few=FEW)
    assert math.isnan(small.p)
    assert (small.record.status, small.record.reason) == (Status.TOO_SMALL, FEW)
    still = contrast_by_error(ABOUT, 0.3, 0.0, undefined=None, few=None)
    assert math.isnan(still.p)
    assert math.isnan(still.spread)
    assert still.record.reason == because(AuditReason.NO_SPREAD)
    clusters = contrast_by_error(ABOUT, 0.3, 0.1, undefined=None, few=FEW, clusters=4)
    assert math.isnan(clusters.spread)
    lost = contrast_by_error(
        ABOUT, math.nan, 0.1, undefined=because(AuditReason.UNDEFINED_ON_ONE_SIDE), few=FEW
    )  # fmt: skip
    assert isinstance(lost.record, Record)
    assert lost.record.status == Status.UNDEFINED
    assert lost.record.reason == because(AuditReason.UNDEFINED_ON_ONE_SIDE)
