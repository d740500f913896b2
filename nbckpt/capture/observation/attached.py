"""One thing that the notebook attached to a library: what it is, its digest, who can reach it."""

from __future__ import annotations

import ast
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps, loads
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from nbckpt.capture.observation.callback_changes import touched_by
from nbckpt.capture.observation.changes import ABSENT, Change
from nbckpt.capture.observation.container_contents import Refill, difference
from nbckpt.capture.observation.ownership import is_users
from nbckpt.digests import Digest, Json, digest_of, digest_of_json
from nbckpt.fingerprint.code import Names
from nbckpt.fingerprint.keys.inputs import Inputs
from nbckpt.fingerprint.referents import is_leaf
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.raw_members import members_of
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.secret_texts import redacted_json

_CODE = (FunctionType, ModuleType, type, MethodType, BuiltinFunctionType)
_LONG = 20_000
_MANY = 1_000


@dataclass(frozen=True)
class Attached:
    """Something of the notebook's that a library holds.

    Attributes
    ----------
    where
        The place, by a name that is the same in every process.
    what
        The place, for people.
    source
        The code of the cell that attached it; empty if it was none.
    change
        The place and the object; None for what was told to a library and cannot be seen.
    known
        The digest of what cannot be seen.
    is_input
        Whether cells below can see it.
    """

    where: str
    what: str
    source: str
    change: Change | None
    known: Digest = ""
    is_input: bool = True
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def value(self) -> object:
        """The object; of a container of the library's own what the notebook has changed in it."""
        assert self.change is not None
        if type(self.change.put) is Refill:
            return difference(self.change.new, self.change.old)
        return self.change.new

    @property
    def plain(self) -> list[Json] | None:
        """The value of a module's attribute or of a registry's entry, if JSON can tell it.

        In a list, as it may be None; `from_plain` reads it.
        """
        change = self.change
        if change is None or change.kind not in ("module", "registry"):
            return None
        if change.kind == "registry" and change.key != change.name:
            return None  # the key is no text
        try:
            told = _told(change.new)
        except TypeError:
            return None
        return [told] if redacted_json(told) == told else None

    @property
    def held(self) -> Json:
        """A copy of what a list or dict holds now, if JSON has it; else None."""
        value = None if self.change is None else self.change.new
        if type(value) not in {list, dict} or not is_plain(value):
            return None
        copied: Json = loads(dumps(value))
        return copied if redacted_json(copied) == copied else None  # a secret is not written

    def hold(self, held: Json) -> bool:
        """Have its list or dict hold what it held; whether it held something else."""
        return self.change is not None and self.held != held and fill(self.change.new, held)

    @property
    def name(self) -> str:
        """The name without which no code reaches it; empty if a library may look it up itself."""
        change = self.change
        if change is None or change.old is not ABSENT or change.name.startswith("_"):
            return ""
        if change.owner == "sys.modules":
            return change.name.rpartition(".")[2]
        is_named = change.kind in ("module", "class") or change.owner.endswith("_magics")
        return change.name if is_named else ""

    def digest(self, namespace: Mapping[str, object]) -> Digest:
        """The digest of the object, with the variables and functions that its code reads."""
        if self.change is None:
            return self.known
        inputs = Inputs(namespace, Names(), None)
        try:
            value: Any = self.value
            if issubclass(type(value), ModuleType) and not is_named_module(value):
                members = {k: v for k, v in vars(value).items() if type(k) is str and k[:2] != "__"}
                inputs.value("attached", members, frozenset())
            elif issubclass(type(value), FunctionType | type) and not is_users(value, namespace):
                home = f"{value.__module__}:{value.__qualname__}"
                inputs.variables["attached"] = digest_of("named ", home)
            else:
                inputs.value("attached", value, frozenset())
        except user_code_errors():  # whatever its own code raises when it is looked at
            return secrets.token_hex(16)
        told = [inputs.variables, inputs.definitions]
        return digest_of_json([*told, "earlier"] if self._is_of_earlier(namespace) else told)

    def _is_of_earlier(self, namespace: Mapping[str, object]) -> bool:
        """True if it is for a class of the notebook whose name means another one by now."""
        assert self.change is not None
        classes = (c for c in (self.change.key, self.change.new) if issubclass(type(c), type))
        return any(
            cls.__module__ == "__main__" and namespace.get(cls.__qualname__, cls) is not cls  # type: ignore[attr-defined]
            for cls in classes
        )

    @property
    def is_data(self) -> bool:
        """True if it is an object that code may change in place."""
        if self.change is None:
            return False
        kind = type(self.change.new)
        return kind not in ATOMS and not issubclass(kind, _CODE)

    @property
    def holds_objects(self) -> bool:
        """True if it is, or holds, an object that no name tells."""
        value = None if self.change is None else self.value
        if isinstance(value, FunctionType):
            return bool(value.__closure__ or value.__defaults__ or value.__kwdefaults__)
        return value is not ABSENT and not is_leaf(value)

    def touches(self, namespace: Mapping[str, object]) -> frozenset[str] | None:
        """The variables that can change by it: what it holds, and what its code changes.

        A cell that names the library can change what it holds; a library can call its code. None
        for any.
        """
        return frozenset() if self.change is None else touched_by([self.value], namespace)

    def as_json(self) -> dict[str, Json]:
        """Record of it for checkpoints."""
        found: dict[str, Json] = {"what": self.what, "token": self.token}
        if len(self.source) <= _LONG:
            found["source"] = self.source
        if (plain := self.plain) is not None:
            found["plain"] = plain
        if self.known:
            found["known"] = self.known
        return found


