"""``equipoise evidence``: is the effect of a technique real? Repeated training runs, judged in one command."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from equipoise.audits.options import EVIDENCE_OPTIONS
from equipoise.cli._options import arguments, takes

EXAMPLES = (
    "evidence runs.csv --baseline untreated",
    'evidence runs.csv --baseline untreated --pair seed --test sign-flip --fail-if "share(DP > 0.2) > 0.05"',
)


@takes(EVIDENCE_OPTIONS)
def evidence(
    file: Annotated[
        str, typer.Argument(help="Results of runs in long form: CSV, Parquet or Arrow.", show_default=False)
    ],
    *,
    said: dict[str, Any],
) -> None:
    """Judge repeated training runs: tests, effect sizes, costs, and what a single run would have shown."""
    from equipoise.audits.evidence import check_run_gates, margins_given
    from equipoise.audits.evidence import evidence as run
    from equipoise.cli._output import Output, end_if_broken
    from equipoise.foundation.provenance import command_line

    gates = check_run_gates(said["fail_if"] or ())
    output = Output.of(said)
    output.check(inputs=[file])
    given = arguments(EVIDENCE_OPTIONS, said)
    given["margin"] = margins_given(given["margin"])
    result = run(file, **given, command=command_line())
    check = result.check(*gates)
    output.deliver(result)
    end_if_broken(check)
