"""Values → bytes: once more where they are nested deeply, or turn out to share memory."""

from __future__ import annotations

from collections.abc import Mapping

from nbckpt.codecs import depth
from nbckpt.codecs.encode import Encoded, EncodeError, encode
from nbckpt.codecs.known_contents import Contents
from nbckpt.codecs.pickler import Scope


def encode_together(values: Mapping[str, object], scope: Scope) -> Encoded:
    """`values` as one blob, whatever they share.

    Raises
    ------
    EncodeError
        If an object inside refuses.
    """
    return encode_at_any_depth(values, scope, False)


def encode_at_any_depth(
    values: Mapping[str, object],
    scope: Scope,
    with_shares: bool,
    contents: Contents | None = None,
) -> Encoded:
    """Encode; once more with a larger stack when the values are nested too deeply for this one."""

    def encoded() -> Encoded:
        return _encode_views(values, scope, with_shares=with_shares, contents=contents)

    try:
        return encoded()
    except EncodeError as error:
        if not depth.is_too_deep(error.__cause__):
            raise
    return depth.with_room(encoded)


def _encode_views(
    values: Mapping[str, object], scope: Scope, *, with_shares: bool, contents: Contents | None
) -> Encoded:
    """Encode; a second time when arrays turn out to share memory, or instances their dicts."""
    encoded = encode(values, scope, with_shares=with_shares, contents=contents)
    linked = frozenset(root for root, arrays in encoded.views.items() if len(arrays) > 1)
    if not linked and not encoded.dicts:
        return encoded
    return encode(
        values,
        scope,
        linked=linked | encoded.dicts,
        with_shares=with_shares,
        contents=contents,
    )
