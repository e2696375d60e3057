"""Estimators: learners and treatments with scikit-learn's ``fit``, ``predict`` and ``transform``, and saved models.

``TreatedClassifier``, ``TreatedRegressor`` and ``TreatedEmbedding`` go wherever an estimator goes: ``Pipeline``,
``cross_validate``, ``GridSearchCV``; ``scorer`` gives measures to choose by. ``fit`` trains on the columns of a table,
and ``load_model`` reads what was saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.estimators._embedding import TreatedEmbedding as TreatedEmbedding
    from equipoise.estimators._saved import GroupNames as GroupNames
    from equipoise.estimators._saved import SavedModel as SavedModel
    from equipoise.estimators._saved import is_saved_model as is_saved_model
    from equipoise.estimators._saved import load_model as load_model
    from equipoise.estimators._scorer import MeasureScorer as MeasureScorer
    from equipoise.estimators._scorer import scorer as scorer
    from equipoise.estimators._table import TableModel as TableModel
    from equipoise.estimators._table import fit as fit
    from equipoise.estimators._treated import TreatedClassifier as TreatedClassifier
    from equipoise.estimators._treated import TreatedRegressor as TreatedRegressor

_MODULES = {
    "_embedding": ("TreatedEmbedding",),
    "_saved": ("GroupNames", "SavedModel", "is_saved_model", "load_model"),
    "_scorer": ("MeasureScorer", "scorer"),
    "_table": ("TableModel", "fit"),
    "_treated": ("TreatedClassifier", "TreatedRegressor"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
