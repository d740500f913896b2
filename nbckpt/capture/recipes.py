"""Statements that make again what cannot be pickled: clients, connections, files, generators.

A statement is a recipe only if it does nothing but build a value: ``client = OpenAI()`` is one,
``process = Popen(["rm", "x"])`` is not; that one is named, and left to the user.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import itertools
import re
import socket
import sqlite3
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from nbckpt.capture import recipe_uses, recipes_generators
from nbckpt.fingerprint.values import databases, widgets
from nbckpt.fingerprint.values.opaque import is_shut_down

_EFFECTFUL_MODULES = frozenset(
    {"subprocess", "multiprocessing", "tempfile", "shutil", "shelve", "dbm", "socketserver",
     "webbrowser", "os", "signal", "ctypes", "http", "xmlrpc", "logging", "smtplib", "ftplib",
     "imaplib", "poplib", "selenium", "ray", "distributed", "wandb", "mlflow"}
)  # fmt: skip
"""Classes and functions of these do more than build a value when they are called."""

_EFFECTFUL_CLASSES = re.compile(r".*(Thread|Timer|Process|Popen|Writer|Server|PdfPages)")

_WRITING_MODE = re.compile(r"(?=.*[wax+])[rwaxbtU+]{1,4}")

_BUILDERS = frozenset({"open", "sqlite3.connect", "duckdb.connect", "socket.socket", "numpy.load"})
"""Functions that build a value, beside classes."""

_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Dict, ast.Set,
    ast.JoinedStr, ast.FormattedValue, ast.UnaryOp, ast.BinOp, ast.Call, ast.Starred, ast.keyword,
    ast.expr_context, ast.operator, ast.unaryop, ast.Slice,
)  # fmt: skip
"""Syntax that a recipe may be made of: nothing that assigns, awaits, yields or loops."""

_PURE_CALLS = frozenset(
    {"os.getenv", "os.environ.get", "str", "int", "float", "bool", "bytes", "dict", "list",
     "tuple", "set", "pathlib.Path", "Path", "getpass.getuser"}
)  # fmt: skip


_serials: Iterator[int] = itertools.count()
"""Serial numbers that order statements that ran and values that were made again."""


@dataclass(frozen=True)
class Binding:
    """The statement that last bound a name; no statement when it was part of a larger one."""

    serial: int
    statement: ast.stmt | None
    definition: ast.ClassDef | None = None


@dataclass
class Bindings:
    """The top-level statement of the notebook that last bound each name."""

    _last: dict[str, Binding] = field(default_factory=dict)
    _named: dict[str, int] = field(default_factory=dict)
    _set_on: dict[str, tuple[int, str]] = field(default_factory=dict)

    def ran(self, tree: ast.Module) -> None:
        """Note the statements of a cell that ran."""
        for statement in tree.body:
            serial = next(_serials)
            is_plain = isinstance(statement, ast.Assign | ast.AnnAssign)
            for name in _bound_by(statement):
                definition = statement if isinstance(statement, ast.ClassDef) else None
                self._last[name] = Binding(serial, statement if is_plain else None, definition)
            self._named.update(dict.fromkeys(_loaded_by(statement), serial))
            for holder, attribute in _attributes_set_by(statement):
                self._set_on[holder] = serial, attribute

    def of(self, name: str) -> Binding | None:
        """The last binding of `name`; None if no cell bound it."""
        return self._last.get(name)

    def class_statement(self, name: str) -> ast.ClassDef | None:
        """The class statement that last bound a name; None if another statement did."""
        binding = self._last.get(name)
        return None if binding is None else binding.definition

    def changed_since(self, name: str, read: Iterable[str]) -> str:
        """A name of `read` bound, or attribute of `name` set, since `name` was bound; or empty."""
        binding = self._last.get(name)
        serial = -1 if binding is None else binding.serial
        for other in sorted(read):
            later = self._last.get(other)
            if binding is not None and later is not None and later.serial > serial:
                return repr(other)
        set_at, attribute = self._set_on.get(name, (-1, ""))
        return f"{name}.{attribute}" if set_at > serial else ""

    def is_named_since(self, name: str, serial: int) -> bool:
        """True if a statement that came later has read a name."""
        return self._named.get(name, -1) > serial


def _bound_by(statement: ast.stmt) -> Iterable[str]:
    """The names that a statement binds."""
    from nbckpt.fingerprint.code import names_of_tree, nodes_of

    nodes = nodes_of(statement)
    is_simple = isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign)
    if is_simple and not any(_binds_otherwise(node) for node in nodes):
        return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names_of_tree(ast.Module([statement], [])).binds


def _attributes_set_by(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names and attributes that a statement sets on them: ``P.x = 1``, ``setattr(P, "x", 1)``."""
    from nbckpt.fingerprint.code import nodes_of

    for node in nodes_of(statement):
        match node:
            case ast.Attribute(value=ast.Name(id=holder), attr=attribute, ctx=ast.Store()):
                yield holder, attribute
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=holder), *_]):
                yield holder, "…"
            case _:
                continue


