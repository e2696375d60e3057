"""What carries over: classifiers trained on a frozen embedding, and how well they do for each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.downstream._classifiers import DomainIndependent as DomainIndependent
    from equipoise.audits.downstream._classifiers import Fits as Fits
    from equipoise.audits.downstream._classifiers import KMeansClassifier as KMeansClassifier
    from equipoise.audits.downstream._classifiers import Learner as Learner
    from equipoise.audits.downstream._classifiers import estimator as estimator
    from equipoise.audits.downstream._classifiers import fitted as fitted
    from equipoise.audits.downstream._classifiers import predicted as predicted
    from equipoise.audits.downstream._classifiers import resolve_probes as resolve_probes
    from equipoise.audits.downstream._downstream import downstream as downstream
    from equipoise.audits.downstream._downstream import groups_of as groups_of
    from equipoise.audits.downstream._downstream import rebalanced as rebalanced
    from equipoise.audits.downstream._downstream import roles_of as roles_of
    from equipoise.audits.downstream._downstream import stratified_folds as stratified_folds
    from equipoise.audits.downstream._macro import MACRO_MEASURES as MACRO_MEASURES
    from equipoise.audits.downstream._macro import class_pairs as class_pairs
    from equipoise.audits.downstream._macro import macro_values as macro_values
    from equipoise.audits.downstream._macro import permuted_rows as permuted_rows
    from equipoise.audits.downstream._macro import permuted_units as permuted_units
    from equipoise.audits.downstream._result import Downstream as Downstream
    from equipoise.audits.downstream._result import DownstreamReason as DownstreamReason
    from equipoise.audits.downstream._result import DownstreamRecord as DownstreamRecord
    from equipoise.audits.downstream._result import PropagationPoint as PropagationPoint
    from equipoise.audits.downstream._result import propagation as propagation
    from equipoise.audits.downstream._settings import C_GRID as C_GRID
    from equipoise.audits.downstream._settings import CLASSIFIER_SETTINGS as CLASSIFIER_SETTINGS
    from equipoise.audits.downstream._settings import Classifier as Classifier
    from equipoise.audits.downstream._settings import classifier_from_source as classifier_from_source
    from equipoise.audits.downstream._settings import classifier_title as classifier_title
    from equipoise.audits.downstream._settings import classifiers_of as classifiers_of
    from equipoise.audits.downstream._settings import stored_classifier as stored_classifier

_MODULES = {
    "_classifiers": (
        "DomainIndependent", "Fits", "KMeansClassifier", "Learner", "estimator", "fitted", "predicted",
        "resolve_probes",
    ),
    "_downstream": ("downstream", "groups_of", "rebalanced", "roles_of", "stratified_folds"),
    "_macro": ("MACRO_MEASURES", "class_pairs", "macro_values", "permuted_rows", "permuted_units"),
    "_result": ("Downstream", "DownstreamReason", "DownstreamRecord", "PropagationPoint", "propagation"),
    "_settings": (
        "CLASSIFIER_SETTINGS", "C_GRID", "Classifier", "classifier_from_source", "classifier_title",
        "classifiers_of", "stored_classifier",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
