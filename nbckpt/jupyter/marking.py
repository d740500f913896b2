"""Facts in a cell's own text: its `%%checkpoint` line, its name, and if it only asks nbckpt."""

from __future__ import annotations

import ast
import re

from IPython.core.inputtransformer2 import cell_magic

from nbckpt.verbs.registry import VERBS

MARKER = "%%checkpoint"

_TEXTS = frozenset({"writefile", "file", "html", "HTML", "latex", "markdown"})
"""Cell magics below which any text may stand."""

_RANDOM = re.compile(r"[0-9a-f]{8,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Ids that a front end makes up: eight hex digits or more, or a UUID."""

_COMMENT = re.compile(r"#[ \t]*(%%checkpoint(?=\s|$).*)", re.DOTALL)

_LOADING = frozenset({"nbckpt", "load_ext", "unload_ext", "reload_ext"})


def transformed(lines: list[str]) -> list[str]:
    """The lines of a cell, its `%%checkpoint` line turned into a call that marks it."""
    if (apart := taken_apart(lines)) is None:
        return lines
    line, cell = apart
    return [f"get_ipython().run_cell_magic('checkpoint', {line!r}, '')\n", *cell]


def taken_apart(lines: list[str]) -> tuple[str, list[str]] | None:
    """The line of a cell's `%%checkpoint`, and the cell below it; None if it has none."""
    lines = _marker_first(lines)
    if not lines or not lines[0].startswith(MARKER):
        return None
    rest = lines[0][len(MARKER) :]
    if rest[:1].strip():
        return None  # %%checkpointed, or %%checkpoint?
    return rest.strip(), cell_magic(lines[1:])


def has_marker(source: str) -> bool:
    """True if a cell, as it was typed, is a `%%checkpoint` cell."""
    lines = source.lstrip().splitlines(keepends=True)
    return bool(lines) and _marker_first(lines)[0].startswith(MARKER)


def is_comment(source: str) -> bool:
    """True if the `%%checkpoint` of a cell, as it was typed, is a comment: it may be prose."""
    return _COMMENT.match(source.lstrip()) is not None


def _marker_first(lines: list[str]) -> list[str]:
    """The lines of a cell with ``%%checkpoint`` first, if it was a comment or below another magic.

    Whoever reads a notebook's code as Python (ruff, nbqa, an editor) sees nothing of a cell with a
    cell magic, and all of one with a comment.
    """
    text = [i for i, line in enumerate(lines) if line.strip()][:2]
    if text and (comment := _COMMENT.match(lines[text[0]])):
        return [comment[1], *lines[text[0] + 1 :]]
    if len(text) < 2 or not lines[text[1]].startswith(MARKER):
        return lines
    first = lines[text[0]]
    if not first.startswith("%%") or first[2:].split(maxsplit=1)[0] in _TEXTS:
        return lines
    rest = [line for i, line in enumerate(lines) if i not in text]
    return [lines[text[1]], first, *rest]


def marked(tree: ast.Module) -> str | None:
    """The line of the cell's `%%checkpoint`; None if it has none."""
    first = tree.body[0] if tree.body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call):
        return None
    call = first.value
    if ast.unparse(call.func) != "get_ipython().run_cell_magic":
        return None
    values = [a.value if isinstance(a, ast.Constant) else None for a in call.args]
    match values:
        case ["checkpoint", str(line), ""]:
            return line
    return None


def default_name(cell_id: str | None, tree: ast.Module) -> str:
    """The name of a cell that was given none: from its id, else from its code."""
    if cell_id:
        return f"cell-{_short(cell_id)}"
    from nbckpt.fingerprint import code

    return f"cell-{code.digest_of_tree(tree)[:8]}"


def _short(cell_id: str) -> str:
    """A cell id as part of a name: random ones cut to what tells them apart, others whole."""
    if _RANDOM.fullmatch(cell_id):
        return cell_id[:8]
    return re.sub(r"[^\w.+-]", "-", cell_id)


def is_our_own(tree: ast.Module) -> bool:
    """True if a cell does nothing but ask nbckpt for something."""
    return all(_is_ours(_line_magic(s)) for s in tree.body)


def changes_the_shell(tree: ast.Module) -> bool:
    """True if a cell does what no checkpoint can stand for: it moves in the history itself."""
    return any(_is_ours(_line_magic(s)) for s in ast.walk(tree) if isinstance(s, ast.stmt))


def moves(statement: ast.stmt) -> bool:
    """True if a statement is a magic that goes elsewhere in the history."""
    verb = VERBS.get(_line_magic(statement) or "")
    return verb is not None and verb.moves


def _is_ours(magic: str | None) -> bool:
    verb = VERBS.get(magic or "")
    return magic in _LOADING or (verb is not None and verb.is_magic)


def loads_nbckpt(tree: ast.Module) -> bool:
    """True if a cell begins by asking for nbckpt, though it has it."""
    return any(_line_magic(s) == "load_ext" and "'nbckpt'" in ast.unparse(s) for s in tree.body[:3])


def _line_magic(statement: ast.stmt) -> str | None:
    if not isinstance(statement, ast.Expr):
        return None
    call = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
    if not isinstance(call, ast.Call):
        return None
    if ast.unparse(call.func) != "get_ipython().run_line_magic":
        return None
    name = call.args[0]
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None
