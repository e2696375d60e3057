"""A linear support vector machine for each group against the rest, in one go.

Minimises 1/2 |w|^2 + C sum_i s_i max(0, 1 - t_i (w . x_i + b))^2 with b inside |w| and s_i the inverse of the side's
share, halved: scikit-learn's ``LinearSVC(C, class_weight="balanced", dual=False)``, which takes several times as long
on the dense rows of a hidden layer (a test holds the two equal).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from equipoise.training.material import Codes

Floats = NDArray[np.float64]

MOST_STEPS = 2_000


def linear_svm(rows: Floats, codes: Codes, strength: float) -> tuple[Floats, Floats]:
    """Return weights ``[machine, column]`` and biases: one machine for two groups (the second against the first), else
    one a group, in the order of the groups' codes.
    """
    present = np.unique(codes)
    sides = present[1:] if len(present) == 2 else present
    member = codes == sides[:, None]  # [machine, row]
    signs = np.where(member, 1.0, -1.0)
    share = member.mean(axis=1, keepdims=True)
    costs = strength * np.where(member, 0.5 / share, 0.5 / (1.0 - share))
    shape = (len(sides), rows.shape[1] + 1)

    def objective(point: Floats) -> tuple[float, Floats]:
        machines = point.reshape(shape)
        short = np.maximum(1.0 - signs * (machines[:, :-1] @ rows.T + machines[:, -1:]), 0.0)
        pull = -2.0 * costs * signs * short
        slope = machines + np.column_stack([pull @ rows, pull.sum(axis=1)])
        return float(0.5 * point @ point + (costs * short**2).sum()), slope.reshape(-1)

    found = minimize(
        objective, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B",
        options={"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "maxcor": 30, "gtol": 1e-4, "ftol": 1e-10},
    )  # fmt: skip
    machines = found.x.reshape(shape)
    return machines[:, :-1], machines[:, -1]
