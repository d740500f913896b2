"""The answers that a function under `functools.lru_cache` has kept, read from outside.

Notes
-----
There is no public way to read them. The garbage collector is told of them in a fixed order
(``lru_cache_tp_traverse`` of CPython): the type; of a bounded cache each link's key, answer and
type, the one unused for longest first; the dict; the function; the mark that stands before keyword
arguments; two types; the attributes. Of an unbounded cache the dict leads from keys to answers.
All of this is checked at each reading; where it is otherwise, nothing is told.
"""

from __future__ import annotations

import builtins
import dis
import functools
import gc
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from nbckpt.fingerprint.values.plain import ATOMS

CACHED = type(functools.lru_cache(lambda: None))
"""The type of functions under `functools.lru_cache` and `functools.cache`."""

_AFTER_LINKS = 6
_ATTEMPTS = 3


class Answer(NamedTuple):
    """One call that a cache answers."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    value: Any


class Cache(NamedTuple):
    """The inside of a cache, as CPython has it.

    Attributes
    ----------
    keys, values
        In step; of a bounded cache the one unused for longest first.
    table
        The very dict in which the cache looks a key up.
    mark
        Stands in a key before keyword arguments.
    """

    keys: Sequence[Any]
    values: Sequence[Any]
    table: dict[Any, Any]
    mark: object
    is_bounded: bool


def cache_of(cached: Any) -> Cache | None:
    """The inside of a cached function; None if it is not as this module knows it."""
    if type(cached) is not CACHED:
        return None
    for _ in range(_ATTEMPTS):  # another thread may call the function meanwhile
        if (found := _read(cached)) is not None:
            return found
    return None


def _read(cached: Any) -> Cache | None:
    _, _, maxsize, size = cached.cache_info()
    n_links = 0 if maxsize is None else size
    held = gc.get_referents(cached)
    if len(held) != 1 + 3 * n_links + _AFTER_LINKS or held[0] is not CACHED:
        return None
    links, rest = held[1 : 1 + 3 * n_links], held[1 + 3 * n_links :]
    table, function, mark, kind_of_link, _, members = rest
    if type(table) is not dict or type(mark) is not object or len(table) != size:
        return None
    if function is not members.get("__wrapped__") or members is not vars(cached):
        return None
    if not _is_made_with_it(members.get("cache_parameters")):
        return None
    if maxsize is None:
        return Cache(list(table), list(table.values()), table, mark, is_bounded=False)
    keys, values = links[0::3], links[1::3]
    if any(kind is not kind_of_link for kind in links[2::3]):
        return None
    if set(map(id, keys)) != set(map(id, table)):
        return None
    return Cache(keys, values, table, mark, is_bounded=True)


def answers_of(cached: Any) -> list[Answer] | None:
    """The calls that a cached function answers without running; None if they cannot be told.

    Of a bounded cache in the order in which they were last used.
    """
    cache = cache_of(cached)
    if cache is None:
        return None
    is_typed = is_typed_cache(cached)
    calls = [_call_of(key, cache.mark, is_typed=is_typed) for key in cache.keys]
    pairs = zip(calls, cache.values, strict=True)
    found = [Answer(*call, value) for call, value in pairs if call is not None]
    return found if len(found) == len(calls) else None


def is_typed_cache(cached: Any) -> bool:
    """True if a cache tells equal arguments of two types apart."""
    return bool(cached.cache_parameters()["typed"])


def _call_of(
    key: Any, mark: object, *, is_typed: bool
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of which a key was made, as ``lru_cache_make_key`` does it."""
    if type(key) is not tuple:
        is_alone = type(key) in {int, str} and not is_typed
        return ((key,), {}) if is_alone else None
    n_positional = next((i for i, part in enumerate(key) if part is mark), -1)
    if n_positional < 0:
        n_positional = len(key) // 2 if is_typed else len(key)
        names, n_after = (), n_positional
    else:
        n_after = n_positional + 1
        n_rest = len(key) - n_after - (n_positional if is_typed else 0)
        n_keywords = n_rest // (3 if is_typed else 2)
        names = key[n_after : n_after + 2 * n_keywords]
        n_after += 2 * n_keywords
    arguments, values = key[:n_positional], names[1::2]
    if is_typed:
        kinds = tuple(map(type, (*arguments, *values)))
        is_whole = len(kinds) == len(key) - n_after
        is_whole = is_whole and all(x is y for x, y in zip(kinds, key[n_after:], strict=True))
    else:
        is_whole = len(key) == n_after
    if not is_whole or set(map(type, names[0::2])) - {str}:
        return None
    return arguments, dict(zip(names[0::2], values, strict=True))


def key_of(answer: Answer, mark: object, *, is_typed: bool) -> object:
    """The key under which a cache has an answer; the way back of `answers_of`."""
    arguments, keywords, _ = answer
    if not keywords and not is_typed and len(arguments) == 1 and type(arguments[0]) in {int, str}:
        return arguments[0]
    named = (mark, *(part for item in keywords.items() for part in item)) if keywords else ()
    kinds = map(type, (*arguments, *keywords.values())) if is_typed else ()
    return (*arguments, *named, *kinds)


