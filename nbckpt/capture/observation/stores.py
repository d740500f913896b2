"""Attributes that a cell's text, and the user's functions, can set or look up on other things."""

from __future__ import annotations

import ast
import contextlib
import dis
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from itertools import chain, islice
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from nbckpt.capture.observation.ownership import DEPTH, is_users
from nbckpt.fingerprint.code import nodes_of
from nbckpt.fingerprint.code.bytecode import words_of
from nbckpt.fingerprint.code.nodes import once, run_nodes
from nbckpt.fingerprint.values.definitions import functions_of_class
from nbckpt.fingerprint.values.homes import MODULE_OF_CLASS, is_named, is_users_module
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw import member_of_class

_SETTERS = frozenset(
    {"setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "patch"}
)
_UNNAMED = frozenset({"setattr", "delattr", "vars", "exec", "eval", "globals"})
_UNNAMED_MEMBERS = frozenset({"__setattr__", "__delattr__", "__dict__", "__globals__"})
_UNNAMED_BY_CODE = _UNNAMED_MEMBERS | {"setattr", "delattr"}
MANY = 100
"""Elements of a container that are looked at for functions."""

_CACHED = type(lru_cache(lambda: None))
_STORES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_OWN = frozenset({"self", "cls"})
_INERT = (
    ast.Module, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Name, ast.Constant,
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict,
    ast.Set, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context, ast.Pass, ast.If,
    ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.NamedExpr,
)  # fmt: skip
_HARMLESS = frozenset(
    {"abs", "bool", "dict", "float", "int", "len", "list", "max", "min", "print", "range", "repr",
     "round", "set", "sorted", "str", "sum", "tuple"}
)  # fmt: skip
"""Builtins that only compute, given plain values."""


class Stores(NamedTuple):
    """Attributes that some code sets.

    Attributes
    ----------
    places
        Modules and classes, each with the name of an attribute that is set on it.
    names
        Names of attributes that are set on objects that the text does not tell.
    """

    places: tuple[tuple[object, str], ...]
    names: frozenset[str]


def stores_of(tree: ast.Module, namespace: Mapping[str, object], codes: Codes) -> Stores:
    """Attributes that a cell, and the functions that it may call, set on libraries."""
    places, names = _set_by_text(tree, namespace)
    names = names.union(*map(_stored_by, codes.all()))
    return Stores(places, frozenset(names))


def can_set(
    holder: Callable[[object], bool],
    name: str,
    tree: ast.Module,
    namespace: Mapping[str, object],
    codes: Iterable[CodeType],
) -> bool:
    """True if a cell, or a function that it may call, sets an attribute of this name.

    Parameters
    ----------
    holder
        Tells of a module or class that the cell names if it is the one that has the attribute.
    codes
        Of the functions.
    """
    places, names = _set_by_text(tree, namespace)
    if name in names or any(place[1] == name and holder(place[0]) for place in places):
        return True
    # Packages beside a notebook have thousands of functions: those that name it are looked at.
    return any(_may_store(code, name) and name in _stored_by(code) for code in codes)


class Codes:
    """The code of the notebook and of the modules beside it, found once for all who ask."""

    def __init__(
        self, namespace: Mapping[str, object], modules: Iterable[str], tree: ast.Module | None
    ) -> None:
        self._namespace, self._modules, self._tree = namespace, modules, tree

    @cached_property
    def notebook(self) -> list[CodeType]:
        """Of functions and classes that the notebook has defined and still holds."""
        return [*codes_of_all(self._namespace)]

    @cached_property
    def beside(self) -> list[CodeType]:
        """Of functions and classes that the modules define."""
        return [*codes_of_modules(self._modules)]

    @cached_property
    def reached(self) -> list[CodeType]:
        """Of what the cell names that ran, and what that names itself."""
        return codes_reached(self._tree, self._namespace) if self._tree is not None else []

    @cached_property
    def sets_unnamed(self) -> bool:
        """True if the cell, or a function that it may call, can set names that stand nowhere."""
        if self._tree is None:
            return False
        return sets_what_no_text_names(self._tree) or any(
            not _UNNAMED_BY_CODE.isdisjoint(part.co_names)
            for code in self.all()
            for part in _with_nested(code)
        )

    def all(self) -> Iterator[CodeType]:
        """Of the notebook and of the modules."""
        return chain(self.notebook, self.beside)


def _may_store(code: CodeType, name: str) -> bool:
    return any(
        name in part.co_names or not _SETTERS.isdisjoint(part.co_names)
        for part in _with_nested(code)
    )


def _set_by_text(
    tree: ast.Module, namespace: Mapping[str, object]
) -> tuple[tuple[tuple[object, str], ...], set[str]]:
    """The places that a cell's own text sets, and names that it sets on what is not known."""
    places: list[tuple[object, str]] = []
    names: set[str] = set()
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            holder = resolved(node.value, namespace)
            if isinstance(holder, ModuleType | type):
                places.append((holder, node.attr))
            elif holder is None:
                names.add(node.attr)
    if _SETTERS & words_of_tree(tree):
        names.update(*map(words_of, texts_of_tree(tree)))
        names |= {n.arg for n in nodes_of(tree) if isinstance(n, ast.keyword) and n.arg}
    return tuple(places), names


class Named(NamedTuple):
    """Attributes that some code sets by name on objects that its text may not tell.

    Attributes
    ----------
    sets, deletes
        Names of attributes.
    words
        All names in the code, and the words of its strings.
    """

    sets: frozenset[str]
    deletes: frozenset[str]
    words: frozenset[str]


def stored_by_name(tree: ast.Module, codes: Codes) -> Iterator[Named]:
    """Names of attributes that a cell sets, and those of each function that it may call."""
    nodes = [node for node in nodes_of(tree) if isinstance(node, ast.Attribute)]
    sets = {node.attr for node in nodes if not isinstance(node.ctx, ast.Load)}
    deletes = {node.attr for node in nodes if isinstance(node.ctx, ast.Del)}
    if _SETTERS & words_of_tree(tree):
        sets.update(*map(words_of, texts_of_tree(tree)))
    if sets:
        yield Named(frozenset(sets), frozenset(deletes), words_of_tree(tree))
    for code in codes.all():
        if names := _stored_by(code):
            yield Named(names, _deleted_by(code), words_of_code(code))


def resolved(node: ast.expr, namespace: Mapping[str, object]) -> object | None:
    """Object of a dotted name, followed through modules and classes only; None if unknown."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    holder = resolved(node.value, namespace)
    if isinstance(holder, type):
        found: object = member_of_class(holder, node.attr)
        return found
    if isinstance(holder, ModuleType):
        return vars(holder).get(node.attr)
    return holder  # an attribute of an instance: of the instance


def words_of_tree(tree: ast.Module) -> frozenset[str]:
    """All names of a cell's text, and the words inside its strings."""
    return once(tree, "words", lambda: frozenset(_words_of_tree(tree)))


def words_of_all(namespace: Mapping[str, object]) -> frozenset[str]:
    """All names in the code of the notebook's functions and classes, and words of its strings."""
    return frozenset().union(*map(words_of_code, codes_of_all(namespace)))


def codes_reached(tree: ast.Module, namespace: Mapping[str, object]) -> list[CodeType]:
    """The code of the functions and classes that a cell names, and that these name themselves.

    Of a module beside the notebook that is named it is all code.
    """
    is_own, seen = partial(_is_own, namespace), dict[int, object]({id(namespace): namespace})
    words = set(words_of_tree(tree))
    waiting, found = [*words], list[CodeType]()
    while waiting:
        value = namespace.get(waiting.pop())
        if type(value) in ATOMS:
            continue
        if type(value) is ModuleType:
            inside = (
                codes_of_modules([value.__name__]) if is_users_module(value.__name__) else iter(())
            )
        else:
            inside = _codes_in(value, "__main__", is_own, seen)
        for code in inside:
            found.append(code)
            new = words_of_code(code) - words
            words |= new
            waiting += new
    return found


def _is_own(namespace: Mapping[str, object], function: FunctionType) -> bool:
    return is_users(function, namespace, 0)


def codes_of_all(namespace: Mapping[str, object]) -> Iterator[CodeType]:
    """The code of functions and classes that the notebook has defined and still holds."""
    is_own = partial(_is_own, namespace)
    seen: dict[int, object] = {id(namespace): namespace}
    for value in list(namespace.values()):
        yield from _codes_in(value, "__main__", is_own, seen)


def codes_of_definition(
    definitions: Iterable[object], namespace: Mapping[str, object]
) -> Iterator[CodeType]:
    """The code of some functions and classes of the notebook's."""
    for definition in definitions:
        if isinstance(definition, FunctionType):
            if definition.__globals__ is namespace or _is_own(namespace, definition):
                yield definition.__code__
        elif isinstance(definition, type) and MODULE_OF_CLASS(definition) == "__main__":
            yield from (function.__code__ for function in functions_of_class(definition))


def codes_of_modules(modules: Iterable[str]) -> Iterator[CodeType]:
    """The code of functions and classes that some modules define."""
    for name in modules:
        module = sys.modules.get(name)
        own = vars(module) if isinstance(module, ModuleType) else {}

        def is_own(function: FunctionType, own: dict[str, object] = own) -> bool:
            return function.__globals__ is own

        seen: dict[int, object] = {id(own): own}
        for value in list(own.values()):
            yield from _codes_in(value, name, is_own, seen)


def _codes_in(
    value: Any,
    home: str,
    is_own: Callable[[FunctionType], bool],
    seen: dict[int, object],
    depth: int = DEPTH,
) -> Iterator[CodeType]:
    """The code of own functions that a value is, wraps or holds, and of its own class."""
    kind = type(value)
    if kind in ATOMS or depth < 0 or id(value) in seen:
        return
    seen[id(value)] = value
    if kind is FunctionType:
        if is_own(value):
            yield value.__code__
        parts = [*_contents_of(value), vars(value).get("__wrapped__")]
    elif issubclass(kind, type):
        if MODULE_OF_CLASS(value) == home:
            yield from _codes_of_class(value, home)
        return
    else:
        if MODULE_OF_CLASS(kind) == home:
            yield from _codes_of_class(kind, home)
        parts = _parts_of(value, kind)
    for part in parts:
        yield from _codes_in(part, home, is_own, seen, depth - 1)


def _codes_of_class(cls: type, home: str) -> Iterator[CodeType]:
    for base in cls.__mro__:
        if MODULE_OF_CLASS(base) == home:
            yield from (function.__code__ for function in functions_of_class(base))


def _contents_of(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # it is empty
            yield cell.cell_contents


def _parts_of(value: Any, kind: type) -> list[object]:
    """Parts that may hold functions, of a value of a few kinds that do."""
    if kind is dict:
        return [*islice(list(value.values()), MANY)]
    if kind in {list, tuple, set, frozenset}:
        return [*islice(list(value), MANY)]
    if kind is MethodType:
        return [value.__func__]
    if issubclass(kind, partial):
        return [value.func, *value.args]
    return [value.__wrapped__] if kind is _CACHED else []


def sets_what_no_text_names(tree: ast.Module) -> bool:
    """True if a cell can set attributes whose names stand nowhere: ``setattr(m, a + b, 1)``."""
    return any(
        (isinstance(node, ast.Name) and node.id in _UNNAMED)
        or (isinstance(node, ast.Attribute) and node.attr in _UNNAMED_MEMBERS)
        for node in nodes_of(tree)
    )


class Given(NamedTuple):
    """Values that some code can hand to a library.

    Attributes
    ----------
    objects
        By their ids, each held: values of variables and what these hold; no code of libraries.
    strings
        In its text, and those of variables.
    numbers
        As `strings`, each with its type.
    """

    objects: dict[int, object]
    strings: frozenset[str]
    numbers: frozenset[tuple[type, object]]

    def has(self, value: Any) -> bool:
        """True if a value is, or directly holds, something of that."""
        kind = type(value)
        if kind is str:
            return value in self.strings
        if id(value) in self.objects:
            return True
        if kind is dict:
            return any(map(self.has, [*value.keys(), *value.values()][:MANY]))
        return kind in {tuple, list, set} and any(map(self.has, islice(value, MANY)))


def given_by(tree: ast.Module, codes: Iterable[CodeType], namespace: Mapping[str, object]) -> Given:
    """Values that a cell, with the code that it reaches, can hand to a library."""
    names = {node.id for node in nodes_of(tree) if isinstance(node, ast.Name)}
    atoms: list[object] = [n.value for n in nodes_of(tree) if isinstance(n, ast.Constant)]
    for code in codes:
        atoms += strings_of_code(code)
        names |= words_of_code(code)
    objects: dict[int, object] = {}
    for value in [namespace[name] for name in names if name in namespace]:
        for one in (value, *_parts_of(value, type(value))):
            if type(one) in ATOMS:
                atoms.append(one)
            elif not is_named(one, namespace):
                objects[id(one)] = one
    strings = frozenset(atom for atom in atoms if type(atom) is str and len(atom) > 1)
    numbers = ((type(atom), atom) for atom in atoms if type(atom) in {int, float, complex, bool})
    return Given(objects, strings, frozenset(numbers))


def statement_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls in a cell that are statements of their own: nothing is made of what they return."""
    for node in run_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node.value


def is_argument(value: object, call: ast.Call, namespace: Mapping[str, object]) -> bool:
    """True if a call is given a value, by a variable or as a constant."""
    if value is None:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    constants = [node.value for node in given if isinstance(node, ast.Constant)]
    if any(type(one) is type(value) and one == value for one in constants):
        return True
    return any(isinstance(n, ast.Name) and namespace.get(n.id) is value for n in given)


def defines(tree: ast.Module) -> bool:
    """True if a cell makes a function or a class."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    return any(isinstance(node, kinds) for node in nodes_of(tree))


def is_inert(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell only computes with plain values: nothing attached can change what it does."""
    return _computes_only(tree, namespace, ast.Call) is False


def is_harmless(tree: ast.Module, namespace: Mapping[str, object]) -> bool:
    """True if a cell cannot attach anything: it calls nothing but simple builtins."""
    return _computes_only(tree, namespace) is not None


def _computes_only(
    tree: ast.Module, namespace: Mapping[str, object], *never: type[ast.AST]
) -> bool | None:
    """True if a cell calls builtins; None if it does more than that and compute."""
    loaded: set[str] = set()
    bound: set[str] = set()
    is_calling = False
    for node in nodes_of(tree):
        kind = type(node)
        if kind in never:
            return None
        if kind is ast.Name:
            (bound if type(node.ctx) is ast.Store else loaded).add(node.id)  # type: ignore[attr-defined]
        elif kind is ast.Call:
            function = node.func  # type: ignore[attr-defined]
            if type(function) is not ast.Name or function.id not in _HARMLESS:
                return None
            is_calling = True
        elif not issubclass(kind, _INERT):
            return None
    for name in loaded:
        if name in namespace:
            if type(namespace[name]) not in ATOMS:
                return None
        elif name not in bound and name not in _HARMLESS:
            return None
    return is_calling


def _words_of_tree(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
    for text in texts_of_tree(tree):
        yield from words_of(text)


def texts_of(tree: ast.Module, codes: Codes) -> frozenset[str]:
    """The strings in a cell, and in functions that it may call."""
    inside = (c for code in codes.all() for c in strings_of_code(code))
    return frozenset([*texts_of_tree(tree), *inside])


def texts_of_tree(tree: ast.Module) -> Iterator[str]:
    """The strings in a cell."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@lru_cache(maxsize=4096)
def words_of_code(code: CodeType) -> frozenset[str]:
    """All names in some code, and the words of its strings."""
    words = {name for part in _with_nested(code) for name in part.co_names}
    return frozenset(words.union(*map(words_of, strings_of_code(code))))


@lru_cache(maxsize=4096)
def strings_of_code(code: CodeType) -> frozenset[str]:
    """The strings in some code."""
    return frozenset(c for p in _with_nested(code) for c in p.co_consts if isinstance(c, str))


@lru_cache(maxsize=32_768)
def _stored_by(code: CodeType) -> frozenset[str]:
    """Attributes that a function sets on what is not the object whose method it is."""
    found: set[str] = set()
    for part in _with_nested(code):
        own = next((n for n in part.co_varnames[: part.co_argcount][:1] if n in _OWN), None)
        last = None
        for step in dis.get_instructions(part):
            if step.opname in _STORES and not (last is not None and last.argval == own):
                found.add(step.argval)
            last = step
        if _SETTERS.intersection(part.co_names):
            found.update(*map(words_of, strings_of_code(part)))
    return frozenset(found)


@lru_cache(maxsize=4096)
def _deleted_by(code: CodeType) -> frozenset[str]:
    steps = (step for part in _with_nested(code) for step in dis.get_instructions(part))
    return frozenset(step.argval for step in steps if step.opname == "DELETE_ATTR")


@lru_cache(maxsize=4096)
def sets_items(code: CodeType) -> bool:
    """True if a function sets or deletes an item of something."""
    steps = (step for part in _with_nested(code) for step in dis.get_instructions(part))
    return any(step.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for step in steps)


def _with_nested(code: CodeType) -> Iterable[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)
