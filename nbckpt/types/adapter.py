"""The contract of an adapter: what it says of a class, and what nbckpt does without it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class RefusalError(TypeError):
    """A value is not kept on purpose: no other way to write it is looked for.

    Its text ends the sentence of the refusal, as "its result is still to come".
    """


class Missing:
    """Stands where one of two values has no counterpart."""


class Pair(NamedTuple):
    """A place inside two values that are compared, and what is there in each.

    Attributes
    ----------
    path
        What follows the variable's name in Python, as ``.attrs`` or ``['t']``; or a word or two.
    before, after
        Any values, which nbckpt compares in its turn; `Missing` where one has nothing there.
    """

    path: str
    before: Any
    after: Any


def paired(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[Pair]:
    """Pairs of what two values have at the same places.

    Parameters
    ----------
    before, after
        The path to each place, and what is there.

    Examples
    --------
    >>> [(p.path, p.before) for p in paired({".x": 1, ".y": 2}, {".x": 3, ".y": 2})]
    [('.x', 1), ('.y', 2)]
    """
    for path, value in before.items():
        yield Pair(path, value, after.get(path, Missing))
    for path, value in after.items():
        if path not in before:
            yield Pair(path, Missing, value)


@dataclass(frozen=True, slots=True)
class TypeAdapter:
    """All that nbckpt is told about the values of some classes.

    Each capability is a function of a value, or None: then nbckpt does what it does for any class.
    None of them may change the value, or depend on anything but the value.

    Parameters
    ----------
    classes
        ``module:Name`` of each class, so that no library is imported to ask.
    exact
        Whether instances of classes that derive from these are left out.
    is_immutable
        Whether the values never change. Two variables that hold the same one of these are kept
        apart from each other; those that hold the same changeable object are kept together.
    reduce
        The value as ``__reduce__`` returns it: a name, or a tuple of a callable, its arguments and,
        if need be, a state, items, pairs and a setter of the state. `NotImplemented` leaves it to
        what nbckpt does for any class. Every changeable object in there that other variables hold
        as well comes back as one object. Raises `RefusalError` if a value is not to be kept.
    digest
        The parts that decide what the value is. nbckpt walks them: two values of equal parts have
        equal digests, in every process. Caches are no parts. Without it, the parts are those from
        which pickle would make the value; one that pickle refuses equals no other value.
    look
        Texts and numbers that are the same as before if the value is, found much quicker than it is
        written; None of a value of which they cannot be told. nbckpt then writes it no more after
        a cell that has only read it.
    memory
        Where its elements lie that other objects may show, too: addresses and sizes in bytes. None
        of a value that cannot tell. nbckpt looks at it whenever a cell changes such memory through
        another object. Without it, what Python's garbage collector knows of is looked at.
    describe
        One line for the timeline, without the name of the type.
    diff
        The places to compare in two values of these classes, in the order in which differences
        are shown; what is the same at both is left out. See `paired`.
    export
        A table, an array, a dict of arrays or plain data for the open formats, and a clause on
        what a reader would not get back; empty if nothing.

    Raises
    ------
    ValueError
        If a class is not named by its module and name.

    Examples
    --------
    >>> adapter = TypeAdapter(("shapes:Point",), reduce=lambda p: (type(p), (p.x, p.y)))
    >>> adapter.describe is None
    True
    """

    classes: tuple[str, ...]
    exact: bool = False
    is_immutable: bool = False
    reduce: Callable[[Any], Any] | None = None
    digest: Callable[[Any], Sequence[object]] | None = None
    look: Callable[[Any], Sequence[object] | None] | None = None
    memory: Callable[[Any], Iterable[tuple[int, int]] | None] | None = None
    describe: Callable[[Any], str] | None = None
    diff: Callable[[Any, Any], Iterable[Pair]] | None = None
    export: Callable[[Any], tuple[object, str]] | None = None

    def __post_init__(self) -> None:
        for name in self.classes:
            if ":" not in name:
                message = f"a class is named by its module and name, as 'shapes:Point': {name!r}"
                raise ValueError(message)
