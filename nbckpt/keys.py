"""May a cell be restored instead of run, and if not, why: the key of a step.

A key holds a digest for each thing that decides what a cell does: its code, the variables that it
reads, the user's code that it can call, the files that it names.
"""

from __future__ import annotations

import ast
import builtins
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from blake3 import blake3

from nbckpt.analysis import digest_of_tree, names_of_tree
from nbckpt.bytecode import NOTHING, Names, reach_of_all
from nbckpt.definitions import functions_of_class
from nbckpt.digests import Digest, digest_of
from nbckpt.errors import UsageError
from nbckpt.homes import home_of, home_of_method, is_named
from nbckpt.model import Key
from nbckpt.reach import definitions_in, definitions_of_all, names_of_definition
from nbckpt.sources import user_modules
from nbckpt.values import Examined, ValueDigester

ABSENT = digest_of("absent")
"""Stands for the value of a name that does not exist."""

BUDGET = 5_000_000
"""Objects in one input to look at one by one: some ten seconds, in place of running the cell."""

IPYTHON_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open", "display"})
"""What IPython itself puts into a namespace, beside its names that begin with an underscore."""

_IPYTHON_UNDERSCORED = re.compile(r"_{1,3}|_i{1,3}|_i?\d+|_[iod]h|__\w+__")


def is_users_name(name: str) -> bool:
    """Whether a name of a namespace is the user's, not Python's or IPython's own."""
    return name not in IPYTHON_NAMES and not _IPYTHON_UNDERSCORED.fullmatch(name)


def key_of(
    tree: ast.Module,
    namespace: Mapping[str, object],
    *,
    digest_of_variable: Callable[[str], Digest] | None = None,
    deps: Sequence[str | PathLike[str]] = (),
    options: Mapping[str, str] | None = None,
) -> Key:
    """What a cell depends on, in a namespace as it is before the cell runs.

    Parameters
    ----------
    tree
        The parsed text of the cell, as IPython transformed it.
    namespace
        Where the cell will run.
    digest_of_variable
        The digest of a variable's value, for a caller that has it already. It must be the same in
        every process. By default values are walked; a value of more than `BUDGET` objects gets a
        digest that nothing equals, so that the cell runs.
    deps
        Files that the cell reads; of a folder, every file in it.
    options
        Options of the magic that change what is kept.

    Raises
    ------
    UsageError
        If one of `deps` is not there.
    """
    names = names_of_tree(tree, namespace.keys())
    inputs = _Inputs(namespace, names, digest_of_variable)
    inputs.of_cell()
    return Key(
        code=digest_of_tree(tree),
        inputs=dict(sorted(inputs.variables.items())),
        functions=dict(sorted(inputs.definitions.items())),
        files={path: _digest_of_file(Path(path)) for path in sorted(fspath(p) for p in deps)},
        options=dict(sorted((options or {}).items())),
    )


