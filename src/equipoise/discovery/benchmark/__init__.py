"""Paper 002's benchmark on sprites: planted biases, what is found of them, and against what it is held."""
