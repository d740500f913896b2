"""A deep comparison that forgives nothing: types, bits, order, flags, and what is shared with what.

Packages are compared by `compares` functions of their own (`compare_science`); everything else by
its members, its items, or by what pickle would make it from.
"""

from __future__ import annotations

import array
import collections
import contextlib
import copyreg
import enum
import gc
import importlib
import re
import struct
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

Handler: TypeAlias = "Callable[[Comparison, Any, Any], None]"

HANDLERS: dict[str, Handler] = {}
"""Full name of a class → how its instances, and those of its subclasses, are compared."""

_ATOMS = (int, str, bytes, type(None), bool, type(...), type(NotImplemented), range)
_LIVE = (list, dict, set, bytearray)
_VALUES = (
    tuple, frozenset, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type,
    types.CodeType, re.Pattern, types.MappingProxyType, types.GenericAlias,
)  # fmt: skip
"""Types of which it does not matter whether two equal ones are one."""

_CLASS_OWN = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__slotnames__",
        "_abc_impl",
        "__abstractmethods__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations_cache__",
        "__annotate_func__",
    ]
)


class Different(AssertionError):
    """The two are not the same: where, and how."""


def same(x: object, y: object) -> None:
    """Hold that `x`, restored, is all that `y` is.

    Raises
    ------
    Different
        At the first difference that is found.
    """
    Comparison(x, y).run()