def _loaded_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement reads, in functions that it defines, too."""
    from nbckpt.fingerprint.code import nodes_of

    nodes = nodes_of(statement)
    return (n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store))


def _binds_otherwise(node: ast.AST) -> bool:
    """True if a node binds names by another way than that of a plain assignment."""
    if isinstance(node, ast.Name):
        return node.id == "get_ipython"
    return isinstance(node, ast.NamedExpr | ast.Lambda | ast.comprehension)


@dataclass(frozen=True)
class Recipe:
    """Instructions to make one variable again.

    Attributes
    ----------
    values
        Variables that the statement reads, as they were when it ran.
    after
        Operation on the new value: ``("seek", position)``, ``("close",)``, ``("shutdown",)``,
        ``("set", attributes)``, ``("advance", steps, place)`` or ``("fill", content)``.
    """

    name: str
    statement: str
    values: Mapping[str, object]
    after: tuple[Any, ...] = ()

    def reduced(self) -> Any:
        """Reduced form of the recipe, which a stream holds in the value's place."""
        # In texts of their own: a module's name is its variable's text in some processes only, and
        # what is one text twice is written in other bytes.
        values = {name.encode().decode(): value for name, value in self.values.items()}
        return follow, (self.name, self.statement, values, self.after)

    def made(self) -> Any:
        """A new value, to which nothing is done yet."""
        return follow(self.name, self.statement, dict(self.values), ())


def follow(name: str, statement: str, values: dict[str, object], after: tuple[Any, ...]) -> object:
    """The value that `statement` binds to `name`, run in a namespace of its own."""
    scope: dict[str, object] = {"__builtins__": builtins, **values}
    exec(compile(statement, f"<nbckpt recipe of {name}>", "exec"), scope)
    value: Any = scope[name]
    _remember(value, Recipe(name, statement, values))
    match after:
        case ("seek", position):
            value.seek(position)
        case ("close",):
            value.close()
        case ("shutdown",):
            value.shutdown(wait=False)
        case ("set", members):
            for member, is_set_to in members.items():
                setattr(value, member, is_set_to)
        case ("advance", steps, place):
            recipes_generators.advance(value, steps, place)
        case ("fill", content):
            databases.fill(value, databases.Content(*content))
    return value


@dataclass(frozen=True)
class _Followed:
    """Recipe that made a value again; no reference to a value that cannot be referred to weakly."""

    reference: weakref.ref[object] | None
    type: type
    recipe: Recipe
    serial: int


_followed: dict[int, _Followed] = {}
"""Values that a recipe made again, by id: no statement of a cell has made them in this process."""


def _remember(value: object, recipe: Recipe) -> None:
    """Take note of what made a value, as long as it lives, or until its place is taken."""
    place, reference = id(value), None
    with suppress(TypeError):  # of what nothing can refer to weakly, as connections of sqlite3
        reference = weakref.ref(value, lambda _: _followed.pop(place, None))
    _followed[place] = _Followed(reference, type(value), recipe, next(_serials))


