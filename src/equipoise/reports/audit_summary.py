"""An audit as one plain dictionary: everything its page says, before any of it is HTML."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equipoise.audits.result import AuditResult, FourFifths, Power
from equipoise.reports.audit_tables import (
    MOST_ROWS,
    Table,
    all_rate_rows,
    card_tables,
    contrast_rows,
    gap_tables,
    known,
    limited,
    other_gap_rows,
    rate_tables,
)
from equipoise.reports.change_summary import summarise_changes
from equipoise.reports.embedding_summary import summarise_embedding
from equipoise.reports.formats import safe_name
from equipoise.reports.measure_words import formula_of, meaning_of, reading_order, title_of
from equipoise.reports.provenance import NOT_CERTIFIED, provenance_of
from equipoise.reports.spaces import is_embedding, main_gaps
from equipoise.reports.subjects import Subject, subjects_of, used_threshold
from equipoise.results import Record, Status

TWO_UNCERTAINTIES = (
    "Intervals and tests here are about the people who were counted: would other people of the same kind give the "
    "same picture? Whether training the model again would give it is another question; it needs repeated runs "
    "(equipoise evidence)."
)


def summarise(result: AuditResult) -> dict[str, object]:
    """Return what the page says, as plain data."""
    embedding = is_embedding(result)
    return {
        "title": f"Fairness audit of {result.provenance.get('data')}",
        "call": "equipoise.audit_embedding" if embedding else "equipoise.audit",
        "rows": result.card.rows,
        "classes": list(result.classes),
        "favourable": result.favourable,
        "created": result.provenance.get("created"),
        "verdict": _verdict(result),
        "not_certified": NOT_CERTIFIED,
        "two_uncertainties": TWO_UNCERTAINTIES,
        "card": card_tables(result),
        "rates": rate_tables(result),
        "all_rates": limited([]) if embedding else all_rate_rows(result),
        "embedding": summarise_embedding(result) if embedding else None,
        "changes": summarise_changes(result),
        "contrasts": contrast_rows(result),
        "scores": {
            "class": result.curves[0].class_ if result.curves else None,
            "threshold": used_threshold(result) if result.curves else None,
        },
        "gaps": [] if embedding else gap_tables(result),
        "other_gaps": limited([]) if embedding else other_gap_rows(result),
        "four_fifths": _four_fifths(result),
        "power": _power(result),
        "untold": list(result.untold),
        "notes": list(result.notes),
        "glossary": _glossary(result),
        "provenance": provenance_of(result),
    }


def _verdict(result: AuditResult) -> Table:
    """Return the headline, the other sentences, how many tests are findings, and who has too few people for one.

    Of an embedding those gaps are counted that its sections show first; the same gaps by other rules are not counted
    a second time.
    """
    what = "gap" if is_embedding(result) else "contrast"
    contrasts = [record for record in result.records if record.kind == what]
    if what == "gap":
        contrasts = [record for subject in subjects_of(result) for _, record in main_gaps(result, subject)]
    tested = [record for record in contrasts if record.p_adjusted is not None]
    findings = [record for record in tested if record.finding]
    small = [record for record in contrasts if record.status == Status.TOO_SMALL]
    groups = {(r.attribute, r.group) for r in result.records if r.kind in ("rate", "value") and len(r.attribute) == 1}
    headline, *others = result.words or ("",)
    return {
        "what": what,
        "headline": headline,
        "tone": "findings" if findings else "none" if tested else "untested",
        "tested": len(tested),
        "findings": len(findings),
        "too_small": len(small),
        "groups": len(groups),
        "words": list(_words(result, others)),
        "cannot_tell": list(_cannot_tell(small)) if what == "contrast" else [],
    }


def _words(result: AuditResult, sentences: Sequence[str]) -> Iterator[Table]:
    """Yield sentences of the audit, those of one attribute together and without repeating its name."""
    subjects = {_prefix(subject): subject.title for subject in subjects_of(result)}
    names = tuple(f"{record.group} " for record in result.records if record.kind == "contrast")
    told: dict[str, list[str]] = {}
    for sentence in sentences:
        prefix = max((start for start in subjects if sentence.startswith(start)), key=len, default="")
        rest = sentence.removeprefix(prefix)
        # A group that begins a sentence keeps its name as it is written.
        rest = rest if rest.startswith(names) else rest[:1].upper() + rest[1:]
        told.setdefault(subjects.get(prefix, ""), []).append(rest)
    for title, own in told.items():
        yield {"title": title, "sentences": own}


def _prefix(subject: Subject) -> str:
    """Return how the sentences about a subject begin."""
    return " & ".join(subject.attribute) + ("" if subject.split is None else f" ({subject.split})") + ": "


def _cannot_tell(small: Sequence[Record]) -> Iterator[Table]:
    """Yield the groups with too few people, and for which measures."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in small:
        groups.setdefault((Subject(record.attribute, record.split).title, str(record.group)), []).append(record)
    for (subject, group), records in groups.items():
        reasons: dict[str, list[str]] = {}
        for record in records:
            reasons.setdefault(str(record.reason), []).append(title_of(record.measure).lower())
        yield {
            "subject": subject,
            "group": group,
            "reasons": [
                {"reason": reason, "measures": list(dict.fromkeys(names))} for reason, names in reasons.items()
            ],
        }


