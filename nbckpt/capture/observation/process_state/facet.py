"""Process state as a facet: what of it a step met, what the step changed, and setting that."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbckpt.capture.observation.last_look import LastLook
from nbckpt.capture.observation.observer import Ran
from nbckpt.capture.observation.process_state.kinds import ANYTHING, Kind, Reading
from nbckpt.capture.observation.process_state.readings import Readings
from nbckpt.capture.observation.process_state.state_differences import StateDifferences
from nbckpt.capture.observation.process_state.state_json import IS_AS_BEFORE, State, is_settable
from nbckpt.capture.observation.process_state.state_setter import StateSetter
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint.user_names import Own


@dataclass(eq=False)
class _Window:
    before: dict[str, Reading]
    read: dict[str, dict[str, Digest]]
    is_shown: bool = False


class ProcessState(Own):
    """The process state of one session.

    Parameters
    ----------
    kinds
        What of the process is looked at, in the order in which it is set.
    namespace
        The live variables.
    touch
        Is told which variables code can have changed that the process calls; None for any.
    """

    name = "process state"

    def __init__(
        self,
        kinds: Iterable[Kind],
        namespace: Mapping[str, object],
        touch: Callable[[frozenset[str] | None], object] = lambda _: None,
    ) -> None:
        self._readings = Readings(kinds, namespace)
        self._namespace = namespace
        self._touch = touch
        self._met: Mapping[str, Reading] = {}  # as the cell began
        self._windows: list[_Window] = []
        self._last_look = LastLook()
        self._setter = StateSetter(self._readings, self._last_look.forget)
        self._differences = StateDifferences(self._readings, namespace)
        self._is_known = False  # how the state was as the cell began

    # -- around cells and steps ---------------------------------------------------------------

    def cell_begins(self, tree: ast.Module) -> None:  # noqa: ARG002
        """Forget that a look was just taken."""
        self._is_known = self._last_look.holds
        self._met = dict(self._readings.now)
        self._last_look.cell_begins()

    def cell_ends(self, tree: ast.Module) -> None:
        """Tell what imports of the cell have set from what its code has."""
        if not tree.body:  # it was restored
            self._last_look.cell_ends()
            return
        from nbckpt.capture.observation.process_state.reach import (
            can_act,  # not what a resume needs
        )

        if not self._is_known or can_act(tree) or self._holds_any():
            self._readings.look(tree)
        self._tell_touched(self._met)
        self._last_look.cell_ends()
        self._last_look.taken()
        if any(r.changed and r.kind.acts_between_cells for r in self._readings.now.values()):
            self._last_look.forget()

    def open(self) -> object:
        """A window that knows the state now."""
        self._look_again(None)
        window = _Window(
            dict(self._readings.now), self._differences.read_by_code(self._readings.kinds)
        )
        self._windows.append(window)
        return window

    def close(self, window: object, ran: Ran) -> Json:
        """The state that a step met, and what it changed."""
        from nbckpt.capture.observation.process_state.reach import can_act, reach_of

        assert isinstance(window, _Window)
        if can_act(ran.tree) or self._holds_any():
            self._look_again(ran.tree)
        self._tell_touched(window.before)
        met = {n: r.digests() for n, r in window.before.items() if r.changed}
        done = self._differences.since(window.before)
        is_shown = ran.is_shown or window.is_shown
        reach: frozenset[str] | None = None
        if met and any(k.reach != ANYTHING for k in self._kinds_of(met)):
            reach = reach_of(ran.tree, ran.namespace, is_shown=is_shown)
            met = {name: self._counted(name, items, reach) for name, items in met.items()}
        read = {
            name: {item: digest for item, digest in items.items() if item in met.get(name, {})}
            for name, items in window.read.items()
        }
        found: dict[str, Json] = {
            "met": {name: items for name, items in met.items() if items},
            "read": {name: items for name, items in read.items() if items},
            "set": done,
            "shown": is_shown,
        }
        record = {member: value for member, value in found.items() if value}
        # What names are bound to is another after the step than before: asked once, it stays.
        return record if reach is None else {**record, "reach": sorted(reach)}

    def discard(self, window: object) -> None:
        """Know nothing more of a window."""
        self._windows = [w for w in self._windows if w is not window]

    # -- a step that may be restored ------------------------------------------------------------

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Reason not to restore: a state that the step met differs, or its own cannot be set."""
        record = observed if isinstance(observed, dict) else {}
        self._look_again(None)
        met, done = _state(record, "met"), _state(record, "set")
        if why := self._differences.unsettable(done):
            return why
        if why := self._differences.read_otherwise(_state(record, "read")):
            return why
        differing = self._differences.differing(met, done, ran.tree)
        if not differing:
            return None
        from nbckpt.capture.observation.process_state.reach import reach_of

        reach = record.get("reach")
        if not isinstance(reach, list):
            is_shown = bool(record.get("shown"))
            reach = [*reach_of(ran.tree, ran.namespace, is_shown=is_shown)]
        for name, item in differing:
            if name not in self._readings.kinds:
                return f"process state: {name} was met, which this nbckpt does not know"
            if self._readings.kinds[name].reach_of(item) in (ANYTHING, *reach):
                return f"process state: {self._readings.kinds[name].text(item)} is another now"
        return None

    def restored(self, observed: Json) -> Sequence[str]:
        """Set what a step has set; what it met counts for the steps around it, too."""
        record = observed if isinstance(observed, dict) else {}
        for window in self._windows:
            window.is_shown |= bool(record.get("shown"))
        return self._setter.set_but_waiting(_state(record, "set"))

    def bound(self, names: set[str]) -> Sequence[str]:  # noqa: ARG002
        """Set what waited for variables; they are there now, or will not be."""
        return self._setter.set_waiting()

    def replaced(self, pairs: Sequence[tuple[object, object]]) -> None:
        """Have the process hold new objects of the notebook where it holds old ones."""
        holders = [h for _, held in self.holders() for h in held]
        originals = self._readings.originals
        if not (holders or originals):
            return
        from nbckpt.capture.observation.process_state.held_objects import mapped, objects_in
        from nbckpt.capture.observation.replacing import Replacement

        replacement = Replacement(pairs)
        kept = [o for v in originals.values() for o in objects_in(v, self._namespace)]
        replacement.put_into([*holders, *kept])
        originals.update({key: mapped(v, replacement.of) for key, v in originals.items()})
        for name, reading in list(self._readings.now.items()):
            changed = {item: (v, replacement.of(v)) for item, v in reading.changed.items()}
            if new := {item: new for item, (old, new) in changed.items() if new is not old}:
                self._setter.apply(self._readings.kinds[name], new)
        self._readings.look(None, has_set=True)
        self._last_look.forget()

    def why_not_replaced(self, pairs: Sequence[tuple[object, object]]) -> list[str]:
        """Reasons why the process would go on with old objects of the notebook."""
        from nbckpt.capture.observation.replacing import Replacement

        replacement = Replacement(pairs)
        return [
            f"{name} holds what it changes, in a place that nothing else can be put into"
            for name, held in self.holders()
            if replacement.misses([h for h in held if replacement.of(h) is h], self._namespace)
        ]

    def _holds_any(self) -> bool:
        """True if the process holds an object of the notebook: its name tells which one it is."""
        return any(
            reading.held is None or reading.held
            for reading in self._readings.now.values()
            if reading.changed
        )

    def holders(self) -> Iterator[tuple[str, list[object]]]:
        """The name of each kind that holds objects of the notebook → what holds them."""
        for kind, held in self._held_by(self._readings.now.values()):
            yield kind.name, list(kind.holders(sys.modules[kind.module])) or held

    def _held_by(self, readings: Iterable[Reading]) -> Iterator[tuple[Kind, list[object]]]:
        """The objects of the notebook that each kind holds; kinds without any are left out."""
        for reading in readings:
            if reading.changed:
                from nbckpt.capture.observation.process_state.held_objects import held_in

                held = held_in(reading, self._namespace)
                if held:
                    yield reading.kind, [o for objects in held.values() for o in objects]

    # -- moves ----------------------------------------------------------------------------------

    def standing(self) -> Json:
        """All that differs from the baseline."""
        self._look_again(None)
        return {
            name: {item: reading.encoded(item) for item in reading.changed}
            for name, reading in self._readings.now.items()
            if reading.changed
        }

    def go_to(self, standing: Json) -> Sequence[str]:
        """Set all of a moment, and put back what it does not name."""
        self._readings.look(None)
        wanted = _state({"at": standing}, "at")
        target: dict[str, dict[str, Json]] = {}
        for name in self._readings.kinds:
            now, then = self._readings.now.get(name), wanted.get(name, {})
            back = now.changed.keys() - then.keys() if now is not None else ()
            items: dict[str, Json] = {**dict.fromkeys(back, IS_AS_BEFORE), **then}
            if items:
                target[name] = items
        return self._setter.set_but_waiting(target, with_originals=True)

    # -- looking --------------------------------------------------------------------------------

    def _look_again(self, tree: ast.Module | None) -> None:
        """Look, unless a cell has just ended."""
        if not self._last_look.holds:
            self._readings.look(tree)
            self._last_look.taken()

    def _tell_touched(self, before: Mapping[str, Reading]) -> None:
        """Tell which variables can have changed by objects that the process held, or does now."""
        readings = (*before.values(), *self._readings.now.values())
        held = {id(o): o for _, objects in self._held_by(readings) for o in objects}
        if held:
            from nbckpt.capture.observation.callback_changes import touched_by

            self._touch(touched_by(held.values(), self._namespace))

    def _kinds_of(self, names: Iterable[str]) -> list[Kind]:
        return [self._readings.kinds[name] for name in names if name in self._readings.kinds]

    def _counted(
        self, name: str, items: Mapping[str, str], reach: Collection[str]
    ) -> dict[str, str]:
        kind = self._readings.kinds[name]
        return {i: d for i, d in items.items() if kind.reach_of(i) in (ANYTHING, *reach)}


def unsettable(observed: Json) -> str | None:
    """Why what a step has set cannot be set from its record; None if it can."""
    done = _state(observed, "set") if isinstance(observed, dict) else {}
    for name, items in done.items():
        for item, value in items.items():
            if not is_settable(value):
                return f"it sets {name} {item}".rstrip() + ", which cannot be set from a record"
    return None


def _state(record: Mapping[str, Any], member: str) -> State:
    """A member of a record that holds state; empty where it has another shape."""
    found = record.get(member)
    if not isinstance(found, dict):
        return {}
    return {n: items for n, items in found.items() if isinstance(items, dict)}
