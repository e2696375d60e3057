"""A study kept as a page of TOML: read strictly; an error says the line, what is allowed and the nearest name."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.foundation.errors import BadInput
from equipoise.foundation.toml_files import read_toml
from equipoise.measures.objectives import Fairness, Performance
from equipoise.studies.plans.naming import BadPlan, ChooseBy, Place
from equipoise.studies.plans.plan_errors import refused, told
from equipoise.studies.plans.planned_cohort import names_of, planned_cohort
from equipoise.training.material import Precision, Rounding, Selection

if TYPE_CHECKING:
    from equipoise.cohorts.cohort import Cohort
    from equipoise.studies.study import Study

SCHEMA = "equipoise.study-plan/1"

Names = str | list[str]
Whole = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
Effect = Annotated[float, Field(gt=0, lt=1)]


class CohortPlan(BaseModel):
    """Who is studied: a registered cohort by name, or a file with the parts that its columns play."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(None, description="A registered cohort (equipoise list cohorts), or a name for the file.")
    file: str | None = Field(None, description="CSV, Parquet or Arrow, as seen from the plan.")
    path: str | None = Field(None, description="Where a registered cohort's own file is, as seen from the plan.")
    options: dict[str, str | int | float | bool] = Field(
        {}, description="Further options of a registered cohort, such as skew = 0.95 of cifar10s."
    )
    target: str | None = Field(None, description="The true outcome (of a file), or another column of a cohort as such.")
    groups: Names = Field([], description="Columns of groups (of a file), or other columns of a cohort as such.")
    features: Names = Field(
        [], description="Columns to learn from (of a file), by name or by a pattern such as e*; by default all others."
    )
    split: str | None = Field(None, description="The column that says train, dev or test (of a file).")
    favourable: str | int | float | bool | None = Field(None, description="The class people want to get.")
    task: Literal["class", "regression"] = Field("class", description="What is predicted (of a file).")
    cluster: str | None = Field(None, description="The column of rows that belong together (of a file).")
    pictures: str | None = Field(
        None, description="The column that names picture files, as seen from the file; they are the only feature then."
    )
    resize: Positive | None = Field(None, description="The side in pixels that all pictures are brought to.")
    on_damaged: Literal["stop", "skip"] = Field("stop", description="What is done about a picture that is damaged.")
    extra_columns: str | None = Field(
        None, description="A table with the same rows in the same order, such as equipoise label writes: more columns."
    )
    dev: Share | None = Field(None, description="Where there is no dev split: a seeded share of the training rows.")
    test: Share | None = Field(None, description="Where there is no test split: a seeded share of the training rows.")
    split_seed: Whole = Field(0, description="Which rows these shares take.")
    split_within: Literal["class"] | None = Field(
        None, description="Take these shares of the rows of each class, and not of all training rows together."
    )


