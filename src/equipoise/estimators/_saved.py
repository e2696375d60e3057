"""Saved models: a folder with everything that predictions need, and its audit; no code in it, and nothing pickled."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task, as_table, columns_of
from equipoise.estimators._skops import estimator_bytes, estimator_from
from equipoise.foundation import (
    BadInput,
    TensorFile,
    as_columns,
    atomic_folder,
    describe_error,
    listing,
    plural,
    provenance,
    require,
    same_length,
    write_file,
)
from equipoise.tallies import (
    factorise,
    group_axis,
    presence_codes,
    row_group_codes,
)
from equipoise.training import Codes, FittedModel, InputEncoder, Predicted, learner_of

if TYPE_CHECKING:
    import torch

    from equipoise.audits import AuditResult
    from equipoise.cohorts import ColumnsLike, InputsLike, LabelLike
    from equipoise.training import NetworkFactory

SCHEMA, NUMBER = "equipoise.model", 1
DESCRIPTION, WEIGHTS, ESTIMATOR = "model.json", "weights.safetensors", "estimator.skops"
AUDIT, AUDIT_PAGE = "audit.json", "audit.html"
EMBEDDING_AUDIT, EMBEDDING_AUDIT_PAGE = "embedding_audit.json", "embedding_audit.html"
FILE = TensorFile("equipoise.model", "equipoise.model-weights/1", "saved model", "SavedModel.save")
# More than a description with a thousand categories in each of a thousand columns has.
MOST_BYTES = 64 * 1024**2
# Digits of a whole number, with its sign: those of the integers that arrays hold.
LONGEST_NUMBER = 20
# What arrays of a model may hold: what both numpy and torch know.
NUMBERS = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
AGAIN = "copy the folder again, or save the model again."


@dataclass(frozen=True)
class GroupNames:
    """The group columns of the training, and its groups by name: crossed where there are several columns."""

    columns: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def codes(self, data: object, sensitive_features: object = None) -> Codes:
        """Return the group of each row, from columns of the data or of their own; -1 where it was not trained."""
        if sensitive_features is None:
            columns = self._of_training(data)
        elif (named := _named(sensitive_features, data)) is not None:
            columns_by_name = columns_of(data, named, "the data")
            columns = self._in_order({name: columns_by_name[name] for name in named})
        else:
            columns = self._in_order(dict(as_columns(sensitive_features)))
        axes = {group_axis(name): factorise(column) for name, column in columns.items()}
        return row_group_codes(axes, self.columns, self.names)

    def _of_training(self, data: object) -> dict[str, Any]:
        """Return the columns of the training; without one of them it is said what they are needed for."""
        try:
            return columns_of(data, self.columns, "the data")
        except BadInput as error:
            raise BadInput(
                f"The model predicts by the group of every row ({self}). {error.given}", available=error.available,
                help="predict(data, sensitive_features=groups), or data with the columns of the groups.",
            ) from error  # fmt: skip

    def _in_order(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        if len(columns) != len(self.columns):
            raise BadInput(
                f"sensitive_features has {plural(len(columns), 'column')}", available=f"those of the training: {self}"
            )
        if set(columns) == set(self.columns):
            return {name: columns[name] for name in self.columns}
        return dict(zip(self.columns, columns.values(), strict=True))

    def __str__(self) -> str:
        return listing(self.columns)


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A trained model with all that it takes to use it on rows of a frame.

    Parameters
    ----------
    model : FittedModel
        What predicts from encoded inputs.
    encoder : InputEncoder
        How columns become inputs.
    classes : tuple
        The classes as they are predicted, in the order of scores; of several labels their names, of a regression none.
    groups : GroupNames
        The groups of the training; a model reads them where its treatment predicts by group (``needs_group``).
    target : str
        What is predicted.
    task : str
        "class", "regression" or "multilabel".
    favourable : optional
        The favourable class, for audits.
    about : mapping
        Learner, treatment, condition and seed, in words for a person and plain values for a program.
    provenance : mapping
        Versions and the fingerprint of the data.
    folder : Path, optional
        Where it was read from.

    Examples
    --------
    >>> model = load_model("adult-adversarial")  # doctest: +SKIP
    >>> model.predict(people)  # doctest: +SKIP
    array(['<=50K', '>50K'], dtype='<U5')
    """

    model: FittedModel
    encoder: InputEncoder
    classes: tuple[Any, ...]
    groups: GroupNames = field(default_factory=GroupNames)
    target: str = "target"
    task: str = "class"
    favourable: LabelLike | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the model reads."""
        return self.encoder.names

    @property
    def needs_group(self) -> bool:
        """Whether predictions need the group of every row."""
        return self.model.needs_group

    def predict(
        self, data: InputsLike, sensitive_features: ColumnsLike | None = None, ids: Codes | None = None
    ) -> NDArray[Any]:
        """Return the class, or the number, of each row; of several labels 0 or 1 for each, in the order of ``classes``.

        Parameters
        ----------
        data : frame, mapping, Cohort or array
            The columns of the model, under their names; others are ignored. Of a model of pictures, or of an
            embedding, also an array: uint8 ``[row, height, width, channel]``, or numbers ``[row, feature]``.
        sensitive_features : str, list of str, array or frame, optional
            The group of each row, or the columns that hold it, for a model that predicts by group (``needs_group``);
            by default the columns of the training. A group that was not trained is as unknown.
        ids : array of int, optional
            A whole number for each row, by which a treatment draws that predicts at random; by default its place.

        Returns
        -------
        array
            One class (as it stands in ``classes``) or number per row.
        """
        prediction = self._predicted(data, sensitive_features, ids)
        if self.task != "class":
            return prediction.values
        if prediction.values.max(initial=0) >= len(self.classes):
            raise BadInput(
                f"The model predicts a class that it does not name: number {prediction.values.max()}", help=AGAIN
            )
        named: NDArray[Any] = np.array(self.classes)[prediction.values]
        return named

    def predict_proba(
        self, data: InputsLike, sensitive_features: ColumnsLike | None = None, ids: Codes | None = None
    ) -> NDArray[np.float32]:
        """Return the probability of each class or label, in the order of ``classes``; without scores it refuses."""
        prediction = self._predicted(data, sensitive_features, ids)
        if prediction.scores is None:
            raise BadInput(
                "The model gives no probabilities" + (" of numbers" if self.task == "regression" else ""),
                available="predict",
            )
        return prediction.scores

    def transform(self, data: InputsLike) -> NDArray[np.float32]:
        """Return the last hidden layer or the embedding of each row, as a treatment left it; some models have none."""
        return self.model.transform(self.encoder.encode(data))

    def unknown_values(self, data: InputsLike) -> dict[str, tuple[str, ...]]:
        """Return, by column, the categories that no training row had: they are as none of the known ones."""
        return self.encoder.unknown_values(data)

    def _predicted(self, data: object, sensitive_features: object, ids: Codes | None) -> Predicted:
        inputs = self.encoder.encode(data)
        group = self.groups.codes(data, sensitive_features) if self.needs_group else None
        if group is not None:
            same_length({"the data": inputs, "sensitive_features": group})
        return self.model.predict(inputs, group, ids)

    def audit_labels(
        self, columns: Mapping[str, Any], predicted: NDArray[Any], sensitive_features: Sequence[str], **options: Any
    ) -> AuditResult:
        """Audit what the model predicts of several labels, ``[row, label]``, under their names.

        Parameters
        ----------
        columns : mapping
            The true labels, the groups, and what the options name, a column each; what is missing of a row is unknown.
        predicted : array of shape (n_rows, n_labels)
            What ``predict`` returned for these rows.
        sensitive_features : sequence of str
            The columns of groups.
        **options
            Further arguments of ``equipoise.audit``.
        """
        from equipoise.audits import audit

        codes = {label: presence_codes(columns[label], f"label column {label!r}") for label in self.classes}
        truth = {label: np.where(code < 0, np.nan, code) for label, code in codes.items()}
        predictions = {f"predicted {label}": predicted[:, index] for index, label in enumerate(self.classes)}
        # Pictures and matrices are no columns of an audit.
        flat = {name: column for name, column in columns.items() if np.ndim(column) == 1}
        return audit(
            {**flat, **truth, **predictions}, target=list(truth), prediction=list(predictions),
            sensitive_features=list(sensitive_features), task="multilabel", **options,
        )  # fmt: skip

    @cached_property
    def audit(self) -> dict[str, Any] | None:
        """The audit that lies beside the model, as JSON has it; None where there is none."""
        return self._audit_in(AUDIT)

    @cached_property
    def embedding_audit(self) -> dict[str, Any] | None:
        """The audit of the embedding that lies beside the model, as JSON has it; None where there is none."""
        return self._audit_in(EMBEDDING_AUDIT)

    def _audit_in(self, name: str) -> dict[str, Any] | None:
        if self.folder is None or not (self.folder / name).is_file():
            return None
        audit = _read_json(self.folder / name)
        if not isinstance(audit, dict):
            raise BadInput(f"The audit {str(self.folder / name)!r} is no object", help=AGAIN)
        return audit

    def save(
        self,
        folder: str | os.PathLike[str],
        audit: AuditResult | None = None,
        embedding_audit: AuditResult | None = None,
    ) -> Path:
        """Write the model into a new folder, whole or not at all; a saved model that is there gives way.

        Parameters
        ----------
        folder : path
            The folder: ``model.json``, ``weights.safetensors`` and, of scikit-learn, ``estimator.skops``.
        audit : AuditResult, optional
            What ``equipoise.audit`` said of the model: ``audit.json`` and ``audit.html`` beside it.
        embedding_audit : AuditResult, optional
            What ``equipoise.audit_embedding`` said of its embedding: ``embedding_audit.json`` and
            ``embedding_audit.html``.

        Returns
        -------
        Path
            The folder.
        """
        target = Path(folder)
        strange = next((label for label in map(_plain, self.classes) if not isinstance(label, str | int | float)), None)
        if strange is not None:
            raise BadInput(
                f"The class {strange!r} is a {type(strange).__name__}, which a saved model cannot name",
                available="classes that are texts, numbers, or true and false",
                help="convert the target to text and train again.",
            )
        estimator, tensors = self.model.estimator(), self.model.tensors()
        content = None if estimator is None else estimator_bytes(estimator)
        with atomic_folder(target, replaceable=is_saved_model) as temporary:
            digests: dict[str, str] = {}
            if tensors:
                torch = require("torch", extra="train", purpose="Saving a model")
                arrays = {name: torch.from_numpy(np.array(values)) for name, values in tensors.items()}
                FILE.write(temporary / WEIGHTS, {}, arrays, announced=False)
                digests[WEIGHTS] = _digest((temporary / WEIGHTS).read_bytes())
            if content is not None:
                write_file(temporary / ESTIMATOR, content, announced=False)
                digests[ESTIMATOR] = _digest(content)
            pages = ((audit, AUDIT, AUDIT_PAGE), (embedding_audit, EMBEDDING_AUDIT, EMBEDDING_AUDIT_PAGE))
            for result, data, page in pages:
                if result is not None:
                    result.to_json(temporary / data)
                    result.report(temporary / page)
            text = json.dumps(self._described(digests), allow_nan=False, indent=1, ensure_ascii=False)
            write_file(temporary / DESCRIPTION, text + "\n", announced=False)
        return target

    def _described(self, digests: Mapping[str, str]) -> dict[str, Any]:
        provenance_record = dict(self.provenance) or provenance(fingerprint="")
        return {
            "schema": f"{SCHEMA}/{NUMBER}",
            "kind": self.model.kind,
            "task": self.task,
            "target": self.target,
            "classes": [_plain(label) for label in self.classes],
            "favourable": _plain(self.favourable),
            "columns": list(self.columns),
            "groups": {"columns": self.groups.columns, "names": self.groups.names, "needed": self.needs_group},
            "about": dict(self.about),
            "inputs": self.encoder.state(),
            "model": self.model.settings(),
            "files": dict(digests),
            "provenance": {**provenance_record, "libraries": _libraries(self.model)},
        }

    def __repr__(self) -> str:
        method = " + ".join(map(str, self.about.get("treatments", ()))) or "untreated"
        names = f"classes={list(self.classes)}"
        says = {"class": names, "multilabel": names.replace("classes", "labels", 1)}.get(self.task, "task='regression'")
        group = ", needs_group=True" if self.needs_group else ""
        described = f"{self.model.kind}, {method}, target={self.target!r}, {says}, columns={len(self.columns)}{group}"
        return f"SavedModel({described})"


def load_model(folder: str | os.PathLike[str], module: NetworkFactory | torch.nn.Module | None = None) -> SavedModel:
    """Load a saved model. Nothing of the folder is run: of a torch module of one's own it holds the weights alone.

    Parameters
    ----------
    folder : path
        A folder that ``SavedModel.save`` or ``equipoise study refit`` wrote.
    module : callable or torch.nn.Module, optional
        Needed by models of the learner ``module``: the factory that made the network, or a network of its shape.

    Returns
    -------
    SavedModel
    """
    path = Path(folder)
    description = _described_in(path)
    kind = learner_of(description["kind"]).model if isinstance(description.get("kind"), str) else None
    if kind is None:
        raise BadInput(f"The saved model is of the kind {description.get('kind')!r}", help=AGAIN)
    files = _mapping(description, "files")
    if not set(files) <= {WEIGHTS, ESTIMATOR}:
        raise BadInput(f"The saved model names the files {listing(files)}", available=f"{WEIGHTS}, {ESTIMATOR}")
    content = {name: _file(path / name, digest) for name, digest in files.items()}
    estimator = estimator_from(content[ESTIMATOR]) if ESTIMATOR in content else None
    if estimator is not None and module is not None:
        raise BadInput("A module is given for a saved estimator", help="load_model(folder) is enough.")
    tensors = _arrays(path / WEIGHTS) if WEIGHTS in content else {}
    groups, task, classes = _groups(description), str(description.get("task")), _classes(description)
    if task not in get_args(Task) or not isinstance(description.get("target"), str):
        raise BadInput("The saved model says neither what it predicts nor of which classes", help=AGAIN)
    with _fitting_parts():
        encoder = InputEncoder.restore(description.get("inputs"))
        model = kind.restore(_mapping(description, "model"), tensors, module if estimator is None else estimator)
        if module is not None and not model.needs_module:
            raise BadInput(
                f"A module is given for a model of the learner {model.kind!r}", help="load_model(folder) is enough."
            )
        _check_fit(model, encoder, groups, classes, task)
    _check_about(description)
    _warn_of_versions(_mapping(description, "provenance"))
    return SavedModel(
        model, encoder, tuple(classes), groups, description["target"], task, description.get("favourable"),
        _mapping(description, "about"),
        _mapping(description, "provenance"), path,
    )  # fmt: skip


def is_saved_model(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds a saved model, of any version."""
    try:
        description = _read_json(Path(folder) / DESCRIPTION)
    except BadInput:
        return False
    return isinstance(description, dict) and str(description.get("schema", "")).startswith(f"{SCHEMA}/")


