"""Process state as a facet: what of it a step met, what the step changed, and setting that."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from nbckpt.capture.observation.last_look import LastLook
from nbckpt.capture.observation.observer import Ran
from nbckpt.capture.observation.process_state.kinds import (
    ABSENT,
    ANYTHING,
    IS_ABSENT,
    IS_AS_BEFORE,
    MARK,
    Change,
    Kind,
    Reading,
    is_settable,
    names_variable,
    short_digest,
)
from nbckpt.capture.observation.process_state.readings import Readings
from nbckpt.capture.observation.replacing import Replacement
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint.names import Own

State: TypeAlias = Mapping[str, Mapping[str, Json]]
"""Name of a kind → item → value, or its digest."""

_MANY = 3


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
        self._waiting: dict[str, dict[str, Json]] = {}  # to be set once variables are there
        self._windows: list[_Window] = []
        self._named: set[str] = set()
        self._last_look = LastLook()
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
        window = _Window(dict(self._readings.now), self._read_by_code(self._readings.kinds))
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
        done = self._changed_since(window.before)
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
        if why := self._unsettable(done):
            return why
        if why := self._read_otherwise(_state(record, "read")):
            return why
        differing = self._differing(met, done, ran.tree)
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
        return self._set_but_waiting(_state(record, "set"))

    def bound(self, names: set[str]) -> Sequence[str]:  # noqa: ARG002
        """Set what waited for variables; they are there now, or will not be."""
        waiting, self._waiting = self._waiting, {}
        return self._set(waiting, with_originals=True)

    def replaced(self, pairs: Sequence[tuple[object, object]]) -> None:
        """Have the process hold new objects of the notebook where it holds old ones."""
        holders = [h for _, held in self.holders() for h in held]
        originals = self._readings.originals
        if not (holders or originals):
            return
        from nbckpt.capture.observation.process_state.held_objects import mapped, objects_in

        replacement = Replacement(pairs)
        kept = [o for v in originals.values() for o in objects_in(v, self._namespace)]
        replacement.put_into([*holders, *kept])
        originals.update({key: mapped(v, replacement.of) for key, v in originals.items()})
        for name, reading in list(self._readings.now.items()):
            changed = {item: (v, replacement.of(v)) for item, v in reading.changed.items()}
            if new := {item: new for item, (old, new) in changed.items() if new is not old}:
                self._apply(self._readings.kinds[name], new)
        self._readings.look(None, has_set=True)
        self._last_look.forget()

    def why_not_replaced(self, pairs: Sequence[tuple[object, object]]) -> list[str]:
        """Reasons why the process would go on with old objects of the notebook."""
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
        return self._set_but_waiting(target, with_originals=True)

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
            from nbckpt.capture.observation.called_back import touched_by

            self._touch(touched_by(held.values(), self._namespace))

    def _kinds_of(self, names: Iterable[str]) -> list[Kind]:
        return [self._readings.kinds[name] for name in names if name in self._readings.kinds]

    def _read_by_code(self, names: Iterable[str]) -> dict[str, dict[str, Digest]]:
        """Kind → item that holds code of the notebook → digest of the variables that it reads."""
        from nbckpt.capture.observation.process_state.held_objects import reads_of

        now = self._readings.now
        read = {n: reads_of(now[n], self._namespace) for n in names if n in now and now[n].changed}
        return {name: items for name, items in read.items() if items}

    def _read_otherwise(self, read: State) -> str | None:
        """Reason not to restore: the code in a setting reads something else than it did then."""
        now = self._read_by_code(read)
        for name, items in read.items():
            kind = self._readings.kinds.get(name)
            for item, digest in items.items():
                if kind is not None and now.get(name, {}).get(item, digest) != digest:
                    return f"process state: what the code in {kind.text(item)} reads is another now"
        return None

    def _counted(
        self, name: str, items: Mapping[str, str], reach: Collection[str]
    ) -> dict[str, str]:
        kind = self._readings.kinds[name]
        return {i: d for i, d in items.items() if kind.reach_of(i) in (ANYTHING, *reach)}

    def _changed_since(self, before: Mapping[str, Reading]) -> dict[str, dict[str, Json]]:
        found: dict[str, dict[str, Json]] = {}
        for name, now in self._readings.now.items():
            was = before.get(name)
            if was is now:
                continue
            old = {} if was is None else was.changed
            items = [
                item
                for item in (*old, *(i for i in now.changed if i not in old))
                if was is None
                or (
                    was.digest(item) != now.digest(item)
                    and not now.kind.is_one(was.changed.get(item), now.changed.get(item))
                )
            ]
            if items:
                found[name] = {item: now.encoded(item) for item in items}
        return found

    # -- comparing ------------------------------------------------------------------------------

    def _differing(self, met: State, done: State, tree: ast.Module) -> list[tuple[str, str]]:
        from nbckpt.capture.observation.process_state.reach import sets_first

        found = []
        for name in dict.fromkeys((*met, *self._readings.now)):
            now, then = self._readings.now.get(name), met.get(name, {})
            live = now.digests() if now is not None else {}
            for item in dict.fromkeys((*then, *live)):
                digest = self._readings.digest(name, item)
                if digest == then.get(item) or (item not in then and item not in live):
                    continue
                own = done.get(name, {}).get(item)
                is_set = own is not None and short_digest(own) == digest
                if not (is_set and sets_first(tree, self._readings.kinds[name], item)):
                    found.append((name, item))
        return found

    def _unsettable(self, done: State) -> str | None:
        for name, items in done.items():
            kind = self._readings.kinds.get(name)
            for item, value in items.items():
                if kind is None:
                    return f"it sets {name} {item}, which this nbckpt does not know"
                is_secret = isinstance(value, dict) and value.get(MARK) == "secret"
                if is_secret and self._readings.digest(name, item) == short_digest(value):
                    continue
                if not is_settable(value):
                    return f"it sets {kind.text(item)}, which cannot be set from a record"
        return None

    # -- setting --------------------------------------------------------------------------------

    def _set_but_waiting(self, target: State, *, with_originals: bool = False) -> list[str]:
        """Set items; those that are variables wait for these."""
        self._waiting = {}
        at_once: dict[str, dict[str, Json]] = {}
        for name, items in target.items():
            for item, value in items.items():
                into = self._waiting if names_variable(value) else at_once
                into.setdefault(name, {})[item] = value
        return self._set(at_once, with_originals=with_originals)

    def _set(self, target: State, *, with_originals: bool = False) -> list[str]:
        """Set items where they are other ones; a text for each."""
        if not target:
            return []
        self._last_look.forget()
        texts: list[str] = []
        for name, kind in self._readings.kinds.items():
            if name not in target:
                continue
            problem = self._loaded(kind)
            differing = {
                item: value
                for item, value in target[name].items()
                if problem or self._is_other(kind, item, value)
            }
            if not differing:
                continue
            done = [] if problem else self._put(kind, differing, with_originals=with_originals)
            if kind.is_told:
                texts += _told(kind, done)
                texts += self._not_set(kind, [i for i in differing if i not in done], problem)
        self._readings.look(None, has_set=True)
        return texts

    def _loaded(self, kind: Kind) -> str:
        """Import the library of a kind; why it cannot be, if so."""
        if kind.module not in sys.modules:
            try:
                __import__(kind.module)
            except Exception as error:  # whatever an import raises
                return str(error)
        self._readings.look(None)
        return ""

    def _is_other(self, kind: Kind, item: str, value: Json) -> bool:
        now = self._readings.now.get(kind.name)
        if now is None:
            return value != IS_AS_BEFORE
        if value == IS_AS_BEFORE:
            return item in now.changed
        return now.digest(item) != short_digest(value)

    def _put(self, kind: Kind, items: Mapping[str, Json], *, with_originals: bool) -> list[str]:
        """Set items of one kind together, else one by one; those that were set."""
        values: dict[str, Any] = {}
        for item, value in items.items():
            with suppress(Exception):  # one that cannot be set is named
                values[item] = self._value(kind, item, value, with_originals=with_originals)
        for some in (values, *({i: v} for i, v in values.items())):
            with suppress(Exception):
                self._apply(kind, some)
            self._readings.look(None, has_set=True)
            if not any(self._is_other(kind, item, items[item]) for item in values):
                break
        return [item for item in values if not self._is_other(kind, item, items[item])]

    def _value(self, kind: Kind, item: str, value: Json, *, with_originals: bool) -> Any:
        if value == IS_AS_BEFORE:
            return IS_AS_BEFORE
        if value == IS_ABSENT:
            return ABSENT
        if not is_settable(value) and with_originals:
            return self._readings.originals[kind.name, item, short_digest(value)]
        return kind.decoded(item, value)

    def _apply(self, kind: Kind, items: Mapping[str, Any]) -> None:
        if not items:
            return
        baseline = self._readings.baselines.get(kind.name, {})
        now = self._readings.now.get(kind.name)
        target = dict(now.changed) if now is not None else {}
        values: dict[str, Any] = {}
        gone: list[str] = []
        for item, value in items.items():
            was = baseline.get(item, ABSENT)
            new = was if value is IS_AS_BEFORE else value
            target[item] = new
            if value is IS_AS_BEFORE or (new is ABSENT and was is ABSENT):
                del target[item]
            if new is ABSENT:
                gone.append(item)
            else:
                values[item] = new
        kind.put(sys.modules[kind.module], Change(values, gone, target, baseline))

    def _not_set(self, kind: Kind, items: Sequence[str], problem: str) -> list[str]:
        new = [item for item in items if kind.text(item) not in self._named]
        self._named.update(kind.text(item) for item in new)
        why = f" ({problem})" if problem else ""
        return [f"NOT {text}{why}" for text in _told(kind, new)]


def unsettable(observed: Json) -> str | None:
    """Why what a step has set cannot be set from its record; None if it can."""
    done = _state(observed, "set") if isinstance(observed, dict) else {}
    for name, items in done.items():
        for item, value in items.items():
            if not is_settable(value):
                return f"it sets {name} {item}".rstrip() + ", which cannot be set from a record"
    return None


def _told(kind: Kind, items: Sequence[str]) -> list[str]:
    if len(items) > _MANY:
        return [f"{kind.name} ({len(items)} settings)"]
    return [kind.text(item) for item in items]


def _state(record: Mapping[str, Any], member: str) -> State:
    """A member of a record that holds state; empty where it has another shape."""
    found = record.get(member)
    if not isinstance(found, dict):
        return {}
    return {n: items for n, items in found.items() if isinstance(items, dict)}
