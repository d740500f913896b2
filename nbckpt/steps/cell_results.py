"""The value of a cell's last expression, kept with its outputs: `_` and ``Out[n]`` of a restore.

A result that is a variable's object is kept as that name, so that it is the same object again.
Any other is kept by itself if it is small and shares nothing that can change with a variable.
What is not kept stands as `Lost`, which raises whatever is done with it; a cell that reads it
has the cell that made it run first.
"""

from __future__ import annotations

import base64
import gc
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import RestoreError
from nbckpt.fingerprint.keys.memory import on_same_memory
from nbckpt.fingerprint.user_names import RESULT, RESULT_TABLES, Own
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from nbckpt.digests import Json
    from nbckpt.fingerprint.code.bytecode import Names
    from nbckpt.session.session import Session
    from nbckpt.session.workspace.unkept import Maker

MAX_BYTES = 1_000_000
"""Of a result that is kept by itself."""

MAX_OBJECTS = 3_000
"""Inside a result, and inside a variable, that are looked at for what they share."""

_PLAIN = frozenset({int, float, bool, str})
_NAME = "_"


class Lost(Own):
    """Stands for a result that could not be kept; whatever is done with it raises.

    Parameters
    ----------
    maker
        The cell that made it, and can make it again.
    shares
        Whether it held what a variable held, too: it changed with that.
    """

    __slots__ = ("__weakref__", "_maker", "_shares")

    def __init__(self, maker: Maker, *, shares: bool = False) -> None:
        object.__setattr__(self, "_maker", maker)
        object.__setattr__(self, "_shares", shares)

    def __getattribute__(self, name: str) -> Any:
        if name != "__class__":
            _refuse(self)
        return Lost

    def _raises(self, *_: object, **__: object) -> NoReturn:
        _refuse(self)

    __repr__ = __str__ = __format__ = __bool__ = __len__ = __iter__ = __next__ = _raises
    __getitem__ = __setitem__ = __delitem__ = __contains__ = __call__ = __index__ = _raises
    __int__ = __float__ = __complex__ = __bytes__ = __eq__ = __ne__ = __lt__ = _raises
    __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = _raises
    __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = _raises
    __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __rand__ = _raises
    __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = __neg__ = _raises
    __pos__ = __invert__ = __abs__ = __round__ = __enter__ = __exit__ = __await__ = _raises
    __setattr__ = __delattr__ = __dir__ = __reversed__ = __divmod__ = _raises
    __hash__ = _raises
    __reduce__ = __reduce_ex__ = __sizeof__ = __copy__ = __deepcopy__ = _raises


def _refuse(lost: Lost) -> NoReturn:
    name = maker_of(lost).name
    message = f"the result of the restored cell {name!r} was not kept: run that cell, or bind it"
    raise RestoreError(message)


def maker_of(lost: Lost) -> Maker:
    """The cell that made a lost result."""
    maker: Maker = object.__getattribute__(lost, "_maker")
    return maker


def shares(lost: Lost) -> bool:
    """True if a lost result held what a variable held, too."""
    found: bool = object.__getattribute__(lost, "_shares")
    return found


def kept(session: Session, value: object, names: Iterable[str]) -> Json:
    """A result as it is kept, as JSON; empty if it is not kept.

    Parameters
    ----------
    names
        Variables that its cell reads or binds.
    """
    if type(value) in _PLAIN:
        return {"plain": value} if len(str(value)) <= MAX_BYTES else {}  # type: ignore[dict-item]
    namespace = session.namespace
    near = [n for n in sorted(names) if n in namespace and type(namespace[n]) not in ATOMS]
    for name in near:
        if namespace[name] is value:
            return {"name": name}
    if issubclass(type(value), Own):
        return {}
    with allowed():
        if type(value) not in ATOMS and _shares(value, near, namespace):
            return {"shares": True}
        parts = _encoded(session, value)
    return {"parts": [base64.b64encode(p).decode("ascii") for p in parts]} if parts else {}


def of(namespace: Mapping[str, object]) -> tuple[object, ...]:
    """The results that the shell has of the cells so far."""
    found = namespace.get("_oh")
    return tuple(found.values()) if isinstance(found, dict) else ()


def are_read(names: Names) -> bool:
    """True if code reads what cells ended with: ``Out[3]``, ``_``."""
    return any(n in RESULT_TABLES or RESULT.fullmatch(n) for n in names.loads)


def sharing(
    results: Iterable[object], names: Iterable[str], namespace: Mapping[str, object]
) -> list[str]:
    """Of `names`, the variables that hold something which can change, and a result holds, too."""
    others = {f"{_NAME}{n}": value for n, value in enumerate(results) if type(value) not in ATOMS}
    if not others:
        return []
    own = {n: namespace[n] for n in names if n in namespace and type(namespace[n]) not in ATOMS}
    return [
        name
        for name, value in sorted(own.items())
        if not _is_code(value) and _shares(value, others, {**others, name: value})
    ]