class Entry(BaseModel):
    """A registered thing by name; every other key is one of its settings."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str = Field(description="The registered name.")


class TreatmentEntry(Entry):
    """A treatment by name, or several that compose in order; every other key is a hyper-parameter, a list is a grid."""

    name: Names = Field(description="The registered name (equipoise list treatments), or several.")  # type: ignore[assignment]


class StudyPlan(BaseModel):
    """A study: which trials there are. Paths are relative to the file itself."""

    model_config = ConfigDict(extra="forbid", strict=True, title="A plan of a study")

    schema_: Literal["equipoise.study-plan/1"] = Field(
        "equipoise.study-plan/1", alias="schema", description="The form of this file."
    )
    cohort: CohortPlan = Field(description="Who is studied.")
    group: Names = Field([], description="The group column; several are crossed. Not needed where there is one.")
    conditions: Annotated[list[Entry], Field(min_length=1)] = Field(
        [Entry(name="as_given")], description="Distributions of the training data; a list in a setting is several."
    )
    size: Positive | None = Field(
        None, description="Training rows of every condition; by default as many as none of them has to repeat."
    )
    learner: Entry | Annotated[list[Entry], Field(min_length=1)] = Field(
        Entry(name="mlp"), description="What is trained, with its settings; a list in a setting is several learners."
    )
    treatments: Annotated[list[TreatmentEntry], Field(min_length=1)] = Field(
        [TreatmentEntry(name="untreated")], description="What is done about the bias, and what it is held against."
    )
    seeds: Positive | Annotated[list[Whole], Field(min_length=1)] = Field(
        5, description="How many seeds (0, 1, ...), or which. A seed draws the rows and starts the network."
    )
    repeats: Positive = Field(1, description="Identical runs of each trial: the same seed again.")
    rounding: Rounding = Field(
        "native", description="native, jitter (another rounding each repeat), deterministic, or deterministic jitter."
    )
    precision: Precision = Field(
        "float32", description="float32, float64, tf32 (short products of a card) or bfloat16 (pictures alone)."
    )
    device: Literal["cpu", "cuda"] = Field("cpu", description="Where trials are trained.")
    selection: Selection | Annotated[list[Selection], Field(min_length=1)] = Field(
        "dto", description="The epoch with the best dev DTO or dev performance, or the last; a list runs several ways."
    )
    performance: Performance | None = Field(
        None,
        description="What epochs and treatments are chosen by: accuracy, balanced_accuracy, auc or f1 (macro); of a "
        "regression pearson or r2. By default accuracy (pearson), or balanced_accuracy where the largest class of the "
        "original training rows is more than four times the smallest.",
    )
    fairness: Fairness = Field(
        "GAP",
        description="The fairness that epochs and treatments are chosen by, better high: 1 - GAP, 1 - DP, 1 - EO, "
        "1 - EOTP, or worst_group, the performance in the group in which it is lowest.",
    )
    stack: Positive | None = Field(None, description="Most trials that train together; by default by their size.")
    measures: Names = Field([], description="Measures the report tells; by default accuracy, fairness and DTO.")
    baseline: str | None = Field(None, description="The treatment that others are held against; by default untreated.")
    smallest_effect: Effect = Field(
        0.02,
        description="The change that is worth detecting (0.02 is 2 points): study check says whether the plan can, an "
        "undecided verdict what would.",
    )
    equivalence_margin: Effect | None = Field(
        None,
        description="How far a change may go and still be irrelevant: adds a test that it is within -d to d. The store "
        "records it before results are read.",
    )
    against: Names = Field(
        [], description="Treatments that every other one is compared with besides the baseline, or all."
    )
    choose_by: ChooseBy = Field(
        "recall@1",
        description="Where trials embed rows: of a treatment's settings the one with most of it in the worst group of "
        "dev rows speaks for it. nmi where most classes have one row.",
    )


def schema_text() -> str:
    """Return the JSON schema of the file, as it is published."""
    start = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA}
    return json.dumps({**start, **StudyPlan.model_json_schema()}, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Plan:
    """A plan as it was read, with its text, so that an error can say a line."""

    file: Path
    text: str
    said: StudyPlan

    def cohort(self) -> Cohort:
        """Load the cohort."""
        with self.located("cohort"):
            return planned_cohort(self.said.cohort, self.file)

    def study(self) -> Study:
        """Make the study; what the plan says about data, treatments and the rest is checked against what there is."""
        from equipoise.studies.study import Study

        said = self.said
        cohort = self.cohort()
        with self.located():
            return Study(
                cohort,
                group=names_of(said.group) or None,
                conditions=[entry.model_dump() for entry in said.conditions],
                treatments=[entry.model_dump() for entry in said.treatments],
                learner=[one.model_dump() for one in said.learner]
                if isinstance(said.learner, list)
                else said.learner.model_dump(),
                seeds=said.seeds,
                repeats=said.repeats,
                size=said.size,
                rounding=said.rounding,
                precision=said.precision,
                device=said.device,
                selection=said.selection,
                performance=said.performance,
                fairness=said.fairness,
                stack=said.stack,
                dev=said.cohort.dev,
                test=said.cohort.test,
                split_seed=said.cohort.split_seed,
                split_within=said.cohort.split_within,
                measures=names_of(said.measures),
                baseline=said.baseline,
                choose_by=said.choose_by,
                smallest_effect=said.smallest_effect,
                equivalence_margin=said.equivalence_margin,
                against=names_of(said.against),
                name=self.file.stem,
            )

    def located(self, *place: str | int) -> _Located:
        """Let an error that is raised inside say the file and the line."""
        return _Located(self, place)


class _Located:
    def __init__(self, plan: Plan, place: Place) -> None:
        self.plan, self.place = plan, place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        own = error.place if isinstance(error, BadPlan) else ()
        if isinstance(error, BadInput) and (own or self.place):  # what has no place in the plan is no fault of it
            raise told(error, self.plan.file, self.plan.text, (*self.place, *own)) from error


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan; keys and types are checked, names not yet."""
    file = Path(path)
    text, content = read_toml(
        file, "plan", example='group = "sex"', available="a TOML file, or a folder that study pack wrote"
    )
    try:
        return Plan(file, text, StudyPlan.model_validate(content))
    except ValidationError as error:
        raise refused(error, file, text, StudyPlan) from None
