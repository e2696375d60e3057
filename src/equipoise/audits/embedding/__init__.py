"""Is an embedding as good for every group? Its measures with intervals and tests, its map, and what carries over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation.imports import door

if TYPE_CHECKING:
    from equipoise.audits.embedding._audit import audit_embedding as audit_embedding
    from equipoise.audits.embedding._evidence import EMBEDDING_EVIDENCE as EMBEDDING_EVIDENCE
    from equipoise.audits.embedding._evidence import EmbeddingEvidence as EmbeddingEvidence
    from equipoise.audits.embedding._evidence import EmbeddingReason as EmbeddingReason
    from equipoise.audits.embedding._map import EmbeddingMap as EmbeddingMap
    from equipoise.audits.embedding._map import embedding_map as embedding_map
    from equipoise.audits.embedding._records import embedding_tables as embedding_tables
    from equipoise.audits.embedding._records import flat_embedding as flat_embedding
    from equipoise.audits.embedding._records import of_embedding as of_embedding

_MODULES = {
    "_audit": ("audit_embedding",),
    "_evidence": ("EMBEDDING_EVIDENCE", "EmbeddingEvidence", "EmbeddingReason"),
    "_map": ("EmbeddingMap", "embedding_map"),
    "_records": ("embedding_tables", "flat_embedding", "of_embedding"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
