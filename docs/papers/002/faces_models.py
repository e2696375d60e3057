"""The gender classifier of the faces run, as `equipoise discover` takes it: faces_models.py:classifier.

EQUIPOISE_FACES names the folder with what faces_training.py wrote.
"""

import os
from pathlib import Path

import torch
from safetensors.torch import load_file

from equipoise.discovery import Classifier
from equipoise.networks import resnet18


def network() -> torch.nn.Module:
    """Build the classifier without weights: ResNet-18 whose one logit says woman above 0."""
    return torch.nn.Sequential(torch.nn.AvgPool2d(2), resnet18(1))


def classifier() -> Classifier:
    """Return the trained classifier; its probability is that of the annotators' label "woman"."""
    built = network()
    built.load_state_dict(load_file(Path(os.environ["EQUIPOISE_FACES"]) / "classifier.safetensors"))
    return Classifier(built.to(os.environ.get("EQUIPOISE_FACES_DEVICE", "cpu")), logits=True, size=64)
