"""Where trials are kept: the store, its tables, leases and readouts, and the truth they are counted against."""
