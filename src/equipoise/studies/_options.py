"""The options of ``equipoise study`` and ``reproduce``, declared once, by command; and which function takes which."""

from __future__ import annotations

from functools import partial

from equipoise.audits import OUTPUTS, audit_option
from equipoise.foundation import Option

# What takes an option in Python: check, run_in_store, run_to_folder, read_study, diagnose, write_table,
# open_store or refit.
FOR_CHECK, FOR_RUN, FOR_FOLDER, FOR_RESULT, FOR_DIAGNOSE, FOR_EXPORT, FOR_OPEN = (
    "check",
    "run",
    "folder",
    "result",
    "diagnose",
    "export",
    "open",
)
FOR_REFIT = "refit"

_option = partial(Option, panel=None)
# What the command line reads or writes by itself, or puts together for Python.
_of_command = partial(Option, panel=None, argument=None)

STORE = _of_command(name="store", metavar="PATH|URL", help="The store; by default beside the plan, as PLAN.db.")
ARTEFACTS = _option(
    name="artefacts", kind="output", metavar="DIR", only=(FOR_RUN, FOR_RESULT, FOR_EXPORT, FOR_OPEN, FOR_REFIT),
    help="Predictions too large for the store; by default beside it, STORE.artefacts.",
)  # fmt: skip
QUIET = audit_option("quiet")

STUDY_OPTIONS: dict[str, tuple[Option, ...]] = {
    "check": (
        STORE,
        _option(
            name="probe", kind="flag", default=False, only=(FOR_CHECK,),
            help="Time one epoch of each treatment, and discard it.",
        ),
        _option(
            name="pilot", kind="file", metavar="FILE", only=(FOR_CHECK,),
            help="JSON report of an earlier study, whose spreads say what this one can decide.",
        ),
        QUIET,
    ),
    "run": (
        STORE,
        ARTEFACTS,
        _option(
            name="workers", kind="whole", default=1, metavar="N", only=(FOR_RUN,), help="Processes that train at once."
        ),
        _of_command(
            name="to", kind="output", metavar="DIR", help="Write every trial as a file here, and use no store."
        ),
        _of_command(
            name="part", default="1/1", metavar="K/N", help="With --to: the K-th of N parts of the work."
        ),
        _option(
            name="scores", kind="flag", default=True, only=(FOR_FOLDER,),
            help="With --to: keep scores too, or the predictions alone.",
        ),
        _option(
            name="checkpoints", kind="output", metavar="DIR", only=(FOR_RUN, FOR_FOLDER),
            help="Where long trainings keep checkpoints; by default beside the trials.",
        ),
        _option(
            name="retry_failed", kind="flag", default=False, only=(FOR_RUN,), help="Train failed trials once more."
        ),
        _option(
            name="keep_models", kind="flag", default=False, only=(FOR_RUN,),
            help="Keep the weights of small networks, up to 4 MiB each: study refit then trains nothing.",
        ),
        QUIET,
    ),
    "status": (
        STORE,
        _of_command(
            name="failures", kind="flag", default=False,
            help="Show where trials failed: files, lines and functions.",
        ),
    ),
    "report": (
        STORE,
        ARTEFACTS,
        _option(
            name="measures", kind="texts", metavar="NAME", values="measures", only=(FOR_RESULT,),
            help="Report this measure; may be given again. Nothing is trained again.",
        ),
        _option(
            name="against", kind="texts", metavar="NAME", only=(FOR_RESULT,),
            help="Compare every other treatment with this one too; all: every pair. May be given again.",
        ),
        _option(
            name="equivalence_margin", kind="number", metavar="D", only=(FOR_RESULT,),
            help="Test whether changes are within -D to D. Better given in the plan.",
        ),
        _option(
            name="show_rows", kind="flag", default=False, only=(FOR_RESULT,),
            help="List the people whose prediction flips.",
        ),
        *OUTPUTS,
    ),
    "diagnose": (
        _option(
            name="steps", kind="whole", default=200, least=1, metavar="N", only=(FOR_DIAGNOSE,),
            help="Steps of training to compare.",
        ),
        *OUTPUTS,
    ),
    "refit": (
        STORE,
        ARTEFACTS,
        _option(
            name="treatment", metavar="NAME", needed=True, only=(FOR_REFIT,),
            help="The treatment, with settings where it has several: 'adversarial(strength=1)'.",
        ),
        _option(name="condition", metavar="TEXT", only=(FOR_REFIT,), help="The condition, or a part of its name."),
        _option(name="learner", metavar="TEXT", only=(FOR_REFIT,), help="The learner, or a part of its name."),
        _option(name="selection", metavar="NAME", only=(FOR_REFIT,),
        help="How the epoch was chosen: dto or performance."),
        _option(name="seed", kind="whole", metavar="N", only=(FOR_REFIT,),
        help="The seed; by default the plan's first."),
        _option(
            name="rounding", metavar="NAME", only=(FOR_REFIT,), help="Another rounding than the plan's: deterministic."
        ),
        _option(
            name="to", kind="output", metavar="DIR", needed=True, only=(FOR_REFIT,), help="A new folder for the model."
        ),
        QUIET,
    ),
    "export": (
        STORE,
        ARTEFACTS,
        _option(
            name="measures", kind="texts", metavar="NAME", values="measures", only=(FOR_EXPORT,),
            help="Export this measure; may be given again.",
        ),
        QUIET,
    ),
    "merge": (STORE, ARTEFACTS, QUIET),
    "worker": (STORE, ARTEFACTS, QUIET),
    "pack": (QUIET,),
}  # fmt: skip

REPRODUCE_OPTIONS = (
    _of_command(
        name="data", kind="file", metavar="DIR", help="Run its study on this copy of CIFAR-10 (needs torch)."
    ),
    _of_command(
        name="results", kind="file", metavar="FILE", help="Read the result of an earlier study: study report --json."
    ),
    _of_command(
        name="to_folder", kind="output", metavar="DIR",
        help="Where plan, trials and report go; reproduce-004 by default.",
    ),
    _of_command(name="quick", kind="flag", default=False, help="A tiny study, to see that everything runs."),
    _of_command(name="device", metavar="NAME", help="cpu, as by default, or cuda."),
    _of_command(name="epochs", kind="whole", least=1, metavar="N", help="Epochs; 200 in the paper."),
    _of_command(name="repeats", kind="whole", least=1, metavar="N", help="Identical runs; 16 in the paper."),
    *OUTPUTS,
)  # fmt: skip
