"""The benchmark's methods by name, and the parts of the benchmark that need them."""

from __future__ import annotations

METHODS = {
    "ours": "search with L_V + 10 L_perp, away from the target and every other factor that has a plane",
    "right_angled": "ours less its part along target and known factors, which is what judge takes of a direction",
    "axis": "the latent axis with the lowest L_V",
    "hessian": "of the directions that the Hessian penalty finds in the generator, the one with the lowest L_V",
    "random": "directions drawn evenly: means over many",
    "random_orthogonal": "directions drawn at right angles to the target and every other factor: means over many",
    "without_orthogonality": "the search with L_V alone",
    "with_hessian": "the search with L_V + 10 L_perp and the Hessian penalty",
    "hessian_without_orthogonality": "the search with L_V and the Hessian penalty",
    "known_0": "the search away from the target alone",
    "known_1": "the search away from the target and one other factor",
    "known_2": "the search away from the target and two other factors",
    "known_3": "the search away from the target and three other factors",
}
TABLE = ("axis", "hessian", "ours", "right_angled", "random", "random_orthogonal")
# Paper 002's Table 1 has these three alone.
PAPER = ("axis", "hessian", "ours")
ABLATION = ("without_orthogonality", "with_hessian", "hessian_without_orthogonality")
KNOWN = tuple(f"known_{number}" for number in range(4))
PARTS = {"table": TABLE, "ablation": ABLATION, "known": KNOWN}
