"""What compiled code touches, and its digest: code objects in, names and digests out."""

from __future__ import annotations

import dis
import inspect
import marshal
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

from nbckpt.digests import Digest, digest_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
STORES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
MODULE_STORES = frozenset({"STORE_NAME", "DELETE_NAME"})
TOUCHES_ALL = frozenset({"exec", "eval", "globals", "breakpoint", "get_ipython", "__main__"})
"""Globals with which code reaches any name."""

FRAMES = frozenset({"f_globals", "f_locals", "__globals__", "_getframe", "currentframe", "user_ns"})
"""Attributes with which code reaches any name."""

QUERIES = frozenset({"sql", "query", "execute", "eval", "from_query", "read_sql", "sqldf"})
"""Calls that look up variables named inside a string: DuckDB's and polars' SQL, pandas' `@name`."""

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Names:
    """Which global names some code reads, binds and loads.

    Attributes
    ----------
    reads
        May be read before this code has bound them.
    binds
        May be bound or deleted.
    loads
        Are loaded at all, in nested functions too.
    everything
        It can touch any name.
    reason
        The construct that made `everything` true, for people: ``exec()``, ``%run``.
    queries
        It runs queries, which look variables up by the names in their text.
    mentions
        Words inside the strings of code that runs queries; a variable of such a name may be read.
    words
        Words inside all of its strings: what it may hand to a function that runs queries.
    imports
        Modules that it imports, by full name; ``from a import b`` gives ``a`` and ``a.b``.
    before
        Name that is loaded → names that are bound whenever it is loaded: what a function of that
        name reads of these does not come from before this code.
    deferred
        Function or class that this code defines → the names of its body, which runs when called.
    """

    reads: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    everything: bool = False
    reason: str = ""
    queries: bool = False
    mentions: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    deferred: Mapping[str, Names] = field(default_factory=dict)


NOTHING = Names()


@lru_cache(maxsize=4096)
def names_of_code(code: CodeType) -> Names:
    """The global names of compiled code, its nested functions and classes included.

    Builtins are among them: only a namespace can tell whether `list` is still the builtin.
    """
    loads: set[str] = set()
    binds: set[str] = set()
    for part in _with_nested(code):
        stores = STORES if part is not code or _is_function(code) else STORES | MODULE_STORES
        for step in dis.get_instructions(part):
            if step.opname in LOADS:
                loads.add(step.argval)
            elif step.opname in stores:
                binds.add(step.argval)
    reason = _reach_of_code(code, loads)
    return Names(
        reads=frozenset(loads),
        binds=frozenset(binds),
        loads=frozenset(loads),
        everything=bool(reason),
        reason=reason,
        queries=_runs_queries(code),
        mentions=_mentions(code) if _runs_queries(code) else frozenset(),
        words=_mentions(code),
        imports=frozenset(_imports(code)),
    )


def union(names: Iterable[Names]) -> Names:
    """The names of several pieces of code that may run in any order."""
    parts = list(names)
    return Names(
        reads=frozenset().union(*(n.reads for n in parts)),
        binds=frozenset().union(*(n.binds for n in parts)),
        loads=frozenset().union(*(n.loads for n in parts)),
        everything=any(n.everything for n in parts),
        reason=next((n.reason for n in parts if n.reason), ""),
        queries=any(n.queries for n in parts),
        mentions=frozenset().union(*(n.mentions for n in parts)),
        words=frozenset().union(*(n.words for n in parts)),
        imports=frozenset().union(*(n.imports for n in parts)),
    )


@lru_cache(maxsize=4096)
def digest_of_code(code: CodeType) -> Digest:
    """The digest of what `code` does: file name, line numbers and hash seeds do not count."""
    shape = (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_code,
        code.co_exceptiontable,
    )
    return digest_of(marshal.dumps(shape, 2), *map(_constant, code.co_consts))


def reach_of_all(names: Names, defined: Container[str]) -> str:
    """The construct with which a function touches any name, where `defined` hides builtins."""
    if not names.reason.endswith("()"):
        return names.reason
    for name in sorted(TOUCHES_ALL & names.loads):
        if name == "get_ipython" or name not in defined:
            return f"{name}()"
    return ""


def words_of(text: str) -> frozenset[str]:
    """The words of `text` that could be names of variables."""
    return frozenset(_WORD.findall(text))


def _constant(value: object) -> str:
    """The digest of one constant, told from every other by its type too."""
    if isinstance(value, CodeType):
        return "c" + digest_of_code(value)
    if isinstance(value, tuple):
        return "t" + digest_of(*map(_constant, value))
    if isinstance(value, frozenset):
        return "f" + digest_of(*sorted(map(_constant, value)))
    if isinstance(value, slice):  # constants from Python 3.14 on
        return "s" + _constant((value.start, value.stop, value.step))
    plain: Any = value
    return "m" + digest_of(marshal.dumps(plain, 2))


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    """`code`, and each code object inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_nested(constant)


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _reach_of_code(code: CodeType, loads: set[str]) -> str:
    for part in _with_nested(code):
        for name in sorted(FRAMES.intersection(part.co_names)):
            return f".{name}"
        if "__main__" in part.co_names:
            return "__main__"
    return next((f"{name}()" for name in sorted(loads & TOUCHES_ALL)), "")


def _runs_queries(code: CodeType) -> bool:
    return any(QUERIES.intersection(part.co_names) for part in _with_nested(code))


def _mentions(code: CodeType) -> frozenset[str]:
    parts = _with_nested(code)
    texts = (text for part in parts for text in part.co_consts if isinstance(text, str))
    return frozenset().union(*map(words_of, texts))


def _imports(code: CodeType) -> Iterator[str]:
    """Full names that ``import`` statements inside functions ask for."""
    for part in _with_nested(code):
        module = ""
        for step in dis.get_instructions(part):
            if step.opname == "IMPORT_NAME":
                module = step.argval
                yield module
            elif step.opname == "IMPORT_FROM":
                yield f"{module}.{step.argval}"
