"""What the parts of a report about an embedding share: which numbers come first, and how its gap rules are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.audits import AuditResult
from equipoise.audits.downstream import classifier_title
from equipoise.reports._formats import safe_name
from equipoise.reports._records import Placed, Subject, better_end, title_of
from equipoise.results import Record, Status

# The numbers of a space in the order in which they are read; the chance level of NMI stands beside it.
VALUES = (
    "recall_at_k", "mean_average_precision_at_r", "intra_class_alignment", "inter_class_alignment", "uniformity",
    "normalised_mutual_information", "adjusted_mutual_information", "rbf_uniformity",
)  # fmt: skip
NMI, CHANCE = "normalised_mutual_information", "normalised_mutual_information_by_chance"

# Taken at the size of an attribute's smallest group: to be compared within it only, and not with everyone's.
OF_EQUAL_SIZE = ("uniformity", "rbf_uniformity")

ORIENTED, WIDEST = "paper", "best_minus_worst"
# Every rule, with its name in a table.
RULES = {
    ORIENTED: "majoritised against minoritised",
    "paper_sign": "majoritised minus minoritised (the paper's sign)",
    WIDEST: "best group minus worst",
    "each_against_worst": "mean distance of the better groups to the worst",
    "halves": "better half of the groups minus worse half",
}

# A map is drawn for so many attributes.
MOST_MAPS = 5

# Maps that keep neighbours and nothing else, by their names.
NEIGHBOURS_ONLY = {"tsne": "t-SNE", "umap": "UMAP"}

# What a gap says of the side that is worse off.
POSITIVE = {
    "recall_at_k_gap": "nearest neighbours are of the same class less often",
    "mean_average_precision_at_r_gap": "fewer of the nearest points are of the same class",
    "intra_class_alignment_gap": "classes are spread wider",
    "inter_class_alignment_gap": "classes lie closer to others",
    "uniformity_gap": "points fill fewer directions of the space",
    "normalised_mutual_information_gap": "clusters agree less with the classes",
    "adjusted_mutual_information_gap": "clusters agree less with the classes, beyond chance",
    "rbf_uniformity_gap": "points lie closer together",
}


def space_order(measure: str) -> tuple[int, str]:
    """Sort values and gaps as they are read, then the others by name."""
    value = measure.removesuffix("_gap")
    return (VALUES.index(value) if value in VALUES else len(VALUES), measure)


def values_of(result: AuditResult, subject: Subject | None) -> list[Placed]:
    """Return the values of a subject's groups; of everyone for None."""
    return [
        (index, record)
        for index, record in enumerate(result.records)
        if record.kind in ("rate", "value") and (subject.has(record) if subject else not record.attribute)
    ]


def gaps_of(result: AuditResult, subject: Subject) -> list[Placed]:
    """Return every gap of a subject by every rule, measures in their order."""
    gaps = [(index, r) for index, r in enumerate(result.records) if r.kind == "gap" and subject.has(r)]
    return sorted(gaps, key=lambda item: space_order(item[1].measure))


def finding_text(result: AuditResult, record: Record) -> str:
    """Say in words what a finding means: who is worse off and how; of a widest gap, the best group and the worst."""
    subject, value = Subject(record.attribute, record.split), record.measure.removesuffix("_gap")
    values = [item for _, item in values_of(result, subject) if item.measure == value and item.defined]
    if record.variant == ORIENTED:
        if not record.finding or record.measure not in POSITIVE:
            return ""
        side = worse_side(record, [str(item.group) for item in values], majoritised(result, subject))
        return f"for {side}, {POSITIVE[record.measure]}"
    if record.variant != WIDEST or not record.defined:
        return ""
    sizes = {str(item.group): item.value for item in compared(values)}
    ends = max(sizes, key=lambda group: sizes[group]), min(sizes, key=lambda group: sizes[group])
    best, worst = ends if better_end(value) == "high" else ends[::-1]
    return f"best {safe_name(best, 24)}, worst {safe_name(worst, 24)}"


