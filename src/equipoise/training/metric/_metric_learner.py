"""``MetricLearner``: an embedding trained by a metric loss, in scikit-learn's manner."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from equipoise.foundation import (
    BadInput,
    TensorFile,
    as_column,
    as_columns,
    require,
    same_length,
)
from equipoise.networks import SMALL
from equipoise.tallies import (
    MISSING,
    factorise,
    ordered,
)
from equipoise.training._compatibility import check_compatible
from equipoise.training._dataset import Codes, EncodedDataset, Job, Rows, Settings
from equipoise.training._numerics import dtype_of, product_precision
from equipoise.training._preparation import PreparedJob, overrides, prepare_job
from equipoise.training._seeding import fix_seeds
from equipoise.training.images._backbones import NO_BACKBONE
from equipoise.training.images._pictures import check_pictures
from equipoise.training.learners.metric_learner import MetricLearning
from equipoise.training.metric._embedder import Embedder, embedder_of, network_of, restored, scale_of
from equipoise.training.metric._embedder_training import (
    ArrayFeed,
    EmbedderTraining,
    Feed,
    LoaderFeed,
    PictureFeed,
    ShiftedFeed,
    pair_of,
    ready,
    trained,
)
from equipoise.training.metric._objective import MetricRecipe, recipe_of

if TYPE_CHECKING:
    import torch

    from equipoise.cohorts import ColumnLike, ColumnsLike, InputsLike
    from equipoise.training import Treatment

# Hyper-parameters that the learner of studies has too, and that a file says.
LEARNER_SETTINGS = (
    "loss", "miner", "loss_values", "miner_values", "embedding_size", "epochs", "batch_size", "per_class",
    "learning_rate", "weight_decay", "frozen_norm", "augmentation",
)  # fmt: skip
# Of pictures: grey, or three colours.
CHANNELS = (1, 3)
# How a file names a backbone that is no name.
USER_NETWORK = "own"
FILE = TensorFile("equipoise.metric_learner", "equipoise.metric-learner/1", "metric learner", "MetricLearner.save")


class MetricLearner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """An embedding in which rows of a class lie close together (paper 000).

    ``backbone`` is None (inputs are features, and a linear head is trained), a name ("small", "resnet18", "resnet50",
    or "efficientnet_lite0", which ImageNet has taught: inputs are pictures), or a torch module of your own that turns
    inputs into features ``[row, feature]``, of which a copy is trained. ``loss`` and ``miner`` are names
    (``equipoise list metric_losses``); "usual" is the miner that the first preset of the loss has. ``treatments`` act
    before and during training, as in a study.

    ``frozen_norm`` lets the batch normalisations of a backbone neither learn nor count. ``augmentation`` (True) shifts
    training pictures by up to 4 pixels (0 comes in at the edge) and mirrors half of them, drawn anew in every epoch by
    ``random_state``; "flip" only mirrors, "resized_crop" shows a part of each, resized. By default it acts where the
    backbone is a name; with a backbone of your own ask for it, and give arrays ``[row, channel, height, width]``.
    Either is refused where it cannot act.

    After ``fit``: ``embedder_``, the parts of the embedding; ``classes_``; ``history_``, the mean loss of every epoch;
    ``stopped_``, in words why training ended early, or None; ``inputs_``, the shape of a row; ``n_features_in_`` where
    inputs are features.
    """

    def __init__(
        self,
        backbone: str | torch.nn.Module | None = None,
        loss: str = "margin",
        miner: str = "usual",
        embedding_size: int = 128,
        *,
        loss_values: dict[str, float] | None = None,
        miner_values: dict[str, float] | None = None,
        epochs: int = 150,
        batch_size: int = 128,
        per_class: int = 2,
        learning_rate: float = 3e-4,
        weight_decay: float = 4e-4,
        frozen_norm: bool = False,
        augmentation: bool | str | None = None,
        treatments: Sequence[Treatment] = (),
        precision: str = "float32",
        device: str = "cpu",
        random_state: int = 0,
    ) -> None:
        self.backbone = backbone
        self.loss = loss
        self.miner = miner
        self.embedding_size = embedding_size
        self.loss_values = loss_values
        self.miner_values = miner_values
        self.epochs = epochs
        self.batch_size = batch_size
        self.per_class = per_class
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.frozen_norm = frozen_norm
        self.augmentation = augmentation
        self.treatments = treatments
        self.precision = precision
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        X: InputsLike | Iterable[Any],  # noqa: N803
        y: ColumnLike | None = None,
        sensitive_features: ColumnsLike | None = None,
    ) -> MetricLearner:
        """Learn from rows and their classes, or from a data loader that yields (inputs, labels).

        ``sensitive_features`` (a column, or several) are for treatments; with a data loader there are none. Labels of a
        loader are read in a first pass, unless ``y`` names them.
        """
        require("torch", extra="train", purpose="MetricLearner")
        shared = {name: getattr(self, name) for name in LEARNER_SETTINGS}
        if self.augmentation is None:
            shared["augmentation"] = isinstance(self.backbone, str)
        # The learner of studies asks whether there is a backbone, not which.
        shared["backbone"] = NO_BACKBONE if self.backbone is None else SMALL
        values = MetricLearning.with_defaults(shared)
        settings = self._settings()
        self._check_treatments(X, sensitive_features)
        with product_precision(settings):
            rows = None if is_loader(X) else self._inputs(X, y, fitting=True)
            self._check_augmentation(rows)
            codes = self._codes(X, y, rows)
            dataset = encode_labels(codes, self.classes_, sensitive_features)
            trial = trial_of(dataset, self.treatments, values, self._seed())
            recipe = recipe_of([trial])
            fix_seeds(self._seed())
            feed = self._feed(X, rows, codes, trial.rows, settings)
            embedder = self._embedder(feed, rows, trial.rows, recipe, settings)
            self.history_, self.stopped_ = trained(EmbedderTraining(embedder, feed, trial, dataset, recipe, settings))
            embedder.hide()
        self.embedder_ = embedder
        if self.stopped_ is not None:
            warnings.warn(self.stopped_, RuntimeWarning, stacklevel=2)
        return self

    def transform(self, X: InputsLike | Iterable[Any]) -> NDArray[np.float32]:  # noqa: N803
        """Return the embeddings of rows (or of the inputs of a data loader), ``[row, dimension]``."""
        check_is_fitted(self, "embedder_")
        settings = self._settings()
        with product_precision(settings):
            if not is_loader(X):
                return self.embedder_.read(self._inputs(X, fitting=False))
            parts = []
            for batch in X:
                inputs = batch[0] if isinstance(batch, tuple | list) else batch
                parts.append(self.embedder_.read(ready(inputs, settings.device, dtype_of(settings))))
        if not parts:
            raise BadInput("The data loader returned no batch", available="at least one batch of inputs")
        return np.concatenate(parts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what ``transform`` needs (safetensors with a JSON header): nothing that only training used is in it."""
        check_is_fitted(self, "embedder_")
        is_custom = self.backbone is not None and not isinstance(self.backbone, str)
        description = {
            "backbone": USER_NETWORK if is_custom else self.backbone,
            "backbone_class": type(self.backbone).__qualname__ if is_custom else None,
            "inputs": list(self.inputs_),
            "features": self.embedder_.head.in_features,
            "unit_length": self.embedder_.unit_length,
            "values": {name: getattr(self, name) for name in (*LEARNER_SETTINGS, "precision")},
        }
        FILE.write(path, description, self.embedder_.state())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], backbone: torch.nn.Module | None = None, *, device: str = "cpu"
    ) -> MetricLearner:
        """Read what ``save`` wrote; a ``backbone`` of your own is given again, and its weights come from the file."""
        description, tensors = FILE.read(path)
        if description["backbone"] == USER_NETWORK and backbone is None:
            kind = description["backbone_class"]
            raise BadInput(f"The file needs a backbone of yours ({kind})", help="load(path, backbone=module).")
        if description["backbone"] != USER_NETWORK and backbone is not None:
            raise BadInput("The file needs no backbone of yours", help="load it without backbone=.")
        learner = cls(description["backbone"] if backbone is None else backbone, device=device, **description["values"])
        learner.inputs_ = tuple(description["inputs"])
        if learner.backbone is None:
            learner.n_features_in_ = int(description["features"])
        settings = learner._settings()
        network = network_of(learner.backbone, learner.inputs_, settings, frozen_norm=learner.frozen_norm)
        learner.embedder_ = restored(network, description, tensors, settings)
        return learner

    def _settings(self) -> Settings:
        if self.precision not in MetricLearning.precisions:
            raise BadInput(f"precision is {self.precision!r}", available=", ".join(MetricLearning.precisions))
        return Settings(precision=self.precision, device=self.device)  # type: ignore[arg-type]

    def _seed(self) -> int:
        if not isinstance(self.random_state, int | np.integer) or isinstance(self.random_state, bool):
            raise BadInput(f"random_state is {self.random_state!r}", available="a whole number")
        return int(self.random_state)

    def _check_treatments(self, X: Any, sensitive_features: Any) -> None:  # noqa: N803
        """Refuse treatments that have no place here, or that act on groups which nobody tells."""
        for treatment in self.treatments:
            check_compatible(MetricLearning, "metric_learner", type(treatment), type(treatment).__name__)
        around = [override for moment in ("transform", "erase") for override in overrides(self.treatments, moment)]
        if around:
            raise BadInput(
                f"The treatment {around[0]} acts before or after training; this estimator trains an embedding alone",
                available="treatments that choose rows, weigh them or act while the embedding trains",
                help="equipoise.estimators.TreatedEmbedding takes every treatment.",
            )
        acting = [
            override for moment in ("during", "choose", "weigh") for override in overrides(self.treatments, moment)
        ]
        if acting and (sensitive_features is None or is_loader(X)):
            raise BadInput(
                f"The treatment {acting[0]} was given, and the groups of the rows are not known",
                available="arrays with sensitive_features; a data loader has no groups",
                help="fit(X, y, sensitive_features=...).",
            )

    def _inputs(self, X: Any, y: Any = None, *, fitting: bool) -> Any:  # noqa: N803
        """Return inputs as a tensor on the CPU; pictures stay bytes ``[row, channel, height, width]``."""
        library = require("torch", extra="train", purpose="MetricLearner")
        if fitting and y is None:
            # The words that scikit-learn's own checks look for.
            raise BadInput(
                "MetricLearner requires y to be passed, but the target y is None", help="give a class for each row."
            )
        if self.backbone is None:
            inputs = validate_data(self, X, dtype=np.float32, reset=fitting)
            rows = library.from_numpy(np.ascontiguousarray(inputs)).to(dtype_of(self._settings()))
        elif isinstance(self.backbone, str):
            pictures = np.asarray(X)
            check_pictures(pictures, "X")
            rows = library.from_numpy(np.ascontiguousarray(pictures)).permute(0, 3, 1, 2)
        else:
            rows = ready(X, "cpu", dtype_of(self._settings()))
        if fitting:
            self.inputs_ = tuple(rows.shape[1:])
        elif tuple(rows.shape[1:]) != self.inputs_:
            raise BadInput(
                f"Rows have the shape {tuple(rows.shape[1:])}, and those it was fitted on {self.inputs_}",
                available="rows of one shape",
            )
        return rows

    def _codes(self, X: Any, y: Any, rows: Any) -> Codes:  # noqa: N803
        """Code the labels that were given, or those that a first pass through a data loader shows."""
        if rows is not None:
            self.classes_, codes = class_codes(y, len(rows))
            return codes
        if isinstance(self.backbone, str):
            raise BadInput(
                "A data loader was given, and a backbone by name",
                available="a backbone of your own, or None if the loader returns features",
                help="build it: equipoise.networks.build(name) returns a module for scaled pictures.",
            )
        labels = y if y is not None else [label for batch in X for label in pair_of(batch)[1].tolist()]
        self.classes_, codes = class_codes(labels, len(labels))
        return codes

    def _feed(self, X: Any, rows: Any, codes: Codes, chosen: Codes, settings: Settings) -> Feed:  # noqa: N803
        """Return what yields batches of what was given."""
        seed, device = self._seed(), settings.device
        if rows is None:
            return LoaderFeed(X, self.classes_, seed, device, dtype_of(settings))
        if isinstance(self.backbone, str):
            augmentation = True if self.augmentation is None else self.augmentation
            return PictureFeed(_bytes(rows), codes, chosen, seed, device, augmentation=augmentation)
        # Features are small: they lie on the device for as long as training takes.
        moved_rows = rows.to(device) if self.backbone is None else rows
        if self.augmentation:
            return ShiftedFeed(moved_rows, codes, chosen, seed, device, augmentation=self.augmentation)
        return ArrayFeed(moved_rows, codes, chosen, seed, device)

    def _check_augmentation(self, rows: Any) -> None:
        """Refuse to shift and mirror what is no array of pictures."""
        if not self.augmentation or isinstance(self.backbone, str):
            return
        hint = "leave augmentation out, or"
        if rows is None:
            raise BadInput(
                f"augmentation={self.augmentation!r} was given, and a data loader, whose batches are taken as they "
                "come",
                available="augmentation=True with arrays of pictures",
                help=f"{hint} augment in the loader's data set.",
            )
        shape = tuple(rows.shape)
        if self.backbone is None or len(shape) != 4 or shape[1] not in CHANNELS:
            raise BadInput(
                f"augmentation={self.augmentation!r} was given, and rows of the shape {shape[1:]}"
                + (" without a backbone" if self.backbone is None else ""),
                available="augmentation=True with a backbone and pictures [row, channel, height, width] of 1 or 3",
                help=f"{hint} put channels first: pictures.transpose(0, 3, 1, 2)."
                if len(shape) == 4 and shape[3] in CHANNELS
                else f"{hint} give pictures.",
            )

    def _embedder(self, feed: Feed, rows: Any, chosen: Codes, recipe: MetricRecipe, settings: Settings) -> Embedder:
        first = feed.first()
        if rows is None:
            self.inputs_ = tuple(first.shape[1:])
        network = network_of(self.backbone, self.inputs_, settings, frozen_norm=self.frozen_norm)
        return embedder_of(
            network, first, recipe.embedding_size, self._seed(), settings,
            unit_length=recipe.make_loss().unit_length,
            scale=scale_of(_bytes(rows), chosen, self.backbone) if isinstance(self.backbone, str) else None,
        )  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that labels are needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _bytes(rows: Any) -> NDArray[np.uint8]:
    """Return pictures with channels last."""
    values: NDArray[np.uint8] = rows.permute(0, 2, 3, 1).numpy()
    return values


