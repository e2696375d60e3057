"""Heads on features, trained by a metric loss: draws x seeds x numbers in one batched training."""
