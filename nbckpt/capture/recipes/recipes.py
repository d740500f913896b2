"""Statements that make again what cannot be pickled: clients, connections, files, generators.

A statement is a recipe only if it does nothing but build a value: ``client = OpenAI()`` is one,
``process = Popen(["rm", "x"])`` is not; that one is named, and left to the user.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import sqlite3
import types
import weakref
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from nbckpt.capture.recipes import recipe_generators, recipe_uses
from nbckpt.capture.recipes.bindings import Bindings, serials
from nbckpt.capture.recipes.recipe_state import is_in_memory, lost_state
from nbckpt.capture.recipes.recipe_statements import builds, is_plain, sole_call
from nbckpt.fingerprint.values import databases, widgets
from nbckpt.fingerprint.values.opaque import is_shut_down
from nbckpt.runtime.source_trees import parse


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
            recipe_generators.advance(value, steps, place)
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
    _followed[place] = _Followed(reference, type(value), recipe, next(serials))


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
        lost = lost_state(value) or recipe_uses.lost_by_use(name, value, since, bindings, namespace)
        return lost or _whole(as_now, value)
    binding = bindings.of(name)
    if binding is None or binding.statement is None:
        return "and no single statement made it"
    statement = binding.statement
    source = ast.unparse(statement)
    if isinstance(getattr(statement, "value", None), ast.Name):
        return f"and `{source}` only gives it another name"
    if (call := sole_call(statement, name)) is None or not is_plain(call, namespace):
        return f"and `{source}` does more than build a value"
    if not builds(call, value, namespace):
        return f"and running `{source}` again might do more than build a value: run it yourself"
    lost = lost_state(value)
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


def _afterwards(recipe: Recipe, value: object) -> tuple[Any, ...] | str:
    """Operation for the new value; if none would do, the reason, as the end of a sentence."""
    if isinstance(value, types.GeneratorType):
        return _after_generator(recipe, value)
    if isinstance(value, sqlite3.Connection):
        if is_in_memory(value):
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
    found = recipe_generators.steps_to(value, recipe.made)
    if found is None:
        return f"and running `{recipe.statement}` again might do more than build a value"
    return ("advance", *found)


def _after_database(recipe: Recipe, value: sqlite3.Connection) -> tuple[Any, ...] | str:
    database = _database_of(parse(recipe.statement), recipe.values)
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
