"""The search for an attribute nobody labelled, as a direction in the latent space of a generator (paper 002).

``discover`` searches, judges what it finds and compares it with baselines; ``audit_direction`` measures the gap that
a direction causes among real rows, and ``labelled`` makes a group column of it. People name directions blindly:
``write_sheet``, ``read_sheet`` and ``agree``. ``generative/`` trains generators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.discovery._agreement import Agreement as Agreement
    from equipoise.discovery._agreement import Winner as Winner
    from equipoise.discovery._agreement import agree as agree
    from equipoise.discovery._agreement import agreed_names as agreed_names
    from equipoise.discovery._agreement import parse_names as parse_names
    from equipoise.discovery._agreement import renamed as renamed
    from equipoise.discovery._classifier import Classifier as Classifier
    from equipoise.discovery._direction_audit import MIDDLE as MIDDLE
    from equipoise.discovery._direction_audit import SIDES as SIDES
    from equipoise.discovery._direction_audit import THRESHOLD as THRESHOLD
    from equipoise.discovery._direction_audit import DirectionAudit as DirectionAudit
    from equipoise.discovery._direction_audit import audit_direction as audit_direction
    from equipoise.discovery._direction_audit import labelled as labelled
    from equipoise.discovery._direction_audit import sides as sides
    from equipoise.discovery._direction_audit import training_rows as training_rows
    from equipoise.discovery._direction_audit import with_sides as with_sides
    from equipoise.discovery._hyperplane import ENDING as ENDING
    from equipoise.discovery._hyperplane import Hyperplane as Hyperplane
    from equipoise.discovery._hyperplane import load_directions as load_directions
    from equipoise.discovery._hyperplane import save_directions as save_directions
    from equipoise.discovery._hyperplane import without as without
    from equipoise.discovery._investigating import discover as discover
    from equipoise.discovery._investigation import Investigation as Investigation
    from equipoise.discovery._investigation import KnownChange as KnownChange
    from equipoise.discovery._investigation import PresentedDirection as PresentedDirection
    from equipoise.discovery._investigation import Span as Span
    from equipoise.discovery._investigation import Strip as Strip
    from equipoise.discovery._judging import Judged as Judged
    from equipoise.discovery._judging import JudgeSettings as JudgeSettings
    from equipoise.discovery._judging import among_the_first as among_the_first
    from equipoise.discovery._judging import axes as axes
    from equipoise.discovery._judging import hessian_directions as hessian_directions
    from equipoise.discovery._judging import judge as judge
    from equipoise.discovery._judging import lowest_loss_direction as lowest_loss_direction
    from equipoise.discovery._judging import pca_directions as pca_directions
    from equipoise.discovery._judging import random_directions as random_directions
    from equipoise.discovery._judging import random_orthogonal_directions as random_orthogonal_directions
    from equipoise.discovery._judging import rank_words as rank_words
    from equipoise.discovery._known_files import KnownAttributes as KnownAttributes
    from equipoise.discovery._known_files import read_known_attributes as read_known_attributes
    from equipoise.discovery._naming import Sheet as Sheet
    from equipoise.discovery._naming import key_path as key_path
    from equipoise.discovery._naming import read_key as read_key
    from equipoise.discovery._naming import read_sheet as read_sheet
    from equipoise.discovery._naming import strips_path as strips_path
    from equipoise.discovery._naming import write_sheet as write_sheet
    from equipoise.discovery._options import CLASSIFIER_OPTIONS as CLASSIFIER_OPTIONS
    from equipoise.discovery._options import DISCOVER_OPTIONS as DISCOVER_OPTIONS
    from equipoise.discovery._options import FOR_AUDIT as FOR_AUDIT
    from equipoise.discovery._options import FOR_CLASSIFIER as FOR_CLASSIFIER
    from equipoise.discovery._options import FOR_COHORT as FOR_COHORT
    from equipoise.discovery._options import FOR_DISCOVER as FOR_DISCOVER
    from equipoise.discovery._options import FOR_GENERATOR as FOR_GENERATOR
    from equipoise.discovery._options import FOR_JUDGE as FOR_JUDGE
    from equipoise.discovery._options import FOR_PROBE as FOR_PROBE
    from equipoise.discovery._options import FOR_SEARCH as FOR_SEARCH
    from equipoise.discovery._options import LABEL_OPTIONS as LABEL_OPTIONS
    from equipoise.discovery._options import NAME_OPTIONS as NAME_OPTIONS
    from equipoise.discovery._reading import EncoderDistances as EncoderDistances
    from equipoise.discovery._reading import ProbeSettings as ProbeSettings
    from equipoise.discovery._reading import Reader as Reader
    from equipoise.discovery._reading import fidelity as fidelity
    from equipoise.discovery._reading import load_probe as load_probe
    from equipoise.discovery._reading import pictures_of as pictures_of
    from equipoise.discovery._reading import probabilities_of as probabilities_of
    from equipoise.discovery._reading import read_distances as read_distances
    from equipoise.discovery._reading import train_probe as train_probe
    from equipoise.discovery._search import SearchSettings as SearchSettings
    from equipoise.discovery._search import search as search
    from equipoise.discovery._surrogate import SurrogateSettings as SurrogateSettings
    from equipoise.discovery._surrogate import surrogate_search as surrogate_search
    from equipoise.discovery._truth import LEAST as LEAST
    from equipoise.discovery._truth import Fit as Fit
    from equipoise.discovery._truth import FitMethod as FitMethod
    from equipoise.discovery._truth import FitReason as FitReason
    from equipoise.discovery._truth import hyperplanes_from_labels as hyperplanes_from_labels
    from equipoise.discovery._truth import leading as leading
    from equipoise.discovery._truth import recovery as recovery
    from equipoise.discovery._user_files import load_classifier as load_classifier
    from equipoise.discovery._user_files import load_encoder as load_encoder
    from equipoise.discovery._user_files import load_generator as load_generator
    from equipoise.discovery.demonstration._demonstration import demonstrated as demonstrated
    from equipoise.discovery.demonstration._demonstration import halves as halves
    from equipoise.discovery.demonstration._demonstration import planted_words as planted_words
    from equipoise.discovery.demonstration._demonstration import skewed_cells as skewed_cells

_MODULES = {
    "_agreement": ("Agreement", "Winner", "agree", "agreed_names", "parse_names", "renamed"),
    "_classifier": ("Classifier",),
    "demonstration._demonstration": ("demonstrated", "halves", "planted_words", "skewed_cells"),
    "_direction_audit": (
        "DirectionAudit", "MIDDLE", "SIDES", "THRESHOLD", "audit_direction", "labelled", "sides", "training_rows",
        "with_sides",
    ),
    "_hyperplane": ("ENDING", "Hyperplane", "load_directions", "save_directions", "without"),
    "_investigating": ("discover",),
    "_investigation": ("Investigation", "KnownChange", "PresentedDirection", "Span", "Strip"),
    "_judging": (
        "JudgeSettings", "Judged", "among_the_first", "axes", "hessian_directions", "judge", "lowest_loss_direction",
        "pca_directions", "random_directions", "random_orthogonal_directions", "rank_words",
    ),
    "_known_files": ("KnownAttributes", "read_known_attributes"),
    "_naming": ("Sheet", "key_path", "read_key", "read_sheet", "strips_path", "write_sheet"),
    "_reading": (
        "EncoderDistances", "ProbeSettings", "Reader", "fidelity", "load_probe", "pictures_of", "probabilities_of",
        "read_distances", "train_probe",
    ),
    "_search": ("SearchSettings", "search"),
    "_surrogate": ("SurrogateSettings", "surrogate_search"),
    "_truth": ("Fit", "FitReason", "FitMethod", "LEAST", "hyperplanes_from_labels", "leading", "recovery"),
    "_user_files": ("load_classifier", "load_encoder", "load_generator"),
    "_options": (
        "DISCOVER_OPTIONS", "FOR_AUDIT", "FOR_CLASSIFIER", "FOR_COHORT", "FOR_GENERATOR", "FOR_DISCOVER",
        "FOR_JUDGE", "FOR_PROBE", "FOR_SEARCH", "LABEL_OPTIONS", "NAME_OPTIONS", "CLASSIFIER_OPTIONS",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
