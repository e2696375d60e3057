"""Whom did a change touch: two representations of the same people."""
