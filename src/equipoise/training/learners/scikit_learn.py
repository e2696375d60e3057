"""Any estimator of scikit-learn, or any object with ``fit`` and ``predict``, as a learner."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task
from equipoise.foundation import BadInput, learner, stream
from equipoise.training._compatibility import Need
from equipoise.training._dataset import EncodedDataset, Outcome, Settings
from equipoise.training._learner import Learner, Progress, Report, flat_width
from equipoise.training._models import EstimatorModel, FittedModel
from equipoise.training._named_objects import (
    FORM,
    VERSION,
    attribute_of,
    display_name,
    name_of,
    name_parts,
    plain_value,
    portable_name,
    source_hash,
)
from equipoise.training._numerics import is_deterministic, is_jittered
from equipoise.training._parameters import FreeParameter, Table
from equipoise.training._prediction import after_training, failed_outcome, representations_of
from equipoise.training._preparation import PreparedJob, overrides, training_rows
from equipoise.training._seeding import fix_seeds, seed_of
from equipoise.training._selection import only_epoch
from equipoise.training._treatment import TrainingRows

ESTIMATOR_FORMS = (
    f'a class of scikit-learn by its dotted name ("sklearn.linear_model.LogisticRegression"), {FORM} or an object'
)
SETTING_ROLE = "setting of an estimator"
JITTER = (
    "Jitter permuted the training rows. An estimator that draws rows by their place (a forest, stochastic gradients) "
    "was thereby trained otherwise, not only rounded otherwise."
)
FIXED = "Deterministic: numerical libraries ran on one thread; what that cost was not measured."


@learner("scikit_learn", paper="field")
class ScikitLearn(Learner):
    """Any scikit-learn estimator by its dotted name, or an object with fit and predict; one fit, no epochs."""

    chooses_epochs: ClassVar[bool] = False
    offers: ClassVar[frozenset[Need]] = frozenset(
        {Need.ROWS, Need.ROW_WEIGHTS, Need.REPRESENTATIONS, Need.FLAT_INPUTS, Need.SCORES, Need.REFITTING}
    )
    parameters: ClassVar[Table] = {
        "estimator": FreeParameter(
            "what is fitted", ESTIMATOR_FORMS, "sklearn.linear_model.LogisticRegression", grid=True
        ),
        "settings": FreeParameter("what it is made with", 'names and values, such as {"C": 0.1}', grid=True),
        "version": VERSION,
    }
    for_regression: ClassVar[Mapping[str, Any]] = {"estimator": "sklearn.linear_model.Ridge"}
    tasks: ClassVar[tuple[Task, ...]] = ("class", "regression", "multilabel")
    model: ClassVar[type[FittedModel]] = EstimatorModel

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return estimator and settings; that an object takes its settings is found out at once."""
        completed_values = super().with_defaults(values, task)
        completed_values["settings"] = dict(completed_values["settings"] or {})
        if isinstance(completed_values["estimator"], str):
            _apart(completed_values["estimator"])  # nothing is imported by its name before a trial is to run
        else:
            estimator_of(completed_values)
        return completed_values

    @classmethod
    def verify(cls, values: Mapping[str, Any]) -> None:
        """Import an estimator that is named, and see that it takes its settings."""
        estimator_of(values)

    @classmethod
    def described(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Name an object by its class and its parameters."""
        requested, settings = values["estimator"], values["settings"]
        if isinstance(requested, str):
            return {**values, "estimator": portable_name(requested), "settings": plain_value(settings, SETTING_ROLE)}
        kind = requested if isinstance(requested, type) else type(requested)
        name, estimator = name_of(kind, "estimator"), estimator_of(values)
        if hasattr(estimator, "get_params"):
            settings = estimator.get_params(deep=False)
        elif kind is not requested:
            raise BadInput(
                f"The estimator is an object of {name}, which has no get_params, so its settings are unknown",
                help="give the class, with settings; or let it inherit from sklearn.base.BaseEstimator.",
            )
        return {**values, "estimator": name, "settings": plain_value(settings, SETTING_ROLE)}

    @classmethod
    def source(cls, values: Mapping[str, Any]) -> str | None:
        """Return a hash of the estimator's source where it is the user's own; scikit-learn has a version."""
        requested = values["estimator"]
        estimator = _by_name(requested) if isinstance(requested, str) else requested
        return None if _home(estimator) == "sklearn" else source_hash(estimator)

    @classmethod
    def gives_scores(cls, values: Mapping[str, Any]) -> bool:
        """Tell whether the estimator has predict_proba."""
        return hasattr(estimator_of(values), "predict_proba")

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """One: estimators are fitted one after another."""
        flat_width(dataset, "scikit_learn")
        return 1

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Fit one trial after another; each fails by itself."""
        flat_width(dataset, "scikit_learn")
        ended = []
        for number, trial in enumerate(stack, start=1):
            try:
                ended.append(_trained(dataset, trial, settings))
            except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
                ended.append(failed_outcome(error))
            report(Progress(len(stack), len(stack) - number, 1, 1))
        return ended


def estimator_of(values: Mapping[str, Any]) -> Any:
    """Make a fresh estimator from its name, class or example, with its settings."""
    requested, settings = values["estimator"], dict(values["settings"] or {})
    if isinstance(requested, str):
        requested = _by_name(requested)
        # A name may come from a stranger's plan: what is no estimator is not called.
        if not _can_be_fitted(requested):
            raise BadInput(f"The estimator {display_name(requested)} has no fit and predict", available=ESTIMATOR_FORMS)
    try:
        if isinstance(requested, type):
            estimator = requested(**settings)
        else:
            estimator = _fresh(requested)
            if settings:
                estimator.set_params(**settings)
    except (TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"{display_name(requested)} cannot be made with {settings!r} ({error})") from error
    if not _can_be_fitted(estimator):
        raise BadInput(f"The estimator {display_name(requested)} has no fit and predict", available=ESTIMATOR_FORMS)
    return estimator


def _can_be_fitted(thing: Any) -> bool:
    return callable(getattr(thing, "fit", None)) and callable(getattr(thing, "predict", None))


def _by_name(name: str) -> Any:
    module, attribute = _apart(name)
    return attribute_of(module, attribute, "estimator")


def _apart(name: str) -> tuple[str, str]:
    """Return module and attribute that a name stands for; nothing is imported."""
    if ":" in name:
        return name_parts(name, "estimator")
    module, _, attribute = name.rpartition(".")
    if module != "sklearn" and not module.startswith("sklearn."):
        raise BadInput(
            f"The estimator is {name!r}",
            available=ESTIMATOR_FORMS,
            help=f"write one that is not scikit-learn's as {FORM}.",
        )
    return module, attribute


def _fresh(estimator: Any) -> Any:
    if hasattr(estimator, "get_params"):
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)


