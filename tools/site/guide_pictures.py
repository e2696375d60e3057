"""Pictures of the guide that belong to no report of the gallery, each with the data and the command that make it.

python tools/site/guide_pictures.py [NAME]...    writes them into docs/pictures: charts, pages and what a terminal shows
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gallery import CENSUS, CHANGE, OUTCOMES, PICTURES, STUDY, Item, first_screen, made
from rich.console import Console
from rich.text import Text

RUN = """
import subprocess
import sys
from pathlib import Path
Path("plan.toml").write_text('''schema = "equipoise.study-plan/1"
group = "sex"
cohort = { name = "adult", dev = 0.2, groups = "sex" }
%s
''')
subprocess.run([sys.executable, "-m", "equipoise", "study", "run", "plan.toml", "--quiet"], check=True)
"""
TREATMENTS = (
    RUN
    % """
seeds = 20
size = 10000
measures = ["accuracy", "DP", "EOTP", "EOFP"]
learner = { name = "mlp", width = 32, epochs = 30 }
treatments = [
  { name = "untreated" },
  { name = "reweighting" },
  { name = "downsampling" },
  { name = "adversarial" },
  { name = "equal_opportunity_class" },
  { name = "group_dro" },
  { name = "leace_inputs" },
  { name = "threshold_optimizer" },
]"""
)
CONDITIONS = (
    RUN
    % """
seeds = 10
learner = { name = "mlp", width = 32, epochs = 30, batch_size = 128 }
conditions = [{ name = "interpolation", mode = "CB", alpha = [0, 0.5, 1, 1.5, 2] }]"""
)
LEARNERS = (
    RUN
    % """
seeds = 10
size = 5000
treatments = [
  { name = "untreated" }, { name = "reweighting" }, { name = "leace_inputs" }, { name = "threshold_optimizer" }
]
[[learner]]
name = "mlp"
batch_size = 128
[[learner]]
name = "scikit_learn"
"""
)
# A plan that got three seeds more after it was run.
WAITING = (
    RUN
    % """
seeds = 5
size = 2000
learner = { name = "mlp", width = 32, epochs = 5 }
treatments = [{ name = "untreated" }, { name = "reweighting" }]"""
    + """
plan = Path("plan.toml")
plan.write_text(plan.read_text().replace("seeds = 5", "seeds = 8"))
"""
)
DOWNSTREAM = """
import numpy as np
rng = np.random.default_rng(0)
sex = rng.choice(["female", "male"], 900, p=[0.4, 0.6])
kind = rng.choice(["cat", "dog", "owl"], 900)
points = rng.normal(size=(900, 8))
for column, name in enumerate(["dog", "owl"]):
    points[:, column] += 3.0 * (kind == name) * np.where(sex == "female", 0.4, 1.0)
np.save("points.npy", points)
np.savez("rows.npz", kind=kind, sex=sex)
"""
# The cohort of docs/guide/multi-label.md.
LABELS = """
import numpy as np
import pandas as pd
import equipoise
from equipoise.cohorts import Cohort
from equipoise.studies.plans import Named, with_splits
from equipoise.training import Job, material_of, train
adult = with_splits(equipoise.load("adult"), dev=0.1)
columns = adult.columns
labels = {
    "over 50K": columns["income"] == ">50K",
    "married": np.char.startswith(columns["marital_status"].astype(str), "Married"),
    "manager or professional": np.isin(columns["occupation"].astype(str), ["Exec-managerial", "Prof-specialty"]),
    "gains or losses": (columns["capital_gain"] > 0) | (columns["capital_loss"] > 0),
}
features = ["age", "workclass", "education", "education_num", "hours_per_week", "native_country"]
several = Cohort.from_frame(
    {**{name: columns[name] for name in (*features, "sex", adult.split)}, **labels},
    target=list(labels), features=features, groups="sex", split=adult.split, task="multilabel", name="adult labels",
)
learner = Named("mlp", 1, {"width": 32, "batch_size": 128, "epochs": 20, "label_weights": "positive"})
(outcome,) = train(material_of(several), learner, [Job(np.arange(20_000), seed=0)])
test = several.where("test")
people = pd.DataFrame({"sex": test["sex"]})
for place, name in enumerate(labels):
    people[name] = test[name].astype(int)
    people[f"predicted {name}"] = outcome.test.values[:, place]
