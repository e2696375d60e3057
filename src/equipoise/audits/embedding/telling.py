"""What stands around the numbers of an embedding: rows, card, map, notes and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from equipoise.audits._counting import dropped_rows
from equipoise.audits.downstream.result import Downstream
from equipoise.audits.embedding._spec import EmbeddingAuditSpec
from equipoise.audits.embedding.carrying import kept_together
from equipoise.audits.embedding.maps import embedding_map
from equipoise.audits.embedding.spaces import majoritised, sizes_of
from equipoise.audits.leakage.probing import Leakage
from equipoise.audits.result import SpaceMap
from equipoise.cohorts.card import Card, card_of
from equipoise.foundation.provenance import fingerprint_of, provenance
from equipoise.foundation.text import fitting, plural
from equipoise.results import Record
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import TARGET, group_axis
from equipoise.tallies.embedded import Embedded
from equipoise.tallies.factorise import factorise
from equipoise.tallies.labels import shown

# A card and a map name classes where there are no more than this; a person's name is not shown.
MOST_NAMED = 20


def row_records(spec: EmbeddingAuditSpec, dropped: int) -> Iterator[Record]:
    """Yield how many rows there were, and how many had to be dropped."""
    total = len(spec.embedding)
    yield Record(measure="rows", kind="count", value=float(total))
    if dropped:
        yield dropped_rows(dropped, total, "target")


def named_classes(spec: EmbeddingAuditSpec) -> tuple[str, ...]:
    """Return the classes, where there are few."""
    labels = [label for label in spec.classes.labels if label is not None]
    return tuple(labels) if len(labels) <= MOST_NAMED else ()


def card_for(spec: EmbeddingAuditSpec) -> Card:
    """Return who was counted."""
    columns = {group_axis(name): factorise(groups) for name, groups in spec.groups().items()}
    if named_classes(spec):
        columns[TARGET] = spec.classes
    return card_of(Cells.from_codes(columns), [a.name for a in spec.attributes])


def map_for(spec: EmbeddingAuditSpec) -> SpaceMap | None:
    """Return the map that was asked for; none where small groups are hidden."""
    if spec.map == "none" or spec.suppress_below:
        return None
    drawn = embedding_map(spec.embedding, spec.map, seed=spec.seed)
    places = list(drawn.rows)
    classes, named = spec.classes, set(named_classes(spec))
    labels = [classes.labels[code] for code in classes.codes[places].tolist()]
    groups = {name: tuple(shown(values[place]) for place in places) for name, values in spec.groups().items()}
    return SpaceMap(
        method=drawn.method,
        x=tuple(drawn.x),
        y=tuple(drawn.y),
        explained=drawn.explained,
        of=drawn.of,
        classes=tuple(shown(label) for label in labels) if named else (),
        groups=groups,
    )


def notes_on(
    spec: EmbeddingAuditSpec, spaces: Mapping[str, Embedded], leaked: Leakage | None, carried: Downstream | None
) -> Iterator[str]:
    """Yield what a reader should know of the rows, the sides and the splits."""
    yield from spec.embedding.notes
    if spec.dropped is not None:
        yield from spec.dropped.notes
    first = next(iter(spaces.values()))
    if first.dropped:
        yield (
            f"{first.dropped:,} of {len(spec.embedding):,} rows "
            f"{fitting(first.dropped, 'was dropped: it has', 'were dropped: they have')} no target."
        )
    sizes = np.bincount(first.space.classes.codes)
    if (sizes == 1).any():
        alone = int((sizes == 1).sum())
        yield (
            f"{alone:,} of {int((sizes > 0).sum()):,} classes {'has' if alone == 1 else 'have'} one row only, which is "
            "no query of recall: nothing else of its class can be found."
        )
    for attribute in spec.attributes:
        name, embedded = attribute.name, spaces[attribute.name]
        lost = int((embedded.codes < 0).sum())
        if lost:
            hidden = lost < spec.suppress_below
            many = f"Fewer than {spec.suppress_below:,} rows" if hidden else plural(lost, "row")
            has, stay = ("has", "it stays") if lost == 1 and not hidden else ("have", "they stay")
            yield f"{many} {has} no group of {name} that is compared: {stay} among the neighbours."
        people = sizes_of(spec, attribute)
        tied = [group for group in embedded.groups if people[group] == max(people.values())]
        if len(tied) > 1 and name not in spec.majoritised and name not in spec.minoritised:
            yield f"{name}: no group is the largest; gaps hold the others against {tied[0]!r} (name it to change that)."
    if leaked is not None and spec.cluster is None and kept_together(spec, list(spec.groups().values())) is not None:
        yield "Rows of one class were kept together when groups were read: a class nearly always has one group."
    if spec.draws:
        yield (
            "Intervals of mutual information and its gaps are approximate (a jackknife on the contingency table): "
            "those of gaps cover about 84% instead of 95%. Read their tests."
        )
    if spec.metric == "cosine":
        yield "Every point was brought to length 1 first (cosine)."
    for part in (leaked, carried):
        if part is not None:  # how many rows a hidden group has is not told here either
            yield from (note for note in part.notes if not spec.suppress_below or "left out (rows:" not in note)


def provenance_of(spec: EmbeddingAuditSpec, command: Iterable[str] | None) -> dict[str, object]:
    """Describe how the result was made."""
    # Half a character in a name is hashed like any other.
    names = ["\0".join([a.name, *a.groups]).encode("utf-8", "surrogatepass") for a in spec.attributes]
    codes = [*(a.codes.tobytes() for a in spec.attributes), spec.classes.codes.tobytes()]
    return provenance(
        fingerprint=fingerprint_of([spec.embedding.fingerprint.encode(), *names, *codes]),
        command=command,
        data=spec.embedding.name,
        rows=len(spec.embedding),
        columns={"embedding": spec.embedding.key, "rows": spec.table, **spec.columns},
        options={
            "k": spec.k, "metric": spec.metric, "width": spec.embedding.width,
            "drop": spec.dropped is not None,
            "dropped": None if spec.dropped is None else spec.dropped.as_json(),
            "majoritised": {a.name: list(majoritised(spec, a)) for a in spec.attributes},
            "minoritised": {name: list(groups) for name, groups in spec.minoritised.items()},
            "rebalance": spec.rebalance, "macro": spec.macro,
            "learners": [str(name) for name in spec.learners], "leakage": spec.leakage, "map": spec.map,
            "include_missing": spec.include_missing, "suppress_below": spec.suppress_below,
            "least_people": spec.least_people, "draws": spec.draws, "seed": spec.seed,
        },
    )  # fmt: skip
