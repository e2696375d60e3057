"""The matrix of treatments and learners as it is meant to be, and the table of docs/guide/treatments.md.

``was``: fits, and did before one trainer served every learner. ``new``: fits since. Anything else is why it does not:
the first of its needs (``equipoise.training._compatibility.Need``) that the learner does not have.

``python tests/helpers/cases/matrix.py`` writes the table into the page anew.
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "treatments.md"
BEGIN, END = "<!-- matrix: python tests/helpers/cases/matrix.py -->", "<!-- end of matrix -->"
WAS, NEW = "was", "new"

TARGET = """
treatment                 mlp        module     image_network  metric_learner  raw_features  scikit_learn
untreated                 was        was        was            was             was           was
downsampling              was        was        was            was             was           was
reweighting               was        was        was            new             row_weights   was
adversarial               was        was        new            new             steps         steps
diverse_adversarial       was        was        new            new             steps         steps
fairbatch                 was        was        new            batches         steps         steps
equal_opportunity_class   was        was        new            row_losses      steps         steps
equal_opportunity_global  was        was        new            row_losses      steps         steps
inlp                      was        was        new            new             new           was
oversampling              was        was        was            was             was           was
uniform_confusion         new        new        was            row_losses      steps         steps
gradient_projection       new        new        was            row_losses      steps         steps
domain_discriminative     new        new        was            logits          steps         steps
domain_independent        new        new        was            logits          steps         steps
rebalancing               new        new        new            new             new           new
gradient_reversal         new        new        new            new             steps         steps
l2_gap_penalty            new        new        new            row_losses      steps         steps
fairalm                   new        new        new            row_losses      steps         steps
group_dro                 new        new        new            new             steps         steps
leace                     new        new        new            new             new           new
leace_inputs              new        new        flat_inputs    new             new           new
threshold_optimizer       new        new        new            scores          scores        new
exponentiated_gradient    refitting  refitting  refitting      refitting       refitting     new
parade                    pair_loss  pair_loss  pair_loss      was             steps         steps
lfr                       new        new        flat_inputs    new             new           new
"""
LEARNERS, *ROWS = (line.split()[1:] for line in TARGET.strip().splitlines())
TREATMENTS = [line.split()[0] for line in TARGET.strip().splitlines()[1:]]
CELLS = {
    (treatment, learner): cell
    for treatment, row in zip(TREATMENTS, ROWS, strict=True)
    for learner, cell in zip(LEARNERS, row, strict=True)
}


def fits(treatment: str, learner: str) -> bool:
    return CELLS[treatment, learner] in (WAS, NEW)


def table() -> str:
    """Return the table of the documentation, with the reasons that stand in its cells by number."""
    from equipoise.training import LACKING, Need, all_treatments, groups_at_prediction, tasks_of

    marks = {"never": "", "some readouts": " (\\*)", "always": " \\*"}
    numbers: dict[str, int] = {}
    lines = [
        " | ".join(["| treatment", "target", *(f"`{learner}`" for learner in LEARNERS)]) + " |",
        "| --- | --- |" + " :-: |" * len(LEARNERS),
    ]
    for treatment in TREATMENTS:
        kind = all_treatments()[treatment]
        target = "two classes" if kind.two_classes else "any" if "regression" in tasks_of(kind) else "classes"
        shown = [f"`{treatment}`{marks[groups_at_prediction(kind)]}", target]
        for learner in LEARNERS:
            cell = CELLS[treatment, learner]
            signs = {WAS: "●", NEW: "**new**"}
            shown.append(signs.get(cell) or str(numbers.setdefault(cell, len(numbers) + 1)))
        lines.append("| " + " | ".join(shown) + " |")
    reasons = [f"{number}. {LACKING[Need(need)]}" for need, number in numbers.items()]
    return "\n".join([*lines, "", *reasons])


def page_with_table() -> str:
    """Return the page with the table as it is now."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(), encoding="utf-8")
