"""A study kept as a page of TOML: read strictly; an error says the line, what is allowed and the nearest name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from equipoise.foundation import (
    BadInput,
    read_toml,
    unknown_name,
)
from equipoise.measures import (
    Fairness,
    Performance,
)
from equipoise.stats import LOOKS
from equipoise.studies.plans import BadPlan, ChooseBy, PlanPath
from equipoise.training import Precision, Rounding, Selection, relative_to_plan

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

    from equipoise.cohorts import Cohort
    from equipoise.studies._study import Study


# Settings of learners that may name own code or weights in a file.
OF_OWN_CODE = {"network", "backbone", "factory", "estimator", "weights"}
HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*(=|\.)")

# What is allowed, by what pydantic found wrong.
ALLOWED = {
    "string_type": "text in quotes", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "list_type": 'a list such as ["a", "b"]',
    "dict_type": "a table", "model_type": "a table", "model_attributes_type": "a table",
}  # fmt: skip


def located_error(error: BadInput, file: Path, text: str, place: PlanPath) -> BadInput:
    """Return an error that begins with the file, the line and the field."""
    return BadInput(f"{_where(file, text, place)}: {error.given}", available=error.available, help=error.help)


def refused(error: ValidationError, file: Path, text: str, model: type[BaseModel]) -> BadInput:
    """Say which key is wrong, what it holds, and what it may hold."""
    faults = error.errors()
    unknown = next((item for item in faults if item["type"] == "extra_forbidden"), None)
    if unknown is not None:
        path: PlanPath = tuple(unknown["loc"])
        table = str(path[-2]) if len(path) > 1 else "a plan"
        return located_error(unknown_name("key", str(path[-1]), _keys(model, path), table), file, text, path)
    absent = next((item for item in faults if item["type"] == "missing"), None)
    if absent is not None:
        path = _plain_place(absent["loc"])
        return located_error(
            BadInput(f"There is no {path[-1]}", available=str(_field(model, path))), file, text, path[:-1]
        )
    path = _plain_place(faults[0]["loc"])
    same_key = [item for item in faults if _plain_place(item["loc"])[:1] == path[:1]]
    allowed = dict.fromkeys(_allowed(item["type"], item.get("ctx", {}), item["msg"]) for item in same_key)
    value = same_key[-1]["input"]
    return located_error(
        BadInput(f"{path[-1]} is {value!r}", available=_allowed_at(path, " or ".join(allowed))), file, text, path
    )


def _allowed(kind: str, context: dict[str, object], message: str) -> str:
    if kind == "literal_error":
        return str(context["expected"])
    limits = {"greater_than_equal": ("ge", "{} or more"), "greater_than": ("gt", "more than {}"),
              "less_than": ("lt", "less than {}"), "too_short": ("min_length", "at least {} of them")}  # fmt: skip
    if kind in limits:
        name, words = limits[kind]
        return words.format(context[name])
    return ALLOWED.get(kind, message)


def _allowed_at(place: PlanPath, allowed: str) -> str:
    """Give numbers as the example of a list where numbers are meant."""
    return allowed.replace('["a", "b"]', "[0, 1, 2]") if place == ("seeds",) else allowed


def _plain_place(place: Sequence[str | int]) -> PlanPath:
    """Leave out what pydantic adds to tell the members of a union apart."""
    return tuple(part for part in place if isinstance(part, int) or re.fullmatch(r"[a-z_]+", part))


def _keys(model: type[BaseModel], place: PlanPath) -> list[str]:
    """Return the keys that the table at a place may have."""
    for part in place[:-1]:
        inner: Any = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        model = inner if isinstance(inner, type) else model
    return [field.alias or name for name, field in model.model_fields.items()]


def _field(model: type[BaseModel], place: PlanPath) -> str:
    name = str(place[-1])
    return f"{name} = ... ({model.model_fields[name].description})" if name in model.model_fields else f"{name} = ..."


def _where(file: Path, text: str, key_path: PlanPath) -> str:
    line = line_of(text, key_path)
    field = "".join(f" {part + 1}" if isinstance(part, int) else f"{', ' if at else ''}{part}"
                    for at, part in enumerate(key_path))  # fmt: skip
    return file.name + (f", line {line}" if line else "") + (f" ({field})" if field else "")


def line_of(text: str, place: PlanPath) -> int | None:
    """Return the line of a key, or of the nearest table around it; None where there is neither."""
    best, depth = None, 0
    for number, key_path in enumerate(_places(text), start=1):
        if key_path and key_path == place[: len(key_path)] and len(key_path) > depth:
            best, depth = number, len(key_path)
    return best


def _places(text: str) -> list[PlanPath]:
    """Return where each line of a plan belongs; an empty place for lines that begin nothing."""
    table: PlanPath = ()
    counts: dict[str, int] = {}
    places: list[PlanPath] = []
    for line in text.splitlines():
        header, key = HEADER.match(line), KEY.match(line)
        if header is not None and "=" not in line.partition("#")[0].partition("]")[0]:
            name = header[2].strip("\"'")
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
            else:
                table = tuple(part.strip(" \"'") for part in name.split("."))
            places.append(table)
        elif key is not None:
            places.append((*table, key[1].strip("\"'")))
        else:
            places.append(())
    return places


SCHEMA = "equipoise.study-plan/1"

Names = str | list[str]
Integer = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]
Effect = Annotated[float, Field(gt=0, lt=1)]


class CohortPlan(BaseModel):
    """Who is studied: a registered cohort by name, or a file with the parts that its columns play."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str | None = Field(None, description="A registered cohort (equipoise list cohorts), or a name for the file.")
    file: str | None = Field(None, description="CSV, Parquet or Arrow, relative to the plan.")
    path: str | None = Field(None, description="The file of a registered cohort, relative to the plan.")
    options: dict[str, str | int | float | bool] = Field(
        {}, description="More options of a registered cohort, such as skew = 0.95 of cifar10s."
    )
    target: Names | None = Field(
        None,
        description="The true outcome (of a file), or another column of a registered cohort; the columns of several "
        "labels as a list.",
    )
    groups: Names = Field([], description="Columns of groups (of a file), or other columns of a registered cohort.")
    features: Names = Field(
        [], description="Columns to learn from (of a file), by name or by a pattern such as e*; by default all others."
    )
    split: str | None = Field(None, description="The column that says train, dev or test (of a file).")
    favourable: str | int | float | bool | None = Field(None, description="The class people want to get.")
    task: Literal["class", "regression", "multilabel"] = Field("class", description="What is predicted (of a file).")
    quantiles: Literal[4, 10] | None = Field(
        None,
        description="Into how many parts the target of a regression is cut where classes are needed: 4 (usual) or 10.",
    )
    cluster: str | None = Field(None, description="The column of rows that belong together (of a file).")
    pictures: str | None = Field(
        None, description="The column of picture files, relative to the file; they are then the only feature."
    )
    resize: Positive | None = Field(None, description="Resize all pictures to this side, in pixels.")
    on_damaged: Literal["stop", "skip"] = Field("stop", description="What to do with a damaged picture.")
    text: Names = Field(
        [],
        description="Columns of texts (of a file): the embedding of each text is the feature, by a sentence encoder.",
    )
    encoder: str = Field(
        "all_minilm_l6_v2", description="The sentence encoder of these texts (equipoise list sentence_encoders)."
    )
    extra_columns: str | None = Field(
        None, description="A table with the same rows in the same order, such as equipoise label writes: more columns."
    )
    dev: Share | None = Field(None, description="Without a dev split: a seeded share of the training rows.")
    test: Share | None = Field(None, description="Without a test split: a seeded share of the training rows.")
    split_seed: Integer = Field(0, description="The seed of these shares.")
    split_within: Literal["class"] | None = Field(
        None, description="Take these shares within each class instead of from all training rows together."
    )


