"""Calling a measure by itself: names that other libraries use, and a mean over two classes that nobody asked for."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import make_scorer

from equipoise import BadInput, Counts, audit, measures

ROWS = np.random.default_rng(2)
TRUE, SAID, SEX = ROWS.integers(0, 2, 200), ROWS.integers(0, 2, 200), ROWS.choice(["f", "m"], 200)


def test_a_scorer_of_scikit_learn_can_be_printed():
    assert "demographic_parity" in repr(make_scorer(measures.demographic_parity, sensitive_features=SEX))


def test_both_spellings_of_favourable_give_the_same_number():
    assert measures.EOTP(TRUE, SAID, sensitive_features=SEX, favorable=1) == measures.EOTP(
        TRUE, SAID, sensitive_features=SEX, favourable=1
    )
    asked = {"target": TRUE, "prediction": SAID, "sensitive_features": SEX, "draws": 0}
    assert (
        audit(**asked, favorable=1, sample_weight=np.ones(200)).records
        == audit(**asked, favourable=1, weight=np.ones(200)).records
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [("y_true", "target"), ("y_pred", "prediction"), ("pos_label", "favourable"), ("wieght", "weight")],
)
def test_an_audit_says_which_argument_was_meant(name, meant):
    with pytest.raises(BadInput, match=f"did you mean {meant}="):
        audit(target=TRUE, prediction=SAID, sensitive_features=SEX, **{name: TRUE})


def test_a_measure_and_counts_say_which_argument_was_meant():
    with pytest.raises(BadInput, match="did you mean sample_weight="):
        measures.DP(TRUE, SAID, sensitive_features=SEX, weight=np.ones(200))
    weighed = Counts().update(TRUE, SAID, sensitive_features=SEX, weight=np.full(200, 2.0))
    assert weighed.compute("DP") == Counts().update(TRUE, SAID, sensitive_features=SEX).compute("DP")


def test_one_argument_with_two_values_under_two_names_is_refused():
    with pytest.raises(BadInput, match="given with different values"):
        measures.DP(TRUE, SAID, sensitive_features=SEX, favourable=1, favorable=0)


def test_a_mean_over_two_classes_is_not_given_silently():
    with pytest.warns(UserWarning, match="EOTP is the mean over the classes '0'"):
        measures.EOTP(TRUE, SAID, sensitive_features=SEX)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measures.EOTP(TRUE, SAID, sensitive_features=SEX, favourable=1)
        measures.DP(TRUE, SAID, sensitive_features=SEX)  # the same for both classes
