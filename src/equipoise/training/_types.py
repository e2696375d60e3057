"""What users give as a learner and as a treatment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from equipoise.training._treatment import Treatment

if TYPE_CHECKING:
    import torch


class Estimator(Protocol):
    """What learns as an estimator of scikit-learn does."""

    def fit(self, X: Any, y: Any, /) -> Any:  # noqa: N803
        """Learn from rows and their targets."""
        ...

    def predict(self, X: Any, /) -> Any:  # noqa: N803
        """Return what is predicted for rows."""
        ...


# Called with the numbers of features and classes (of pictures: with the settings alone) and with ``settings`` by name.
NetworkFactory: TypeAlias = Callable[..., "torch.nn.Module"]
LearnerLike: TypeAlias = str | Estimator | NetworkFactory
TreatmentLike: TypeAlias = str | Treatment | Sequence[str | Treatment]
