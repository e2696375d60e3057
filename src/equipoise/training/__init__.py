"""Training: one trainer for every learner and treatment, from rows of numbers to predictions and models.

``train`` takes an ``EncodedDataset`` (the encoded rows of a cohort), a learner by name and a list of ``Job``, and
returns an ``Outcome`` for each. A ``Trainer`` runs a ``Backend``, which decides how steps run and never what they mean.
A ``Treatment`` acts before, during (as a ``TrainingCallback``) and after; a ``Learner`` says what it offers to act on;
``incompatibility`` compares the two. Hyper-parameters are tables of ``Parameter``. Seeds are fixed in one place.

``learners`` has a file for each learner, ``images`` networks on pictures, ``metric`` embeddings, and ``diverging``
looks for the first step in which two runs differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.training._adam import StackedAdam as StackedAdam
    from equipoise.training._callback import LAST as LAST
    from equipoise.training._callback import NETWORK as NETWORK
    from equipoise.training._callback import Batch as Batch
    from equipoise.training._callback import CallbackList as CallbackList
    from equipoise.training._callback import Leaves as Leaves
    from equipoise.training._callback import OwnRecipe as OwnRecipe
    from equipoise.training._callback import Part as Part
    from equipoise.training._callback import RowLosses as RowLosses
    from equipoise.training._callback import TrainingCallback as TrainingCallback
    from equipoise.training._callback import TrainingContext as TrainingContext
    from equipoise.training._callback import outputs_of as outputs_of
    from equipoise.training._callback import recipe_of_treatments as recipe_of_treatments
    from equipoise.training._compatibility import LACKING as LACKING
    from equipoise.training._compatibility import Incompatibility as Incompatibility
    from equipoise.training._compatibility import Need as Need
    from equipoise.training._compatibility import all_learners as all_learners
    from equipoise.training._compatibility import all_treatments as all_treatments
    from equipoise.training._compatibility import check_compatible as check_compatible
    from equipoise.training._compatibility import compatibility_matrix as compatibility_matrix
    from equipoise.training._compatibility import groups_at_prediction as groups_at_prediction
    from equipoise.training._compatibility import has_hook as has_hook
    from equipoise.training._compatibility import incompatibility as incompatibility
    from equipoise.training._compatibility import learners_for as learners_for
    from equipoise.training._compatibility import required as required
    from equipoise.training._compatibility import tasks_of as tasks_of
    from equipoise.training._dataset import ALL_ROWS as ALL_ROWS
    from equipoise.training._dataset import BIN_NAMES as BIN_NAMES
    from equipoise.training._dataset import Codes as Codes
    from equipoise.training._dataset import EncodedDataset as EncodedDataset
    from equipoise.training._dataset import Epoch as Epoch
    from equipoise.training._dataset import Job as Job
    from equipoise.training._dataset import Outcome as Outcome
    from equipoise.training._dataset import Precision as Precision
    from equipoise.training._dataset import Predicted as Predicted
    from equipoise.training._dataset import Rounding as Rounding
    from equipoise.training._dataset import Rows as Rows
    from equipoise.training._dataset import Selection as Selection
    from equipoise.training._dataset import Settings as Settings
    from equipoise.training._dataset import bin_edges as bin_edges
    from equipoise.training._dataset import check_labels_vary as check_labels_vary
    from equipoise.training._dataset import encode_dataset as encode_dataset
    from equipoise.training._dataset import encoder_of as encoder_of
    from equipoise.training._dataset import known_targets as known_targets
    from equipoise.training._dataset import label_codes as label_codes
    from equipoise.training._dataset import target_bins as target_bins
    from equipoise.training._extract import extract as extract
    from equipoise.training._input_encoder import InputEncoder as InputEncoder
    from equipoise.training._learner import Learner as Learner
    from equipoise.training._learner import Progress as Progress
    from equipoise.training._learner import Report as Report
    from equipoise.training._losses import cross_entropy as cross_entropy
    from equipoise.training._losses import label_loss as label_loss
    from equipoise.training._models import Adjustment as Adjustment
    from equipoise.training._models import FittedModel as FittedModel
    from equipoise.training._models import FittedPart as FittedPart
    from equipoise.training._models import Mixture as Mixture
    from equipoise.training._models import PostProcessor as PostProcessor
    from equipoise.training._models import Reads as Reads
    from equipoise.training._models import Transformation as Transformation
    from equipoise.training._models import checked_array as checked_array
    from equipoise.training._models import checked_settings as checked_settings
    from equipoise.training._models import fitted_part as fitted_part
    from equipoise.training._models import part_of_kind as part_of_kind
    from equipoise.training._named_objects import named_object as named_object
    from equipoise.training._named_objects import relative_to_plan as relative_to_plan
    from equipoise.training._named_objects import source_hash as source_hash
    from equipoise.training._numerics import ask_for_workspace as ask_for_workspace
    from equipoise.training._numerics import deterministic_algorithms as deterministic_algorithms
    from equipoise.training._numerics import dtype_of as dtype_of
    from equipoise.training._numerics import is_deterministic as is_deterministic
    from equipoise.training._numerics import is_jittered as is_jittered
    from equipoise.training._numerics import product_precision as product_precision
    from equipoise.training._parameters import Choice as Choice
    from equipoise.training._parameters import FreeParameter as FreeParameter
    from equipoise.training._parameters import OneOf as OneOf
    from equipoise.training._parameters import OptionalNumber as OptionalNumber
    from equipoise.training._parameters import Parameter as Parameter
    from equipoise.training._parameters import Readout as Readout
    from equipoise.training._parameters import Table as Table
    from equipoise.training._parameters import check_parameters as check_parameters
    from equipoise.training._parameters import may_differ as may_differ
    from equipoise.training._parameters import with_defaults as with_defaults
    from equipoise.training._parameters import without_defaults as without_defaults
    from equipoise.training._plain import Losses as Losses
    from equipoise.training._plain import Plain as Plain
    from equipoise.training._plain import PlainTraining as PlainTraining
    from equipoise.training._plain import StepProgress as StepProgress
    from equipoise.training._plain import StepTraining as StepTraining
    from equipoise.training._plain import descend as descend
    from equipoise.training._plain import train_steps as train_steps
    from equipoise.training._prediction import check_one_after as check_one_after
    from equipoise.training._prediction import failed_outcome as failed_outcome
    from equipoise.training._prediction import failure_of as failure_of
    from equipoise.training._preparation import PreparedJob as PreparedJob
    from equipoise.training._preparation import check_dataset as check_dataset
    from equipoise.training._preparation import overrides as overrides
    from equipoise.training._preparation import prepare_job as prepare_job
    from equipoise.training._preparation import transformed as transformed
    from equipoise.training._recording import ONE_KIND as ONE_KIND
    from equipoise.training._recording import Recorder as Recorder
    from equipoise.training._seeding import copies_of as copies_of
    from equipoise.training._seeding import device_keys as device_keys
    from equipoise.training._seeding import fix_seeds as fix_seeds
    from equipoise.training._seeding import preserved_generators as preserved_generators
    from equipoise.training._seeding import sample_keys as sample_keys
    from equipoise.training._seeding import sample_uniforms as sample_uniforms
    from equipoise.training._seeding import seed_of as seed_of
    from equipoise.training._selection import COLLAPSED as COLLAPSED
    from equipoise.training._selection import UNDEFINED as UNDEFINED
    from equipoise.training._selection import Scores as Scores
    from equipoise.training._selection import needs_scores as needs_scores
    from equipoise.training._selection import no_scores as no_scores
    from equipoise.training._selection import scores_of as scores_of
    from equipoise.training._stack import Stack as Stack
    from equipoise.training._stack import linear_layers as linear_layers
    from equipoise.training._train import LostDevice as LostDevice
    from equipoise.training._train import learner_of as learner_of
    from equipoise.training._train import stack_size as stack_size
    from equipoise.training._train import train as train
    from equipoise.training._trainer import Backend as Backend
    from equipoise.training._trainer import DevReading as DevReading
    from equipoise.training._trainer import Trainer as Trainer
    from equipoise.training._treatment import CONSTRAINTS as CONSTRAINTS
    from equipoise.training._treatment import Afterwards as Afterwards
    from equipoise.training._treatment import Outputs as Outputs
    from equipoise.training._treatment import Representations as Representations
    from equipoise.training._treatment import Scored as Scored
    from equipoise.training._treatment import TrainingInputs as TrainingInputs
    from equipoise.training._treatment import TrainingRows as TrainingRows
    from equipoise.training._treatment import Treatment as Treatment
    from equipoise.training._types import Estimator as Estimator
    from equipoise.training._types import LearnerLike as LearnerLike
    from equipoise.training._types import NetworkFactory as NetworkFactory
    from equipoise.training._types import TreatmentLike as TreatmentLike
    from equipoise.training.learners.metric_learner import MetricLearning as MetricLearning

_MODULES = {
    "_types": ("Estimator", "LearnerLike", "NetworkFactory", "TreatmentLike"),
    "learners.metric_learner": ("MetricLearning",),
    "_adam": ("StackedAdam",),
    "_callback": (
        "Batch", "CallbackList", "LAST", "Leaves", "NETWORK", "OwnRecipe", "Part", "RowLosses",
        "TrainingCallback", "TrainingContext", "outputs_of", "recipe_of_treatments",
    ),
    "_compatibility": (
        "Incompatibility", "LACKING", "Need", "all_learners", "all_treatments", "check_compatible",
        "compatibility_matrix", "groups_at_prediction", "has_hook", "incompatibility", "learners_for",
        "required", "tasks_of",
    ),
    "_dataset": (
        "ALL_ROWS", "BIN_NAMES", "Codes", "Epoch", "Job", "EncodedDataset", "Outcome", "Precision", "Predicted",
        "Rounding", "Rows", "Selection", "Settings", "bin_edges", "check_labels_vary", "encoder_of", "known_targets",
        "label_codes", "encode_dataset", "target_bins",
    ),
    "_extract": ("extract",),
    "_input_encoder": ("InputEncoder",),
    "_learner": ("Learner", "Progress", "Report"),
    "_losses": ("cross_entropy", "label_loss"),
    "_models": (
        "Adjustment", "FittedModel", "FittedPart", "Mixture", "PostProcessor", "Reads", "Transformation",
        "checked_array", "checked_settings", "fitted_part", "part_of_kind",
    ),
    "_named_objects": ("relative_to_plan", "named_object", "source_hash"),
    "_numerics": (
        "ask_for_workspace", "deterministic_algorithms", "dtype_of", "is_deterministic", "is_jittered",
        "product_precision",
    ),
    "_parameters": (
        "Choice", "FreeParameter", "OneOf", "OptionalNumber", "Parameter", "Readout", "Table", "check_parameters",
        "with_defaults", "may_differ", "without_defaults",
    ),
    "_plain": ("Losses", "Plain", "PlainTraining", "StepProgress", "StepTraining", "descend", "train_steps"),
    "_prediction": ("check_one_after", "failed_outcome", "failure_of"),
    "_preparation": ("PreparedJob", "check_dataset", "overrides", "prepare_job", "transformed"),
    "_recording": ("ONE_KIND", "Recorder"),
    "_seeding": (
        "copies_of", "device_keys", "fix_seeds", "preserved_generators", "sample_keys", "sample_uniforms",
        "seed_of",
    ),
    "_selection": ("COLLAPSED", "Scores", "UNDEFINED", "needs_scores", "no_scores", "scores_of"),
    "_stack": ("Stack", "linear_layers"),
    "_train": ("LostDevice", "learner_of", "stack_size", "train"),
    "_trainer": ("Backend", "DevReading", "Trainer"),
    "_treatment": (
        "Afterwards", "CONSTRAINTS", "Outputs", "Representations", "Scored", "TrainingInputs", "TrainingRows",
        "Treatment",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