def touched(names: Names, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names whose values running some code can change; None if it can change any.

    These are the names that it loads or binds and, transitively, those that the user's functions
    and methods do which it can call. What shares objects with these is for the caller to add.
    """
    if names.everything:
        return None
    found: set[str] = set()
    seen: set[int] = set()
    waiting = set(names.loads | names.binds | names.mentions)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for code in _code_behind(name, names, namespace, seen):
            if reach_of_all(code, namespace):
                return None
            waiting |= code.loads | code.binds | code.mentions
    return frozenset(found & namespace.keys() | names.binds)


def difference(old: Key, new: Key) -> list[str]:
    """What makes `new` another key than `old`: one sentence each, for people; empty if nothing."""
    code = [] if old.code == new.code else ["the cell's code changed"]
    values = _changes(old.inputs, new.inputs, "input", "has another value")
    functions = _changes(old.functions, new.functions, "function", "changed")
    files = _changes(old.files, new.files, "file", "changed")
    return [*code, *values, *functions, *files, *_option_changes(old.options, new.options)]


class _Inputs:
    """The variables and definitions that a cell depends on, collected from its names."""

    def __init__(
        self,
        namespace: Mapping[str, object],
        names: Names,
        digest_of_variable: Callable[[str], Digest] | None,
    ) -> None:
        self.namespace = namespace
        self.names = names
        self.digest_of_variable = digest_of_variable
        self.digester = ValueDigester(namespace, BUDGET)
        self.variables: dict[str, Digest] = {}
        self.definitions: dict[str, Digest] = {}
        self.examined: dict[int, Examined] = {}
        self.seen: set[tuple[str | int, frozenset[str]]] = set()
        self.has_all = False

    def of_cell(self) -> None:
        """Collect what the cell itself reads."""
        self.modules(self.names.imports)
        if self.names.everything:
            self.all_variables()
        for name in sorted(self.names.reads | self.mentioned(self.names)):
            self.variable(name, self.names.before.get(name, frozenset()))

    def variable(self, name: str, bound: frozenset[str]) -> None:
        """Collect a variable that code reads after the cell has bound the names `bound`."""
        if (name, bound) in self.seen:
            return
        self.seen.add((name, bound))
        if own := self.names.deferred.get(name):
            self.follow(own, bound)
        if name in bound or _is_tool(name, self.namespace):
            return
        if name in self.namespace:
            self.value(name, self.namespace[name], bound)
        elif not hasattr(builtins, name):
            self.variables[name] = ABSENT

    def value(self, name: str, value: object, bound: frozenset[str]) -> None:
        """Collect the value of a variable, and the user's code inside it."""
        if is_named(value, self.namespace):
            self.modules([_module_of(value, self.namespace)])
            self.variables[name] = digest_of("named ", _name_of(value, self.namespace))
            return
        if isinstance(value, FunctionType | type) and value.__qualname__ == name:
            self.definition(value, bound)
            return
        examined = self.examine(value)
        self.variables[name] = self.digest_of(name, examined)
        self.reached(examined, bound)

    def definition(self, value: object, bound: frozenset[str]) -> None:
        """Collect one of the user's functions or classes, and what it reaches."""
        if (id(value), bound) in self.seen:
            return
        self.seen.add((id(value), bound))
        is_news = id(value) not in self.examined
        examined = self.examine(value)
        if is_news:
            self.note(getattr(value, "__qualname__", "?"), examined.digest)
        self.follow(names_of_definition(value, self.namespace), bound)
        self.reached(examined, bound)

    def reached(self, examined: Examined, bound: frozenset[str]) -> None:
        """Collect the code that was met inside a value; a class stands for its methods."""
        self.definitions.update(examined.modules)
        classes = [d for d in examined.reached if isinstance(d, type)]
        methods = {id(f) for cls in classes for f in functions_of_class(cls)}
        for definition in examined.reached:
            if id(definition) not in methods:
                self.definition(definition, bound)

    def follow(self, names: Names, bound: frozenset[str]) -> None:
        """Collect the globals that a function reads."""
        self.modules(names.imports)
        if reach_of_all(names, self.namespace):
            self.all_variables()
        for name in sorted(names.loads | self.mentioned(names)):
            self.variable(name, bound)

    def all_variables(self) -> None:
        """Collect every variable of the user."""
        if self.has_all:
            return
        self.has_all = True
        for name in sorted(filter(is_users_name, self.namespace)):
            self.variable(name, frozenset())

    def mentioned(self, names: Names) -> frozenset[str]:
        return frozenset(names.mentions & self.namespace.keys())

    def modules(self, names: Iterable[str]) -> None:
        for name in names:
            self.definitions.update(user_modules(name))

    def examine(self, value: object) -> Examined:
        known = self.examined.get(id(value))
        if known is None:
            known = self.examined[id(value)] = self.digester.examine(value)
        return known

    def digest_of(self, name: str, examined: Examined) -> Digest:
        if self.digest_of_variable:
            return self.digest_of_variable(name)
        if examined.exhausted:
            return digest_of(secrets.token_bytes(16))
        return examined.digest

    def note(self, name: str, digest: Digest) -> None:
        """Note the digest of a definition; of several with one name, that of all."""
        known = self.definitions.get(name)
        self.definitions[name] = digest if known is None else digest_of(*sorted([known, digest]))


def _code_behind(
    name: str, names: Names, namespace: Mapping[str, object], seen: set[int]
) -> Iterator[Names]:
    """The names of all code that can be called through a variable."""
    yield names.deferred.get(name, NOTHING)
    if name not in namespace or _is_tool(name, namespace):
        return
    found = definitions_in(namespace[name], namespace)
    for definition in definitions_of_all(namespace) if found is None else found:
        if id(definition) not in seen:
            seen.add(id(definition))
            yield names_of_definition(definition, namespace)


def _is_tool(name: str, namespace: Mapping[str, object]) -> bool:
    """Whether a name is one of IPython's functions, not a user's variable of that name."""
    if name not in IPYTHON_NAMES or name in ("In", "Out"):
        return False
    home = str(getattr(namespace.get(name), "__module__", ""))
    return home.partition(".")[0] in ("IPython", "io", "_io", "ipykernel")


def _name_of(value: object, namespace: Mapping[str, object]) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, MethodType | BuiltinFunctionType):
        return str(home_of_method(value))
    return str(home_of(value, namespace))


def _module_of(value: object, namespace: Mapping[str, object]) -> str:
    return _name_of(value, namespace).partition(":")[0]


def _digest_of_file(path: Path) -> Digest:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        return digest_of(*(f"{p.relative_to(path)} {_digest_of_file(p)}\n" for p in files))
    try:
        return blake3().update_mmap(path).hexdigest()
    except OSError as error:
        message = f"cannot read '{path}', which --deps names: {error.strerror or error}"
        raise UsageError(message) from error


def _changes(
    old: Mapping[str, Digest], new: Mapping[str, Digest], kind: str, changed: str
) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if name not in old:
            yield f"{kind} {name!r} is new"
        elif name not in new:
            yield f"{kind} {name!r} is no longer read"
        elif ABSENT in (old[name], new[name]) and old[name] != new[name]:
            yield f"{kind} {name!r} {'exists now' if old[name] == ABSENT else 'is gone'}"
        elif old[name] != new[name]:
            yield f"{kind} {name!r} {changed}"


def _option_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        before, after = old.get(name, ""), new.get(name, "")
        if before != after:
            yield f"option {name}: {before!r} -> {after!r}"
