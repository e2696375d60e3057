"""What generators and classifiers ask of a torch module: one device, frozen weights, pictures with channels last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput, told
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch


def check_module(module: object, what: str) -> None:
    """Refuse what is no torch module."""
    torch = require("torch", extra="train", purpose=f"A {what}")
    if not isinstance(module, torch.nn.Module):
        raise BadInput(
            f"The {what} is of the type {type(module).__name__}", available="a torch.nn.Module",
            help="wrap a function in a small module whose forward calls it.",
        )  # fmt: skip


@contextmanager
def others_code(given: str, *, available: str, help: str = "") -> Iterator[None]:
    """Refuse whatever somebody else's code stumbles over; what is refused already, and a full memory, pass."""
    torch = require("torch", extra="train", purpose="Discovery")
    try:
        yield
    except (BadInput, torch.OutOfMemoryError):
        raise
    except Exception as error:  # another's code may stumble in any way
        raise BadInput(f"{given} ({told(error)})", available=available, help=help) from error


def device_of(module: torch.nn.Module, wanted: torch.device | None, what: str) -> Any:
    """Return the one device a module is on; the wanted one where it has no weights at all."""
    torch = require("torch", extra="train", purpose=f"A {what}")
    places = {one.device for one in _tensors(module)}
    if len(places) > 1:
        raise BadInput(
            f"The {what} is on several devices ({', '.join(sorted(map(str, places)))})", available="one device"
        )
    if not places:
        return wanted or torch.device("cpu")
    place: Any = places.pop()
    if wanted is not None and (place.type != wanted.type or wanted.index not in (None, place.index)):
        # A classifier declares nothing: it follows the pictures.
        declared = what != "classifier"
        raise BadInput(
            f"The {what} is on {place}, {'it was declared' if declared else 'the pictures are'} on {wanted}",
            available="one device for all networks",
            help=f"move it (module.to({str(wanted)!r}))"
            + (
                f" or declare device={str(place)!r}."
                if declared
                else f", or the generator to {str(place)!r} (--device {place.type})."
            ),
        )
    return place


def frozen(module: torch.nn.Module) -> torch.nn.Module:
    """Put a module into evaluation without gradients of its weights, channels last: in place, nothing is copied."""
    torch = require("torch", extra="train", purpose="A frozen module")
    module.eval().requires_grad_(False)
    # torch lays out every tensor of rank 4 or 5 then, and refuses those of rank 5.
    if all(one.ndim != 5 for one in _tensors(module)):
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload, unused-ignore]
    return module


def number_kind(module: torch.nn.Module) -> Any:
    """Return the kind of number a module computes with."""
    torch = require("torch", extra="train", purpose="A module")
    return next((one.dtype for one in _tensors(module) if one.is_floating_point()), torch.get_default_dtype())


def _tensors(module: torch.nn.Module) -> list[Any]:
    return [*module.parameters(), *module.buffers()]
