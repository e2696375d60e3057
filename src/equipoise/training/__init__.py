"""Trained networks: what is read out of them, and how they are trained."""
