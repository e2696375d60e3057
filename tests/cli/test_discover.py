"""``equipoise discover``: an answer in words, files that are whole, and everything wrong said before any work."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.running import Program

pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.cli.commands.discover import discover
from equipoise.discovery import (
    Hyperplane,
    JudgeSettings,
    SearchSettings,
    SurrogateSettings,
    load_directions,
    save_directions,
)
from helpers.cases.discovery import hurried

NETWORKS = """
import torch

from equipoise.discovery import Classifier

class Painter(torch.nn.Module):
    def forward(self, latents):
        pictures = torch.zeros(len(latents), 3, 8, 8)
        pictures[:, 1, 2:5, 2:5] = latents[:, 0, None, None]
        pictures[:, 0] = latents[:, 1, None, None]
        pictures[:, 2, ::2] = latents[:, 2:6].repeat(1, 2)[:, None, :]
        return pictures.sigmoid()

class Broken(Painter):
    def forward(self, latents):
        return super().forward(latents) * float("nan")

class Reader(torch.nn.Module):
    def forward(self, pictures):
        return 6 * (pictures[:, 1, 2:5, 2:5].mean((1, 2)) - 0.5) + 4 * (pictures[:, 0].mean((1, 2)) - 0.5)

class Sized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3 * 16 * 16, 1)
    def forward(self, pictures):
        return self.layer(pictures.flatten(1))

class Several(Reader):
    def forward(self, pictures):
        seen = super().forward(pictures)
        return torch.stack([-seen, seen, 0 * seen], 1)

class Constant(torch.nn.Module):
    def forward(self, pictures):
        return torch.full((len(pictures),), 0.7)

class Patch(torch.nn.Module):
    def forward(self, pictures):
        return 6 * (pictures[:, 1, 2:5, 2:5].mean((1, 2)) - 0.5)

