"""The walk through a value: each object it holds, in an order that only the value decides."""

from __future__ import annotations

import copyreg
import functools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pickle import PickleBuffer
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any

from blake3 import blake3

from nbckpt import plain
from nbckpt.bytecode import digest_of_code
from nbckpt.definitions import parts_of_class, parts_of_function
from nbckpt.digests import Digest, digest_of
from nbckpt.frames import Alone, memory_of, parts_for, parts_of_scalar
from nbckpt.homes import home_of, home_of_method
from nbckpt.sources import user_modules

MANY = 16
"""From so many elements on it is worth asking whether a container is a tree of plain data."""

DEEPEST = 40
"""Walks inside walks: sets of sets."""

CONTAINERS = frozenset({"builtins", "collections", "copyreg", "functools", "types"})
"""Homes of types that hold whatever is put into them: what is inside is no part of a client."""

IMMUTABLE = frozenset({"datetime", "decimal", "fractions", "ipaddress", "pathlib", "re", "uuid"})
"""Homes of types whose instances are values: which equal ones are the same does not count."""

SECRETS = ("key", "token", "secret", "password")


class _Opaque(Exception):  # noqa: N818  # a signal, not an error
    """A strict walk met what cannot be taken apart."""


class _End:
    """Marks on the stack where an instance ends."""


@dataclass(slots=True)
class Found:
    """What the walks through one value share: limits, and what they met."""

    namespace: Mapping[str, object]
    budget: int
    reached: dict[int, object] = field(default_factory=dict)
    modules: dict[str, Digest] = field(default_factory=dict)
    homes: dict[int, str | None] = field(default_factory=dict)
    user_modules: dict[str, bool] = field(default_factory=dict)
    keep: list[object] = field(default_factory=list)
    exhausted: bool = False

    def home(self, value: object) -> str | None:
        """`home_of`, asked once; the user's modules among the homes are noted."""
        if id(value) not in self.homes:
            self.keep.append(value)
            home = self.homes[id(value)] = home_of(value, self.namespace)
            if home:
                self.is_user_module(home.partition(":")[0])
        return self.homes[id(value)]

    def is_user_module(self, name: str) -> bool:
        """Whether a module is the user's; then it is noted, with those that it imports."""
        if name not in self.user_modules:
            found = user_modules(name)
            self.modules.update(found)
            self.user_modules[name] = name in found
        return self.user_modules[name]

    def is_users(self, kind: type) -> bool:
        """Whether a class is the user's own."""
        home = self.home(kind)
        return home is None or self.user_modules.get(home.partition(":")[0], False)


@dataclass(slots=True)
class _Frame:
    """An instance that is being walked, and where to go back to if it turns out a client."""

    instance: object
    is_users: bool
    out: int
    memo: int
    owners: int
    stack: int


