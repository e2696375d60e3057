"""Networks that learn from pictures, each by itself: several runs side by side on one GPU, or one on a CPU."""
