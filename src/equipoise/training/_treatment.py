"""What a treatment may do, and when: before, around, during or after training. Each does what it overrides alone.

A treatment is one file in ``treatments``: a subclass of ``Treatment`` under ``@treatment(name, stage=..., paper=...)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.measures import (
    Fairness,
    Performance,
)
from equipoise.training._callback import OwnRecipe, TrainingCallback, TrainingContext
from equipoise.training._compatibility import Need
from equipoise.training._dataset import Codes, Predicted, Rows, Selection
from equipoise.training._models import PostProcessor
from equipoise.training._parameters import Table, with_defaults

if TYPE_CHECKING:
    from equipoise.training._models import Adjustment, Transformation
    from equipoise.training.metric._training import MetricEnded

# The array of a trial that says by how much each constraint of its treatment is missed in the end: positive is unmet.
CONSTRAINTS = "constraints"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The training rows of one trial, as a treatment before training sees them: cells are (class, group)."""

    target: NDArray[Any]
    cell: Codes
    group: Codes
    classes: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def counts(self) -> Codes:
        """How many rows each cell has, ``[class, group]``."""
        shape = (len(self.classes), len(self.groups))
        return np.bincount(self.cell * shape[1] + self.group, minlength=shape[0] * shape[1]).reshape(shape)


@dataclass(frozen=True, eq=False)
class TrainingInputs(TrainingRows):
    """The training rows of one trial with what each is made of, ``inputs [row, column]``, and what each weighs."""

    inputs: NDArray[Any]
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Representations:
    """The last hidden layer of a trained network (the inputs, where there is none), for a treatment after training."""

    train: Rows
    dev: Rows
    test: Rows
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    task: str
    seed: int
    selection: Selection
    # What treatments before training let each training row weigh; None where every row weighs the same.
    weights: NDArray[np.float64] | None = None
    # What dev rows are asked for; None: accuracy, or Pearson's r of a regression.
    performance: Performance | None = None
    fairness: Fairness = "GAP"


@dataclass(frozen=True, eq=False)
class Afterwards:
    """What a treatment after training says of dev and test rows, with notes on how it got there.

    ``arrays`` are further arrays that are stored with the trial, by name, such as by how much constraints were missed.
    ``postprocessor`` predicts other rows in the same way, as a part of the trained model; where there can be none,
    ``no_model`` says why.
    """

    dev: Predicted
    test: Predicted
    notes: tuple[str, ...] = ()
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    postprocessor: PostProcessor | None = None
    no_model: str | None = None


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a trained network says of dev and test rows before it is read: ``[row, output]``, logits as a rule.

    ``test_group`` is None unless the treatment needs groups at prediction; ``counts`` are the training rows of each
    ``[class, group]``, from which priors are made.
    """

    dev: NDArray[np.float32]
    test: NDArray[np.float32]
    dev_target: Codes
    dev_group: Codes
    test_group: Codes | None
    counts: Codes
    classes: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Scored:
    """What a trained model predicts of the dev rows, with a score of every class, before it is adjusted.

    ``scores`` are ``[row, class]``, and ``target`` and ``group`` are -1 where a row has none.
    """

    scores: NDArray[np.float32]
    target: Codes
    group: Codes
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    seed: int


class Treatment:
    """A debiasing method with its hyper-parameters, which are given by name and checked against ``parameters``.

    ``version`` is raised when the same numbers come to mean another training.
    """

    version: ClassVar[int] = 1
    parameters: ClassVar[Table] = {}
    # Hyper-parameters under which a treatment does everything but what it is about, and what that is called: a study
    # runs it beside the treatment, as an arm of its own.
    control: ClassVar[Mapping[str, Any]] = {}
    control_name: ClassVar[str] = ""
    # Hyper-parameters of the classifier that is fitted afterwards: the control has them too. They name a trial only
    # where they are not at their defaults.
    head: ClassVar[Table] = {}
    # Where these depend on a hyper-parameter, ``__init__`` sets them: they are asked of a treatment that was made.
    needs_group_at_prediction: bool = False
    transductive: bool = False
    # Whether it is defined for a target of two classes alone.
    two_classes: ClassVar[bool] = False
    # The network itself learns in the first of so many epochs; in the others a part does that the treatment adds.
    network_every: ClassVar[int] = 1
    # The tasks that it is made for: classes, numbers of a regression, several labels a row ("multilabel").
    tasks: ClassVar[tuple[str, ...]] = ("class", "regression")
    # Why it is not for several labels, in half a sentence: "it ...".
    not_for_labels: ClassVar[str] = ""
    # What the method acts on, beyond what its moments need: a learner that does not offer it is refused.
    requires: ClassVar[frozenset[Need]] = frozenset()

    def __init__(self, **values: Any) -> None:
        self.values = with_defaults(self.parameters, values, f"the treatment {type(self).__name__}")

    def transform(self, rows: TrainingInputs, generator: np.random.Generator) -> Transformation | None:
        """Before training: return what all inputs go through, fitted on training rows (None: they stay)."""
        return None

    def choose(self, rows: TrainingRows, generator: np.random.Generator) -> Codes | None:
        """Before training: return which rows to train on, as positions (None: all of them)."""
        return None

    def weigh(self, rows: TrainingRows) -> NDArray[np.float64] | None:
        """Before training: return a weight for each row (None: 1)."""
        return None

    def wrap(self, estimator: Any, rows: TrainingRows, weight_option: str) -> Any | None:
        """Around training: return an estimator that fits this one, as often as it likes (None: it is fitted once).

        It is fitted as the other would be, with the training rows in the order of ``rows``. ``weight_option`` is what
        the fit of the other calls the weights of rows.
        """
        return None

    def outputs(self, classes: int, groups: int) -> int | None:
        """Return how many outputs the network has (None: one for each class)."""
        return None

    def recipe(self) -> OwnRecipe | None:
        """Return an optimiser and a length of training of its own (None: the learner's)."""
        return None

    @classmethod
    def during(cls, trials: Sequence[Any], context: TrainingContext) -> TrainingCallback | None:
        """During training: return what acts on trials that train together, one treatment of this kind a trial."""
        return None

    def metric_arrays(self, ended: MetricEnded) -> dict[str, NDArray[Any]]:
        """After metric learning: return further arrays that are kept of the trial, by name."""
        return {}

    def read(self, outputs: Outputs) -> Afterwards | None:
        """After training: return predictions made from what the network says (None: the class with most)."""
        return None

    def after(self, representations: Representations) -> Afterwards | None:
        """After training: return other predictions, made from the representations."""
        return None

    def erase(self, representations: Representations) -> Transformation | None:
        """After training of an embedding: return what the embeddings of all rows go through (None: they stay)."""
        return None

    def adjust(self, scored: Scored) -> Adjustment | None:
        """Last: return what predictions with scores go through, fitted on dev rows (None: they stay)."""
        return None