class Walk:
    """One pass over a value; its output is a stream of bytes that only equal values share.

    The stack holds what is still to be walked, so that depth costs no recursion. `memo` numbers
    the mutable objects in the order in which they are met.
    """

    def __init__(self, found: Found, *, depth: int = 0, is_strict: bool = False) -> None:
        self.found = found
        self.depth = depth
        self.is_strict = is_strict
        self.tracks_memory = True
        self.out = bytearray()
        self.stack: list[object] = []
        self.memo: dict[int, int] = {}
        self.owners: dict[tuple[str, int], tuple[int, int]] = {}
        self.frames: list[_Frame] = []
        self.steps: dict[type, Callable[[Any], None]] = {}

    def digest(self, root: object) -> Digest:
        """The digest of all that `root` holds."""
        self.stack.append(root)
        try:
            self.run()
        except _Opaque:
            raise
        except Exception as error:  # a user's object may do anything when it is looked at
            self.put(b"failed", type(error).__name__)
            self.found.exhausted = True
        return blake3(self.out).hexdigest()

    def run(self) -> None:
        """Walk until nothing is left, or the budget is spent."""
        while self.stack:
            value = self.stack.pop()
            kind = type(value)
            if kind in plain.ATOMS:
                self.out += plain.encoded_atom(value)
                continue
            self.found.budget -= 1
            if self.found.budget < 0:
                self.found.exhausted = True
                self.put(b"cut", len(self.stack))
                return
            step = self.steps.get(kind)
            if step is None:
                step = self.steps[kind] = self.step_for(kind)
            step(value)

    def put(self, tag: bytes, *atoms: Any) -> None:
        """Write a tag, and what tells its objects apart."""
        self.out += b"\x02" + tag + b"\x00"
        for atom in atoms:
            self.out += plain.encoded_atom(atom)

    def push(self, parts: Sequence[object]) -> None:
        """Walk `parts` next, in their order."""
        self.found.keep.append(parts)
        self.stack.extend(reversed(parts))

    def is_known(self, value: object) -> bool:
        """Whether `value` was met before; then it is written as a reference to that place."""
        number = self.memo.get(id(value))
        if number is None:
            self.memo[id(value)] = len(self.memo)
            return False
        self.put(b"same", number)
        return True

    def step_for(self, kind: type) -> Callable[[Any], None]:
        """What to do with values of a type."""
        if kind in _STEPS:
            return functools.partial(_STEPS[kind], self)
        if issubclass(kind, type):
            return self.walk_class
        if parts := parts_for(kind):
            is_scalar = parts is parts_of_scalar
            return functools.partial(self.put_parts if is_scalar else self.walk_parts, parts)
        home = kind.__module__.partition(".")[0]
        is_value = home in IMMUTABLE or issubclass(kind, Enum) or "tslibs" in kind.__module__
        return self.walk_value if is_value else self.walk_instance

    # Containers

    def walk_list(self, value: list[Any]) -> None:
        """A list, which others may share."""
        if not self.is_known(value):
            self.put(b"list", len(value))
            self.elements(value, value)

    def walk_tuple(self, value: tuple[Any, ...]) -> None:
        """A tuple; which equal ones are the same does not count."""
        self.put(b"tuple", len(value))
        self.elements(value, value)

    def elements(self, value: object, elements: Sequence[Any]) -> None:
        """The elements of `value`, in bulk when they are plain."""
        types = set(map(type, elements))
        if types <= plain.ATOMS:
            self.out += plain.encoded_atoms(elements, types)
        elif len(elements) < MANY or not self.is_plain_tree(value):
            self.push(elements)

    def walk_dict(self, value: dict[Any, Any]) -> None:
        """A dict, in its order."""
        if self.is_known(value):
            return
        self.put(b"dict", len(value))
        keys, values = list(value), list(value.values())
        key_types = set(map(type, keys))
        if not key_types <= plain.ATOMS:
            self.push([part for pair in zip(keys, values, strict=True) for part in pair])
            return
        value_types = set(map(type, values))
        is_flat = value_types <= plain.ATOMS
        if not is_flat and len(values) >= MANY and self.is_plain_tree(value):
            return
        self.out += plain.encoded_atoms(keys, key_types)
        if is_flat:
            self.out += plain.encoded_atoms(values, value_types)
        else:
            self.push(values)

    def is_plain_tree(self, value: object) -> bool:
        """Whether `value` is plain data all through; then it is written."""
        containers = plain.tree_of(value)
        if containers is None:
            return False
        inner = [id(c) for c in containers if c is not value]
        if not self.memo.keys().isdisjoint(inner):
            return False
        data = plain.encoded_tree(value)
        if data is None:
            return False
        self.memo.update(
            zip(inner, range(len(self.memo), len(self.memo) + len(inner)), strict=True)
        )
        self.put(b"tree")
        self.out += data
        return True

    def walk_set(self, value: set[Any]) -> None:
        """A set, which others may share."""
        if not self.is_known(value):
            self.put(b"set", len(value))
            self.members(value)

    def walk_frozenset(self, value: frozenset[Any]) -> None:
        """A frozenset; which equal ones are the same does not count."""
        self.put(b"frozenset", len(value))
        self.members(value)

    def members(self, value: Iterable[Any]) -> None:
        """The elements of a set, in an order that no hash decides."""
        types = set(map(type, value))
        if types in ({str}, {int}, {bytes}):
            self.out += plain.encoded_atoms(sorted(value), types)
        elif types <= plain.ATOMS:
            for data in sorted(map(plain.encoded_atom, value)):
                self.out += data
        elif self.depth >= DEEPEST:
            self.found.exhausted = True
            self.put(b"deep")
        else:
            self.members_alone(value)

    def members_alone(self, value: Iterable[Any]) -> None:
        """Elements sorted by their own digests; mutable ones are walked once more, as shared."""
        alone = []
        for i, element in enumerate(value):
            walk = self.inner()
            alone.append((walk.digest(element), bool(walk.memo), i, element))
        alone.sort(key=lambda entry: entry[0])
        for digest, *_ in alone:
            self.put(b"member", digest)
        self.push([element for _, is_mutable, _, element in alone if is_mutable])

    def inner(self) -> Walk:
        """A walk of its own for a part, which shares nothing with the rest."""
        return Walk(self.found, depth=self.depth + 1, is_strict=self.is_strict)

    def walk_bytes_like(self, value: Any) -> None:
        """A buffer of bytes that can change."""
        if self.is_known(value):
            return
        view = memoryview(value)
        self.put(b"buffer", type(value).__name__, view.format, str(view.shape))
        self.put(b"", digest_of(view if view.contiguous else view.tobytes()))

    def walk_mapping_proxy(self, value: MappingProxyType[Any, Any]) -> None:
        """A read-only view of a dict."""
        self.put(b"mappingproxy")
        self.push([dict(value)])

    # Code

    def walk_function(self, value: FunctionType) -> None:
        """A function: a library's by name, the user's by what it is made of."""
        if home := self.found.home(value):
            self.put(b"named", home)
        elif not self.is_known(value):
            self.found.reached[id(value)] = value
            self.put(b"function")
            self.push(parts_of_function(value, self.found.namespace))

    def walk_class(self, value: type) -> None:
        """A class: a library's by name, the user's by what it is made of."""
        if home := self.found.home(value):
            self.put(b"named", home)
        elif not self.is_known(value):
            self.found.reached[id(value)] = value
            self.put(b"class")
            self.push(parts_of_class(value))

    def walk_module(self, value: ModuleType) -> None:
        """A module by its name, and the user's own by their text too."""
        self.put(b"module", value.__name__)
        if self.found.is_user_module(value.__name__):
            for item in user_modules(value.__name__).items():
                self.put(b"", *item)

    def walk_code(self, value: CodeType) -> None:
        """Compiled code."""
        self.put(b"code", digest_of_code(value))

    def walk_method(self, value: MethodType) -> None:
        """A method of a Python function, bound to its object."""
        if home := home_of_method(value):
            self.put(b"named", home)
            return
        self.put(b"method")
        self.push([value.__func__, value.__self__])

    def walk_builtin(self, value: BuiltinFunctionType) -> None:
        """A function or method written in C."""
        if home := home_of_method(value):
            self.put(b"named", home)
            return
        self.put(b"method", value.__name__)
        self.push([value.__self__])

    def walk_partial(self, value: functools.partial[Any]) -> None:
        """A `functools.partial`, which others may share."""
        if not self.is_known(value):
            self.put(b"partial")
            self.push([value.func, value.args, value.keywords, vars(value)])

    def walk_cached(self, value: Any) -> None:
        """A function with `functools.lru_cache`: what it remembers does not count."""
        if home := self.found.home(value):
            self.put(b"named", home)
        elif not self.is_known(value):
            self.put(b"cached", str(value.cache_parameters()))
            self.push([value.__wrapped__])

    # Arrays and tables

    def walk_parts(self, parts: Callable[[Any], list[object]], value: Any) -> None:
        """A value of a package that is known here, which others may share."""
        if self.is_known(value):
            return
        if self.tracks_memory:
            self.put_sharing(value)
        self.put_parts(parts, value)

    def put_parts(self, parts: Callable[[Any], list[object]], value: Any) -> None:
        """Write the parts that count of a value of a known package."""
        kind = type(value)
        try:
            found = parts(value)
        except Exception:  # a shape that the package itself cannot show: as pickle sees it
            self.take_apart(value)
            return
        self.put(b"parts", f"{kind.__module__}.{kind.__qualname__}")
        self.push(found)

    def put_sharing(self, value: Any) -> None:
        """Write how a view lies to what was met before on the same memory."""
        memory = memory_of(value)
        if memory is None:
            return
        self.found.keep.append(value)
        known = self.owners.get(memory.owner)
        if known is None:
            self.owners[memory.owner] = (len(self.owners), memory.offset)
            return
        self.put(b"view", known[0], memory.offset - known[1], memory.strides)

    def walk_alone(self, value: Alone) -> None:
        """A part whose arrays share no memory that counts."""
        walk = self.inner()
        walk.tracks_memory = False
        self.put(b"alone", walk.digest(value.value))

    # Everything else

    def walk_value(self, value: Any) -> None:
        """An immutable object: which equal ones are the same does not count."""
        reduced = value.__reduce_ex__(5)
        is_simple = isinstance(reduced, tuple) and len(reduced) == 2 and reduced[0] is type(value)
        types = set(map(type, reduced[1])) if is_simple else {object}
        if not types <= plain.ATOMS:
            self.take_apart(value)
            return
        self.put(b"value", self.found.home(type(value)))
        self.out += plain.encoded_atoms(reduced[1], types)

    def walk_instance(self, value: object) -> None:
        """An object of any other class."""
        if not self.is_known(value):
            self.take_apart(value)

    def take_apart(self, value: object) -> None:
        """Walk the parts from which pickle would make `value` again."""
        try:
            reduced = _reduced(value)
        except Exception:  # whatever pickling raises here, it means: cannot be taken apart
            self.walk_opaque(value)
            return
        if isinstance(reduced, str):
            self.put(b"global", str(getattr(value, "__module__", "")), reduced)
            return
        self.enter(value)
        self.push([*self.parts_of(type(value), reduced), _END])

    def parts_of(self, kind: type, reduced: tuple[Any, ...]) -> list[object]:
        """The parts that a reduction has, after a tag that says which these are."""
        function, arguments, *rest = reduced
        if function is _NEW_OBJECT and arguments == (kind,) and len(rest) == 1:
            self.put(b"object")
            return [kind, *rest]
        state, items, pairs, setter = (*rest, *[None] * 4)[:4]
        self.put(b"made", items is not None, pairs is not None)
        parts = [function, arguments, state, setter]
        if items is not None:
            parts.append(list(items))
        if pairs is not None:
            entries = list(pairs)
            parts += [[key for key, _ in entries], [value for _, value in entries]]
        return parts

    def enter(self, instance: object) -> None:
        """Note that the walk is inside `instance`, until its end."""
        kind = type(instance)
        is_users = self.found.is_users(kind)
        is_open = kind.__module__.partition(".")[0] in CONTAINERS
        frame = _Frame(
            instance if not is_open else None,
            is_users,
            len(self.out),
            len(self.memo),
            len(self.owners),
            len(self.stack),
        )
        self.frames.append(frame)

    def walk_end(self, _: _End) -> None:
        """The end of an instance."""
        self.frames.pop()

    def walk_opaque(self, value: object) -> None:
        """What cannot be taken apart: its type, and the client whose part it is likewise."""
        if self.is_strict:
            raise _Opaque
        frame = self.outermost_library_instance()
        client = frame.instance if frame else value
        if frame:
            self.go_back_to(frame)
        kind = type(client)
        self.put(b"opaque", f"{kind.__module__}.{kind.__qualname__}")
        for name, digest in self.settings_of(client):
            self.put(b"setting", name, digest)

    def outermost_library_instance(self) -> _Frame | None:
        """The largest library object around this place that is no part of a user's object."""
        outermost = None
        for frame in reversed(self.frames):
            if frame.is_users:
                break
            if frame.instance is not None:
                outermost = frame
        return outermost

    def go_back_to(self, frame: _Frame) -> None:
        """Forget what was written since `frame` was entered."""
        del self.out[frame.out :]
        del self.stack[frame.stack :]
        del self.frames[self.frames.index(frame) :]
        while len(self.memo) > frame.memo:
            self.memo.popitem()
        while len(self.owners) > frame.owners:
            self.owners.popitem()

    def settings_of(self, client: object) -> Iterable[tuple[str, Digest]]:
        """The public attributes of a client that are plain enough, without its secrets."""
        attributes = getattr(client, "__dict__", {})
        for name in sorted(map(str, attributes)):
            if name.startswith("_") or any(word in name.lower() for word in SECRETS):
                continue
            walk = Walk(self.found, depth=self.depth + 1, is_strict=True)
            try:
                yield name, walk.digest(attributes[name])
            except _Opaque:
                continue


