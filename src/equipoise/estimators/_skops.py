"""Fitted scikit-learn estimators as files, by skops: their arrays and settings, and no code.

Only types of this list are ever made from a file. skops itself trusts those of scikit-learn that cannot do harm; the
others that estimators need are named here one by one, and what their compiled code would index by is checked.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.foundation import (
    BadInput,
    describe_error,
    listing,
    require,
)

# What skops asks about of scikit-learn's own classifiers, regressors and their parts.
TRUSTED = (
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.multiclass._ConstantPredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
# Compiled structures whose indices nobody can check from outside.
UNCHECKED = ("sklearn.neighbors._kd_tree.", "sklearn.neighbors._ball_tree.", "sklearn.metrics._dist_metrics.")
BRUTE = 'with algorithm="brute" a neighbours estimator keeps plain arrays, and can be saved.'
ALLOWED = "estimators of scikit-learn, pipelines of them too"
# Bytes of a file, unpacked: more is no estimator of ours but an attack.
MOST_BYTES = 4 * 1024**3
PURPOSE = "A saved scikit-learn estimator"


def estimator_bytes(estimator: Any) -> bytes:
    """Return a fitted estimator as a file; one that could not be loaded again is refused with the reason."""
    skops = require("skops.io", extra="train", purpose=PURPOSE)
    try:
        content: bytes = skops.dumps(estimator)
        estimator_from(content)
    except BadInput:
        raise
    except Exception as error:  # skops raises whatever an object of a stranger's does
        raise BadInput(
            f"{type(estimator).__name__} cannot be saved without its code ({describe_error(error)})", available=ALLOWED
        ) from error
    return content


def estimator_from(content: bytes) -> Any:
    """Make an estimator from a file; a type that is not trusted, or a file that is not whole, is refused."""
    skops = require("skops.io", extra="train", purpose=PURPOSE)
    _check_size(content)
    try:
        untrusted = skops.get_untrusted_types(data=content)
    except Exception as error:  # a hostile file may stumble anywhere
        raise _damaged(error) from error
    strange = sorted(set(untrusted) - set(TRUSTED))
    if strange:
        unchecked = [name for name in strange if name.startswith(UNCHECKED)]
        raise BadInput(
            f"The estimator has parts of the types {listing(strange, 4)}, which are not made from a file",
            available=ALLOWED, help=BRUTE if unchecked else "use the estimator in the program that trained it.",
        )  # fmt: skip
    try:
        with warnings.catch_warnings():
            # That it was saved by another version of scikit-learn is told by the model, once.
            warnings.simplefilter("ignore")
            estimator = skops.loads(content, trusted=sorted(untrusted))
    except Exception as error:
        raise _damaged(error) from error
    if not _is_estimator(estimator):
        raise BadInput(f"The file holds a {type(estimator).__name__}", available=ALLOWED)
    _check_trees(estimator)
    return estimator


def _check_size(content: bytes) -> None:
    """Refuse what is no archive, or would fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except Exception as error:  # a hostile archive may stumble anywhere
        raise _damaged(error) from error
    if size > MOST_BYTES:
        raise BadInput(f"The estimator's file unpacks to {size:,} bytes", available=f"up to {MOST_BYTES:,}")


def _damaged(error: BaseException) -> BadInput:
    return BadInput(
        f"The estimator's file is not whole ({describe_error(error)})", help="copy or save the model again."
    )


def _is_estimator(thing: Any) -> bool:
    return type(thing).__module__.startswith("sklearn.") and callable(getattr(thing, "predict", None))


def _check_trees(estimator: Any) -> None:
    """Refuse trees that lead outside of themselves: compiled code would follow them."""
    for part in _parts(estimator, set()):
        name = f"{type(part).__module__}.{type(part).__name__}"
        if name == "sklearn.tree._tree.Tree" and not _is_sound(part):
            raise _damaged(ValueError("a tree leads outside of itself"))
        if name.endswith("predictor.TreePredictor") and not _is_sound_predictor(part):
            raise _damaged(ValueError("a tree leads outside of itself"))


def _parts(thing: Any, visited: set[int]) -> Iterator[Any]:
    """Yield an object and everything of scikit-learn's that it consists of."""
    if id(thing) in visited:
        return
    visited.add(id(thing))
    if isinstance(thing, np.ndarray):
        thing = thing.tolist() if thing.dtype == object else []
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list | tuple):
        for part in thing:
            yield from _parts(part, visited)
    elif type(thing).__module__.startswith("sklearn."):
        yield thing
        yield from _parts(list(getattr(thing, "__dict__", {}).values()), visited)


def _is_sound(tree: Any) -> bool:
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    nodes, inner = np.arange(len(left)), left != -1
    # A child stands after its parent, so that no path goes round in a circle.
    downward = all(bool(((side > nodes) & (side < len(nodes)))[inner].all()) for side in (left, right))
    feature = np.asarray(tree.feature)[inner]
    return downward and len(nodes) > 0 and bool(((feature >= 0) & (feature < tree.n_features)).all())


def _is_sound_predictor(predictor: Any) -> bool:
    nodes = predictor.nodes
    if not isinstance(nodes, np.ndarray) or nodes.dtype.names is None or not len(nodes):
        return False
    inner, places = nodes["is_leaf"] == 0, np.arange(len(nodes))
    sides = [nodes[side].astype(np.int64) for side in ("left", "right")]
    downward = all(bool(((side > places) & (side < len(nodes)))[inner].all()) for side in sides)
    categorical = inner & (nodes["is_categorical"] != 0)
    # Categories would be looked up in tables beside the tree; inputs here are numbers.
    return downward and not categorical.any() and bool((nodes["feature_idx"][inner] >= 0).all())
