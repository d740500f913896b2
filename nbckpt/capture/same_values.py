"""Whether a live variable has the value that was kept, whatever bytes it would be written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nbckpt.capture.decode import Values
from nbckpt.fingerprint.values.likeness import whole_digest
from nbckpt.model import Variable
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.user_code_errors import user_code_errors


def holds(
    namespace: Mapping[str, object],
    now: Variable | None,
    kept: Variable | None,
    values: Values,
    mates: Iterable[str] = (),
) -> bool:
    """True if a live variable has the value that was kept, if in other bytes.

    A class, a set and what a library fills as it is used are often written in other bytes after
    they came back. What is too large to be compared counts as another value.

    Parameters
    ----------
    values
        Builds what was kept.
    mates
        Variables that are compared with it: which of its objects are theirs is a part of it.
    """
    if now is None or kept is None or now.name not in namespace:
        return False
    if (now.type_name, now.shape) != (kept.type_name, kept.shape):
        return False
    with allowed():
        try:
            names = sorted({kept.name, *mates})
            built = [values.build(name) for name in names]
            there = [namespace[name] for name in names]
        except user_code_errors():  # whatever its own code raises; to bring it back says what
            return False
        live = whole_digest(there, namespace)
        return live is not None and live == whole_digest(built, values.namespace)
