"""Attachments of the notebook to libraries, and its changes in modules beside it.

A step that attaches something is not restored: it runs, since no checkpoint holds its effect. The
steps after it count the attachments that they can reach.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any, cast

from nbckpt.capture.observation.attached import source_of
from nbckpt.capture.observation.attached_places import AttachedPlaces
from nbckpt.capture.observation.harmless_cells import is_harmless
from nbckpt.capture.observation.last_look import LastLook
from nbckpt.capture.observation.library_changes import LibraryChanges
from nbckpt.capture.observation.module_effects import ModuleEffects, ModulesWindow
from nbckpt.capture.observation.observer import Ran
from nbckpt.capture.observation.ownership import modules_beside
from nbckpt.capture.observation.reattacher import Reattacher
from nbckpt.capture.observation.registering import inner_stores, registering_calls
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint.code import names_of_tree
from nbckpt.fingerprint.keys.inputs import MODULE
from nbckpt.fingerprint.user_names import Own


@dataclass(frozen=True)
class _Window:
    """Attachments when a step began."""

    tokens: Mapping[str, str]
    inputs: Mapping[str, Digest]
    modules: ModulesWindow


class Attachments(Own):
    """The facet of what libraries hold of the notebook.

    Attributes
    ----------
    changes
        Tells what changes in libraries.
    places
        What is attached now, and what was.
    effects
        What steps change in modules beside the notebook.

    Parameters
    ----------
    namespace
        The live variables.
    touch
        Is told which variables code can have changed that libraries call; None for any.
    """

    name = "attachments"

    def __init__(
        self,
        namespace: MutableMapping[str, object],
        touch: Callable[[frozenset[str] | None], object] = lambda _: None,
    ) -> None:
        self.namespace = namespace
        self.touch = touch
        self.changes = LibraryChanges(namespace)
        self.places = AttachedPlaces(namespace, self.changes.libraries)
        self.effects = ModuleEffects(namespace, self.changes)
        self._reattacher = Reattacher(namespace, self.changes.libraries, self.places, self._look)
        self._last_look = LastLook()
        self._harmless: list[bool] = []
        self._is_closed = False
        self._has_run = False
        self._n_modules = 0

    # -- looking ----------------------------------------------------------------------------

    def cell_begins(self, tree: ast.Module) -> None:
        """Take note of what changed while no cell ran."""
        self._has_run = True
        self._look_again(None)
        self._last_look.cell_begins()
        self._harmless.append(is_harmless(tree, self.namespace))
        if not self._harmless[-1]:
            self.changes.containers.begins(tree, inside=len(self._harmless) > 1)

    def cell_ends(self, tree: ast.Module) -> None:
        """Take note of what the cell attached."""
        is_harmless_cell = bool(self._harmless) and self._harmless.pop()
        if not is_harmless_cell:
            self._look(tree)
            self.changes.containers.variables.learn(tree)
        self._last_look.taken()
        if not self._harmless:  # else it was a cell within another one
            self._last_look.cell_ends()
        if not (is_harmless_cell or self._is_closed):
            self.changes.modules.reached(None)
        self._is_closed = False
        if not is_harmless_cell:
            for told in (
                *registering_calls(tree, self.namespace),
                *inner_stores(tree, self.namespace),
            ):
                self.places.add(told)
        if not is_harmless_cell and (shared := self.effects.shared.now()):
            self.touch(frozenset(shared))  # by code of their modules
        self._touch_of_process()
        for attached in self.places.now.values():
            if (names := attached.touches(self.namespace)) is None or names:
                self.touch(names)

    def may_rest(self) -> bool:
        """True if there is nothing to see yet: no code has run but that of libraries' imports.

        A kernel in which all cells are restored need not look through the modules they import.
        """
        if not self._has_run and len(sys.modules) != self._n_modules:
            self._n_modules = len(sys.modules)
            self._has_run = bool(modules_beside())
        return not self._has_run

    def was_restored(self, tree: ast.Module) -> None:
        """Take note of the code of a cell that was restored: its functions may be called."""
        self.changes.functions.learn(tree)
        self._touch_of_process()

    def _touch_of_process(self) -> None:
        """Have variables looked at that are containers of the process: who sets it names others."""
        if names := self.changes.containers.variables.of_process():
            self.touch(frozenset(names))

    def ran_unseen(self) -> None:
        """Take note that code ran which is no cell's."""
        self._has_run = True

    def look(self) -> None:
        """Look now, as no cell runs: a later look takes less."""
        self._look_again(None)

    def _look_again(self, tree: ast.Module | None) -> None:
        """Look, unless no cell runs and a look was just taken."""
        if not self._last_look.holds:
            self._look(tree)
            self._last_look.taken()

    def _look(self, tree: ast.Module | None) -> None:
        counted = self.changes.look(tree, self.places.now)
        source = source_of(tree) if counted else ""
        for change in counted:
            self.places.note(change, source)

    # -- inputs and effects of steps ----------------------------------------------------------

    def open(self) -> object:
        """Return a window with the attachments when a step begins."""
        self._has_run = True
        self._look_again(None)
        self.changes.step_begins()
        return _Window(
            tokens={where: attached.token for where, attached in self.places.now.items()},
            inputs=self.places.digests(self.places.now),
            modules=self.effects.open(),
        )

    def close(self, window: object, ran: Ran) -> Json:
        """Record of attachments that the step can reach, and of its own attachments and changes."""
        assert isinstance(window, _Window)
        self._look_again(ran.tree)
        places, now = self.places, self.places.now
        tokens = {where: attached.token for where, attached in now.items()}
        did = [w for w in {**window.tokens, **tokens} if tokens.get(w) != window.tokens.get(w)]
        inside = places.reached(window.inputs, ran) if window.inputs else {}
        stay = {w for w in inside if w not in did and w in now and now[w].is_data}
        after = places.digests(dict.fromkeys(stay)) if stay else {}
        did += [w for w in stay if after.get(w) != inside[w]]
        found: dict[str, Json] = {
            "in": inside,
            "did": {w: places.done(w, is_changed=w in stay) for w in sorted(did)},
            **self.effects.close(window.modules, ran, self._modules_reached(ran)),
        }
        self._is_closed = True
        return {member: value for member, value in found.items() if value} or None

    def _modules_reached(self, ran: Ran) -> Iterable[str] | None:
        """The modules beside the notebook whose code a step can have run; None: any."""
        if self.places.now or names_of_tree(ran.tree, ran.namespace).everything:
            return None
        return [f.removeprefix(MODULE) for f in ran.key.functions if f.startswith(MODULE)]

    def discard(self, window: object) -> None:
        """Nothing is collected."""

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Reason not to restore: the step attaches something, or reaches other attachments now."""
        recorded = cast("Mapping[str, Any]", observed or {})
        for done in recorded.get("did", {}).values():
            if "plain" not in done:
                does = "changes" if done.get("inside") else "sets"
                return f"it {'takes away' if done.get('gone') else does} {done['what']}"
        if why := self.effects.why_not(recorded):
            return why
        then = recorded.get("in", {})
        if not self._has_run and not self.places.now and not then:
            return None
        self._look(None)
        if not self.places.now and not then:
            return None
        now = self.places.digests(self.places.reached(self.places.now, ran))
        for where in sorted({*now, *then}):
            if now.get(where) != then.get(where):
                change = "another now" if where in now and where in then else (
                    "new" if where in now else "not there now"
                )  # fmt: skip
                return f"{self.places.named(where)}, which the notebook attached, is {change}"
        return None

    def restored(self, observed: Json) -> Sequence[str]:
        """Set the plain values again that the step set on modules."""
        recorded = cast("Mapping[str, Any]", observed or {})
        texts = []
        for where, done in recorded.get("did", {}).items():
            if "plain" in done and self._reattacher.set_plain(where, done):
                texts.append(done["what"])
        return [*texts, *self.effects.restored(recorded)]

    def at_other_places(self, names: Collection[str]) -> set[str]:
        """Those of some variables that are an object of a module now, and are to be another one."""
        return self.effects.at_other_places(names)

    def why_not_bound(self, bound: set[str], made: set[str]) -> list[str]:
        """Reasons why variables cannot be brought back as the objects of modules they were."""
        return self.effects.shared.why_not(bound, made)

    def bound(self, names: set[str]) -> None:
        """Make variables that were brought back one with the modules' objects that they were."""
        self.changes.containers.variables.unite(names)
        self._reattacher.register_again()
        self.effects.bound(names)

    def replaced(self, pairs: Sequence[tuple[object, object]]) -> None:
        """Have libraries hold new objects of the notebook where they hold old ones."""
        if self.places.has_met_any:
            self._look(None)  # what changed until now counts; what is put here does not
            self.places.replaced(pairs)
            self.changes.libraries.look()

    def why_not_replaced(self, pairs: Sequence[tuple[object, object]]) -> list[str]:
        """Reasons why a library would go on with an old object of the notebook."""
        if self.effects.shared.are_held_inside([old for old, _ in pairs]):
            return ["a module beside the notebook may hold what it changes"]
        return self.places.why_not_replaced(pairs)

    def inside_modules(self, ran: Ran) -> Mapping[int, object] | None:
        """Objects in the modules that a step reaches: id → object; None if there are too many."""
        if not self.changes.libraries.user_modules:
            return {}
        return self.effects.shared.inside(self._modules_reached(ran))

    def holders(self) -> Iterator[tuple[str, list[object]]]:
        """Attachments that may hold objects that a cell can get at, each with its value."""
        return self.places.holders()

    # -- moves ------------------------------------------------------------------------------

    def standing(self) -> Json:
        """Attachments now, each with the code that made it."""
        return {**self.places.standing(), **self.effects.standing()} or None

    def go_to(self, standing: Json) -> Sequence[str]:
        """Put back what was attached then; what another process attached is missing."""
        wanted = dict(cast("Mapping[str, Mapping[str, Any]]", standing or {}))
        self._look(None)
        self.places.missing = {}
        texts = self.effects.go_to(wanted)
        texts += self._reattacher.go_to(wanted)
        return [text for text in texts if text not in self.unset]

    @property
    def unset(self) -> tuple[str, ...]:
        """Attachments and values that a move could not set, with the code to run for them."""
        return (*self.places.unset(), *self.effects.unset)

    def to_run(self) -> Iterator[str]:
        """The code of cells that attached what is missing, each once, in their order."""
        return self.places.to_run()