def with_parts(names: Iterable[str], namespace: Mapping[str, object]) -> list[str]:
    """Of `names`, the variables that are an object inside of a result, or hold what one does.

    A result that is a variable's object as a whole follows that: see `follow`. What variables share
    comes back with both of them. In what is large nothing is looked for.
    """
    values = {n: namespace[n] for n in sorted(names) if n in namespace}
    if not values:
        return []
    whole = {id(value) for n, value in namespace.items() if not RESULT.fullmatch(n)}
    others = [r for r in of(namespace) if id(r) not in whole and type(r) not in ATOMS]
    if not others:
        return []
    inside: set[int] = set()
    for other in others:
        inside.update(_inside([other]) or ())
    return [
        name
        for name, value in values.items()
        if not _is_code(value) and not inside.isdisjoint(_inside([value]) or ())
    ]


def follow(
    namespace: Mapping[str, object],
    replaced: Mapping[str, object],
    shown: Iterable[dict[str, object]] = (),
) -> None:
    """Have results that were the objects of changed variables be those that stand for them now.

    Parameters
    ----------
    replaced
        Name of each variable that a restored step did not bind → what it held before.
    shown
        Where the shell has the last results, too: it sets `_` while that is the same object there.
    """
    tables = [namespace, namespace.get("_oh"), *shown]
    for name, old in replaced.items():
        new = namespace.get(name, old)
        if new is old or type(old) in ATOMS:
            continue
        for table in tables:
            if type(table) is not dict:
                continue
            for key in [k for k, v in list(table.items()) if v is old and _is_result(k)]:
                table[key] = new


def _is_result(key: object) -> bool:
    return isinstance(key, int) or RESULT.fullmatch(str(key)) is not None


def _shares(value: object, near: Iterable[str], namespace: Mapping[str, object]) -> bool:
    """True if a result may hold something that can change and that a variable holds, too."""
    own = _inside([value])
    if own is None or on_same_memory([_NAME], {**namespace, _NAME: value}) - {_NAME}:
        return True
    variables = _inside([namespace[n] for n in near if not _is_code(namespace[n])])
    return variables is None or not own.keys().isdisjoint(variables)


def _inside(starts: list[object]) -> dict[int, object] | None:
    """The objects that can change inside of some values, by identity; None if there are many."""
    found: dict[int, object] = {}
    seen: dict[int, object] = {}
    waiting = list(starts)
    while waiting:
        item = waiting.pop()
        if id(item) in seen or type(item) in ATOMS or _is_code(item):
            continue
        seen[id(item)] = item
        if type(item) not in {tuple, frozenset}:
            found[id(item)] = item
        waiting += gc.get_referents(item)
        if len(seen) > MAX_OBJECTS:
            return None
    return found


def _is_code(item: object) -> bool:
    return isinstance(item, ModuleType | type | FunctionType | BuiltinFunctionType | CodeType)


def _encoded(session: Session, value: object) -> list[bytes]:
    """The bytes of a result, if there are any, and not too many."""
    from nbckpt.capture.groups.groups import Encoder
    from nbckpt.capture.limits import least_size
    from nbckpt.codecs.references import homes_of

    if least_size(value) > MAX_BYTES:
        return []
    namespace, capturer = session.namespace, session.workspace.capturer
    encoder = Encoder(
        namespace,
        capturer.encoder.bindings,
        homes_of(namespace, session.workspace.tracker.user_names()),
        MAX_BYTES,
        {_NAME: value},
    )
    (group,) = encoder.encode_groups([_NAME])
    if group.encoded is None:
        return []
    return [bytes(memoryview(part).cast("B")) for part in group.encoded.parts]


def restored(session: Session, described: Mapping[str, Any], maker: Maker) -> object:
    """The result that was kept; `Lost` if it was not, or does not come back."""
    namespace = session.namespace
    if "plain" in described:
        return described["plain"]
    if "name" in described and described["name"] in namespace:
        return namespace[described["name"]]
    session.workspace.unkept.has_lost_results = True
    if "parts" not in described or not maker.checkpoint.trusted:
        return Lost(maker, shares=bool(described.get("shares")))
    parts = [memoryview(base64.b64decode(part)) for part in described["parts"]]
    try:
        with allowed():
            return decode(parts, Loading(namespace, namespace.__getitem__), trusted=True)[_NAME]
    except user_code_errors():  # whatever its own code raises
        return Lost(maker)
