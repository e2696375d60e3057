"""The options of ``audit``, declared once: its arguments in Python, its command line and its config file."""

from __future__ import annotations

from dataclasses import replace

from equipoise.foundation import Option

OUTCOMES, EMBEDDING = "outcomes", "embedding"
COLUMN, ROWS_OF = "column name or array", "column name, list of names, or array"

# The kinds of a panel's options, in the order in which they are shown.
DATA, GROUPS, STATISTICS = "Data", "Groups", "Statistics"
CHANGE, EMBEDDINGS, GATES, OUTPUT = "Change since an earlier model", "Embedding", "Gates", "Output"

# Whose rows they are and how their columns are read: in every verb that takes rows of people.
GROUP = Option(
    name="group", kind="texts", panel=GROUPS, metavar="COL", argument="sensitive_features", values="columns",
    type_name=ROWS_OF, help="A column of groups; may be given again.",
)  # fmt: skip
BIN = Option(
    name="bin", kind="pairs", panel=GROUPS, metavar="COL=CUTS", argument="bins", example="age=25,45",
    help="Cut a column of numbers into groups: age=25,45 or age=quantile:4.",
)  # fmt: skip
CATEGORICAL = Option(
    name="categorical", kind="texts", panel=GROUPS, metavar="COL", default=(), values="columns",
    help="The numbers in this group column are codes.",
)  # fmt: skip
INCLUDE_MISSING = Option(
    name="include_missing", kind="flag", panel=GROUPS, default=False,
    help="Let (missing) be a group in gaps and tests.",
)  # fmt: skip
SUPPRESS_BELOW = Option(
    name="suppress_below", kind="whole", panel=GROUPS, default=0, metavar="N", help="Hide numbers about fewer people."
)
CLUSTER = Option(
    name="cluster", panel=GROUPS, metavar="COL", values="columns", type_name=COLUMN,
    help="Rows that belong together, such as two pictures of one person; intervals and tests resample clusters.",
)  # fmt: skip
MISSING = Option(
    name="missing", kind="texts", panel=DATA, metavar="V", default=(), help="A value that means missing, such as NA."
)
DRAWS = Option(
    name="draws", kind="whole", panel=STATISTICS, default=2_000, metavar="N",
    help="Resamples for intervals and tests; 0 for no tests.",
)  # fmt: skip
SEED = Option(name="seed", kind="whole", panel=STATISTICS, default=0, metavar="N", help="Seed of the random draws.")
ROWS = Option(
    name="rows", kind="input", panel=EMBEDDINGS, metavar="FILE", only=(EMBEDDING,),
    help="Whose points they are: CSV, Parquet, Arrow, .npz.",
)  # fmt: skip
ID = Option(
    name="id", panel=EMBEDDINGS, metavar="COL", only=(EMBEDDING,), values="columns",
    help="Match rows and points by this column or array, not by their order.",
)  # fmt: skip
DROP = Option(
    name="drop", kind="flag", panel=EMBEDDINGS, default=False, only=(EMBEDDING,),
    help="Leave out rows with points not finite or ids not in every file; say how many.",
)  # fmt: skip

# Where a result goes: in every command that reports.
JSON = Option(
    name="json", kind="output", panel=OUTPUT, metavar="FILE", argument=None, help="Write all numbers as JSON."
)
HTML = Option(
    name="html", kind="output", panel=OUTPUT, metavar="FILE", argument=None, help="Write a page that works offline."
)
PDF = Option(
    name="pdf", kind="output", panel=OUTPUT, metavar="FILE", argument=None,
    help="Print the page as a PDF (needs Chromium).",
)  # fmt: skip
FIGURES = Option(
    name="figures", kind="output", panel=OUTPUT, metavar="DIR", argument=None, help="Write the charts as PNG and SVG."
)
CSV = Option(name="csv", kind="output", panel=OUTPUT, metavar="FILE", argument=None, help="Write the records as CSV.")
LATEX = Option(
    name="latex", kind="output", panel=OUTPUT, metavar="FILE", argument=None, help="Write the tables for LaTeX."
)
MARKDOWN = Option(
    name="markdown", kind="output", panel=OUTPUT, metavar="FILE", argument=None,
    help='Write a summary as Markdown, such as "$GITHUB_STEP_SUMMARY".',
)  # fmt: skip
OPEN = Option(
    name="open", kind="flag", panel=OUTPUT, default=False, argument=None,
    help="Open the page in a browser (written to --html, or to a temporary file).",
)  # fmt: skip
QUIET = Option(
    name="quiet", kind="flag", panel=OUTPUT, default=False, flags=("-q",), argument=None, help="Print nothing."
)
OUTPUTS = (JSON, HTML, PDF, FIGURES, CSV, LATEX, MARKDOWN, OPEN, QUIET)

