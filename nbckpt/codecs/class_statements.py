"""Classes that are more than their members: made again by the statement that defined them.

An object-relational mapper notes each class, and puts others in the place of what its body said;
a class of msgspec is laid out in C. Their metaclasses take such a class for one that is to be
defined, and so it is: by the same statement, with what that read.
"""

from __future__ import annotations

import ast
import weakref
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.functions import is_importable
from nbckpt.codecs.loading import LOADING
from nbckpt.types.adapter import RefusalError

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler

_METACLASSES = frozenset(
    {("msgspec", "StructMeta"), ("msgspec._core", "StructMeta"),
     ("sqlalchemy.orm.decl_api", "DeclarativeMeta"),
     ("sqlalchemy.orm.decl_api", "DeclarativeAttributeIntercept"),
     ("django.db.models.base", "ModelBase"), ("peewee", "ModelBase")}
)  # fmt: skip
"""By module and name; those that derive from one count, too."""

_made: weakref.WeakKeyDictionary[type, tuple[str, dict[str, object], int]] = (
    weakref.WeakKeyDictionary()
)
"""Classes that were made here: the statement, and what it read."""

_ABSENT = object()


def makes_such(metaclass: type) -> bool:
    """True if the classes of a metaclass are made by their statements."""
    if metaclass is type or not issubclass(metaclass, type):
        return False
    return any((kind.__module__, kind.__name__) in _METACLASSES for kind in type.mro(metaclass))


def reduced(pickler: NamespacePickler, cls: type) -> Any:
    """The reduction of a class that its statement makes again; None for other classes.

    Raises
    ------
    RefusalError
        If the statement is not known, or it or what it read has changed since.
    """
    if not makes_such(type(cls)) or is_importable(cls):
        return None
    from nbckpt.fingerprint.code.scopes import future_flags  # no resume needs it

    name = cls.__name__
    if (known := _made.get(cls)) is not None and not pickler.scope.changed_since(name, ()):
        return make, (name, *known)
    namespace = pickler.scope.namespace
    statement = pickler.scope.class_statement(name) if namespace.get(name) is cls else None
    if statement is None:
        message = "the statement that made it is not known: define it by `class` in a cell"
        raise RefusalError(message)
    read = _read_at_once(statement) - {name}
    if changed := pickler.scope.changed_since(name, read):
        message = f"{changed} has changed since its class statement: run its cell again"
        raise RefusalError(message)
    values = {n: namespace[n] for n in sorted(read) if n in namespace}
    return make, (name, ast.unparse(statement), values, future_flags(namespace))


def make(name: str, statement: str, values: dict[str, object], flags: int) -> object:
    """The class that a statement defines, with these values as globals for as long."""
    namespace = LOADING.get().namespace
    before = {n: namespace.get(n, _ABSENT) for n in (*values, name)}
    namespace.update(values)
    try:
        code = compile(statement, f"<class {name}>", "exec", flags, dont_inherit=True)
        exec(code, namespace)
        cls: Any = namespace[name]
    finally:
        for n, was in before.items():
            if was is _ABSENT:
                namespace.pop(n, None)
            else:
                namespace[n] = was
    _made[cls] = statement, values, flags
    return cls


def _read_at_once(statement: ast.AST) -> set[str]:
    """The names that a definition reads while it is made, and not when its methods are called."""
    from nbckpt.fingerprint.code.scopes import annotations_of  # no resume needs it

    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, *annotations_of(node), *_defaults_of(node)]
        elif isinstance(node, ast.Lambda):
            waiting += _defaults_of(node)
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def _defaults_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.expr]:
    return [*node.args.defaults, *filter(None, node.args.kw_defaults)]
