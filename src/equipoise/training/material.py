"""What a training may see: training rows with targets and groups, dev rows to select on, test inputs and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task
from equipoise.measures import (
    Fairness,
    Performance,
)

if TYPE_CHECKING:
    from equipoise.training.model import FittedModel

Codes = NDArray[np.int64]
Rounding = Literal["native", "jitter", "deterministic", "deterministic jitter"]
Precision = Literal["float32", "float64", "tf32", "bfloat16"]
Selection = Literal["dto", "performance", "last"]
# The only cell beside groups where rows have several labels and so no class.
ALL_ROWS = ("all rows",)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one split: inputs, ids (positions in the cohort) and, where they may be known, targets and groups.

    Inputs are a matrix of float32, or pictures of uint8, ``[row, height, width, channel]``. Targets are class codes,
    numbers of a regression, or ``[row, label]``, 1 where a label is present and -1 where that is unknown; a group is a
    code. What must not be seen is None.
    """

    inputs: NDArray[Any]
    ids: Codes
    target: NDArray[Any] | None = None
    group: Codes | None = None
    # Classes of the target: the codes themselves, or the quarter of the training targets that a number falls into. Rows
    # of several labels have no class: all that are known stand in one cell.
    cell: Codes | None = None

    def __len__(self) -> int:
        return len(self.ids)


def known_targets(target: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows have a target: a number, a class, or all of their labels."""
    if target.dtype.kind == "f":
        return np.asarray(np.isfinite(target))
    return np.asarray(target >= 0 if target.ndim == 1 else (target >= 0).all(axis=1))


@dataclass(frozen=True, eq=False)
class Material:
    """The rows of one cohort as arrays, shared by all trials of a study."""

    train: Rows
    dev: Rows
    test: Rows
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    task: Task = "class"
    # How crossed groups come apart: the group columns, the values of each, and ``parts [group, attribute]``, the value
    # (as a code) that each crossed group has in each column.
    attributes: tuple[str, ...] = ()
    attribute_values: tuple[tuple[str, ...], ...] = ()
    parts: Codes | None = None
    # What each column of the targets is about, where a row has several labels; ``classes`` are then ``ALL_ROWS``.
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Where nothing is said of columns, the group itself is the only one."""
        if self.parts is None:
            object.__setattr__(self, "attributes", ("group",))
            object.__setattr__(self, "attribute_values", (self.groups,))
            object.__setattr__(self, "parts", np.arange(len(self.groups), dtype=np.int64)[:, None])

    @property
    def outputs(self) -> int:
        """How many outputs a plain network has: one for each class or label, and one of a regression."""
        return {"class": len(self.classes), "multilabel": len(self.labels), "regression": 1}[self.task]

    def attribute_codes(self, group: Codes) -> Codes:
        """Return the values of crossed groups ``[...]`` by column, ``[attribute, ...]``; -1 where the group is -1."""
        assert self.parts is not None
        padded = np.concatenate([self.parts, np.full((1, len(self.attributes)), -1, dtype=np.int64)])
        return np.moveaxis(padded[group], -1, 0)


@dataclass(frozen=True, eq=False)
class Job:
    """One trial as a trainer sees it: its training rows, its seeds and its numbers.

    ``rows`` are positions in ``Material.train``, with repetition where a condition repeats. ``treatments`` stand in
    order, each made with its hyper-parameters; jobs that train together have treatments of the same kinds. ``domains``
    is a code for every class, the part that the condition gives it (such as minoritised); None where it parts none.
    """

    rows: Codes
    seed: int
    repeat: int = 0
    learner: Mapping[str, Any] = field(default_factory=dict)
    treatments: tuple[Any, ...] = ()
    domains: Codes | None = None


@dataclass(frozen=True)
class Settings:
    """How trials are trained: rounding, precision, device ("cpu" or "cuda") and what the best epoch is chosen by.

    ``performance`` (None: accuracy, or Pearson's r of a regression) and ``fairness`` are what dev rows are asked for.
    ``checkpoints`` is a folder in which long trainings keep where they are, and ``keep_models`` asks for the models
    themselves (``Outcome.model``); neither changes anything about the predictions.
    """

    rounding: Rounding = "native"
    precision: Precision = "float32"
    device: str = "cpu"
    selection: Selection = "dto"
    checkpoints: str | None = None
    performance: Performance | None = None
    fairness: Fairness = "GAP"
    keep_models: bool = False


@dataclass(frozen=True, eq=False)
class Predicted:
    """What a trial says of the rows of a split: class codes (or numbers), and scores ``[row, class]`` if it has any.

    Of several labels ``values [row, label]`` are 1 where a label is predicted, and scores are probabilities of labels.
    """

    values: NDArray[Any]
    scores: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Epoch:
    """What the dev rows said after one epoch (or one iteration of a treatment that comes after training)."""

    number: int
    loss: float
    performance: float
    fairness: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """How one trial ended: its predictions, the way there, or in words why it failed.

    ``kept`` are further arrays by name, such as the embedding of the test rows: they are stored as they are.
    ``traceback`` says where an error came from that failed the trial. ``model`` is what predicted, where models were
    asked for (``Settings.keep_models``), and ``no_model`` is the reason where there is none.
    """

    dev: Predicted | None = None
    test: Predicted | None = None
    history: tuple[Epoch, ...] = ()
    best_epoch: int = 0
    notes: tuple[str, ...] = ()
    failure: str | None = None
    seconds: float = 0.0
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    traceback: str | None = None
    model: FittedModel | None = None
    no_model: str | None = None
