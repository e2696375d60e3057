"""Is an embedding as good for every group? Its measures with intervals and tests, its map, and what carries over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.embedding._audit import audit_embedding as audit_embedding
    from equipoise.audits.embedding._evidence import EMBEDDING_EVIDENCE as EMBEDDING_EVIDENCE
    from equipoise.audits.embedding._evidence import EmbeddingEvidence as EmbeddingEvidence
    from equipoise.audits.embedding._evidence import EmbeddingReason as EmbeddingReason
    from equipoise.audits.embedding._map import EmbeddingMap as EmbeddingMap
    from equipoise.audits.embedding._map import embedding_map as embedding_map

_MODULES = {
    "_audit": ("audit_embedding",),
    "_evidence": ("EMBEDDING_EVIDENCE", "EmbeddingEvidence", "EmbeddingReason"),
    "_map": ("EmbeddingMap", "embedding_map"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