def _described_in(folder: Path) -> dict[str, Any]:
    """Read what a folder says of its model; another version is refused."""
    if not (folder / DESCRIPTION).is_file():
        raise BadInput(
            f"There is no saved model in {str(folder)!r}", available=f"a folder with {DESCRIPTION}",
            help="equipoise study refit PLAN --treatment NAME --to DIR writes one.",
        )  # fmt: skip
    description = _read_json(folder / DESCRIPTION)
    schema = str(description.get("schema")) if isinstance(description, dict) else ""
    name, _, number = schema.partition("/")
    if name != SCHEMA or not number.isdecimal() or not int(number[:7]) or not isinstance(description, dict):
        raise BadInput(f"{str(folder / DESCRIPTION)!r} does not describe a model ({schema[:60]!r})", help=AGAIN)
    if len(number) > 6 or int(number) != NUMBER:
        raise BadInput(
            f"The saved model has the schema {schema[:60]!r}, which is newer than this program",
            available=f"{SCHEMA}/{NUMBER}",
            help="update equipoise: pip install --upgrade in its clone.",
        )
    return description


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"{str(path)!r} is larger than {MOST_BYTES:,} bytes", help=AGAIN)
        return json.loads(path.read_text(encoding="utf-8"), parse_int=_whole_number, parse_constant=_no_number)
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{str(path)!r} cannot be read ({error})", help=AGAIN) from error


