"""The matrix of treatments and learners as it is meant to be.

``fits``, or the first of its needs (``equipoise.training._compatibility.Need``) that the learner does not have.
"""

from __future__ import annotations

FITS = "fits"

TARGET = """
treatment                 mlp        module     image_network  metric_learner  raw_features  scikit_learn
untreated                 fits       fits       fits           fits            fits          fits
downsampling              fits       fits       fits           fits            fits          fits
reweighting               fits       fits       fits           fits            row_weights   fits
adversarial               fits       fits       fits           fits            steps         steps
diverse_adversarial       fits       fits       fits           fits            steps         steps
fairbatch                 fits       fits       fits           batches         steps         steps
equal_opportunity_class   fits       fits       fits           row_losses      steps         steps
equal_opportunity_global  fits       fits       fits           row_losses      steps         steps
inlp                      fits       fits       fits           fits            fits          fits
oversampling              fits       fits       fits           fits            fits          fits
uniform_confusion         fits       fits       fits           row_losses      steps         steps
gradient_projection       fits       fits       fits           row_losses      steps         steps
domain_discriminative     fits       fits       fits           logits          steps         steps
domain_independent        fits       fits       fits           logits          steps         steps
rebalancing               fits       fits       fits           fits            fits          fits
gradient_reversal         fits       fits       fits           fits            steps         steps
l2_gap_penalty            fits       fits       fits           row_losses      steps         steps
fairalm                   fits       fits       fits           row_losses      steps         steps
group_dro                 fits       fits       fits           fits            steps         steps
leace                     fits       fits       fits           fits            fits          fits
leace_inputs              fits       fits       flat_inputs    fits            fits          fits
threshold_optimizer       fits       fits       fits           scores          scores        fits
exponentiated_gradient    refitting  refitting  refitting      refitting       refitting     fits
parade                    pair_loss  pair_loss  pair_loss      fits            steps         steps
lfr                       fits       fits       flat_inputs    fits            fits          fits
"""
LEARNERS, *ROWS = (line.split()[1:] for line in TARGET.strip().splitlines())
TREATMENTS = [line.split()[0] for line in TARGET.strip().splitlines()[1:]]
CELLS = {
    (treatment, learner): cell
    for treatment, row in zip(TREATMENTS, ROWS, strict=True)
    for learner, cell in zip(LEARNERS, row, strict=True)
}


def fits(treatment: str, learner: str) -> bool:
    return CELLS[treatment, learner] == FITS
