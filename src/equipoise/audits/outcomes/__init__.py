"""The audit of a model's outcomes: counted once, every measure told for each group, and what it returns."""
