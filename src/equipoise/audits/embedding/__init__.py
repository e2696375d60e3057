"""Embeddings on trial: is the space as good for every group?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.audits.embedding._evidence import EMBEDDING_EVIDENCE as EMBEDDING_EVIDENCE
    from equipoise.audits.embedding._evidence import EmbeddingEvidence as EmbeddingEvidence
    from equipoise.audits.embedding.audit import audit_embedding as audit_embedding

_MODULES = {
    "_evidence": ("EMBEDDING_EVIDENCE", "EmbeddingEvidence"),
    "audit": ("audit_embedding",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"equipoise.audits.embedding.{_HOME[name]}"), name)
    raise AttributeError(f"module 'equipoise.audits.embedding' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
