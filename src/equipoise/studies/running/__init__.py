"""How trials are run: the loop, workers, bare machines, and bringing trials home."""
