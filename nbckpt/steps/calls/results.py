"""A result ↔ a blob: captured as the variables of a checkpoint are, and a fresh copy each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbckpt.codecs.loading import Loading, decode
from nbckpt.errors import CaptureError, RestoreError
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.segments import is_plain

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from nbckpt.codecs.encode import EncodeError

RESULT = "result"
"""The one name in the blob of a result."""


def encoded(value: object, namespace: dict[str, object]) -> list[Buffer]:
    """`value` as the parts of a blob; valid as long as it is not changed.

    Raises
    ------
    CaptureError
        If something inside it cannot be kept; the message says where it lies, and why.
    """
    from nbckpt.capture.groups.encode import encode_together
    from nbckpt.codecs.encode import EncodeError
    from nbckpt.codecs.pickler import Scope
    from nbckpt.codecs.references import homes_of

    homes = {}
    if not is_plain(value):  # plain data refers to no definition
        homes = homes_of(namespace, [name for name in list(namespace) if is_user_name(name)])
    try:
        return encode_together({RESULT: value}, Scope(namespace, homes)).parts
    except EncodeError as error:
        raise CaptureError(_why_not(error, value)) from error


def _why_not(error: EncodeError, value: object) -> str:
    from nbckpt.codecs import refused_objects
    from nbckpt.text.describe import type_name_of

    path = refused_objects.path_to(error.culprit, {RESULT: value})
    where = path[-1][0] if path else RESULT
    reason = refused_objects.reason_of(error.__cause__ or error)
    return f"{where}, a {type_name_of(error.culprit)}: {reason}"


def decoded(parts: Sequence[memoryview], namespace: dict[str, object], *, trusted: bool) -> object:
    """A new copy of what was kept.

    Parameters
    ----------
    trusted
        Whether the record that names it is.

    Raises
    ------
    Exception
        Whatever the value's own code raises while it is built.
    """

    def resolve(name: str) -> object:
        if name not in namespace:
            message = f"it needs {name!r}, which is not defined"
            raise RestoreError(message)
        return namespace[name]

    return decode(parts, Loading(namespace, resolve), trusted=trusted)[RESULT]
