"""Generators: any torch module with a prior, a StyleGAN, or one trained here (five auto-encoders and a small GAN)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.discovery.generative._gan import FILE as FILE
    from equipoise.discovery.generative._gan import load_gan as load_gan
    from equipoise.discovery.generative._gan import train_gan as train_gan
    from equipoise.discovery.generative._generator import PIXELS as PIXELS
    from equipoise.discovery.generative._generator import Bytes as Bytes
    from equipoise.discovery.generative._generator import Generator as Generator
    from equipoise.discovery.generative._generator import Prior as Prior
    from equipoise.discovery.generative._generator import as_bytes as as_bytes
    from equipoise.discovery.generative._generator import as_shares as as_shares
    from equipoise.discovery.generative._generator import check_module as check_module
    from equipoise.discovery.generative._generator import device_of as device_of
    from equipoise.discovery.generative._generator import frozen as frozen
    from equipoise.discovery.generative._generator import number_kind as number_kind
    from equipoise.discovery.generative._generator import style_generator as style_generator
    from equipoise.discovery.generative._generator import user_code as user_code
    from equipoise.discovery.generative._training import ENTRY as ENTRY
    from equipoise.discovery.generative._training import GANSettings as GANSettings
    from equipoise.discovery.generative._training import Report as Report
    from equipoise.discovery.generative._training import StepProgress as StepProgress
    from equipoise.discovery.generative._training import VAESettings as VAESettings
    from equipoise.discovery.generative._training import as_plain as as_plain
    from equipoise.discovery.generative._training import check_device as check_device
    from equipoise.discovery.generative._training import counted as counted
    from equipoise.discovery.generative._training import network_pictures as network_pictures
    from equipoise.discovery.generative._training import picture_batch as picture_batch
    from equipoise.discovery.generative._training import read_networks as read_networks
    from equipoise.discovery.generative._training import repeatable as repeatable
    from equipoise.discovery.generative._training import sent as sent
    from equipoise.discovery.generative._training import write_networks as write_networks
    from equipoise.discovery.generative._vae import KINDS as KINDS
    from equipoise.discovery.generative._vae import Kind as Kind
    from equipoise.discovery.generative._vae import TrainedVAE as TrainedVAE
    from equipoise.discovery.generative._vae import VAEPlan as VAEPlan
    from equipoise.discovery.generative._vae import load_vae as load_vae
    from equipoise.discovery.generative._vae import reconstruction_grid as reconstruction_grid
    from equipoise.discovery.generative._vae import sample_grid as sample_grid
    from equipoise.discovery.generative._vae import strength_of as strength_of
    from equipoise.discovery.generative._vae import train_vae as train_vae
    from equipoise.discovery.generative._vae import train_vaes as train_vaes

_MODULES = {
    "_gan": ("FILE", "load_gan", "train_gan"),
    "_generator": (
        "Bytes",
        "Generator",
        "PIXELS",
        "Prior",
        "as_bytes",
        "as_shares",
        "check_module",
        "device_of",
        "frozen",
        "number_kind",
        "user_code",
        "style_generator",
    ),
    "_training": (
        "ENTRY",
        "GANSettings",
        "Report",
        "StepProgress",
        "VAESettings",
        "as_plain",
        "check_device",
        "counted",
        "read_networks",
        "repeatable",
        "sent",
        "network_pictures",
        "picture_batch",
        "write_networks",
    ),
    "_vae": (
        "KINDS",
        "Kind",
        "TrainedVAE",
        "VAEPlan",
        "load_vae",
        "reconstruction_grid",
        "sample_grid",
        "strength_of",
        "train_vae",
        "train_vaes",
    ),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
