"""Looks at values with large contents, by which one that was only read is known again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from nbckpt.codecs.encode import Encoded
from nbckpt.codecs.known_contents import Contents
from nbckpt.digests import Digest
from nbckpt.storage.blobs import digest_of_parts


@dataclass(frozen=True)
class Look:
    """A value as it was encoded with numbers in the place of its large contents.

    Attributes
    ----------
    digest
        Of what was written.
    contents
        What the numbers stand for; these objects live as long as the look.
    """

    digest: Digest
    contents: Contents
    kinds: frozenset[type]
    members: Mapping[type, frozenset[str]]
    needs: frozenset[str]

    def is_as_in(self, other: Look) -> bool:
        """True if the whole encoding of the value is the same as at another look."""
        is_same = self.digest == other.digest and self.contents.is_rest_as_in(other.contents)
        # What no stream shows is asked for, too: an attribute that pickle drops may be new.
        of_one, of_other = ((o.kinds, o.members, o.needs) for o in (self, other))
        return is_same and of_one == of_other


@dataclass(frozen=True)
class KnownLook:
    """A look at a variable, and the blob in which it was kept."""

    look: Look
    blob: Digest


class Taken(NamedTuple):
    """A variable as it was encoded.

    Attributes
    ----------
    known
        The blob that holds it already; `encoded` has no parts then.
    look
        By which it will be known again; None where its contents are not large.
    """

    encoded: Encoded
    known: Digest | None = None
    look: Look | None = None


def taken(
    encode: Callable[[Contents | None], Encoded], known: KnownLook | None, *, is_whole: bool
) -> Taken:
    """A variable encoded, but for one that is as it was at a known look.

    Parameters
    ----------
    encode
        Encodes it whole, or without the contents that are taken.
    is_whole
        Whether it is encoded whole, whatever is known.
    """
    if is_whole:
        return Taken(encode(None))
    contents = Contents(known.look.contents.met if known else ())
    encoded = encode(contents)
    if not contents.has_taken:
        return Taken(encoded)
    digest = digest_of_parts(encoded.parts)
    look = Look(digest, contents, encoded.kinds, encoded.members, encoded.needs)
    if known and look.is_as_in(known.look):
        return Taken(replace(encoded, parts=[]), known.blob)
    del encoded  # it holds what is inside the value: who counts references would find more
    return Taken(encode(None), None, look)
