"""Differences between process state now and the state that a record tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from nbckpt.capture.observation.process_state.kinds import Reading
from nbckpt.capture.observation.process_state.readings import Readings
from nbckpt.capture.observation.process_state.state_json import (
    MARK,
    State,
    is_settable,
    short_digest,
)
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint.user_names import Own


class StateDifferences(Own):
    """Compares the last readings with earlier ones, and with records."""

    def __init__(self, readings: Readings, namespace: Mapping[str, object]) -> None:
        self._readings = readings
        self._namespace = namespace

    def since(self, before: Mapping[str, Reading]) -> dict[str, dict[str, Json]]:
        """Items that differ from earlier readings, as a record tells them now."""
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

    def read_by_code(self, names: Iterable[str]) -> dict[str, dict[str, Digest]]:
        """Kind → item that holds code of the notebook → digest of the variables that it reads."""
        from nbckpt.capture.observation.process_state.held_objects import reads_of

        now = self._readings.now
        read = {n: reads_of(now[n], self._namespace) for n in names if n in now and now[n].changed}
        return {name: items for name, items in read.items() if items}

    def read_otherwise(self, read: State) -> str | None:
        """Reason not to restore: the code in a setting reads something else than it did then."""
        now = self.read_by_code(read)
        for name, items in read.items():
            kind = self._readings.kinds.get(name)
            for item, digest in items.items():
                if kind is not None and now.get(name, {}).get(item, digest) != digest:
                    return f"process state: what the code in {kind.text(item)} reads is another now"
        return None

    def differing(self, met: State, done: State, tree: ast.Module) -> list[tuple[str, str]]:
        """Kinds and items that are not as a step met them; not those that it sets itself first."""
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

    def unsettable(self, done: State) -> str | None:
        """Reason why what a step set cannot be set from its record; None if it can."""
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
