"""Secrets in a cell's own text, which is kept with its checkpoint: they are told once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbckpt.digests import digest_of
from nbckpt.fingerprint.user_names import Own
from nbckpt.text.secret_texts import ADVICE, is_named_secret, kind_of_key, secrets_of_environment


class LiteralSecrets(Own):
    """The secrets that this session's user was told of; ``session.state(LiteralSecrets)``."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def news(self, tree: ast.Module) -> str:
        """A sentence about the secrets in a cell's text that nobody was told of; empty if none."""
        found = []
        for line, what, secret in _secrets_in(tree):
            digest = digest_of(secret)
            if digest not in self._told:
                self._told.add(digest)
                found.append(f"{what} in line {line}")
        if not found:
            return ""
        return f"this cell's text holds {', '.join(found)}, and is kept as it is: {ADVICE}"


def _secrets_in(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, kind and text of each secret that stands in some code."""
    known = secrets_of_environment()
    for node in ast.walk(tree):
        for name, line, value in _named(node):
            if is_named_secret(name, value) and not kind_of_key(value):
                yield line, f"a secret, as {name!r} says,", value
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if what := kind_of_key(node.value):
                yield node.lineno, f"what looks like {what}", node.value
            elif node.value in known:
                yield node.lineno, f"the value of {known[node.value]}", node.value


def _named(node: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Name, line and text of each text that a node names: a variable, an argument, a key."""
    pairs: list[tuple[ast.expr | str | None, ast.expr | None]] = []
    if isinstance(node, ast.Assign):
        pairs += [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        pairs.append((node.target, node.value))
    elif isinstance(node, ast.keyword):
        pairs.append((node.arg, node.value))
    elif isinstance(node, ast.Dict):
        pairs += zip(node.keys, node.values, strict=True)
    for target, value in pairs:
        name = _name_of(target)
        if name and isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield name, value.lineno, value.value


def _name_of(target: ast.expr | str | None) -> str:
    match target:
        case str(name) | ast.Name(name) | ast.Attribute(attr=name):
            return name
        case ast.Constant(str(name)) | ast.Subscript(slice=ast.Constant(str(name))):
            return name
    return ""
