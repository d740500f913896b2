"""Begun generators: how often a new one must be asked to stand where another one stands.

Only for code that does nothing but compute, from arguments and builtins: the live generator is
looked at and never asked; a twin is made, and asked until it stands in the same place.
"""

from __future__ import annotations

import builtins
import dis
import gc
import inspect
import sys
import time
import types
from collections.abc import Callable
from typing import Any, TypeAlias

from nbckpt.runtime.user_code_errors import user_code_errors

MAX_STEPS = 100_000
PATIENCE_S = 0.05
"""A generator that takes longer to bring to where it stands is not kept."""

MAX_ITEMS = 1000
"""Of a list that only an iterator holds."""

Generator: TypeAlias = "types.GeneratorType[Any, Any, Any]"

_ATOMS = (int, float, complex, bool, str, bytes, type(None))

_CALLED = frozenset(
    {"abs", "all", "any", "bin", "bool", "bytes", "chr", "divmod", "enumerate", "filter", "float",
     "hex", "int", "iter", "len", "list", "map", "max", "min", "next", "oct", "ord", "pow", "range",
     "repr", "reversed", "round", "sorted", "str", "sum", "tuple", "zip"}
)  # fmt: skip
"""Builtins that compute from their arguments, and say the same in every process."""

_QUIET = """
    BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SLICE
    BUILD_STRING BUILD_TUPLE CACHE CALL CALL_INTRINSIC_1 CALL_KW COMPARE_OP CONTAINS_OP
    CONVERT_VALUE COPY DICT_MERGE DICT_UPDATE END_FOR END_SEND EXTENDED_ARG FORMAT_SIMPLE
    FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER GET_YIELD_FROM_ITER IS_OP JUMP_BACKWARD
    JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES
    LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_CONST LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK
    LOAD_FAST_LOAD_FAST LOAD_GLOBAL MAP_ADD NOP POP_JUMP_BACKWARD_IF_FALSE
    POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE
    POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE
    POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_NULL RERAISE RESUME RETURN_CONST RETURN_GENERATOR
    RETURN_VALUE SEND STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST SWAP TO_BOOL
    UNARY_INVERT UNARY_NEGATIVE UNARY_NOT UNARY_POSITIVE UNPACK_SEQUENCE YIELD_VALUE CLEANUP_THROW
"""
_OPERATIONS = frozenset(_QUIET.split())
"""Operations that a generator may perform: none reads or sets an attribute, item or global."""

_IN_PLACE = 13
"""The first of the operators that change what stands to their left."""


class _UntoldError(Exception):
    """Something of a generator's state cannot be told."""


def steps_to(live: Generator, make: Callable[[], Generator]) -> tuple[int, object] | None:
    """Number of steps that bring a new generator to where `live` stands, and its state there.

    None if that cannot be determined, or not soon enough.
    """
    twin, deadline = make(), time.perf_counter() + PATIENCE_S
    try:
        if not _only_computes(live.gi_code, twin):
            return None
        wanted = _place_of(live, with_ids=True)
        for steps in range(1, MAX_STEPS):
            if not _asked(twin, deadline):
                return None
            if _place_of(twin, with_ids=True) == wanted:
                return steps, _place_of(twin, with_ids=False)
    except (_UntoldError, TimeoutError):
        return None
    finally:
        twin.close()
    return None


class StandsElsewhereError(Exception):
    """A generator that was made again did not come to where it stood."""


def advance(generator: Generator, steps: int, place: object) -> None:
    """Ask a new generator until it stands where the one that was kept stood."""
    for _ in range(steps):
        next(generator, None)
    if generator.gi_frame is None or _place_of(generator, with_ids=False) != place:
        message = "made again, it did not come to where it stood"
        raise StandsElsewhereError(message)


def _asked(twin: Generator, deadline: float) -> bool:
    """Ask once, interrupted at the deadline; whether there is more to come."""

    def trace(*_: object) -> Any:
        if time.perf_counter() > deadline:
            raise TimeoutError
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        next(twin)
    except TimeoutError:
        raise
    except user_code_errors():  # it ends, or fails: the live one came by another way
        return False
    finally:
        sys.settrace(before)
    return time.perf_counter() <= deadline


