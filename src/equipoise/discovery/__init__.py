"""A search for an attribute nobody labelled, as a direction in the latent space of a generator (paper 002)."""
