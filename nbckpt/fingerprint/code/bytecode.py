"""Names that compiled code touches, and its digest: code objects in, names and digests out."""

from __future__ import annotations

import dis
import inspect
import marshal
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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

_FRAMES = """
    f_globals f_locals __globals__ _getframe _current_frames currentframe user_ns user_global_ns
    get_objects get_referrers py_object audit addaudithook __subclasses__
"""
FRAMES = frozenset(_FRAMES.split())
"""Attributes with which code reaches any name."""

_QUERIES = """
    sql query execute eval from_query read_sql sqldf evaluate re_evaluate dmatrix dmatrices
    from_formula model_matrix ols wls gls glsar glm gee logit probit poisson mnlogit rlm mixedlm
    phreg quantreg negativebinomial nominal_gee ordinal_gee conditional_logit glmgam
"""
QUERIES = frozenset(_QUERIES.split())
"""Calls that look up variables named inside a string: DuckDB's and polars' SQL, pandas' `@name`,
numexpr's expressions, formulas of patsy, formulaic and statsmodels."""

SHORT = 200
"""Letters of a string that may be a name."""

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Names:
    """Global names that some code reads, binds and loads.

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
    certain
        Are bound or deleted whenever this code runs to its end.
    forward
        Words inside strings that stand as annotations: somebody may look them up.
    texts
        All of its strings that are short: names of modules, say, or of attributes.
    attributes
        Attributes that it asks objects for.
    magics
        Magics that it runs and that are not known here: ``%name``, ``%%name``.
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
    certain: frozenset[str] = frozenset()
    forward: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    magics: frozenset[str] = frozenset()


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
        texts=_texts(code),
        attributes=frozenset().union(*(part.co_names for part in _with_nested(code))),
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
        forward=frozenset().union(*(n.forward for n in parts)),
        texts=frozenset().union(*(n.texts for n in parts)),
        attributes=frozenset().union(*(n.attributes for n in parts)),
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


def short_texts(values: Iterable[object]) -> frozenset[str]:
    """The strings among some constants that are short, tuples of them looked into."""
    found: set[str] = set()
    for value in values:
        if isinstance(value, str) and len(value) <= SHORT:
            found.add(value)
        elif isinstance(value, tuple | frozenset):
            found |= short_texts(value)
    return frozenset(found)


def mangled(name: str, owner: str) -> str:
    """`name` as it is looked up inside of the class `owner`: ``_C__x`` for ``__x``.

    Examples
    --------
    >>> mangled("__x", "_C"), mangled("__x__", "C"), mangled("x", "C")
    ('_C__x', '__x__', 'x')
    """
    if not owner.strip("_") or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{owner.lstrip('_')}{name}"


def mangled_names(names: Names, owner: str) -> Names:
    """The names of a function as they are inside of the class `owner`."""
    if not any(name.startswith("__") for name in names.loads | names.binds):
        return names

    def inside(some: frozenset[str]) -> frozenset[str]:
        return frozenset(mangled(name, owner) for name in some)

    loads = inside(names.loads)
    return replace(names, reads=inside(names.reads), binds=inside(names.binds), loads=loads)


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
        if {"sys", "modules"} <= {*part.co_names}:
            return "sys.modules"
        if "__main__" in part.co_names:
            return "__main__"
    return next((f"{name}()" for name in sorted(loads & TOUCHES_ALL)), "")


def _runs_queries(code: CodeType) -> bool:
    parts = list(_with_nested(code))
    # As a string, it is asked for by `getattr` or `methodcaller`.
    return any(not QUERIES.isdisjoint((*part.co_names, *_plain_texts(part))) for part in parts)


def _plain_texts(code: CodeType) -> Iterator[str]:
    return (text for text in code.co_consts if isinstance(text, str))


def _mentions(code: CodeType) -> frozenset[str]:
    parts = _with_nested(code)
    texts = (text for part in parts for text in part.co_consts if isinstance(text, str))
    return frozenset().union(*map(words_of, texts))


def _texts(code: CodeType) -> frozenset[str]:
    return frozenset().union(*(short_texts(part.co_consts) for part in _with_nested(code)))


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
