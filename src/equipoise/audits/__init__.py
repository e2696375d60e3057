"""What ``audit`` does: a table of rows, counted once, and every measure those counts can tell."""

from __future__ import annotations

from equipoise.audits.audit import audit
from equipoise.audits.result import AuditResult

__all__ = ["AuditResult", "audit"]
