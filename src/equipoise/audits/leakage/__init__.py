"""How well the group can be read from an embedding."""
