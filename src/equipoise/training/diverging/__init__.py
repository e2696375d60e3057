"""Where two identical runs first differ: which step, which tensor, by how much, and how the difference grew."""
