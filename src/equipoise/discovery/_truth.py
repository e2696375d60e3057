"""Ground truth: hyperplanes of labelled attributes in a latent space, how well each is fitted, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.discovery._hyperplane import Hyperplane
from equipoise.foundation import (
    BadInput,
    Floats,
    require,
    stream,
    unknown_name,
)
from equipoise.results import Reason, ReasonCode, because
from equipoise.training import seed_of

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
        values: Floats = (self.values - self.values.mean()) / (spread if spread > 0 else 1.0)
        return values


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
    regression_normals, starts = by_regression(latents, columns)
    lengths = np.linalg.norm(regression_normals, axis=1)
    kind: dict[str, Any] = {"dtype": torch.float64}
    z, targets = torch.as_tensor(latents, **kind), torch.as_tensor(_targets(columns), **kind)
    binary = torch.as_tensor([column.binary for column in columns])
    free = torch.as_tensor((regression_normals / np.maximum(lengths, 1e-12)[:, None]).T.copy(), **kind).requires_grad_()
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


@dataclass(frozen=True)
class Recovery:
    """|cos| to the biased attribute (high is good), |cos| to the target (low is good), and the first less the second.

    A direction drawn at random at right angles to target and known attributes has a difference far above 0 by chance
    (0.34 in ten dimensions with three of them known): compare with that, never with 0.
    """

    biased: float
    target: float
    difference: float


def recovery(direction: Hyperplane, biased: Hyperplane, target: Hyperplane) -> Recovery:
    """Return how near a direction is to the truth."""
    to_biased, to_target = abs(direction.cosine(biased)), abs(direction.cosine(target))
    return Recovery(to_biased, to_target, to_biased - to_target)


def leading(differences: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return for each method the share of settings in which its difference is the largest; a tie is shared.

    A setting in which a method has no difference (NaN) is led by another; one in which nobody has any does not count.
    """
    lengths = {len(values) for values in differences.values()}
    if len(lengths) != 1 or not lengths - {0}:
        raise BadInput(
            f"The methods have {sorted(lengths)} settings",
            available="as many of each method, in one order, and at least one",
        )
    table = np.array([list(values) for values in differences.values()], dtype=np.float64)
    table = table[:, ~np.isnan(table).all(axis=0)]
    if not table.shape[1]:
        return dict.fromkeys(differences, float("nan"))
    first = table == np.nanmax(table, axis=0)
    shares = (first / first.sum(axis=0)).mean(axis=1)
    return dict(zip(differences, shares.tolist(), strict=True))


__all__ = ["Fit", "FittedHyperplanes", "Recovery", "hyperplanes_from_labels", "leading", "recovery"]

FitMethod = Literal["orthonormal", "regression", "authors"]
# Below these a fit says too little for its normal to mean the attribute.
LEAST = {"R2": 0.1, "AUC": 0.65}


class FitReason(ReasonCode):
    """Why an attribute has no hyperplane."""

    SAME_VALUE = "same_value", "it has the same value in all rows"
    ONE_VALUE = "one_value", "the rows held out have one value only"
    LOW = "low_quality", "{measure} is {value:.2f} on held-out rows, below {least:g}"


@dataclass(frozen=True)
class Fit:
    """How well a hyperplane tells an attribute on rows that it was not fitted on: R2 of numbers, AUC of halves.

    ``reason`` says why the attribute was dropped; None where it was kept.
    """

    name: str
    measure: str
    value: float
    reason: Reason | None = None

    @property
    def accepted(self) -> bool:
        """Tell whether the attribute has a hyperplane."""
        return self.reason is None


@dataclass(frozen=True, eq=False)
class FittedHyperplanes:
    """The hyperplanes of attributes that could be fitted, and the fits of all of them."""

    hyperplanes: tuple[Hyperplane, ...]
    fits: tuple[Fit, ...]
    method: FitMethod = "orthonormal"
    by_name: Mapping[str, Hyperplane] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {plane.name: plane for plane in self.hyperplanes})

    def __getitem__(self, name: str) -> Hyperplane:
        if name not in self.by_name:
            raise unknown_name("hyperplane", name, self.by_name, "the attributes that were fitted")
        return self.by_name[name]

    @property
    def dropped(self) -> tuple[str, ...]:
        """What was left out, each with its reason in words."""
        return tuple(f"{fit.name}: {fit.reason}" for fit in self.fits if not fit.accepted)


