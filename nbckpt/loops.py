"""The loops of a step: which of their items are finished, and how far they came.

Notes
-----
An item counts as finished by its digest, not by its place: the items of a set come in another
order in each process, and a new file changes the place of all that sort after it. The digests of
the finished items are kept in blobs, of which each is at least as long as all after it together,
so that a loop of n items writes n log n of them and its record names log n.

A loop inside another is not followed: when it ends, the outer item is not finished.
"""

from __future__ import annotations

import ast
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, ClassVar, TypeVar

from blake3 import blake3

from nbckpt import effects
from nbckpt.analysis import nodes_of
from nbckpt.digests import Digest
from nbckpt.errors import UsageError
from nbckpt.model import Checkpoint
from nbckpt.progress import loop_bar
from nbckpt.storage.store import Store
from nbckpt.twins import Twins
from nbckpt.values import BUDGET
from nbckpt.values.kinds import step_for
from nbckpt.values.plain import ATOMS, encoded_atom
from nbckpt.values.walking import Found, Opaque, Walk

if TYPE_CHECKING:
    from nbckpt.steps import Step

Item = TypeVar("Item")

SIZE = 16
"""Bytes of a digest that tell one item of a loop from another."""

MANY = 1000
"""Items among which a finished one is looked for before a loop is thought to be another."""

_HELD = (list, tuple, set, frozenset, dict, deque, range)
"""Collections that give the same items however often they are asked."""


class Loops:
    """The tracked loops of one execution of a step, in the order in which they begin.

    Attributes
    ----------
    begun
        How many have begun.
    """

    is_nbckpts_own: ClassVar[bool] = True

    def __init__(self, step: Step, unfinished: Checkpoint | None, begun: int = 0) -> None:
        self._step = step
        self._unfinished = unfinished
        self.begun = begun
        self._is_inside = False
        self._twins = Twins({}, {})

    def track(self, iterable: Iterable[Item], total: int | None) -> Iterator[Item]:
        """The items of the next loop that are not finished yet."""
        count = total if total is not None else len(iterable) if isinstance(iterable, Sized) else -1
        if self._is_inside:
            yield from _shown(self._step.request.name, iterable, count)
            return
        self._is_inside = True
        try:
            self.begun += 1
            yield from self._follow(iterable, count)
        finally:
            self._is_inside = False

    def _follow(self, iterable: Iterable[Item], count: int) -> Iterator[Item]:
        step, loop = self._step, self.begun
        namespace = step.session.namespace
        done, finished = self._continued(iterable, count)
        clock = _Clock(step.session.settings.track_share)
        is_kept = True
        with loop_bar(step.request.name, count, done) as advance:
            for place, item in enumerate(iterable):
                digest = digest_of_item(item, namespace, place)
                if finished.takes(digest):
                    continue
                self._unfinished = None  # what later loops had made was made without this item
                yield self._twins.of(item)
                finished.add(digest)
                done += 1
                advance()
                is_kept = clock.is_worth_it()
                if is_kept:
                    step.keep_progress((loop, done, count), finished.kept(step.session.store))
                    clock.kept()
        if not is_kept and _has_more(step.tree):
            step.keep_progress((loop, done, count), finished.kept(step.session.store))

    def _continued(self, iterable: Iterable[object], count: int) -> tuple[int, Finished]:
        """How many items of this loop are finished, and which; brings back what they made."""
        step, self._twins = self._step, Twins({}, {})
        partial = self._partial()
        if partial is None or partial.progress is None:
            return 0, Finished()
        _, done, total = partial.progress
        finished = Finished.of(partial, step.session.store, keeps_places=total == count)
        if total == count and not _any_known(iterable, finished, step.session.namespace, done):
            return self._anew((f"none of the {done} finished items is among its items now",))
        namespace = step.session.namespace
        step.session.ran(step.tree)
        before = {n: namespace[n] for n in partial.bound if n in namespace}
        if reasons := effects.reproduce(step.session, partial):
            return self._anew(reasons)
        self._twins = Twins(before, namespace)
        if partial is self._unfinished:
            self._unfinished = None
            step.went_on(partial)
        return done, finished

    def _anew(self, why: tuple[str, ...]) -> tuple[int, Finished]:
        self._unfinished = None
        self._step.why = why
        return 0, Finished()

    def _partial(self) -> Checkpoint | None:
        """How far this loop came in the run that did not finish."""
        last = self._unfinished
        if last is None or last.progress is None or last.progress[0] < self.begun:
            return None
        if last.progress[0] == self.begun:
            return last
        found = (c for c in self._step.session.timeline.named(last.name) if _is_of_run(c, last))
        same = (c for c in found if c.progress is not None and c.progress[0] == self.begun)
        partial = next(same, None)
        if partial is None:
            self._unfinished = None
        return partial


