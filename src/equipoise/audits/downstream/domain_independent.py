"""Domain-independent training (Wang et al. 2020): a softmax regression with class outputs of its own for every domain.

The rows of a domain d train its outputs alone, by a softmax over all classes, those that the domain lacks included:

    sum over rows i of d: -log softmax(W_d x_i + b_d)[y_i], plus (|W_d|^2 + |b_d|^2) / (2 C)

That is the logistic regression of these audits (C = 1, columns as they are; with ``standardise`` they are brought to
mean 0 and variance 1 on all rows), which leaves b unpenalised; so does this in a domain that has every class. In one
that lacks a class b would fall there without end, and a sum over domains would tell where the steps stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.splits import Codes
from equipoise.foundation.errors import BadInput, listing

Floats = NDArray[np.float64]
Points = NDArray[Any]


class DomainIndependent:
    """Softmax regressions of domains; without a domain the classes are read from the sum of their logits.

    ``strength`` is C of the L2 penalty. Steps start at 0 and end when no part of the gradient (per row) is above
    ``tolerance``; ``warned`` says which domains did not come so far in ``steps``.
    """

    def __init__(
        self, strength: float = 1.0, steps: int = 1_000, tolerance: float = 1e-6, *, standardise: bool = False
    ) -> None:
        self.strength, self.steps, self.tolerance = strength, steps, tolerance
        self.standardise = standardise
        self.warned: tuple[str, ...] = ()

    def fit(self, points: Points, classes: Codes, domains: Codes) -> DomainIndependent:
        """Learn the outputs of each domain, in the order of their codes."""
        from sklearn.preprocessing import StandardScaler

        if not len(points) == len(classes) == len(domains):
            raise BadInput(
                f"There are {len(points):,} points, {len(classes):,} classes and {len(domains):,} domains",
                available="a class and a domain for every point",
            )
        self.scaler = StandardScaler().fit(points) if self.standardise else None
        scaled = self._scaled(points)
        self.classes, codes = np.unique(classes, return_inverse=True)
        self.domains, places = np.unique(domains, return_inverse=True)
        self.outputs: Floats = np.zeros((len(self.domains), len(self.classes), scaled.shape[1] + 1))
        unfinished = []
        for place in range(len(self.domains)):
            rows = np.flatnonzero(places.reshape(-1) == place)
            self.outputs[place], ended = self._outputs(scaled[rows], codes.reshape(-1)[rows])
            unfinished += [] if ended else [str(self.domains[place])]
        self.warned = (
            (f"{self.steps:,} steps were not enough for the domains {listing(unfinished)}",) if unfinished else ()
        )
        return self

    def predict(self, points: Points, domains: Codes | None = None) -> Codes:
        """Return classes: by the outputs of each row's domain where domains are given, else by the sum over them."""
        scaled = self._scaled(points)
        if domains is None:
            # A sum of linear outputs is linear: no logits of single domains are needed.
            return self._said(scaled, self.outputs.sum(axis=0))
        if len(domains) != len(points):
            raise BadInput(f"There are {len(points):,} points and {len(domains):,} domains", available="as many")
        unknown = np.setdiff1d(domains, self.domains)
        if len(unknown):
            raise BadInput(
                f"Nothing was learnt of the domain {unknown[0]}",
                available=listing(map(str, self.domains)),
                help="leave domains out: classes are then read from the sum over all of them.",
            )
        found = np.empty(len(points), dtype=np.int64)
        for outputs, domain in zip(self.outputs, self.domains, strict=True):
            rows = np.asarray(domains) == domain
            found[rows] = self._said(scaled[rows], outputs)
        return found

    def _scaled(self, points: Points) -> Floats:
        return np.asarray(points if self.scaler is None else self.scaler.transform(points), dtype=np.float64)

    def _said(self, scaled: Floats, outputs: Floats) -> Codes:
        logits = scaled @ outputs[:, :-1].T + outputs[:, -1]
        return np.asarray(self.classes[logits.argmax(axis=1)], dtype=np.int64)

    def _outputs(self, points: Floats, codes: Codes) -> tuple[Floats, bool]:
        """Return the outputs ``[class, column + 1]`` of one domain, and whether the steps came to their end."""
        from scipy.optimize import minimize

        number, shape = len(self.classes), (len(self.classes), points.shape[1] + 1)
        decay = np.full(shape, 1.0 / (self.strength * len(points)))
        if len(np.unique(codes)) == number:
            decay[:, -1] = 0.0
        ended = minimize(
            lambda flat: objective(flat, points, codes, decay), np.zeros(decay.size), jac=True, method="L-BFGS-B",
            options={"maxiter": self.steps, "maxfun": 2 * self.steps, "gtol": self.tolerance, "ftol": 0.0},
        )  # fmt: skip
        # Where no step makes it smaller in the last digit, it is at its end too.
        return ended.x.reshape(shape), ended.nit < self.steps and ended.nfev < 2 * self.steps


def objective(flat: Floats, points: Floats, codes: Codes, decay: Floats) -> tuple[float, Floats]:
    """Return what a domain makes smaller and its gradient; ``decay`` weighs half the square of every output."""
    outputs = flat.reshape(decay.shape)
    rows = np.arange(len(points))
    logits = points @ outputs[:, :-1].T
    logits += outputs[:, -1]
    logits -= logits.max(axis=1, keepdims=True)
    own = logits[rows, codes]
    shares = np.exp(logits, out=logits)
    sums = shares.sum(axis=1)
    loss = float((np.log(sums) - own).mean())
    shares /= (sums * len(points))[:, None]
    shares[rows, codes] -= 1.0 / len(points)
    gradient = decay * outputs
    gradient[:, :-1] += shares.T @ points
    gradient[:, -1] += shares.sum(axis=0)
    return loss + 0.5 * float((decay * outputs**2).sum()), gradient.reshape(-1)