people.to_parquet("labels.parquet")
"""
ESTIMATORS = """
import equipoise
from sklearn.linear_model import LogisticRegression
adult = equipoise.load("adult")
columns = [*adult.features, "income", "sex"]
train, test = (adult.where(split).to_frame("pandas")[columns] for split in ("train", "test"))
people = test[["income", "sex"]].copy()
for treatment in ("untreated", "reweighting"):
    logistic = LogisticRegression(max_iter=1000)
    asked = {"target": "income", "sensitive_features": "sex", "favourable": ">50K"}
    people[treatment] = equipoise.fit(train, **asked, treatment=treatment, learner=logistic).predict(test)
people.to_parquet("people.parquet")
"""
LABEL_NAMES = ("over 50K", "married", "manager or professional", "gains or losses")

CHARTS = (
    Item(
        "measures", "", "", f"audit census.parquet {OUTCOMES} --score score --group sex --group race", "measures.md",
        CENSUS, "rates",
    ),
    Item("treatments", "", "", "study report plan.toml", "treatments.md", TREATMENTS, "effects"),
    Item("conditions", "", "", "study report plan.toml", "conditions.md", CONDITIONS, "curves"),
    Item("learners", "", "", "study report plan.toml", "learners.md", LEARNERS, "front"),
    Item(
        "downstream", "", "", "audit points.npy --embedding points --rows rows.npz --target kind --group sex "
        "--downstream all", "downstream.md", DOWNSTREAM, "downstream",
    ),
    Item(
        "representations", "", "", "compare before.npy after.npy --rows people.csv --group sex",
        "representations.md", CHANGE, "scores",
    ),
    Item(
        "labels", "", "", " ".join([
            "audit labels.parquet --task multilabel --group sex",
            *(f'--target "{name}" --prediction "predicted {name}"' for name in LABEL_NAMES),
        ]), "multi-label.md", LABELS, "contrasts-sex",
    ),
    Item(
        "estimators", "", "", 'audit people.parquet --target income --prediction reweighting --favourable ">50K" '
        "--group sex --against-prediction untreated", "estimators.md", ESTIMATORS, "changes",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Terminal:
    """What commands print, one after another."""

    name: str
    setup: str
    commands: tuple[str, ...]


TERMINALS = (
    Terminal("store", WAITING, ("study status plan.toml",)),
    Terminal(
        "saved-model", STUDY.replace("size = 2000", 'size = 2000\nrounding = "deterministic"'),
        ("study refit plan.toml --treatment reweighting --to reweighted",),
    ),
)  # fmt: skip


def terminal(item: Terminal) -> str:
    """Return what commands print, as a picture that fetches nothing."""
    console = Console(record=True, width=112, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "112"}
        subprocess.run([sys.executable, "-c", item.setup], cwd=folder, env=environment, capture_output=True, check=True)
        for command in item.commands:
            done = subprocess.run(
                [sys.executable, "-m", "equipoise", *shlex.split(command)],
                cwd=folder, env={**environment, "FORCE_COLOR": "1"}, capture_output=True, text=True, check=True,
            )  # fmt: skip
            console.print(Text(f"$ equipoise {command}", style="bold"))
            console.print(Text.from_ansi(done.stdout.replace(f"{Path(folder).resolve()}/", "")))
    picture = console.export_svg(title="equipoise", unique_id=item.name)
    # Rich names a web font; the reader's own monospace font is used in its place.
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


def main() -> None:
    """Write the pictures that are named, or all."""
    wanted = sys.argv[1:]
    for report in made(item for item in CHARTS if not wanted or item.name in wanted):
        (PICTURES / f"{report.item.name}.svg").write_bytes(report.chart)
        print(f"{report.item.name}: {report.sentence}")
    for item in TERMINALS:
        if not wanted or item.name in wanted:
            (PICTURES / f"{item.name}.svg").write_text(terminal(item), encoding="utf-8")
            print(item.name)
    if not wanted or "study-report" in wanted:
        (study,) = made([Item("study", "", "", "study report plan.toml", "study-report.md", STUDY, "front")])
        first_screen(study.page, PICTURES / "study-report.png")
        print(f"study-report: {study.sentence}")


if __name__ == "__main__":
    main()
