"""Example pictures of a study's spaces as the page shows them: addresses that hold the picture, and words for each."""

from __future__ import annotations

import base64

from equipoise.reports.formats import safe_name
from equipoise.reports.plain_tables import Table
from equipoise.studies.findings.result import StudyResult
from equipoise.studies.findings.spaces.result import ExamplePicture


def examples_summary(result: StudyResult) -> Table | None:
    """Return a line for each row that is shown, with its nearest others; None where no picture is."""
    found = result.space_examples
    if found is None or not found.examples:
        return None
    first = found.examples[0]
    return {
        "attribute": first.attribute,
        "columns": len(first.embedding),
        "told": f"{safe_name(f'{first.learner}: {first.treatment}', 60)}, {safe_name(first.condition, 60)}, seed "
        f"{first.seed}.",
        "lines": [
            {
                "query": _shown(one.query, None),
                "embedding": [_shown(near, one.query) for near in one.embedding],
                "sensitive": [_shown(near, one.query) for near in one.sensitive],
            }
            for one in found.examples
        ],
    }


def _shown(one: ExamplePicture, query: ExamplePicture | None) -> Table:
    return {
        "address": f"data:image/webp;base64,{base64.b64encode(one.picture).decode('ascii')}",
        "words": f"{safe_name(one.class_, 60)}, {safe_name(one.group, 40)}",
        "same_class": query is not None and one.class_ == query.class_,
        "same_group": query is not None and one.group == query.group,
    }