def _trained(dataset: EncodedDataset, trial: PreparedJob, settings: Settings) -> Outcome:
    acting = overrides(trial.treatments, "during")
    if acting:
        raise BadInput(
            f"The treatment {', '.join(acting)} acts during training; scikit_learn trains in a single call",
            available="treatments before and after training",
            help="use the learner mlp, or module with a network of your own.",
        )
    start = time.perf_counter()
    fitted, notes = _fitted(dataset, trial, settings)
    number = dataset.outputs if dataset.task == "multilabel" else len(dataset.classes)
    model = EstimatorModel(fitted, dataset.train.inputs.shape[1], number, dataset.task)
    dev, test = (model.predict(rows.inputs) for rows in (dataset.dev, dataset.test))
    epoch = only_epoch(dev, dataset, settings)

    def inputs(split: str) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = getattr(dataset, split).inputs
        return rows[trial.rows] if split == "train" else rows

    stored_model = model if settings.keep_models else None
    ended = Outcome(dev, test, (epoch,), 1, notes, None, time.perf_counter() - start, model=stored_model)
    return after_training(trial, ended, lambda: representations_of(dataset, trial, settings, inputs))


def _fitted(dataset: EncodedDataset, trial: PreparedJob, settings: Settings) -> tuple[Any, tuple[str, ...]]:
    """Fit on the trial's rows; return the estimator with what it warned of."""
    from threadpoolctl import threadpool_limits

    # Once for what it imports, which may draw or bring generators of its own; then from the seed.
    foreign = _foreign(estimator_of(trial.values))
    fix_seeds(trial.seed, with_torch=foreign)
    estimator = estimator_of(trial.values)
    _check_kind(estimator, dataset.task)
    _seed(estimator, trial.seed)
    rows, weights = trial.rows, trial.weights
    notes: list[str] = []
    if is_jittered(settings.rounding):
        order = stream(trial.seed, "jitter", trial.job.repeat, 1).permutation(len(rows))
        rows, weights = rows[order], None if weights is None else weights[order]
        notes.append(JITTER)
    if is_deterministic(settings.rounding):
        notes.append(FIXED)
    assert dataset.train.target is not None
    name = type(estimator).__name__
    estimator = _wrapped(estimator, trial, training_rows(rows, dataset))
    options = {} if weights is None else {_weight_option(estimator): weights}
    inputs = dataset.train.inputs[rows].astype(settings.precision, copy=False)
    alone = threadpool_limits(1) if is_deterministic(settings.rounding) else nullcontext()
    with warnings.catch_warnings(record=True) as caught, alone:
        warnings.simplefilter("always")
        estimator.fit(inputs, dataset.train.target[rows], **options)
    warned = dict.fromkeys(f"{name}: {_first_line(warning.message)}" for warning in caught)
    return estimator, (*notes, *getattr(estimator, "notes", ()), *warned)