def compares(*names: str) -> Callable[[Handler], Handler]:
    """Have a function compare instances of these classes; it calls `part` and `equal`."""

    def decorate(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return decorate


class Comparison:
    """One comparison: what is still to be compared, and which objects stand for which."""

    def __init__(self, x: object, y: object) -> None:
        self._todo: list[tuple[object, object, Any]] = [(x, y, (None, "x"))]
        self._there: dict[int, object] = {}
        self._back: dict[int, object] = {}
        self._seen: set[tuple[int, int]] = set()
        self._keep: list[object] = []
        self._here: Any = None

    def run(self) -> None:
        """Compare all there is."""
        while self._todo:
            x, y, self._here = self._todo.pop()
            self._compare(x, y)

    def part(self, label: str, x: object, y: object) -> None:
        """Compare a part later on; `label` follows the path to here, as ``.name`` or ``[3]``."""
        self._keep.append((x, y))
        self._todo.append((x, y, (self._here, label)))

    def parts(self, label: str, xs: Iterable[object], ys: Iterable[object]) -> None:
        """Compare parts in order, and how many they are."""
        xs, ys = list(xs), list(ys)
        self.equal(f"{label} length", len(xs), len(ys))
        for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
            self.part(f"{label}[{index}]", x, y)

    def equal(self, label: str, x: object, y: object) -> None:
        """Hold that two plain values are equal now."""
        if type(x) is not type(y) or x != y:
            self.fail(f"{label} is {_short(x)}, was {_short(y)}")

    def fail(self, how: str) -> None:
        """Say that the two at this place differ."""
        labels, place = [], self._here
        while place is not None:
            place, label = place
            labels.append(label)
        path = "".join(reversed(labels))
        path = path if len(path) < 300 else f"{path[:150]} … {path[-100:]}"
        raise Different(f"{path}: {how}")

    def _compare(self, x: object, y: object) -> None:
        kind = type(x)
        if kind is not type(y) and not self._are_twins(kind, type(y)):
            self.fail(f"type is {_name(kind)}, was {_name(type(y))}: {_short(x)}, {_short(y)}")
        if kind in _ATOMS:
            self.equal("value", x, y)
        elif kind is float:
            self.equal("bits", struct.pack("d", x), struct.pack("d", y))
        elif kind is complex:
            self.equal("bits", *(struct.pack("dd", z.real, z.imag) for z in (x, y)))  # type: ignore[attr-defined]
        elif not self._is_known(x, y):
            handler = handler_for(kind)
            handler(self, x, y)

    def _are_twins(self, one: type, other: type) -> bool:
        """Whether two classes are the same definition, made in two processes."""
        is_users = one.__module__ == other.__module__ and one.__qualname__ == other.__qualname__
        if is_users and one is not other:
            self.part(".__class__", one, other)
        return is_users

    def _is_known(self, x: object, y: object) -> bool:
        """Whether the pair was met before; fails if one was met with another."""
        if isinstance(x, _VALUES) and type(x).__hash__ is not None:
            pair = (id(x), id(y))
            if pair in self._seen:
                return True
            self._seen.add(pair)
            return False
        if type(x) in _LIVE and x is y and len(x):  # type: ignore[arg-type]
            self.fail("it is the very object that it is compared with")
        if id(x) in self._there or id(y) in self._back:
            if self._there.get(id(x)) is not y or self._back.get(id(y)) is not x:
                self.fail("it is shared with other places than before")
            return True
        self._there[id(x)], self._back[id(y)] = y, x
        return False


def handler_for(kind: type) -> Handler:
    """How instances of a class are compared."""
    roots = {str(base.__module__).partition(".")[0] for base in kind.__mro__}
    if not roots <= {"__main__", *sys.stdlib_module_names}:
        importlib.import_module("tests.fidelity.compare_science")
    for base in kind.__mro__[:-1]:
        if handler := HANDLERS.get(_name(base)):
            return handler
    return _instance


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # anything may go wrong in it
        text = f"<{_name(type(value))}, whose repr raises {type(error).__name__}>"
    return text if len(text) < 200 else f"{text[:150]} … {text[-40:]}"


# -- containers


@compares("builtins.list", "builtins.tuple", "collections.deque")
def _sequence(c: Comparison, x: Any, y: Any) -> None:
    c.parts("", x, y)
    if hasattr(y, "maxlen"):
        c.equal(".maxlen", x.maxlen, y.maxlen)
    members(c, x, y)


@compares("builtins.dict", "builtins.mappingproxy")
def _mapping(c: Comparison, x: Any, y: Any) -> None:
    own, others = _items(x), _items(y)
    c.parts(" keys", (k for k, _ in own), (k for k, _ in others))
    for index, ((_, v), (key, w)) in enumerate(zip(own, others, strict=True)):
        c.part(f"[{key!r}]" if isinstance(key, str | int) else f" value {index}", v, w)
    if hasattr(y, "default_factory"):
        c.part(".default_factory", x.default_factory, y.default_factory)
    members(c, x, y)


def _items(mapping: Any) -> list[tuple[object, object]]:
    """What a mapping holds, in its order, whatever its class makes of asking."""
    for base in (collections.OrderedDict, dict):
        if isinstance(mapping, base):
            return list(base.items(mapping))
    return list(mapping.items())


@compares("builtins.set", "builtins.frozenset")
def _set(c: Comparison, x: Any, y: Any) -> None:
    c.equal("size", len(x), len(y))
    plain = all(isinstance(v, (*_ATOMS, float, complex)) for v in x)
    key = (lambda v: (_name(type(v)), repr(v))) if plain else _sortable
    c.parts("{}", sorted(x, key=key), sorted(y, key=key))
    members(c, x, y)


def _sortable(value: object) -> str:
    state = getattr(value, "__dict__", None)
    return re.sub("0x[0-9a-f]+", "", f"{_name(type(value))} {value!r} {state!r}")


@compares("builtins.bytearray")
def _bytes(c: Comparison, x: Any, y: Any) -> None:
    c.equal("bytes", bytes(x), bytes(y))
    members(c, x, y)


@compares("builtins.memoryview")
def _view(c: Comparison, x: memoryview, y: memoryview) -> None:
    for name in ("format", "shape", "strides", "suboffsets", "readonly", "itemsize", "ndim"):
        c.equal(f".{name}", getattr(x, name), getattr(y, name))
    c.equal("bytes", x.tobytes(), y.tobytes())
    c.part(".obj", x.obj, y.obj)


@compares("array.array")
def _array(c: Comparison, x: array.array[Any], y: array.array[Any]) -> None:
    c.equal(".typecode", x.typecode, y.typecode)
    c.equal("bytes", x.tobytes(), y.tobytes())
    members(c, x, y)


@compares("builtins.int", "builtins.str", "builtins.bytes")
def _subclass_of_atom(c: Comparison, x: Any, y: Any) -> None:
    base = next(b for b in (int, str, bytes) if isinstance(x, b))
    convert = {int: int.__int__, str: str.__str__, bytes: bytes.__getitem__}[base]
    whole = (slice(None),) if base is bytes else ()
    c.equal("value", convert(x, *whole), convert(y, *whole))
    members(c, x, y)


@compares("builtins.float")
def _subclass_of_float(c: Comparison, x: float, y: float) -> None:
    c.equal("bits", struct.pack("d", x), struct.pack("d", y))
    members(c, x, y)


# -- code


@compares("builtins.type")
def _class(c: Comparison, x: type, y: type) -> None:
    if x is y:
        return
    if x.__module__ != "__main__" and "<locals>" not in y.__qualname__:
        c.fail(f"it is {_short(x)}, which is not {_short(y)}")
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        c.part(f".{name}", getattr(x, name), getattr(y, name))
    c.part(".__class__", type(x), type(y))
    c.parts(".__bases__", x.__bases__, y.__bases__)
    own, others = _members_of_class(x), _members_of_class(y)
    c.equal("members", sorted(own), sorted(others))
    for name in others:
        c.part(f".{name}", own[name], others[name])
    if hasattr(y, "__abstractmethods__"):
        c.equal(".__abstractmethods__", x.__abstractmethods__, y.__abstractmethods__)  # type: ignore[attr-defined]


def _members_of_class(cls: type) -> dict[str, object]:
    slots = (types.MemberDescriptorType, types.GetSetDescriptorType)
    return {k: v for k, v in vars(cls).items() if k not in _CLASS_OWN and not isinstance(v, slots)}


@compares("builtins.function")
def _function(c: Comparison, x: Any, y: Any) -> None:
    if x is y:
        return
    for name in (
        "__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__",
        "__annotations__", "__dict__", "__code__",
    ):  # fmt: skip
        c.part(f".{name}", getattr(x, name), getattr(y, name))
    c.parts(".__closure__", x.__closure__ or (), y.__closure__ or ())


@compares("builtins.cell")
def _cell(c: Comparison, x: Any, y: Any) -> None:
    contents = []
    for cell in (x, y):
        try:
            contents.append([cell.cell_contents])
        except ValueError:
            contents.append([])
    c.parts(".cell_contents", *contents)


@compares("builtins.code")
def _code(c: Comparison, x: Any, y: Any) -> None:
    names = [n for n in dir(y) if n.startswith("co_") and not callable(getattr(y, n))]
    for name in names:
        if name not in ("co_filename", "co_lnotab", "_co_code_adaptive"):
            c.part(f".{name}", getattr(x, name), getattr(y, name))


@compares("builtins.module", "builtins.ellipsis")
def _one_of_its_kind(c: Comparison, x: object, y: object) -> None:
    if x is not y:
        c.fail("it is another one")


@compares("builtins.builtin_function_or_method", "builtins.method-wrapper")
def _builtin(c: Comparison, x: Any, y: Any) -> None:
    if x is not y:
        c.equal(".__qualname__", x.__qualname__, y.__qualname__)
        c.part(".__self__", x.__self__, y.__self__)


@compares(
    "builtins.wrapper_descriptor", "builtins.method_descriptor", "builtins.classmethod_descriptor",
    "builtins.getset_descriptor", "builtins.member_descriptor",
)  # fmt: skip
def _descriptor(c: Comparison, x: Any, y: Any) -> None:
    c.equal(".__name__", x.__name__, y.__name__)
    c.part(".__objclass__", x.__objclass__, y.__objclass__)


@compares("builtins.method")
def _method(c: Comparison, x: Any, y: Any) -> None:
    c.part(".__func__", x.__func__, y.__func__)
    c.part(".__self__", x.__self__, y.__self__)


@compares("builtins.staticmethod", "builtins.classmethod")
def _wrapped_method(c: Comparison, x: Any, y: Any) -> None:
    c.part(".__func__", x.__func__, y.__func__)


@compares("builtins.property")
def _property(c: Comparison, x: Any, y: Any) -> None:
    for name in ("fget", "fset", "fdel", "__doc__"):
        c.part(f".{name}", getattr(x, name), getattr(y, name))


@compares("functools.partial")
def _partial(c: Comparison, x: Any, y: Any) -> None:
    for name in ("func", "args", "keywords", "__dict__"):
        c.part(f".{name}", getattr(x, name), getattr(y, name))


@compares("functools._lru_cache_wrapper")
def _cached(c: Comparison, x: Any, y: Any) -> None:
    if x is not y:
        c.part(".__wrapped__", x.__wrapped__, y.__wrapped__)
        c.equal(".cache_parameters()", x.cache_parameters(), y.cache_parameters())
        c.part(" remembers", _remembered(x), _remembered(y))


def _remembered(cached: Any) -> list[Any]:
    """Keys and answers, as the garbage collector is told of them."""
    held = gc.get_referents(cached)
    n_links = 3 * (cached.cache_info().currsize if cached.cache_parameters()["maxsize"] else 0)
    links, table, mark = held[1 : 1 + n_links], held[1 + n_links], held[3 + n_links]
    parts = [part for i, part in enumerate(links) if i % 3 < 2] or [*table, *table.values()]
    return [
        tuple("mark" if each is mark else each for each in p) if type(p) is tuple else p
        for p in parts
    ]


# -- what refers to others


@compares("weakref.ReferenceType", "builtins.weakref")
def _reference(c: Comparison, x: Any, y: Any) -> None:
    c.part("()", x(), y())
    members(c, x, y)


@compares("builtins.BaseException")
def _exception(c: Comparison, x: Any, y: Any) -> None:
    for name in (
        "args", "__dict__", "__cause__", "__context__", "__suppress_context__", "__traceback__",
    ):  # fmt: skip
        c.part(f".{name}", getattr(x, name), getattr(y, name))
    for name in ("errno", "strerror", "filename", "name", "path", "exceptions", "lineno", "text"):
        if hasattr(y, name):
            c.part(f".{name}", getattr(x, name, None), getattr(y, name))


@compares("builtins.traceback")
def _traceback(c: Comparison, x: Any, y: Any) -> None:
    for step in (x, y):
        assert step.tb_frame is not None
    c.equal(".tb_lineno", x.tb_lineno, y.tb_lineno)
    c.equal(" function", x.tb_frame.f_code.co_name, y.tb_frame.f_code.co_name)
    c.part(".tb_next", x.tb_next, y.tb_next)


@compares("enum.Enum")
def _enum(c: Comparison, x: enum.Enum, y: enum.Enum) -> None:
    c.equal(".name", x.name, y.name)
    c.part(".value", x.value, y.value)
    if type(x) is type(y) and x.name is not None and x is not y:
        c.fail("it is not the member of its class")


@compares("random.Random")
def _random(c: Comparison, x: Any, y: Any) -> None:
    c.equal("state", x.getstate(), y.getstate())


# -- everything else


def members(c: Comparison, x: object, y: object) -> None:
    """Compare attributes: those in ``__dict__``, in their order, and those in slots.

    A library's class that sets its state itself may have an order of its own (SciPy 1.18).
    """
    if isinstance(getattr(y, "__dict__", None), dict):
        own, others = vars(x), vars(y)
        is_set = isinstance(getattr(type(y), "__setstate__", None), types.FunctionType)
        in_order = sorted if is_set and type(y).__module__ != "__main__" else list
        c.equal("attributes", in_order(own), in_order(others))
        for name in others:
            c.part(f".{name}", own[name], others[name])
    own, others = dict(_slots(x)), dict(_slots(y))
    c.equal("slots", list(own), list(others))
    for name in others:
        c.part(f".{name}", own[name], others[name])


def _slots(instance: object) -> Iterator[tuple[str, object]]:
    """The slots of an instance that hold something."""
    for base in type(instance).__mro__:
        for name, member in vars(base).items() if "__slots__" in vars(base) else ():
            if isinstance(member, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):
                    yield f"{base.__name__}.{name}", member.__get__(instance)


def _instance(c: Comparison, x: object, y: object) -> None:
    """An object of no known class: by its attributes if that is all it has, else as pickle."""
    kind = type(y)
    is_plain = kind.__flags__ & (1 << 9) and kind.__basicsize__ == _plain_size(kind)
    if is_plain and (hasattr(y, "__dict__") or any(_slots(y))):
        members(c, x, y)
        return
    by_reduction(c, x, y)


def _plain_size(kind: type) -> int:
    """The size of instances of a class all of whose bases were written in Python."""
    is_in_python = all(b.__flags__ & (1 << 9) for b in kind.__mro__[:-1])
    return kind.__basicsize__ if is_in_python else -1


def by_reduction(c: Comparison, x: object, y: object) -> None:
    """Compare what pickle would make the two from."""
    try:
        one, other = _reduced(x), _reduced(y)
    except TypeError as error:
        c.fail(f"cannot be compared ({error}): give the case a `check`")
        return
    if isinstance(one, str) or isinstance(other, str):
        c.part(" global", one, other)
        return
    for label, v, w in zip(("made by", "from", "state"), one, other, strict=False):
        c.part(f" {label} ", v, w)
    for index, label in ((3, "items"), (4, "pairs")):
        c.parts(
            f" {label} ", *(list(r[index] or ()) if len(r) > index else [] for r in (one, other))
        )


def _reduced(value: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if reduce := copyreg.dispatch_table.get(type(value)):
            return reduce(value)
        return value.__reduce_ex__(4)
