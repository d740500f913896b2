"""The walk through a value: each object it holds, in an order that only the value decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from blake3 import blake3

from nbckpt.digests import Digest
from nbckpt.fingerprint.values import plain
from nbckpt.fingerprint.values.homes import home_of
from nbckpt.fingerprint.values.lookups import reaches_all
from nbckpt.fingerprint.values.sources import user_modules
from nbckpt.runtime.addresses import address_of, is_among, packed_ids_of
from nbckpt.runtime.user_code_errors import user_code_errors

Step: TypeAlias = "Callable[[Walk, Any], None]"
"""Writes one value, and pushes its parts."""


class Opaque(Exception):  # noqa: N818  # a signal, not an error
    """A strict walk met what cannot be taken apart."""


class End:
    """Marks on the stack where an instance ends."""


END = End()

PARTS_OF_A_LOOK = 64
"""Parts of a container that cost as much of an allowance as one object."""


@dataclass(slots=True)
class Found:
    """State that the walks through one value share: limits, and the objects that they met.

    With `counts_caches` the results that cached functions remember count even where they only make
    them faster. `keep` holds the objects that were made on the way, so that no two have one `id`.
    `same`, if given, holds objects that cannot be told and count by their identity: as long as one
    is held, no other object has its `id`. `near` has the digests by which elements in sets are put
    in order.
    """

    namespace: Mapping[str, object]
    budget: int
    reached: dict[int, object] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    homes: dict[int, str | None] = field(default_factory=dict)
    module_owners: dict[str, bool] = field(default_factory=dict)
    keep: list[object] = field(default_factory=list)
    near: dict[int, tuple[Digest, bool]] = field(default_factory=dict)
    exhausted: bool = False
    is_unknown: bool = False
    counts_caches: bool = False
    same: dict[int, object] | None = None

    def home(self, value: object) -> str | None:
        """`home_of`, asked once; the user's modules among the homes are noted."""
        if id(value) not in self.homes:
            self.keep.append(value)
            home = self.homes[id(value)] = home_of(value, self.namespace)
            if home:
                self.is_user_module(home.partition(":")[0])
        return self.homes[id(value)]

    def note_lookup(self, value: object) -> bool:
        """True if code that has `value` can reach any variable; then it is noted."""
        if not reaches_all(value, self.namespace):
            return False
        self.reached[id(value)] = value
        return True

    def is_user_module(self, name: str) -> bool:
        """True if a module is the user's; then it is noted, with those that it imports."""
        if name not in self.module_owners:
            found = user_modules(name)
            self.modules.update(found)
            self.module_owners[name] = name in found
        return self.module_owners[name]

    def is_users(self, kind: type) -> bool:
        """True if a class is the user's own."""
        home = self.home(kind)
        return home is None or self.is_user_module(home.partition(":")[0])


@dataclass(slots=True, eq=False)
class Frame:
    """An instance that is being walked, and how much there was before it.

    `instance` is None for one that only holds what was put into it.
    """

    instance: object
    is_users: bool
    n_out: int
    n_memo: int
    n_owners: int
    n_stack: int


