"""A model out of a study: a cell is trained again, compared with what the store holds, and saved with its audit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits import AuditResult, audit
from equipoise.audits.embedding import audit_embedding
from equipoise.estimators import GroupNames, SavedModel, is_saved_model
from equipoise.foundation import (
    BadInput,
    Progress,
    check_new_folder,
    duration,
    listing,
    provenance,
    registry,
    unknown_name,
)
from equipoise.studies.plans import LearnerTexts, Named, Trial, condition_text, rows_of
from equipoise.studies.running import MODEL, check_device, model_of
from equipoise.studies.storage import OUTAGE, open_store
from equipoise.training import (
    Codes,
    EncodedDataset,
    FittedModel,
    Outcome,
    Predicted,
    all_learners,
    encoder_of,
    is_deterministic,
)
from equipoise.training import Progress as Epochs
from equipoise.training.metric import EmbeddingModel

if TYPE_CHECKING:
    from equipoise.studies._study import Study
    from equipoise.studies.storage import Store

SPLITS = ("dev", "test")
ROUNDINGS = ("native", "jitter", "deterministic", "deterministic jitter")
# The share of the work that training is; the rest is the audit.
TRAINING = 0.9
ALONE = (
    "By itself the saved model predicts the same for {share:.2%} of the test rows: it was trained together with "
    "others or on a graphics card, and products of one network on a processor round differently."
)
CALL = re.compile(r"(?P<name>[^()]+?)\s*(?:\((?P<settings>.*)\))?")


@dataclass(frozen=True)
class Agreement:
    """How many rows of a split are predicted as the store has them, and by how much scores (or numbers) differ."""

    split: str
    rows: int
    same: int
    largest: float = 0.0

    @property
    def share(self) -> float:
        """The share of rows with the same prediction."""
        return self.same / self.rows if self.rows else 1.0


@dataclass(frozen=True, eq=False)
class Refit:
    """A saved model of a study, and how it compares with the trial that the store holds.

    ``agreements`` is empty where the store does not hold the trial. ``from_store`` says that its weights were kept and
    nothing was trained. ``deterministic`` says that the training is the same every time on one machine. ``alone`` is
    the share of test rows of which the saved model says what the training did, where it was trained among others.
    ``embedding_audit`` is that of an embedding, and ``unaudited`` says why there is none of it.
    """

    folder: Path
    model: SavedModel
    trial: Trial
    cell: str
    audit: AuditResult
    agreements: tuple[Agreement, ...] = ()
    from_store: bool = False
    deterministic: bool = False
    seconds: float = 0.0
    alone: float = 1.0
    embedding_audit: AuditResult | None = None
    unaudited: str | None = None

    @property
    def equal(self) -> bool:
        """Whether the store holds the trial, and every row is predicted as it has it."""
        return bool(self.agreements) and all(agreement.same == agreement.rows for agreement in self.agreements)

    @property
    def words(self) -> tuple[str, ...]:
        """What was done, in sentences."""
        code = ", module=MyNet" if self.model.model.needs_module else ""
        how = "its weights were in the store" if self.from_store else f"trained again ({duration(self.seconds)})"
        return (
            f"The model of {self.cell} (seed {self.trial.seed}) is in {self.folder}: {how}.",
            self._compared,
            *([] if self.alone == 1.0 else [ALONE.format(share=self.alone)]),
            *([] if self.unaudited is None else [f"Its embedding could not be audited: {self.unaudited}"]),
            f"Load it: equipoise.load_model({str(self.folder)!r}{code})",
        )

    @property
    def _compared(self) -> str:
        if not self.agreements:
            return "The store does not hold this trial, so that nothing was compared."
        if self.equal:
            rows = " and ".join(f"{agreement.rows:,} {agreement.split} rows" for agreement in self.agreements)
            return f"It predicts what the store holds for all {rows}."
        shares = " and ".join(
            f"{agreement.share:.2%} of {agreement.rows:,} {agreement.split} rows" for agreement in self.agreements
        )
        why = (
            "another machine or other versions of libraries than those of the study may round differently"
            if self.deterministic
            else f"{self.trial.rounding} rounding differs from run to run; rounding = 'deterministic' does not"
        )
        return f"It predicts what the store holds for {shares}: {why}."

    def __repr__(self) -> str:
        return f"Refit({self.cell!r}, seed={self.trial.seed}, equal={self.equal}, folder={str(self.folder)!r})"


def refit(
    study: Study,
    store: str | os.PathLike[str],
    *,
    treatment: str,
    to: str | os.PathLike[str],
    condition: str | None = None,
    learner: str | None = None,
    selection: str | None = None,
    seed: int | None = None,
    rounding: str | None = None,
    artefacts: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    command: Iterable[str] | None = None,
) -> Refit:
    """Train one cell of a study again, compare it with what the store holds, and save the model with its audit.

    Parameters
    ----------
    study : Study
        The study.
    store : path or URL
        Its store. Where it does not hold the trial, nothing is compared.
    treatment : str
        The treatment by name or alias, with settings where the plan has several: ``"adversarial(strength=1)"``.
    to : path
        A new folder, or one with a saved model, which is replaced.
    condition, learner, selection : str, optional
        Which of several, as ``equipoise study status`` names them; by name, or a part of the text.
    seed : int, optional
        One of the plan's seeds; by default the first.
    rounding : str, optional
        Another rounding than the plan's, such as "deterministic".
    artefacts : path, optional
        Predictions too large for the store; by default beside it.
    progress : callable, optional
        Is told the stage and the share of the work that is done.
    command : iterable of str, optional
        The command that asked for it, for provenance.

    Returns
    -------
    Refit
    """
    tell = progress or _silent
    if study.functions:
        raise BadInput(
            "The study trains by a function of your own, which gives predictions and no model",
            help="save the model where the function trains it; a learner of the registry can be refitted.",
        )
    if rounding is not None and rounding not in ROUNDINGS:
        raise unknown_name("rounding", rounding, ROUNDINGS, "equipoise study refit")
    check_new_folder(Path(to), replaceable=is_saved_model)
    check_device(study.work)
    planned, cell = _chosen(study, treatment, condition, learner, selection, seed)
    trial = planned if rounding is None else replace(planned, rounding=rounding)
    stored, stored_model = _stored(store, planned, study, artefacts)
    outcome = (
        _trained(study, trial, planned, tell)
        if stored_model is None or trial != planned
        else _predicted(study, stored_model)
    )
    if outcome.model is None:
        raise BadInput(
            f"{cell} has no model to save. {outcome.no_model or ''}".strip(),
            available="the learners "
            + listing(name for name, learner in all_learners().items() if learner.model is not None),
        )
    tell("Auditing the model", TRAINING)
    agreements = () if stored is None else tuple(_agreement(split, outcome, stored[split]) for split in SPLITS)
    model = _saved(study, trial, cell, outcome, agreements, command)
    audited, predicted = _audited(study, model, command)
    of_embedding, unaudited = _embedding_audited(study, model, command)
    tell("Saving the model", 1.0)
    folder = model.save(to, audited, of_embedding)
    return Refit(
        folder, replace(model, folder=folder), trial, cell, audited, agreements,
        from_store=stored_model is not None and trial == planned, deterministic=is_deterministic(trial.rounding),
        seconds=outcome.seconds, alone=_share_alone(model, outcome, predicted), embedding_audit=of_embedding,
        unaudited=unaudited,
    )  # fmt: skip


def _chosen(
    study: Study, treatment: str, condition: str | None, learner: str | None, selection: str | None, seed: int | None
) -> tuple[Trial, str]:
    """Return the one trial that is meant, and what its cell is called; of several cells they are listed."""
    seed = study.seeds[0] if seed is None else seed
    if seed not in study.seeds:
        raise BadInput(f"The study has no seed {seed}", available=listing(study.seeds), help="--seed (seed=)")
    trials = [trial for trial in study.trials() if trial.seed == seed and trial.repeat == 0]
    texts = LearnerTexts([learner.named for learner in study.learners])
    wanted: list[tuple[str, str | None, Callable[[Trial], Sequence[str]]]] = [
        ("treatment", treatment, _treatment_names),
        ("condition", condition, lambda trial: (trial.condition.name, condition_text(trial.condition))),
        ("learner", learner, lambda trial: (trial.learner.name, texts[trial.learner])),
        ("selection", selection, lambda trial: (trial.selection,)),
    ]
    for what, name, names_of in wanted:
        if name is not None:
            trials = _matching(trials, what, name, names_of)
    if len(trials) > 1:
        several = [_words(trial, texts) for trial in trials]
        raise BadInput(
            f"{len(trials)} cells of the study fit: {listing(several, 8)}", available="one cell",
            help="say which: --condition TEXT, --learner TEXT, --selection NAME, or --treatment 'name(setting=value)'.",
        )  # fmt: skip
    return trials[0], _words(trials[0], texts, settings=False)


def _treatment_names(trial: Trial) -> Sequence[str]:
    aliases = {entry.name: entry.alias for entry in registry.entries("treatment") if entry.alias}
    short = " + ".join(aliases.get(named.name, named.name) for named in trial.treatments)
    return (trial.treatment, " + ".join(named.name for named in trial.treatments), short)


def _matching(
    trials: Sequence[Trial], what: str, requested: str, names_of: Callable[[Trial], Sequence[str]]
) -> list[Trial]:
    """Return the trials of a name: exactly, or by a part of it; settings in brackets have to agree."""
    call = CALL.fullmatch(requested.strip())
    name, settings = (call["name"], call["settings"]) if call and what == "treatment" else (requested.strip(), None)
    folded = name.casefold()
    exact = [trial for trial in trials if folded in [label.casefold() for label in names_of(trial)[:1]]]
    exact = exact or [trial for trial in trials if folded in [label.casefold() for label in names_of(trial)]]
    matching = exact or [trial for trial in trials if any(folded in label.casefold() for label in names_of(trial))]
    if not matching:
        known_names = dict.fromkeys(names_of(trial)[-1 if what != "treatment" else 0] for trial in trials)
        raise unknown_name(what, name, known_names, "this study")
    if not settings:
        return matching
    requested_settings = [part.replace(" ", "") for part in settings.split(",") if part.strip()]
    agreeing = [trial for trial in matching if set(requested_settings) <= _settings_of(trial.treatments)]
    if not agreeing:
        treatments = listing(dict.fromkeys(" + ".join(map(str, trial.treatments)) for trial in matching), 6)
        raise BadInput(f"No treatment of the study is {requested!r}", available=treatments)
    return agreeing


def _settings_of(treatments: Sequence[Named]) -> set[str]:
    """Return settings as they may be typed: 1 and 1.0 are the same number."""
    spellings: set[str] = set()
    for named in treatments:
        for name, value in named.settings.items():
            spellings |= {f"{name}={value}", f"{name}={value!r}", f"{name}={str(value).lower()}"}
            if isinstance(value, int | float) and not isinstance(value, bool):
                spellings |= {f"{name}={value:g}", f"{name}={float(value)}"}
    return spellings


def _words(trial: Trial, texts: LearnerTexts, *, settings: bool = True) -> str:
    """Name the cell of a trial, with the settings of its treatments where they tell cells apart."""
    treatment = " + ".join(map(str, trial.treatments)) if settings else trial.treatment
    return f"{treatment or 'untreated'} under {condition_text(trial.condition)} ({texts[trial.learner]})"


def _stored(
    where: str | os.PathLike[str], trial: Trial, study: Study, artefacts: str | os.PathLike[str] | None
) -> tuple[dict[str, Predicted] | None, FittedModel | None]:
    """Return what the store holds of a trial: its predictions, and its model where that was kept."""
    location = os.fspath(where)
    if "://" not in location and not os.path.exists(location):
        return None, None
    with open_store(location, create=False, read_only=True, artefacts=artefacts, outage=OUTAGE) as store:
        state, _ = store.states([trial.key]).get(trial.key, ("", 0.0))
        if state != "done":
            return None, None
        predictions = {split: store.predictions(trial.key, split) for split in SPLITS}
        return predictions, _stored_model(store, trial.key)


def _stored_model(store: Store, key: str) -> FittedModel | None:
    array = store.stored_arrays([key], MODEL).get(key)
    return None if array is None else model_of(array)


def _trained(study: Study, trial: Trial, planned: Trial, tell: Progress) -> Outcome:
    """Train a trial again: under deterministic rounding with all of its stack, for sums of others round differently."""
    work = replace(study.work, keep_models=True)
    stack = work.stack_of[planned.key].trials
    together = list(stack) if trial == planned and is_deterministic(trial.rounding) else [trial]

    def epochs(progress: Epochs) -> None:
        stage = f"Training the model: epoch {progress.epoch} of at most {progress.epochs}"
        tell(stage, TRAINING * progress.epoch / max(progress.epochs, 1))

    tell("Training the model", 0.0)
    outcomes = work.outcomes(together, epochs)
    outcome = outcomes[[one.key for one in together].index(trial.key)]
    if outcome.failure is not None:
        raise BadInput(f"The training failed: {outcome.failure}", help="equipoise study status PLAN --failures")
    return outcome


def _predicted(study: Study, model: FittedModel) -> Outcome:
    """Return what a model that the store keeps predicts."""
    dev, test = (_predictions(model, study.dataset, split) for split in SPLITS)
    return Outcome(dev, test, model=model)


def _predictions(model: FittedModel, dataset: EncodedDataset, split: str) -> Predicted:
    rows = getattr(dataset, split)
    return model.predict(rows.inputs, rows.group if model.needs_group else None, rows.ids)


def _agreement(split: str, outcome: Outcome, stored: Predicted) -> Agreement:
    predicted: Predicted | None = getattr(outcome, split)
    assert predicted is not None
    same = _same_rows(predicted.values, stored.values)
    return Agreement(split, len(stored.values), int(same.sum()), _largest(predicted, stored))


def _same_rows(values: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows two predictions agree on; of several labels on all of them."""
    same = values == other
    return np.asarray(same.all(axis=1) if same.ndim > 1 else same)