def columns_of(answers: Sequence[Answer]) -> list[Any]:
    """Answers as few objects: arguments (bare where each call has one), keywords by row, values."""
    is_one = all(len(a.arguments) == 1 and not a.keywords for a in answers)
    arguments = [a.arguments[0] if is_one else a.arguments for a in answers]
    keywords = {row: a.keywords for row, a in enumerate(answers) if a.keywords}
    return [is_one, arguments, keywords, [a.value for a in answers]]


def answers_in(columns: Sequence[Any]) -> list[Answer]:
    """The way back of `columns_of`."""
    is_one, arguments, keywords, values = columns
    return [
        Answer((given,) if is_one else given, keywords.get(row, {}), value)
        for row, (given, value) in enumerate(zip(arguments, values, strict=True))
    ]


def members_of(cached: Any) -> dict[str, Any]:
    """The attributes of a cached function that are not made with it.

    `functools` gives it those of what it wraps: of a class all of its members.
    """
    made = vars(cached.__wrapped__) if isinstance(cached.__wrapped__, type) else {}
    return {
        name: value
        for name, value in vars(cached).items()
        if name != "__wrapped__"
        and not (name == "cache_parameters" and _is_made_with_it(value))
        and not (name in made and made[name] is value)
    }


def _is_made_with_it(value: object) -> bool:
    return isinstance(value, FunctionType) and value.__globals__ is vars(functools)


def caches_in(member: object) -> Iterator[object]:
    """The cached functions that a member of a class is made of."""
    if type(member) is CACHED:
        yield member
    elif isinstance(member, staticmethod | classmethod):
        yield from caches_in(member.__func__)
    elif isinstance(member, property):
        for accessor in (member.fget, member.fset, member.fdel):
            yield from caches_in(accessor)


# -- whether it matters what was asked before


def is_only_faster(cached: Any, cache: Cache, namespace: Mapping[str, object]) -> bool:
    """True if a cached function answers as it would without its cache, whoever asked it before.

    So it is where arguments and answers are plain values that cannot change, and the function
    uses nothing but its arguments, itself and what is built in. `cache_info` tells all the same,
    and so do a recursion that is too deep without the cache and, for two arguments or more,
    numbers that are equal and of two types.
    """
    parts = [*cache.keys, *cache.values]
    return _are_constant(parts, cache.mark) and _is_by_arguments(cached, namespace)


def _are_constant(parts: Sequence[Any], mark: object, depth: int = 0) -> bool:
    kinds = set(map(type, parts))
    if kinds <= ATOMS:
        return True
    if depth > _DEEPEST or not kinds <= ATOMS | {tuple, frozenset, type, object}:
        return False
    if object in kinds and any(type(part) is object and part is not mark for part in parts):
        return False
    if type in kinds and any(type(part) is type and part not in _PLAIN for part in parts):
        return False
    inner = [each for part in parts if type(part) in {tuple, frozenset} for each in part]
    return _are_constant(inner, mark, depth + 1)


def _is_by_arguments(cached: Any, namespace: Mapping[str, object]) -> bool:
    function = cached.__wrapped__
    if type(function) is not FunctionType or function.__globals__ is not namespace:
        return False
    if function.__closure__ or vars(function) or not members_of(cached).keys() <= _OF_FUNCTIONS:
        return False
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    if not set(map(type, defaults)) <= ATOMS:
        return False
    return all(
        namespace[name] is cached
        if name in namespace
        else name in _PURE and hasattr(builtins, name)
        for name in _globals_of(function.__code__)
    )


@functools.lru_cache(maxsize=4096)
def _globals_of(code: CodeType) -> frozenset[str]:
    """The names that code looks up; an empty one stands for all else that could show."""
    found = {""} if any(name.startswith(("__", "cache_")) for name in code.co_names) else set()
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            found.add(str(step.argval))
        elif step.opname.startswith(_EFFECTS):
            found.add("")
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(found).union(*map(_globals_of, inner))


_DEEPEST = 5
_PLAIN = ATOMS | {tuple, frozenset}
_OF_FUNCTIONS = frozenset(functools.WRAPPER_ASSIGNMENTS)
_EFFECTS = (
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "STORE_NAME", "DELETE_NAME",
    "LOAD_NAME", "LOAD_FROM_DICT", "LOAD_BUILD_CLASS", "IMPORT_",
)  # fmt: skip
_BUILT_IN = """
    abs all any ascii bin bool bytes chr complex dict divmod enumerate filter float format frozenset
    hex int isinstance iter len list map max min next oct ord pow range repr reversed round set
    sorted str sum tuple zip ArithmeticError AssertionError Exception IndexError KeyError
    NotImplementedError OverflowError RuntimeError StopIteration TypeError ValueError
    ZeroDivisionError
"""
_PURE = frozenset(_BUILT_IN.split())
"""Built-in names whose use shows nowhere but in what they give."""