AUDIT_OPTIONS = (
    Option(
        name="target", kind="texts", metavar="COL", values="columns", type_name=ROWS_OF,
        help="The true outcome. Without it: selection rates only.",
    ),
    Option(
        name="prediction", kind="texts", metavar="COL", values="columns", type_name=ROWS_OF, only=(OUTCOMES,),
        help="The predicted outcome.",
    ),
    Option(
        name="score", metavar="COL", values="columns", type_name=COLUMN, only=(OUTCOMES,),
        help="The score of the favourable class. Without a prediction, it is cut at the threshold.",
    ),
    Option(
        name="favourable", kind="label", metavar="V", flags=("--favorable",), values="classes", only=(OUTCOMES,),
        help="The class people want to get. By default the positive one of 0/1, true/false or yes/no.",
    ),
    Option(
        name="task", kind="choice", default="class", choices=("class", "multilabel", "regression"), only=(OUTCOMES,),
        help="What is predicted.",
    ),
    Option(
        name="threshold", kind="number", metavar="T", only=(OUTCOMES,),
        help="Predicted where the score is at least this; 0.5 for scores from 0 to 1.",
    ),
    Option(
        name="score_class", kind="label", metavar="V", values="classes", only=(OUTCOMES,),
        help="The class the score is about, if not the favourable one.",
    ),
    Option(
        name="weight", metavar="COL", values="columns", type_name=COLUMN, only=(OUTCOMES,), help="Sample weights."
    ),
    Option(
        name="split", metavar="COL", values="columns", type_name=COLUMN, only=(OUTCOMES,),
        help="Audit each value of a column by itself.",
    ),
    MISSING,
    GROUP,
    Option(
        name="reference", kind="pairs", panel=GROUPS, metavar="COL=GROUP", example="sex=Male", only=(OUTCOMES,),
        values="column=groups", help="The group that the others are compared with.",
    ),
    Option(
        name="control", panel=GROUPS, metavar="COL", values="columns", type_name=COLUMN, only=(OUTCOMES,),
        help="Also compute every gap within the values of a column.",
    ),
    BIN,
    CATEGORICAL,
    Option(
        name="intersections", kind="flag", panel=GROUPS, default=False, only=(OUTCOMES,), type_name="bool or 'pairs'",
        help="Also cross all groups.",
    ),
    Option(
        name="pairs", kind="flag", panel=GROUPS, default=False, argument=None, only=(OUTCOMES,),
        help="Also cross the groups two at a time.",
    ),
    INCLUDE_MISSING,
    SUPPRESS_BELOW,
    CLUSTER,
    Option(
        name="measure", kind="texts", panel=STATISTICS, metavar="NAME", argument="measures", default=(),
        values="measures", only=(OUTCOMES,),
        help="Report this measure, such as DP; may be given again. Fewer measures are fewer tests to correct for.",
    ),
    Option(
        name="strict", kind="flag", panel=STATISTICS, default=False, only=(OUTCOMES,),
        help="A mean over classes is undefined as soon as one class is.",
    ),
    Option(
        name="variant", kind="choice", panel=STATISTICS, default="paper", choices=("paper", "authors"),
        only=(OUTCOMES,), help="Compute measures by the papers' formulas, or as their authors' code does.",
    ),
    Option(
        name="least_people", kind="whole", panel=STATISTICS, default=30, metavar="N",
        help="Test no contrast with fewer people.",
    ),
    Option(
        name="gap", kind="number", panel=STATISTICS, metavar="G", argument="gap_of_interest", only=(OUTCOMES,),
        help="How many people it takes to find this gap, such as 0.05.",
    ),
    Option(
        name="equivalence_margin", kind="number", panel=STATISTICS, metavar="D", only=(OUTCOMES,),
        help="Also test which differences are smaller than this, such as 0.05.",
    ),
    DRAWS,
    SEED,
    Option(
        name="against", kind="input", panel=CHANGE, metavar="FILE", only=(OUTCOMES,),
        help="What changed since these earlier rows (other people, same columns).",
    ),
    Option(
        name="against_prediction", panel=CHANGE, metavar="COL", values="columns", type_name=COLUMN, only=(OUTCOMES,),
        help="What changed since this prediction of the same rows.",
    ),
    Option(
        name="against_score", panel=CHANGE, metavar="COL", values="columns", type_name=COLUMN, only=(OUTCOMES,),
        help="What changed since this score of the same rows.",
    ),
    Option(
        name="embedding", panel=EMBEDDINGS, metavar="KEY",
        help="Audit an embedding: the array or column of points in FILE.",
    ),
    ROWS,
    ID,
    DROP,
    Option(
        name="k", kind="whole", panel=EMBEDDINGS, default=1, least=1, metavar="K", only=(EMBEDDING,),
        help="How many nearest neighbours of a point count.",
    ),
    Option(
        name="metric", kind="choice", panel=EMBEDDINGS, default="euclidean", choices=("euclidean", "cosine"),
        only=(EMBEDDING,), help="How far points are apart; cosine: every point at length 1.",
    ),
    Option(
        name="majoritised", kind="pairs", panel=EMBEDDINGS, metavar="COL=A,B", example="race=White", only=(EMBEDDING,),
        values="column=groups", help="The groups that others are compared with; by default the largest.",
    ),
    Option(
        name="minoritised", kind="pairs", panel=EMBEDDINGS, metavar="COL=A,B", example="race=Black,Asian",
        only=(EMBEDDING,), values="column=groups", help="The groups that are compared with those; by default the rest.",
    ),
    Option(
        name="downstream", kind="texts", panel=EMBEDDINGS, metavar="NAME", default=(), only=(EMBEDDING,),
        values="learners",
        help="Train this classifier on the points, or all; with settings, as in logistic_regression:C=0.1,1,10.",
    ),
    Option(
        name="downstream_target", panel=EMBEDDINGS, metavar="COL", values="columns", only=(EMBEDDING,),
        help="What it learns, if not the target.",
    ),
    Option(
        name="rebalance", kind="choice", panel=EMBEDDINGS, choices=("up", "down", "weights"), only=(EMBEDDING,),
        help="Train it on equal class x group.",
    ),
    Option(
        name="macro", kind="choice", panel=EMBEDDINGS, default="default", choices=("default", "paper"),
        only=(EMBEDDING,), help="How means over a group's classes are taken.",
    ),
    Option(
        name="train", panel=EMBEDDINGS, metavar="COL", values="columns", only=(EMBEDDING,),
        help="True for rows it learns from, or train, dev and test; without it: five folds.",
    ),
    Option(
        name="leakage", kind="flag", panel=EMBEDDINGS, default=False, only=(EMBEDDING,),
        help="How well can the groups be read from the points?",
    ),
    Option(
        name="map", kind="choice", panel=EMBEDDINGS, default="pca", choices=("pca", "tsne", "umap", "none"),
        only=(EMBEDDING,), help="The map of the points.",
    ),
    Option(
        name="fail_if", kind="texts", panel=GATES, metavar="GATE", argument=None, default=(), values="gates",
        help='Exit with 1 if it holds: "DI > 0.2", "EOTP.low > 0.05".',
    ),
    Option(
        name="allow_undefined", kind="flag", panel=GATES, default=False, argument=None,
        help="A gate on an undefined number does not fail.",
    ),
    *OUTPUTS,
)  # fmt: skip


