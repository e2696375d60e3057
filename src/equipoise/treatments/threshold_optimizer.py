"""Thresholds of each group's own (Hardt et al. 2016), as Fairlearn's ThresholdOptimizer finds them on dev rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    listing,
    plural,
    require,
    treatment,
)
from equipoise.training import (
    Adjustment,
    Codes,
    Parameter,
    Predicted,
    Readout,
    Scored,
    Table,
    Treatment,
    checked_array,
    checked_settings,
    fitted_part,
)
from equipoise.treatments._readout import randomly_decided

Floats = NDArray[np.float64]

EQUALIZED_ODDS = "equalized_odds"
CONSTRAINTS = (
    EQUALIZED_ODDS, "demographic_parity", "true_positive_rate_parity", "false_positive_rate_parity",
    "true_negative_rate_parity", "false_negative_rate_parity",
)  # fmt: skip
OF_EQUALIZED_ODDS = ("accuracy_score", "balanced_accuracy_score")
OBJECTIVES = (*OF_EQUALIZED_ODDS, "selection_rate", "true_positive_rate", "true_negative_rate")
PURPOSE = "threshold_optimizer"
# The columns of ``rules``: the chance of ``constant`` whatever the score, and two rules, each with its chance, its
# threshold, and 1 where scores above it are positive or -1 where those below are.
COLUMNS = ("ignore", "constant", "chance_0", "threshold_0", "side_0", "chance_1", "threshold_1", "side_1")


@fitted_part
class GroupThresholds(Adjustment):
    """A row is positive with a chance that depends on its score and its group: ``rules [group, column]``."""

    kind = PURPOSE
    needs_group = True

    def __init__(self, codes: Codes, rules: Floats, seed: int) -> None:
        self.codes, self.rules, self.seed = codes, rules, seed

    def __call__(self, predicted: Predicted, group: Codes | None, ids: Codes) -> Predicted:
        """Return decisions, drawn by the seed and the ids of rows; a row of an unknown group stays as it is."""
        if group is None or predicted.scores is None:
            raise BadInput(
                "Thresholds of groups need the group and the score of every row",
                available="rows with both",
                help="keep the group column where the model predicts.",
            )
        chance = self.chances(predicted.scores[:, 1].astype(np.float64), group)
        has_chance = np.isfinite(chance)
        decided = randomly_decided(np.where(has_chance, chance, 0.0), self.seed, PURPOSE, ids)
        assert decided.scores is not None
        return Predicted(
            np.where(has_chance, decided.values, predicted.values),
            np.where(has_chance[:, None], decided.scores, predicted.scores),
        )

    def chances(self, scores: Floats, group: Codes) -> Floats:
        """Return the chance of the second class; NaN for a row whose group has no rules."""
        chances = np.full(len(scores), np.nan)
        for code, (ignore, constant, *rules) in zip(self.codes.tolist(), self.rules.tolist(), strict=True):
            rows = group == code
            rule_sides = (rules[:3], rules[3:])
            sides = [chance * (side * scores[rows] > side * threshold) for chance, threshold, side in rule_sides]
            chances[rows] = ignore * constant + (1.0 - ignore) * (sides[0] + sides[1])
        return np.asarray(np.clip(chances, 0.0, 1.0))

    def notes_on(self, group: Codes | None) -> tuple[str, ...]:
        """Count the rows whose group has no rules."""
        unknown = 0 if group is None else int((~np.isin(group, self.codes)).sum())
        if not unknown:
            return ()
        return (
            f"{plural(unknown, 'test row')} of a group without dev rows (or of none): they keep the prediction of the "
            "model.",
        )

    def state(self) -> dict[str, Any]:
        """Return groups, rules and seed."""
        return {"codes": self.codes, "rules": self.rules, "seed": self.seed}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make it again."""
        codes = checked_array(state, "codes", [None], PURPOSE, np.int64)
        rules = checked_array(state, "rules", [len(codes), len(COLUMNS)], PURPOSE)
        return cls(codes, rules, checked_settings(state, {"seed": int}, PURPOSE)["seed"])


