"""Domain-independent training against slow loops, finite differences, and scikit-learn where there is one domain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from equipoise.audits.downstream import DomainIndependent, classifiers_of, estimator
from equipoise.audits.downstream._classifiers import objective
from equipoise.foundation import BadInput


def drawn(seed: int = 0, rows: int = 120, classes: int = 4, columns: int = 3, noise: float = 1.0) -> tuple:
    generator = np.random.default_rng(seed)
    codes = np.arange(rows) % classes
    points = generator.normal(size=(classes, columns))[codes] + noise * generator.normal(size=(rows, columns))
    return points.astype(np.float32), codes, generator.integers(0, 2, rows)


def slow(outputs: np.ndarray, points: np.ndarray, codes: np.ndarray, decay: np.ndarray) -> float:
    total = 0.0
    for point, code in zip(points, codes, strict=True):
        logits = [sum(a * b for a, b in zip(output[:-1], point, strict=True)) + output[-1] for output in outputs]
        total += math.log(sum(math.exp(logit) for logit in logits)) - logits[code]
    penalty = sum(weight * value**2 for weight, value in zip(decay.flat, outputs.flat, strict=True))
    return total / len(points) + penalty / 2


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1_000))
def test_what_is_made_smaller_and_its_gradient_are_those_of_a_loop(seed: int) -> None:
    generator = np.random.default_rng(seed)
    points, codes, _ = drawn(seed, rows=9)
    outputs, decay = generator.normal(size=(4, 4)), generator.random((4, 4))
    value, gradient = objective(outputs.reshape(-1), points.astype(float), codes, decay)
    assert value == pytest.approx(slow(outputs, points, codes, decay))

    def only(flat: np.ndarray) -> float:
        return objective(flat, points.astype(float), codes, decay)[0]

    np.testing.assert_allclose(gradient, approx_fprime(outputs.reshape(-1), only, 1e-6), atol=1e-4)


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_with_one_domain_it_is_the_logistic_regression_of_the_audits(strength: float, standardise: bool) -> None:
    points, codes, _ = drawn()
    made = DomainIndependent(strength, tolerance=1e-9, standardise=standardise)
    made.fit(points, 10 * codes, np.full(len(codes), 7))
    asked = {"name": "logistic_regression", "C": strength, "standardise": standardise, "tolerance": 1e-9}
    there = estimator(classifiers_of([asked])[0], 0).fit(points.astype(np.float64), 10 * codes)
    last: LogisticRegression = there[-1] if standardise else there
    np.testing.assert_allclose(made.outputs[0, :, :-1], last.coef_, atol=1e-4)
    np.testing.assert_allclose(made.outputs[0, :, -1], last.intercept_, atol=1e-4)
    np.testing.assert_array_equal(made.predict(points), there.predict(points))
    assert made.warned == ()


@pytest.mark.parametrize("standardise", [False, True])
def test_each_domain_learns_from_its_rows_alone_and_a_lacking_class_is_pushed_down(standardise: bool) -> None:
    points, codes, domains = drawn()
    domains[codes == 3] = 0  # the domain 1 lacks class 3
    made = DomainIndependent(tolerance=1e-9, standardise=standardise).fit(points, codes, domains)
    scaled = made.scaler.transform(points).astype(np.float64) if standardise else points.astype(np.float64)
    for index, domain in enumerate((0, 1)):
        rows = domains == domain
        # A column of ones that is penalised like all others, for a class that is not there; plain otherwise.
        lacks = domain == 1
        given = np.c_[scaled[rows], np.ones(rows.sum())] if lacks else scaled[rows]
        own = _least(given, codes[rows], 4, free=not lacks)
        np.testing.assert_allclose(made.outputs[index], own, atol=1e-4)
    lacking = scaled[domains == 1] @ made.outputs[1, :, :-1].T + made.outputs[1, :, -1]
    assert (np.exp(lacking) / np.exp(lacking).sum(axis=1, keepdims=True))[:, 3].mean() < 0.03


def _least(points: np.ndarray, codes: np.ndarray, classes: int, *, free: bool) -> np.ndarray:
    """Descend slowly, by torch's gradients and Newton-like steps, to the least of sum of losses + |W|^2 / 2."""
    torch = pytest.importorskip("torch")
    x, y = torch.tensor(points, dtype=torch.float64), torch.tensor(codes)
    weight = torch.zeros(classes, x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=free)
    steps = torch.optim.LBFGS([weight, bias] if free else [weight], max_iter=500, tolerance_grad=1e-10,
                              tolerance_change=1e-16, line_search_fn="strong_wolfe")  # fmt: skip

    def closure() -> object:
        steps.zero_grad()
        loss = torch.nn.functional.cross_entropy(x @ weight.T + bias, y, reduction="sum") + 0.5 * (weight**2).sum()
        loss.backward()
        return loss

    steps.step(closure)
    found = torch.cat([weight, bias[:, None]], 1) if free else weight
    return np.asarray(found.detach().numpy())


@pytest.mark.parametrize("standardise", [False, True])
def test_without_a_domain_logits_are_summed_and_with_one_its_own_speak(standardise: bool) -> None:
    points, codes, domains = drawn(noise=2.0)
    made = DomainIndependent(standardise=standardise).fit(points, codes, domains)
    scaled = made.scaler.transform(points).astype(np.float64) if standardise else points.astype(np.float64)
    logits = np.stack([scaled @ output[:, :-1].T + output[:, -1] for output in made.outputs])
    np.testing.assert_array_equal(made.predict(points), logits.sum(axis=0).argmax(axis=1))
    own = logits[domains, np.arange(len(points))].argmax(axis=1)
    np.testing.assert_array_equal(made.predict(points, domains), own)
    assert (own != made.predict(points)).any()


@pytest.mark.parametrize("lacking", [False, True])
def test_what_is_said_does_not_hang_on_where_the_steps_stop(lacking: bool) -> None:
    points, codes, domains = drawn(noise=2.0, rows=400, classes=8, columns=6)
    domains = (codes < 2).astype(int) if lacking else domains
    one, finer = (DomainIndependent(tolerance=t).fit(points, codes, domains) for t in (1e-6, 1e-10))
    np.testing.assert_allclose(one.outputs, finer.outputs, atol=2e-3)
    assert (one.predict(points) == finer.predict(points)).mean() > 0.99
    again = DomainIndependent().fit(points, codes, domains)
    np.testing.assert_array_equal(again.outputs, one.outputs)


def test_too_few_steps_are_said_and_what_does_not_fit_is_refused() -> None:
    points, codes, domains = drawn()
    hurried = DomainIndependent(steps=2).fit(points, codes, domains)
    assert hurried.warned == ("not converged after 2 steps: domains 0, 1",)
    with pytest.raises(BadInput, match="domain 5"):
        hurried.predict(points, np.full(len(points), 5))
    with pytest.raises(BadInput, match="as many"):
        hurried.predict(points, domains[:3])
    with pytest.raises(BadInput, match="a class and a domain for every point"):
        DomainIndependent().fit(points, codes, domains[:-1])
