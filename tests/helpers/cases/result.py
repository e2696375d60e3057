"""One small result of each kind that a command returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import equipoise
from equipoise.audits import AuditResult
from equipoise.audits.ranking import RankingResult
from equipoise.discovery import Agreement, Sheet, agree
from equipoise.discovery._naming import Coded, Named, sheet_of
from equipoise.foundation import provenance
from equipoise.results import ClaimVerdict, Result
from equipoise.studies import Diagnosis
from equipoise.studies._diagnosing import SCHEMA
from equipoise.studies.findings.identical._paper import PaperClaim, Reproduction
from equipoise.training.diverging import ALL_LAYERS, Growth
from helpers.cases import compare as compare_cases
from helpers.cases import evidence as evidence_cases
from helpers.cases import investigation as investigation_cases
from helpers.cases import study as study_cases


@cache
def audited() -> AuditResult:
    """Women are predicted "yes" half as often as men, and races alike."""
    generator = np.random.default_rng(0)
    women = generator.random(4_000) < 0.5
    target = generator.random(4_000) < 0.5
    prediction = generator.random(4_000) < np.where(women, 0.3, 0.6)
    named = {True: "yes", False: "no"}
    return equipoise.audit(
        target=[named[bool(value)] for value in target],
        prediction=[named[bool(value)] for value in prediction],
        favourable="yes",
        sensitive_features={
            "sex": np.where(women, "Female", "Male"),
            "race": np.where(generator.random(4_000) < 0.4, "a", "b"),
        },
    )


@cache
def embedded() -> AuditResult:
    generator = np.random.default_rng(1)
    classes, women = np.arange(300) % 5, generator.random(300) < 0.4
    points = (
        3 * generator.normal(size=(5, 4))[classes] + generator.normal(size=(300, 4)) * np.where(women, 3, 1)[:, None]
    )
    return equipoise.audit_embedding(points, target=classes, sensitive_features={"sex": np.where(women, "w", "m")})


@cache
def diagnosed() -> Diagnosis:
    made = provenance(fingerprint="sha256:" + "0" * 64, data="rows", rows=3, columns={}, options={})
    growth = tuple(Growth(step, layer, 1e-8 * step) for step in (2, 3) for layer in ("first", ALL_LAYERS))
    return Diagnosis(
        SCHEMA, growth, made, ("They differ.",), (), {"learner": "mlp", "seed": 0}, 3, 2, "loss", None, 1e-8, 1e-9, 2.0,
        (),
    )  # fmt: skip


@cache
def reproduced() -> Reproduction:
    made = provenance(fingerprint="sha256:" + "0" * 64, data="rows", rows=3, columns={}, options={})
    claims = (
        PaperClaim(finding="1", claim="Runs differ.", here="They do.", holds=ClaimVerdict.HOLDS),
        PaperClaim(finding="2", claim="All do.", here="Nobody knows.", holds=ClaimVerdict.NOT_ENOUGH_DATA),
        PaperClaim(finding="3", claim="None does.", here="Some do.", holds=ClaimVerdict.DOES_NOT_HOLD),
    )
    return Reproduction("equipoise.reproduction/1", claims, made, "004", "rows", ("1 holds.",), ())


@cache
def changed() -> AuditResult:
    """A model that selects more women than the earlier one did."""
    generator = np.random.default_rng(2)
    women, truth = generator.random(2_000) < 0.5, generator.random(2_000) < 0.4
    before = generator.random(2_000) < 0.2 + 0.4 * truth
    after = before | (women & (generator.random(2_000) < 0.2))
    return equipoise.audit(
        target=truth, prediction=after, against_prediction=before, favourable=True, draws=200,
        sensitive_features={"sex": np.where(women, "Female", "Male")},
    )  # fmt: skip


@cache
def ranked() -> RankingResult:
    """Men's scores are higher in 40 rankings."""
    generator = np.random.default_rng(3)
    men = generator.random(480) < 0.5
    return equipoise.ranking(
        {
            "score": generator.normal(size=480) + 0.8 * men, "query": np.arange(480) % 40,
            "sex": np.where(men, "Male", "Female"),
        },
        score="score", query="query", sensitive_features="sex", top=[3], draws=200,
    )  # fmt: skip


@cache
def named() -> Sheet:
    """The directions of a search, under codes."""
    return sheet_of(investigation_cases.found())


@cache
def agreed() -> Agreement:
    """Three raters who agree on most of a sheet."""
    methods = ("search", "search", "search", "axes", "random", "random orthogonal")
    codes = {
        code: Coded(f"direction {index + 1}" if method == "search" else method, method, "found", ())
        for index, (code, method) in enumerate(zip("ABCDEF", methods, strict=True))
    }
    names = ("colour", "size", "colour", "pose", "light", "size")
    raters = [{code: Named(name, 3) for code, name in zip(codes, names, strict=True)} for _ in range(3)]
    return agree(codes, raters)


KINDS: dict[str, Callable[[], Result]] = {
    "audit": audited,
    "embedding audit": embedded,
    "change": changed,
    "compare": compare_cases.planted,
    "evidence": evidence_cases.plain,
    "ranking": ranked,
    "study": study_cases.plain,
    "reproduction": reproduced,
    "diagnosis": diagnosed,
    "discovery": investigation_cases.found,
    "naming": named,
    "agreement": agreed,
}