@dataclass
class Finished:
    """The digests of a loop's finished items, and which of them are still to come by."""

    _blobs: list[bytes] = field(default_factory=list)
    _new: list[bytes] = field(default_factory=list)
    _expected: Counter[bytes] = field(default_factory=Counter)

    @classmethod
    def of(cls, partial: Checkpoint, store: Store, *, keeps_places: bool) -> Finished:
        """Those of a loop that did not finish.

        Parameters
        ----------
        keeps_places
            Whether items that only their place tells apart can be the same ones.
        """
        blobs = [b"".join(map(bytes, store.get_blob(digest))) for digest in partial.finished]
        each = (b[i : i + SIZE] for b in blobs for i in range(0, len(b), SIZE))
        return cls(blobs, [], Counter(d for d in each if keeps_places or not _is_place(d)))

    def takes(self, digest: bytes) -> bool:
        """Whether an item is finished; of equal items, as many are as were."""
        if not self._expected.get(digest):
            return False
        self._expected[digest] -= 1
        return True

    def expects(self, digest: bytes) -> bool:
        """Whether an item with this digest is finished."""
        return bool(self._expected.get(digest))

    def add(self, digest: bytes) -> None:
        """Count an item as finished."""
        self._new.append(digest)

    def kept(self, store: Store) -> tuple[Digest, ...]:
        """The blobs that hold all digests, when they are in the store."""
        self._blobs.append(b"".join(self._new))
        self._new = []
        while len(self._blobs) > 1 and len(self._blobs[-2]) <= len(self._blobs[-1]):
            self._blobs[-2:] = [self._blobs[-2] + self._blobs[-1]]
        return tuple(store.put_blob([blob]) for blob in self._blobs if blob)


def digest_of_item(item: object, namespace: Mapping[str, object], place: int) -> bytes:
    """What tells an item from others: its value or, where that cannot be told, its place."""
    if type(item) in ATOMS:
        return blake3(encoded_atom(item)).digest(SIZE)
    found = Found(namespace, BUDGET)
    try:
        digest = Walk(found, step_for, is_strict=True).digest(item)
    except Opaque:
        return _place(place)
    return _place(place) if found.exhausted else bytes.fromhex(digest)[:SIZE]


def _place(place: int) -> bytes:
    return b"place".ljust(SIZE - 8, b"\0") + place.to_bytes(8, "big")


def _is_place(digest: bytes) -> bool:
    return digest.startswith(b"place\0\0\0")


def _any_known(
    iterable: Iterable[object], finished: Finished, namespace: Mapping[str, object], done: int
) -> bool:
    """Whether a loop still has an item that is finished; True where to ask would cost items."""
    if not isinstance(iterable, _HELD):
        return True
    items = islice(iterable, max(done, MANY))
    return any(
        finished.expects(digest_of_item(item, namespace, place)) for place, item in enumerate(items)
    )


def _is_of_run(checkpoint: Checkpoint, last: Checkpoint) -> bool:
    """Whether a partial checkpoint came before `last`, of a step with the same key."""
    return (
        checkpoint.state == "partial"
        and checkpoint.key == last.key
        and checkpoint.created_at <= last.created_at
    )