def _four_fifths(result: AuditResult) -> Table:
    rows: list[Table] = [
        {
            "subject": Subject(rule.attribute, rule.split).title,
            "group": rule.group,
            "against": rule.against,
            "basis": rule.basis,
            "ratio": known(rule.ratio),
            "below": rule.ratio < 0.8,
            "low": None if rule.low is None else known(rule.low),
            "high": None if rule.high is None else known(rule.high),
            "unbounded": rule.high is not None and math.isinf(rule.high),
            "level": rule.level,
            "significant": rule.significant,
            "probability_broken": known(rule.probability_broken),
            "share": known(rule.share),
            "small": rule.small,
            "place": place,
        }
        for place, rule in _lowest(result.four_fifths)
    ]
    return {"rows": rows, "total": len(result.four_fifths), "left_out": len(result.four_fifths) - len(rows)}


def _lowest(rules: Sequence[FourFifths]) -> list[tuple[int, FourFifths]]:
    """Return as many rules as a page can hold, in their order: those with the lowest ratios."""
    placed = list(enumerate(rules))
    lowest = sorted(placed, key=lambda item: (not math.isfinite(item[1].ratio), item[1].ratio))[:MOST_ROWS]
    return sorted(lowest, key=lambda item: item[0])


def _power(result: AuditResult) -> Table:
    rows: list[Table] = [
        {
            "subject": Subject(power.attribute, power.split).title,
            "title": title_of(power.measure),
            "group": power.group,
            "against": power.against,
            "detectable": known(power.detectable),
            "gap": power.gap,
            "people_needed": known(power.people_needed),
            "place": place,
        }
        for place, power in enumerate(result.power)
    ]
    gap = next((power.gap for power in result.power if power.gap is not None), None)
    return {**limited(rows), "gap": gap, "words": list(_power_words(result))}


def _power_words(result: AuditResult) -> Iterator[str]:
    """Yield a sentence for each rate: the sharpest and the bluntest comparison."""
    for measure in dict.fromkeys(power.measure for power in result.power):
        own = [power for power in result.power if power.measure == measure and known(power.detectable) is not None]
        if not own:
            continue
        sharp, blunt = (pick(own, key=lambda power: power.detectable) for pick in (min, max))
        sentence = f"{title_of(measure)}: a difference of {_against(sharp)}"
        yield sentence + (
            f" would be found, but only one of {_against(blunt)}." if blunt != sharp else " would be found."
        )


def _against(power: Power) -> str:
    return f"{100 * power.detectable:.1f} points between {safe_name(power.group)} and {safe_name(power.against)}"


def _glossary(result: AuditResult) -> list[Table]:
    """Explain every measure that the page shows."""
    named = {record.measure: record.alias for record in result.records if record.kind != "count"}
    return [
        {
            "measure": measure,
            "title": title_of(measure),
            "alias": named[measure],
            "meaning": meaning_of(measure, result.favourable),
            "formula": formula_of(measure),
        }
        for measure in sorted(named, key=reading_order)
    ]
