"""``equipoise doctor``: what is installed, what is missing, and the line that mends it."""

from __future__ import annotations

import platform

import typer


def doctor() -> None:
    """Show versions, extras and the GPU, with the install line for what is missing."""
    from equipoise import __version__
    from equipoise.foundation.imports import install_line, installed
    from equipoise.foundation.registry import EXTRA_MODULES, KINDS, registry

    typer.echo(f"equipoise {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}")
    for package in ("numpy", "scipy", "scikit-learn", "narwhals", "duckdb", "typer", "rich", "altair", "pydantic"):
        typer.echo(f"  {package:<16} {_version(package)}")
    typer.echo("Extras")
    for extra, module in EXTRA_MODULES.items():
        state = "installed" if installed(module) else f"missing; {install_line(extra)}"
        typer.echo(f"  {extra:<16} {state}")
    typer.echo(f"GPU: {_gpu()}")
    for kind in KINDS:
        registry.entries(kind)
    for failure in registry.plugin_failures:
        typer.echo(f"plug-in {failure.plugin!r} could not be loaded: {failure.reason}")


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return f"missing: pip install {package}"


def _gpu() -> str:
    from equipoise.foundation.imports import installed

    if not installed("torch"):
        return "not looked for (torch is not installed)"
    import torch

    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "none"
