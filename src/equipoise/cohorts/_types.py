"""What users give: a table, the name of one of its columns or its values, and several columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from narwhals.typing import IntoDataFrame, IntoFrame, IntoSeries
from numpy.typing import ArrayLike

TableLike: TypeAlias = str | os.PathLike[str] | IntoFrame | Mapping[str, ArrayLike]
ColumnLike: TypeAlias = str | ArrayLike | IntoSeries
ColumnsLike: TypeAlias = ColumnLike | Sequence[str] | Mapping[str, ArrayLike | IntoSeries] | IntoDataFrame
