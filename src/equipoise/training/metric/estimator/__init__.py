"""Metric learning as an estimator: ``MetricLearner`` with fit and transform, on arrays, pictures or a data loader."""
