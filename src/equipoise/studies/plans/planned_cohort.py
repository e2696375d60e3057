"""The cohort that a plan names: a registered one with its options, or a file with the parts that its columns play."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.studies.plans.naming import BadPlan

if TYPE_CHECKING:
    from equipoise.cohorts.cohort import Cohort
    from equipoise.studies.plans.plan import CohortPlan

OF_PICTURES = ("resize", "on_damaged")
# What a plan says of a file, and not of a registered cohort.
OF_FILE = ("target", "groups", "features", "split", "favourable", "cluster", "pictures", *OF_PICTURES)


def planned_cohort(said: CohortPlan, plan: Path) -> Cohort:
    """Load the cohort; paths are as seen from the plan."""
    if said.file is None:
        return _registered(said, plan)
    if said.options:
        raise _misplaced("options", f"options are given for the file {said.file!r}", "they are for name =.")
    if said.target is None or not said.groups:
        absent = "target" if said.target is None else "groups"
        raise BadInput(f"The cohort of {said.file!r} has no {absent}", way_out=f"name the column: {absent} = ...")
    for name in _given(said, OF_PICTURES) if said.pictures is None else []:
        raise _misplaced(name, f"{name} is given, and no pictures", "name their column: pictures = ...")
    if said.pictures is not None and said.features:
        raise _misplaced("features", "features are named beside pictures", "pictures are the only feature.")
    return _of_file(said, os.path.join(plan.parent, said.file))


def _registered(said: CohortPlan, plan: Path) -> Cohort:
    from equipoise.cohorts.loading import load

    if said.name is None:
        raise BadInput("The plan names no cohort", allowed='name = "adult", or file = "people.csv" with target, groups')
    for name in _given(said, OF_FILE):
        raise _misplaced(name, f"{name} is given for the registered cohort {said.name!r}", "it is for file =.")
    path = {} if said.path is None else {"path": os.path.join(plan.parent, said.path)}
    return load(said.name, **{**said.options, **path})


def _of_file(said: CohortPlan, table: str) -> Cohort:
    from equipoise.cohorts.cohort import Cohort
    from equipoise.cohorts.pictures.cohorts import with_pictures
    from equipoise.cohorts.readers import open_table

    assert said.target is not None
    roles: dict[str, Any] = {"task": said.task, "split": said.split, "cluster": said.cluster}
    if said.features:
        roles["features"] = tuple(names_of(said.features))
    if said.favourable is not None:
        roles["favourable"] = str(said.favourable)
    name = said.name or Path(table).stem
    made = Cohort.from_frame(open_table(table), target=said.target, groups=names_of(said.groups), name=name, **roles)
    if said.pictures is None:
        return made
    return with_pictures(made, said.pictures, os.path.dirname(table), resize=said.resize, on_damaged=said.on_damaged)


def names_of(given: str | list[str]) -> list[str]:
    """Take one name for a list of one."""
    return [given] if isinstance(given, str) else list(given)


def _given(said: CohortPlan, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in said.model_fields_set and getattr(said, name)]


def _misplaced(name: str, given: str, way_out: str) -> BadPlan:
    return BadPlan(BadInput(given, way_out=way_out), (name,))