def hyperplanes_from_labels(
    latents: ArrayLike, attributes: Mapping[str, ArrayLike], method: FitMethod = "orthonormal", *,
    circular: Sequence[str] = (), held_out: float = 0.2, least: Mapping[str, float] = LEAST, seed: int = 0,
) -> FittedHyperplanes:  # fmt: skip
    """Fit a hyperplane to every attribute of labelled latents ``[row, dimension]``.

    An attribute of two values is told apart, one of numbers is regressed on; ``circular`` ones are angles in radians. A
    share of the rows is held out to say how good each fit is, and those below ``least`` are dropped and fitted no more.
    """
    if method not in get_args(FitMethod):
        raise unknown_name("fit", str(method), get_args(FitMethod), "ground truth")
    z = np.asarray(latents, dtype=np.float64)
    if z.ndim != 2 or len(z) < 10 or not np.isfinite(z).all():
        raise BadInput(
            f"The latents have the shape {z.shape}", available="[row, dimension] of finite numbers, 10 rows or more"
        )
    if not 0.0 < held_out < 1.0:
        raise BadInput(f"held_out is {held_out!r}", available="a share above 0 and below 1")
    columns = [
        part for name, values in attributes.items() for part in columns_of(name, values, len(z), name in circular)
    ]
    constant = [column for column in columns if column.values.min() == column.values.max()]
    columns = [column for column in columns if column not in constant]
    fits = {part.name: Fit(part.name, part.measure, float("nan"), because(FitReason.SAME_VALUE)) for part in constant}
    test = np.zeros(len(z), dtype=bool)
    test[stream(seed, "held-out latents").permutation(len(z))[: max(round(held_out * len(z)), 2)]] = True
    while columns:
        _check_room(columns, z.shape[1], method)
        planes = _fitted(z[~test], [column.take(~test) for column in columns], method, seed)
        new_fits = [_judged(z, column, plane, test, least) for column, plane in zip(columns, planes, strict=True)]
        fits |= {fit.name: fit for fit in new_fits}
        if all(fit.accepted for fit in new_fits):
            return FittedHyperplanes(tuple(planes), _in_order(fits, attributes, circular), method)
        # What cannot be fitted takes room from the others where normals are at right angles: they are fitted again.
        columns = [column for column, fit in zip(columns, new_fits, strict=True) if fit.accepted]
    return FittedHyperplanes((), _in_order(fits, attributes, circular), method)


def columns_of(name: str, values: ArrayLike, rows: int, circular: bool) -> list[Column]:
    """Return an attribute as columns to fit: one, or a sine and a cosine."""
    array: NDArray[Any] = np.asarray(values)
    if array.shape != (rows,):
        raise BadInput(f"{name} has the shape {array.shape}", available=f"a value for each of {rows:,} latents")
    if _has_gaps(array):
        raise BadInput(
            f"{name} has values that are missing or not finite", available="a value for each latent",
            help="leave out the rows without one.",
        )  # fmt: skip
    levels = np.unique(array.astype(str) if array.dtype == object else array)
    if circular:
        if array.dtype.kind not in "fiu":
            raise BadInput(f"{name} is circular and {array.dtype}", available="finite angles in radians")
        return [Column(f"{name} sine", np.sin(array), False), Column(f"{name} cosine", np.cos(array), False)]
    if len(levels) == 2:
        compared = array.astype(str) if array.dtype == object else array
        return [Column(name, (compared == levels[1]).astype(np.float64), True)]
    if array.dtype.kind not in "fiub":
        raise BadInput(
            f"{name} has {len(levels):,} values that are not finite numbers",
            available="finite numbers, or any two values",
            help="split it in two (skewing.halves), or leave it out.",
        )
    return [Column(name, array.astype(np.float64), False)]


def _has_gaps(values: NDArray[Any]) -> bool:
    """Tell whether a value is None, NaN or infinite: beside one other value it would pass for the second of two."""
    if values.dtype == object:
        return any(value is None or (isinstance(value, float) and not np.isfinite(value)) for value in values)
    return values.dtype.kind in "fcmM" and not bool(np.isfinite(values).all())


def _check_room(columns: Sequence[Column], dimensions: int, method: FitMethod) -> None:
    if method != "regression" and len(columns) > dimensions:
        raise BadInput(
            f"{len(columns)} normals at right angles are requested in {dimensions} dimensions",
            available=f"at most {dimensions}",
            help='how="regression" fits each attribute by itself; a circular one counts twice.',
        )


def _fitted(z: Floats, columns: Sequence[Column], method: FitMethod, seed: int) -> list[Hyperplane]:
    fit = {"orthonormal": orthonormal, "regression": by_regression, "authors": orthonormal_by_authors}[method]
    normals, offsets = fit(z, columns, seed)
    return [Hyperplane(column.name, normal, float(offset))
            for column, normal, offset in zip(columns, normals, offsets, strict=True)]  # fmt: skip


def _judged(z: Floats, column: Column, plane: Hyperplane, test: NDArray[np.bool_], least: Mapping[str, float]) -> Fit:
    """Say how well distances to a plane tell the attribute on rows that were held out."""
    value = quality(column, z @ plane.normal + plane.offset, test)
    if np.isnan(value):
        return Fit(column.name, column.measure, value, because(FitReason.ONE_VALUE))
    wanted = least[column.measure]
    low = because(FitReason.LOW, measure=column.measure, value=value, least=wanted)
    return Fit(column.name, column.measure, value, low if value < wanted else None)


def quality(column: Column, distance: Floats, test: NDArray[np.bool_]) -> float:
    """Return the AUC of halves, or the R2 of the line through the fitted rows; NaN where the rest has one value."""
    held = column.values[test]
    if held.min() == held.max():
        return float("nan")
    if column.binary:
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(held, distance[test]))
    slope, start = np.polyfit(distance[~test], column.values[~test], 1)
    missed = held - (slope * distance[test] + start)
    return float(1.0 - (missed**2).sum() / ((held - held.mean()) ** 2).sum())


def _in_order(fits: Mapping[str, Fit], attributes: Mapping[str, Any], circular: Sequence[str]) -> tuple[Fit, ...]:
    names = [part for name in attributes
             for part in ((f"{name} sine", f"{name} cosine") if name in circular else (name,))]  # fmt: skip
    return tuple(fits[name] for name in names)
