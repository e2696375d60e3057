"""``equipoise audit``: any model's outcomes, counted right, in one command."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.audits import AUDIT_OPTIONS, EMBEDDING, OUTCOMES, OUTPUT
from equipoise.cli._options import arguments, pairs, takes
from equipoise.foundation import BadInput, Option

if TYPE_CHECKING:
    from equipoise.audits import AuditResult
    from equipoise.cli._console import Output
    from equipoise.foundation import ProgressTracker

CONFIG = Option(
    name="config", kind="output", panel=OUTPUT, metavar="FILE", argument=None,
    help="Read options that are not given here from a TOML file.",
)  # fmt: skip
SAVE_CONFIG = Option(
    name="save_config", kind="output", panel=OUTPUT, metavar="FILE", argument=None,
    help="Write this command as a TOML file, to run it again.",
)  # fmt: skip
MODEL_CARD = Option(
    name="model_card", kind="output", panel=OUTPUT, metavar="FILE", argument=None,
    help="Write the fairness part of a model card: Markdown, or a page where FILE ends in .html.",
)  # fmt: skip
EXAMPLES = (
    'audit predictions.csv --target income --prediction predicted --favourable ">50K" --group sex --group race',
    "audit scores.parquet --target hired --score probability --group sex --html report.html --open",
    'audit predictions.csv --config audit.toml --fail-if "DP > 0.1"',
    "audit faces.npz --embedding points --rows people.csv --target person --group sex",
)


@takes([*AUDIT_OPTIONS, MODEL_CARD, CONFIG, SAVE_CONFIG])
def audit(
    ctx: typer.Context,
    file: Annotated[
        str | None, typer.Argument(help="CSV, Parquet (file, folder or glob) or Arrow.", show_default=False)
    ] = None,
    *,
    values: dict[str, Any],
) -> None:
    """Audit a model's outcomes, or an embedding: group sizes, rates, gaps, their evidence, and what is inconclusive."""
    from equipoise.audits import AuditResult
    from equipoise.cli._console import Output, end_if_broken, query_share, show_progress

    config, save_config = values.pop("config"), values.pop("save_config")
    model_card: Path | None = values.pop("model_card")
    _settle(values, file, ctx, config)
    gates = AuditResult.read_gates(values["fail_if"]) if values["fail_if"] else []
    output = Output.of(values)
    read = [values["data"], values["against"], values["rows"], config]
    further = {} if model_card is None else {"--model-card": [model_card]}
    output.check(inputs=[str(path) for path in read if path is not None], others=further)
    if save_config is not None:
        _check_saving(save_config, output, inputs=[values["data"], values["against"]])
    of_outcomes = values["embedding"] is None
    with show_progress(
        "Counting" if of_outcomes else "Reading", quiet=values["quiet"], measure=query_share if of_outcomes else None
    ) as tracker:
        result = _of_outcomes(values) if of_outcomes else _of_embedding(values, tracker)

    def write_more() -> tuple[str, ...]:
        if save_config is not None:
            _save(save_config, values)
        if model_card is None:
            return ()
        result.model_card(model_card)
        return (f"The model card: {model_card}",)

    output.deliver(result, write_more)
    if gates:
        end_if_broken(result.check(*gates, allow_undefined=values["allow_undefined"]))


def _of_outcomes(values: Mapping[str, Any]) -> AuditResult:
    from equipoise.audits import audit as run
    from equipoise.foundation import command_line

    settings = arguments(AUDIT_OPTIONS, values, OUTCOMES)
    settings["intersections"] = "pairs" if values["pairs"] else values["intersections"]
    settings.pop("embedding")
    return run(values["data"], **settings, command=command_line())


