"""The options of ``discover``, ``label`` and ``name``, declared once: name, type, default and what each means.

``only`` says which object or function of Python takes an option: ``SearchSettings``, ``JudgeSettings``,
``ProbeSettings``, ``discover``, ``audit_direction``, ``load_generator``, ``load_classifier`` or a plan's cohort.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from equipoise.audits import OUTPUT, OUTPUTS, audit_option
from equipoise.foundation import Option

FOR_SEARCH, FOR_JUDGE, FOR_DISCOVER, FOR_GENERATOR, FOR_CLASSIFIER = (
    "search",
    "judge",
    "discover",
    "generator",
    "classifier",
)
FOR_PROBE, FOR_AUDIT, FOR_COHORT = "probe", "audit", "cohort"

_option = partial(Option, panel=None)
# What the command line reads or writes by itself, or puts together for Python.
_of_command = partial(Option, panel=None, argument=None)

LATENT_SIZE = _option(
    name="latent_size", kind="whole", metavar="N", least=1, only=(FOR_GENERATOR,), help="Latent size of a plain module."
)
PRIOR = _option(
    name="prior", kind="choice", choices=("normal", "uniform"), only=(FOR_GENERATOR,),
    help="Prior of a plain module: normal (the default) or uniform.",
)  # fmt: skip
DEVICE = _option(
    name="device", default="cpu", metavar="NAME", only=(FOR_GENERATOR, FOR_CLASSIFIER), help="cpu or cuda."
)
KNOWN = _of_command(name="known", kind="file", metavar="FILE", help="Known attributes: .json or .safetensors.")
# What is said of a classifier that is named as FILE.py:NAME.
CLASSIFIER_OPTIONS = (
    _option(name="logits", kind="flag", only=(FOR_CLASSIFIER,), help="The classifier gives logits."),
    _option(
        name="class_", metavar="CLASS", argument="output", only=(FOR_CLASSIFIER,),
        help="The class to read, by index or name, if there are several.",
    ),
    _option(
        name="class_names", metavar="A,B", argument="names", type_name="sequence of str", only=(FOR_CLASSIFIER,),
        help="The names of the classes, in the order of the outputs.",
    ),
    _option(
        name="size", metavar="HxW", type_name="int or pair of int", only=(FOR_CLASSIFIER,),
        help="The pictures that the classifier was trained on: 64 or 64x48.",
    ),
    _option(name="resize", kind="flag", only=(FOR_CLASSIFIER,), help="Resize pictures to that size."),
)  # fmt: skip

DISCOVER_OPTIONS = (
    _of_command(
        name="classifier", metavar="FILE.py:NAME", needed=True,
        help="The classifier: NAME in a Python file, which is run.",
    ),
    _of_command(
        name="generator", metavar="FILE", needed=True,
        help="The generator: FILE.py:NAME, or a .safetensors file of one trained here.",
    ),
    _of_command(
        name="reference", metavar="FILE.py:NAME",
        help="A second classifier, whose probability should not change: a module that returns probabilities, or a "
        "Classifier, which declares what --logits, --class and --size declare for the first.",
    ),
    _of_command(
        name="reference_penalty", kind="number", metavar="W", help="Weight of keeping it constant; 10 by default."
    ),
    KNOWN,
    _of_command(name="target", metavar="NAME", help="Which of them the classifier is meant to predict."),
    _option(
        name="search", kind="flag", default=True, only=(FOR_DISCOVER,),
        help="Search; or only measure the change along known attributes.",
    ),
    _option(
        name="steps", kind="whole", default=1000, least=1, metavar="N", only=(FOR_SEARCH,), help="Steps of the search."
    ),
    _option(
        name="directions", kind="whole", default=3, least=1, metavar="N", only=(FOR_DISCOVER,),
        help="How many directions to look for.",
    ),
    _option(
        name="restarts", kind="whole", default=4, least=1, metavar="N", only=(FOR_DISCOVER,),
        help="Random starts per direction.",
    ),
    _option(
        name="race", kind="flag", default=False, only=(FOR_SEARCH,), help="Stop starts that fall behind; faster."
    ),
    _option(name="batch", kind="whole", default=64, least=1, metavar="N", only=(FOR_SEARCH,), help="Latents per step."),
    _option(name="rate", kind="number", default=0.01, only=(FOR_SEARCH,), help="The step size of Adam."),
    _of_command(
        name="reach", kind="number", default=2.0,
        help="Length of a traversal to either side, in units of the latent space.",
    ),
    _option(
        name="chunk", kind="whole", least=1, metavar="N", only=(FOR_SEARCH,),
        help="Pictures per pass through the networks.",
    ),
    _option(
        name="orthogonality", kind="choice", default="squared", choices=("squared", "signed", "exact"),
        only=(FOR_SEARCH,),
        help="Penalty for overlap with known attributes: squared, signed or exact.",
    ),
    _option(name="penalty", kind="number", default=10.0, metavar="W", only=(FOR_SEARCH,),
    help="Weight of that penalty."),
    _option(
        name="hessian", kind="number", default=0.0, metavar="W", only=(FOR_SEARCH,),
        help="Weight of the Hessian penalty on pictures; 0: none.",
    ),
    _option(
        name="precision", kind="choice", default="native", choices=("native", "bfloat16"), only=(FOR_SEARCH,),
        help="Precision of the search: native, or bfloat16, which is faster on a graphics card.",
    ),
    _option(
        name="guard", kind="number", metavar="SHARE", only=(FOR_SEARCH,),
        help="Count only latents within this share of the prior: 0.999.",
    ),
    _option(
        name="latents", kind="whole", default=256, least=32, metavar="N", only=(FOR_JUDGE,),
        help="Fresh latents for the tests.",
    ),
    _option(
        name="min_effect", kind="number", default=0.3, metavar="CHANGE", flags=("--least-way",), only=(FOR_JUDGE,),
        help="Confirm only what changes the probability by this much in total.",
    ),
    _of_command(
        name="surrogate", kind="flag", default=False,
        help="Search on a small surrogate of both networks; far faster.",
    ),
    _option(name="compare", kind="flag", default=True, only=(FOR_DISCOVER,), help="Compare with five baselines."),
    _option(
        name="strips", kind="whole", default=4, least=0, metavar="N", only=(FOR_DISCOVER,),
        help="Latents shown per direction.",
    ),
    LATENT_SIZE,
    PRIOR,
    *CLASSIFIER_OPTIONS,
    DEVICE,
    replace(audit_option("seed"), only=(FOR_SEARCH, FOR_JUDGE)),
    _of_command(
        name="save", kind="output", panel=OUTPUT, metavar="FILE",
        help="Write the confirmed directions (.safetensors, with a .json).",
    ),
    _of_command(
        name="naming", kind="output", panel=OUTPUT, metavar="FILE",
        help="Write a blind naming sheet (.csv, its strips and its key).",
    ),
    *OUTPUTS,
)  # fmt: skip

LABEL_OPTIONS = (
    _of_command(
        name="directions", kind="file", metavar="FILE", needed=True, help="Saved directions (.safetensors)."
    ),
    _of_command(
        name="out", kind="output", metavar="FILE", needed=True, help="Write the table with the new column (.csv)."
    ),
    _of_command(name="direction", metavar="NAME", help="Which direction; not needed if there is only one."),
    _of_command(
        name="encoder", metavar="FILE",
        help="Read pictures by an encoder: a VAE's (.safetensors), or FILE.py:NAME.",
    ),
    _of_command(
        name="generator", metavar="FILE",
        help="Or by a probe trained on its pictures (.safetensors, FILE.py:NAME).",
    ),
    _of_command(name="probe", kind="file", metavar="FILE", help="Or by a saved probe."),
    _of_command(name="save_probe", kind="output", metavar="FILE", help="Save the probe (.safetensors)."),
    _option(
        name="steps", kind="whole", default=2000, metavar="N", only=(FOR_PROBE,), help="Training steps of the probe."
    ),
    replace(
        LATENT_SIZE, least=None, metavar="D", help="Latent size of a generator that is a plain module."
    ),
    replace(PRIOR, help="Prior of a generator that is a plain module: normal, uniform."),
    _of_command(
        name="pixels", default="0,1", metavar="B,W",
        help="The values of black and white for generator and classifier.",
    ),
    _option(name="path", metavar="PATH", only=(FOR_COHORT,), help="Where a registered cohort's file is."),
    _of_command(
        name="option", kind="texts", metavar="NAME=V", help="An option of a registered cohort: rows=2000."
    ),
    _option(
        name="pictures", metavar="COL", only=(FOR_COHORT,), help="The column of a table that names picture files."
    ),
    _option(
        name="resize_pictures", kind="whole", metavar="N", argument="resize", only=(FOR_COHORT,),
        help="Resize those to this side, in pixels.",
    ),
    _option(name="target", metavar="COL", only=(FOR_COHORT,), help="The true outcome."),
    _option(name="split", metavar="COL", only=(FOR_COHORT,), help="The column of a table: train or test."),
    _option(
        name="extra_columns", metavar="FILE", only=(FOR_COHORT,),
        help="More columns for the same rows, such as predictions.",
    ),
    _of_command(
        name="halves", kind="choice", default="median", choices=("median", "plane", "thirds"),
        help="Where rows are split: median, plane or thirds.",
    ),
    _option(name="name", metavar="COL", only=(FOR_AUDIT,), help="The new column; else the direction's name."),
    _of_command(
        name="prediction", metavar="COL",
        help="Audit this prediction on test rows, compared with random directions.",
    ),
    _of_command(
        name="classifier", metavar="FILE.py:NAME", help="Or audit this classifier's predictions for the pictures."
    ),
    *CLASSIFIER_OPTIONS,
    _option(
        name="favourable", kind="label", metavar="V", flags=("--favorable",), only=(FOR_COHORT,),
        help="The class people want to get.",
    ),
    replace(KNOWN, help="Target and known attributes, which random directions avoid."),
    _option(
        name="null", kind="whole", default=199, metavar="N", only=(FOR_AUDIT,),
        help="Random directions to compare with."
    ),
    DEVICE,
    replace(audit_option("seed"), only=(FOR_PROBE, FOR_AUDIT)),
    *OUTPUTS,
)  # fmt: skip

NAME_OPTIONS = (
    _of_command(
        name="sheet", kind="files", metavar="FILE", help="A rater's filled-in sheet; may be given again."
    ),
    _of_command(
        name="key", kind="file", metavar="FILE", help="What the codes stand for: the sheet's .key.json."
    ),
    _of_command(
        name="name", kind="texts", metavar="OLD=NEW", help="Or: name a direction yourself; may be given again."
    ),
    _of_command(
        name="save", kind="output", metavar="FILE", help="Write the named directions (.safetensors, with a .json)."
    ),
    *OUTPUTS,
)  # fmt: skip
