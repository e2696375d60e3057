"""``equipoise label``: from a saved direction to a table that an audit and a study take."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Hyperplane
from equipoise.discovery.generative import VAESettings
from equipoise.foundation import BadInput
from equipoise.studies import read_plan
from helpers.running import Program

pytest.importorskip("torch", reason="needs equipoise[train]")
pytest.importorskip("safetensors", reason="needs equipoise[train]")

MODELS = """
import torch

from helpers.cases.discovery import Reader
from helpers.cases.labelling import Wall

generator = Wall()
classifier = Reader(6.0, 4.0)

class Several(Reader):
    def forward(self, pictures):
        seen = super().forward(pictures)
        return torch.stack([1 - seen, seen], 1)

class Sized(Reader):
    def forward(self, pictures):
        assert pictures.shape[-2:] == (16, 16)
        return super().forward(pictures[..., ::2, ::2])

class Gaps(Reader):
    def forward(self, pictures):
        seen = super().forward(pictures)
        return torch.where(seen > 0.5, seen, float("nan"))

several, sized, gaps = Several(6.0, 4.0), Sized(6.0, 4.0), Gaps(6.0, 4.0)
"""


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def sprites(tmp_path: Path) -> Path:
    """A folder with two directions of a VAE that has learnt nothing, and predictions for 300 sprites."""
    from equipoise.cohorts import load
    from equipoise.cohorts.pictures import SpritePictures
    from equipoise.discovery import save_directions
    from equipoise.discovery.generative import train_vae

    small = VAESettings(steps=2, batch_size=4, width=2, latent_size=3, report_every=2)
    train_vae(SpritePictures(), "vae", small).save(tmp_path / "vae.safetensors")
    planes = [Hyperplane(name, row) for name, row in zip(("size", "place"), np.eye(3), strict=False)]
    save_directions(tmp_path / "named.safetensors", planes)
    shapes = load("sprites", rows=300)["shape"].tolist()
    lines = ["shape,said", *(f"{shape},{'square' if index % 3 else shape}" for index, shape in enumerate(shapes))]
    (tmp_path / "said.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_registered_cohort_gets_a_column_that_a_study_takes(sprites: Path, equipoise: Program) -> None:
    out = sprites / "labelled.csv"
    ended = equipoise(
        "label", "sprites", "--option", "rows=300",
        "--directions", sprites / "named.safetensors", "--direction", "size", "--encoder", sprites / "vae.safetensors",
        "--extra-columns", sprites / "said.csv", "--prediction", "said",
        "--null", 19, "--out", out, "--json", sprites / "audit.json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "300 rows labelled by size" in ended.out
    assert "R2 for this direction" in ended.out
    assert "given the true label" in ended.out
    rows = rows_of(out)
    assert [row["row"] for row in rows] == [str(place) for place in range(300)]
    train = Counter(row["size"] for row in rows if row["split"] == "train")
    assert abs(train["upper"] - train["lower"]) <= 1
    assert "image" not in rows[0]
    distances = np.array([float(row["size distance"]) for row in rows])
    sides = np.array([row["size"] for row in rows])
    assert distances[sides == "upper"].min() >= distances[sides == "lower"].max()
    assert json.loads((sprites / "audit.json").read_text(encoding="utf-8"))["split"] == "test"

    told = equipoise("audit", out, "--target", "shape", "--prediction", "said", "--group", "size", "--split", "split")
    assert told.code == 0, told.err
    plan = sprites / "plan.toml"
    plan.write_text(
        'group = "size"\n[cohort]\nname = "sprites"\noptions = { rows = 300 }\nextra_columns = "labelled.csv"\n'
        'target = "shape_half"\ngroups = ["size", "scale_half"]\ndev = 0.2\n[learner]\nname = "image_network"\n',
        encoding="utf-8",
    )
    study = read_plan(plan).study()
    assert study.original["size"].tolist() == [row["size"] for row in rows]
    assert study.original.target == "shape_half"
    plan.write_text(plan.read_text(encoding="utf-8").replace("rows = 300", "rows = 300, seed = 1"), encoding="utf-8")
    with pytest.raises(BadInput, match=r"(?s)plan.toml.*labelled.csv .* in the column 'shape'"):
        read_plan(plan).study()


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Pictures of the wall as files, with a table, a direction, and the networks in a file of Python."""
    image = pytest.importorskip("PIL.Image")
    from equipoise.discovery import save_directions
    from helpers.cases.labelling import PATCH, TINT, painted

    given = painted(160, 80)
    lines = ["file,patch,split"]
    for place in range(160):
        image.fromarray(given["image"][place]).save(tmp_path / f"{place}.png")
        lines.append(f"{place}.png,{given['patch'][place]},{given['split'][place]}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    save_directions(tmp_path / "tint.safetensors", [TINT])
    save_directions(tmp_path / "patch.safetensors", [PATCH], {"target": "patch"})
    return tmp_path


def table_options(folder: Path, *more: object) -> tuple[object, ...]:
    return (
        "label", folder / "rows.csv", "--pictures", "file", "--target", "patch", "--split", "split",
        "--directions", folder / "tint.safetensors", "--out", folder / "out.csv", *more,
    )  # fmt: skip


def test_a_table_of_pictures_is_labelled_by_a_probe_and_a_classifier_is_audited(
    photos: Path, equipoise: Program
) -> None:
    kept = photos / "probe.safetensors"
    audited = ("--classifier", f"{photos}/models.py:classifier", "--favourable", "yes", "--null", 19,
               "--known", photos / "patch.safetensors")  # fmt: skip
    first = equipoise(*table_options(
        photos, "--generator", f"{photos}/models.py:generator", "--latent-size", 9, "--steps", 150,
        "--save-probe", kept, *audited,
    ))  # fmt: skip
    assert first.code == 0, first.err
    assert "a probe trained on generated pictures" in first.out
    assert "rank among random directions" in first.out
    rows = rows_of(photos / "out.csv")
    assert {row["predicted"] for row in rows} == {"yes", "no"}
    assert all((float(row["score"]) >= 0.5) == (row["predicted"] == "yes") for row in rows)
    again = equipoise(*table_options(photos, "--probe", kept, "--quiet", *audited))
    assert (again.code, again.out) == (0, "")
    assert [row["tint"] for row in rows_of(photos / "out.csv")] == [row["tint"] for row in rows]
    told = equipoise(
        "audit", photos / "out.csv", "--target", "patch", "--prediction", "predicted", "--group", "tint",
        "--favourable", "yes", "--split", "split",
    )  # fmt: skip
    assert told.code == 0, told.err
    plan = photos / "plan.toml"
    plan.write_text(
        '[cohort]\nfile = "out.csv"\ntarget = "patch"\ngroups = "tint"\nsplit = "split"\npictures = "file"\ndev = 0.2\n'
        '[learner]\nname = "image_network"\n',
        encoding="utf-8",
    )
    assert read_plan(plan).study().original.features == ("image",)


def test_how_well_the_known_attributes_are_known_is_said(photos: Path, equipoise: Program) -> None:
    from helpers.cases.labelling import LATENT, taught

    taught().save(photos / "probe.safetensors")
    drawn = np.random.default_rng(0)
    latents = drawn.normal(size=(400, LATENT))
    np.save(photos / "latents.npy", latents)
    labels = {"patch": (latents[:, 0] > 0).tolist(), "coin": (drawn.random(400) < 0.5).tolist()}
    known = {"latents": "latents.npy", "attributes": labels, "target": "patch", "source": "a painter's"}
    (photos / "known.json").write_text(json.dumps(known), encoding="utf-8")
    given = ("--probe", photos / "probe.safetensors", "--known", photos / "known.json")
    alone = equipoise(*table_options(photos, *given))
    audited = equipoise(*table_options(
        photos, *given, "--classifier", f"{photos}/models.py:classifier", "--favourable", "yes", "--null", 19,
        "--json", photos / "audit.json",
    ))  # fmt: skip
    words = json.loads((photos / "audit.json").read_text(encoding="utf-8"))["words"]
    for ended in (alone, audited):
        assert ended.code == 0, ended.err
        for note in ("Fitted to labelled latents (pseudo ground truth, a painter's), on held-out rows: patch (AUC ",
                     "Left out: coin (AUC is "):  # fmt: skip
            assert ended.out.count(note) == 1
            assert sum(word.startswith(note) for word in words) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "one of --encoder, --generator and --probe"),
        (("--encoder", "a", "--probe", "b"), "None or several"),
        (("--probe", "b", "--save-probe", "c.safetensors"), "--save-probe was given without --generator"),
        (("--probe", "none.safetensors"), "There is no file"),
        (("--probe", "b", "--halves", "quarters"), "--halves 'quarters' not found in equipoise label"),
        (("--probe", "b", "--pixels", "dark"), "--pixels is 'dark'"),
        (("--probe", "b", "--pixels", "0,nan"), "--pixels is '0,nan'"),
        (("--probe", "b", "--pixels", "inf,0"), "--pixels is 'inf,0'"),
        (("--probe", "b", "--pixels", "-inf,0"), "--pixels is '-inf,0'"),
        (("--probe", "b", "--pixels", "1,1"), "--pixels is '1,1'"),
        (("--probe", "b", "--pixels", "1,0"), "the first below the second"),
        (("--probe", "b", "--class", "1"), "--class was given without --classifier"),
        (("--probe", "b", "--no-logits"), "--logits was given without --classifier"),
        (("--probe", "b", "--classifier", "models.py:several", "--favourable", "yes"), "or --class on the command"),
        (("--probe", "b", "--classifier", "models.py:sized", "--favourable", "yes"), "--size HxW --resize"),
        (("--probe", "b", "--classifier", "models.py:gaps", "--favourable", "yes"), "The classifier returned NaN for "),
        (("--probe", "b", "--direction", "tnt"), "did you mean 'tint'"),
        (("--probe", "b", "--json", "a.json"), "nothing is audited"),
        (("--probe", "b", "--option", "rows=2"), "options are given for the file"),
        (("--probe", "b", "--prediction", "a", "--classifier", "b.py:c"), "--prediction and --classifier"),
        (("--generator", "models.py:generator", "--latent-size", 4), "The latents have 4 dimensions"),
        (("--probe", "b", "--classifier", "models.py:classifier"), "--favourable names the one"),
    ],
)
def test_what_does_not_fit_is_refused(
    more: tuple[Any, ...], words: str, photos: Path, equipoise: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos)
    ended = equipoise(*table_options(photos, *more))
    assert ended.code == 2
    assert words in ended.err
    assert not (photos / "out.csv").exists()