def _shown(name: str, iterable: Iterable[Item], count: int) -> Iterator[Item]:
    with loop_bar(name, count, 0) as advance:
        for item in iterable:
            yield item
            advance()


# -- how a loop may be written ------------------------------------------------------------------


def require_plain(name: str, tree: ast.Module) -> None:
    """Raise unless the step's `track` stands in `for` statements only, right after the `in`.

    Raises
    ------
    UsageError
        If another iterator goes beside it, which would begin anew where it goes on, or if its
        results are gathered in what no checkpoint holds: a comprehension, a function's variable.
    """
    tracks = _tracks(tree)
    if not tracks:
        return
    plain = {id(node.iter) for node in nodes_of(tree) if isinstance(node, ast.For)}
    parents = {id(c): p for p in nodes_of(tree) for c in ast.iter_child_nodes(p)}
    for call in tracks:
        if id(call) in plain:
            continue
        parent = parents.get(id(call))
        written = _written(call)
        message = f"checkpoint {name!r}: `{written}` must stand in a `for` statement: "
        if isinstance(parent, ast.Call) and call in parent.args:
            message = f"checkpoint {name!r}: `{_written(parent)}` does not go on where it was: "
            message += f"write `for … in {_inside_out(parent, call)}:`"
        else:
            message += f"write `for item in {written}:`"
        raise UsageError(message)


def require_top_level(name: str, frame: FrameType, namespace: Mapping[str, object]) -> None:
    """Raise unless a loop's variables are the notebook's.

    Raises
    ------
    UsageError
        If it is inside a function: what its items made would be lost with the function.
    """
    if frame.f_globals is namespace and frame.f_code.co_name == "<module>":
        return
    message = (
        f"checkpoint {name!r}: `track` is inside a function: "
        "use it at the top level, where what its items make is kept"
    )
    raise UsageError(message)


def _tracks(tree: ast.AST) -> list[ast.Call]:
    """The calls of the step's own `track`; the step's name is a constant in its code."""
    return [
        node
        for node in nodes_of(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "track"
        and isinstance(node.func.value, ast.Constant)
    ]


def _has_more(tree: ast.Module) -> bool:
    """Whether another tracked loop may follow one that has ended."""
    if len(_tracks(tree)) != 1:
        return True
    around = (n for n in nodes_of(tree) if isinstance(n, ast.For | ast.While | ast.AsyncFor))
    return any(_tracks(statement) for outer in around for statement in outer.body)


def _written(node: ast.expr) -> str:
    """`node` as its user wrote it."""
    tree = ast.parse(ast.unparse(node), mode="eval")
    for call in _tracks(tree):
        assert isinstance(call.func, ast.Attribute)
        assert isinstance(call.func.value, ast.Constant)
        call.func.value = ast.Name(str(call.func.value.value), ast.Load())
    return ast.unparse(tree)


def _inside_out(outer: ast.Call, track: ast.Call) -> str:
    """``step.track(zip(xs, ys))`` for ``zip(step.track(xs), ys)``."""
    args = [track.args[0] if arg is track and track.args else arg for arg in outer.args]
    inner = ast.Call(outer.func, args, outer.keywords)
    return _written(ast.Call(track.func, [inner], []))


@dataclass
class _Clock:
    """Whether keeping a loop's progress is worth its time."""

    share: float
    cost_s: float = 0.0
    last: float = field(default_factory=time.perf_counter)
    _asked: float = 0.0

    def is_worth_it(self) -> bool:
        self._asked = time.perf_counter()
        return self.cost_s <= self.share * (self._asked - self.last)

    def kept(self) -> None:
        self.last = time.perf_counter()
        self.cost_s = self.last - self._asked


def caller() -> FrameType:
    """The frame that called the function that asks."""
    return sys._getframe(2)  # noqa: SLF001  # the only way to ask
