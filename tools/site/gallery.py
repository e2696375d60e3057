"""The gallery: reports made of committed data when the site is built, each with the command that made it.

python tools/site/gallery.py    writes a chart of each into docs/pictures, for the pages of the guide, and the first
                                screen of the audit's page (by Chromium). Where a page of the guide writes its data
                                itself, the chart is of those (``WRITTEN``)
"""

from __future__ import annotations

import html
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
WORKERS = 2

CENSUS = """
import equipoise
people = equipoise.load("adult").where("test").to_frame("pandas")
people["stricter"] = (people["score"] >= 0.7).map({True: ">50K", False: "<=50K"})
people.to_parquet("census.parquet")
"""
# A network is trained on the bundled census rows; its last hidden layer is the embedding. With the core's scikit-learn,
# so that a report needs no more than the package.
NETWORK = """
import copy
import warnings
import equipoise
import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier

warnings.simplefilter("ignore")  # it stops after its epochs, not where it has converged
people = equipoise.load("adult").to_frame("pandas")
numbers = people[["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]].astype(float)
numbers[["capital_gain", "capital_loss"]] = np.log1p(numbers[["capital_gain", "capital_loss"]])
words = pd.get_dummies(
    people[["workclass", "marital_status", "occupation", "relationship", "sex", "race"]], dtype=float
)
inputs = np.hstack([(numbers - numbers.mean()) / numbers.std(), words])
rich = (people["income"] == ">50K").to_numpy()
train = np.flatnonzero(people["split"] == "train")[:12000]
test = np.flatnonzero(people["split"] == "test")[:2000]
rows = people.iloc[test][["sex", "race", "age", "income"]].reset_index(drop=True)

def points(network):
    hidden = inputs[test]
    for weights, intercept in zip(network.coefs_[:-1], network.intercepts_[:-1]):
        hidden = np.maximum(hidden @ weights + intercept, 0)
    return hidden

network = MLPClassifier((32, 16), max_iter=12, tol=0, n_iter_no_change=100, batch_size=128, random_state=0)
network.fit(inputs[train], rich[train])
"""
HIDDEN = f"""{NETWORK}
np.save("hidden.npy", points(network))
rows.to_csv("people.csv", index=False)
"""
# The same network goes on for three epochs: with as many rows of every class and sex, and, as a rerun, as before.
FINE_TUNED = f"""{NETWORK}
draw = np.random.default_rng(0)
cells = people.iloc[train].groupby(["income", "sex"]).indices.values()
balanced = np.concatenate([draw.choice(train[cell], len(train) // 4) for cell in cells])
again, tuned = copy.deepcopy(network), copy.deepcopy(network)
for _ in range(3):
    for model, chosen in ((again, train), (tuned, balanced)):
        order = draw.permutation(chosen)
        model.partial_fit(inputs[order], rich[order])
np.save("before.npy", points(network))
np.save("after.npy", points(tuned))
np.save("rerun.npy", points(again))
for name, model in (("before", network), ("after", tuned)):
    rows[name] = np.where(model.predict(inputs[test]), ">50K", "<=50K")
rows.to_csv("people.csv", index=False)
"""
# The committed runs of 11 techniques on CIFAR-10S (docs/papers/004.md), as a table.
IDENTICAL_RUNS = f"""
import json
from pathlib import Path
runs = json.loads(Path({str(ROOT / "docs" / "papers" / "004" / "cifar10s.json")!r}).read_text())
with open("runs.csv", "w") as file:
    file.write("technique,metric,run,value\\n")
    for technique, made in runs["techniques"].items():
        for metric in ("DP", "DI", "EOFP", "EOTP", "accuracy"):
            for run, value in enumerate(made["measures"][metric]["values"]):
                file.write(f"{{technique}},{{metric}},{{run}},{{value}}\\n")
"""
POINTS = """
import numpy as np
draw = np.random.default_rng(0)
identity = np.arange(600) % 12
sex = draw.choice(["man", "woman"], 600, p=[0.7, 0.3])
noise = draw.normal(size=(600, 16)) * np.where(sex == "woman", 1.6, 1.0)[:, None]
np.save("faces.npy", 1.2 * draw.normal(size=(12, 16))[identity] + noise)
np.savez("faces.npz", identity=identity, sex=sex)
"""
CHANGE = """
import numpy as np
import pandas as pd
draw = np.random.default_rng(0)
people = pd.DataFrame({
    "sex": draw.choice(["Female", "Male"], 1000, p=[0.33, 0.67]),
    "race": draw.choice(["Black", "White"], 1000),
    "age": draw.integers(18, 70, 1000),
})
hit = ((people["sex"] == "Female") & (people["age"] < 35)).to_numpy() & (draw.random(1000) < 0.7)
before = draw.normal(size=(1000, 16))
after = before + 0.1 * draw.normal(size=before.shape)
after[hit] += draw.normal(size=(hit.sum(), 16))
np.save("before.npy", before)
np.save("after.npy", after)
people.to_csv("people.csv", index=False)
"""
RUNS = """
import random
random.seed(4)
plan = {
    "untreated": {"DP": (0.30, 0.010), "accuracy": (0.90, 0.002)},
    "reweighting": {"DP": (0.27, 0.020), "accuracy": (0.89, 0.002)},
    "adversarial": {"DP": (0.30, 0.040), "accuracy": (0.90, 0.002)},
}
with open("runs.csv", "w") as file:
    file.write("technique,metric,run,value\\n")
    for technique, metrics in plan.items():
        for metric, (mean, spread) in metrics.items():
            for run in range(16):
                file.write(f"{technique},{metric},{run},{random.gauss(mean, spread):.4f}\\n")
"""
STUDY = """
import subprocess
import sys
from pathlib import Path
Path("plan.toml").write_text('''schema = "equipoise.study-plan/1"
group = "sex"
seeds = 5
size = 2000
cohort = { name = "adult", dev = 0.2 }
learner = { name = "mlp", width = 32, epochs = 10 }
treatments = [
  { name = "untreated" },
  { name = "reweighting" },
  { name = "downsampling" },
  { name = "threshold_optimizer" },
]
''')
subprocess.run([sys.executable, "-m", "equipoise", "study", "run", "plan.toml", "--quiet"], check=True)
"""
OUTCOMES = '--target income --prediction predicted --favourable ">50K"'


