"""What every other room stands on: the registry, errors, files, progress, random streams and provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation._imports import door as door

if TYPE_CHECKING:
    from equipoise.foundation._arrays import Column as Column
    from equipoise.foundation._arrays import Floats as Floats
    from equipoise.foundation._arrays import as_array as as_array
    from equipoise.foundation._arrays import as_column as as_column
    from equipoise.foundation._arrays import as_columns as as_columns
    from equipoise.foundation._arrays import as_floats as as_floats
    from equipoise.foundation._arrays import as_weights as as_weights
    from equipoise.foundation._arrays import bad_weights_error as bad_weights_error
    from equipoise.foundation._arrays import distinct_rows as distinct_rows
    from equipoise.foundation._arrays import no_weight_error as no_weight_error
    from equipoise.foundation._arrays import ratio as ratio
    from equipoise.foundation._arrays import reduce_axis as reduce_axis
    from equipoise.foundation._arrays import same_length as same_length
    from equipoise.foundation._errors import BadInput as BadInput
    from equipoise.foundation._errors import EquipoiseError as EquipoiseError
    from equipoise.foundation._errors import MissingExtra as MissingExtra
    from equipoise.foundation._errors import describe_error as describe_error
    from equipoise.foundation._errors import nearest as nearest
    from equipoise.foundation._errors import nearest_file as nearest_file
    from equipoise.foundation._errors import unknown_name as unknown_name
    from equipoise.foundation._files import STANDARD_OUTPUT as STANDARD_OUTPUT
    from equipoise.foundation._files import TensorFile as TensorFile
    from equipoise.foundation._files import atomic_file as atomic_file
    from equipoise.foundation._files import atomic_folder as atomic_folder
    from equipoise.foundation._files import check_new_folder as check_new_folder
    from equipoise.foundation._files import check_writable as check_writable
    from equipoise.foundation._files import forget_written_files as forget_written_files
    from equipoise.foundation._files import make_output_folder as make_output_folder
    from equipoise.foundation._files import read_toml as read_toml
    from equipoise.foundation._files import write_error as write_error
    from equipoise.foundation._files import write_file as write_file
    from equipoise.foundation._files import write_together as write_together
    from equipoise.foundation._files import written_files as written_files
    from equipoise.foundation._imports import door as door
    from equipoise.foundation._imports import install_line as install_line
    from equipoise.foundation._imports import installed as installed
    from equipoise.foundation._imports import require as require
    from equipoise.foundation._long_work import Progress as Progress
    from equipoise.foundation._long_work import ProgressTracker as ProgressTracker
    from equipoise.foundation._long_work import StagedProgress as StagedProgress
    from equipoise.foundation._long_work import check_interrupt as check_interrupt
    from equipoise.foundation._long_work import defer_interrupts as defer_interrupts
    from equipoise.foundation._long_work import duration as duration
    from equipoise.foundation._long_work import interrupt_received as interrupt_received
    from equipoise.foundation._long_work import watch_interrupts as watch_interrupts
    from equipoise.foundation._options import FOREIGN_ARGUMENTS as FOREIGN_ARGUMENTS
    from equipoise.foundation._options import Option as Option
    from equipoise.foundation._options import accepts as accepts
    from equipoise.foundation._options import check_options as check_options
    from equipoise.foundation._options import document_options as document_options
    from equipoise.foundation._options import unknown_argument as unknown_argument
    from equipoise.foundation._python_files import attribute as attribute
    from equipoise.foundation._python_files import check_file as check_file
    from equipoise.foundation._python_files import importable_folder as importable_folder
    from equipoise.foundation._python_files import imported as imported
    from equipoise.foundation._python_files import module_name as module_name
    from equipoise.foundation._references import bibtex_for as bibtex_for
    from equipoise.foundation._references import bibtex_of as bibtex_of
    from equipoise.foundation._references import citation as citation
    from equipoise.foundation._references import references_of as references_of
    from equipoise.foundation._registry import EXTRA_MODULES as EXTRA_MODULES
    from equipoise.foundation._registry import KINDS as KINDS
    from equipoise.foundation._registry import Entry as Entry
    from equipoise.foundation._registry import cohort as cohort
    from equipoise.foundation._registry import condition as condition
    from equipoise.foundation._registry import first_line as first_line
    from equipoise.foundation._registry import kind_of as kind_of
    from equipoise.foundation._registry import learner as learner
    from equipoise.foundation._registry import plural_of as plural_of
    from equipoise.foundation._registry import registered as registered
    from equipoise.foundation._registry import registry as registry
    from equipoise.foundation._registry import report as report
    from equipoise.foundation._registry import report_of as report_of
    from equipoise.foundation._registry import sentence_encoder as sentence_encoder
    from equipoise.foundation._registry import treatment as treatment
    from equipoise.foundation._reproducibility import RECORDED_PACKAGES as RECORDED_PACKAGES
    from equipoise.foundation._reproducibility import command_line as command_line
    from equipoise.foundation._reproducibility import fingerprint_of as fingerprint_of
    from equipoise.foundation._reproducibility import provenance as provenance
    from equipoise.foundation._reproducibility import stream as stream
    from equipoise.foundation._tabular import FORMULA_STARTS as FORMULA_STARTS
    from equipoise.foundation._tabular import csv_cells as csv_cells
    from equipoise.foundation._tabular import csv_text as csv_text
    from equipoise.foundation._tabular import full_precision as full_precision
    from equipoise.foundation._tabular import make_frame as make_frame
    from equipoise.foundation._text import fitting as fitting
    from equipoise.foundation._text import has_secrets as has_secrets
    from equipoise.foundation._text import is_number as is_number
    from equipoise.foundation._text import listing as listing
    from equipoise.foundation._text import number_of_people as number_of_people
    from equipoise.foundation._text import percent as percent
    from equipoise.foundation._text import plural as plural
    from equipoise.foundation._text import points as points
    from equipoise.foundation._text import printable as printable
    from equipoise.foundation._text import redacted as redacted
    from equipoise.foundation._text import redacted_argument as redacted_argument
    from equipoise.foundation._text import redacted_traceback as redacted_traceback
    from equipoise.foundation._text import remember_secrets as remember_secrets
    from equipoise.foundation._text import shortened as shortened

_MODULES = {
    "_arrays": (
        "Column", "Floats", "as_array", "as_column", "as_columns", "as_floats", "as_weights", "bad_weights_error",
        "distinct_rows", "no_weight_error", "ratio", "reduce_axis", "same_length",
    ),
    "_errors": (
        "BadInput", "EquipoiseError", "MissingExtra", "describe_error", "nearest", "nearest_file", "unknown_name",
    ),
    "_files": (
        "STANDARD_OUTPUT", "TensorFile", "atomic_file", "check_new_folder", "check_writable", "atomic_folder",
        "forget_written_files", "make_output_folder", "read_toml", "write_error", "write_together", "write_file",
        "written_files",
    ),
    "_imports": ("door", "install_line", "installed", "require"),
    "_long_work": (
        "Progress", "ProgressTracker", "StagedProgress", "check_interrupt", "defer_interrupts", "duration",
        "interrupt_received", "watch_interrupts",
    ),
    "_options": ("FOREIGN_ARGUMENTS", "Option", "accepts", "check_options", "document_options", "unknown_argument"),
    "_python_files": ("attribute", "importable_folder", "check_file", "imported", "module_name"),
    "_references": ("bibtex_for", "bibtex_of", "citation", "references_of"),
    "_registry": (
        "EXTRA_MODULES", "Entry", "KINDS", "cohort", "condition", "first_line", "kind_of", "learner", "plural_of",
        "registered", "registry", "report", "report_of", "sentence_encoder", "treatment",
    ),
    "_reproducibility": ("RECORDED_PACKAGES", "command_line", "fingerprint_of", "provenance", "stream"),
    "_tabular": ("FORMULA_STARTS", "csv_cells", "csv_text", "full_precision", "make_frame"),
    "_text": (
        "fitting", "has_secrets", "is_number", "listing", "number_of_people", "percent", "plural", "points",
        "printable", "redacted", "redacted_argument", "redacted_traceback", "remember_secrets", "shortened",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