def test_one_of_several_classes_is_audited_and_pictures_come_to_its_size(photos: Path, equipoise: Program) -> None:
    from helpers.cases.labelling import taught

    taught().save(photos / "probe.safetensors")
    common = ("--probe", photos / "probe.safetensors", "--favourable", "yes", "--null", 19, "--quiet")
    scores = []
    for more in (
        ("classifier",), ("several", "--class", "1"), ("several", "--class", "yes", "--class-names", "no,yes"),
        ("several", "--class", "0"), ("sized", "--size", "16x16", "--resize"),
    ):  # fmt: skip
        ended = equipoise(*table_options(photos, *common, "--classifier", f"{photos}/models.py:{more[0]}", *more[1:]))
        assert ended.code == 0, ended.err
        scores.append(np.array([float(row["score"]) for row in rows_of(photos / "out.csv")]))
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-6)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-6)
    np.testing.assert_allclose(scores[3], 1 - scores[0], atol=1e-6)
    assert np.corrcoef(scores[4], scores[0])[0, 1] > 0.9


READ = {
    "cohort": ((), "rows.csv"),
    "directions": ((), "tint.safetensors"),
    "beside the directions": ((), "tint.json"),
    "probe": (("--probe", "probe.safetensors"), "probe.safetensors"),
    "encoder": (("--encoder", "vae.safetensors"), "vae.safetensors"),
    "generator": (("--generator", "models.py:generator"), "models.py"),
    "classifier": (("--classifier", "networks.py:classifier"), "networks.py"),
    "known": (("--known", "patch.safetensors"), "patch.safetensors"),
    "beside the known": (("--known", "patch.safetensors"), "patch.json"),
    "extra columns": (("--extra-columns", "more.csv"), "more.csv"),
    "path": (("--path", "data.csv"), "data.csv"),
}