def _wrapped(estimator: Any, trial: PreparedJob, rows: TrainingRows) -> Any:
    """Let a treatment fit the estimator in its own way; two of them cannot."""
    acting = overrides(trial.treatments, "wrap")
    if len(acting) > 1:
        raise BadInput(f"Two treatments refit the estimator ({', '.join(acting)})", available="one at most")
    if acting and trial.weights is not None:
        raise BadInput(
            f"A treatment of this trial weighs rows, and {acting[0]} refits the estimator with weights of its own",
            available="rows that count alike",
            help="use downsampling or oversampling in place of weights.",
        )
    for treatment in trial.treatments if acting else ():
        wrapped = treatment.wrap(estimator, rows, _weight_option(estimator))
        estimator = estimator if wrapped is None else wrapped
    return estimator


def _check_kind(estimator: Any, task: str) -> None:
    """Refuse a classifier for numbers, and a regressor for classes; another's estimator need not say what it is."""
    from sklearn.base import is_classifier, is_regressor

    if not hasattr(estimator, "__sklearn_tags__"):
        return
    wrong = is_classifier(estimator) if task == "regression" else is_regressor(estimator)
    if wrong:
        kind, other = ("classifier", "regressor") if task == "regression" else ("regressor", "classifier")
        raise BadInput(
            f"{type(estimator).__name__} is a {kind}, and the target is "
            f"{'a number' if task == 'regression' else 'a class'}",
            available=f"a {other}",
            help=f"name a {other} as the estimator.",
        )
    if task == "multilabel" and not _tells_labels(estimator):
        raise BadInput(
            f"{type(estimator).__name__} tells one class per row, and rows have several labels",
            available="an estimator of several labels, such as RandomForestClassifier, KNeighborsClassifier or "
            "MLPClassifier",
            help="or wrap it, as an object: sklearn.multioutput.MultiOutputClassifier(LogisticRegression()).",
        )


def _tells_labels(estimator: Any) -> bool:
    """Tell whether an estimator learns several labels a row, by what it says of itself."""
    from sklearn.utils import get_tags

    tags = get_tags(estimator)
    labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(labels or tags.target_tags.multi_output or not tags.target_tags.single_output)


def _foreign(estimator: Any) -> bool:
    """Tell whether an estimator or a part of it is other people's code, which may import torch once it runs."""
    parts = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return any(_home(part) not in ("builtins", "numpy", "sklearn") for part in (estimator, *parts))


def _home(thing: Any) -> str:
    """Return the package that a class or function, or the class of an object, comes from."""
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return str(kind.__module__).partition(".")[0]


def _seed(estimator: Any, seed: int) -> None:
    """Fix every ``random_state`` that was left open, also in the steps of a pipeline."""
    if not hasattr(estimator, "get_params"):
        return
    parameters = estimator.get_params(deep=True)
    open_ones = [name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None]
    estimator.set_params(**{name: seed_of(seed, "estimator", name) for name in open_ones})


def _weight_option(estimator: Any) -> str:
    """Return what the estimator calls the weights of rows; of a pipeline its last step has them."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    step, last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    if not has_fit_parameter(last, "sample_weight"):
        raise BadInput(
            f"{type(last).__name__} takes no sample_weight, and a treatment of this trial weighs rows",
            help="choose an estimator whose fit takes sample_weight, or downsample instead.",
        )
    return f"{step}__sample_weight" if step else "sample_weight"


def _first_line(message: Any) -> str:
    return (str(message).strip().splitlines() or ["a warning without text"])[0].rstrip(".:")
