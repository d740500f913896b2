"""Manifest → namespace: what came back, and what did not.

All values are built before the first name is bound, so that an interruption leaves the namespace
as it was. A value that cannot be built costs nothing but itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

from nbckpt.capture.trust_gate import require_trusted_value, untrusted_in
from nbckpt.codecs import pyplot
from nbckpt.codecs.loading import Binding, Loading, decode, lent
from nbckpt.digests import Digest
from nbckpt.errors import NbckptError, RestoreError
from nbckpt.fingerprint import random_generators
from nbckpt.fingerprint.values.destructors import let_go
from nbckpt.model import Manifest, Refusal, Variable, size_of_all
from nbckpt.runtime.gc_pause import uncollected
from nbckpt.runtime.interrupts import allowed
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.storage.store import Store
from nbckpt.text.progress_bar import Bar


class Loaded(NamedTuple):
    """Values that are ready to be bound.

    Attributes
    ----------
    values
        By name.
    unchanged
        Names that hold what was asked for already.
    failed
        What could not be built, and why.
    untrusted
        What was not built, because the user neither made it nor trusts it.
    bindings
        What values take over from those whose place they take, with the names of these values.
    """

    values: dict[str, object]
    unchanged: frozenset[str]
    failed: tuple[Refusal, ...]
    untrusted: tuple[Refusal, ...] = ()
    bindings: tuple[tuple[frozenset[str], Binding], ...] = ()

    def replaced(self, namespace: Mapping[str, object]) -> list[tuple[object, object]]:
        """Objects that are about to lose their names, each with the one that takes its place."""
        values = self.values.items()
        pairs = [(namespace[n], value) for n, value in values if n in namespace]
        return [(old, new) for old, new in pairs if old is not new]

    def bind(self, namespace: dict[str, object], order: Iterable[str]) -> None:
        """Bind the values in `namespace`; `order` is that of the manifest."""
        names = [n for n in order if n in self.values]
        random_generators.put_states(
            {n: self.values[n] for n in names if n in random_generators.NAMES}
        )
        namespace.update({n: self.values[n] for n in names if n not in random_generators.NAMES})
        for names_of_these, binding in self.bindings:
            if names_of_these.isdisjoint(names):
                binding.drop()
            else:
                binding.bind()

    def drop(self) -> None:
        """Have nobody learn of the values, which are gone then."""
        for _, binding in self.bindings:
            binding.drop()
        let_go(self.values)


class _Opened:
    """Figures that opened themselves in pyplot as their variables were loaded."""

    def __init__(self, numbers: frozenset[int]) -> None:
        self._numbers = numbers

    def bind(self) -> None:
        """They stay open."""

    def drop(self) -> None:
        """Nobody has them."""
        pyplot.close(self._numbers)


def load(
    wanted: Manifest,
    *,
    store: Store,
    namespace: dict[str, object],
    live: Manifest,
    manifest: Manifest,
    silenced: Iterable[object] = (),
) -> Loaded:
    """The values of `wanted`, of which those that `live` holds already are not built again.

    Parameters
    ----------
    wanted
        The variables to bring back.
    live
        What `namespace` is known to hold.
    manifest
        The whole checkpoint, for functions and classes that wanted values refer to.
    silenced
        Filters of warnings that hold while values are built, besides those that are in force.
    """
    untrusted = tuple(untrusted_in(wanted))
    wanted = {n: v for n, v in wanted.items() if v.trusted}
    differing = _differing(wanted, live)
    builder = _Builder(store, namespace, live, manifest, differing)
    size = size_of_all(v for n, v in wanted.items() if n in differing)
    with (
        Bar("restoring", size) as bar,
        _warnings_shown(silenced),
        pyplot.nothing_drawn(),
        uncollected(),
    ):
        for name in differing:
            builder.build(wanted[name])
            bar.advance(wanted[name].size_bytes // max(1, len(wanted[name].group)))
        builder.build_those_that_lacked_a_name()
        builder.fill()
        _warn_of(builder.notes)
    values = {n: builder.values[n] for n in differing if n in builder.values}
    unchanged = frozenset(set(wanted) - set(differing))
    return Loaded(
        values,
        unchanged,
        failed=tuple(builder.failed.values()),
        untrusted=untrusted,
        bindings=tuple(builder.bindings),
    )


@contextmanager
def _warnings_shown(silenced: Iterable[object]) -> Iterator[None]:
    """Have a warning never be an error: who made filters of that kind meant code of the notebook.

    What imports add to the filters meanwhile stays.
    """
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    added = [entry for entry in silenced if entry not in filters]
    pairs = [(("always", *e[1:]) if e[0] == "error" else e, e) for e in filters]
    filters[:] = [*added, *(now for now, _ in pairs)]
    _filters_changed()
    try:
        yield
    finally:
        before = {id(now): entry for now, entry in pairs}  # which `pairs` holds
        filters = warnings.filters  # type: ignore[assignment]
        filters[:] = [before.get(id(e), e) for e in filters if not any(e is a for a in added)]
        _filters_changed()


def _filters_changed() -> None:
    """Have the interpreter forget which warnings it showed by the filters of before."""
    module: Any = warnings
    if hasattr(module, "_filters_mutated_lock_held"):  # from Python 3.14 on
        with module._lock:  # noqa: SLF001
            module._filters_mutated_lock_held()  # noqa: SLF001
    else:
        module._filters_mutated()  # noqa: SLF001


def _warn_of(notes: Mapping[str, list[str]]) -> None:
    """Say what came back otherwise than it was: one warning for all variables of one kind.

    Each time, not only the first as `warnings.warn` would have it.
    """
    for note, names in notes.items():
        text = f"{', '.join(repr(n) for n in names)} {note}"
        warnings.warn_explicit(text, RuntimeWarning, "nbckpt", 0)


def _differing(wanted: Manifest, live: Manifest) -> dict[str, Variable]:
    """Variables to build: all that are not live, and all that refer to one of those."""
    names = {n for n, v in wanted.items() if n not in live or live[n].blob != v.blob}
    while True:
        more = {n for n, v in wanted.items() if n not in names and _is_drawn_in(v, names)}
        if not more:
            return {n: v for n, v in wanted.items() if n in names}
        names |= more


def _is_drawn_in(variable: Variable, names: set[str]) -> bool:
    return not names.isdisjoint(variable.needs) or not names.isdisjoint(variable.group)


@dataclass
class _Builder:
    """Builds each blob once, and what a blob refers to before it."""

    store: Store
    namespace: dict[str, object]
    live: Manifest
    manifest: Manifest
    differing: Mapping[str, Variable]
    values: dict[str, object] = field(default_factory=dict)
    failed: dict[str, Refusal] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    bindings: list[tuple[frozenset[str], Binding]] = field(default_factory=list)
    _begun: set[Digest] = field(default_factory=set)
    _failing: dict[Digest, Variable] = field(default_factory=dict)
    _lacks_a_name: bool = False
    _unfilled: list[tuple[Variable, Loading, dict[str, object]]] = field(default_factory=list)

    def build(self, variable: Variable) -> None:
        require_trusted_value(variable)
        if variable.blob in self._begun:
            return
        self._begun.add(variable.blob)
        figures = pyplot.open_figures()
        try:
            parts = self.store.get_blob(variable.blob)
            loading = Loading(self.namespace, self.resolve, bindings=[], fills_later=True)
            with allowed():
                values = decode(parts, loading, trusted=variable.trusted)
            self.values |= values
            if opened := pyplot.open_figures() - figures:
                self.bindings.append((frozenset(values), _Opened(opened)))
            if loading.fillings:
                self._unfilled.append((variable, loading, values))
            self.bindings += ((frozenset(values), binding) for binding in loading.bindings or ())
            for note in loading.notes:
                self.notes.setdefault(note, []).extend(variable.group)
        except user_code_errors() as error:  # a value's own code raises it
            pyplot.close(pyplot.open_figures() - figures)
            self._failing[variable.blob] = variable
            self._lacks_a_name |= isinstance(error, NameError)
            self._fail(variable, error)

    def _fail(self, variable: Variable, error: BaseException) -> None:
        text = str(error) if isinstance(error, NbckptError) else f"{type(error).__name__}: {error}"
        for name in variable.group:
            type_name = self.manifest[name].type_name if name in self.manifest else "?"
            self.failed[name] = Refusal(name, name, type_name, f"did not come back: {text}")

    def build_those_that_lacked_a_name(self) -> None:
        """Build once more what the values' own code could not for want of a global name.

        A class of the notebook may use `np` while an instance is made; the first time round the
        name is not yet bound. It is now, until all are built.
        """
        if not self._lacks_a_name:
            return
        lacking = {n: v for n, v in self.values.items() if n not in self.namespace}
        with lent(lacking, self.namespace):
            again, self.failed = list(self._failing.values()), {}
            self._begun.difference_update(self._failing)
            for variable in again:
                self.build(variable)

    def fill(self) -> None:
        """Have keys be found by what they hash to where all names have their values."""
        if not self._unfilled:
            return
        with lent(self.values, self.namespace), allowed():
            for variable, loading, values in self._unfilled:
                try:
                    loading.fill()
                    # A frozenset that is a variable is another one then.
                    self.values.update({n: v for n, v in values.items() if n in self.values})
                except user_code_errors() as error:  # a key's own code raises it
                    self._take_back(variable)
                    self._fail(variable, error)

    def _take_back(self, variable: Variable) -> None:
        lost = frozenset(variable.group)
        for names, binding in self.bindings:
            if names <= lost:
                binding.drop()
        self.bindings = [one for one in self.bindings if not one[0] <= lost]
        let_go({name: self.values.pop(name) for name in lost if name in self.values})

    def resolve(self, name: str) -> object:
        """A function or class of the notebook: the live one if it is the same, else built.

        Raises
        ------
        RestoreError, UntrustedError
            If it does not come back, or is not trusted.
        """
        variable = self.manifest.get(name)
        if variable is None:
            message = f"it needs {name!r}, which its checkpoint does not hold"
            raise RestoreError(message)
        is_live = name in self.live and self.live[name].value == variable.value
        if is_live and name not in self.differing:
            return self.namespace[name]
        self.build(variable)
        if name not in self.values:
            message = f"it needs {name!r}, which did not come back"
            raise RestoreError(message)
        if name not in self.differing and self._is_as_live(name):
            self.values[name] = self.namespace[name]
        return self.values[name]

    def _is_as_live(self, name: str) -> bool:
        """True if a name that stays as it is holds an equal definition, from another cell's text.

        Two classes of one name would make `isinstance` false.
        """
        from nbckpt.fingerprint.values.likeness import whole_digest

        live = self.namespace.get(name)
        if live is self.values[name] or not isinstance(live, FunctionType | type):
            return False
        with allowed():
            now = whole_digest(live, self.namespace)
            return now is not None and now == whole_digest(self.values[name], self.namespace)