def _followed_for(name: str, value: object, bindings: Bindings) -> Recipe | None:
    """The recipe that made `value`, unless a cell has bound its name since.

    Where the value may be gone and its place another's, that other was bound by a later cell.
    """
    followed = _followed.get(id(value))
    if followed is None or followed.recipe.name != name or followed.type is not type(value):
        return None
    if followed.reference is not None:
        return followed.recipe if followed.reference() is value else None
    binding = bindings.of(name)
    is_of_value = binding is None or binding.serial < followed.serial
    return followed.recipe if is_of_value else None


def _as_named(
    name: str, value: object, namespace: Mapping[str, object], bindings: Bindings
) -> object:
    """A function as its name has it, if that is the same one: it is written by its name then."""
    now = namespace.get(name)
    if isinstance(now, types.FunctionType) and isinstance(value, types.FunctionType):
        is_same = bindings.of(name) is None and now.__code__ == value.__code__
        return now if is_same else value
    return value


def recipe_for(
    name: str, value: object, namespace: Mapping[str, object], bindings: Bindings
) -> Recipe | str:
    """The recipe of a variable, or why there is none (the end of a sentence)."""
    if any(type(value) is kind for kind in weakref.ProxyTypes):
        return "and what it refers to may be gone by then"
    if widgets.is_widget(type(value)):
        return "and its cell runs again"
    if hasattr(type(value), "hexdigest"):
        return "and what it was fed would be lost"
    if (followed := _followed_for(name, value, bindings)) is not None:
        values = {n: _as_named(n, what, namespace, bindings) for n, what in followed.values.items()}
        as_now = replace(followed, name=name, values=values)  # the same text as in the namespace
        since = _followed[id(value)].serial
        lost = _lost_state(value) or recipe_uses.lost_by_use(
            name, value, since, bindings, namespace
        )
        return lost or _whole(as_now, value)
    binding = bindings.of(name)
    if binding is None or binding.statement is None:
        return "and no single statement made it"
    statement = binding.statement
    source = ast.unparse(statement)
    if isinstance(getattr(statement, "value", None), ast.Name):
        return f"and `{source}` only gives it another name"
    if (call := _sole_call(statement, name)) is None or not _is_plain(call, namespace):
        return f"and `{source}` does more than build a value"
    if not _builds(call, value, namespace):
        return f"and running `{source}` again might do more than build a value: run it yourself"
    lost = _lost_state(value)
    if lost := lost or recipe_uses.lost_by_use(name, value, binding.serial, bindings, namespace):
        return lost
    names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)} - {name}
    values = {n: namespace[n] for n in sorted(names) if n in namespace}
    rebound = [n for n in values if (b := bindings.of(n)) and b.serial > binding.serial]
    if rebound:
        return f"and `{source}` used another {rebound[0]!r} than there is now"
    return _whole(Recipe(name, source, values), value)


def _whole(recipe: Recipe, value: object) -> Recipe | str:
    """The recipe with what is to be done to the new value, or why that cannot be."""
    after = _afterwards(recipe, value)
    return after if isinstance(after, str) else replace(recipe, after=after)


def _sole_call(statement: ast.stmt, name: str) -> ast.Call | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]  # type: ignore[attr-defined]
    value = statement.value  # type: ignore[attr-defined]
    is_simple = len(targets) == 1 and isinstance(targets[0], ast.Name) and targets[0].id == name
    return value if is_simple and isinstance(value, ast.Call) else None


def _is_plain(call: ast.Call, namespace: Mapping[str, object]) -> bool:
    """True if the arguments are constants, names and calls that only compute."""
    for node in ast.walk(call):
        if not isinstance(node, _EXPRESSIONS):
            return False
        if isinstance(node, ast.Call) and node is not call:
            function = _resolve(node.func, namespace)
            is_pure = ast.unparse(node.func) in _PURE_CALLS
            if not is_pure and not (isinstance(function, type) and _is_harmless(function)):
                return False
    return True


