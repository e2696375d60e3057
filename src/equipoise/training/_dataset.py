"""A cohort as numbers, and what a training may see of it.

That is training rows with targets and groups, dev rows to select on, and test inputs and no more. Categories are
one-hot and numbers standardised, fitted on the original training rows and nothing else. No condition changes the
encoding, so that all trials of a study see the same inputs. A missing value has an indicator of its own where training
rows have missing values. A matrix of numbers (an embedding) passes as it is, and so do pictures, which are the only
feature then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import DECILES, QUARTILES, Cohort, Task
from equipoise.foundation import (
    BadInput,
    listing,
    unknown_name,
)
from equipoise.measures import (
    Fairness,
    Performance,
)
from equipoise.tallies import (
    Coded,
    factorise,
    group_name,
    label_text,
    ordered,
    presence_codes,
)
from equipoise.training._input_encoder import InputEncoder, as_numbers

if TYPE_CHECKING:
    from equipoise.training._models import FittedModel

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
    # Classes of the target: the codes themselves, or the part of the training targets that a number falls into. Rows
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
class EncodedDataset:
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

    ``rows`` are positions in ``EncodedDataset.train``, with repetition where a condition repeats. ``treatments``
    stand in order, each made with its hyper-parameters; jobs that train together have treatments of the same kinds.
    ``domains`` is a code for every class, the part that the condition gives it (such as minoritised); None where it
    parts none.
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

    ``arrays`` are further arrays by name, such as the embedding of the test rows: they are stored as they are.
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
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    traceback: str | None = None
    model: FittedModel | None = None
    no_model: str | None = None


SPLITS = ("train", "dev", "test")
# What the parts of the target of a regression are called, by how many there are.
BIN_NAMES = {
    QUARTILES: ("lowest quarter", "second quarter", "third quarter", "highest quarter"),
    DECILES: (
        "lowest tenth", "second tenth", "third tenth", "fourth tenth", "fifth tenth", "sixth tenth", "seventh tenth",
        "eighth tenth", "ninth tenth", "highest tenth",
    ),
}  # fmt: skip


def encode_dataset(
    cohort: Cohort, group: str | Sequence[str] | None = None, *, groups_at_prediction: bool = False
) -> EncodedDataset:
    """Return what trials may see of a cohort with the splits train, dev and test.

    ``group`` names the group column (several are crossed). Classes and groups are those of the training rows; a row of
    another one, or of none, has the code -1. Test targets are left out, and test groups too unless
    ``groups_at_prediction`` asks for them.
    """
    rows = _rows_of_splits(cohort)
    train = rows["train"]
    inputs = encoder_of(cohort).encode_columns(cohort.columns)
    targets = {"class": _class_codes, "regression": _numbers, "multilabel": _label_codes}[cohort.task]
    target, cell, classes = targets(cohort, train)
    attributes = _group_columns(cohort, group)
    codes, groups = _group_codes(cohort, attributes, train)
    parts, values = _parts(cohort, attributes, codes, len(groups), train)

    def split(name: str) -> Rows:
        places = rows[name]
        has_target, grouped = name != "test", name != "test" or groups_at_prediction
        return Rows(
            inputs=np.ascontiguousarray(inputs[places]),
            ids=places,
            target=target[places] if has_target else None,
            group=codes[places] if grouped else None,
            cell=cell[places] if has_target else None,
        )

    return EncodedDataset(
        split("train"), split("dev"), split("test"), classes, groups,
        cohort.task, attributes, values, parts, cohort.labels,
    )  # fmt: skip


def encoder_of(cohort: Cohort) -> InputEncoder:
    """Return how the features of a cohort become inputs, fitted on its training rows."""
    train = _rows_of_splits(cohort)["train"]
    return InputEncoder.fit(cohort.columns, cohort.features, train, what=f"the cohort {cohort.name!r}")


def _rows_of_splits(cohort: Cohort) -> dict[str, Codes]:
    if cohort.task == "multilabel" and not cohort.labels:
        raise BadInput(
            f"The cohort {cohort.name!r} has several labels a row in one column, {cohort.target!r}",
            available="one column of 0 and 1 for each label",
            help='name them all: Cohort.from_frame(frame, target=["cat", "dog"], task="multilabel", ...).',
        )
    coded = None if cohort.split is None else factorise(cohort[cohort.split])
    code_of_split = {} if coded is None else {label_text(label): index for index, label in enumerate(coded.labels)}
    absent = [name for name in SPLITS if name not in code_of_split]
    if coded is None or absent:
        raise BadInput(
            f"The cohort {cohort.name!r} has no {listing(absent)} split",
            available="a split column with train to learn from, dev to select on and test to evaluate on"
            + (f"; here are {listing(code_of_split)}" if code_of_split else ""),
            help="take shares of the training rows: equipoise.studies.plans._rows.with_splits(cohort, dev=0.2).",
        )
    return {name: np.flatnonzero(coded.codes == code_of_split[name]) for name in SPLITS}


def _class_codes(cohort: Cohort, train: Codes) -> tuple[NDArray[Any], Codes, tuple[str, ...]]:
    codes, names = _crossed([factorise(cohort[cohort.target])], train)
    if not names:
        raise BadInput(f"No training row of the cohort {cohort.name!r} has a class")
    if len(names) < 2:
        raise BadInput(
            f"The training rows of the cohort {cohort.name!r} have one class of {cohort.target} ({names[0]})",
            available="two classes or more",
            help="check the target column and the split.",
        )
    return codes, codes, names


def _label_codes(cohort: Cohort, train: Codes) -> tuple[NDArray[Any], Codes, tuple[str, ...]]:
    """Return the labels of each row ``[row, label]``; all rows that have them all stand in one cell.

    A label that training rows never have, or always, is refused: nothing could be learnt of it.
    """
    target = label_codes(cohort)
    is_labelled = np.asarray((target >= 0).all(axis=1))
    trained = target[train[is_labelled[train]]]
    if not len(trained):
        raise BadInput(f"No training row of the cohort {cohort.name!r} has all of its labels")
    check_labels_vary(trained, cohort.labels, f"the {len(trained):,} training rows of the cohort {cohort.name!r}")
    return target, np.where(is_labelled, 0, -1).astype(np.int64), ALL_ROWS


def label_codes(cohort: Cohort) -> NDArray[np.int8]:
    """Return 1 where a row has a label, 0 where not and -1 where that is missing, ``[row, label]``."""
    columns = [presence_codes(cohort[name], f"label column {name!r}") for name in cohort.labels]
    return np.stack(columns, axis=1).astype(np.int8)


def check_labels_vary(present: NDArray[Any], labels: Sequence[str], where: str) -> None:
    """Refuse labels ``[row, label]`` that no row has, or that all rows have; they are named."""
    number = (present > 0).sum(axis=0)
    for wrong, words in ((number == 0, "Never"), (number == len(present), "Always")):
        names = [repr(name) for name, flag in zip(labels, wrong.tolist(), strict=True) if flag]
        if names:
            raise BadInput(
                f"{words} present in {where}: {'the labels' if len(names) > 1 else 'the label'} {listing(names)}",
                available="labels that some training rows have and others have not",
                help="leave them out of the target, or use training rows of both kinds.",
            )


def _numbers(cohort: Cohort, train: Codes) -> tuple[NDArray[Any], Codes, tuple[str, ...]]:
    """Return the targets, and the part of the training targets that each falls into."""
    numbers = as_numbers(cohort[cohort.target])
    if numbers is None or not np.isfinite(numbers[train]).any():
        raise BadInput(
            f"The target {cohort.target!r} of a regression holds no numbers", available="a column of numbers"
        )
    cell, bins = target_bins(numbers, train, cohort.quantiles)
    return np.where(np.isfinite(numbers), numbers, np.nan).astype(np.float32), cell, bins


def target_bins(
    numbers: NDArray[np.float64], train: Codes, quantiles: int = QUARTILES
) -> tuple[Codes, tuple[str, ...]]:
    """Return the part of the training targets that each number falls into, -1 where it is missing, and their names.

    The parts are quarters or tenths (``quantiles``), cut at sample quantiles (Han et al. 2022, section 3.3).

    >>> target_bins(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), np.arange(4))[0].tolist()
    [0, 1, 2, 3, -1]
    """
    is_finite = np.isfinite(numbers)
    cell = np.where(is_finite, np.searchsorted(bin_edges(numbers[train], quantiles), numbers, side="right"), -1)
    # Many equal targets may leave a part without rows.
    present = np.unique(cell[train][is_finite[train]])
    recode = np.searchsorted(present, np.arange(quantiles)).clip(max=len(present) - 1)
    names = tuple(BIN_NAMES[quantiles][place] for place in present.tolist())
    return np.where(is_finite, recode[cell], -1).astype(np.int64), names


def bin_edges(numbers: NDArray[np.float64], quantiles: int) -> NDArray[np.float64]:
    """Return the numbers at which targets are cut into equally filled parts; an edge belongs to the part above it."""
    return np.asarray(np.quantile(numbers[np.isfinite(numbers)], np.arange(1, quantiles) / quantiles))


def _group_columns(cohort: Cohort, group: str | Sequence[str] | None) -> tuple[str, ...]:
    if group is None and len(cohort.groups) > 1:
        raise BadInput(
            f"The cohort {cohort.name!r} has several group columns ({listing(cohort.groups)})",
            help=f"name one, such as group={cohort.groups[0]!r}, or several to cross them.",
        )
    names = cohort.groups if group is None else (group,) if isinstance(group, str) else tuple(group)
    for name in names:
        if name not in cohort.groups:
            raise unknown_name("group column", name, cohort.groups, f"the cohort {cohort.name!r}")
    if not names:
        raise BadInput("No group column is named", available=listing(cohort.groups))
    return names


def _group_codes(cohort: Cohort, names: Sequence[str], train: Codes) -> tuple[Codes, tuple[str, ...]]:
    codes, groups = _crossed([factorise(cohort[name]) for name in names], train)
    if len(groups) < 2:
        raise BadInput(
            f"The training rows of the cohort {cohort.name!r} have {len(groups)} group of {listing(names)}",
            available="two groups or more",
            help="check the group column and the split, or name another group column.",
        )
    return codes, groups


def _parts(
    cohort: Cohort, names: Sequence[str], codes: Codes, groups: int, train: Codes
) -> tuple[Codes, tuple[tuple[str, ...], ...]]:
    """Return the value that each crossed group has in each column, as codes ``[group, column]``, and the values."""
    grouped = train[codes[train] >= 0]
    first = grouped[np.unique(codes[grouped], return_index=True)[1]]
    columns = [_crossed([factorise(cohort[name])], grouped) for name in names]
    parts = np.stack([column_codes[first] for column_codes, _ in columns], axis=1)
    assert parts.shape == (groups, len(names))
    return parts, tuple(values for _, values in columns)


def _crossed(columns: Sequence[Coded], train: Codes) -> tuple[Codes, tuple[str, ...]]:
    """Number the values that training rows have, columns crossed, in the order of their names; -1 for all else."""
    shape = tuple(len(column.labels) for column in columns)
    flat = np.ravel_multi_index([column.codes for column in columns], shape)
    names: dict[str, int] = {}
    for cell_index in np.unique(flat[train]).tolist():
        labels = [
            column.labels[code] for column, code in zip(columns, np.unravel_index(cell_index, shape), strict=True)
        ]
        if None not in labels:
            names[group_name(labels)] = cell_index
    recode = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    order = ordered(names)
    for code, name in enumerate(order):
        recode[names[name]] = code
    return recode[flat], tuple(order)
