"""Classes that are more than their members: made again by the statement that defined them.

An object-relational mapper notes each class, and puts others in the place of what its body said;
a class of msgspec is laid out in C. Their metaclasses take such a class for one that is to be
defined, and so it is: by the same statement, with what that read.
"""

from __future__ import annotations
import __future__

import ast
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.alive import RefusedError
from nbckpt.codecs.functions import is_importable
from nbckpt.codecs.loading import LOADING

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
    """Whether the classes of a metaclass are made by their statements."""
    if metaclass is type or not issubclass(metaclass, type):
        return False
    return any((kind.__module__, kind.__name__) in _METACLASSES for kind in type.mro(metaclass))


def reduced(pickler: NamespacePickler, cls: type) -> Any:
    """How to write a class that its statement makes; None for others, or where none is known."""
    if not makes_such(type(cls)) or is_importable(cls):
        return None
    name = cls.__name__
    if (known := _made.get(cls)) is not None and not pickler.scope.changed_since(name, ()):
        return make, (name, *known)
    namespace = pickler.scope.namespace
    statement = pickler.scope.statement_of(name) if namespace.get(name) is cls else None
    if not isinstance(statement, ast.ClassDef):
        message = "the statement that made it is not known: define it by `class` in a cell"
        raise RefusedError(message)
    read = _read_at_once(statement) - {name}
    if changed := pickler.scope.changed_since(name, read):
        message = f"{changed} has changed since its class statement: run its cell again"
        raise RefusedError(message)
    values = {n: namespace[n] for n in sorted(read) if n in namespace}
    return make, (name, ast.unparse(statement), values, _flags_in(namespace))


def _flags_in(namespace: Mapping[str, object]) -> int:
    """Those of `from __future__ import …`, which a shell applies to all cells below."""
    features = {v for v in list(namespace.values()) if type(v) is __future__._Feature}  # noqa: SLF001
    return sum(feature.compiler_flag for feature in features)


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
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            args = node.args
            own = [a.annotation for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
            waiting += [*node.decorator_list, *args.defaults, *filter(None, args.kw_defaults)]
            waiting += filter(None, (*own, node.returns))
        elif isinstance(node, ast.Lambda):
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            waiting += ast.iter_child_nodes(node)
    return found