@dataclass(frozen=True)
class Item:
    """One report: the question that it answers, the data it is made of, and the command that makes it."""

    name: str
    question: str
    data: str
    command: str
    guide: str
    setup: str = ""
    chart: str = ""  # a part of the name of the chart that stands for it


ITEMS = (
    Item(
        "audit", "Does the model treat a group worse?", "census data of the package",
        f"audit census.parquet {OUTCOMES} --score score --group sex --group race", "audit.md", CENSUS, "contrasts",
    ),
    Item(
        "change", "Did the new model treat anyone worse than the old one?", "the same people, two models",
        'audit census.parquet --target income --prediction stricter --favourable ">50K" --group sex '
        "--against-prediction predicted", "audit.md#what-changed", CENSUS, "change",
    ),
    Item(
        "ranking", "Who is on the first page of a ranking?", "census data, ranked by a score",
        "ranking census.parquet --score score --group sex --group race --top 100 --top 10%", "ranking.md", CENSUS,
    ),
    Item(
        "embedding", "Does an embedding serve every group?",
        "2,000 people of the census in the last hidden layer of a network, which is trained for the site",
        "audit hidden.npy --embedding points --rows people.csv --target income --group sex",
        "embeddings.md", HIDDEN, "gap",
    ),
    Item(
        "compare", "Whom did a change touch?",
        "the same network before and after three more epochs with balanced rows, and a rerun with the rows as they are",
        "compare before.npy after.npy --rerun rerun.npy --rows people.csv --group sex --group race --describe age "
        "--prediction-before before --prediction-after after",
        "compare.md", FINE_TUNED,
    ),
    Item(
        "evidence", "Would another training run say the same?",
        "16 identical runs of each technique on CIFAR-10S, [committed](../papers/004.md)",
        "evidence runs.csv --baseline untreated --performance accuracy", "evidence.md", IDENTICAL_RUNS,
    ),
    Item(
        "study", "Which treatment is best, is it real, and what does it cost?", "census data of the package",
        "study report plan.toml", "study-report.md", STUDY, "front",
    ),
    Item(
        "discovery", "Does the classifier react to something unnamed?", "pictures with a planted bias",
        "demo discover", "discovery.md",
    ),
    Item(
        "reproduction", "Which findings of a paper hold in our own runs?", "runs that come with the package",
        "reproduce 004", "study-report.md",
    ),
)  # fmt: skip


