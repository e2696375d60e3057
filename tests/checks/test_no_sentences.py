"""No code decides by a sentence: statuses, reasons and verdicts are enums, and words are for people."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import equipoise

SOURCE = Path(equipoise.__file__).parent
FORBIDDEN = frozenset({"status", "reason", "verdict", "words", "message", "notes"})
METHODS = frozenset({"startswith", "endswith", "find", "index", "count"})


def sentences_decided_by(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that compare such a field with text, or look for text in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_field, sides)) and any(map(_has_text, sides)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            if _is_field(node.func.value) and any(map(_has_text, node.args)):
                yield node.lineno
        elif isinstance(node, ast.Match) and _is_field(node.subject) and _names_text(node):
            yield node.lineno


def _names_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def _is_field(node: ast.expr) -> bool:
    """Tell whether an expression is such a field, also under a name of the same kind, a call of str() or ``or ""``."""
    if isinstance(node, ast.Attribute):
        return node.attr in FORBIDDEN
    if isinstance(node, ast.Name):
        return node.id in FORBIDDEN
    if isinstance(node, ast.BoolOp):
        return any(map(_is_field, node.values))
    if isinstance(node, ast.Subscript):
        key = node.slice
        return _is_field(node.value) or (isinstance(key, ast.Constant) and key.value in FORBIDDEN)
    if isinstance(node, ast.Call):
        inner = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        return any(map(_is_field, inner)) and (
            isinstance(node.func, ast.Attribute) or (isinstance(node.func, ast.Name) and node.func.id == "str")
        )
    return False


def _has_text(node: ast.expr) -> bool:
    """Tell whether an expression is text, or a tuple, list or set of text."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(map(_has_text, node.elts))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


@pytest.mark.parametrize(
    "line",
    [
        'record.status == "ok"',
        '"ok" != record.status',
        'record.verdict in ("lower", "higher")',
        '"fewer" in record.reason',
        'reason.startswith("fewer")',
        'record.reason.startswith(("fewer", "no"))',
        '"noise" in result.words',
        'str(record.verdict) == "lower"',
        '(record.reason or "").lower().startswith("fewer")',
        'row["verdict"] == "lower"',
        'error.message.endswith("?")',
        'match record.status:\n    case "ok":\n        pass',
    ],
)
def test_the_check_sees_decisions_by_sentences(line: str) -> None:
    assert list(sentences_decided_by(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "record.status == Status.OK",
        'record.measure == "accuracy"',
        'print(f"{record.reason}")',
        "record.reason is None",
        'name.startswith("equal")',
    ],
)
def test_the_check_leaves_other_code_alone(line: str) -> None:
    assert not list(sentences_decided_by(ast.parse(line)))


def test_no_code_decides_by_a_sentence() -> None:
    decided = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in sentences_decided_by(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not decided, f"compare enums or typed fields, not text: {decided}"


# Rooms whose reasons are codes with details.
WITH_CODES = ("audits", "results", "studies", "discovery")


def reasons_in_words(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that give text as a reason, where a code with its details is meant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "reason" and _is_text(keyword.value):
                    yield keyword.value.lineno
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "reason":
            kinds = {name.id for name in ast.walk(node.annotation) if isinstance(name, ast.Name)}
            if "str" in kinds or (node.value is not None and _is_text(node.value)):
                yield node.lineno


def _is_text(node: ast.expr) -> bool:
    """Tell whether an expression is text, or may be."""
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) or _is_text(node.orelse)
    if isinstance(node, ast.BoolOp):
        return any(map(_is_text, node.values))
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ("join", "format", "str")
    return _has_text(node)


@pytest.mark.parametrize(
    "line",
    [
        'Record(reason="fewer than 30")',
        'Record(reason=f"fewer than {least}")',
        'Record(reason=None if known else "unknown")',
        'Record(reason=reason or "unknown")',
        'Record(reason="fewer" + " people")',
        'Record(reason="; ".join(words))',
        "replace(record, reason=str(error))",
        "class Record:\n    reason: str | None = None",
    ],
)
def test_the_check_sees_reasons_in_words(line: str) -> None:
    assert list(reasons_in_words(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "Record(reason=because(Why.FEW, people=3))",
        "Record(reason=None if known else because(Why.FEW))",
        "Record(reason=all_of(reasons))",
        'Other(text="fewer than 30")',
        "class Record:\n    reason: Reason | None = None",
    ],
)
def test_the_check_leaves_codes_alone(line: str) -> None:
    assert not list(reasons_in_words(ast.parse(line)))


@pytest.mark.parametrize("room", WITH_CODES)
def test_reasons_are_codes(room: str) -> None:
    told = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted((SOURCE / room).rglob("*.py"))
        for line in reasons_in_words(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not told, f"give a reason as because(Code, ...): {told}"