@treatment("threshold_optimizer", stage="post", paper="Hardt et al. 2016", extra="train")
class ThresholdOptimizer(Treatment):
    """Each group gets thresholds of its own on the scores of a trained model, so that a rate is equal among groups.

    Fairlearn finds them on the dev rows: of all randomised thresholds that fulfil the constraint there, those with the
    best objective. The positive class is the second. Predictions are drawn by the trial's seed where a threshold is
    randomised; the scores are the chances of the positive class. It needs the groups of test rows.

    It comes last, after treatments of the hidden layer. For the rate of the first class take
    ``true_negative_rate_parity``. A group whose dev rows lack a class is refused by name; a test row of a group without
    dev rows keeps the prediction of the model.
    """

    parameters: ClassVar[Table] = {
        "constraint": Readout("what is equal among groups", EQUALIZED_ODDS, CONSTRAINTS),
        "objective": Readout("what is as large as can be", "accuracy_score", OBJECTIVES),
        "flip": Readout("whether low scores may be positive too", False, (False, True)),
        "grid_size": Parameter("how finely rates are searched", 1000, 1, 100, 10_000, integer=True),
    }
    tasks: ClassVar[tuple[str, ...]] = ("class",)
    not_for_labels: ClassVar[str] = "it is defined for a target of two classes, and rows have several labels"
    two_classes: ClassVar[bool] = True
    needs_group_at_prediction = True

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        objective = self.values["objective"]
        if self.values["constraint"] == EQUALIZED_ODDS and objective not in OF_EQUALIZED_ODDS:
            raise BadInput(
                f"objective is {objective!r}, and the constraint is {EQUALIZED_ODDS!r}",
                available=listing(map(repr, OF_EQUALIZED_ODDS)),
                help='constraint = "demographic_parity" takes every objective.',
            )

    def adjust(self, scored: Scored) -> GroupThresholds:
        """Return the thresholds that are best on the dev rows."""
        is_known = (scored.target >= 0) & (scored.group >= 0)
        target, group = scored.target[is_known], scored.group[is_known]
        _check_dev_rows(target, group, scored)
        optimizer = self._optimizer()
        optimizer.fit(scored.scores[is_known, 1:].astype(np.float64), target, sensitive_features=group)
        interpolation = optimizer.interpolated_thresholder_.interpolation_dict
        codes = np.array(sorted(interpolation), dtype=np.int64)
        thresholds = GroupThresholds(
            codes, np.array([_rules(interpolation[code]) for code in codes.tolist()]), scored.seed
        )
        thresholds.notes = (self._note(scored),)
        return thresholds

    def _optimizer(self) -> Any:
        library = require("fairlearn.postprocessing", extra="train", purpose="The treatment threshold_optimizer")
        return library.ThresholdOptimizer(
            estimator=_scores_themselves(), prefit=True, predict_method="predict",
            constraints=self.values["constraint"], objective=self.values["objective"], flip=self.values["flip"],
            grid_size=int(self.values["grid_size"]),
        )  # fmt: skip

    def _note(self, scored: Scored) -> str:
        return (
            f"Thresholds of groups were fitted on the dev rows ({self.values['constraint']}, positive: "
            f"{scored.classes[1]}); randomised predictions are drawn by the seed of the trial."
        )


def _scores_themselves() -> Any:
    """Return an estimator that was fitted and says of a row its only column: Fairlearn asks one for scores."""
    from sklearn.base import BaseEstimator

    class Scores(BaseEstimator):  # type: ignore[misc]
        def fit(self, rows: Floats, target: Any = None) -> Any:
            self.fitted_ = True
            return self

        def predict(self, rows: Floats) -> Floats:
            return np.asarray(rows)[:, 0]

    return Scores().fit(np.zeros((0, 1)))


def _rules(interpolation: Any) -> tuple[float, ...]:
    """Return Fairlearn's interpolation between two thresholds of a group as numbers, in the order of ``COLUMNS``."""
    rules = [float(interpolation.get("p_ignore", 0.0)), float(interpolation.get("prediction_constant", 0.0))]
    for index in (0, 1):
        operation = interpolation[f"operation{index}"]
        side = 1.0 if operation.operator == ">" else -1.0
        rules += [float(interpolation[f"p{index}"]), float(operation.threshold), side]
    return tuple(rules)


def _check_dev_rows(target: Codes, group: Codes, scored: Scored) -> None:
    """Refuse dev rows in which a group lacks a class: it has no true or no false positive rate then."""
    present = np.unique(group)
    if len(present) < 2:
        raise BadInput("The dev rows have only one group", available="dev rows of two groups or more")
    counts = np.bincount(target * len(scored.groups) + group, minlength=2 * len(scored.groups)).reshape(2, -1)
    lacking = [(code, group_code) for group_code in present.tolist() for code in (0, 1) if not counts[code, group_code]]
    if lacking:
        code, group_code = lacking[0]
        raise BadInput(
            f"No dev row of {scored.groups[group_code]} has the class {scored.classes[code]}, "
            "so its thresholds are undefined",
            available="dev rows of both classes in every group",
            help="use more dev rows, or merge groups.",
        )
