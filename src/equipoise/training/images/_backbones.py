"""Networks on pictures, of this package or of the user's own: built, filled from a file, frozen, and looked at once."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from equipoise.foundation import (
    BadInput,
    check_file,
    describe_error,
    nearest,
    require,
)
from equipoise.networks import DRAWING_NOTHING, EFFICIENTNET, NETWORKS, WITH_LARGE, build, freeze_norms, load_weights
from equipoise.training._learner import Learner
from equipoise.training._named_objects import (
    FILE_FORM,
    FORM,
    TENSORS,
    VERSION,
    build_network,
    display_name,
    factory_of,
    name_of,
    name_parts,
    plain_value,
    portable_name,
    source_hash,
)
from equipoise.training._parameters import Choice, FreeParameter, OptionalNumber, Parameter, Table, without_defaults
from equipoise.training._seeding import fix_seeds, generator_states, preserved_generators
from equipoise.training.images._pictures import FLIP, LEAST_AREA, RESIZED_CROP, SCALINGS, USUAL_SCALING

if TYPE_CHECKING:
    import torch

# Pictures of so many pixels and more are first made smaller by a network that has a form for it.
LARGE = 128
# What stands in place of a network where there is none.
NO_BACKBONE = "none"
NETWORK_FORMS = (
    f"factory(channels) that returns a torch module from pictures [row, channel, height, width] to features [row, "
    f"feature], by {FORM} or {FILE_FORM}, or as an object"
)


@dataclass(frozen=True)
class NetworkName(Choice):
    """The name of a network, or a factory of the user's own: by a name with a colon, or an object."""

    def check(self, name: str, value: object) -> None:
        """Refuse what is neither; nothing is imported."""
        if callable(value) or (isinstance(value, str) and value in self.options):
            return
        if not isinstance(value, str) or ":" not in value:
            guess = nearest(str(value), [str(option) for option in self.options])
            raise BadInput(
                f"{name} is {value!r}", available=self.allowed, help=f"did you mean {guess!r}?" if guess else ""
            )
        name_parts(value, name)

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        return f"{super().allowed}; or {NETWORK_FORMS}"


AUGMENTATION = Choice(
    "how training pictures change; true: shifted by up to 4 pixels and mirrored", True,
    (False, True, FLIP, RESIZED_CROP),
)  # fmt: skip
# Hyper-parameters of backbones that learners on pictures did not always have: at their defaults they name no trial.
OPTIONS: Table = {
    "settings": FreeParameter(
        "further arguments of a factory of your own", 'names and values, such as {"width": 32}', grid=True
    ),
    "version": VERSION,
    "weights": FreeParameter(
        "a file of weights that the network begins with", f"the path of a {TENSORS} file", grid=True
    ),
    "fresh_head": Choice("whether the head begins anew where the file of weights has one", False),
    "backbone_learning_rate": OptionalNumber(
        "the largest step size of what is under the head; none: learning_rate", None, 0.0, 1e-6, 1e-1
    ),
    "warm_up": Parameter("the share of the steps in which the rate rises in a line, before the schedule", 0.0, 0.0,
                         0.0, 0.2, "linear", most=0.9, shapes=True),
    "scaling": Choice("how pixels become numbers; usual: what the network expects, or as in the training pictures",
                      USUAL_SCALING, SCALINGS),
    "size": Parameter("pixels of a side of the pictures that the network sees; 0: those of the stored ones", 0, 0, 0,
                      512, "linear", integer=True, most=4096),
    "centre": Parameter("the share of a picture's sides that is shown where none is drawn, from its middle", 1.0, 1e-2,
                        0.5, 1.0, "linear", most=1.0, shapes=True),
    "least_area": Parameter("the least share of a picture that a resized crop shows", LEAST_AREA, 1e-3, 0.05, 1.0,
                            most=1.0, shapes=True),
}  # fmt: skip


def is_user_network(network: object) -> bool:
    """Tell whether a network is made by a factory of the user's own."""
    return not (isinstance(network, str) and network in (NO_BACKBONE, *NETWORKS))