def _of_embedding(values: Mapping[str, Any], tracker: ProgressTracker) -> AuditResult:
    from equipoise.audits.embedding import audit_embedding
    from equipoise.foundation import command_line

    if len(values["target"] or ()) > 1:
        raise BadInput("Several targets were given with --embedding", available="one: the class of every point")
    settings = arguments(AUDIT_OPTIONS, values, EMBEDDING)
    settings["target"] = values["target"][0] if values["target"] else None
    for name in ("majoritised", "minoritised"):
        settings[name] = {column: groups.split(",") for column, groups in settings[name].items()}
    settings["rebalance"] = values["rebalance"] or False
    settings["downstream"] = True if values["downstream"] == ["all"] else values["downstream"] or ()
    return audit_embedding(values["data"], **settings, progress=tracker, command=command_line())


def _settle(values: dict[str, Any], file: str | None, ctx: typer.Context, config: Path | None) -> None:
    """Settle every setting of an audit: what is typed wins over what a config file says."""
    from equipoise.cohorts import ARRAY_ENDINGS

    values["data"] = file
    stored = _kept(config)
    values |= {name: value for name, value in stored.items() if not _is_given(ctx, "file" if name == "data" else name)}
    for of in AUDIT_OPTIONS:
        if of.kind == "pairs" and not isinstance(values[of.name], Mapping):
            values[of.name] = pairs(of.flag, values[of.name] or (), of.example)
    if values["data"] is None:
        raise BadInput("No file was given", help="name it after audit, or as data = in the file of --config.")
    if values["embedding"] is None and Path(values["data"]).suffix.lower() in ARRAY_ENDINGS:
        raise BadInput(
            f"{values['data']!r} holds arrays, and no --embedding was given",
            available="a table of outcomes; or points, the name of their array, and a table that says whose they are",
            help="equipoise audit FILE --embedding KEY --rows PEOPLE --target COL --group COL; a .npy file has one "
            "array, so any KEY works.",
        )
    if not values["group"]:
        raise BadInput(
            "No group column was given", help="name one with --group COL, or as group = in the file of --config."
        )
    _check_kind(values, {of.name for of in AUDIT_OPTIONS if _is_given(ctx, of.name) or of.name in stored})


def _kept(config: Path | None) -> dict[str, Any]:
    """Return what a config file says, with the paths of outputs as paths."""
    if config is None:
        return {}
    from equipoise.audits import read_config

    outputs = {of.name for of in AUDIT_OPTIONS if of.kind == "output"}
    return {
        name: Path(str(value)) if name in outputs and value is not None else value
        for name, value in read_config(config).items()
    }


def _is_given(ctx: typer.Context, name: str) -> bool:
    sources = [ctx.get_parameter_source(parameter) for parameter in (name, f"no_{name}")]
    return any(source is not None and source.name != "DEFAULT" for source in sources)


def _check_kind(values: Mapping[str, Any], named: Collection[str]) -> None:
    """Refuse options that the audit at hand would have to ignore."""
    kind = OUTCOMES if values["embedding"] is None else EMBEDDING
    for of in AUDIT_OPTIONS:
        if of.name in named and not of.used_by(kind):
            other_kind = "outcomes" if kind == EMBEDDING else "embeddings (name one with --embedding)"
            raise BadInput(
                f"{of.flag} was given {'with' if kind == EMBEDDING else 'without'} --embedding",
                help=f"leave out {of.flag}: it is for {other_kind}.",
            )


def _check_saving(path: Path, output: Output, *, inputs: Collection[str | None]) -> None:
    """Refuse a path for a config file that cannot be written, or that is something else too."""
    from equipoise.foundation import check_writable

    check_writable(path, inputs=[file for file in inputs if file is not None])
    if path in (*output.files.values(), output.figures):
        raise BadInput(f"--save-config names {str(path)!r}, an output too", help="give each its own file.")


def _save(path: Path, values: Mapping[str, Any]) -> None:
    """Write the settings as a config file."""
    from equipoise.audits import config_text
    from equipoise.foundation import write_file

    write_file(path, config_text(values, path.parent))
