"""The cohort of a plan: registered ones with their options, and tables that name picture files and clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.studies import read_plan
from helpers.cases.picture import write_binary
from helpers.cases.plan import write_people

TABLE = """
[cohort]
file = "photos/rows.csv"
target = "job"
groups = ["sex"]
split = "split"
cluster = "person"
pictures = "photo"
"""


def plan(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_registered_cohort_takes_its_path_and_options(tmp_path: Path) -> None:
    write_binary(tmp_path / "data" / "cifar")
    text = (
        '[cohort]\nname = "cifar10s"\npath = "data/cifar"\noptions = { skew = 0.8, low_resolution = 16 }\ndev = 0.1\n'
    )
    study = read_plan(plan(tmp_path, text + '[learner]\nname = "scikit_learn"\n')).study()
    train = study.original.where("train")
    assert set(train["domain"].tolist()) == {"full resolution", "low resolution"}
    assert (train["domain"][train["class"] == "cat"] == "full resolution").sum() == 8
    assert len(study.dataset.dev) == 10
    assert study.labels.of("test").cluster is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'name = "cifar10s"\noptions = { skewed = 0.8 }',
            r"(?s)plan.toml.*option 'skewed' not found.*did you mean 'skew'",
        ),
        ('name = "cifar10s"\npath = "cifar"\noptions = { skew = 0.3 }', r"plan.toml.*skew is 0.3"),
        ('name = "cifar10s"\noptions = 3', r"options is 3"),
        ('name = "cifar10s"\npictures = "photo"', r"pictures is given for the registered cohort"),
        ('name = "cifar10s"\ncluster = "person"', r"cluster is given for the registered cohort"),
        ('name = "cifar10s"\non_damaged = "skip"', r"on_damaged is given for the registered cohort"),
        (
            'file = "people.csv"\ntarget = "hired"\ngroups = "sex"\noptions = { a = 1 }',
            r"options are given for the file",
        ),
        ('file = "people.csv"\ntarget = "hired"\ngroups = "sex"\nresize = 8', r"(?s)resize is given, and no pictures"),
        (
            'file = "people.csv"\ntarget = "hired"\ngroups = "sex"\npictures = "a"\nfeatures = "b"',
            r"features are named",
        ),
        ('file = "people.csv"\ntarget = "hired"\ngroups = "sex"\ncluster = "famly"', r"column 'famly' not found"),
        ('name = "cifar10s"\non_damaged = "leave"', r"(?s)on_damaged is 'leave'.*'stop' or 'skip'"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, words: str, tmp_path: Path) -> None:
    write_binary(tmp_path / "cifar")
    write_people(tmp_path / "people.csv")
    with pytest.raises(BadInput, match=words):
        read_plan(plan(tmp_path, f"[cohort]\n{text}\n")).cohort()


def photos(folder: Path, sizes: tuple[int, ...] = (8, 8)) -> None:
    image = pytest.importorskip("PIL.Image")
    (folder / "photos").mkdir()
    lines = ["photo,job,sex,split,person"]
    for row in range(24):
        side = sizes[row % len(sizes)]
        image.fromarray(np.full((side, side, 3), row, dtype=np.uint8)).save(folder / "photos" / f"{row}.png")
        split = ("train", "train", "dev", "test")[row // 6]
        lines.append(f"{row}.png,{('nurse', 'doctor')[row % 2]},{'fm'[row // 2 % 2]},{split},p{row // 3}")
    (folder / "photos" / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_table_names_its_pictures_beside_it(tmp_path: Path) -> None:
    photos(tmp_path)
    cohort = read_plan(plan(tmp_path, TABLE)).cohort()
    assert cohort.features == ("image",)
    assert cohort.cluster == "person"
    assert cohort["image"][:, 0, 0, 0].tolist() == [int(name.removesuffix(".png")) for name in cohort["photo"]]


def test_sizes_and_damaged_files_are_a_matter_of_the_plan(tmp_path: Path) -> None:
    photos(tmp_path, sizes=(8, 10))
    with pytest.raises(BadInput, match=r"(?s)plan.toml.*2 different sizes.*8 x 8 \(12 pictures"):
        read_plan(plan(tmp_path, TABLE)).cohort()
    (tmp_path / "photos" / "3.png").write_bytes(b"torn")
    sized = TABLE + "resize = 8\n"
    with pytest.raises(BadInput, match=r"plan.toml.*'3.png' cannot be read"):
        read_plan(plan(tmp_path, sized)).cohort()
    with pytest.warns(UserWarning, match=r"1 of 24 pictures cannot be read and are left out: '3.png'"):
        cohort = read_plan(plan(tmp_path, sized + 'on_damaged = "skip"\n')).cohort()
    assert cohort["image"].shape == (23, 8, 8, 3)
