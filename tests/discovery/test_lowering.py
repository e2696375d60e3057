"""Networks in bfloat16: the same pictures and probabilities but for their last digits, and the same direction found."""

from __future__ import annotations

import pytest

from equipoise.discovery import Classifier, search
from equipoise.discovery._classifier import classifier_in, generator_in
from equipoise.foundation import BadInput
from helpers.cases.discovery import BIAS, TARGET, meaning, painter, quick, reader, torch


def test_pictures_and_probabilities_are_the_same_but_for_their_last_digits() -> None:
    generator, classifier = painter(), reader(2.0, 4.0)
    latents = generator.sample(50, 0)
    whole, lowered = generator.images(latents), generator_in("bfloat16", generator).images(latents)
    assert lowered.dtype == whole.dtype == torch.float32
    assert not torch.equal(lowered, whole)
    assert torch.allclose(lowered, whole, atol=0.02)
    p, fewer = classifier.probabilities(whole), classifier_in("bfloat16", classifier).probabilities(whole)
    assert fewer.dtype == p.dtype == torch.float32
    assert not torch.equal(fewer, p)
    assert torch.allclose(fewer, p, atol=0.02)


def test_native_is_the_network_as_it_is() -> None:
    generator, classifier = painter(), reader(2.0, 4.0)
    assert generator_in("native", generator) is generator
    assert classifier_in("native", classifier) is classifier


def test_a_search_in_bfloat16_finds_the_same_and_is_judged_by_the_networks_as_they_are() -> None:
    generator, classifier, target = painter(), reader(2.0, 4.0), meaning(0, TARGET, "target")
    found = {}
    for precision in ("native", "bfloat16"):
        settings = quick(precision=precision)
        (found[precision],) = search(generator, classifier, target=target, restarts=2, settings=settings).directions
    assert abs(found["bfloat16"].plane.cosine(meaning(0, BIAS, "bias"))) > 0.95
    assert abs(found["bfloat16"].plane.cosine(found["native"].plane)) > 0.98
    assert found["bfloat16"].loss == pytest.approx(found["native"].loss, abs=0.02)


def test_another_precision_is_refused() -> None:
    with pytest.raises(BadInput, match="float8"):
        generator_in("float8", painter())  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="float8"):
        quick(precision="float8")


def test_the_steps_are_taken_in_bfloat16_and_the_loss_that_is_told_is_not() -> None:
    generator, classifier, target = painter(), reader(2.0, 4.0), meaning(0, TARGET, "target")
    made, begun = {}, []
    for precision in ("native", "bfloat16"):
        settings = quick(precision=precision, steps=3)
        made[precision] = search(generator, classifier, target=target, restarts=1, settings=settings)
        still = quick(precision=precision, steps=1, rate=1e-300)
        begun.append(search(generator, classifier, restarts=1, starts=[target], settings=still))
    gone = abs(made["native"].curves - made["bfloat16"].curves)
    assert (gone > 0).any()
    assert gone.max() < 0.1
    # Without a step the plane is that of the start: its loss on held-out latents is the same to the last bit.
    assert begun[0].directions[0].loss == begun[1].directions[0].loss
    assert begun[0].curves[0, 0, 0] != begun[1].curves[0, 0, 0]


def test_a_sigmoid_keeps_its_slope_near_1() -> None:
    class Sure(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1, bias=False)
            self.layer.weight.data.fill_(1.0)

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            return self.layer(given.reshape(len(given), 1)).sigmoid()

    for last in (Sure(), torch.nn.Sequential(torch.nn.Flatten(), Sure().layer, torch.nn.Sigmoid())):
        lowered = classifier_in("bfloat16", Classifier(last))
        picture = torch.full((1, 1, 1, 1), 6.5, requires_grad=True)
        p = lowered.probabilities(picture)
        p.sum().backward()
        assert float(p.detach()) == pytest.approx(0.9985, abs=1e-4)
        assert float(picture.grad) == pytest.approx(0.0015, rel=0.02)