class Entry(BaseModel):
    """A registered thing by name; every other key is one of its settings."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str = Field(description="The registered name.")


class TreatmentEntry(Entry):
    """A treatment by name, or several that compose in order; every other key is a hyper-parameter, a list is a grid."""

    name: Names = Field(description="The registered name (equipoise list treatments), or several.")  # type: ignore[assignment]


class StoppingPlan(BaseModel):
    """When a study that adds seeds stops."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rule: Literal["looks", "anytime"] = Field(
        "looks",
        description="looks tests at the looks alone, at one nominal level (Pocock); anytime is a confidence sequence.",
    )
    looks: Annotated[list[Positive], Field(min_length=1)] = Field(
        list(LOOKS), description="Numbers of seeds at which comparisons are decided; the last is the budget."
    )
    seeds_share: Share | None = Field(
        None,
        description="With anytime: the part of the level that is spent on seeds, by default 0.8; people have the rest.",
    )


class SearchPlan(BaseModel):
    """Settings are searched before the trials that give the verdicts, of every arm equally many."""

    model_config = ConfigDict(extra="forbid", strict=True)

    trials: Positive = Field(20, description="Settings to try for every arm, the baseline too; the first has defaults.")
    generation: Positive = Field(10, description="How many of them are chosen and trained at once.")
    seeds: Positive = Field(
        1,
        description="Seeds of each setting, none of which gives a verdict. Of a generation the better half goes on to "
        "the next seed.",
    )
    per_condition: bool = Field(
        True, description="Search under every condition; false: under the first, and use its settings under all."
    )
    ranges: dict[str, Any] = Field(
        {},
        description="Ranges in place of the declared ones (equipoise list treatments): learning_rate = [1e-4, 1e-1]; "
        "of one treatment in a table of its name.",
    )


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
        None, description="Training rows in every condition; by default the most for which no condition repeats rows."
    )
    learner: Entry | Annotated[list[Entry], Field(min_length=1)] = Field(
        Entry(name="mlp"), description="What is trained, with its settings; a list in a setting is several learners."
    )
    treatments: Annotated[list[TreatmentEntry], Field(min_length=1)] = Field(
        [TreatmentEntry(name="untreated")],
        description="The treatments of the bias, with the baseline they are compared with.",
    )
    seeds: Positive | Annotated[list[Integer], Field(min_length=1)] | Literal["auto"] = Field(
        5,
        description="How many seeds (0, 1, ...), or which; auto adds paired seeds until each comparison is decided. "
        "A seed draws the rows and starts the network.",
    )
    stopping: StoppingPlan | None = Field(None, description='When a study with seeds = "auto" stops.')
    repeats: Positive = Field(1, description="Identical runs of each trial: the same seed again.")
    rounding: Rounding = Field(
        "native", description="native, jitter (another rounding each repeat), deterministic, or deterministic jitter."
    )
    precision: Precision = Field(
        "float32",
        description="float32, float64, tf32 (faster products on a graphics card) or bfloat16 (pictures only).",
    )
    device: Literal["cpu", "cuda"] = Field("cpu", description="Where trials are trained.")
    selection: Selection | Annotated[list[Selection], Field(min_length=1)] = Field(
        "dto", description="The epoch with the best dev DTO or dev performance, or the last; a list runs each of them."
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
    stack: Positive | None = Field(
        None, description="The most trials that train together; by default chosen by their size."
    )
    measures: Names = Field([], description="Measures in the report; by default accuracy, fairness and DTO.")
    baseline: str | None = Field(
        None, description="The baseline that treatments are compared with; by default untreated."
    )
    smallest_effect: Effect = Field(
        0.02,
        description="The change that is worth detecting (0.02 is 2 points): study check says whether the plan can, an "
        "inconclusive verdict what would.",
    )
    equivalence_margin: Effect | None = Field(
        None,
        description="The largest irrelevant change d: adds a test that a change is within -d to d. The store "
        "records it before results are read.",
    )
    against: Names = Field(
        [], description="Treatments that every other one is compared with besides the baseline, or all."
    )
    search: SearchPlan | None = Field(
        None, description="Search hyper-parameters first; by default trials have the settings of the plan."
    )
    choose_by: ChooseBy = Field(
        "recall@1",
        description="Where trials embed rows: the setting of a treatment with most of it in the worst group of "
        "dev rows represents it. nmi where most classes have one row.",
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
    content: StudyPlan

    def cohort(self) -> Cohort:
        """Load the cohort."""
        with self.located("cohort"):
            return planned_cohort(self.content.cohort, self.file)

    def study(self) -> Study:
        """Make the study; what the plan says about data, treatments and the rest is checked against what there is."""
        from equipoise.studies._study import Study

        content = self.content
        cohort = self.cohort()
        with self.located():
            return Study(
                cohort,
                group=names_of(content.group) or None,
                conditions=[entry.model_dump() for entry in content.conditions],
                treatments=[entry.model_dump() for entry in content.treatments],
                learner=[self._with_files(learner) for learner in content.learner]
                if isinstance(content.learner, list)
                else self._with_files(content.learner),
                seeds=content.seeds,
                stopping=None if content.stopping is None else content.stopping.model_dump(exclude_none=True),
                repeats=content.repeats,
                size=content.size,
                rounding=content.rounding,
                precision=content.precision,
                device=content.device,
                selection=content.selection,
                performance=content.performance,
                fairness=content.fairness,
                stack=content.stack,
                dev=content.cohort.dev,
                test=content.cohort.test,
                split_seed=content.cohort.split_seed,
                split_within=content.cohort.split_within,
                measures=names_of(content.measures),
                baseline=content.baseline,
                choose_by=content.choose_by,
                smallest_effect=content.smallest_effect,
                equivalence_margin=content.equivalence_margin,
                against=names_of(content.against),
                search=None if content.search is None else content.search.model_dump(),
                name=self.file.stem,
            )

    def _with_files(self, learner: Entry) -> dict[str, Any]:
        """Return what a plan says of a learner, with own code and weights in files as seen from the plan."""
        settings: dict[str, Any] = learner.model_dump()
        for name in OF_OWN_CODE & set(settings):
            value = settings[name]
            several = isinstance(value, list)
            paths = [relative_to_plan(file_name, self.file.parent) for file_name in (value if several else [value])]
            settings[name] = paths if several else paths[0]
        return settings

    def located(self, *place: str | int) -> _Located:
        """Let an error that is raised inside say the file and the line."""
        return _Located(self, place)


class _Located:
    def __init__(self, plan: Plan, place: PlanPath) -> None:
        self.plan, self.path = plan, place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        entry_place = error.path if isinstance(error, BadPlan) else ()
        if isinstance(error, BadInput) and (
            entry_place or self.path
        ):  # what has no place in the plan is no fault of it
            raise located_error(error, self.plan.file, self.plan.text, (*self.path, *entry_place)) from error


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


OF_PICTURES = ("resize", "on_damaged")
# What a plan says of a file, and not of a registered cohort.
OF_FILE = ("features", "split", "cluster", "pictures", *OF_PICTURES, "text", "encoder")


def planned_cohort(plan_entry: CohortPlan, plan: Path) -> Cohort:
    """Load the cohort; paths are as seen from the plan."""
    if plan_entry.file is None:
        return _registered(plan_entry, plan)
    if plan_entry.options:
        raise _misplaced("options", f"options are given for the file {plan_entry.file!r}", "they are for name =.")
    if plan_entry.target is None or not plan_entry.groups:
        absent = "target" if plan_entry.target is None else "groups"
        raise BadInput(f"The cohort of {plan_entry.file!r} has no {absent}", help=f"name the column: {absent} = ...")
    for name in _keys_given(plan_entry, OF_PICTURES) if plan_entry.pictures is None else []:
        raise _misplaced(name, f"{name} is given, and no pictures", "name their column: pictures = ...")
    if plan_entry.pictures is not None and plan_entry.features:
        raise _misplaced("features", "features are named together with pictures", "pictures are the only feature.")
    if plan_entry.pictures is not None and plan_entry.text:
        raise _misplaced("text", "texts are named together with pictures", "pictures are the only feature.")
    if _keys_given(plan_entry, ("encoder",)) and not plan_entry.text:
        raise _misplaced("encoder", "encoder is given, and no texts", "name their column: text = ...")
    return _of_file(plan_entry, os.path.join(plan.parent, plan_entry.file), _extra(plan_entry, plan))


def _registered(plan_entry: CohortPlan, plan: Path) -> Cohort:
    from equipoise.cohorts import (
        load,
        with_extra_columns,
        with_roles,
    )

    if plan_entry.name is None:
        raise BadInput(
            "The plan names no cohort", available='name = "adult", or file = "people.csv" with target, groups'
        )
    for name in _keys_given(plan_entry, OF_FILE):
        raise _misplaced(name, f"{name} is given for the registered cohort {plan_entry.name!r}", "it is for file =.")
    path = {} if plan_entry.path is None else {"path": os.path.join(plan.parent, plan_entry.path)}
    cohort, extra = load(plan_entry.name, **{**plan_entry.options, **path}), _extra(plan_entry, plan)
    if extra is not None:
        cohort = with_extra_columns(cohort, extra)
    favourable = None if plan_entry.favourable is None else str(plan_entry.favourable)
    cohort = with_roles(cohort, target=plan_entry.target, groups=names_of(plan_entry.groups), favourable=favourable)
    return cohort if plan_entry.quantiles is None else replace(cohort, quantiles=plan_entry.quantiles)


def _extra(plan_entry: CohortPlan, plan: Path) -> str | None:
    return None if plan_entry.extra_columns is None else os.path.join(plan.parent, plan_entry.extra_columns)


def _of_file(plan_entry: CohortPlan, table: str, extra: str | None) -> Cohort:
    from equipoise.cohorts import (
        Cohort,
        open_table,
        with_extra_columns,
        with_roles,
        with_text,
    )
    from equipoise.cohorts.pictures import with_pictures

    assert plan_entry.target is not None
    roles: dict[str, Any] = {"task": plan_entry.task, "split": plan_entry.split, "cluster": plan_entry.cluster}
    if plan_entry.features:
        roles["features"] = tuple(names_of(plan_entry.features))
    if plan_entry.favourable is not None:
        roles["favourable"] = str(plan_entry.favourable)
    if plan_entry.quantiles is not None:
        roles["quantiles"] = plan_entry.quantiles
    name = plan_entry.name or Path(table).stem
    groups = names_of(plan_entry.groups)
    # Groups that the further columns hold are not there yet; the target stands in for them.
    first = groups if extra is None else names_of(plan_entry.target)[:1]
    cohort = Cohort.from_frame(open_table(table), target=plan_entry.target, groups=first, name=name, **roles)
    if extra is not None:
        cohort = with_roles(with_extra_columns(cohort, extra), groups=groups, favourable=cohort.favourable)
        if not plan_entry.features:
            cohort = replace(cohort, features=tuple(column for column in cohort.features if column not in groups))
    if plan_entry.text:
        return with_text(cohort, names_of(plan_entry.text), encoder=plan_entry.encoder)
    if plan_entry.pictures is None:
        return cohort
    return with_pictures(
        cohort, plan_entry.pictures, os.path.dirname(table), resize=plan_entry.resize, on_damaged=plan_entry.on_damaged
    )


def names_of(names: str | list[str]) -> list[str]:
    """Take one name for a list of one."""
    return [names] if isinstance(names, str) else list(names)


def _keys_given(plan_entry: CohortPlan, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in plan_entry.model_fields_set and getattr(plan_entry, name)]


def _misplaced(name: str, given: str, hint: str) -> BadPlan:
    return BadPlan(BadInput(given, help=hint), (name,))
