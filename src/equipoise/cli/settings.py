"""What an audit is told by its options, by a config file, or by both: what is typed goes before what is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from equipoise.cli.pairs import pairs

if TYPE_CHECKING:
    from equipoise.cli.output import Output

# Options of this command that are not part of an audit.
NOT_KEPT = ("config", "save_config")
EXAMPLES = {"reference": "sex=Male", "bin": "age=25,45", "majoritised": "race=White", "minoritised": "race=Black,Asian"}
OUTPUTS = ("json", "html", "figures", "csv", "latex")


def settled(ctx: typer.Context, config: Path | None) -> dict[str, Any]:
    """Return every setting of an audit, under the names of a config file."""
    from equipoise.cohorts.readers import ARRAYS
    from equipoise.foundation.errors import BadInput

    said = {name: value for name, value in ctx.params.items() if name not in NOT_KEPT}
    kept = {} if config is None else _kept(config)
    for name, value in kept.items():
        option = "file" if name == "data" else name
        if not _is_given(ctx, option):
            said[option] = Path(value) if name in OUTPUTS and value is not None else value
    for name, example in EXAMPLES.items():
        if not isinstance(said[name], Mapping):
            said[name] = pairs(f"--{name}", said[name] or (), example)
    said["data"] = said.pop("file")
    if said["data"] is None:
        raise BadInput("No file was given", help="name it after audit, or as data = in the file of --config.")
    if said["embedding"] is None and Path(said["data"]).suffix.lower() in ARRAYS:
        raise BadInput(
            f"{said['data']!r} holds arrays, and no --embedding was given",
            available="a table of outcomes; or points, the name of their array, and a table that says whose they are",
            help="equipoise audit FILE --embedding KEY --rows PEOPLE --target COL --group COL; a .npy file has one "
            "array, for which any KEY will do.",
        )
    if not said["group"]:
        raise BadInput(
            "No group column was given", help="name one with --group COL, or as group = in the file of --config."
        )
    _check_kind(said, {name for name in ctx.params if _is_given(ctx, name) or name in kept})
    return said


# What only an audit of outcomes can use, and what only an audit of an embedding can.
OF_OUTCOMES = ("prediction", "score", "favourable", "task", "reference", "control", "weight", "split", "threshold",
               "score_class", "intersections", "pairs", "strict", "variant", "against", "against_prediction",
               "against_score", "gap", "equivalence_margin")  # fmt: skip
OF_EMBEDDINGS = ("rows", "id", "drop", "k", "metric", "majoritised", "minoritised", "downstream",
                 "downstream_target", "rebalance", "macro", "train", "leakage", "map")  # fmt: skip


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _check_kind(said: Mapping[str, Any], given: Collection[str]) -> None:
    """Refuse options that the audit at hand would have to ignore."""
    from equipoise.foundation.errors import BadInput

    embedding = said["embedding"] is not None
    strange = [name for name in (OF_OUTCOMES if embedding else OF_EMBEDDINGS) if name in given]
    if strange:
        option = "--" + strange[0].replace("_", "-")
        what = "outcomes" if embedding else "embeddings (name one with --embedding)"
        raise BadInput(
            f"{option} was given {'with' if embedding else 'without'} --embedding",
            help=f"leave out {option}: it is for {what}.",
        )


def _kept(config: Path) -> dict[str, Any]:
    from equipoise.audits.config import read_config

    return read_config(config)


def check_saving(path: Path, output: Output, *, inputs: Iterable[str | None]) -> None:
    """Refuse a path for a config file that cannot be written, or that is something else too."""
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.files import check_writable

    check_writable(path, inputs=[file for file in inputs if file is not None])
    if path in [getattr(output, name) for name in OUTPUTS]:
        raise BadInput(f"--save-config names {str(path)!r}, an output too", help="give each its own file.")


def save(path: Path, said: Mapping[str, Any]) -> None:
    """Write the settings as a config file."""
    from equipoise.audits.config import config_text
    from equipoise.foundation.files import write_whole

    write_whole(path, config_text(said, path.parent))