painter, broken, reader, sized, several, constant = Painter(), Broken(), Reader(), Sized(), Several(), Constant()
patch, sound = Patch(), Classifier(Patch(), logits=True)
"""
KNOWN = {"target": "patch", "hyperplanes": [{"name": "patch", "normal": [1, 0, 0, 0, 0, 0]}]}
QUICK = ("--steps", 60, "--batch", 16, "--rate", 0.05, "--directions", 1, "--restarts", 1, "--latents", 32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "networks.py").write_text(NETWORKS, encoding="utf-8")
    (tmp_path / "known.json").write_text(json.dumps(KNOWN), encoding="utf-8")
    return tmp_path


def given(classifier: str = "reader", generator: str = "painter") -> tuple[str, ...]:
    return ("discover", "--classifier", f"networks.py:{classifier}", "--generator", f"networks.py:{generator}",
            "--latent-size", "6")  # fmt: skip


def test_a_planted_tint_is_found_and_everything_asked_for_is_written(equipoise: Program, folder: Path) -> None:
    ended = equipoise(
        *given(), "--logits", "--known", "known.json", *QUICK, "--html", "page.html", "--json", "every.json", "--save",
        "found.safetensors", "--naming", "sheet.csv", "--figures", "charts", "--markdown", "summary.md",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.out.index("The classifier reacts to something") < ended.out.index("Rank")
    assert "random orthogonal" in ended.out
    assert "The page: page.html" in ended.out
    content = json.loads((folder / "every.json").read_text(encoding="utf-8"))
    assert content["target"] == "patch"
    (tint,), said = load_directions("found.safetensors")
    assert abs(tint.normal[1]) > 0.95
    assert said["generator"] == "networks.py:painter"
    assert (folder / "page.html").stat().st_size > 10_000
    assert (folder / "sheet.key.json").exists()
    assert "The classifier reacts to something" in (folder / "summary.md").read_text(encoding="utf-8")
    assert "The charts: charts" in ended.out
    kinds = [path.suffix for path in sorted((folder / "charts").iterdir())]
    assert kinds == [".png", ".svg"] * 3


def test_a_reference_is_kept_still_and_how_far_it_goes_is_told(equipoise: Program, folder: Path) -> None:
    asked = (*given(), "--logits", *QUICK, "--no-compare", "--strips", 0, "--json", "every.json")
    free = equipoise(*asked)
    assert free.code == 0, free.err
    assert abs(first_of(folder)["plane"]["normal"][0]) > 0.5
    held = equipoise(*asked, "--reference", "networks.py:sound", "--html", "page.html")
    assert held.code == 0, held.err
    content, first = json.loads((folder / "every.json").read_text(encoding="utf-8")), first_of(folder)
    assert abs(first["plane"]["normal"][0]) < 0.2
    assert content["reference"] == "networks.py:sound"
    assert content["settings"]["reference"]["logits"] is True
    assert first["reference_way"] < 0.2 * first["way"]
    said = "of the reference (networks.py:sound) should not change; on the same fresh latents it changes by"
    said = f"{said} {first['reference_way']:.3f} along direction 1 in total."
    assert said in " ".join(held.out.split())
    assert said in (folder / "page.html").read_text(encoding="utf-8")


def first_of(folder: Path) -> dict[str, Any]:
    """Return the first direction of a document."""
    found: dict[str, Any] = json.loads((folder / "every.json").read_text(encoding="utf-8"))["directions"][0]
    return found


def test_the_weights_of_the_search_are_those_asked_for(equipoise: Program, folder: Path) -> None:
    ended = equipoise(
        *given(), "--logits", "--known", "known.json", "--steps", 1, "--directions", 1, "--latents", 32, "--no-compare",
        "--penalty", 0.5, "--hessian", 0.25, "--reference", "networks.py:sound", "--reference-penalty", 2,
        "--json", "every.json", "--quiet",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    search = json.loads((folder / "every.json").read_text(encoding="utf-8"))["settings"]["search"]
    assert (search["penalty"], search["hessian"], search["reference_penalty"]) == (0.5, 0.25, 2.0)


def test_a_surrogate_finds_the_tint_too_and_is_told_of(
    equipoise: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(SurrogateSettings, latents=8000, steps=800)
    monkeypatch.setattr("equipoise.discovery._surrogate.SurrogateSettings", few)
    ended = equipoise(
        *given(),
        "--logits",
        "--known",
        "known.json",
        *QUICK,
        "--no-compare",
        "--surrogate",
        "--save",
        "found.safetensors",
    )
    assert ended.code == 0, ended.err
    assert "surrogate of both networks" in " ".join(ended.out.split())
    (plane,), _ = load_directions(folder / "found.safetensors")
    assert abs(plane.normal[1]) > 0.9


def test_without_a_search_the_change_along_known_attributes_is_told(equipoise: Program) -> None:
    ended = equipoise(*given(), "--logits", "--known", "known.json", "--no-search")
    assert ended.code == 0, ended.err
    assert "No search was made" in " ".join(ended.out.split())
    assert "patch" in ended.out
    assert "Rank" not in ended.out
    quiet = equipoise(*given(), "--logits", "--known", "known.json", "--no-search", "--quiet")
    assert (quiet.code, quiet.out) == (0, "")


def test_nothing_found_is_an_answer(equipoise: Program, folder: Path) -> None:
    ended = equipoise(*given("constant"), *QUICK, "--save", "found.safetensors", "--naming", "sheet.csv")
    assert ended.code == 0, ended.err
    assert "No reaction was confirmed: the classifier gives every picture the same probability" in " ".join(
        ended.out.split()
    )
    assert "No direction is confirmed" in ended.out
    assert "No naming sheet" in ended.out
    assert not (folder / "found.safetensors").exists()


def test_what_is_not_asked_for_is_as_it_is_from_python() -> None:
    of_the_program = {name: parameter.default for name, parameter in signature(discover).parameters.items()}
    for settings in (SearchSettings(), JudgeSettings()):
        own = {name: value for name, value in asdict(settings).items() if name in of_the_program}
        own.pop("reference_penalty", None)  # said in words: it has a meaning beside a reference alone
        assert own.keys() >= {"seed"}
        assert {name: of_the_program[name] for name in own} == own


def test_how_far_the_probability_must_go_is_what_was_asked_for(equipoise: Program, folder: Path) -> None:
    asked = (*given(), "--logits", "--known", "known.json", *QUICK, "--no-compare")
    ended = equipoise(*asked, "--least-way", 5, "--json", "every.json")
    assert ended.code == 0, ended.err
    assert "No reaction was confirmed" in ended.out
    assert "at least 5 is required" in first_of(folder)["reason"]
    refused = equipoise(*asked, "--least-way", -1)
    assert refused.code == 2
    assert "min_effect is -1.0" in refused.err


def test_a_class_is_chosen_by_name_and_pictures_are_resized_on_request(equipoise: Program) -> None:
    one = equipoise(*given("several"), "--logits", "--class", "b", "--class-names", "a, b, c", *QUICK, "--no-compare")
    assert one.code == 0, one.err
    other = equipoise(*given("sized"), "--logits", "--size", "16", "--resize", *QUICK, "--no-compare")
    assert other.code == 0, other.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (given(), "which are not probabilities"),
        (given(), "or --logits, converts"),
        ((*given("several"), "--logits"), "none was selected"),
        ((*given("several"), "--logits"), "or --class on the command line, chooses one: 0 to 2"),
        ((*given("several"), "--logits", "--class", "a"), "class 'a' not found in names (--class-names)"),
        ((*given("several"), "--logits", "--class", "d", "--class-names", "a,b,c"), "class 'd' not found"),
        ((*given("several"), "--logits", "--class", "7"), "Unknown column 7"),
        ((*given("sized"), "--logits"), "could not read pictures of 3 x 8 x 8"),
        ((*given("sized"), "--logits"), "or --size HxW --resize, brings"),
        ((*given("sized"), "--logits", "--resize"), "or --size 64x64 --resize"),
        ((*given("sized"), "--logits", "--size", "16x16"), "trained on 16 x 16"),
        ((*given("sized"), "--logits", "--size", "16x16"), "or --resize beside --size"),
        ((*given("sized"), "--size", "9" * 5000), "could not be read"),
        ((*given(), "--size", "big"), "--size 'big' could not be read"),
        ((*given(generator="broken"), "--logits"), "NaN or infinite"),
        ((*given(), "--target", "patch"), "without known attributes"),
        ((*given(), "--no-search"), "without known attributes"),
        ((*given(), "--no-search", "--known", "known.json", "--save", "a.safetensors"), "need a search"),
        ((*given(), "--known", "none.json"), "There is no file"),
        ((*given(), "--known", "known.json", "--target", "pach"), "did you mean 'patch'"),
        ((*given(), "--logits", "--known", "known.json", "--directions", "6"), "at most 5"),
        ((*given(), "--orthogonality", "round"), "orthogonality is 'round'"),
        ((*given(), "--precision", "bflaot16"), "did you mean 'bfloat16'"),
        ((*given(), "--prior", "even"), "Unknown prior"),
        ((*given(), "--reach", "0"), "--reach is 0"),
        ((*given(), "--device", "tpu"), "The device 'tpu' is not available"),
        ((*given(), "--html", "networks.py"), "is an input file"),
        ((*given(), "--reference", "networks.py"), "The reference is 'networks.py'"),
        ((*given(), "--reference", "networks.py:sond"), "did you mean 'sound'"),
        ((*given(), "--logits", "--reference", "networks.py:patch"), "The reference returned numbers from"),
        ((*given(), "--logits", "--reference", "networks.py:patch"), "Classifier(module, output=..., logits=True"),
        ((*given(), "--logits", "--reference", "networks.py:sound", "--surrogate"), "search without a surrogate"),
        ((*given(), "--known", "known.json", "--logits", "--reference", "networks.py:sound", "--no-search"),
         "without a search"),
        ((*given(), "--penalty", "-1"), "penalty is -1"),
        ((*given(), "--reference-penalty", "5"), "and no reference"),
        ((*given(), "--reference", "networks.py:sound", "--reference-penalty", "-1"), "reference_penalty is -1"),
        ((*given(), "--hessian", "nan"), "hessian is nan"),
        ((*given(), "--logits", "--hessian", "1", "--surrogate"), "--hessian 0"),
        ((*given(), "--html", "no/page.html"), "does not exist"),
        ((*given(), "--json", "a.json", "--save", "a.safetensors"), "--json and --save both write"),
        ((*given(), "--json", "a", "--figures", "a"), "--json and --figures both write"),
        ((*given(), "--figures", "networks.py"), "The folder for figures 'networks.py' is a file"),
        ((*given(), "--save", "a.pt"), "ends with .safetensors"),
        ((*given(), "--naming", "a.txt"), "ends with .csv"),
        (("discover", "--classifier", "networks.py:reader", "--generator", "networks.py:painter"), "--latent-size 128"),
        (("discover", "--classifier", "networks.py:none", "--generator", "networks.py:painter", "--latent-size", "6"),
         "name 'none' not found"),
        (("discover", "--classifier", "networks.py", "--generator", "networks.py:painter", "--latent-size", "6"),
         "FILE.py:NAME"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_words(
    equipoise: Program, arguments: tuple[str, ...], words: str, folder: Path
) -> None:
    before = {path.name for path in folder.iterdir()}
    ended = equipoise(*arguments, *(() if "--directions" in arguments else ("--directions", "1")), "--steps", "1")
    assert ended.code == 2, ended.out
    assert ended.out == ""
    assert words in " ".join(ended.err.split()), ended.err
    assert {path.name for path in folder.iterdir()} - {"__pycache__"} == before


def test_the_file_of_a_reference_is_not_overwritten(equipoise: Program, folder: Path) -> None:
    (folder / "other.py").write_text("kept", encoding="utf-8")
    ended = equipoise(*given(), "--reference", "other.py:sound", "--html", "other.py")
    assert ended.code == 2
    assert "is an input file" in ended.err
    assert (folder / "other.py").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("output", ["--json", "--html"])
def test_what_lies_beside_a_known_file_is_not_overwritten(equipoise: Program, folder: Path, output: str) -> None:
    save_directions("kept.safetensors", [Hyperplane("patch", np.eye(6)[0])])
    labelled = {"latents": "latents.npy", "attributes": {"age": "age.npy", "smiles": [0, 1]}, "target": None}
    (folder / "labelled.json").write_text(json.dumps(labelled), encoding="utf-8")
    for name in ("latents.npy", "age.npy"):
        np.save(folder / name, np.zeros(3))
    (folder / "labelled.txt").write_text(json.dumps(labelled), encoding="utf-8")
    (folder / "broken.json").write_text("[" * 100_000, encoding="utf-8")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for known, written in (
        ("kept.safetensors", "kept.json"), ("kept.safetensors", "kept.safetensors"), ("labelled.json", "latents.npy"),
        ("labelled.json", "age.npy"), ("labelled.txt", "age.npy"), ("broken.json", "broken.json"),
    ):  # fmt: skip
        ended = equipoise(*given(), "--logits", "--known", known, "--no-search", output, written)
        assert ended.code == 2
        assert "is an input file" in ended.err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_hostile_name_cannot_drive_the_terminal(equipoise: Program, folder: Path) -> None:
    hostile = {"hyperplanes": [{"name": "a\u001b[2Jb[red]", "normal": [1, 0, 0, 0, 0, 0]}]}
    (folder / "known.json").write_text(json.dumps(hostile), encoding="utf-8")
    ended = equipoise(*given(), "--logits", "--known", "known.json", "--no-search")
    assert ended.code == 0, ended.err
    assert "\u001b[2J" not in ended.out
    assert "[red]" in ended.out


def test_the_demo_says_what_was_planted_and_writes_its_charts(
    equipoise: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried(monkeypatch)
    files = {f"--{name}": f"demo.{name}" for name in ("html", "json", "csv", "latex", "markdown")}
    ended = equipoise("demo", "discover", *(part for pair in files.items() for part in pair), "--figures", "charts")
    assert ended.code == 0, ended.err
    assert ended.out.index("What was planted") < ended.out.index("The same for your own networks")
    assert json.loads((folder / "demo.json").read_text(encoding="utf-8"))["classifier"] == "a classifier of size"
    assert all((folder / name).stat().st_size > 0 for name in files.values())
    assert list((folder / "charts").glob("*.svg"))
