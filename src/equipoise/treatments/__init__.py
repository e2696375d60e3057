"""Debiasing methods, one file a method: what is done about a bias that was measured.

Each is registered under its name (``equipoise list treatments``) and imports without any extra. Subclasses of
``equipoise.training.Treatment`` train inside studies; estimators have ``fit(X, y, sensitive_features)``, ``transform``
and ``predict``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.treatments.adversarial import Adversarial as Adversarial
    from equipoise.treatments.diverse_adversarial import DiverseAdversarial as DiverseAdversarial
    from equipoise.treatments.domain_discriminative import DomainDiscriminative as DomainDiscriminative
    from equipoise.treatments.domain_independent import DomainIndependent as DomainIndependent
    from equipoise.treatments.downsampling import Downsampling as Downsampling
    from equipoise.treatments.equal_opportunity import EqualOpportunityClass as EqualOpportunityClass
    from equipoise.treatments.equal_opportunity import EqualOpportunityGlobal as EqualOpportunityGlobal
    from equipoise.treatments.exponentiated_gradient import ExponentiatedGradient as ExponentiatedGradient
    from equipoise.treatments.fairalm import FairALM as FairALM
    from equipoise.treatments.fairbatch import FairBatch as FairBatch
    from equipoise.treatments.gradient_projection import GradientProjection as GradientProjection
    from equipoise.treatments.gradient_reversal import GradientReversal as GradientReversal
    from equipoise.treatments.group_dro import GroupDRO as GroupDRO
    from equipoise.treatments.inlp import IterativeNullSpaceProjection as IterativeNullSpaceProjection
    from equipoise.treatments.l2_gap_penalty import SquaredGapPenalty as SquaredGapPenalty
    from equipoise.treatments.leace import ConceptErasure as ConceptErasure
    from equipoise.treatments.leace import ConceptErasureOfInputs as ConceptErasureOfInputs
    from equipoise.treatments.lfr import LearnedFairRepresentations as LearnedFairRepresentations
    from equipoise.treatments.lfr import LFRObjective as LFRObjective
    from equipoise.treatments.lfr import LFRParts as LFRParts
    from equipoise.treatments.lfr import LFRWeights as LFRWeights
    from equipoise.treatments.lfr import PrototypeRepresentation as PrototypeRepresentation
    from equipoise.treatments.lfr import distinct_patterns as distinct_patterns
    from equipoise.treatments.lfr import lfr_objective_parts as lfr_objective_parts
    from equipoise.treatments.lfr import prototype_memberships as prototype_memberships
    from equipoise.treatments.oversampling import Oversampling as Oversampling
    from equipoise.treatments.parade import Parade as Parade
    from equipoise.treatments.rebalancing import Rebalancing as Rebalancing
    from equipoise.treatments.reweighting import Reweighting as Reweighting
    from equipoise.treatments.threshold_optimizer import ThresholdOptimizer as ThresholdOptimizer
    from equipoise.treatments.uniform_confusion import UniformConfusion as UniformConfusion
    from equipoise.treatments.untreated import Untreated as Untreated

_MODULES = {
    "adversarial": ("Adversarial",),
    "diverse_adversarial": ("DiverseAdversarial",),
    "domain_discriminative": ("DomainDiscriminative",),
    "domain_independent": ("DomainIndependent",),
    "downsampling": ("Downsampling",),
    "equal_opportunity": ("EqualOpportunityClass", "EqualOpportunityGlobal"),
    "exponentiated_gradient": ("ExponentiatedGradient",),
    "fairalm": ("FairALM",),
    "fairbatch": ("FairBatch",),
    "gradient_projection": ("GradientProjection",),
    "gradient_reversal": ("GradientReversal",),
    "group_dro": ("GroupDRO",),
    "inlp": ("IterativeNullSpaceProjection",),
    "l2_gap_penalty": ("SquaredGapPenalty",),
    "leace": ("ConceptErasure", "ConceptErasureOfInputs"),
    "lfr": (
        "LFRObjective", "LFRParts", "LFRWeights", "LearnedFairRepresentations", "PrototypeRepresentation",
        "distinct_patterns", "lfr_objective_parts", "prototype_memberships",
    ),
    "oversampling": ("Oversampling",),
    "parade": ("Parade",),
    "rebalancing": ("Rebalancing",),
    "reweighting": ("Reweighting",),
    "threshold_optimizer": ("ThresholdOptimizer",),
    "uniform_confusion": ("UniformConfusion",),
    "untreated": ("Untreated",),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