_END = _End()
_NEW_OBJECT = getattr(copyreg, "__newobj__")  # noqa: B009  # the type stubs lack it


def _reduced(value: object) -> Any:
    """What pickle would make `value` from.

    Raises
    ------
    Exception
        Anything: it is the type's own code that answers.
    """
    kind = type(value)
    if reduce := copyreg.dispatch_table.get(kind):
        return reduce(value)
    if kind.__module__ == "itertools":  # it warns that it will stop answering
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return value.__reduce_ex__(4)
    return value.__reduce_ex__(5)


_STEPS: dict[type, Callable[[Walk, Any], None]] = {
    list: Walk.walk_list,
    tuple: Walk.walk_tuple,
    dict: Walk.walk_dict,
    set: Walk.walk_set,
    frozenset: Walk.walk_frozenset,
    bytearray: Walk.walk_bytes_like,
    memoryview: Walk.walk_bytes_like,
    PickleBuffer: Walk.walk_bytes_like,
    MappingProxyType: Walk.walk_mapping_proxy,
    FunctionType: Walk.walk_function,
    ModuleType: Walk.walk_module,
    CodeType: Walk.walk_code,
    MethodType: Walk.walk_method,
    BuiltinFunctionType: Walk.walk_builtin,
    functools.partial: Walk.walk_partial,
    type(functools.lru_cache(lambda: None)): Walk.walk_cached,
    Alone: Walk.walk_alone,
    _End: Walk.walk_end,
}
