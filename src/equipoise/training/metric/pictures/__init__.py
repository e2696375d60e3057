"""Networks on pictures, trained by a metric loss."""
