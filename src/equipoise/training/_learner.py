"""What a learner is: hyper-parameters as a table, how many trials it trains together, and how it trains them.

Many trials are best trained together where the overhead of a step is the limit, few where arithmetic is. What a step of
one trial touches is its rows times the columns and units they pass. As long as the whole stack stays in the caches of a
CPU it gains; beyond, every pass over it waits for memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.cohorts import Task
from equipoise.foundation import BadInput
from equipoise.training._compatibility import Need
from equipoise.training._dataset import EncodedDataset, Outcome, Settings
from equipoise.training._models import FittedModel
from equipoise.training._parameters import Table, with_defaults
from equipoise.training._preparation import PreparedJob

if TYPE_CHECKING:
    from equipoise.training.diverging._steppers import Stepper


@dataclass(frozen=True)
class Progress:
    """How far a stack is: so many trials, of which some still train, after this epoch of at most so many.

    ``classifiers`` are trained on the embeddings after the last epoch; so many of them are ``classified`` by now, which
    is None while epochs go on.
    """

    trials: int
    running: int
    epoch: int
    epochs: int
    classifiers: int = 0
    classified: int | None = None


Report = Callable[[Progress], None]


class Learner:
    """Something that can be trained, under ``@learner(name, paper=...)``; one subclass a file in ``learners``.

    ``version`` is raised when the same numbers come to mean another training.
    """

    version: ClassVar[int] = 1
    parameters: ClassVar[Table] = {}
    # What treatments may act on: one that requires more does not fit (``equipoise list treatments --matrix``).
    offers: ClassVar[frozenset[Need]] = frozenset()
    # Whether the inputs are pictures, and not the columns of a table.
    takes_pictures: ClassVar[bool] = False
    # Whether dev rows choose which epoch is kept.
    chooses_epochs: ClassVar[bool] = True
    precisions: ClassVar[tuple[str, ...]] = ("float32", "float64")
    # The class of the models that are kept of its trainings; None where none are.
    model: ClassVar[type[FittedModel] | None] = None
    # What a regression begins with where that is not what a classification begins with.
    for_regression: ClassVar[Mapping[str, Any]] = {}
    # What it learns: classes, numbers of a regression, or several labels a row.
    tasks: ClassVar[tuple[Task, ...]] = ("class", "regression")
    # Hyper-parameters that it has beside ``parameters`` where rows have several labels.
    for_labels: ClassVar[Table] = {}

    @classmethod
    def table(cls, task: str = "class") -> Table:
        """Return the hyper-parameters that it has for a task."""
        return {**cls.parameters, **cls.for_labels} if task == "multilabel" else cls.parameters

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters, defaults of the task where none is given; what is not allowed is refused."""
        if task == "multilabel" and task not in cls.tasks:
            raise BadInput(
                f"The learner {cls.__name__} cannot learn several labels a row",
                available="mlp, module, image_network, and scikit_learn with an estimator of several labels",
            )
        defaults = cls.for_regression if task == "regression" else {}
        return with_defaults(cls.table(task), {**defaults, **values}, f"the learner {cls.__name__}")

    @classmethod
    def described(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return hyper-parameters as plain values that name a trial; an object is named by what makes it."""
        return dict(values)

    @classmethod
    def verify(cls, values: Mapping[str, Any]) -> None:
        """Import what the hyper-parameters name and see that it can be trained; called only where trials are to run.

        ``with_defaults`` and ``described`` import nothing by name: a report of a stranger's plan runs none of its code.
        """

    @classmethod
    def source(cls, values: Mapping[str, Any]) -> str | None:
        """Return a hash of the user's own code that the hyper-parameters name, for the environment of a trial.

        It names no trial: where it changes under the same name and version, the user is to be asked for a new version.
        """
        return None

    @classmethod
    def gives_scores(cls, values: Mapping[str, Any]) -> bool:
        """Tell whether predictions come with a score for every class, as AUC needs."""
        return Need.LOGITS in cls.offers

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """Return how many of these trials of one kind are best trained together."""
        return 1

    def watched(
        self, dataset: EncodedDataset, settings: Settings
    ) -> AbstractContextManager[Callable[[PreparedJob], Stepper]]:
        """Yield what builds a trial that goes on step by step, so that two runs can be compared."""
        raise BadInput(
            f"The learner {type(self).__name__} cannot be watched step by step",
            available="a learner with steps of its own",
            help='learner = "mlp" and learner = "image_network" can be.',
        )

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Train trials of one kind, with equally many rows; what goes wrong is raised."""
        raise NotImplementedError


FEWEST_TOGETHER, MOST_TOGETHER = 2, 32
# Numbers that a stack's step may touch: about the caches of a small CPU; a GPU has bandwidth to spare.
NUMBERS = {"cpu": 3_000_000, "cuda": 200_000_000}
MOST_ON_GPU = 128


def size_for(batch_size: int, units: int, features: int, settings: Settings) -> int:
    """Return the size of a stack from the rows of a step, the hidden units of a network and its inputs."""
    touched = batch_size * (features + 2 * units)
    on_gpu = settings.device != "cpu"
    room = NUMBERS["cuda" if on_gpu else "cpu"] // max(touched, 1)
    return min(max(room, FEWEST_TOGETHER), MOST_ON_GPU if on_gpu else MOST_TOGETHER)


def flat_width(dataset: EncodedDataset, learner: str) -> int:
    """Return how many numbers a row has; pictures are refused.

    Flattening them would be possible and wrong to do silently: a perceptron or a linear model of 3,072 pixels knows
    nothing of neighbouring ones, and a study of it would be read as one of networks for pictures.
    """
    shape = dataset.train.inputs.shape
    if len(shape) != 2:
        raise BadInput(
            f"The learner {learner!r} was given pictures ({' x '.join(map(str, shape[1:]))})",
            available="rows of numbers: it does not use which pixels are neighbours",
            help='learner = "image_network" takes pictures.',
        )
    return int(shape[1])
