"""Fits of attributes to latents: normals and offsets, one attribute by itself or all at right angles to one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.imports import require
from equipoise.training.fixing import seed_of

Floats = NDArray[np.float64]
# Keeps the slope of an attribute that is told apart without a mistake finite.
RIDGE = 1e-4
STEPS = 200
# What paper 002's code does.
AUTHORS_STEPS, AUTHORS_RATE = 500, 1e-3


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute as numbers: 0 and 1 where it is one of two, anything where it is a number."""

    name: str
    values: Floats
    binary: bool

    @property
    def measure(self) -> str:
        """What says how well it is fitted."""
        return "AUC" if self.binary else "R2"

    def take(self, rows: NDArray[Any]) -> Column:
        """Return some rows."""
        return replace(self, values=self.values[rows])

    def standardised(self) -> Floats:
        """Return numbers with mean 0 and spread 1; halves as they are."""
        if self.binary:
            return self.values
        spread = self.values.std()
        made: Floats = (self.values - self.values.mean()) / (spread if spread > 0 else 1.0)
        return made


def by_regression(latents: Floats, columns: Sequence[Column], seed: int = 0) -> tuple[Floats, Floats]:
    """Fit each attribute by itself: least squares of numbers, logistic regression of halves.

    The plane lies where a number is at its mean, or where both halves are as likely.
    """
    from sklearn.linear_model import LogisticRegression

    normals, offsets = [], []
    for column in columns:
        if column.binary and column.values.min() < column.values.max():
            model = LogisticRegression(C=1.0 / RIDGE, max_iter=1_000).fit(latents, column.values)
            normal, offset = model.coef_[0], float(model.intercept_[0])
        else:
            padded = np.column_stack([latents, np.ones(len(latents))])
            solved = np.linalg.lstsq(padded, column.standardised(), rcond=None)[0]
            normal, offset = solved[:-1], float(solved[-1])
        normals.append(normal)
        offsets.append(offset)
    return np.array(normals, dtype=np.float64), np.array(offsets)


def orthonormal(latents: Floats, columns: Sequence[Column], seed: int = 0) -> tuple[Floats, Floats]:
    """Fit all attributes with normals at right angles, from where regression would put them, by L-BFGS in float64."""
    torch = require("torch", extra="train", purpose="Fitting hyperplanes")
    begun, starts = by_regression(latents, columns)
    lengths = np.linalg.norm(begun, axis=1)
    kind: dict[str, Any] = {"dtype": torch.float64}
    z, targets = torch.as_tensor(latents, **kind), torch.as_tensor(_targets(columns), **kind)
    binary = torch.as_tensor([column.binary for column in columns])
    free = torch.as_tensor((begun / np.maximum(lengths, 1e-12)[:, None]).T.copy(), **kind).requires_grad_()
    # Halves that are all but parted have slopes without end; with the offset of such a slope nothing would be learnt.
    begun_slopes = np.minimum(lengths, 10.0)
    slopes = torch.as_tensor(begun_slopes, **kind).requires_grad_()
    offsets = torch.as_tensor(starts * begun_slopes / np.maximum(lengths, 1e-12), **kind).requires_grad_()
    descent = torch.optim.LBFGS(
        [free, slopes, offsets], max_iter=STEPS, tolerance_grad=1e-9, line_search_fn="strong_wolfe"
    )

    def closure() -> Any:
        descent.zero_grad()
        scores = z @ _right_angled(torch, free) * slopes + offsets
        loss = _row_losses(torch, scores, targets, binary).mean(0).sum() + RIDGE * (slopes**2).sum()
        loss.backward()
        return loss

    descent.step(closure)
    with torch.no_grad():
        normals = (_right_angled(torch, free) * slopes).T.numpy()
    return normals, offsets.detach().numpy()


def orthonormal_by_authors(latents: Floats, columns: Sequence[Column], seed: int = 0) -> tuple[Floats, Floats]:
    """Fit as the code of paper 002 does: slopes of 1, values as they are, Adam, the step with the least loss kept.

    Loss = cross-entropy of halves + mean squared error of numbers + |bias|; the norm of the normals, which its code
    adds too, is the same at every step.
    """
    torch = require("torch", extra="train", purpose="Fitting hyperplanes")
    kind: dict[str, Any] = {"dtype": torch.float64}
    z = torch.as_tensor(latents, **kind)
    targets = torch.as_tensor(np.column_stack([column.values for column in columns]), **kind)
    binary = torch.as_tensor([column.binary for column in columns])
    draws = torch.Generator().manual_seed(seed_of(seed, "weights of the authors' fit"))
    bound = latents.shape[1] ** -0.5
    shape = (latents.shape[1], len(columns))
    free = ((2 * torch.rand(shape, generator=draws, **kind) - 1) * bound).requires_grad_()
    bias = ((2 * torch.rand(len(columns), generator=draws, **kind) - 1) * bound).requires_grad_()
    descent = torch.optim.Adam([free, bias], lr=AUTHORS_RATE)
    best, kept = np.inf, (np.zeros(shape).T, np.zeros(len(columns)))
    for _ in range(AUTHORS_STEPS):
        normals = _right_angled(torch, free)
        losses = _row_losses(torch, z @ normals + bias, targets, binary)
        parts = [losses[:, which].mean() for which in (binary, ~binary) if bool(which.any())]
        loss = sum(parts) + bias.norm()
        if float(loss.detach()) < best:
            best, kept = float(loss.detach()), (normals.detach().T.numpy().copy(), bias.detach().numpy().copy())
        descent.zero_grad()
        loss.backward()
        descent.step()
    return kept


def _targets(columns: Sequence[Column]) -> Floats:
    return np.column_stack([column.standardised() for column in columns])


def _right_angled(torch: Any, free: Any) -> Any:
    """Return orthonormal columns that span the given ones, each on the side of its own."""
    q, r = torch.linalg.qr(free)
    return q * torch.where(r.diagonal() < 0, -1.0, 1.0)


def _row_losses(torch: Any, scores: Any, targets: Any, binary: Any) -> Any:
    """Return the cross-entropy of halves, the squared error of numbers: ``[row, attribute]``."""
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(scores, targets.clamp(0.0, 1.0), reduction="none")
    return torch.where(binary, entropy, (scores - targets) ** 2)
