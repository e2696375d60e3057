"""What changed since an earlier model: every rate and every difference between groups, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.change._changes import Change as Change
    from equipoise.audits.change._changes import change_statements as change_statements
    from equipoise.audits.change._changes import changes_of as changes_of
    from equipoise.audits.change._sides import Before as Before
    from equipoise.audits.change._sides import ChangeReason as ChangeReason
    from equipoise.audits.change._sides import before_of as before_of
    from equipoise.audits.change._sides import check_change as check_change
    from equipoise.audits.change._sides import resolve_earlier as resolve_earlier

_MODULES = {
    "_changes": ("Change", "change_statements", "changes_of"),
    "_sides": ("Before", "before_of", "check_change", "resolve_earlier", "ChangeReason"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