def check_options(values: Mapping[str, Any], name: str) -> None:
    """Refuse options of a backbone that have nothing to act on; ``name`` is the hyper-parameter that says which it is.

    Nothing is imported, and no file is read.
    """
    is_custom = is_user_network(values[name])
    if not is_custom and (values["settings"] or values["version"] != VERSION.default):
        option = "settings" if values["settings"] else "version"
        raise BadInput(
            f"{option} is {values[option]!r}, and {name} is {values[name]!r}",
            available=f"{option} of a network of your own",
            help=f"leave {option} out.",
        )
    if not isinstance(values["settings"] or {}, Mapping):
        raise BadInput(f"settings is {values['settings']!r}", available='names and values, such as {"width": 32}')
    weights = values["weights"]
    if weights is not None and not (isinstance(weights, str | os.PathLike) and str(weights).endswith(TENSORS)):
        raise BadInput(
            f"weights is {weights!r}",
            available=f"the path of a {TENSORS} file, which safetensors.torch.save_file writes",
            help="weights kept as a pickle (.pt, .pth) are not read: save them again as safetensors.",
        )
    if values["fresh_head"] and weights is None:
        raise BadInput("fresh_head = true was given without weights", help="leave it out: every head then begins anew.")
    if values["warm_up"] and values["schedule"] == "triangle":
        raise BadInput(
            f"warm_up is {values['warm_up']!r}, and the schedule triangle rises by itself",
            available="warm_up with steps, cosine or constant",
            help='schedule = "cosine" with warm_up falls likewise.',
        )
    if values["least_area"] != LEAST_AREA and values["augmentation"] != RESIZED_CROP:
        raise BadInput(
            f"least_area is {values['least_area']!r}, and augmentation is {values['augmentation']!r}",
            available=f"least_area with augmentation = {RESIZED_CROP!r}",
        )
    if values[name] == EFFICIENTNET and values["scaling"] not in (USUAL_SCALING, "unit"):
        raise BadInput(
            f"scaling is {values['scaling']!r}, and {EFFICIENTNET} scales pictures of [0, 1] by itself",
            available="'usual' or 'unit'",
        )