def audit_option(name: str) -> Option:
    """Return an option of ``audit`` for another command.

    Parameters
    ----------
    name : str
        Its name on the command line, with _ for -.

    Returns
    -------
    Option
        The declaration: flag, kind, default, choices and help.

    Examples
    --------
    >>> from equipoise.audits import audit_option
    >>> audit_option("least_people").flag, audit_option("least_people").default
    ('--least-people', 30)
    """
    return replace(next(option for option in AUDIT_OPTIONS if option.name == name), only=())


COMPARE_OPTIONS = (
    Option(
        name="rows", kind="input", metavar="FILE", help=ROWS.help,
    ),
    Option(
        name="embedding", metavar="KEY", flags=("--key",), help="The array or the column of points.",
    ),
    replace(ID, panel=DATA, only=()),
    replace(DROP, panel=DATA, only=()),
    MISSING,
    GROUP,
    BIN,
    CATEGORICAL,
    INCLUDE_MISSING,
    SUPPRESS_BELOW,
    CLUSTER,
    Option(
        name="describe", kind="texts", panel=GROUPS, metavar="COL", default=(), values="columns", type_name=ROWS_OF,
        help="Another column that may describe the most changed.",
    ),
    Option(
        name="share", kind="number", panel=STATISTICS, default=0.1, metavar="S",
        help="The share of people who count as the most changed.",
    ),
    Option(
        name="ties", kind="choice", panel=STATISTICS, default="whole", choices=("whole", "fractional"),
        help="Whether people with the same score count as a whole or by fractions.",
    ),
    Option(
        name="kernel", kind="choice", panel=STATISTICS, default="linear", choices=("linear", "rbf"),
        help="The similarity of two people.",
    ),
    Option(
        name="bandwidth", kind="number", panel=STATISTICS, metavar="S",
        help="Bandwidth of the rbf kernel; by default the median distance.",
    ),
    Option(
        name="self_term", kind="flag", panel=STATISTICS, default=True,
        help="Let a person's similarity to itself count.",
    ),
    Option(
        name="direction", panel=STATISTICS, metavar="FILE|COL=A,B", type_name="vector, path or 'COL=A,B'",
        help="A concept to project on: a vector, or two groups.",
    ),
    DRAWS,
    SEED,
    Option(
        name="prediction_before", panel="Outcomes", metavar="COL", values="columns", type_name=COLUMN,
        help="The predictions before.",
    ),
    Option(
        name="prediction_after", panel="Outcomes", metavar="COL", values="columns", type_name=COLUMN,
        help="The predictions after.",
    ),
    Option(
        name="rerun", kind="input", panel="Outcomes", metavar="FILE",
        help="AFTER from an identical second run: the noise floor.",
    ),
    Option(
        name="show_rows", kind="flag", panel=OUTPUT, default=False, help="List the most changed people one by one.",
    ),
    *OUTPUTS,
)  # fmt: skip

