"""Every message that a user can meet, read off the code: `python -m tests.messages` writes them down.

What stands in braces is filled in when the message is told. Who changes a message sees it here among
its neighbours, and reads it as a user does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "messages.txt"
TOLD_BY = frozenset({"say", "warn", "notify", "notify_defect", "tell", "print", "confirm"})
"""Functions and methods that show their texts to users."""
NAMED = re.compile(r"message|told|text|why|warning|question|hint|refusal|reason", re.ASCII)
"""Variables that hold what is shown."""
SHORTEST = 12
_WORDS = re.compile(r"(?:__|_n)\(\s*((?:'(?:[^'\\]|\\.)*'(?:\s*\+\s*)?(?:,\s*)?)+)", re.DOTALL)
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'")


def messages() -> list[str]:
    """A line for each file, and below it its messages, in the order in which they stand."""
    found: list[str] = []
    for path in sorted((ROOT / "nbckpt").rglob("*.py")):
        found += _section(path, of_python(path.read_text(encoding="utf-8")))
    for path in sorted((ROOT / "labextension" / "src").rglob("*.ts")):
        if "__tests__" not in path.parts:
            found += _section(path, of_typescript(path.read_text(encoding="utf-8")))
    return found


def _section(path: Path, told: Iterable[str]) -> list[str]:
    lines = list(dict.fromkeys(told))
    return (
        ["", path.relative_to(ROOT).as_posix(), *(f"  {line}" for line in lines)] if lines else []
    )


def of_python(source: str) -> Iterator[str]:
    """Texts of errors, of what is told, and of the variables that are named as such.

    Examples
    --------
    >>> list(of_python("message = f'no branch {name!r} here'\\nraise UsageError(message)"))
    ['no branch {name!r} here']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign):
            targets = [t.id for t in node.targets if isinstance(t, ast.Name)]
            if any(NAMED.search(name) for name in targets):
                yield from _texts(node.value)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in TOLD_BY or name.endswith(("Error", "Refusal", "Rejected")):
                for argument in node.args:
                    yield from _texts(argument)
        elif isinstance(node, ast.Yield | ast.Return) and node.value is not None:
            yield from (text for text in _texts(node.value) if " " in text.strip())


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression can be; of other expressions nothing."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif (text := _text(node)) is not None and _is_told(text.strip()):
        yield " ".join(text.split())


def _is_told(text: str) -> bool:
    """True if it is a sentence or a part of one; not HTML, nor the repr of an object."""
    return len(text) >= SHORTEST and " " in text and not text.startswith("<")


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else ast.unparse(part)
            if isinstance(part, ast.FormattedValue) else ""
            for part in node.values
        )  # fmt: skip
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    return None


def of_typescript(source: str) -> Iterator[str]:
    """Texts that go through the translation.

    Examples
    --------
    >>> list(of_typescript("words.__('Rewind to %1', name); words._n('%1 step', '%1 steps', n)"))
    ['Rewind to %1', '%1 step', '%1 steps']
    """
    for call in _WORDS.finditer(source):
        for text in _TEXT.findall(call[1]):
            yield text.replace("\\'", "'")


def main() -> None:
    """Write them down."""
    KEPT.write_text("\n".join(messages()).lstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
