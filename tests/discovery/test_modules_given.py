"""Generators and classifiers as users give them: what is taken, what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from equipoise.discovery import Classifier, search
from equipoise.discovery._search import check_pair
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput
from helpers.cases.discovery import Painter, painter, reader, torch

nn = torch.nn


class Gives(nn.Module):  # type: ignore[misc]
    """A module that does to its input what a function says; its weight decides where it lies."""

    def __init__(self, function: Any, device: str = "cpu") -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, device=device))
        self.function = function

    def forward(self, given: Any) -> Any:
        return self.function(given)


def stumbling(error: Exception) -> Any:
    """Return a function that fails as networks of others do."""

    def fail(*_: Any) -> Any:
        raise error

    return fail


def pictures(latents: Any) -> Any:
    return latents[:, :1, None, None].sigmoid().expand(-1, 3, 8, 8)


def test_a_generator_is_frozen_and_put_into_evaluation() -> None:
    module = nn.Sequential(nn.Linear(4, 12), nn.Dropout(0.5), nn.Unflatten(1, (3, 2, 2)), nn.Conv2d(3, 3, 3, padding=1))
    generator = Generator(module.train(), 4)
    assert not module.training
    assert not any(parameter.requires_grad for parameter in module.parameters())
    assert module[3].weight.is_contiguous(memory_format=torch.channels_last)
    assert generator.images(generator.sample(5, seed=0)).shape == (5, 3, 2, 2)


def test_latents_come_from_the_declared_prior_and_from_the_seed_alone() -> None:
    module = Gives(pictures)
    for prior, mean, spread in (("normal", 0.0, 1.0), ("uniform", 0.5, 12**-0.5)):
        drawn = Generator(module, 3, prior).sample(20_000, seed=1)
        assert float(drawn.mean()) == pytest.approx(mean, abs=0.02)
        assert float(drawn.std()) == pytest.approx(spread, abs=0.02)
        torch.rand(7)
        assert torch.equal(drawn, Generator(module, 3, prior).sample(20_000, seed=1))
        assert not torch.equal(drawn, Generator(module, 3, prior).sample(20_000, seed=2))
    mapped = Generator(module, 3, lambda number, random: 5.0 + torch.randn(number, 3, generator=random))
    assert float(mapped.sample(1000, seed=0).mean()) == pytest.approx(5.0, abs=0.1)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Generator(pictures, 3), "module"),
        (lambda: Generator(Gives(pictures), 0), "latent size"),
        (lambda: Generator(Gives(pictures), 3, "gaussian"), "Unknown prior 'gaussian'"),
        (lambda: Generator(Gives(pictures, "meta"), 3), "meta.*declared on cpu"),
        (
            lambda: Generator(Gives(pictures), 3, lambda number, random: torch.zeros(number, 2)).sample(4, 0),
            "prior returned",
        ),
        (lambda: Generator(Gives(pictures), 3, lambda number, random: [[0.0] * 3] * number).sample(4, 0), "a list"),
        (lambda: Generator(Gives(pictures), 3, stumbling(KeyError("w"))).sample(4, 0), "draw 4 latents .KeyError: 'w'"),
        (lambda: Classifier(pictures), "module"),
        (lambda: Classifier(nn.Flatten(), output="old", names=("young", "odd")), "class 'old' not found"),
        (lambda: Classifier(nn.Flatten(), resize=True), "size"),
    ],
)
def test_what_cannot_be_a_generator_or_a_classifier_is_refused(made: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        made()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda z: pictures(z) * float("nan"), "NaN"),
        (lambda z: pictures(z) + (z[:, :1, None, None] > 0).float() * float("inf"), "NaN or infinite"),
        (lambda z: z, "pictures \\[2, channels"),
        (lambda z: pictures(z)[:1], "pictures \\[2, channels"),
        (lambda z: [pictures(z)], "a list"),
        (lambda z: pictures(z).to("meta"), "meta"),
        (lambda z: pictures(z)[:, :, :4], "3 x 4 x 8"),
        (lambda z: torch.nn.functional.linear(z, torch.zeros(2, 9)), "cannot read latents"),
        (lambda z: pictures(z) * torch.rand(1), "two different pictures"),
        (lambda z: nn.BatchNorm2d(3)(z), "ValueError: expected 4D input"),
        (stumbling(AssertionError()), r"\[2, 3\] \(AssertionError\)"),
        (stumbling(BadInput("only on Sundays")), "^only on Sundays"),
    ],
)
def test_a_generator_that_gives_no_pictures_is_refused_before_the_search(function: Any, words: str) -> None:
    generator = Generator(Gives(function), 3, image=(3, 8, 8))
    with pytest.raises(BadInput, match=words):
        search(generator, Classifier(Gives(lambda images: images.mean((1, 2, 3)))))


def columns(*values: float) -> Gives:
    return Gives(lambda images: torch.tensor([values]).repeat(len(images), 1) + 0.0 * images.mean())


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        (lambda: Classifier(columns(-3.0)), "logits=True"),
        (lambda: Classifier(columns(1.5)), "logits=True"),
        (lambda: Classifier(columns(0.2, 0.3, 0.5)), "3 columns.*"),
        (lambda: Classifier(columns(0.2, 0.8), names=("cat", "dog")), "cat, dog"),
        (lambda: Classifier(columns(0.2, 0.8), names=("cat", "dog", "owl"), output="owl"), "names has 3"),
        (lambda: Classifier(columns(0.2, 0.8), output=2), "Unknown column 2"),
        (lambda: Classifier(nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, 1), nn.Sigmoid())), "could not read"),
        (lambda: Classifier(columns(0.2), size=(4, 4)), "resize=True"),
        (lambda: Classifier(Gives(lambda images: images)), "shape \\[2, 3, 8, 8\\]"),
        (lambda: Classifier(Gives(lambda images: [0.5])), "a list"),
        (lambda: Classifier(Gives(lambda images: images.mean((1, 2, 3)).numpy())), "a ndarray"),
        (lambda: Classifier(Gives(lambda images: nn.BatchNorm1d(3)(images))), "ValueError: expected 2D or 3D input"),
        (lambda: Classifier(Gives(stumbling(AssertionError("64 x 64 only\nplease")))), r"Error: 64 x 64 only\)"),
        (lambda: Classifier(Gives(stumbling(NotImplementedError()))), r"\(NotImplementedError\)"),
        (lambda: Classifier(Gives(stumbling(BadInput("only on Sundays")))), "^only on Sundays"),
        (lambda: Classifier(Gives(lambda images: images.mean((1, 2, 3)), "meta")), "meta"),
        (
            lambda: Classifier(Gives(lambda images: images.mean((1, 2, 3)), "meta")),
            r"the pictures are on cpu[^=]*the generator to 'meta' \(--device meta\)",
        ),
    ],
)
def test_a_classifier_that_does_not_fit_is_refused_before_the_search(classifier: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        search(painter(), classifier())


def test_a_classifier_of_nan_is_told_from_a_generator_of_nan() -> None:
    with pytest.raises(BadInput, match="classifier returned NaN"):
        search(painter(), Classifier(Gives(lambda images: images.mean((1, 2, 3)) * float("nan"))))


def test_a_network_that_is_out_of_memory_is_not_called_unfit() -> None:
    full = Gives(stumbling(torch.OutOfMemoryError("no room")))
    with pytest.raises(torch.OutOfMemoryError):
        check_pair(painter(), Classifier(full))
    with pytest.raises(torch.OutOfMemoryError):
        check_pair(Generator(full, 3), reader(1.0, 1.0))
    with pytest.raises(torch.OutOfMemoryError):
        Generator(Gives(pictures), 3, stumbling(torch.OutOfMemoryError("no room"))).sample(2, 0)


def test_logits_and_columns_become_the_probability_of_the_chosen_class() -> None:
    images = torch.zeros(2, 3, 8, 8)
    for classifier, expected in (
        (Classifier(columns(2.0), logits=True), torch.sigmoid(torch.tensor(2.0))),
        (Classifier(columns(0.2, 0.8), output=1), torch.tensor(0.8)),
        (Classifier(columns(1.0, 3.0), "dog", True, names=("cat", "dog")), torch.tensor([1.0, 3.0]).softmax(0)[1]),
        (Classifier(columns(1.0, 3.0), output=0, logits="sigmoid"), torch.sigmoid(torch.tensor(1.0))),
    ):
        assert torch.allclose(classifier.probabilities(images), expected.expand(2))


def test_pictures_are_resized_when_that_is_asked_for() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(3 * 4 * 4, 1), nn.Sigmoid())
    classifier = Classifier(module, size=4, resize=True)
    check_pair(painter(), classifier)
    even = torch.full((1, 3, 8, 8), 0.3)
    assert torch.allclose(classifier.probabilities(even), module(torch.full((1, 3, 4, 4), 0.3))[:, 0])


def test_a_pair_that_fits_passes() -> None:
    check_pair(painter(), reader(1.0, 1.0), None)
    assert isinstance(painter().module, Painter)
