"""Parts → values, in the namespace that they are restored into.

Reducers are plain functions that a stream names, so what they need of the surroundings
(the namespace, the other variables) is in a context variable.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from nbckpt.codecs import hashed_keys, hidden_secrets, nans
from nbckpt.codecs.key_hashing import Hashing, of_a_key
from nbckpt.codecs.pyplot import opened_are_closed
from nbckpt.codecs.streams import StreamReader, has_names, segments_of
from nbckpt.errors import NOT_YOURS, TRUST_IT, UntrustedError
from nbckpt.runtime.user_code_errors import user_code_errors


class Binding(Protocol):
    """Action to take once the variables have their values, or once they never will."""

    def bind(self) -> object:
        """The variables have the values."""

    def drop(self) -> object:
        """They do not, and never will."""


@dataclass(slots=True)
class Loading:
    """Where values are restored to.

    Attributes
    ----------
    namespace
        The globals of restored functions.
    resolve
        Gives the notebook's function or class of a name, restoring it first if need be.
    notes
        What came back, but not as it was: ends of sentences that begin with the variable.
    endings
        To be called when all of a blob is there.
    bindings
        To be told whether the variables get the values; None where values are looked at beside
        those that are live, and take nothing over from them.
    is_silent
        Values are compared and forgotten: no page or file learns of them.
    hashing
        How objects of the notebook's classes hash meanwhile.
    fillings
        Fill what finds its keys by their hash, which code of the notebook may compute: to be
        called when names have the values. May raise whatever that code raises.
    fills_later
        Whether these are left to the caller, who will know of more values.
    lent
        Names that are bound in the namespace until all of a blob is there.
    """

    namespace: dict[str, object]
    resolve: Callable[[str], object]
    notes: list[str] = field(default_factory=list)
    endings: list[Callable[[], object]] = field(default_factory=list)
    bindings: list[Binding] | None = None
    is_silent: bool = False
    hashing: Hashing = field(default_factory=Hashing)
    fillings: list[Callable[[], object]] = field(default_factory=list)
    fills_later: bool = False
    lent: set[str] = field(default_factory=set)

    def fill(self) -> None:
        """Have all keys be found, as code of the notebook hashes them now."""
        while self.fillings:
            self.fillings.pop(0)()

    def lends(self, name: str | None) -> bool:
        """Bind a name that code of a value asks for, until all is there; false if that fails.

        And all others that it may ask for: with each load that code runs once more.
        """
        if not name or not self._lends(name):
            return False
        for other in self.hashing.names():
            self._lends(other)
        return True

    def _lends(self, name: str) -> bool:
        if name in self.namespace:
            return False
        made = [kind for kind in self.hashing.made if kind.__name__ == name]
        try:
            self.namespace[name] = made[-1] if made else self.resolve(name)
        except user_code_errors():  # it is not there, or being built just now
            return False
        self.lent.add(name)
        return True

    def so_far(self) -> tuple[int, int, int]:
        """Numbers of notes, endings and bindings by now, for `cut`."""
        return len(self.notes), len(self.endings), len(self.bindings or [])

    def cut(self, n_notes: int, n_endings: int, n_bindings: int) -> None:
        """Forget what was put here since there was so much of each."""
        del self.notes[n_notes:]
        del self.endings[n_endings:]
        self.fillings.clear()
        for binding in (self.bindings or [])[n_bindings:]:
            binding.drop()
        del (self.bindings or [])[n_bindings:]


LOADING: ContextVar[Loading] = ContextVar("nbckpt_loading")


@contextmanager
def lent(values: Mapping[str, object], namespace: dict[str, object]) -> Iterator[None]:
    """Have code of the notebook see values that its variables will have."""
    values = dict(values)
    before = {name: namespace[name] for name in values if name in namespace}
    namespace.update(values)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                namespace[name] = before[name]
            else:
                namespace.pop(name, None)


def decode(parts: Sequence[memoryview], loading: Loading, *, trusted: bool) -> dict[str, object]:
    """The values of a blob by variable name.

    Parameters
    ----------
    trusted
        Whether the record that names the blob is the user's own, or vouched for: a pickle is code.

    Raises
    ------
    UntrustedError
        If the blob is not trusted. Callers refuse before, with the name of what they would build.
    FormatError
        If the parts are no blob of this format.
    Exception
        Whatever the values' own code raises while they are built.
    """
    if not trusted:
        message = f"a value {NOT_YOURS}, so it is not built: {TRUST_IT}"
        raise UntrustedError(message)
    segments, buffers = segments_of(parts)
    token = LOADING.set(loading)
    try:
        with nullcontext() if loading.bindings is not None else opened_are_closed():
            values = _loaded(segments, buffers, loading, with_names=has_names(parts))
        if nans.may_be_in(segments):
            nans.unite(values, loading.namespace)
        while loading.endings:
            loading.endings.pop(0)()
        if loading.fillings and not loading.fills_later:
            with lent(values, loading.namespace):
                loading.fill()
    finally:
        for name in loading.lent:
            loading.namespace.pop(name, None)
        loading.lent.clear()
        LOADING.reset(token)
    return values


def _loaded(
    segments: list[memoryview],
    buffers: Sequence[memoryview],
    loading: Loading,
    *,
    with_names: bool,
) -> dict[str, object]:
    """The values, loaded once more if keys hash by what was not there yet."""
    there = loading.so_far()
    load = partial(_unpickled, segments, buffers, with_names=with_names)
    built = partial(_built, load, loading)
    kinds: list[type] = []
    try:
        values = built(Hashing)
    except user_code_errors() as error:
        if (found := of_a_key(error)) is None:
            raise
        kinds.append(found)
    else:
        hashing = loading.hashing
        if not hashing.was_asked:
            return values
        if _are_found([*values.values(), *hashing.made]):
            named = hashing.named(loading.namespace)
            loading.fillings.append(partial(_fill_by_names, values, loading, named))
            return values
    kinds += loading.hashing.kinds
    loading.cut(*there)
    values = built(partial(Hashing, kinds, by_identity=True))
    kinds = loading.hashing.made
    loading.fillings.insert(0, partial(hashed_keys.fill_anew, values, kinds))
    return values


def _built(
    load: Callable[[], dict[str, object]],
    loading: Loading,
    hashing: Callable[[], Hashing],
) -> dict[str, object]:
    """The values, where code of theirs finds each name that it asks for, if it comes back."""
    there = loading.so_far()
    while True:
        loading.hashing = hashing()
        try:
            return load()
        except NameError as error:
            if not loading.lends(error.name):
                raise
            loading.cut(*there)
        finally:
            loading.hashing.end()


def _fill_by_names(
    values: dict[str, object], loading: Loading, named: Mapping[str, object]
) -> None:
    """Fill containers anew if code of their keys finds others by some names than it did."""
    # A name that was not there was not asked for: that would have raised.
    if any(loading.namespace.get(name) is not value for name, value in named.items()):
        hashed_keys.fill_anew(values, loading.hashing.made)


def _are_found(values: list[object]) -> bool:
    """True if keys are found, as far as code of the notebook can tell before names are bound."""
    try:
        return hashed_keys.are_found(values)
    except user_code_errors():
        return False


class _NamingUnpickler(pickle.Unpickler):
    """An unpickler of streams in which names of the environment stand for texts."""

    def persistent_load(self, pid: object) -> object:
        return hidden_secrets.shown(pid)


def _unpickled(
    segments: list[memoryview], buffers: Sequence[memoryview], *, with_names: bool
) -> dict[str, object]:
    if with_names:
        values = _NamingUnpickler(StreamReader(segments), buffers=buffers).load()
    elif len(segments) == 1:
        values = pickle.loads(segments[0], buffers=buffers)
    else:
        values = pickle.Unpickler(StreamReader(segments), buffers=buffers).load()
    assert isinstance(values, dict)
    return values


def from_namespace(name: str) -> object:
    """The notebook's own function or class `name`, where a stream refers to it."""
    loading = LOADING.get()
    found = loading.resolve(name)
    loading.hashing.met.append(found)
    note_class(found)
    return found


def note_made(kind: type) -> None:
    """Have a class that is being made be known by its name, and looked through in the end."""
    loading = LOADING.get(None)
    if loading is not None:
        loading.hashing.made.append(kind)
        if kind.__name__ in loading.lent:
            loading.namespace[kind.__name__] = kind


def note_class(value: object, *, holds: bool = False) -> None:
    """Have the keys of dicts and sets that are objects of a class be found in the end.

    Parameters
    ----------
    holds
        Whether the class may hold such objects, which were hashed before it could tell.
    """
    loading = LOADING.get(None)
    if loading is not None and isinstance(value, type):
        loading.hashing.add(value)
        loading.hashing.was_asked |= holds and any(value is k for k in loading.hashing.kinds)


def note(text: str) -> None:
    """Have the user told that what is being restored is not all as it was."""
    notes = LOADING.get().notes
    if text not in notes:
        notes.append(text)