TESTS = ("permutation", "mann-whitney", "brunner-munzel", "sign-flip", "wilcoxon")
EVIDENCE_OPTIONS = (
    Option(name="technique", default="technique", metavar="COL", values="columns", help="The column of techniques."),
    Option(name="metric", default="metric", metavar="COL", values="columns", help="The column of metrics."),
    Option(name="run", default="run", metavar="COL", values="columns", help="The column that identifies a run."),
    Option(name="value", default="value", metavar="COL", values="columns", help="The column of values."),
    Option(name="baseline", metavar="NAME", help="The technique that all others are compared with."),
    Option(
        name="baseline_column", metavar="COL", values="columns",
        help="Or: the column that names each technique's own baseline.",
    ),
    Option(
        name="performance", kind="texts", metavar="METRIC", default=(),
        help="A metric that is better high; may be given again.",
    ),
    Option(
        name="by", metavar="COL", values="columns",
        help="The column of classes: list those that flip between runs.",
    ),
    MISSING,
    Option(
        name="alternative", kind="choice", panel=STATISTICS, default="two-sided", choices=("two-sided", "observed"),
        help="Two-sided tests, or one-sided in the direction of the means.",
    ),
    Option(
        name="test", kind="choice", panel=STATISTICS, default="permutation", choices=TESTS,
        help="The test; sign-flip and wilcoxon are for pairs.",
    ),
    Option(
        name="pair", panel=STATISTICS, metavar="COL", values="columns", help="Pair runs by a column, such as the seed."
    ),
    Option(
        name="correction", kind="choice", panel=STATISTICS, default="bh", choices=("none", "bh", "holm"),
        help="The correction for many tests.",
    ),
    Option(
        name="threshold", kind="number", panel=STATISTICS, default=0.05, metavar="P",
        help="A corrected p up to this is significant.",
    ),
    Option(
        name="margin", kind="texts", panel=STATISTICS, metavar="[METRIC=]D", default=(), type_name="float or mapping",
        help="Also test whether differences are within D: 0.02, or DP=0.02 (may be given again).",
    ),
    Option(
        name="spread", kind="choice", panel=STATISTICS, default="absolute", choices=("absolute", "relative"),
        help="The spread that is a cost: absolute, or relative to the mean.",
    ),
    Option(
        name="fail_if", kind="texts", panel=GATES, metavar="GATE", argument=None, default=(),
        help='Exit with 1 if it holds for a technique: "share(DI > 0.2) > 0.05".',
    ),
    *OUTPUTS,
)  # fmt: skip

# How the column of a role is typed, in Python and on the command line.
TYPED = {option.in_python: option.typed for option in (*AUDIT_OPTIONS, *COMPARE_OPTIONS, *EVIDENCE_OPTIONS)}
