"""Texts, bytes, functions and classes: which lines differ, or which words of a single line."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any

from nbckpt.fingerprint.values import caches
from nbckpt.reports.diff.aligning import Stretch, stretches
from nbckpt.reports.diff.alike import are_alike, members_of
from nbckpt.reports.diff.details import (
    Detail,
    Limits,
    Line,
    Row,
    same,
)
from nbckpt.reports.diff.nested_values import Walk, are_equal
from nbckpt.reports.diff.value_texts import (
    cut,
    printable,
    told,
    told_apart,
)
from nbckpt.runtime.source_trees import parse
from nbckpt.text.units import count_text

CONTEXT = 2
"""Lines shown around those that differ."""
LONGEST = 5_000_000
"""Characters of a text whose lines are looked at."""
_WORD = re.compile(r"\S+")


def detail(before: Any, after: Any, limits: Limits) -> Detail | None:
    """Differences between two texts, bytes, functions or classes; None for other values."""
    if isinstance(before, str) and isinstance(after, str):
        return _of_texts(before, after, limits)
    if isinstance(before, bytes | bytearray) and isinstance(after, bytes | bytearray):
        return _of_bytes(bytes(before), bytes(after), limits)
    if _is_code(before) and _is_code(after):
        return _of_code(before, after, limits)
    return None


def _of_texts(before: str, after: str, limits: Limits) -> Detail:
    before, after = str.__str__(before), str.__str__(after)
    if before == after:
        return same("text")
    if "\n" not in before and "\n" not in after:
        return _of_words(before, after, limits)
    lines, more = line_diff(before, after, limits)
    return Detail("text", _counted(lines, more), lines=lines, more=more)


def _of_words(before: str, after: str, limits: Limits) -> Detail:
    old, new = _WORD.findall(before[:LONGEST]), _WORD.findall(after[:LONGEST])
    sizes = f"{len(before):,} → {count_text(len(after), 'character')}"
    found = stretches(old, new, limits.aligned)
    if max(len(old), len(new)) < 3 or found is None or old == new:
        texts = told_apart(before, after, limits.characters)
        return Detail("text", f"{texts[0]} → {texts[1]}", (Row("", *texts),))
    changed = [s for s in found if not s.is_equal]
    told_text = partial(_told_words, characters=limits.characters)
    rows = tuple(
        Row(_words(s), told_text(old[s.i1 : s.i2]), told_text(new[s.j1 : s.j2]))
        for s in changed[: limits.rows]
    )
    n_words = sum(max(s.i2 - s.i1, s.j2 - s.j1) for s in changed)
    summary = f"{count_text(n_words, 'word')} of {len(new):,} changed"
    if len(before) != len(after):
        summary += f", {sizes}"
    return Detail("text", summary, rows, more=len(changed) - len(rows))


def _told_words(words: list[str], characters: int) -> str:
    return cut(printable(" ".join(words)), characters)


def _words(s: Stretch) -> str:
    first, last = s.j1 + 1, max(s.j2, s.j1 + 1)
    return f"word {first}" if first == last else f"words {first} to {last}"


def _of_bytes(before: bytes, after: bytes, limits: Limits) -> Detail:
    if before == after:
        return same("text")
    size = min(len(before), len(after), LONGEST)
    first = next((i for i in range(size) if before[i] != after[i]), size)
    sizes = f"{len(before):,} → {len(after):,} bytes, the first difference at [{first}]"
    stop = first + limits.characters // 4
    row = Row(f"[{first}:]", told(before[first:stop]), told(after[first:stop]))
    return Detail("text", sizes, (row,))


# -- code


def _is_code(value: object) -> bool:
    if isinstance(value, type | FunctionType | MethodType):
        return True
    return isinstance(value, caches.CACHED)


def _of_code(before: Any, after: Any, limits: Limits) -> Detail:
    if before is after:
        return same("code")
    old, new = source_of(before), source_of(after)
    if old is not None and new is not None and old != new:
        lines, more = line_diff(old, new, limits)
        return Detail("code", _counted(lines, more), lines=lines, more=more)
    if are_alike(before, after):
        return _of_answers(before, after) or same("code")
    if isinstance(before, type) and before.__qualname__ != getattr(after, "__qualname__", ""):
        return Detail("code", f"{told(before)} → {told(after)}")
    if isinstance(before, type) and isinstance(after, type):
        return _of_members(before, after, limits)
    if old is None or new is None:
        return Detail("code", "other code; its source is not kept")
    return Detail("code", "the same source, made with other values (defaults, closure, attributes)")


def _of_answers(before: Any, after: Any) -> Detail | None:
    """Difference between the answers that two functions under `functools.lru_cache` have kept."""
    old, new = caches.answers_of(before), caches.answers_of(after)
    if old is None or new is None:
        return None
    if are_equal(caches.columns_of(old), caches.columns_of(new)):
        return None
    return Detail(
        "code", f"the same code; it has kept {len(old):,} → {count_text(len(new), 'answer')}"
    )


def _of_members(before: type, after: type, limits: Limits) -> Detail:
    """Differences between the attributes of two classes; methods are among them."""
    members = (SimpleNamespace(**members_of(cls)) for cls in (before, after))
    found = Walk(limits).run(*members).detail()
    bases = [", ".join(b.__qualname__ for b in cls.__bases__) for cls in (before, after)]
    rows = (Row("bases", *bases),) if bases[0] != bases[1] else ()
    summary = "other bases" if rows and found.is_same else found.summary
    return Detail("code", summary, (*rows, *found.rows), more=found.more)


def source_of(value: Any) -> str | None:
    """The source of a function or class, as it stands in its cell; None if that is not known."""
    value = value.__wrapped__ if isinstance(value, caches.CACHED) else value
    value = value.__func__ if isinstance(value, MethodType) else value
    codes = list(_codes(value))
    for code in codes:
        text = "".join(linecache.getlines(code.co_filename))
        if text and (found := _definition(text, value, code)):
            return found
    return None


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type):
        for member in vars(value).values():
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(inner, FunctionType):
                yield inner.__code__


def _definition(text: str, value: Any, code: CodeType) -> str | None:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(value, type):
            is_it = isinstance(node, ast.ClassDef) and node.name == value.__name__
        else:
            is_it = _first_line(node) == code.co_firstlineno and (
                isinstance(node, ast.Lambda) or getattr(node, "name", None) == code.co_name
            )
        if is_it:
            first = _first_line(node) or 1
            lines = text.splitlines()[first - 1 : getattr(node, "end_lineno", first)]
            return "\n".join(lines)
    return None


def _first_line(node: ast.AST) -> int | None:
    decorators = getattr(node, "decorator_list", None)
    return min((d.lineno for d in decorators or ()), default=getattr(node, "lineno", None))


# -- lines


def line_diff(before: str, after: str, limits: Limits) -> tuple[tuple[Line, ...], int]:
    """The lines that differ with some around them, and how many differ beside those."""
    old, new = before[:LONGEST].splitlines(), after[:LONGEST].splitlines()
    found = stretches(old, new, limits.aligned)
    if found is None:
        found = [Stretch(False, 0, len(old), 0, len(new))]
    if not found:
        return (), 0
    lines: list[Line] = []
    more = 0
    for before_it, s in zip([None, *found[:-1]], found, strict=True):
        if s.is_equal:
            continue
        changes = [Line("-", t) for t in old[s.i1 : s.i2]] + [
            Line("+", t) for t in new[s.j1 : s.j2]
        ]
        if len(lines) >= limits.lines:
            more += len(changes)
            continue
        start = s.j1 - min(CONTEXT, s.j1 - before_it.j1) if before_it else s.j1
        if start > 0 or lines:
            lines.append(Line("@", f"line {start + 1}"))
        lines += [Line(" ", t) for t in new[start : s.j1]]
        room = max(0, limits.lines - len(lines))
        lines += changes[:room]
        more += len(changes) - len(changes[:room])
        lines += [Line(" ", t) for t in new[s.j2 : s.j2 + 1]] if room > len(changes) else []
    return tuple(Line(s, cut(printable(t), limits.line_characters)) for s, t in lines), more


def _counted(lines: tuple[Line, ...], more: int) -> str:
    added = sum(line.sign == "+" for line in lines)
    removed = sum(line.sign == "-" for line in lines)
    if more:
        return f"{count_text(added + removed + more, 'line')} added or removed"
    parts = [f"{count_text(added, 'line')} added"] * bool(added)
    parts += [f"{count_text(removed, 'line')} removed"] * bool(removed)
    return ", ".join(parts) or "other line ends"
