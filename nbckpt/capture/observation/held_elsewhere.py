"""Objects that others hold, of the notebook or beside it, and that a step gives to a variable.

A library or the process may hold an object that the notebook made and no variable has, a module
beside the notebook one that is inside of what it holds. Brought back from a checkpoint the
variable would hold a copy: what they hold is made by the cell that made it first, anew in each
process. So a step that binds such an object, or puts it into a variable, runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from nbckpt.capture.change_tracking.identity import Place
from nbckpt.capture.observation.attachments import Attachments
from nbckpt.capture.observation.changeable import are_held_elsewhere, changeable
from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.capture.observation.process_state import ProcessState
from nbckpt.digests import Json
from nbckpt.fingerprint.code import names_of_tree
from nbckpt.fingerprint.user_names import is_user_name
from nbckpt.fingerprint.values.homes import is_named
from nbckpt.fingerprint.values.plain import without_atoms
from nbckpt.runtime.gc_pause import uncollected

_MODULES = "a module beside the notebook"


class _Window(NamedTuple):
    """The variables when a step began, and of which of them others hold something."""

    places: dict[str, Place]
    known: dict[str, str]


class HeldElsewhere(Bystander):
    """The facet of what a step gives to variables of objects that are held outside of them.

    Parameters
    ----------
    namespace
        The live variables.
    attachments, state
        The facets that know who holds objects of the notebook.
    """

    name = "held elsewhere"

    def __init__(
        self, namespace: Mapping[str, object], attachments: Attachments, state: ProcessState
    ) -> None:
        self._namespace = namespace
        self._attachments, self._state = attachments, state
        self._known: dict[str, tuple[object, str]] = {}  # variable → its object, who holds of it

    def open(self) -> object:
        """The variables, if anybody else holds an object of the notebook."""
        self._known = {n: v for n, v in self._known.items() if self._who_holds(n) is not None}
        if not self._is_any_held():
            return None
        others = without_atoms(self._namespace).items()
        places = {name: Place(value) for name, value in others}  # drops are seen
        return _Window(places, {name: who for name, (_, who) in self._known.items()})

    def close(self, window: object, ran: Ran) -> Json:
        """Name that the step has bound → who holds something of its object.

        What another variable holds, too, comes back as that variable's; what a module has by a
        name of its own is given back to it.
        """
        if not isinstance(window, _Window):
            return None
        return self._given(window.places, ran) | self._dropped(window, ran) or None

    def _dropped(self, window: _Window, ran: Ran) -> dict[str, str]:
        """Names that the step used and took from their objects → who holds something of these.

        What it did to them by these names, nobody can see any more.
        """
        used = {*names_of_tree(ran.tree, ran.namespace).loads, *ran.key.inputs}
        return {
            name: who
            for name, who in window.known.items()
            if name in used
            and not (name in window.places and window.places[name].may_be(ran.namespace.get(name)))
        }

    def _given(self, window: Mapping[str, Place], ran: Ran) -> dict[str, str]:
        named = names_of_tree(ran.tree, ran.namespace).binds
        bound = {
            name: value
            for name, value in without_atoms(ran.namespace).items()
            if (name in named or name not in window or not window[name].may_be(value))
            and is_user_name(name)
            and not is_named(value, ran.namespace)
        }
        results = ran.namespace.get("_oh")
        holders = [ran.namespace.values(), bound.values()]
        holders += [results.values()] if type(results) is dict else []
        with uncollected():
            if not (bound and are_held_elsewhere([*bound.values()], holders, ran.namespace)):
                return {}
            united = self._attachments.effects.shared.now()
            read = {*ran.key.inputs, *ran.key.functions, *united}
            stay = [
                value
                for name, value in without_atoms(ran.namespace).items()
                if is_user_name(name)
                and name in window
                and name not in bound
                and (name in read or self._who_holds(name) is None)
            ]
            return self._found(bound, stay, united, ran)

    def why_unrepeatable(self, names: Collection[str], ran: Ran) -> list[str]:
        """Reasons why a step cannot be restored that changed variables in place.

        Parameters
        ----------
        names
            Of these variables.
        """
        if not names or not self._is_any_held():
            return []
        values = {n: ran.namespace[n] for n in names if n in ran.namespace}
        known = {n for n in values if self._who_holds(n) is not None}
        self._note_changed([id(values[n]) for n in known if self._who_holds(n) == _MODULES])
        new = {n: v for n, v in values.items() if n not in known and not is_named(v, ran.namespace)}
        read = {*ran.key.inputs, *ran.key.functions}
        stay = [
            value
            for name, value in without_atoms(ran.namespace).items()
            if is_user_name(name) and (name in read or self._who_holds(name) is None)
        ]
        with uncollected():
            found = self._found(new, stay, self._attachments.effects.shared.now(), ran, is_put=True)
        return [f"it puts an object into {n!r} that {who} holds" for n, who in found.items()]

    def held_by_others(self, names: Collection[str]) -> set[str]:
        """Those of some variables of whose objects others hold something, as far as is known."""
        return {name for name in names if self._who_holds(name) is not None}

    def _note_changed(self, objects: Collection[int]) -> None:
        """Have moves say that modules hold what was changed by a variable, and cannot be set."""
        if objects:
            places = self._attachments.effects.shared.places_holding(objects)
            self._attachments.changes.modules.changed(dict.fromkeys(places))

    def _found(
        self,
        values: Mapping[str, object],
        stay: Sequence[object],
        united: Collection[str],
        ran: Ran,
        *,
        is_put: bool = False,
    ) -> dict[str, str]:
        """Those of some variables that hold objects which others hold → who."""
        own = {n: changeable([v], ran.namespace) for n, v in values.items()}
        if is_put:
            for name, inside in own.items():
                if inside is not None:
                    inside.pop(id(values[name]), None)
        own = {n: inside for n, inside in own.items() if inside is None or inside}
        found: dict[str, str] = {}
        for who, held in self._inside(ran) if own else ():
            others = None if held is None else _without(held, stay, ran.namespace)
            for name, inside in own.items():
                if (who == _MODULES and name in united) or others == frozenset():
                    continue
                if others is None or inside is None or not others.isdisjoint(inside):
                    found.setdefault(name, who)
        self._known.update({name: (values[name], who) for name, who in found.items()})
        return found

    def _who_holds(self, name: str) -> str | None:
        """Holder of a part of a variable's object, as found when it was bound; None if unknown."""
        value, who = self._known.get(name, (None, None))
        return who if self._namespace.get(name) is value else None

    def _is_any_held(self) -> bool:
        return bool(self._attachments.changes.libraries.user_modules) or any(
            True for _ in self._holders()
        )

    def _holders(self) -> Iterator[tuple[str, list[object]]]:
        yield from self._attachments.holders()
        yield from self._state.holders()

    def _inside(self, ran: Ran) -> Iterator[tuple[str, Mapping[int, object] | None]]:
        """Holder → its objects and those inside of them; None if that is too much."""
        for who, objects in self._holders():
            yield who, changeable(objects, ran.namespace)
        yield _MODULES, self._attachments.inside_modules(ran)

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """Reason not to restore: another holder has an object that the step binds or drops."""
        for name, who in observed.items() if isinstance(observed, Mapping) else ():
            return f"it binds or drops {name!r}, of which {who} holds an object"
        return None


def _without(
    held: Mapping[int, object], stay: Sequence[object], namespace: object
) -> frozenset[int] | None:
    """Ids of objects that no variable has which stays; None if there is too much to look at."""
    known = changeable([value for value in stay if id(value) in held], namespace)
    return None if known is None else frozenset(held) - frozenset(known)