def _builds(call: ast.Call, value: Any, namespace: Mapping[str, object]) -> bool:
    if issubclass(type(value), types.GeneratorType | types.CoroutineType):
        return _is_of_its_code(call, value, namespace)
    if _is_writable(value) or _may_write(call, namespace):
        return False
    function = _resolve(call.func, namespace)
    if isinstance(function, type):
        return isinstance(value, function) and _is_harmless(function)
    return _qualified(function) in _BUILDERS


def _is_of_its_code(
    call: ast.Call,
    value: types.GeneratorType[Any, Any, Any] | types.CoroutineType[Any, Any, Any],
    namespace: Mapping[str, object],
) -> bool:
    """True if a call gives such a generator, or such a coroutine that has not begun."""
    if isinstance(value, types.GeneratorType):
        code, can_be = value.gi_code, True
    else:
        code, can_be = value.cr_code, inspect.getcoroutinestate(value) == inspect.CORO_CREATED
    function = _resolve(call.func, namespace)
    return can_be and isinstance(function, types.FunctionType) and function.__code__ is code


def _is_harmless(cls: type) -> bool:
    for base in cls.__mro__:
        module = str(base.__module__).split(".")[0]
        if module in _EFFECTFUL_MODULES or _EFFECTFUL_CLASSES.fullmatch(base.__name__):
            return False
    home = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and hasattr(home, "__name__")


def _is_writable(value: object) -> bool:
    """True if a file was opened to be written: opening it again might empty it."""
    try:
        if issubclass(type(value), io.IOBase) and not value.closed:  # type: ignore[attr-defined]
            return bool(value.writable())  # type: ignore[attr-defined]
        return _is_writing_mode(getattr(value, "mode", None))
    except Exception:  # whatever its own code raises when it is asked
        return True


def _may_write(call: ast.Call, namespace: Mapping[str, object]) -> bool:
    """True if an argument is, or may be, the mode of a file that is to be written."""
    if any(isinstance(a, ast.Starred) for a in call.args):
        return True
    if any(not _is_mapping_without_mode(s, namespace) for s in _spread(call)):
        return True
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return any(_may_be_writing_mode(mode, namespace) for mode in modes)


def _spread(call: ast.Call) -> list[ast.expr]:
    return [k.value for k in call.keywords if k.arg is None]


def _is_mapping_without_mode(node: ast.expr, namespace: Mapping[str, object]) -> bool:
    value = namespace.get(node.id) if isinstance(node, ast.Name) else None
    return isinstance(value, Mapping) and "mode" not in value


def _may_be_writing_mode(node: ast.expr, namespace: Mapping[str, object]) -> bool:
    if isinstance(node, ast.Constant):
        return _is_writing_mode(node.value)
    if isinstance(node, ast.Name):
        return _is_writing_mode(namespace.get(node.id))
    return not isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Attribute)


def _is_writing_mode(value: object) -> bool:
    return isinstance(value, str) and _WRITING_MODE.fullmatch(value) is not None


def _resolve(node: ast.expr, namespace: Mapping[str, object]) -> object:
    """The object that a name or a chain of attributes of modules and classes stands for."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, namespace)
        if isinstance(owner, types.ModuleType | type):
            return getattr(owner, node.attr, None)
    return None


def _qualified(function: object) -> str:
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__qualname__", "")
    plain = getattr(function, "__name__", name)
    if name != plain and vars(sys.modules.get(module, object)).get(plain) is function:
        name = plain  # pybind11 puts a class of its own before the name of each function
    return name if module in ("builtins", "io", "_io") else f"{module.lstrip('_')}.{name}"


def _lost_state(value: object) -> str | None:
    """The state of `value` that its statement would not bring back, as the end of a sentence."""
    if isinstance(value, sqlite3.Connection):
        if called := databases.callback_of(value):
            return f"and that it calls {called!r} would be lost"
        return None if _is_in_memory(value) else _lost_of_sqlite(value)
    if type(value).__name__ == "DuckDBPyConnection" and not _has_duckdb_file(value):
        return "and its tables are in memory only: keep them in a file"
    if isinstance(value, socket.socket) and _is_connected(value):
        return "and it is connected: connect again after going back"
    if isinstance(value, io.IOBase) and not value.closed and not value.seekable():
        return "and what was read from it cannot be read again"
    return _lost_by_kind(value)


def _lost_by_kind(value: object) -> str | None:
    """State of a class's instances, taken in or given out by now, that they cannot be asked for."""
    kind = type(value)
    if kind is weakref.finalize:
        return "and the object whose end it waits for may be another"
    if kind.__module__ == "mmap":
        return "and what it holds would be lost"
    is_file = isinstance(value, io.IOBase | types.GeneratorType)
    if hasattr(kind, "__next__") and not is_file:
        return "and how far it was read would be lost"
    return None


