"""Slow and obvious versions that numbers are compared with."""
