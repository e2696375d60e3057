"""``equipoise.fit``: train on the columns of a table, and predict for, audit and save what comes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits import AuditResult, audit
from equipoise.cohorts import (
    as_table,
    check_names,
    columns_of,
    with_pictures,
)
from equipoise.estimators._dataset import LabelColumns
from equipoise.estimators._method import chosen_learner, chosen_treatments, name_of
from equipoise.estimators._saved import GroupNames, SavedModel
from equipoise.estimators._treated import TreatedClassifier, TreatedRegressor
from equipoise.foundation import (
    BadInput,
    accepts,
    fingerprint_of,
    listing,
    provenance,
    unknown_argument,
)
from equipoise.tallies import (
    label_of,
    label_text,
)

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

    from equipoise.cohorts import InputsLike, LabelLike
    from equipoise.training import LearnerLike, TreatmentLike

# Parameters of the estimators that ``fit`` passes on; the others it names itself.
PASSED_ON = (
    "treatment_settings", "learner_settings", "dev_size", "selection", "precision", "device",
)  # fmt: skip
KINDS: Mapping[str, type[TreatedClassifier | TreatedRegressor]] = {
    "class": TreatedClassifier,
    "regression": TreatedRegressor,
    "multilabel": TreatedClassifier,
}


@accepts(favorable="favourable")
def fit(
    frame: IntoDataFrame | Mapping[str, ArrayLike],
    *,
    target: str | Sequence[str],
    sensitive_features: str | Sequence[str] = (),
    treatment: TreatmentLike = "untreated",
    learner: LearnerLike = "mlp",
    favourable: LabelLike | None = None,
    features: str | Sequence[str] | None = None,
    include_sensitive: bool = False,
    task: str = "class",
    seed: int = 0,
    **settings: Any,
) -> TableModel:
    """Train a model on the columns of a table, with a debiasing treatment or without.

    Parameters
    ----------
    frame : data frame, or mapping of columns
        The training rows: a frame of pandas, Polars, PyArrow or DuckDB. Texts are categories, numbers are standardised.
        In a mapping a column may be a matrix of features, or the only one pictures: uint8
        ``[row, height, width, channel]``.
    target : str or sequence of str
        The column to predict. Several are labels, of which a row may have any number.
    sensitive_features : str or sequence of str, optional
        The columns of groups; several are crossed. Every treatment but ``untreated`` needs them.
    treatment : str, Treatment, or list of them
        What is done about a bias: a name or alias (``equipoise list treatments``); several act in order.
    learner : str, scikit-learn estimator, or callable
        What is trained: a name (``equipoise list learners``), an estimator, or a function of ``(features, classes)``
        that returns a torch module.
    favourable : label, optional
        The class that is good to be predicted as, for audits.
    features : str or sequence of str, optional
        The columns to learn from. By default all but the target and the sensitive features.
    include_sensitive : bool
        Whether the sensitive features are inputs too. Leaving them out does not hide them: others may tell them.
    task : {"class", "regression", "multilabel"}
        What the target is; several columns are several labels.
    seed : int
        The seed of everything random.
    **settings
        Further parameters of ``equipoise.estimators.TreatedClassifier``, such as ``learner_settings``.

    Returns
    -------
    TableModel
        ``predict(frame)``, ``audit(frame)``, ``save(folder)``.

    Examples
    --------
    >>> import equipoise
    >>> from sklearn.linear_model import LogisticRegression
    >>> people = {
    ...     "hours": [20, 40, 60, 30, 50, 45] * 10,
    ...     "job": ["cook", "clerk", "clerk", "cook", "cook", "clerk"] * 10,
    ...     "sex": ["f", "m", "m", "f", "m", "f"] * 10,
    ...     "income": ["low", "high", "high", "low", "high", "low"] * 10,
    ... }
    >>> model = equipoise.fit(
    ...     people, target="income", sensitive_features="sex", learner=LogisticRegression(), favourable="high"
    ... )
    >>> model
    TableModel(income from hours, job: untreated LogisticRegression; sex is no input)
    >>> model.predict({"hours": [65, 15], "job": ["clerk", "cook"]}).tolist()
    ['high', 'low']
    >>> model.audit(people, draws=0).favourable
    'high'
    """
    if task not in KINDS:
        raise BadInput(f"task is {task!r}", available=listing(KINDS))
    stray = next((name for name in settings if name not in PASSED_ON), None)
    if stray is not None:
        raise unknown_argument(stray, [*fit.__wrapped__.__kwdefaults__, "target", *PASSED_ON])  # type: ignore[attr-defined]
    groups, targets = _names(sensitive_features), _names(target)
    fits = {"class": len(targets) > 0, "regression": len(targets) == 1, "multilabel": len(targets) > 1}
    if not fits[task]:
        raise BadInput(
            f"task is {task!r}, and {len(targets)} target columns are named",
            available="one column of a class or number, or two or more of labels",
        )
    frame = with_pictures(frame, "the data") if isinstance(frame, Mapping) else frame
    inputs = _inputs(frame, targets, groups, features, include_sensitive=include_sensitive)
    columns = columns_of(frame, list(dict.fromkeys([*inputs, *targets, *groups])), "the data")
    estimator = KINDS[task](treatment, learner, random_state=seed, **settings)
    estimator.fit(
        {name: columns[name] for name in inputs},
        LabelColumns({name: columns[name] for name in targets}) if len(targets) > 1 else columns[targets[0]],
        sensitive_features={name: columns[name] for name in groups} if groups else None,
    )
    return TableModel(estimator, _model(estimator, columns, targets, groups, favourable))


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A fitted estimator with the columns of a table that it was trained on.

    Parameters
    ----------
    estimator : TreatedClassifier or TreatedRegressor
        What was fitted.
    model : SavedModel
        What predicts for rows of a frame: the same before it is saved and after it is loaded.
    """

    estimator: TreatedClassifier | TreatedRegressor
    model: SavedModel

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.model.target

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are the inputs."""
        return self.model.columns

    @property
    def sensitive_features(self) -> tuple[str, ...]:
        """The columns of groups."""
        return self.model.groups.columns

    @property
    def favourable(self) -> str | None:
        """The class that is good to be predicted as."""
        return label_of(self.model.favourable)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The sensitive features that are no inputs; other columns may tell them all the same."""
        return tuple(name for name in self.sensitive_features if name not in self.features)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of the training."""
        return (*self.estimator.notes_, *(f"{name} is not among the inputs." for name in self.left_out))

    def predict(self, frame: InputsLike) -> NDArray[Any]:
        """Return the class or number of each row of a frame.

        Parameters
        ----------
        frame : data frame, or mapping of columns
            With the model's features, and its sensitive features where the treatment predicts by them; other columns
            are ignored.

        Returns
        -------
        array of shape (n_rows,)
        """
        return self.model.predict(frame)

    def predict_proba(self, frame: InputsLike) -> NDArray[np.float32]:
        """Return the score of each class for each row, in the order of ``estimator.classes_``."""
        return self.model.predict_proba(frame)

    def transform(self, frame: InputsLike) -> NDArray[np.float32]:
        """Return the last hidden layer of a network for each row."""
        return self.model.transform(frame)

    def audit(
        self, frame: InputsLike, *, sensitive_features: str | Sequence[str] | None = None, **options: Any
    ) -> AuditResult:
        """Audit what the model predicts for rows with known targets, which it should not have been trained on.

        Parameters
        ----------
        frame : data frame, or mapping of columns
            With the model's features, its target, and the columns of groups.
        sensitive_features : str or sequence of str, optional
            The columns of groups; by default those of the fit.
        **options
            Further arguments of ``equipoise.audit``, such as ``intersections`` or ``draws``.

        Returns
        -------
        AuditResult
        """
        groups = self.sensitive_features if sensitive_features is None else _names(sensitive_features)
        if not groups:
            raise BadInput("The model knows no sensitive features", help='audit(frame, sensitive_features="sex")')
        if self.model.task == "multilabel":
            columns = columns_of(frame, [*self.model.classes, *groups], "the data")
            return self.model.audit_labels(columns, self.predict(frame), groups, **options)
        columns = columns_of(frame, [self.target, *groups], "the data")
        by_task = {"task": "regression"} if self.model.task == "regression" else {"favourable": self.favourable}
        arguments: dict[str, Any] = {**by_task, **options}
        grouped = {name: columns[name] for name in groups}
        return audit(
            target=columns[self.target], prediction=self.predict(frame), sensitive_features=grouped, **arguments
        )

    def save(self, folder: str | os.PathLike[str], audit: AuditResult | None = None) -> Path:
        """Write the model into a new folder, which ``equipoise.load_model`` reads.

        Parameters
        ----------
        folder : path
            The folder.
        audit : AuditResult, optional
            What ``audit`` returned, to lie beside the model.

        Returns
        -------
        Path
            The folder.
        """
        return self.model.save(folder, audit)

    def __repr__(self) -> str:
        names = " ".join(_called(part) for part in (self.estimator.treatment, self.estimator.learner))
        verb = "is no input" if len(self.left_out) == 1 else "are no inputs"
        absent = f"; {listing(self.left_out)} {verb}" if self.left_out else ""
        return f"TableModel({self.target} from {listing(self.features, 4)}: {names}{absent})"


def _called(thing: Any) -> str:
    """Return what a treatment or learner is called in a line."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, list | tuple):
        return " + ".join(map(_called, thing))
    return str(getattr(thing, "__name__", type(thing).__name__))


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _inputs(
    frame: object,
    targets: tuple[str, ...],
    groups: tuple[str, ...],
    features: str | Sequence[str] | None,
    *,
    include_sensitive: bool,
) -> tuple[str, ...]:
    """Return the columns to learn from; a column that is not there is refused with the nearest that is."""
    blocks = isinstance(frame, Mapping) and any(getattr(column, "ndim", 1) > 1 for column in frame.values())
    available = list(frame) if blocks else list(as_table(frame).columns)  # type: ignore[call-overload]
    chosen_features = () if features is None else _names(features)
    check_names([*targets, *groups, *chosen_features], available, "the data")
    for target in targets:
        if target in chosen_features or target in groups:
            raise BadInput(
                f"The target {target!r} is among the "
                f"{'features' if target in chosen_features else 'sensitive features'}",
                help="name another column.",
            )
    chosen = chosen_features or [name for name in available if name not in targets and name not in groups]
    chosen = [*chosen, *(name for name in groups if include_sensitive and name not in chosen)]
    if not chosen:
        raise BadInput(
            "No column is left to learn from", available=listing(available), help="name some: features=[...]."
        )
    return tuple(chosen)


