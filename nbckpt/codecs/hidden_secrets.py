"""Secrets in values: names of the environment stand for them, and what has no name is refused.

What a value says is looked through for secrets once it is a stream, which costs little; only where
one may be in it, it is written once more, and each text is looked at. A text that holds what a
variable of the environment says is written as that name, and read there again. A text that is a
provider's key as a whole, or that stands under a name such as ``api_key``, is refused: the cell
that makes it runs again when it is needed.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from nbckpt.fingerprint.values.raw_members import (
    dict_of,
    elements_of,
    in_slots,
    member_of_class,
    pairs_of,
)
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.secret_texts import (
    ADVICE,
    BEGINNINGS,
    is_named_secret,
    kind_of_key,
    names_secrets,
    pattern_of_environment,
    secrets_of_environment,
    secrets_seen,
    suspicious,
)
from nbckpt.types.adapter import RefusalError

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOST_NAMED = 64 << 10
"""Bytes of a stream in which telling names are looked for: what is longer is no configuration."""
MOST_LOOKED_AT = 1 << 20
"""Bytes of a stream in which keys are found by their looks: what is longer is data."""
MOST_SEARCHED = 4 << 20
"""Bytes of a part in which the environment's secrets are found."""
MOST_VISITED = 50_000
"""Objects among which members with telling names are looked for."""

_STAND_IN = "environment"
_KEY = re.compile(
    rb"[\x8cC].(?=[ABeghrsx])(?:Bearer )?(?:%b)" % BEGINNINGS.encode(),
    re.DOTALL,
)
"""A short text of a pickle, or short bytes, that begin as keys do."""
_LONG = (b"\0\0eyJ", b"\0\0Bearer eyJ", b"PRIVATE KEY-----")
"""Beginnings of long ones, behind their length, and what stands in them."""
_URL = re.compile(rb"://[^/@\s\x8c]*:[^/@\s\x8c]*@")


def is_suspect(name: str, value: str) -> bool:
    """True if a variable that is a text is, or holds, a secret."""
    return (
        any(secret in value for secret in secrets_seen())
        or bool(kind_of_key(value))
        or is_named_secret(name, value)
    )


def may_be_in(parts: Sequence[Buffer]) -> bool:
    """True if what was written of a value may hold a secret."""
    stream = parts[0] if isinstance(parts[0], bytes) else bytes(parts[0])
    return _may_look_so(stream) or bool(name_in(parts))


def _may_look_so(stream: bytes) -> bool:
    if len(stream) > MOST_LOOKED_AT:
        return False
    if _KEY.search(stream) or any(text in stream for text in _LONG):
        return True
    if b"://" in stream and _URL.search(stream):
        return True
    return len(stream) <= MOST_NAMED and names_secrets(stream)


def name_in(parts: Iterable[Buffer]) -> str:
    """The variable of the environment whose secret is in some parts; empty if none is."""
    secrets = [
        (secret.encode(encoding, "surrogatepass"), name)
        for secret, name in secrets_seen().items()
        for encoding in ("utf-8", "utf-32-le")  # as arrays of NumPy have texts
    ]
    if not secrets:
        return ""
    for part in parts:
        if memoryview(part).nbytes > MOST_SEARCHED:
            continue
        data = part if isinstance(part, bytes) else bytes(part)
        for secret, name in secrets:
            if secret in data:
                return name
    return ""


