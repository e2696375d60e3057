"""Reproductions of papers, beside the package: run from the root of the repository, never installed with it."""