# Pages of the guide that write their data themselves show charts of those.
WRITTEN = (
    Item(
        "embedding", "", "600 generated points",
        "audit faces.npy --embedding points --rows faces.npz --target identity --group sex",
        "embeddings.md", POINTS, "gap",
    ),
    Item(
        "compare", "", "1,000 generated people, whose representation changed",
        "compare before.npy after.npy --rows people.csv --group sex --group race --describe age",
        "compare.md", CHANGE,
    ),
    Item(
        "evidence", "", "generated results of 16 runs",
        "evidence runs.csv --baseline untreated --performance accuracy", "evidence.md", RUNS,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A report as it was made: its page, its first sentence and one of its charts."""

    item: Item
    page: bytes
    sentence: str
    chart: bytes


def made(items: Iterable[Item] = ITEMS) -> list[Made]:
    """Return the reports, some of them made at the same time."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(_made, items))


def _made(item: Item) -> Made:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        outputs = ["--html", "page.html", "--figures", "figures", "--markdown", "summary.md"]
        for command in (["-c", item.setup], ["-m", "equipoise", *shlex.split(item.command), *outputs, "--quiet"]):
            done = subprocess.run(
                [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise RuntimeError(f"gallery: {item.command}\n{done.stderr}")
        home = Path(folder)
        charts = sorted(home.glob("figures/*.svg"))
        chosen = next((chart for chart in charts if item.chart and item.chart in chart.stem), charts[0])
        summary = (home / "summary.md").read_text(encoding="utf-8").splitlines()
        sentence = html.unescape(next(line for line in summary if line.startswith("**"))).strip("*").replace("\\", "")
        return Made(item, (home / "page.html").read_bytes(), sentence, chosen.read_bytes())


def page(reports: Iterable[Made]) -> str:
    """Return the page of the gallery."""
    from reference import prose

    parts = [
        "# Gallery",
        "Real reports, made when this site was built, of real data but for the pictures with a planted bias. Each is "
        "one file that works offline; click its picture.",
    ]
    for report in reports:
        item = report.item
        parts += [
            f"## {item.question}",
            f"[![The page of {item.command.split()[0]}](pictures/{item.name}.svg)](pages/{item.name}.html)",
            f"> {prose(report.sentence)}",
            f"[Open the report](pages/{item.name}.html). Data: {item.data}. [How to read it](../guide/{item.guide}).",
            f"```console\n$ equipoise {item.command}\n```",
        ]
    return "\n\n".join(part for part in parts if part)


def main() -> None:
    """Write a chart of each report into the folder of pictures."""
    items = {item.name: item for item in (*ITEMS, *WRITTEN)}.values()
    for report in made(item for item in items if not sys.argv[1:] or item.name in sys.argv[1:]):
        (PICTURES / f"{report.item.name}.svg").write_bytes(report.chart)
        print(f"{report.item.name}: {report.sentence}")
        if report.item.name == "audit":
            first_screen(report.page, PICTURES / "audit.png")


def first_screen(page: bytes, picture: Path) -> None:
    """Take a picture of the first screen of a page, as a desktop shows it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.html").write_bytes(page)
        command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += ["--window-size=1300,900", "--virtual-time-budget=5000", f"--user-data-dir={folder}/profile"]
        command += [f"--screenshot={picture}", (Path(folder) / "page.html").as_uri()]
        subprocess.run(command, capture_output=True, check=True)


if __name__ == "__main__":
    main()
