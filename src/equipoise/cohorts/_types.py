"""What users give: a table, an embedding, the name of a column or its values, several columns, and a class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from narwhals.typing import IntoDataFrame, IntoFrame, IntoSeries
from numpy.typing import ArrayLike

from equipoise.cohorts._embeddings import Embedding

TableLike: TypeAlias = str | os.PathLike[str] | IntoFrame | Mapping[str, ArrayLike]
ColumnLike: TypeAlias = str | ArrayLike | IntoSeries
ColumnsLike: TypeAlias = ColumnLike | Sequence[str] | Mapping[str, ArrayLike | IntoSeries] | IntoDataFrame
# Rows to learn from or to predict: features, a frame, columns by name, or pictures.
InputsLike: TypeAlias = ArrayLike | IntoDataFrame | Mapping[str, ArrayLike]
PointsLike: TypeAlias = str | os.PathLike[str] | ArrayLike | Embedding
# A class or a group, as it stands in a column.
LabelLike: TypeAlias = str | float | bool | np.generic