def _largest(refitted: Predicted, stored: Predicted) -> float:
    """Return by how much scores differ at most, or numbers; 0 where there is nothing to compare."""
    pairs = [(refitted.values, stored.values)] if stored.values.dtype.kind == "f" else []
    if refitted.scores is not None and stored.scores is not None:
        pairs.append((refitted.scores, stored.scores))
    return max((float(np.abs(scores - other).max(initial=0.0)) for scores, other in pairs), default=0.0)


def _saved(
    study: Study, trial: Trial, cell: str, outcome: Outcome, agreements: Sequence[Agreement],
    command: Iterable[str] | None,
) -> SavedModel:  # fmt: skip
    """Put together all that it takes to predict rows of a frame."""
    dataset = study.dataset
    assert outcome.model is not None
    about: dict[str, Any] = {
        "study": study.name, "cell": cell, "condition": condition_text(trial.condition), "rows": trial.size,
        "learner": trial.learner.name, "treatments": [str(treatment) for treatment in trial.treatments],
        "seed": trial.seed, "rounding": trial.rounding, "precision": trial.precision, "device": trial.device,
        "selection": trial.selection, "best_epoch": outcome.best_epoch or None, "trial": trial.key,
        "agreement": {agreement.split: agreement.share for agreement in agreements} or None,
        "notes": list(outcome.notes),
    }  # fmt: skip
    made = provenance(
        fingerprint=study.fingerprint, command=command, data=study.original.name, rows=len(dataset.train),
        columns={"target": study.cohort.target, "groups": list(study.groups)},
    )  # fmt: skip
    names = {"class": dataset.classes, "multilabel": dataset.labels, "regression": ()}[dataset.task]
    return SavedModel(
        outcome.model, encoder_of(study.cohort), names,
        GroupNames(study.groups, dataset.groups), study.cohort.target, dataset.task, study.cohort.favourable, about,
        made,
    )  # fmt: skip


