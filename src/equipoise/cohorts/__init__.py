"""Who and what: cohorts of rows with a target and groups, the readers that open them, and the bundled sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.cohorts._array_files import NPY as NPY
    from equipoise.cohorts._array_files import PICKLE_ENDINGS as PICKLE_ENDINGS
    from equipoise.cohorts._array_files import PICKLE_REASON as PICKLE_REASON
    from equipoise.cohorts._array_files import array_names as array_names
    from equipoise.cohorts._array_files import file_ending as file_ending
    from equipoise.cohorts._array_files import read_array as read_array
    from equipoise.cohorts._cohort import DECILES as DECILES
    from equipoise.cohorts._cohort import QUARTILES as QUARTILES
    from equipoise.cohorts._cohort import Cohort as Cohort
    from equipoise.cohorts._cohort import CohortCard as CohortCard
    from equipoise.cohorts._cohort import Task as Task
    from equipoise.cohorts._cohort import cohort_card as cohort_card
    from equipoise.cohorts._cohort import columns_of as columns_of
    from equipoise.cohorts._cohort import columns_text as columns_text
    from equipoise.cohorts._cohort import with_extra_columns as with_extra_columns
    from equipoise.cohorts._cohort import with_pictures as with_pictures
    from equipoise.cohorts._cohort import with_roles as with_roles
    from equipoise.cohorts._embeddings import Embedding as Embedding
    from equipoise.cohorts._embeddings import open_embedding as open_embedding
    from equipoise.cohorts._embeddings import working_dtype as working_dtype
    from equipoise.cohorts._factors import LOWER_HALF as LOWER_HALF
    from equipoise.cohorts._factors import UPPER_HALF as UPPER_HALF
    from equipoise.cohorts._factors import Factor as Factor
    from equipoise.cohorts._factors import FactorCodes as FactorCodes
    from equipoise.cohorts._factors import codes_of_cells as codes_of_cells
    from equipoise.cohorts._ids import looks_like_id as looks_like_id
    from equipoise.cohorts._loading import Source as Source
    from equipoise.cohorts._loading import find_file as find_file
    from equipoise.cohorts._loading import load as load
    from equipoise.cohorts._loading import read_columns as read_columns
    from equipoise.cohorts._pairing import DroppedRows as DroppedRows
    from equipoise.cohorts._pairing import align_embeddings as align_embeddings
    from equipoise.cohorts._pairing import check_same_length as check_same_length
    from equipoise.cohorts._pairing import column_values as column_values
    from equipoise.cohorts._pairing import drop_unusable as drop_unusable
    from equipoise.cohorts._pairing import in_source_order as in_source_order
    from equipoise.cohorts._pairing import pair_rows as pair_rows
    from equipoise.cohorts._pairing import read_row_ids as read_row_ids
    from equipoise.cohorts._readers import ARRAY_ENDINGS as ARRAY_ENDINGS
    from equipoise.cohorts._readers import engine_percent as engine_percent
    from equipoise.cohorts._readers import open_table as open_table
    from equipoise.cohorts._tables import Axis as Axis
    from equipoise.cohorts._tables import Bins as Bins
    from equipoise.cohorts._tables import ColumnRange as ColumnRange
    from equipoise.cohorts._tables import EagerTable as EagerTable
    from equipoise.cohorts._tables import LazyTable as LazyTable
    from equipoise.cohorts._tables import Table as Table
    from equipoise.cohorts._tables import as_table as as_table
    from equipoise.cohorts._tables import bin_names as bin_names
    from equipoise.cohorts._tables import check_names as check_names
    from equipoise.cohorts._tables import parse_bins as parse_bins
    from equipoise.cohorts._tables import quantile_edges as quantile_edges
    from equipoise.cohorts._text import ENCODER as ENCODER
    from equipoise.cohorts._text import embed_text as embed_text
    from equipoise.cohorts._text import with_text as with_text
    from equipoise.cohorts._types import ColumnLike as ColumnLike
    from equipoise.cohorts._types import ColumnsLike as ColumnsLike
    from equipoise.cohorts._types import InputsLike as InputsLike
    from equipoise.cohorts._types import LabelLike as LabelLike
    from equipoise.cohorts._types import PointsLike as PointsLike
    from equipoise.cohorts._types import TableLike as TableLike

_MODULES = {
    "_array_files": ("NPY", "PICKLE_ENDINGS", "PICKLE_REASON", "array_names", "file_ending", "read_array"),
    "_cohort": (
        "Cohort", "CohortCard", "DECILES", "QUARTILES", "Task", "cohort_card", "columns_of", "columns_text",
        "with_extra_columns", "with_pictures", "with_roles",
    ),
    "_embeddings": ("Embedding", "open_embedding", "working_dtype"),
    "_factors": ("Factor", "FactorCodes", "LOWER_HALF", "UPPER_HALF", "codes_of_cells"),
    "_ids": ("looks_like_id",),
    "_loading": ("Source", "find_file", "load", "read_columns"),
    "_pairing": (
        "DroppedRows", "align_embeddings", "check_same_length", "column_values", "drop_unusable", "pair_rows",
        "read_row_ids", "in_source_order",
    ),
    "_readers": ("ARRAY_ENDINGS", "engine_percent", "open_table"),
    "_text": ("ENCODER", "embed_text", "with_text"),
    "_types": ("ColumnLike", "ColumnsLike", "InputsLike", "LabelLike", "PointsLike", "TableLike"),
    "_tables": (
        "Axis", "Bins", "ColumnRange", "EagerTable", "LazyTable", "Table", "as_table", "bin_names", "check_names",
        "parse_bins", "quantile_edges",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
