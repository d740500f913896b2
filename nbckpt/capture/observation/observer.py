"""The observer of one session: opens and closes the windows of its facets around each step."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nbckpt.digests import Json
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Key
from nbckpt.runtime.interrupts import allowed


class UnrepeatableError(Exception):
    """A restored step left something that is not so here, and cannot be set."""


@dataclass(frozen=True)
class Ran:
    """A step whose body ran, or would run.

    Attributes
    ----------
    tree
        Its code, as IPython transformed it.
    key
        The predicted inputs.
    namespace
        The live variables.
    values
        Gives the name of each variable that was there before the body ran → digest of its value,
        nothing for one that could not be kept. The digest is that of the stored bytes: equal
        digests are equal values, not the other way round. To ask may take a look at everything.
    is_shown
        Whether the body showed anything: printed text, a result, a figure.
    outputs
        What it showed, if that is recorded: as `nbckpt.jupyter.outputs` has it.
    """

    tree: ast.Module
    key: Key
    namespace: Mapping[str, object]
    values: Callable[[], Mapping[str, str]]
    is_shown: bool = True
    outputs: Sequence[Json] = ()


class Facet(Protocol):
    """One kind of input and effect: files, process state, attachments to libraries, names.

    Every method is called on the thread that runs cells. `observed` is what `close` returned, as
    JSON has it: lists for tuples, texts for keys. No method raises for what a user's object does.
    """

    name: str
    """The member of a checkpoint's `observed` that belongs to this facet."""

    def cell_begins(self, tree: ast.Module) -> None:
        """Look at the process before a cell of the notebook runs, kept or not.

        `tree` is empty, here and after it, where the cell was restored and nothing of it runs.
        """

    def cell_ends(self, tree: ast.Module) -> None:
        """Look at the process after a cell of the notebook ran, kept or not."""

    def open(self) -> object:
        """A window that collects what happens from now on; windows may lie inside others."""

    def close(self, window: object, ran: Ran) -> Json:
        """Record of a window so far; None if it collected nothing. May be repeated."""

    def discard(self, window: object) -> None:
        """Collect nothing more in a window."""

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Why a checkpoint cannot be restored here and now, one sentence; None if it can."""

    def restored(self, observed: Json) -> Sequence[str]:
        """Repeat the effects of a step that is restored; one short text for each that was set.

        Called before its values are loaded. Open windows take the inputs of the step for their own.

        Raises
        ------
        UnrepeatableError
            If the step has to run instead.
        """

    def standing(self) -> Json:
        """State that a rewind to this moment has to set; None for nothing."""

    def go_to(self, standing: Json) -> Sequence[str]:
        """Set what `standing` says, and what it does not name back; a text for each that was set.

        Called before values are loaded.
        """


class Unmoved:
    """The part of a facet of whose kind a move sets nothing."""

    def standing(self) -> Json:
        """Nothing."""
        return None

    def go_to(self, standing: Json) -> Sequence[str]:  # noqa: ARG002
        """Nothing."""
        return ()


class Bystander(Unmoved):
    """The part of a facet that compares steps, and sets nothing for a restored one either."""

    def cell_begins(self, tree: ast.Module) -> None:
        """Nothing."""

    def cell_ends(self, tree: ast.Module) -> None:
        """Nothing."""

    def discard(self, window: object) -> None:
        """Nothing: a window is not told of anything."""

    def restored(self, observed: Json) -> Sequence[str]:  # noqa: ARG002
        """Nothing."""
        return ()


@dataclass(eq=False, repr=False)
class Observer(Own):
    """The facets of one session.

    Parameters
    ----------
    early
        Facets that know the process as it was when the session began.
    later
        Makes the others, when the first cell runs: a resume needs none of what they import.

    Attributes
    ----------
    was_set
        What the last restore or move has set, a short text each.
    silenced
        Filters of warnings before that, of those that hide some: they hold while values are loaded.
    """

    early: tuple[Facet, ...] = ()
    later: Callable[[], tuple[Facet, ...]] = tuple
    was_set: tuple[str, ...] = ()
    silenced: tuple[object, ...] = ()
    _made: tuple[Facet, ...] | None = None
    _resting: tuple[Facet, ...] = ()

    @property
    def facets(self) -> tuple[Facet, ...]:
        """All facets, in the order in which they repeat effects."""
        if self._made is None:
            self._made = self.later()
        return (*self.early, *self._made)

    @property
    def _known(self) -> tuple[Facet, ...]:
        return (*self.early, *(self._made or ()))

    def end(self) -> None:
        """Observe nothing any more, and let go of what the facets remember of the process."""
        self.early, self._made, self.later = (), None, tuple

    def cell_begins(self, tree: ast.Module, *, is_restored: bool = False) -> None:
        """Look at the process before a cell runs, or once it was restored."""
        facets = self.facets
        asked = facets if is_restored else ()
        self._resting = tuple(f for f in asked if getattr(f, "may_rest", bool)())
        for facet in facets:
            if facet not in self._resting:
                facet.cell_begins(tree)

    def cell_ends(self, tree: ast.Module) -> None:
        """Look at the process after a cell ran."""
        for facet in self._known:
            if facet not in self._resting:
                facet.cell_ends(tree)
        self._resting = ()

    def _each(self, method: str) -> Iterator[Callable[..., Any]]:
        """A method that not every facet has, of those that have it."""
        methods = (getattr(facet, method, None) for facet in self._known)
        return (found for found in methods if found is not None)

    def was_restored(self, tree: ast.Module) -> None:
        """Take note of the code of a cell that was restored."""
        for tell in self._each("was_restored"):
            tell(tree)

    def ran_unseen(self) -> None:
        """Take note that code ran which is no cell's, of which nothing was seen."""
        for tell in self._each("ran_unseen"):
            tell()

    def open(self) -> dict[str, object]:
        """A window of each facet."""
        return {facet.name: facet.open() for facet in self.facets}

    def close(self, windows: Mapping[str, object], ran: Ran) -> dict[str, Json]:
        """Records of the windows so far; facets that saw nothing are left out."""
        with allowed():
            found = {
                facet.name: facet.close(windows[facet.name], ran)
                for facet in self.facets
                if facet.name in windows
            }
        return {name: observed for name, observed in found.items() if observed}

    def look(self) -> None:
        """Look while nothing runs, so that the first cell need not wait for that.

        Not at what belongs to the context in which cells run: a callback of the loop has another.
        """
        assert self.facets  # all of them are there from now on
        for look in self._each("look"):
            look()

    def discard(self, windows: Mapping[str, object]) -> None:
        """Collect nothing more in these windows."""
        for facet in self.facets:
            if facet.name in windows:
                facet.discard(windows[facet.name])

    def difference(self, observed: Mapping[str, Json], ran: Ran) -> str | None:
        """Why a checkpoint cannot be restored here and now; None if all is as it was observed."""
        if unknown := observed.keys() - {facet.name for facet in self.facets}:
            return f"its {min(unknown)} were observed by another nbckpt"
        with allowed():
            for facet in self.facets:
                if why := facet.difference(observed.get(facet.name), ran):
                    return why
        return None

    def changed_input(self, observed: Mapping[str, Json]) -> str | None:
        """What the first part of a step read that is another by now, a clause; None if nothing.

        Less than `difference`: what the step itself changes is on its way.
        """
        with allowed():
            for facet in self.facets if observed else ():
                asked = getattr(facet, "changed_input", None)
                if asked is not None and (why := asked(observed.get(facet.name))):
                    return str(why)
        return None

    @property
    def unset(self) -> tuple[str, ...]:
        """State that the last move could not set, and the code to run for it, a short text each."""
        return tuple(text for facet in self._known for text in getattr(facet, "unset", ()))

    def restored(self, observed: Mapping[str, Json]) -> None:
        """Repeat the effects of a step that is restored."""
        self._note_filters()
        facets = self.facets if observed else self._known
        texts = (text for f in facets for text in f.restored(observed.get(f.name)))
        self.was_set = tuple(texts)

    def replaced(self, pairs: Sequence[tuple[object, object]]) -> None:
        """Have the process hold an object of the notebook where it held another one till now."""
        for tell in self._each("replaced") if pairs else ():
            tell(pairs)

    def why_not_replaced(self, pairs: Sequence[tuple[object, object]]) -> list[str]:
        """Reasons why the process would go on with objects that the notebook holds no more.

        Parameters
        ----------
        pairs
            Old objects, each with the one that takes its place; `None` if none does.
        """
        asked = self._each("why_not_replaced") if pairs else ()
        return [why for ask in asked for why in ask(pairs)]

    def why_unrepeatable(self, names: Collection[str], ran: Ran) -> list[str]:
        """Reasons why a step cannot be restored that changed some variables in place."""
        asked = self._each("why_unrepeatable") if names else ()
        return [why for ask in asked for why in ask(names, ran)]

    def at_other_places(self, names: Collection[str]) -> set[str]:
        """Those of some variables that are an object of others now, and are to be another one."""
        return {name for ask in self._each("at_other_places") for name in ask(names)}

    def held_by_others(self, names: Collection[str]) -> set[str]:
        """Those of some variables of whose objects others hold something, as far as is known."""
        return {name for ask in self._each("held_by_others") for name in ask(names)}

    def why_not_bound(self, bound: set[str], made: set[str]) -> list[str]:
        """Reasons why names cannot be bound to what a step that is restored made.

        Parameters
        ----------
        bound
            The names that it bound.
        made
            Those that are about to get another object.
        """
        return [why for ask in self._each("why_not_bound") for why in ask(bound, made)]

    def bound(self, names: set[str]) -> None:
        """Take note that names were bound to what was brought back."""
        texts: list[str] = []
        for tell in self._each("bound"):
            texts += tell(names) or ()
        self.was_set = (*self.was_set, *texts)

    def standing(self) -> dict[str, Json]:
        """State that a rewind to this moment has to set, by the facets' names."""
        found = {facet.name: facet.standing() for facet in self._known}
        return {name: standing for name, standing in found.items() if standing}

    def go_to(self, standing: Mapping[str, Json]) -> None:
        """Set what belongs to another moment."""
        self._note_filters()
        known = {facet.name for facet in self._known}
        facets = self._known if standing.keys() <= known else self.facets
        texts = (text for f in facets for text in f.go_to(standing.get(f.name)))
        self.was_set = tuple(texts)

    def _note_filters(self) -> None:
        self.silenced = tuple(entry for entry in warnings.filters if entry[0] == "ignore")
