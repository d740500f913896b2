"""Digests of values that are equal in every process, and after a value went through a store.

Notes
-----
A pickle is no such digest: its bytes depend on which equal strings are one object, on the order
in which a set happens to hold its elements, and on the block layout of a data frame. So a value is
walked: what is known to be plain is encoded in bulk, arrays and columns by their buffers, and
everything else by its reduction, as pickle would take it apart.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import NamedTuple

from nbckpt.digests import Digest
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.runtime.time_limit import OutOfTimeError, bounded, slow

BUDGET = 300_000


class Examined(NamedTuple):
    """A value's digest and what the walk met.

    Attributes
    ----------
    reached
        The user's functions and classes inside the value.
    modules
        The user's modules that its functions and classes come from, and those that these import.
    exhausted
        The value has more objects than were looked at. Values that differ only beyond that have
        the same digest.
    unknown
        Part of the value cannot be told: its digest is one that nothing equals.
    """

    digest: Digest
    reached: tuple[object, ...]
    modules: frozenset[str]
    exhausted: bool
    unknown: bool = False


def _untold() -> Examined:
    return Examined(secrets.token_hex(16), (), frozenset(), exhausted=True, unknown=True)


class ValueDigester:
    """Digests of the values of a namespace.

    A digest depends on types, values, the order of lists and dicts, and on which mutable objects
    inside the value are one and the same: ``[r, r]`` is not ``[r, r.copy()]``. It does not depend
    on hash seeds, addresses, file names, or on which equal immutable objects are the same.

    What cannot be taken apart counts by what can be told of it: an open file by its place and
    content, a generator by its code, its variables and the place it has come to, a lock by
    whether it is held; and an object of a known client's package by its type and its public
    settings. Anything else of that kind (a cursor with rows to give, a task) has a digest that
    nothing equals.
    The values of the globals that a function reads do not count; the function is in `reached`.

    Parameters
    ----------
    namespace
        Where the user's functions live.
    budget
        Objects to look at one by one in one value. Atoms in bulk and elements of arrays and
        tables are no objects in this sense. See `Examined.exhausted`.
    counts_caches
        Whether what a function under `functools.lru_cache` remembers counts also where it only
        makes it faster.
    same
        If given, what cannot be told counts by its identity, and is held here from then on.
    """

    def __init__(
        self,
        namespace: Mapping[str, object],
        budget: int = BUDGET,
        *,
        counts_caches: bool = False,
        same: dict[int, object] | None = None,
    ) -> None:
        self.namespace = namespace
        self.budget = budget
        self.counts_caches = counts_caches
        self.same = same
        self.exhausted = False

    def digest(self, value: object) -> Digest:
        """The digest of `value`. Never raises; `exhausted` says whether all of it was seen."""
        examined = self.examine(value)
        self.exhausted = examined.exhausted
        return examined.digest

    def examine(self, value: object) -> Examined:
        """The digest of `value`, with the user's functions, classes and modules inside it."""
        # Not before something is walked: a restore walks nothing.
        from nbckpt.fingerprint.values.kinds import step_for
        from nbckpt.fingerprint.values.walking import Found, Walk

        found = Found(self.namespace, self.budget, counts_caches=self.counts_caches, same=self.same)
        if type(value) in ATOMS:
            digest = Walk(found, step_for).digest(value)
        else:
            if value in slow:
                return _untold()
            try:
                with bounded():
                    digest = Walk(found, step_for).digest(value)
            except OutOfTimeError:
                slow.add(value)
                return _untold()
        reached = tuple(found.reached.values())
        modules = frozenset(found.modules)
        return Examined(digest, reached, modules, found.exhausted, found.is_unknown)
