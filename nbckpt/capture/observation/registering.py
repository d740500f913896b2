"""Objects that a cell gives to a library where nobody can look, as its text has it.

Calls that register something (``codecs.register(f)``), and stores inside of a library's objects
(``plotly.express.defaults.template = "none"``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from nbckpt.capture.observation.attached import Attached
from nbckpt.capture.observation.ownership import is_users
from nbckpt.capture.observation.registries import STATE_IS_KNOWN
from nbckpt.capture.observation.stores import resolved
from nbckpt.fingerprint import keys
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.nodes import run_nodes
from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.runtime.source_trees import parse

_NAMES = re.compile(
    r"(un)?register(_\w+)?|add_((\w+_)?hooks?|type)|addaudithook|settrace|setprofile"
)
_ONLY_EFFECTS = frozenset({"atexit"})


def registering_calls(tree: ast.Module, namespace: Mapping[str, object]) -> Iterator[Attached]:
    """Registrations of a cell with libraries, as its text has them."""
    decorated = _decorated(tree)
    for call in _calls(tree):
        if attached := _registered_by(call, tree, namespace, decorated.get(call, "")):
            yield attached


def _registered_by(
    call: ast.expr, tree: ast.Module, namespace: Mapping[str, object], decorated: str
) -> Attached | None:
    function = call.func if isinstance(call, ast.Call) else call
    name = function.attr if isinstance(function, ast.Attribute) else (
        function.id if isinstance(function, ast.Name) else ""
    )  # fmt: skip
    if not _NAMES.fullmatch(name) or not (home := _home_of(function, namespace)):
        return None
    run = _run_of(call, decorated)
    statement = ast.fix_missing_locations(ast.Module([ast.Expr(run)], []))
    return Attached(
        where=f"call {home}.{name} {ast.unparse(call)[:200]}",
        what=f"what '{name}' of {home} was given",
        source=ast.unparse(tree),
        change=None,
        known=keys.key_of(statement, namespace).digest,
        is_input=home not in _ONLY_EFFECTS,
    )


def _decorated(tree: ast.Module) -> dict[ast.expr, str]:
    """Decorators of the functions and classes at a cell's top that have no other → whose."""
    found = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return {node.decorator_list[0]: node.name for node in found if len(node.decorator_list) == 1}


def _run_of(call: ast.expr, decorated: str) -> ast.expr:
    """The call that runs; of a decorator, with the definition below it."""
    return ast.Call(call, [ast.Name(decorated, ast.Load())], []) if decorated else call


def repeated(
    attached: Attached, namespace: MutableMapping[str, object]
) -> Callable[[], object] | None:
    """Function that registers something again; None where that may not do the same.

    It is a statement of its own, or a decorator with no other beside it, so that it ran as its cell
    did; it takes names, constants and functions alone, so that nothing else happens.
    """
    if not isinstance(namespace, dict):
        return None
    tree = parse(attached.source)
    decorated = _decorated(tree)
    calls = [
        s.value for s in tree.body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
    ]
    for call in (*calls, *decorated):
        known = _registered_by(call, tree, namespace, decorated.get(call, ""))
        if known is None or (known.where, known.known) != (attached.where, attached.known):
            continue
        name = attached.where.partition(" ")[2].partition(" ")[0].rpartition(".")[2]
        below = decorated.get(call, "")
        if not _AGAIN.fullmatch(name) or not _is_plain(call) or (below and below not in namespace):
            return None
        expression = ast.fix_missing_locations(ast.Expression(_run_of(call, below)))
        return partial(eval, compile(expression, "<registered again>", "eval"), namespace)
    return None


_AGAIN = re.compile(r"register(_\w+)?")
"""Functions that are called again: none that traces, or takes back a registration."""


def _is_plain(call: ast.expr) -> bool:
    """True if the arguments of a call are no calls, and no comprehensions."""
    arguments = (
        [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    )
    return all(_is_plain_argument(argument) for argument in arguments)


def _is_plain_argument(node: ast.expr) -> bool:
    if isinstance(node, ast.Lambda):
        return not node.args.defaults and not node.args.kw_defaults
    if isinstance(node, ast.List | ast.Tuple):
        return all(map(_is_plain_argument, node.elts))
    if isinstance(node, ast.Attribute):
        return _is_plain_argument(node.value)
    return isinstance(node, ast.Constant | ast.Name)


def inner_stores(tree: ast.Module, namespace: Mapping[str, object]) -> Iterator[Attached]:
    """Stores of a cell inside of objects that libraries hold."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        else:
            continue
        for target in targets:
            if home := _home_of_inner(target, namespace):
                statement = ast.Module([node], [])
                yield Attached(
                    where=f"store {home} {ast.unparse(target)[:200]}",
                    what=f"'{ast.unparse(target)}' of {home}",
                    source=ast.unparse(tree),
                    change=None,
                    known=keys.key_of(statement, namespace).digest,
                )


def _home_of_inner(target: ast.expr, namespace: Mapping[str, object]) -> str:
    """The library in an object of which a target lies; empty if it lies in none, or is seen."""
    path: list[ast.expr] = []
    node = target
    while isinstance(node, ast.Attribute | ast.Subscript):
        path.append(node)
        node = node.value
    holder = namespace.get(node.id) if isinstance(node, ast.Name) else None
    if not issubclass(type(holder), ModuleType | type) or is_users(holder, namespace):
        return ""
    while path and issubclass(type(holder), ModuleType | type):
        step = path.pop()
        if not isinstance(step, ast.Attribute):
            return ""
        home, holder = holder, resolved(step, namespace)
    is_seen = not path or type(holder) is FunctionType
    is_seen = is_seen or (len(path) == 1 and type(holder) in {list, dict, set})
    if holder is None or is_seen or is_users(holder, namespace):
        return ""
    name = home.__name__ if isinstance(home, ModuleType) else home.__module__
    return "" if name.partition(".")[0] in STATE_IS_KNOWN else _library(name)


def _calls(tree: ast.Module) -> Iterator[ast.expr]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Call):
            yield node
        for decorator in getattr(node, "decorator_list", ()):
            if not isinstance(decorator, ast.Call):
                yield decorator


def _home_of(function: ast.expr, namespace: Mapping[str, object]) -> str:
    """The library whose function is called; empty if it is none's."""
    if isinstance(function, ast.Name):
        value = namespace.get(function.id)
        is_code = issubclass(type(value), FunctionType | BuiltinFunctionType | MethodType)
        return _library(getattr(value, "__module__", None)) if is_code else ""
    root = function
    while isinstance(root, ast.Attribute):
        root = root.value
    top = resolved(root, namespace) if isinstance(root, ast.Name) else None
    if not isinstance(function, ast.Attribute) or not isinstance(top, ModuleType | type):
        return ""
    holder = resolved(function.value, namespace)
    if holder is None or is_users(holder, namespace):
        return ""
    if isinstance(holder, ModuleType):
        return _library(holder.__name__)
    return _library(getattr(holder, "__module__", type(holder).__module__))


def _library(name: object) -> str:
    return "" if not isinstance(name, str) or is_users_module(name) or name == "" else name
