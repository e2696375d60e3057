"""Where an investigation goes: files that were asked for, checked before any work, and the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.discovery.investigation import Investigation


@dataclass(frozen=True)
class Delivery:
    """Where an investigation goes."""

    json: Path | None = None
    html: Path | None = None
    save: Path | None = None
    naming: Path | None = None
    figures: Path | None = None
    markdown: Path | None = None
    quiet: bool = False
    open: bool = False

    def __post_init__(self) -> None:
        if self.open and self.html is None:
            from equipoise.cli._output import temporary_page

            object.__setattr__(self, "html", temporary_page())

    def check(self, *, inputs: list[str]) -> None:
        """Refuse paths that cannot be written, that are read, or that are written twice, before any work is done."""
        from equipoise.cli._output import Output, check_apart
        from equipoise.foundation.errors import BadInput

        for option, ending in (("save", ".safetensors"), ("naming", ".csv")):
            path: Path | None = getattr(self, option)
            if path is not None and path.suffix != ending:
                raise BadInput(f"--{option} names {str(path)!r}", available=f"a file that ends with {ending}")
        Output(figures=self.figures).check()
        files = self._files()
        check_apart(files, inputs)
        if self.figures is not None:
            folder = self.figures.resolve()
            for option in (name for name, own in files.items() if any(file.resolve() == folder for file in own)):
                raise BadInput(
                    f"{option} and --figures both write {str(self.figures)!r}",
                    help="name another folder for charts.",
                )

    def _files(self) -> dict[str, list[Path]]:
        """Return every file that is written, by the option that asks for it."""
        from equipoise.discovery.naming import key_path, strips_path

        return {
            "--json": [self.json] if self.json else [],
            "--html": [self.html] if self.html else [],
            "--markdown": [self.markdown] if self.markdown else [],
            "--save": [self.save, self.save.with_suffix(".json")] if self.save else [],
            "--naming": [self.naming, strips_path(self.naming), key_path(self.naming)] if self.naming else [],
        }

    def deliver(self, made: Investigation) -> None:
        """Write what was asked for, and print the investigation unless asked not to."""
        from equipoise.cli._output import Output
        from equipoise.discovery.naming import write_sheet
        from equipoise.foundation.files import together

        output = Output(
            json=self.json, html=self.html, figures=self.figures, markdown=self.markdown, quiet=self.quiet,
            open=self.open,
        )  # fmt: skip
        told: list[str] = []
        with together():
            output.write(made)
            if self.save is not None:
                told.append(_saved(made, self.save))
            if self.naming is not None:
                if any(one.strips for one in (*made.directions, *made.methods)):
                    write_sheet(made, self.naming)
                    told.append(f"The naming sheet: {self.naming}; its key is for nobody who names")
                else:
                    told.append("No naming sheet was written: there is no strip to name")
        output.show(made)
        if not self.quiet:
            from rich.console import Console

            for line in told:
                Console().print(line, highlight=False, markup=False)


def _saved(made: Investigation, path: Path) -> str:
    """Write the confirmed directions, with what is said of them."""
    from equipoise.discovery.saving import save_directions

    standing = [one.judged for one in made.confirmed if one.judged.plane is not None]
    if not standing:
        return f"No direction is confirmed: {path} was not written"
    said = {
        "classifier": made.classifier, "generator": made.generator, "seed": made.search.seed,
        "directions": {one.name: {"variation": one.variation, "low": one.low, "high": one.high,
                                  "rank_among_random": one.rank_among_random,
                                  "random_directions": one.random_directions, "steadiness": one.steadiness}
                       for one in standing},
    }  # fmt: skip
    save_directions(path, [one.plane for one in standing if one.plane is not None], said)
    return f"The confirmed directions: {path}"