def worse_side(record: Record, groups: Sequence[str], against: str | None) -> str:
    """Name those who are worse off by an oriented gap: the group that others are compared with, or the others."""
    if record.value < 0:
        return against or "the majoritised groups"
    others = [safe_name(group) for group in groups if safe_name(group) != against]
    if against is None:
        return "the minoritised groups"
    return others[0] if len(others) == 1 else f"groups other than {against}"


def compared(values: Sequence[Record]) -> Sequence[Record]:
    """Return the values that gaps compare: groups that are too small are shown, and left out unless no two are left."""
    large = [record for record in values if record.status != Status.TOO_SMALL]
    return large if len(large) > 1 else values


def main_gaps(result: AuditResult, subject: Subject) -> Iterator[Placed]:
    """Yield the gaps that are read first: the oriented one, and the widest where there is one."""
    placed = [item for item in gaps_of(result, subject) if item[1].variant in (ORIENTED, WIDEST)]
    widest = {record.measure for _, record in placed if record.variant == WIDEST}
    for index, record in placed:
        # Where no group is majoritised, the widest gap is all there is.
        if record.defined or record.variant == WIDEST or record.measure not in widest:
            yield index, record


def majoritised(result: AuditResult, subject: Subject) -> str | None:
    """Name the groups that the others are compared with: those that were named, or else the largest one."""
    options = result.provenance.get("options")
    named = options.get("majoritised", {}).get(subject.attribute[0]) if isinstance(options, dict) else None
    if named:
        return ", ".join(safe_name(str(group)) for group in named)
    present = {record.group for _, record in values_of(result, subject)}
    sizes = {
        row.group: row.rows for row in result.card.groups
        if (row.attribute,) == subject.attribute and row.rows is not None and row.group in present
    }  # fmt: skip
    largest = [group for group, rows in sizes.items() if rows == max(sizes.values())]
    return safe_name(largest[0]) if len(largest) == 1 else None


def map_caution(result: AuditResult, *, short: bool = False) -> str:
    """Say what a map shows, and what it does not."""
    space_map = result.map
    if space_map is None:
        return ""
    if space_map.explained is not None:
        first, second = (f"{100 * share:.0f}%" for share in space_map.explained)
        axes_words = f"the two axes show {first} and {second} of the variance"
        if short:
            return f"Principal components: {axes_words}."
        rest = max(0.0, 1.0 - sum(space_map.explained))
        return (
            f"It shows principal components: {axes_words}. The other {100 * rest:.0f}% is not seen, so points that lie "
            "together here may be far apart in the space."
        )
    if space_map.method not in NEIGHBOURS_ONLY:
        return "All points are the same: there is nothing to see."
    name = NEIGHBOURS_ONLY[space_map.method]
    if short:
        return f"{name}: distances mean nothing."
    return (
        f"{name} keeps neighbours and nothing else: distances between clusters, their sizes and the empty space mean "
        "nothing."
    )


def learner_title(name: str) -> str:
    """Return the heading of a learner or probe."""
    return "MLP" if name == "mlp" else safe_name(classifier_title(name), 60 if ":" in name else 30)


def neighbours(result: AuditResult) -> int:
    """Return how many neighbours count."""
    options = result.provenance.get("options")
    k = options.get("k") if isinstance(options, dict) else None
    return k if isinstance(k, int) else 1


def value_title(result: AuditResult, measure: str) -> str:
    """Return the heading of a value or its gap, with the number of neighbours that count."""
    return title_of(measure.removesuffix("_gap")).replace("@k", f"@{neighbours(result)}")


def first_of(records: Sequence[Placed], measure: str, group: str | None) -> Placed | None:
    """Return a group's value of a measure; everyone's (None) only where it can stand beside the groups'."""
    if group is None and measure in OF_EQUAL_SIZE:
        return None
    return next(((index, r) for index, r in records if r.measure == measure and r.group == group), None)
