"""``equipoise doctor``: what is installed, what is missing, and the line that installs it."""

from __future__ import annotations

import platform
from typing import Annotated, Any

import typer

PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "duckdb", "typer", "rich", "altair", "pydantic")
EXAMPLES = ("doctor", "doctor --json")


def doctor(json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False) -> None:
    """Show versions, extras and the GPU, with the line that installs what is missing."""
    findings = _findings()
    if json:
        import json as json_text

        typer.echo(json_text.dumps(findings, ensure_ascii=False, indent=1))
        return
    typer.echo(f"equipoise {findings['version']}, Python {findings['python']}, {findings['platform']}")
    for package, version in findings["packages"].items():
        typer.echo(f"  {package:<16} {version or f'missing: pip install {package}'}")
    typer.echo("Extras")
    for extra, state in findings["extras"].items():
        typer.echo(f"  {extra:<16} {'installed' if state['installed'] else 'missing: ' + state['install']}")
    typer.echo(f"GPU: {findings['gpu']}")
    for failure in findings["plugin_failures"]:
        typer.echo(f"plug-in {failure['plugin']!r} could not be loaded: {failure['reason']}")


def _findings() -> dict[str, Any]:
    from equipoise import __version__
    from equipoise.foundation import (
        EXTRA_MODULES,
        KINDS,
        install_line,
        installed,
        registry,
    )

    for kind in KINDS:
        registry.entries(kind)
    return {
        "schema": "equipoise.doctor/1",
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": {package: _version(package) for package in PACKAGES},
        "extras": {
            extra: {"installed": installed(module), "install": install_line(extra)}
            for extra, module in EXTRA_MODULES.items()
        },
        "gpu": _gpu(),
        "plugin_failures": [
            {"plugin": plugin_failure.plugin, "reason": plugin_failure.reason}
            for plugin_failure in registry.plugin_failures
        ],
    }


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _gpu() -> str:
    from equipoise.foundation import installed

    if not installed("torch"):
        return "unknown (torch is not installed)"
    import torch

    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "none"
