"""Commands of registered kinds of audits: each is made from the kind's declaration, options and all."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from equipoise.audits import AuditKind, named_object
from equipoise.cli._options import arguments, takes


def command_of(kind: AuditKind) -> Callable[..., None]:
    """Return the command of a kind of audit."""

    def command(
        file: Annotated[str, typer.Argument(help=kind.data, show_default=False)],
        *,
        said: dict[str, Any],
    ) -> None:
        from equipoise.cli._console import watching
        from equipoise.cli._output import Output, end_if_broken
        from equipoise.foundation.provenance import command_line

        gates = kind.result_type.read_gates(said["fail_if"] or ()) if said.get("fail_if") else []
        output = Output.of(said)
        output.check(inputs=[file, *(said[name] for name in kind.inputs if said[name] is not None)])
        given = arguments(kind.options, said)
        for name, convert in kind.converted.items():
            given[name] = named_object(convert)(given[name])
        with watching(kind.doing, quiet=said["quiet"]):
            result = kind.load()(file, **given, command=command_line())
        check = result.check(*gates, allow_undefined=said.get("allow_undefined", False))
        output.deliver(result)
        end_if_broken(check)

    command.__name__, command.__doc__ = kind.name, kind.summary
    made: Callable[..., None] = takes(kind.options, needed=kind.needed)(command)
    made.examples = kind.examples  # type: ignore[attr-defined]
    return made
