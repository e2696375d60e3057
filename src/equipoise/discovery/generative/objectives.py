"""What five variational auto-encoders minimise, as pure functions of a batch (paper 002, section 5.1).

The encoder says a normal distribution of each picture: means and logarithms of variances, ``[n, d]``.

    VAE           reconstruction + KL
    beta-VAE      reconstruction + beta KL                                      (Higgins et al. 2017)
    beta-TCVAE    reconstruction + KL + (beta - 1) TC                           (Chen et al. 2018)
    DIP-VAE-I     reconstruction + KL + penalty(Cov[mean])                      (Kumar et al. 2018)
    DIP-VAE-II    reconstruction + KL + penalty(E[diag(variance)] + Cov[mean])

penalty(C) = lambda_od sum of squares off the diagonal + lambda_d sum over the diagonal of (C_ii - 1)^2. The code of
paper 002 takes for the variance in DIP-VAE-II one number, the mean over the diagonal of a matrix of the batch, and adds
it to every entry: here each latent has its own, on the diagonal alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

Kind = Literal["vae", "beta_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii"]
# What Locatello et al. (2019) tried of each, six values; the third of them is what we begin with. The plain VAE is
# their beta-VAE at 1.
TRIED: dict[str, tuple[float, ...]] = {
    "beta_vae": (1.0, 2.0, 4.0, 6.0, 8.0, 16.0),
    "beta_tcvae": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
    "dip_vae_i": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
    "dip_vae_ii": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
}
KINDS: tuple[Kind, ...] = ("vae", "beta_vae", "beta_tcvae", "dip_vae_i", "dip_vae_ii")
# lambda_d as a multiple of lambda_od, theirs too.
DIAGONAL = {"dip_vae_i": 10.0, "dip_vae_ii": 1.0}


def strength_of(kind: Kind, strength: float | None) -> float:
    """Return beta or lambda_od: the one given, or the third that Locatello et al. tried; 1 for a plain VAE."""
    if strength is not None:
        return float(strength)
    return TRIED[kind][2] if kind in TRIED else 1.0


def reconstruction(logits: torch.Tensor, pictures: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of pixels in [0, 1], summed over a picture, its mean over the batch."""
    functional = require("torch", extra="train", purpose="A VAE").nn.functional
    summed: torch.Tensor = functional.binary_cross_entropy_with_logits(logits, pictures, reduction="sum")
    return summed / len(pictures)


def divergence(means: torch.Tensor, log_variances: torch.Tensor) -> torch.Tensor:
    """Return KL(q(z|x) || N(0, I)) = 1/2 sum (mean^2 + variance - log variance - 1), its mean over the batch."""
    return 0.5 * (means**2 + log_variances.exp() - log_variances - 1.0).sum(1).mean()


def total_correlation(latents: torch.Tensor, means: torch.Tensor, log_variances: torch.Tensor) -> torch.Tensor:
    """Return KL(q(z) || prod_j q(z_j)) with q(z) taken as the mixture of this batch's own normal distributions.

    Chen et al. weight the batch within its data set: that adds a constant, which moves no gradient.
    """
    apart = latents[:, None] - means[None]
    log_densities = -0.5 * (apart**2 * (-log_variances).exp() + log_variances + math.log(2 * math.pi))
    number = math.log(len(means))
    whole = log_densities.sum(2).logsumexp(1) - number
    parts = (log_densities.logsumexp(1) - number).sum(1)
    return (whole - parts).mean()


def covariance(means: torch.Tensor) -> torch.Tensor:
    """Return Cov[mean] over the batch, ``[d, d]``: E[m m'] - E[m] E[m]', divided by n."""
    centred = means - means.mean(0)
    return centred.T @ centred / len(means)


def covariance_penalty(matrix: torch.Tensor, off_diagonal: float, diagonal: float) -> torch.Tensor:
    """Return how far a covariance is from the identity, off the diagonal and on it."""
    on = matrix.diagonal()
    off = (matrix**2).sum() - (on**2).sum()
    return off_diagonal * off + diagonal * ((on - 1.0) ** 2).sum()


def regulariser(
    kind: Kind, strength: float, latents: torch.Tensor, means: torch.Tensor, log_variances: torch.Tensor
) -> torch.Tensor:
    """Return all that is added to the reconstruction."""
    plain = divergence(means, log_variances)
    if kind in ("vae", "beta_vae"):
        return strength * plain
    if kind == "beta_tcvae":
        return plain + (strength - 1.0) * total_correlation(latents, means, log_variances)
    matrix = covariance(means)
    if kind == "dip_vae_ii":
        matrix = matrix + log_variances.exp().mean(0).diag()
    return plain + covariance_penalty(matrix, strength, strength * DIAGONAL[kind])
