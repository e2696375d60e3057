"""Networks in files whose headers anybody may have written: they are read whole, or refused before room is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproductions.sprites.classifiers import BiasedClassifier, ClassifierSettings, load_classifier
from reproductions.sprites.triplets import Pair

from equipoise.discovery import ProbeSettings, load_probe
from equipoise.discovery import _reading as probing
from equipoise.discovery._reading import Probe
from equipoise.discovery.generative import GANSettings, TrainedVAE, VAESettings, load_gan, load_vae
from equipoise.discovery.generative import _gan as gan
from equipoise.discovery.generative import _vae as vae
from equipoise.discovery.generative._gan import TrainedGAN
from equipoise.foundation import BadInput
from equipoise.networks import dcgan_generator, vae_decoder, vae_encoder
from reproductions.sprites import classifiers

torch = pytest.importorskip("torch", reason="needs equipoise[train]")


def small_vae(path: Path) -> None:
    TrainedVAE(vae_encoder(6, 1, 2), vae_decoder(3, 1, 2), "vae", VAESettings(width=2, latent_size=3)).save(path)


def small_gan(path: Path) -> None:
    TrainedGAN(dcgan_generator(3, 1, 2), GANSettings(width=2, latent_size=3), 1).save(path)


def small_probe(path: Path) -> None:
    Probe(vae_encoder(2, 3, 2), np.eye(2), (3, 8, 8), ProbeSettings(width=2), "cpu", np.zeros(2), np.ones(2)).save(path)


def small_classifier(path: Path) -> None:
    BiasedClassifier(Pair("scale", "x"), vae_encoder(1, 1, 2), ClassifierSettings(width=2)).save(path)


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "vae": (small_vae, load_vae), "gan": (small_gan, load_gan), "probe": (small_probe, load_probe),
    "classifier": (small_classifier, load_classifier),
}  # fmt: skip


def rewritten(path: Path, change: Callable[[dict[str, Any]], object], tensors: dict[str, Any] | None = None) -> None:
    """Write a file again with another header, and other tensors."""
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    with safe_open(str(path), framework="pt") as file:
        ((entry, text),) = file.metadata().items()
    said = json.loads(text)
    change(said)
    save_file({**load_file(path), **(tensors or {})}, path, metadata={entry: json.dumps(said)})


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_saved_comes_back_on_the_device_asked_for(kind: str, tmp_path: Path) -> None:
    save, load = KINDS[kind]
    save(tmp_path / "kept.safetensors")
    made = load(tmp_path / "kept.safetensors")
    networks = [value for value in vars(made).values() if isinstance(value, torch.nn.Module)]
    assert networks
    assert all(
        weight.device.type == "cpu" and not weight.requires_grad
        for network in networks
        for weight in network.parameters()
    )
    made.save(tmp_path / "again.safetensors")
    assert (tmp_path / "kept.safetensors").read_bytes() == (tmp_path / "again.safetensors").read_bytes()


def setting(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda said: said["settings"].update({name: value})


def entry(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda said: said.update({name: value})


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        *((kind, setting("width", 10**8), "do not fit|RuntimeError") for kind in KINDS),
        *((kind, setting("width", 4000), "do not fit") for kind in KINDS),
        *((kind, setting("width", 2.5), "width is 2.5|TypeError|ValueError") for kind in KINDS),
        *((kind, setting("steps", None), "TypeError|steps is None") for kind in KINDS),
        *((kind, entry("settings", []), "TypeError") for kind in KINDS),
        *((kind, setting("device", "cuda"), "TypeError") for kind in KINDS),
        *((kind, setting("latent_size", 10**15), "do not fit") for kind in ("vae", "gan")),
        *((kind, setting("latent_size", 10**30), "TypeError|RuntimeError") for kind in ("vae", "gan")),
        *((kind, entry("channels", value), "ValueError: channels is")
          for kind in ("vae", "gan") for value in (-1, 0, float("inf"), float("nan"), "1", True, None, 10**40 / 7)),
        *((kind, entry("channels", 10**40), "TypeError|RuntimeError") for kind in ("vae", "gan")),
        *((kind, entry("stands", [[float("inf"), {}]]), "OverflowError") for kind in ("vae", "gan", "probe")),
        ("vae", entry("kind", ["vae"]), "not found in the auto-encoders"),
        ("probe", entry("image", [-3, 8, 8]), "ValueError: image is -3"),
        ("probe", entry("image", [float("inf"), 8, 8]), "ValueError: image is inf"),
        ("probe", entry("image", [3, 8]), "basis and scale do not fit"),
        ("probe", entry("basis", []), "basis and scale do not fit"),
        ("probe", entry("basis", [[10**400]]), "OverflowError"),
        ("probe", entry("middle", [float("nan"), 0.0]), "basis and scale are not finite"),
        ("probe", entry("r2", []), "AttributeError"),
        ("probe", setting("pixels", 3), "TypeError"),
        ("probe", setting("pixels", [0, 1, 2]), "ValueError"),
        ("classifier", entry("pair", {"target": "scale", "biased": "colour"}), "factor 'colour' not found"),
        ("classifier", entry("right", 3), "TypeError"),
    ],
)  # fmt: skip
def test_a_header_takes_no_room_before_it_fits_the_weights(
    kind: str, change: Callable[[dict[str, Any]], object], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, load = KINDS[kind]
    path = tmp_path / "kept.safetensors"
    save(path)
    rewritten(path, change)
    for module in (vae, gan, probing, classifiers):
        for name in ("vae_encoder", "vae_decoder", "dcgan_generator", "dcgan_discriminator"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, only_of_shapes(getattr(module, name)))
    with pytest.raises(BadInput, match=words):
        load(path)


def only_of_shapes(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builder that fails where weights would take room."""

    def built(*sizes: Any) -> Any:
        if torch.get_default_device().type != "meta":
            pytest.fail(f"room was taken for {sizes}")
        return build(*sizes)

    return built


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_that_is_nested_too_deeply_is_refused(kind: str, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save, load = KINDS[kind]
    path = tmp_path / "kept.safetensors"
    save(path)
    files = {"vae": vae.FILE, "gan": gan.FILE, "probe": probing.FILE, "classifier": classifiers.FILE}
    save_file({"a": torch.zeros(1)}, path, metadata={files[kind].entry: "[" * 100_000})
    with pytest.raises(BadInput, match="is not a whole file"):
        load(path)


@pytest.mark.parametrize("number", ["float8_e4m3fn", "float8_e5m2", "int64", "complex64", "bool"])
def test_weights_of_another_kind_of_number_are_refused(number: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.safetensors"
    small_vae(path)
    rewritten(path, lambda said: None, {"decoder.1.bias": torch.zeros(16).to(getattr(torch, number))})
    with pytest.raises(BadInput, match=f"decoder.1.bias is torch.{number} and not torch.float32"):
        load_vae(path)


def test_weights_of_half_the_precision_are_read(tmp_path: Path) -> None:
    path = tmp_path / "kept.safetensors"
    small_vae(path)
    rewritten(path, lambda said: None, {"decoder.1.bias": torch.full((16,), 0.5, dtype=torch.float16)})
    bias = load_vae(path).decoder.state_dict()["1.bias"]
    assert bias.dtype == torch.float32
    assert torch.equal(bias, torch.full((16,), 0.5))