def _only_computes(code: types.CodeType, twin: Generator) -> bool:
    """True if asking a new generator changes nothing, and gives the same in every process."""
    frame = twin.gi_frame
    assert frame is not None  # it is new
    arguments = list(frame.f_locals.values())
    if code.co_freevars or not all(map(_is_plain, arguments)):
        return False
    has_mutable = any(type(a) in {list, dict} for a in arguments)
    known = frame.f_globals
    for step in dis.get_instructions(code):
        if step.opname not in _OPERATIONS or not _is_constant(step):
            return False
        if step.opname == "LOAD_GLOBAL":
            name = step.argval
            if name not in _CALLED or name in known:
                return False
        if step.opname == "BINARY_OP" and (step.arg or 0) >= _IN_PLACE and has_mutable:
            return False
    return True


def _is_constant(step: dis.Instruction) -> bool:
    return step.opname not in ("LOAD_CONST", "RETURN_CONST") or _is_plain(step.argval)


def _is_plain(value: object) -> bool:
    """Atoms, and lists, tuples and dicts of them: what no code of the notebook stands behind."""
    if type(value) in _ATOMS:
        return True
    if type(value) in {list, tuple}:
        return all(type(v) in _ATOMS for v in value)  # type: ignore[attr-defined]
    if type(value) is dict:
        return all(type(v) in _ATOMS for pair in value.items() for v in pair)
    return type(value) is range


def _place_of(generator: Generator, *, with_ids: bool) -> object:
    """Where a generator stands: the instruction, and all that it holds."""
    frame = generator.gi_frame
    if frame is None or inspect.getgeneratorstate(generator) != inspect.GEN_SUSPENDED:
        raise _UntoldError
    local = tuple((k, _told(v, with_ids=with_ids)) for k, v in sorted(frame.f_locals.items()))
    held = [o for o in gc.get_referents(generator) if not _is_of_the_code(o, generator)]
    return frame.f_lasti, local, tuple(_told(o, with_ids=with_ids) for o in held)


def _is_of_the_code(obj: object, generator: Generator) -> bool:
    frame = generator.gi_frame
    if obj is generator.gi_code or obj is frame or obj is (frame and frame.f_locals):
        return True
    if isinstance(obj, types.FunctionType):
        return obj.__code__ is generator.gi_code
    return obj in (generator.__name__, generator.__qualname__) if isinstance(obj, str) else False


def _told(value: object, *, with_ids: bool) -> object:
    """A comparable stand-in for a value: of a list or dict its length, and id if `with_ids`."""
    kind = type(value)
    if kind in _ATOMS:
        return kind.__name__, repr(value)
    if kind is range:
        return "range", repr(value)
    if kind is tuple:
        return "tuple", tuple(_told(v, with_ids=with_ids) for v in value)  # type: ignore[attr-defined]
    if kind in {list, dict}:
        return kind.__name__, len(value), id(value) if with_ids else None  # type: ignore[arg-type]
    return _told_of_iterator(value, with_ids=with_ids)


def _told_of_iterator(value: Any, *, with_ids: bool) -> object:
    if type(value).__module__ != "builtins" or not hasattr(value, "__next__"):
        raise _UntoldError
    if isinstance(value, types.GeneratorType):
        raise _UntoldError
    try:
        reduced = value.__reduce__()
    except TypeError as error:
        raise _UntoldError from error
    _, arguments, *state = reduced
    told = tuple(_told_of_part(a, with_ids=with_ids) for a in arguments)
    return type(value).__name__, told, tuple(_told(s, with_ids=with_ids) for s in state)


def _told_of_part(value: Any, *, with_ids: bool) -> object:
    """A comparable stand-in for an argument of an iterator: a short list of atoms by its items."""
    if type(value) is list and len(value) <= MAX_ITEMS and all(type(v) in _ATOMS for v in value):
        return "list", tuple(repr(v) for v in value)
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and name in _CALLED and getattr(builtins, name) is value:
        return "builtin", name
    return _told(value, with_ids=with_ids)
