"""Pictures of the guide that belong to no report of the gallery, each with the data and the command that make it.

python tools/site/guide_pictures.py [NAME]...    writes them into docs/pictures: charts, pages and what a terminal shows
"""

from __future__ import annotations

import html
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gallery import CENSUS, CHANGE, ITEMS, OUTCOMES, PICTURES, STUDY, Item, first_screen, made
from rich.console import Console
from rich.text import Text

import equipoise

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
from equipoise.training import Job, encode_dataset, train
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
(outcome,) = train(encode_dataset(several), learner, [Job(np.arange(20_000), seed=0)])
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


INK, GREY, BLUE, ORANGE = "#1b2733", "#5b6670", "#56b4e9", "#b3470f"


def svg(width: int, height: int, parts: list[str], font: str) -> str:
    """Return a picture of its parts, with a white ground."""
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    ground = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([f'{start}font-family="{font}" font-size="13">', ground, *parts, "</svg>", ""])


def text(x: float, y: float, words: str, fill: str = INK, anchor: str = "start", weight: str = "normal") -> str:
    """Return words at a place."""
    style = f'fill="{fill}" text-anchor="{anchor}" font-weight="{weight}" xml:space="preserve"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{html.escape(words)}</text>'


def card() -> str:
    """Draw the card of Adult: how many people of each group there are, and how many of them earn more than 50K."""
    parts = [text(20, 28, "Adult, test split: people of each group, and the share that earns >50K", weight="bold")]
    rows = [row for row in equipoise.load("adult").card().groups if row.split == "test"]
    y, attribute = 40, ""
    for row in rows:
        if row.attribute != attribute:
            attribute, y = row.attribute, y + 26
            parts.append(text(20, y, attribute, weight="bold"))
        y += 24
        share, wide = row.classes[">50K"] / row.rows, 300 * row.share
        parts += [
            text(170, y, row.group, anchor="end"),
            text(245, y, f"{row.rows:,}", GREY, "end"),
            f'<rect x="260" y="{y - 12}" width="{wide:.1f}" height="15" fill="#d5dbe1"/>',
            f'<rect x="260" y="{y - 12}" width="{wide * share:.1f}" height="15" fill="{BLUE}"/>',
            text(610, y, f"{100 * share:.1f}%", anchor="end"),
        ]
    return svg(640, y + 22, parts, "sans-serif")


# The fields of a record that the picture shows, and what each says.
FIELDS = {
    "measure": "what was measured",
    "kind": "a number of one group, or a comparison",
    "class": "of which class",
    "attribute": "by which column",
    "group": "of whom",
    "against": "compared with whom",
    "value": "the number",
    "low": "its interval,",
    "high": "from low to high,",
    "level": "at the level that decides",
    "p_adjusted": "corrected for all tests of the report",
    "finding": "significant, and the interval leaves out 0",
    "status": "whether there is a number at all",
}


def record() -> str:
    """Draw a record of the JSON with what its fields mean."""
    result = equipoise.audit(equipoise.load("adult").where("test"))
    (found,) = result.find("selection_rate", kind="contrast", attribute="sex", scope="favourable")
    written = next(
        row for row in json.loads(result.to_json())["records"]
        if row["kind"] == "contrast" and row["measure"] == found.measure and row["scope"] == "favourable"
        and row["attribute"] == ["sex"]
    )  # fmt: skip
    parts, y = [text(20, 30, "{")], 30
    for field, meaning in FIELDS.items():
        y += 22
        value = written[field]
        shown = json.dumps(float(f"{value:.4g}") if isinstance(value, float) else value)
        parts += [text(36, y, f'"{field}": {shown},'), text(330, y, meaning and f"← {meaning}", ORANGE)]
    parts += [text(36, y + 22, "..."), text(20, y + 44, "}")]
    return svg(690, y + 62, parts, "monospace")


DRAWINGS = {"cohorts": card, "record": record}
# Pages of which the first screen is shown.
SCREENS = {
    "study-report": Item("study", "", "", "study report plan.toml", "study-report.md", STUDY, "front"),
    "discovery": next(item for item in ITEMS if item.name == "discovery"),
}


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
    for name, draw in DRAWINGS.items():
        if not wanted or name in wanted:
            (PICTURES / f"{name}.svg").write_text(draw(), encoding="utf-8")
            print(name)
    for name, item in SCREENS.items():
        if not wanted or name in wanted:
            (report,) = made([item])
            first_screen(report.page, PICTURES / f"{name}.png")
            print(f"{name}: {report.sentence}")


if __name__ == "__main__":
    main()
