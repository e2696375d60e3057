"""Architectures and nothing else. torch is imported when a network is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.networks._building import DRAWING_NOTHING as DRAWING_NOTHING
    from equipoise.networks._building import EFFICIENTNET as EFFICIENTNET
    from equipoise.networks._building import NETWORKS as NETWORKS
    from equipoise.networks._building import SMALL as SMALL
    from equipoise.networks._building import WITH_LARGE as WITH_LARGE
    from equipoise.networks._building import build as build
    from equipoise.networks._building import efficientnet_lite0 as efficientnet_lite0
    from equipoise.networks._generators import SIDE as SIDE
    from equipoise.networks._generators import dcgan_discriminator as dcgan_discriminator
    from equipoise.networks._generators import dcgan_generator as dcgan_generator
    from equipoise.networks._generators import vae_decoder as vae_decoder
    from equipoise.networks._generators import vae_encoder as vae_encoder
    from equipoise.networks._mlp import StackedMLP as StackedMLP
    from equipoise.networks._mlp import stacked_mlp as stacked_mlp
    from equipoise.networks._norms import freeze_norms as freeze_norms
    from equipoise.networks._resnet import resnet as resnet
    from equipoise.networks._resnet import resnet18 as resnet18
    from equipoise.networks._separation import Separation as Separation
    from equipoise.networks._separation import gradient_reversal as gradient_reversal
    from equipoise.networks._separation import separation as separation
    from equipoise.networks._stacked_module import StackedModule as StackedModule
    from equipoise.networks._stacked_module import layer_named as layer_named
    from equipoise.networks._stacked_module import trains_alone as trains_alone
    from equipoise.networks._stacked_module import uses_random_numbers as uses_random_numbers
    from equipoise.networks._weights import load_weights as load_weights

_MODULES = {
    "_building": ("DRAWING_NOTHING", "EFFICIENTNET", "NETWORKS", "SMALL", "WITH_LARGE", "build", "efficientnet_lite0"),
    "_generators": ("SIDE", "dcgan_discriminator", "dcgan_generator", "vae_decoder", "vae_encoder"),
    "_mlp": ("StackedMLP", "stacked_mlp"),
    "_norms": ("freeze_norms",),
    "_resnet": ("resnet", "resnet18"),
    "_separation": ("Separation", "gradient_reversal", "separation"),
    "_stacked_module": ("StackedModule", "uses_random_numbers", "trains_alone", "layer_named"),
    "_weights": ("load_weights",),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