@pytest.mark.parametrize("what", READ)
def test_no_file_that_is_read_is_overwritten(
    what: str, photos: Path, equipoise: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos)
    for name in ("probe.safetensors", "vae.safetensors", "networks.py", "more.csv", "data.csv"):
        (photos / name).write_text("kept", encoding="utf-8")
    more, file = READ[what]
    before = {path.name: path.read_bytes() for path in photos.iterdir()}
    for output in ("--out", "--json", "--save-probe"):
        options = table_options(photos, *more, output, f"../{photos.name}/{file}")
        ended = equipoise(*options)
        assert ended.code == 2
        assert "is an input file" in ended.err
    assert {path.name: path.read_bytes() for path in photos.iterdir()} == before


@pytest.mark.parametrize("output", ["--json", "--save-probe"])
def test_two_outputs_of_one_name_are_refused(output: str, photos: Path, equipoise: Program) -> None:
    ended = equipoise(*table_options(photos, output, photos / ".." / photos.name / "out.csv"))
    assert ended.code == 2
    first, second = sorted(("--out", output))
    assert any(f"{one} and {other} both write" in ended.err for one, other in ((first, second), (second, first)))
    assert not (photos / "out.csv").exists()


def test_a_name_that_is_neither_a_cohort_nor_a_table_with_pictures_is_refused(
    sprites: Path, equipoise: Program
) -> None:
    given = ("--directions", sprites / "named.safetensors", "--out", sprites / "out.csv", "--encoder", "a")
    several = equipoise("label", "sprites", *given)
    assert several.code == 2
    assert "--direction NAME names one" in several.err
    strange = equipoise("label", "sprits", *given, "--direction", "size")
    assert "'sprits' is not a registered cohort" in strange.err


def test_pictures_are_read_by_an_encoder_of_ones_own(sprites: Path, equipoise: Program) -> None:
    (sprites / "models.py").write_text(
        "import numpy as np\n\ndef encoder(pictures):\n    flat = pictures.reshape(len(pictures), -1) / 255.0\n"
        "    return np.stack([flat.mean(axis=1), flat.std(axis=1), flat.max(axis=1)], axis=1)\n\n"
        "size = 3\n",
        encoding="utf-8",
    )
    asked = ["label", "sprites", "--option", "rows=60", "--directions", sprites / "named.safetensors"]
    asked += ["--direction", "size", "--out", sprites / "own.csv", "--encoder"]
    ended = equipoise(*asked, f"{sprites / 'models.py'}:encoder")
    assert ended.code == 0, ended.err
    assert "60 rows labelled by size" in ended.out
    for wrong, complaint in (
        ("models.py:size", "of the type int"),
        ("models.py", "FILE.py:NAME"),
        ("no.py:x", "no file"),
    ):
        ended = equipoise(*asked, str(sprites / wrong))
        assert ended.code == 2
        assert complaint in ended.err