class SecretError(RefusalError):
    """A value holds a secret for which no name can stand."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}, and secrets are not written: {ADVICE}")


class Hiding:
    """A pickler's `persistent_id`, for a value in which a secret may be.

    Attributes
    ----------
    culprit
        The text that is refused; None if none is.
    """

    def __init__(self) -> None:
        self.culprit: object = None
        self._search = suspicious().search
        self._known: dict[int, tuple[object, object]] = {}  # with the text: its place is its own

    def __call__(self, obj: object) -> object:
        """What stands for a text; None where it is written itself."""
        if type(obj) is str:
            if self._search(obj) is None:
                return None
        elif type(obj) is not bytes:
            return None
        known = self._known.get(id(obj))
        if known is None:  # one text may stand in many places
            known = self._known[id(obj)] = obj, self._stand_in(obj)
        return known[1]

    def _stand_in(self, obj: str | bytes) -> object:
        kind = type(obj)
        text = obj if isinstance(obj, str) else obj.decode("utf-8", "replace")
        if (parts := self._parts(text)) is not None:
            if kind is bytes and text.encode("utf-8", "replace") != obj:
                return None  # it has other bytes than a text: seen afterwards
            return _STAND_IN, kind is bytes, parts
        if told := kind_of_key(text):
            self.refuse(obj, f"it looks like {told}")
        return None

    def refuse(self, obj: object, why: str) -> None:
        """Raise for a text that must not be written."""
        self.culprit = obj
        raise SecretError(why)

    def _parts(self, text: str) -> list[str | list[str]] | None:
        """The text, with a list of one name for each secret of the environment; None if none is."""
        pattern = pattern_of_environment()
        if pattern is None:
            return None
        names, parts, at = secrets_of_environment(), list[str | list[str]](), 0
        for found in pattern.finditer(text):
            parts += [text[at : found.start()], [names[found[0]]]]
            at = found.end()
        return [*parts, text[at:]] if parts else None


def refuse_named(values: Mapping[str, object], hiding: Hiding) -> None:
    """Raise if a text stands under a name that tells a secret, in plain containers or members."""
    pattern = pattern_of_environment()
    queue, visited = deque[object]([values]), dict[int, object]()
    while queue and len(visited) < MOST_VISITED:
        obj = queue.popleft()
        if id(obj) in visited:
            continue
        visited[id(obj)] = obj
        for name, value in _named(obj):
            text = value.decode("latin-1") if isinstance(value, bytes | bytearray) else value
            if (
                type(text) is str
                and is_named_secret(name, text)
                and (pattern is None or pattern.search(text) is None)
            ):
                hiding.refuse(value, f"{name!r} says that it is a secret")
            queue.append(value)
        queue.extend(elements_of(obj))


def _named(obj: Any) -> list[tuple[str, object]]:
    """What an object holds under names: items of a dict, members of an instance."""
    kind = type(obj)
    if kind in _PLAIN or issubclass(kind, _WITHOUT_MEMBERS):
        return []
    try:
        if issubclass(kind, dict):
            members = [*pairs_of(obj)]
        elif issubclass(kind, tuple):
            members = [*zip(member_of_class(kind, "_fields") or (), elements_of(obj))]  # noqa: B905
        else:
            members = [*(dict_of(obj) or {}).items(), *in_slots(obj)]
    except user_code_errors():  # it has no members, or says so
        return []
    if kind.__name__ in _SAID_BY_TYPE:
        members = [("secret", value) for _, value in members]
    return [(name, value) for name, value in members if type(name) is str]


_SAID_BY_TYPE = ("SecretStr", "SecretBytes")
"""Classes of pydantic's, and of others that are called so: what they hold is a secret."""
_WITHOUT_MEMBERS = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
"""What is written by its name, or whose members are code."""
_PLAIN = frozenset({str, bytes, int, float, complex, bool, type(None), list, tuple, set, frozenset})


def shown(stand_in: Any) -> str | bytes:
    """The text for which names of the environment stand.

    Raises
    ------
    RestoreError
        If one is not there.
    """
    from nbckpt.errors import RestoreError

    _, is_bytes, parts = stand_in
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif part[0] in os.environ:
            texts.append(os.environ[part[0]])
        else:
            message = f"it is {part[0]} of the environment, which is not set here: set it first"
            raise RestoreError(message)
    text = "".join(texts)
    return text.encode("utf-8", "surrogatepass") if is_bytes else text
