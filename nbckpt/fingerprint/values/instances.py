"""Walks through objects: by the parts from which pickle would make them again.

Notes
-----
What cannot be taken apart counts by what can be told of it, and equals nothing else if that is not
enough. A client (an object of a package that speaks with the outside, and holds a lock or a
connection somewhere inside) is opaque as a whole: its pools, caches and counters change with every
use and mean nothing. Only its public settings count, without keys and passwords. An object of the
user's own class is not a client: all that it holds beside the connection is data.
"""

from __future__ import annotations

import copyreg
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from nbckpt.digests import Digest
from nbckpt.fingerprint.values import plain, traces_of_looks
from nbckpt.fingerprint.values.attributes import put_attributes
from nbckpt.fingerprint.values.bare_types import is_bare, is_client
from nbckpt.fingerprint.values.containers import Elements
from nbckpt.fingerprint.values.frames import Alone, Parts, memory_of
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.opaque import Told
from nbckpt.fingerprint.values.reducing import NEW_OBJECT, reduction_of
from nbckpt.fingerprint.values.walking import END, End, Frame, Opaque, Walk
from nbckpt.runtime.user_code_errors import user_code_errors

OPEN = frozenset({"builtins", "collections", "copyreg", "functools", "types"})
"""Homes of types that hold whatever is put into them: they make no client of it."""

SECRETS = ("key", "token", "secret", "password")


def walk_known(walk: Walk, parts: Parts, value: Any) -> None:
    """A value of a package whose parts are known, which others may share."""
    if walk.is_known(value):
        return
    if walk.tracks_memory:
        _put_sharing(walk, value)
    put_parts(walk, parts, value)


def put_parts(walk: Walk, parts: Parts, value: Any) -> None:
    """Write the parts that count of a value of a known package."""
    kind = type(value)
    try:
        found = parts(value)
    except user_code_errors():  # a shape that the package itself cannot show: as pickle sees it
        take_apart(walk, value)
        return
    walk.put(b"known", f"{module_of_class(kind)}.{kind.__qualname__}")
    walk.put_all(b"parts", found)


def walk_alone(walk: Walk, value: Alone) -> None:
    """A part whose arrays share no memory that counts."""
    inner = walk.inner()
    inner.tracks_memory = False
    walk.put(b"alone", inner.digest(value.value))


_named: dict[int, tuple[object, str]] = {}
"""Objects of libraries that were found under their names, by their ids."""


def walk_immutable(walk: Walk, value: Any) -> None:
    """An immutable object: which equal ones are the same does not count."""
    reduced = _reduced(value)
    home = walk.found.home(type(value))
    is_simple = isinstance(reduced, tuple) and len(reduced) == 2 and reduced[0] is type(value)
    types = set(map(type, reduced[1])) if home and is_simple else {object}
    if not types <= plain.ATOMS:
        take_apart(walk, value)
        return
    walk.put(b"value", home)
    walk.out += plain.encoded_atoms(reduced[1], types)


def walk_instance(walk: Walk, value: object) -> None:
    """An object of any other class, which others may share."""
    if not walk.is_known(value) and not put_attributes(walk, value):
        take_apart(walk, value)


def walk_end(walk: Walk, _: End) -> None:
    """The end of an instance."""
    walk.frames.pop()


def take_apart(walk: Walk, value: object) -> None:
    """Walk the parts from which pickle would make `value` again."""
    try:
        reduced = _reduced(value)
    except user_code_errors():  # whatever is raised here means: cannot be taken apart
        put_opaque(walk, value)
        return
    if isinstance(reduced, str):
        if walk.found.is_users(type(value)) or _is_at_its_name(value, reduced):
            walk.put(b"global", str(getattr(value, "__module__", "")), reduced)
        else:  # `numpy.frompyfunc` makes what is named like this
            put_opaque(walk, value)
        return
    _enter(walk, value)
    walk.push([*_parts_of(walk, type(value), reduced), END])


def _is_at_its_name(value: object, name: str) -> bool:
    """True if a module holds `value` under the name by which pickle would find it."""
    known = _named.get(id(value))
    if known is None or known[0] is not value:
        home = getattr(value, "__module__", None)
        homes = [sys.modules.get(home)] if type(home) is str else list(sys.modules.values())
        if not any(_member(home, name) is value for home in homes):
            return False
        _named[id(value)] = known = value, name
    return known[1] == name


def _member(module: object, name: str) -> object:
    """Object that a module has under a dotted name, read without any code of its own."""
    found: object = module
    for part in name.split("."):
        if not issubclass(type(found), ModuleType | type):
            return None
        found = vars(found).get(part)
        if type(found) is staticmethod:
            found = found.__func__
    return found


def _reduced(value: Any) -> Any:
    """Parts from which pickle would make `value`; raises whatever the value's own code does."""
    kind = type(value)
    if reduce := copyreg.dispatch_table.get(kind):
        return reduce(value)
    if module_of_class(kind) == "itertools":  # it warns that it will stop answering
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return value.__reduce_ex__(4)
    return traces_of_looks.without_passing(kind, reduction_of(value, 5))