def _share_alone(model: SavedModel, outcome: Outcome, predicted: NDArray[Any]) -> float:
    assert outcome.test is not None
    values = outcome.test.values
    same = _same_rows(predicted, np.array(model.classes)[values] if model.task == "class" else values)
    return float(same.mean()) if len(same) else 1.0


def _audited(study: Study, model: SavedModel, command: Iterable[str] | None) -> tuple[AuditResult, NDArray[Any]]:
    """Audit the saved model itself on the test rows, through the columns that it will be given; return both."""
    rows = rows_of(study.cohort, "test")
    columns: dict[str, NDArray[Any]] = {name: column[rows] for name, column in study.cohort.columns.items()}
    predicted = model.predict(columns, ids=rows)
    if model.task == "multilabel":
        more = {} if study.cohort.cluster is None else {"cluster": study.cohort.cluster}
        return model.audit_labels(columns, predicted, study.groups, command=command, **more), predicted
    audit_arguments: dict[str, Any] = {
        "target": columns[study.cohort.target], "prediction": predicted,
        "sensitive_features": {name: columns[name] for name in study.groups}, "command": command,
    }  # fmt: skip
    if study.cohort.cluster is not None:
        audit_arguments["cluster"] = columns[study.cohort.cluster]
    if model.task == "regression":
        return audit(**audit_arguments, task="regression"), predicted
    audit_arguments |= {} if study.cohort.favourable is None else {"favourable": study.cohort.favourable}
    return audit(**audit_arguments, **_score(model, columns, rows)), predicted


