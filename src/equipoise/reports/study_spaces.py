"""What the page of a study says of embedding spaces, as plain data: words, then tables of gaps side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.reports.formats import safe_name
from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.space_examples import examples_summary
from equipoise.reports.study_terms import title_of_under
from equipoise.results import record_as_json
from equipoise.studies.findings.result import StudyResult
from equipoise.studies.findings.spaces.result import EMBEDDING, SpaceContrast
from equipoise.studies.findings.spaces.words import SCOPE, source_title, space_words, title_of, training_title

MOST_ROWS = 60
MOST_VALUES = 300
Placed = tuple[int, SpaceContrast]

# How a table of each kind is called, and its two numbers; those of trainings are called by the training.
TABLES = {
    "imbalance": ("Gaps, balanced control → imbalanced", "the control", "imbalanced"),
    "treatment": ("Gaps, baseline → treated", "the baseline", "treated"),
}


@dataclass(frozen=True)
class Comparison:
    """The contrasts of one kind, of trainings those of one training; how its tables are called, and two numbers."""

    kind: str
    title: str
    before: str
    after: str
    contrasts: tuple[Placed, ...]

    @property
    def of_trainings(self) -> bool:
        """Whether a training of classifiers is held against another."""
        return self.kind not in TABLES


def comparisons(result: StudyResult) -> Iterator[Comparison]:
    """Yield what is held against what, in the order of the page."""
    placed = list(enumerate(result.space_contrasts))
    for kind, names in TABLES.items():
        yield Comparison(kind, *names, tuple(item for item in placed if item[1].kind == kind))
    others = [item for item in placed if item[1].kind not in TABLES]
    for kind, training in dict.fromkeys((one.kind, one.training) for _, one in others):
        own = tuple(item for item in others if (item[1].kind, item[1].training) == (kind, training))
        name = training_title(training)
        before = training_title(own[0][1].versus)
        yield Comparison(kind, f"Gaps downstream, trained on {before} → {name}", before, name, own)


def spaces_summary(result: StudyResult) -> Table | None:
    """Return what the section says; None where no trial kept its space."""
    if not result.spaces:
        return None
    return {
        "words": list(space_words(result)),
        "scope": SCOPE,
        "tables": [table for comparison in comparisons(result) for table in _tables(result, comparison)],
        "settings": limited([_setting(result, place) for place in range(len(result.space_settings))], MOST_ROWS),
        "examples": examples_summary(result),
        "leaks": list(dict.fromkeys(name for one in result.space_settings for name in one.leakage)),
        "values": limited([_value(result, place) for place in range(len(result.spaces))], MOST_VALUES),
    }


def furthest(contrasts: Sequence[Placed]) -> list[Placed]:
    """Return those under the furthest imbalance, where there are several degrees."""
    degrees = [one.degree for _, one in contrasts if one.degree is not None]
    return [(place, one) for place, one in contrasts if not degrees or one.degree == max(degrees)]


def _tables(result: StudyResult, comparison: Comparison) -> Iterator[Table]:
    """Yield a table of the space, and one a classifier: a line a method, a column a measure, two numbers a cell."""
    title = comparison.title
    for of in ("gap", "overall") if comparison.kind == "treatment" else ("gap",):
        own = furthest([item for item in comparison.contrasts if item[1].of == of])
        heading = title if of == "gap" else title.replace("Gaps", "Everyone")
        for source in dict.fromkeys(one.source for _, one in own):
            here = [item for item in own if item[1].source == source]
            columns = list(dict.fromkeys((one.training, one.measure) for _, one in here))
            who = "in the space" if source == EMBEDDING else source_title(source)
            conditions = list(dict.fromkeys(one.condition for _, one in here))
            shared = conditions[0] if len(conditions) == 1 else None
            where = f", {safe_name(shared, 60)}" if shared else ""
            trained = [] if comparison.of_trainings else [training_title(training) for training, _ in columns]
            yield {
                "title": f"{heading}: {safe_name(who, 40)}{where}",
                "condition": shared,
                "treated": any(one.treatment != result.baseline for _, one in here),
                "of": of,
                "before": comparison.before,
                "after": comparison.after,
                "columns": [title_of(measure) for _, measure in columns],
                "over": _runs(trained) if any(trained) else [],
                **limited(list(_lines(result, here, columns, shared)), MOST_ROWS),
            }


def _runs(names: Sequence[str]) -> list[Table]:
    """Return headings that span equal neighbours: what a classifier was trained on, above its measures."""
    made: list[Table] = []
    before = None
    for name in names:
        if name == before:
            made[-1] = {"name": name, "span": int(str(made[-1]["span"])) + 1}
        else:
            made.append({"name": name, "span": 1})
        before = name
    return made


def _lines(
    result: StudyResult, contrasts: Sequence[Placed], columns: Sequence[tuple[str | None, str]], shared: str | None
) -> Iterator[Table]:
    lines: dict[tuple[str, ...], dict[tuple[str | None, str], Placed]] = {}
    for place, one in contrasts:
        key = (one.condition, one.learner, one.treatment, one.setting, one.attribute)
        lines.setdefault(key, {})[one.training, one.measure] = (place, one)
    for (condition, learner, treatment, setting, attribute), cells in lines.items():
        yield {
            "under": safe_name(learner, 60) if shared else title_of_under(result, (condition, learner), 60),
            "treatment": treatment,
            "setting": setting,
            "attribute": attribute,
            "pairs": max(one.pairs for _, one in cells.values()),
            "cells": [_cell(*cells[column]) if column in cells else None for column in columns],
        }


def _cell(place: int, one: SpaceContrast) -> Table:
    return {"part": "space_contrasts", "place": place, "good": one.good, **record_as_json(one)}


def _setting(result: StudyResult, place: int) -> Table:
    one = result.space_settings[place]
    return {
        "part": "space_settings", "place": place, "under": title_of_under(result, (one.condition, one.learner), 60),
        "heading": title_of(one.measure), **record_as_json(one),
    }  # fmt: skip


def _value(result: StudyResult, place: int) -> Table:
    one = result.spaces[place]
    trained = training_title(one.training)
    where = "space" if one.upstream else f"{source_title(one.source)}{f', {trained}' if trained else ''}"
    return {
        "part": "spaces", "place": place, "under": title_of_under(result, (one.condition, one.learner), 60),
        "heading": title_of(one.measure), "where": where, **record_as_json(one),
    }  # fmt: skip