def _parts_of(walk: Walk, kind: type, reduced: tuple[Any, ...]) -> list[object]:
    """The parts that a reduction has, after a tag that says which these are."""
    function, arguments, *rest = reduced
    is_bare = function is NEW_OBJECT and type(arguments) is tuple and len(arguments) == 1
    if is_bare and arguments[0] is kind and rest and not any(part is not None for part in rest[1:]):
        walk.put(b"object")
        return [kind, rest[0]]
    if function is kind and _is_listed_set(kind) and _is_one_list(arguments):
        arguments = (Elements(*arguments),)
    if function is iter and not rest:  # of a set, say, which comes back as that of a list
        rest = [0]
    state, items, pairs, setter = (*rest, *[None] * 4)[:4]
    walk.put(b"made", items is not None, pairs is not None)
    parts = [function, arguments, state, setter]
    if items is not None:
        parts.append(list(items))
    if pairs is not None:
        entries = list(pairs)
        parts += [[key for key, _ in entries], [value for _, value in entries]]
    return parts


def _is_listed_set(kind: type) -> bool:
    """True of a class of sets that pickle lists in any order: it has no order of its own."""
    base = next((base for base in (set, frozenset) if issubclass(kind, base)), None)
    names = ("__iter__", "__reduce__", "__reduce_ex__")
    return base is not None and all(getattr(kind, n) is getattr(base, n) for n in names)


def _is_one_list(arguments: object) -> bool:
    return type(arguments) is tuple and len(arguments) == 1 and type(arguments[0]) is list


def _enter(walk: Walk, instance: object) -> None:
    """Note that the walk is inside `instance`, until its end."""
    kind = type(instance)
    is_open = module_of_class(kind).partition(".")[0] in OPEN
    frame = Frame(
        None if is_open else instance,
        is_users=walk.found.is_users(kind),
        n_out=len(walk.out),
        n_memo=walk.n_met,
        n_owners=len(walk.owners),
        n_stack=len(walk.stack),
    )
    walk.frames.append(frame)


def walk_told(walk: Walk, tell: Callable[[Any], Told], value: Any) -> None:
    """A value that pickle cannot take apart, but of which all that counts can be told."""
    if walk.is_strict or client_around(walk, value) is not None:
        put_opaque(walk, value)
        return
    if walk.is_known(value):
        return
    try:
        told = tell(value)
    except user_code_errors():  # a closed or broken thing raises what it likes
        told = None
    if told is None:
        put_unknown(walk, value)
        return
    walk.put(b"told", f"{type(value).__module__}.{type(value).__qualname__}")
    walk.put_all(b"parts", told)


def walk_bare(walk: Walk, value: object) -> None:
    """A value that holds no data of the user's."""
    walk.found.note_lookup(value)
    put_opaque(walk, value)


def put_opaque(walk: Walk, value: object) -> None:
    """Write what counts of what cannot be taken apart, or of the client whose part it is."""
    if walk.is_strict:
        raise Opaque
    client = client_around(walk, value)
    if client is None and not is_bare(type(value)):
        put_unknown(walk, value)
        return
    if isinstance(client, Frame):
        walk.go_back_to(client)
        value = client.instance
    kind = type(value)
    walk.put(b"opaque", f"{module_of_class(kind)}.{kind.__qualname__}")
    if client is not None:
        for name, digest in _settings_of(walk, value):
            walk.put(b"setting", name, digest)


def put_unknown(walk: Walk, value: object) -> None:
    """Make the digest one that nothing equals; what else there is need not be looked at.

    Where the walk may tell objects by their identity, it does so instead.
    """
    if (same := walk.found.same) is not None:
        same[id(value)] = value
        walk.put(b"same", str(id(value)))
        return
    walk.put(b"unknown", secrets.token_hex(16))
    walk.found.is_unknown = True
    walk.stack.clear()


def client_around(walk: Walk, value: object) -> Frame | object | None:
    """The largest client that this place is a part of, or `value` itself if it is one."""
    frame = walk.outermost_library_instance(lambda instance: is_client(type(instance)))
    return frame or (value if is_client(type(value)) else None)


def _settings_of(walk: Walk, client: object) -> Iterator[tuple[str, Digest]]:
    """The public attributes of a client that can be taken apart, without its secrets."""
    attributes = {str(k): v for k, v in list(getattr(client, "__dict__", {}).items())}
    for name in sorted(attributes):
        if name.startswith("_") or any(word in name.lower() for word in SECRETS):
            continue
        try:
            yield name, walk.inner(is_strict=True).digest(attributes[name])
        except Opaque:
            continue


def _put_sharing(walk: Walk, value: Any) -> None:
    """Write how a view lies to what was met before on the same memory."""
    memory = memory_of(value)
    if memory is None:
        return
    walk.found.keep.append(value)
    known = walk.owners.get(memory.owner)
    if known is None:
        walk.owners[memory.owner] = (len(walk.owners), memory.offset)
        return
    walk.put(b"view", known[0], memory.offset - known[1], memory.strides)