def fill(held: object, value: object) -> bool:
    """Have a list hold what another list holds, or a dict; False for anything else."""
    if type(held) is list and type(value) is list:
        held[:] = value
    elif type(held) is dict and type(value) is dict:
        held.clear()
        held.update(value)
    else:
        return False
    return True


def standing_of(attached: Attached) -> dict[str, Json]:
    """Record of it for a moment, with the contents of its list or dict."""
    held = attached.held
    return attached.as_json() if held is None else {**attached.as_json(), "held": held}


def is_named_module(value: object) -> bool:
    """True if a module was imported, not made by hand."""
    return members_of(value).get("__spec__") is not None


def what_of(change: Change) -> str:
    """A place, for people: ``'DataFrame.show' of pandas``."""
    owner, _, cls = change.owner.partition(":")
    if change.kind == "abc":
        return f"'{change.name.rpartition('.')[2]}' as a '{cls}' of {owner}"
    if change.owner == "sys.modules":
        return f"module '{change.name}'"
    if change.kind in ("registry", "list"):
        return f"'{change.name.removeprefix('__main__.')}' in {change.owner.replace(':', '.')}"
    return f"'{cls}.{change.name}' of {owner.partition('.')[0]}" if cls else (
        f"'{change.name}' of {owner}"
    )  # fmt: skip


def is_atom(value: object) -> bool:
    """True if JSON gives a value back as it is."""
    if type(value) is float:
        return math.isfinite(value)
    return value is None or type(value) in {bool, int, str}


def _told(value: object) -> Json:
    """JSON of an atom, or of a tuple of such.

    Raises
    ------
    TypeError
        If it is anything else: a list may be one with what a variable holds.
    """
    if type(value) is tuple:
        return {"tuple": [_told(item) for item in value]}
    if not is_atom(value):
        raise TypeError
    return cast("Json", value)


def from_plain(told: Json) -> object:
    """The value that `Attached.plain` told."""
    return tuple(map(from_plain, told["tuple"])) if isinstance(told, dict) else told


def is_plain(value: object) -> bool:
    """True if JSON gives a value back as it is, which may be a small list or dict."""
    waiting, n_seen = [value], 0
    while waiting and n_seen <= _MANY:
        item, n_seen = waiting.pop(), n_seen + 1
        if type(item) is list:
            waiting += item
        elif type(item) is dict and all(type(key) is str for key in item):
            waiting += item.values()
        elif not is_atom(item):
            return False
    return not waiting


def source_of(tree: ast.Module | None) -> str:
    """The code of a cell, as Python has it."""
    return "" if tree is None else ast.unparse(tree)