def is_loader(data: object) -> TypeGuard[Iterable[Any]]:
    """Tell a data loader from an array: it yields batches, and has neither a shape nor rows of numbers."""
    array = hasattr(data, "shape") or hasattr(data, "__array__") or isinstance(data, list | tuple | str)
    return not array and isinstance(data, Iterable)


def class_codes(y: object, rows: int) -> tuple[NDArray[Any], Codes]:
    """Return the classes in order, and the place of each row's class among them."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) != rows:
        raise BadInput(
            f"There are {rows:,} rows and labels of the shape {labels.shape}", available="one label for each row"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise BadInput("Some labels are missing", help="leave out the rows without a label.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise BadInput(
            f"The labels have {len(classes)} class", available="two classes or more",
            help="metric learning needs rows of another class.",
        )  # fmt: skip
    return classes, codes.astype(np.int64)


def encode_labels(codes: Codes, classes: NDArray[Any], sensitive_features: object) -> EncodedDataset:
    """Return the labels and groups of training rows; inputs stay where they are.

    A value that is missing is unknown to a treatment, and its row is trained on all the same.
    """
    names: tuple[str, ...] = ("group",)
    parts: Codes = np.zeros((len(codes), 1), dtype=np.int64)
    values: tuple[tuple[str, ...], ...] = (("all",),)
    if sensitive_features is not None:
        columns = as_columns(sensitive_features, "sensitive_features")
        same_length({"y": codes, **columns})
        coded = [_coded(column, name) for name, column in columns.items()]
        names = tuple(columns)
        parts = np.stack([column_codes for column_codes, _ in coded], axis=1)
        values = tuple(column_labels for _, column_labels in coded)
    crossed, group = np.unique(parts, axis=0, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    places = np.arange(len(codes))
    rows = Rows(np.zeros((len(codes), 0), dtype=np.float32), places, codes, group, codes)
    few = Rows(rows.inputs[:1], places[:1], codes[:1], group[:1], codes[:1])
    labels = tuple(_crossed(row, values) for row in crossed.tolist())
    return EncodedDataset(rows, few, few, tuple(map(str, classes)), labels, "class", names, values, crossed)


def _crossed(codes: Sequence[int], values: Sequence[tuple[str, ...]]) -> str:
    """Name a group by the values it has in common, one of each column."""
    return " & ".join(value[code] if code >= 0 else MISSING for code, value in zip(codes, values, strict=True))


def _coded(column: object, name: str) -> tuple[Codes, tuple[str, ...]]:
    factorised = factorise(as_column(column, name))
    label_order = ordered([label for label in factorised.labels if label is not None])
    recode = np.array(
        [-1 if label is None else label_order.index(label) for label in factorised.labels], dtype=np.int64
    )
    return recode[factorised.codes], tuple(label_order)


def trial_of(dataset: EncodedDataset, treatments: Sequence[Any], values: dict[str, Any], seed: int) -> PreparedJob:
    """Return the training as a trial, whose treatments before training have chosen its rows."""
    return prepare_job(Job(np.arange(len(dataset.train)), seed, treatments=tuple(treatments)), dataset, values)
