"""The cohort that a plan names: a registered one with its options, or a file with the parts that its columns play.

Either may have further columns from a table of the same rows, such as groups that ``equipoise label`` wrote.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.studies.plans.naming import BadPlan

if TYPE_CHECKING:
    from equipoise.cohorts.cohort import Cohort
    from equipoise.studies.plans.plan import CohortPlan

OF_PICTURES = ("resize", "on_damaged")
# What a plan says of a file, and not of a registered cohort.
OF_FILE = ("features", "split", "cluster", "pictures", *OF_PICTURES)


def planned_cohort(said: CohortPlan, plan: Path) -> Cohort:
    """Load the cohort; paths are as seen from the plan."""
    if said.file is None:
        return _registered(said, plan)
    if said.options:
        raise _misplaced("options", f"options are given for the file {said.file!r}", "they are for name =.")
    if said.target is None or not said.groups:
        absent = "target" if said.target is None else "groups"
        raise BadInput(f"The cohort of {said.file!r} has no {absent}", help=f"name the column: {absent} = ...")
    for name in _given(said, OF_PICTURES) if said.pictures is None else []:
        raise _misplaced(name, f"{name} is given, and no pictures", "name their column: pictures = ...")
    if said.pictures is not None and said.features:
        raise _misplaced("features", "features are named beside pictures", "pictures are the only feature.")
    return _of_file(said, os.path.join(plan.parent, said.file), _extra(said, plan))


def _registered(said: CohortPlan, plan: Path) -> Cohort:
    from equipoise.cohorts.extra_columns import with_extra_columns, with_parts
    from equipoise.cohorts.loading import load

    if said.name is None:
        raise BadInput(
            "The plan names no cohort", available='name = "adult", or file = "people.csv" with target, groups'
        )
    for name in _given(said, OF_FILE):
        raise _misplaced(name, f"{name} is given for the registered cohort {said.name!r}", "it is for file =.")
    path = {} if said.path is None else {"path": os.path.join(plan.parent, said.path)}
    made, extra = load(said.name, **{**said.options, **path}), _extra(said, plan)
    if extra is not None:
        made = with_extra_columns(made, extra)
    favourable = None if said.favourable is None else str(said.favourable)
    return with_parts(made, target=said.target, groups=names_of(said.groups), favourable=favourable)


def _extra(said: CohortPlan, plan: Path) -> str | None:
    return None if said.extra_columns is None else os.path.join(plan.parent, said.extra_columns)


def _of_file(said: CohortPlan, table: str, extra: str | None) -> Cohort:
    from equipoise.cohorts.cohort import Cohort
    from equipoise.cohorts.extra_columns import with_extra_columns, with_parts
    from equipoise.cohorts.pictures.cohorts import with_pictures
    from equipoise.cohorts.readers import open_table

    assert said.target is not None
    roles: dict[str, Any] = {"task": said.task, "split": said.split, "cluster": said.cluster}
    if said.features:
        roles["features"] = tuple(names_of(said.features))
    if said.favourable is not None:
        roles["favourable"] = str(said.favourable)
    name = said.name or Path(table).stem
    groups = names_of(said.groups)
    # Groups that the further columns hold are not there yet; the target stands in for them.
    first = groups if extra is None else [said.target]
    made = Cohort.from_frame(open_table(table), target=said.target, groups=first, name=name, **roles)
    if extra is not None:
        made = with_parts(with_extra_columns(made, extra), groups=groups, favourable=made.favourable)
        if not said.features:
            made = replace(made, features=tuple(column for column in made.features if column not in groups))
    if said.pictures is None:
        return made
    return with_pictures(made, said.pictures, os.path.dirname(table), resize=said.resize, on_damaged=said.on_damaged)


def names_of(given: str | list[str]) -> list[str]:
    """Take one name for a list of one."""
    return [given] if isinstance(given, str) else list(given)


def _given(said: CohortPlan, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name in said.model_fields_set and getattr(said, name)]


def _misplaced(name: str, given: str, hint: str) -> BadPlan:
    return BadPlan(BadInput(given, help=hint), (name,))
