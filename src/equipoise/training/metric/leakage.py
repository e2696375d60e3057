"""What an embedding still tells of groups: a linear probe learns from training rows and is judged on dev rows."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training.material import Codes

if TYPE_CHECKING:
    from equipoise.training.metric.heads.ending import MetricEnded

PROBE = "linear"
# Trials on the same frozen features and rows share what can be read from them; the last few answers are remembered.
REMEMBERED = 64
_features: dict[bytes, tuple[float, float]] = {}


def leakage_of(ended: MetricEnded) -> dict[str, NDArray[np.float64]]:
    """Return ``leakage.embedding``, ``leakage.features`` and ``leakage.chance``, each ``[attribute]``.

    They are balanced accuracies: the mean over the groups of how often a row's group is guessed. Chance is 1 over the
    groups that both training and dev rows have; with fewer than two of them nothing can be told (NaN).
    """
    own, under = [], []
    for train, dev in zip(ended.codes["train"], ended.codes["dev"], strict=True):
        own.append(probed(ended.embedding["train"], train, ended.embedding["dev"], dev))
        under.append(_remembered(ended.features["train"], train, ended.features["dev"], dev))
    return {
        "leakage.embedding": np.array([value for value, _ in own]),
        "leakage.features": np.array([value for value, _ in under]),
        "leakage.chance": np.array([chance for _, chance in own]),
    }


def probed(
    train: NDArray[Any], train_codes: Codes, dev: NDArray[Any], dev_codes: Codes, probe: str = PROBE
) -> tuple[float, float]:
    """Return the balanced accuracy of a probe on dev rows, and what guessing has.

    Rows of unknown group (-1) are left out, and so are groups that only training or only dev rows have. The probe's
    probabilities are divided by the groups' training shares, so that a small group is not simply passed over.
    """
    # Audits are needed where something is probed, and not to list treatments.
    from equipoise.audits.downstream import fitted
    from equipoise.audits.leakage import PROBES

    common = np.intersect1d(train_codes[train_codes >= 0], dev_codes[dev_codes >= 0])
    if len(common) < 2:
        return float("nan"), float("nan")
    learnt, judged = np.isin(train_codes, common), np.isin(dev_codes, common)
    codes, truth = np.searchsorted(common, train_codes[learnt]), np.searchsorted(common, dev_codes[judged])
    made: Any = fitted(PROBES[probe](0), probe, train[learnt], codes)[0]
    likely = np.asarray(made.predict_proba(dev[judged]))
    guesses = np.argmax(likely / np.bincount(codes), axis=1)
    sizes = np.bincount(truth)
    right = np.bincount(truth[guesses == truth], minlength=len(sizes))
    return float((right / sizes).mean()), 1 / len(common)


def _remembered(train: NDArray[Any], train_codes: Codes, dev: NDArray[Any], dev_codes: Codes) -> tuple[float, float]:
    parts = [np.ascontiguousarray(one) for one in (train, train_codes, dev, dev_codes)]
    name = hashlib.blake2b(b"".join(hashlib.blake2b(part.data).digest() for part in parts)).digest()
    if name not in _features:
        while len(_features) >= REMEMBERED:
            _features.pop(next(iter(_features)))
        _features[name] = probed(train, train_codes, dev, dev_codes)
    return _features[name]