def _whole_number(text: str) -> int:
    """Read a whole number of a description; one that no array and no float can hold is none of ours."""
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number of {len(text):,} digits")
    return int(text)


def _no_number(text: str) -> float:
    """Refuse NaN and the infinities: nothing that was saved here has them."""
    raise ValueError(f"{text} is no number")


def _file(path: Path, digest: object) -> bytes:
    """Return the bytes of a file of a model; another file than was saved is refused."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"The saved model lacks {str(path)!r} ({error.strerror})", help=AGAIN) from error
    if _digest(content) != digest:
        raise BadInput(f"{str(path)!r} is not the file that was saved with the model", help=AGAIN)
    return content


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    _, tensors = FILE.read(path)
    strange = [f"{name!r} ({tensor.dtype})" for name, tensor in tensors.items() if str(tensor.dtype)[6:] not in NUMBERS]
    if strange:
        raise BadInput(f"The saved weights have {listing(strange, 3)}", available=listing(NUMBERS))
    return {name: tensor.numpy() for name, tensor in tensors.items()}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _mapping(description: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = description.get(name)
    if not isinstance(value, dict):
        raise BadInput(f"The saved model has {value!r:.60} as its {name}", help=AGAIN)
    return value


def _groups(description: Mapping[str, Any]) -> GroupNames:
    groups = _mapping(description, "groups")
    columns, names = (groups.get(name) for name in ("columns", "names"))
    if not all(
        isinstance(values, list) and all(isinstance(text, str) for text in values) for values in (columns, names)
    ):
        raise BadInput("The saved model does not name its groups", help=AGAIN)
    return GroupNames(tuple(columns or ()), tuple(names or ()))


def _classes(description: Mapping[str, Any]) -> list[Any]:
    """Return the classes, or the names of labels: texts, numbers, or true and false, each of them once."""
    classes = description.get("classes")
    if not isinstance(classes, list) or not all(isinstance(label, str | int | float) for label in classes):
        raise BadInput("The saved model says neither what it predicts nor of which classes", help=AGAIN)
    if len(set(classes)) < len(classes):
        raise BadInput(f"The saved model names a class twice: {listing(map(repr, classes))}", help=AGAIN)
    return classes


def _check_about(description: Mapping[str, Any]) -> None:
    """Refuse a description whose treatments are no list: what a model says of itself names them."""
    treatments = _mapping(description, "about").get("treatments", [])
    if not isinstance(treatments, list):
        raise BadInput(f"The saved model has {treatments!r:.60} as its treatments", help=AGAIN)


@contextlib.contextmanager
def _fitting_parts() -> Iterator[None]:
    """Refuse parts of which one cannot be made, or that do not belong together, whatever error that raises."""
    try:
        yield
    except BadInput:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise BadInput(
            f"The parts of the saved model do not fit each other ({describe_error(error)})", help=AGAIN
        ) from error


def _check_fit(
    model: FittedModel, encoder: InputEncoder, groups: GroupNames, classes: Sequence[Any], task: str
) -> None:
    """Refuse parts that do not belong together, by what the model says of a row without values."""
    if model.class_count is not None and task == "class" and model.class_count != len(classes):
        raise BadInput(f"The saved model predicts {model.class_count:,} classes and names {len(classes)}", help=AGAIN)
    if model.needs_group and not groups.names:
        raise BadInput("The saved model predicts by groups, and names none", help=AGAIN)
    prediction = model.predict(encoder.blank(), np.zeros(1, dtype=np.int64) if model.needs_group else None)
    if task == "multilabel" or prediction.values.ndim != 1:
        if task != "multilabel" or prediction.values.shape != (1, len(classes)):
            raise BadInput(
                f"The saved model predicts {prediction.values.shape[1:]} labels and names {len(classes)}", help=AGAIN
            )
        return
    numbers = prediction.values.dtype.kind == "f"
    if numbers != (task == "regression"):
        raise BadInput(
            "The saved model predicts numbers in place of classes, or classes in place of numbers", help=AGAIN
        )
    told_apart = model.class_count if prediction.scores is None else prediction.scores.shape[1]
    class_count = int(prediction.values.max()) + 1 if told_apart is None else told_apart
    if task == "class" and (len(classes) < 2 or (told_apart is not None and class_count != len(classes))):
        raise BadInput(f"The saved model predicts {class_count} classes and names {len(classes)}", help=AGAIN)


def _warn_of_versions(provenance_record: Mapping[str, Any]) -> None:
    """Warn where scikit-learn is another one than that which saved the estimator."""
    was = (
        provenance_record.get("libraries", {}).get("scikit-learn")
        if isinstance(provenance_record.get("libraries"), dict)
        else None
    )
    if was is None:
        return
    import sklearn

    if str(was).split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"The estimator was saved with scikit-learn {was}, and this is {sklearn.__version__}: it may predict "
            "otherwise. Install the version that saved it, or save it again.",
            stacklevel=3,
        )


def _libraries(model: FittedModel) -> dict[str, str]:
    """Return the versions of the libraries that predictions depend on."""
    name, module = ("scikit-learn", "sklearn") if model.estimator() is not None else ("torch", "torch")
    return {name: str(require(module, extra="train", purpose="Saving a model").__version__)}


def _plain(value: Any) -> Any:
    """Return a class as JSON writes it."""
    return value.item() if isinstance(value, np.generic) else value


def _named(sensitive: object, data: object) -> list[str] | None:
    """Return the columns of the data that group columns are named by; None where these are values."""
    if isinstance(sensitive, str):
        return [sensitive]
    if not isinstance(sensitive, list | tuple) or not all(isinstance(name, str) for name in sensitive):
        return None
    available = set(data) if isinstance(data, Mapping) else set(as_table(data, "the data").columns)
    return list(sensitive) if sensitive and set(sensitive) <= available else None