def _embedding_audited(
    study: Study, model: SavedModel, command: Iterable[str] | None
) -> tuple[AuditResult | None, str | None]:
    """Audit the embedding of the test rows as it is released, where the model is one; or say why it cannot be."""
    if not isinstance(model.model, EmbeddingModel):
        return None, None
    rows = rows_of(study.cohort, "test")
    columns: dict[str, NDArray[Any]] = {name: column[rows] for name, column in study.cohort.columns.items()}
    groups = {name: columns[name] for name in study.groups}
    cluster = None if study.cohort.cluster is None else columns[study.cohort.cluster]
    try:
        points = model.transform(columns)
        target = columns[study.cohort.target]
        return audit_embedding(points, target=target, sensitive_features=groups, cluster=cluster, command=command), None
    except BadInput as error:
        return None, error.given


def _score(model: SavedModel, columns: Mapping[str, NDArray[Any]], rows: Codes) -> dict[str, Any]:
    """Return the score of the favourable class, or of the second of two; nothing where the model has no scores."""
    if len(model.classes) != 2:
        return {}
    score_class = model.favourable if model.favourable in model.classes else model.classes[1]
    try:
        scores = model.predict_proba(columns, ids=rows)
    except BadInput:
        return {}
    return {"score": scores[:, model.classes.index(score_class)].astype(np.float64), "score_class": score_class}


def _silent(stage: str, done: float) -> None:
    """Say nothing."""
