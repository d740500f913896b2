"""Effects of a step on modules beside the notebook, and variables that are objects in modules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple, cast

from nbckpt.capture.change_tracking.identity import Place
from nbckpt.capture.observation.library_changes import LibraryChanges
from nbckpt.capture.observation.observer import Ran, UnrepeatableError
from nbckpt.capture.observation.shared_objects import SharedObjects
from nbckpt.capture.observation.user_modules import (
    changes_in_modules,
    containers_in,
    other_state,
    replaced_in,
    values_at,
)
from nbckpt.digests import Json
from nbckpt.fingerprint.user_names import Own

_ANEW = "anew"
"""Where the places in such modules stand that got another list or dict."""

_MODULES = "modules"
"""Where what modules beside the notebook hold stands among what is attached."""

_SHARED = "shared"
"""Where variables that are objects of such modules stand among what is attached."""

_OF_LIBRARIES = "containers"
"""Where variables that are lists, dicts and sets of libraries stand among what is attached."""


class ModulesWindow(NamedTuple):
    """Modules beside the notebook when a step began."""

    user_modules: frozenset[str]
    containers: Mapping[str, Place]
    shared: Mapping[str, str]


class ModuleEffects(Own):
    """Records what steps change in modules, and sets it again.

    Attributes
    ----------
    shared
        Variables that are objects of modules beside the notebook.
    """

    def __init__(self, namespace: MutableMapping[str, object], changes: LibraryChanges) -> None:
        self._changes = changes
        self._containers, self._modules = changes.containers.variables, changes.modules
        self._libraries = changes.libraries
        self.shared = SharedObjects(namespace, lambda: self._libraries.user_modules)

    def open(self) -> ModulesWindow:
        """The modules as they are when a step begins."""
        known = self._libraries.user_modules
        return ModulesWindow(frozenset(known), containers_in(known), self.shared.now())

    def close(
        self, window: ModulesWindow, ran: Ran, reached: Iterable[str] | None
    ) -> dict[str, Json]:
        """Record of what a step changed.

        Parameters
        ----------
        reached
            The modules whose code the step can have run; None: any.
        """
        self._containers.learn(ran.tree)
        changes = changes_in_modules(window.user_modules, ran)
        shared = self.shared.now()
        left = (
            place
            for name, place in window.shared.items()
            if name in ran.key.inputs and place not in shared.values()
        )
        changes = {**values_at(left), **changes}
        of_places = {place: name for name, place in shared.items()}
        changes = self._not_of_variables(changes)
        self._modules.changed(changes)
        self._modules.reached(reached)
        new = self._changes.new_modules(window.user_modules)
        state = self._not_of_variables(self._modules.state_of(new))
        return {
            _MODULES: {
                place: {"is": of_places[place]}
                if place in of_places and type(value) is not list
                else value
                for place, value in {**changes, **state}.items()
            },
            _ANEW: replaced_in(window.containers, window.user_modules) if changes else [],
            _SHARED: shared,
            _OF_LIBRARIES: self._containers.now(),
        }

    def _not_of_variables(self, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Values in modules; None for those that hold what variables hold: a copy would be set."""
        return {
            place: None
            if type(value) is list and self.shared.is_held_by_variables(place)
            else value
            for place, value in changes.items()
        }

    def why_not(self, recorded: Mapping[str, Any]) -> str | None:
        """Reason why what a step did cannot be repeated; None if there is none."""
        for place, plain in recorded.get(_MODULES, {}).items():
            if plain is None:
                return f"it changes {place!r}, which is no variable of the notebook"
        return None

    def restored(self, recorded: Mapping[str, Any]) -> list[str]:
        """Set again what a step set; a text for each.

        Raises
        ------
        UnrepeatableError
            If a module holds something else that no record can set.
        """
        state = recorded.get(_MODULES, {})
        self.shared.wanted = dict(recorded.get(_SHARED, {}))
        self._containers.want(recorded.get(_OF_LIBRARIES, {}))
        changed = (value["is"] for value in state.values() if type(value) is dict)
        self.shared.changed = frozenset(changed)
        values = {place: value[0] for place, value in state.items() if type(value) is list}
        texts = self._modules.set_all(values, recorded.get(_ANEW, ()))
        if place := other_state(state):
            message = f"{place!r} is not as the step left it"
            raise UnrepeatableError(message)
        return texts

    def at_other_places(self, names: Collection[str]) -> set[str]:
        """Those of some variables that are an object of a module now, and are to be another one."""
        now, wanted = self.shared.now(names), self.shared.wanted
        parted = {name for name, place in now.items() if wanted.get(name) != place}
        return parted | self._containers.at_other_places(names)

    def bound(self, names: set[str]) -> None:
        """Make variables that were brought back one with the modules' objects that they were."""
        if self.shared.wanted:
            self._modules.reached(None)
            wanted = self.shared.wanted
            self._modules.changed({wanted[n]: None for n in self.shared.changed if n in wanted})
            self._modules.not_set(self.shared.unite(names))

    def standing(self) -> dict[str, Json]:
        """State of modules, and variables that are objects there, that a move has to set."""
        found: dict[str, Json] = {
            _MODULES: self._modules.standing(),
            _SHARED: self.shared.now(),
            _OF_LIBRARIES: self._containers.now(),
        }
        return {member: value for member, value in found.items() if value}

    def go_to(self, wanted: dict[str, Any]) -> list[str]:
        """Set what a moment wanted, and take it out of `wanted`; a text for each that was set."""
        shared: dict[str, Any] = dict(wanted.pop(_SHARED, {}))
        self.shared.wanted, self.shared.changed = shared, frozenset()
        self._containers.want(cast("Any", wanted.pop(_OF_LIBRARIES, {})))
        return self._modules.go_to(wanted.pop(_MODULES, {}), frozenset(shared.values()))

    @property
    def unset(self) -> tuple[str, ...]:
        """Values that a move could not set."""
        return self._modules.unset
