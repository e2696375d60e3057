"""Networks that a user names: a file of Python is run when it is named, and what is wrong with it is said."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from equipoise.foundation import BadInput

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.discovery import load_classifier, load_generator  # noqa: E402
from equipoise.discovery._user_files import load_module  # noqa: E402
from equipoise.discovery.generative import (  # noqa: E402
    GANSettings,
    Generator,
    VAESettings,
    train_gan,
    train_vae,
)

FILE = """
import torch
from equipoise.discovery import Classifier
from equipoise.discovery.generative import Generator

class Painter(torch.nn.Module):
    def forward(self, latents):
        return latents.sigmoid()[:, :, None, None].expand(-1, -1, 4, 4)

class Reader(torch.nn.Module):
    def __init__(self, outputs=1):
        super().__init__()
        self.outputs = outputs
    def forward(self, images):
        return images.flatten(1)[:, :self.outputs] * 4 - 2

painter, reader, wide = Painter(), Reader(), Reader(3)
ready = Generator(Painter(), 3)
judged = Classifier(Reader(), logits=True)
number = 3

def made():
    return Painter()

def asks(size):
    return Painter()

def fails():
    raise OSError("no weights here")

def nothing():
    return None
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_model.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_modules_functions_and_finished_objects_are_taken(file: Path) -> None:
    for name in ("painter", "made", "Painter"):
        generator = load_generator(f"{file}:{name}", latent_size=3, prior="uniform")
        assert generator.latent_size == 3
        assert float(generator.sample(10, 0).min()) >= 0
        assert generator.images(generator.sample(2, 0)).shape == (2, 3, 4, 4)
    ready = load_generator(f"{file}:ready")
    assert isinstance(ready, Generator)
    assert ready is load_generator(f"{file}:ready"), "a file is run once"
    images = ready.images(ready.sample(5, 0))
    for classifier in (
        load_classifier(f"{file}:judged"), load_classifier(f"{file}:reader", logits=True),
        load_classifier(f"{file}:wide", logits=True, output="1"),
        load_classifier(f"{file}:wide", logits=True, output="b", names=["a", "b", "c"]),
        load_classifier(f"{file}:reader", logits=True, size=8, resize=True),
    ):  # fmt: skip
        assert classifier.probabilities(images).shape == (5,)


def test_what_lies_beside_a_file_can_be_imported_and_the_path_is_as_before(file: Path) -> None:
    (file.parent / "helper_of_mine.py").write_text(FILE, encoding="utf-8")
    other = file.parent / "other.py"
    other.write_text("from helper_of_mine import painter\n", encoding="utf-8")
    before = list(sys.path)
    assert isinstance(load_module(f"{other}:painter"), torch.nn.Module)
    assert sys.path == before
    del sys.modules["helper_of_mine"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("paintr", "did you mean 'painter'"),
        ("number", "is of the type int"),
        ("nothing", "is of the type NoneType"),
        ("asks", "cannot be called without arguments"),
        ("fails", "OSError: no weights here"),
        ("judged", "is of the type Classifier"),
    ],
)
def test_what_is_no_generator_is_refused(file: Path, name: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        load_generator(f"{file}:{name}", latent_size=3)


def test_a_file_that_cannot_be_run_is_said_so(file: Path) -> None:
    for text, words in (("1 / 0", "ZeroDivisionError"), ("def", "SyntaxError"), ("import none_such", "none_such"),
                        ("raise SystemExit(3)", "SystemExit")):  # fmt: skip
        broken = file.with_name("broken.py")
        broken.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput, match=words):
            load_module(f"{broken}:x")


def test_nothing_is_run_that_is_not_spelt_as_a_file_and_a_name(file: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')", encoding="utf-8")
    for named in (str(trap), "trap:x", "trap.txt:x", ":x", f"{trap}:"):
        with pytest.raises(BadInput, match=r"FILE\.py:NAME"):
            load_module(named)
    assert not (tmp_path / "sprung").exists()
    with pytest.raises(BadInput, match=r"did you mean 'my_model\.py'"):
        load_module(f"{file.with_name('my_modle.py')}:painter")


@pytest.mark.parametrize("named", ["stylegan3.pkl", "stylegan3.PKL:G_ema", "weights.pt", "model.ckpt:net"])
def test_a_pickle_is_refused_unopened_and_the_way_round_it_is_said(named: str, tmp_path: Path) -> None:
    file = tmp_path / named.partition(":")[0]
    with pytest.raises(BadInput, match=r"(?s)pickled Python objects.*FILE\.py:NAME.*my_network\.py:generator.*Style"):
        load_generator(str(tmp_path / named), latent_size=3)
    # Whether it is there or not: nobody looks.
    file.write_bytes(pickle.dumps(Sprung(tmp_path / "sprung")))
    with pytest.raises(BadInput, match=r"(?s)pickled Python objects.*my_network\.py:classifier"):
        load_classifier(str(tmp_path / named))
    assert not (tmp_path / "sprung").exists()


class Sprung:
    """What a hostile pickle does when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_options_that_would_be_ignored_are_refused(file: Path) -> None:
    with pytest.raises(BadInput, match="--latent-size was given"):
        load_generator(f"{file}:ready", latent_size=3)
    with pytest.raises(BadInput, match="--logits was given"):
        load_classifier(f"{file}:judged", logits=True)
    with pytest.raises(BadInput, match="--latent-size 128"):
        load_generator(f"{file}:painter")
    with pytest.raises(BadInput, match="Unknown prior 'even'"):
        load_generator(f"{file}:painter", latent_size=3, prior="even")
    if not torch.cuda.is_available():
        with pytest.raises(BadInput, match="'cuda' is not available"):
            load_generator(f"{file}:painter", latent_size=3, device="cuda")


def test_generators_trained_here_are_read_and_never_run(file: Path, tmp_path: Path) -> None:
    pictures = np.zeros((8, 64, 64, 1), dtype=np.uint8)
    small = {"steps": 1, "batch_size": 2, "width": 1, "latent_size": 3}
    train_vae(pictures, "vae", VAESettings(**small)).save(tmp_path / "vae.safetensors")
    train_gan(pictures, GANSettings(**small)).save(tmp_path / "gan.safetensors")
    for name in ("vae", "gan"):
        generator = load_generator(str(tmp_path / f"{name}.safetensors"))
        assert generator.images(generator.sample(2, 0)).shape == (2, 1, 64, 64)
    with pytest.raises(BadInput, match="--prior was given"):
        load_generator(str(tmp_path / "vae.safetensors"), prior="normal")
    (tmp_path / "torn.safetensors").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="not a whole file"):
        load_generator(str(tmp_path / "torn.safetensors"))
    with pytest.raises(BadInput, match="There is no file"):
        load_generator(str(tmp_path / "none.safetensors"))