def _lost_of_sqlite(connection: sqlite3.Connection) -> str | None:
    try:
        if connection.in_transaction:
            return "in an open transaction: commit it first"
        cursor = connection.cursor()
        cursor.row_factory = None
        rows = cursor.execute("pragma database_list").fetchall()
    except sqlite3.Error as error:
        return f"and what it is connected to cannot be told ({error})"
    if any(name == "main" and not file for _, name, file in rows):
        return "and its rows are in memory only: keep them in a file"
    return None


def _has_duckdb_file(connection: Any) -> bool:
    try:  # on a cursor, which is a connection of its own: a result that is being read stays
        cursor = connection.cursor()  # held: what it found is gone with it, before DuckDB 1.5
        found = cursor.sql("select path from duckdb_databases() where not internal")
        return all(path for (path,) in found.fetchall())
    except Exception:  # a closed or broken connection raises what it likes
        return False


def _is_connected(sock: socket.socket) -> bool:
    try:
        sock.getpeername()
    except OSError:
        return False
    return True


def _afterwards(recipe: Recipe, value: object) -> tuple[Any, ...] | str:
    """Operation for the new value; if none would do, the reason, as the end of a sentence."""
    if isinstance(value, types.GeneratorType):
        return _after_generator(recipe, value)
    if isinstance(value, sqlite3.Connection):
        if _is_in_memory(value):
            return _after_database(recipe, value)
        return ("set", {"row_factory": value.row_factory, "text_factory": value.text_factory})
    if isinstance(value, Executor):
        return ("shutdown",) if is_shut_down(value) else ()
    if not isinstance(value, io.IOBase):
        return ()
    if value.closed:
        return ("close",)
    try:
        return ("seek", value.tell())
    except OSError:  # a text file that `next` reads does not tell
        return "and where it stands cannot be told"


def _after_generator(
    recipe: Recipe, value: types.GeneratorType[Any, Any, Any]
) -> tuple[Any, ...] | str:
    if inspect.getgeneratorstate(value) == inspect.GEN_CREATED:
        return ()
    found = recipes_generators.steps_to(value, recipe.made)
    if found is None:
        return f"and running `{recipe.statement}` again might do more than build a value"
    return ("advance", *found)


def _after_database(recipe: Recipe, value: sqlite3.Connection) -> tuple[Any, ...] | str:
    database = _database_of(ast.parse(recipe.statement), recipe.values)
    if database != ":memory:" or type(value) is not sqlite3.Connection:
        return "and its rows are in memory only: keep them in a file"
    try:
        return ("fill", tuple(databases.content_of(value)))
    except databases.UnkeptError as why:
        return str(why)
    except sqlite3.Error as error:
        return f"and what it holds cannot be told ({error})"


def _database_of(tree: ast.Module, values: Mapping[str, object]) -> object:
    """Database that a statement connects to, if it names it by a constant or a variable."""
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    named = [k.value for k in call.keywords if k.arg == "database"]
    match [*call.args[:1], *named]:
        case [ast.Constant(value=database)]:
            return database
        case [ast.Name(id=name)]:
            return values.get(name)
    return None


def _is_in_memory(connection: sqlite3.Connection) -> bool:
    try:
        cursor = sqlite3.Cursor(connection)
        cursor.row_factory = None
        found = cursor.execute("pragma database_list").fetchall()
    except sqlite3.Error:
        return False  # closed, or of another thread: who asks next says why
    return any(number == 0 and not file for number, _, file in found)