def _model(
    estimator: TreatedClassifier | TreatedRegressor,
    columns: Mapping[str, NDArray[Any]],
    targets: tuple[str, ...],
    groups: tuple[str, ...],
    favourable: object,
) -> SavedModel:
    """Return what predicts, with the names of columns, classes and groups, and where it came from."""
    classes = tuple(estimator.classes_.tolist()) if isinstance(estimator, TreatedClassifier) else ()
    learner = chosen_learner(estimator.learner, estimator.learner_settings)
    treatments = chosen_treatments(estimator.treatment, estimator.treatment_settings)
    return SavedModel(
        estimator.model_,
        estimator.encoder_,
        classes,
        GroupNames(groups, estimator.groups_ if groups else ()),
        ", ".join(targets),
        estimator.task_,
        None if estimator.task_ == "multilabel" else _favourable(favourable, classes),
        {"learner": learner.name, "treatments": list(map(name_of, treatments)), "seed": estimator.random_state},
        provenance(fingerprint=_fingerprint(estimator.encoder_.encode_columns(columns), columns, [*targets, *groups])),
    )


def _fingerprint(inputs: NDArray[Any], columns: Mapping[str, NDArray[Any]], labels: Sequence[str]) -> str:
    """Name the training rows: inputs as they were encoded, and the labels of targets and groups."""
    values = ("\n".join(map(label_text, map(label_of, columns[name].tolist()))).encode() for name in labels)
    return fingerprint_of([np.ascontiguousarray(inputs).tobytes(), *values])


def _favourable(favourable: object, classes: Sequence[Any]) -> Any:
    """Return the class that is meant; one that no training row has is refused."""
    if favourable is None:
        return None
    by_label = {label_of(label): label for label in classes}
    if label_of(favourable) not in by_label:
        raise BadInput(
            f"favourable is {favourable!r}, and no training row is of that class",
            available=listing(by_label) or "no class: the target is a number",
        )
    return by_label[label_of(favourable)]