class BackboneLearner(Learner):
    """A learner that takes a network on pictures: ``network_option`` is the hyper-parameter that says which one.

    ``later`` are hyper-parameters that were not always there: they name a trial only where they are no defaults.
    """

    network_option: ClassVar[str]
    later: ClassVar[Table]

    @classmethod
    def described(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return hyper-parameters that name a trial: those that came later only where they are no defaults."""
        return cls.named(values)

    @classmethod
    def named(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return them with own code by its name, and those that came later where they say something."""
        return without_defaults(described(values, cls.network_option), cls.later)

    @classmethod
    def verify(cls, values: Mapping[str, Any]) -> None:
        """Import a factory that is named, and see that the file of weights exists."""
        verify(values, cls.network_option)

    @classmethod
    def source(cls, values: Mapping[str, Any]) -> str | None:
        """Return a hash of the factory's source and of the weights."""
        return source(values, cls.network_option)


def described(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return hyper-parameters as plain values: a factory by its name, a file by the last part of its path."""
    description = dict(values)
    if is_user_network(values[name]) and not isinstance(values[name], str):
        description[name] = name_of(values[name], name)
    elif is_user_network(values[name]):
        description[name] = portable_name(values[name])
    if values["settings"] is not None:
        description["settings"] = plain_value(values["settings"], "setting of a factory")
    if values["weights"] is not None:
        description["weights"] = os.path.basename(values["weights"])
    return description


def verify(values: Mapping[str, Any], name: str) -> None:
    """Import a factory that is named, and see that the file of weights exists."""
    if is_user_network(values[name]):
        factory_of(values[name], name, NETWORK_FORMS)
    if values["weights"] is not None:
        check_file(Path(values["weights"]))


def source(values: Mapping[str, Any], name: str) -> str | None:
    """Return a hash of the user's own code and of the file of weights, where there are any."""
    parts = []
    if is_user_network(values[name]):
        parts.append(source_hash(factory_of(values[name], name, NETWORK_FORMS)) or "")
    if values["weights"] is not None:
        check_file(Path(values["weights"]))
        with open(values["weights"], "rb") as file:
            parts.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16] if parts else None


def backbone(
    values: Mapping[str, Any], network: Any, channels: int, side: int, seed: int
) -> tuple[torch.nn.Module, int | None]:
    """Build a network without its head, every seed fixed before; return it with its features where they are known.

    ``side`` are the pixels of a picture's side as the network sees it. A file of weights is not read yet.
    """
    fix_seeds(seed)
    frozen = bool(values.get("frozen_norm", False))
    if not is_user_network(network):
        large = side >= LARGE and network in WITH_LARGE
        return build(network, channels, large=large, frozen_norm=frozen, pretrained=values.get("weights") is None)
    module = build_network(
        factory_of(network, "network", NETWORK_FORMS), (channels,), values.get("settings") or {}, NETWORK_FORMS
    )
    if frozen:
        freeze_norms(module)
    return module, None


def fill(values: Mapping[str, Any], network: torch.nn.Module, head: torch.nn.Linear) -> None:
    """Give a network, and its head unless that is to begin anew, the weights of the file that is named."""
    if values.get("weights") is not None:
        load_weights(network, values["weights"], None if values["fresh_head"] else head)


@dataclass(frozen=True)
class FirstLook:
    """What a network shows of itself on two pictures: its features, and whether it draws while it trains.

    ``uses_other_generators`` tells of draws from Python's or numpy's generators, which a recorded step could not
    repeat.
    """

    features: int
    uses_random_numbers: bool
    uses_other_generators: bool


def first_look(
    network: torch.nn.Module, pictures: torch.Tensor, called: Callable[[Any, torch.Tensor], Any], name: str
) -> FirstLook:
    """Show a network two pictures; what it returns must be features ``[row, feature]``.

    ``called(network, pictures)`` calls it in the precision of the training. Its values and all generators stay as they
    are: a copy of it is asked while it trains.
    """
    library = require("torch", extra="train", purpose="A network of your own")
    with preserved_generators(), library.no_grad():
        features_of_mode = {}
        for training in (False, True):
            before = _generators()
            try:
                network_copy = copy.deepcopy(network).train(training)
                features = called(network_copy, pictures)
            except (BadInput, library.OutOfMemoryError):
                raise
            except Exception as error:  # the user's code may raise anything
                raise BadInput(
                    f"The network {name} failed with pictures of the shape {list(pictures.shape)} "
                    f"({describe_error(error)})",
                    available="pictures of 32 x 32 pixels and more" if name == EFFICIENTNET else NETWORK_FORMS,
                    help="size = 224 resizes them to ImageNet's size." if name == EFFICIENTNET else "",
                ) from error
            features_of_mode[training] = checked(features, len(pictures), f"The network {name}")
            after = _generators()
    differs = [not np.array_equal(state, other) for state, other in zip(before, after, strict=True)]
    return FirstLook(int(features_of_mode[False].shape[1]), any(differs), any(differs[:2]))


def _generators() -> list[Any]:
    """Return the states of the generators that a network may draw from: Python's, numpy's, torch's on each device."""
    python, arrays, host, cards = generator_states()
    numbers = np.append(np.asarray(arrays[1], dtype=np.int64), arrays[2])
    return [np.array(python[1]), numbers, *(generator_state.numpy() for generator_state in (host, *(cards or ())))]


def is_deterministic(network: object) -> bool:
    """Tell of a network by its name that it draws nothing while it trains; False where only a look would tell."""
    return isinstance(network, str) and network in DRAWING_NOTHING


def network_name(network: object) -> str:
    """Return what a network is called in a message."""
    return network if isinstance(network, str) else display_name(network)


def checked(features: Any, rows: int, owner: str = "The backbone") -> torch.Tensor:
    """Return what a backbone gave, if it is features ``[row, feature]``."""
    library = require("torch", extra="train", purpose="A network on pictures")
    problem = f"{type(features).__name__}"
    if isinstance(features, library.Tensor):
        problem = f"{features.dtype} of the shape {list(features.shape)}"
        if features.ndim == 2 and len(features) == rows and features.is_floating_point() and features.shape[1]:
            tensor: torch.Tensor = features
            return tensor
    raise BadInput(
        f"{owner} returned {problem} for {rows:,} rows",
        available="a tensor of features, one row per sample: [row, feature]",
        help="pool and flatten at its end, and return the features alone, not a tuple or logits with them.",
    )
