"""Debiasing methods, one file a method: what is done about a bias that was measured.

Each is registered under its name (``equipoise list treatments``) and imports without any extra. Subclasses of
``equipoise.training.treatment.Treatment`` train inside studies; estimators have ``fit(X, y, sensitive_features)``,
``transform`` and ``predict``.
"""
