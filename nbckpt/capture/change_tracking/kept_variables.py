"""The variables as they are kept, and those that cannot be, with what each cell asks of them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping

from nbckpt.capture.change_tracking.identity import Identity
from nbckpt.digests import digest_of
from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.reachability import reaches
from nbckpt.fingerprint.user_names import text_of_name
from nbckpt.model import Refusal, Variable
from nbckpt.runtime.snapshot_dict import SnapshotDict

_BUCKETS = 256

QUICK_BYTES = 2_000_000
"""So much is pickled in some 20 milliseconds."""

_IN_PAGES = re.compile(r"(numpy|pandas|polars|pyarrow|torch)\.")

_NEVER = object()
"""Sentinel that no variable holds."""

_ODD = "globals()[…] made it"


class KeptVariables(SnapshotDict[str, Variable]):
    """Name → variable, as of the last look."""

    def __init__(self) -> None:
        super().__init__()
        self._needing: dict[str, set[str]] = {}
        self._buckets: list[set[str]] = [set() for _ in range(_BUCKETS)]
        self._digests: list[str] = [""] * _BUCKETS
        self._stale: set[int] = set()

    def changes(self, key: str, value: Variable | None) -> None:
        """Keep the answers below what they are without a look at all variables."""
        before = self.get(key)
        if before is not None:
            for need in before.needs:
                self._needing[need].discard(key)
        number = zlib.crc32(key.encode()) % _BUCKETS
        self._stale.add(number)
        if value is None:
            self._buckets[number].discard(key)
            return
        self._buckets[number].add(key)
        for need in value.needs:
            self._needing.setdefault(need, set()).add(key)

    def needed(self) -> set[str]:
        """Names of definitions to which some variable refers."""
        return {need for need, names in self._needing.items() if names}

    def needing(self, definitions: Iterable[str]) -> set[str]:
        """Names of variables that refer to some definitions."""
        return set().union(*(self._needing.get(name, ()) for name in definitions))

    def quick_to_look_at(self, names: Iterable[str]) -> list[str]:
        """Those of `names` with small values, or arrays whose pages tell what was written."""
        sizes = {n: self[n].size_bytes if n in self else 0 for n in names}
        found = [n for n in sizes if n in self and _IN_PAGES.match(self[n].type_name)]
        size = 0
        for name in sorted(sizes.keys() - set(found), key=sizes.__getitem__):
            size += sizes[name]
            if size > QUICK_BYTES:
                break
            found.append(name)
        return found

    def digest(self) -> str:
        """A digest of all names and blobs, but for those of random generators.

        It is one of 256 digests, each of the variables whose names have one remainder: only those
        are made anew in which something changed.
        """
        for number in self._stale:
            names = sorted(self._buckets[number] - random_generators.NAMES)
            told = [f"{n} {(v := self[n]).blob} {v.value}" for n in names]
            self._digests[number] = digest_of("\n".join(told)) if told else ""
        self._stale.clear()
        return digest_of("\n".join(self._digests))


class HeldObjects(SnapshotDict[str, object]):
    """Name → token of the object that the name held at the last look (`identity_of`).

    Attributes
    ----------
    others
        Names of those that are no atoms: what they hold may change where it stands.
    unproven
        Of these, the ones whose address does not tell the object: it is not held, or has parts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.others: set[str] = set()
        self.unproven: set[str] = set()

    def changes(self, key: str, value: object) -> None:
        """Keep the names that have to be looked at one by one."""
        if type(value) is not Identity:
            self.others.discard(key)
            self.unproven.discard(key)
            return
        self.others.add(key)
        if value.is_proven_by_address:
            self.unproven.discard(key)
        else:
            self.unproven.add(key)

    def hold(self, name: str, value: object) -> bool:
        """True if `value` is the object that a name held."""
        known = self.get(name, _NEVER)
        return known is value or (type(known) is Identity and known.is_of(value))

    def kept_alive(self, names: Iterable[str] | None) -> list[str]:
        """Those of `names` (None: all) whose objects live on because they are remembered."""
        found = ((n, self.get(n)) for n in (list(self) if names is None else names))
        return [n for n, known in found if type(known) is Identity and known.keeps_alive]


class Refusals(dict[str, Refusal]):
    """Name → refusal of a variable, as of the last look."""

    def renew(
        self, looked_at: set[str], now: Mapping[str, object], namespace: dict[str, object]
    ) -> None:
        """Have what holds, or is held by, something that may have changed count as changed.

        Parameters
        ----------
        looked_at
            Names of what may have changed.
        now
            What the variables hold while they are looked at.
        """
        present = [n for n in looked_at if n in now]
        for name in self.keys() - looked_at:
            if name in now and any(
                reaches(now[n], now[name], namespace) or reaches(now[name], now[n], namespace)
                for n in present
            ):
                self[name] = Refusal(*self[name])

    def listed(self, odd: Iterable[object], now: Mapping[str, object]) -> tuple[Refusal, ...]:
        """All of them, and those of keys that are no name that code can use."""
        return (*self.values(), *(_refusal_of_key(key, now) for key in odd))


def _refusal_of_key(key: object, now: Mapping[str, object]) -> Refusal:
    value = now.get(key)  # type: ignore[call-overload]  # a namespace may have any keys
    why = f"is under a name that no code can use: bind it to another ({_ODD})"
    text = text_of_name(key)
    return Refusal(text, text, type(value).__name__, why)
