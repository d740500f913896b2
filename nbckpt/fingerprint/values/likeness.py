"""Digests that compare two values, with all of the user's code inside them."""

from __future__ import annotations

from collections.abc import Mapping

from nbckpt.digests import Digest
from nbckpt.fingerprint.values import ValueDigester


def whole_digest(
    value: object, namespace: Mapping[str, object], same: dict[int, object] | None = None
) -> tuple[Digest, list[Digest]] | None:
    """Digests of a value and of the user's code inside it; None if it is too large to tell.

    What cannot be told makes two digests differ. With `same` it counts by its identity: between two
    moments of one process.
    """
    digester = ValueDigester(namespace, same=same)
    examined = digester.examine(value)
    inside = [digester.examine(definition) for definition in examined.reached]
    if examined.exhausted or any(one.exhausted for one in inside):
        return None
    return examined.digest, sorted(one.digest for one in inside)
