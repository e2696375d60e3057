"""Networks in bfloat16: the same pictures and probabilities but for their last digits, and the same direction found."""

from __future__ import annotations

import pytest

from discovery_cases import BIAS, TARGET, meaning, painter, quick, reader, torch
from equipoise.discovery.lowering import classifier_in, generator_in
from equipoise.discovery.search import search
from equipoise.foundation.errors import BadInput


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
        (found[precision],) = search(generator, classifier, target=target, restarts=2, settings=settings).found
    assert abs(found["bfloat16"].plane.cosine(meaning(0, BIAS, "bias"))) > 0.95
    assert abs(found["bfloat16"].plane.cosine(found["native"].plane)) > 0.98
    # Held-out losses are both of the networks as they are: fewer bits in the steps alone cost less than this.
    assert found["bfloat16"].loss == pytest.approx(found["native"].loss, abs=0.02)


def test_another_precision_is_refused() -> None:
    with pytest.raises(BadInput, match="float8"):
        generator_in("float8", painter())  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="float8"):
        quick(precision="float8")