class Walk:
    """One pass over a value; its output is a stream of bytes that only equal values share.

    The stack holds what is still to be walked, so that depth costs no recursion. `memo` numbers
    the mutable objects by their addresses, in the order in which they are met; many that were met
    at once only when something may be one of them. A walk with an `allowance` ends after so many
    objects; then it `was_cut`, and others may have the same bytes.
    """

    def __init__(
        self,
        found: Found,
        step_for: Callable[[type], Step],
        *,
        around: Walk | None = None,
        allowance: int | None = None,
        is_strict: bool = False,
    ) -> None:
        self.found = found
        self.step_for = step_for
        self.around = around
        self.allowance = allowance
        self.was_cut = False
        self.is_strict = is_strict
        self.tracks_memory = True
        self.out = bytearray()
        self.stack: list[object] = []
        self._memo: dict[int, int] = {}
        self._unnumbered: list[object] = []
        self._addresses = b""  # of these
        self.owners: dict[int, tuple[int, int]] = {}
        self.frames: list[Frame] = []
        self.steps: dict[type, Step] = {}
        self.heads: dict[type, bytes] = {}  # what is written of a class that was met
        self.shapes: dict[tuple[object, ...], bytes] = {}  # and of the names of attributes

    def digest(self, root: object) -> Digest:
        """The digest of all that `root` holds.

        Raises
        ------
        Opaque
            If the walk is strict, and not all of it can be taken apart.
        """
        self.stack.append(root)
        try:
            self.run()
        except Opaque:
            raise
        except user_code_errors() as error:  # a user's object may do anything when it is looked at
            self.put(b"failed", type(error).__name__)
            self.found.exhausted = True
        return blake3(self.out).hexdigest()

    def run(self) -> None:
        """Walk until nothing is left, or the budget is spent."""
        while self.stack:
            value = self.stack.pop()
            kind = type(value)
            if kind in plain.ATOMS:
                self.out += plain.encoded_atom(value)
                continue
            self.found.budget -= 1
            if self.found.budget < 0:
                self.found.exhausted = True
                self.put(b"cut", len(self.stack))
                return
            if self.allowance is not None:
                self.allowance -= 1
                if self.allowance < 0:
                    self.put(b"cut", len(self.stack))
                    self.note_cut()
                    return
            step = self.steps.get(kind)
            if step is None:
                step = self.steps[kind] = self.step_for(kind)
            step(self, value)

    def put(self, tag: bytes, *atoms: Any) -> None:
        """Write a tag, and the atoms that belong to it."""
        self.out += b"\x02%b\x00" % tag
        for atom in atoms:
            self.out += plain.encoded_atom(atom)

    def push(self, parts: Sequence[object]) -> None:
        """Walk `parts` next, in their order."""
        if self.allowance is not None and len(parts) > self.allowance:
            self.put(b"many", len(parts))
            self.note_cut()
            return
        self.found.keep.append(parts)
        self.stack.extend(reversed(parts))

    def put_all(self, tag: bytes, parts: Sequence[object]) -> None:
        """Write a tag and how many parts follow, and walk them next."""
        self.put(tag, len(parts))
        self.push(parts)

    def is_known(self, value: object) -> bool:
        """True if `value` was met before; then it is written as a reference to that place."""
        if self._unnumbered and is_among(self._addresses, value):
            self._number_all()
        address = address_of(value)
        number = self._memo.get(address)
        if number is None:
            self._memo[address] = self.n_met
            return False
        self.put(b"same", number)
        return True

    @property
    def memo(self) -> dict[int, int]:
        """Address → number of each mutable object that was met."""
        if self._unnumbered:
            self._number_all()
        return self._memo

    @property
    def n_met(self) -> int:
        """The number of mutable objects that were met."""
        return len(self._memo) + len(self._unnumbered)

    def note_many(self, met: list[object]) -> None:
        """Take note of mutable objects, which were not met before."""
        self._n_before = len(self.memo)
        self._unnumbered, self._addresses = met, packed_ids_of(tuple(met)).tobytes()

    def _number_all(self) -> None:
        met, self._unnumbered, self._addresses = self._unnumbered, [], b""
        known = [*self._memo.items()]
        start = self._n_before
        self._memo = dict(known[:start])  # which is in the order of the numbers
        self._memo.update(zip(map(address_of, met), range(start, start + len(met)), strict=False))
        self._memo.update(known[start:])

    def inner(self, *, is_strict: bool = False, allowance: int | None = None) -> Walk:
        """A walk of its own for a part, which shares nothing with the rest.

        With no `allowance` of its own it gets half of what is left here.
        """
        strict = self.is_strict or is_strict
        if allowance is None and self.allowance is not None:
            allowance = self.allowance // 2
            self.allowance -= allowance
        return Walk(self.found, self.step_for, around=self, allowance=allowance, is_strict=strict)

    def is_too_wide(self, width: int) -> bool:
        """True for more parts than an allowance lets see; then that is noted."""
        if self.allowance is None:
            return False
        self.allowance -= width // PARTS_OF_A_LOOK
        if self.allowance >= 0:
            return False
        self.put(b"many", width)
        self.note_cut()
        return True

    def note_cut(self) -> None:
        """Take note that there is more than an allowance lets see, here and around."""
        walk: Walk | None = self
        while walk is not None and walk.allowance is not None:
            walk.was_cut = True
            walk = walk.around

    def outermost_library_instance(self, matches: Callable[[object], bool]) -> Frame | None:
        """The largest library object around this place that matches, in no user's object."""
        outermost = None
        for frame in reversed(self.frames):
            if frame.is_users:
                break
            if frame.instance is not None and matches(frame.instance):
                outermost = frame
        return outermost

    def go_back_to(self, frame: Frame) -> None:
        """Forget all that came since `frame` was entered."""
        del self.out[frame.n_out :]
        del self.stack[frame.n_stack :]
        del self.frames[self.frames.index(frame) :]
        self.heads.clear()
        while len(self.memo) > frame.n_memo:
            self.memo.popitem()
        while len(self.owners) > frame.n_owners:
            self.owners.popitem()
