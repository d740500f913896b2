"""The places in libraries that hold something of the notebook, and what they held before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nbckpt.capture.observation.attached import Attached, standing_of, what_of
from nbckpt.capture.observation.changes import UNKNOWN, Change
from nbckpt.capture.observation.container_contents import Refill
from nbckpt.capture.observation.harmless_cells import is_inert
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.observer import Ran
from nbckpt.capture.observation.replacing import Replacement
from nbckpt.capture.observation.words_of_code import words_of_all, words_of_tree
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint.keys.inputs import MODULE
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.user_code_errors import user_code_errors

_HELD = 50
"""Objects that were attached to one place and are held, so that a rewind can put them back."""


class AttachedPlaces(Own):
    """Places with what is attached now, what was, and what the libraries had there first.

    Attributes
    ----------
    now
        Place → what is attached to it.
    missing
        Place → what another process attached to it, as a record tells it.
    """

    def __init__(self, namespace: Mapping[str, object], libraries: Libraries) -> None:
        self.now: dict[str, Attached] = {}
        self.missing: dict[str, Mapping[str, Any]] = {}
        self._namespace = namespace
        self._libraries = libraries
        self._originals: dict[str, Change] = {}
        self._held: dict[str, dict[str, Attached]] = {}

    def note(self, change: Change, source: str) -> None:
        """Take note of a change that the notebook made, by the code of the cell."""
        where = change.where
        known = self.now.get(where)
        is_same = known is not None and known.change is not None and known.change.new is change.new
        if is_same and type(change.put) is not Refill:  # else it holds something else
            return
        original = self._originals.setdefault(where, change)
        if type(change.put) is Refill and type(original.put) is not Refill:
            return  # what the notebook has put there counts by what it holds
        self.missing.pop(where, None)
        if change.new is original.old:
            self.now.pop(where, None)
            return
        change = change._replace(old=original.old)
        self.add(Attached(where, what_of(change), source, change))

    def add(self, attached: Attached) -> None:
        """Take note of what is attached from now on."""
        self.now[attached.where] = attached
        self.missing.pop(attached.where, None)
        held = self._held.setdefault(attached.where, {})
        held[attached.token] = attached
        for token in list(held)[:-_HELD]:
            del held[token]

    @property
    def has_met_any(self) -> bool:
        """True if anything was ever attached."""
        return bool(self._held)

    def earlier(self, where: str, token: str) -> Attached | None:
        """The object that was attached to a place under a token, if it is still held."""
        return self._held.get(where, {}).get(token)

    def named(self, where: str) -> str:
        """A place, for people."""
        if where in self.now:
            return self.now[where].what
        if where in self.missing:
            return str(self.missing[where].get("what"))
        kind, owner, name = where.split(" ", 2)
        return what_of(Change(kind, owner, name, name, None, None, None))  # type: ignore[arg-type]

    def done(self, where: str, *, is_changed: bool) -> Json:
        """Record of what a step did to a place: attached, changed inside, or took away."""
        attached = self.now.get(where)
        if attached is not None and is_changed:
            return {"what": attached.what, "inside": True}
        if attached is not None:
            return attached.as_json()
        return {"what": what_of(self._originals[where]), "gone": True}

    def digests(self, places: Mapping[str, object]) -> dict[str, Digest]:
        """The digests of what is attached to some places, as far as cells can see it."""
        attached = {where: self.now[where] for where in places if where in self.now}
        return {w: a.digest(self._namespace) for w, a in attached.items() if a.is_input}

    def reached(self, places: Mapping[str, Any], ran: Ran) -> dict[str, Any]:
        """Those of some places that the code of a step can reach."""
        if not places or is_inert(ran.tree, ran.namespace):
            return {}
        if any(name.startswith(MODULE) for name in ran.key.functions):
            return dict(places)
        words = words_of_tree(ran.tree) | words_of_all(ran.namespace)
        held = {where: next(reversed(self._held[where].values())) for where in places}
        return {
            w: found for w, found in places.items() if not held[w].name or held[w].name in words
        }

    def put_original(self, where: str) -> bool:
        """Put back what a library had; whether that was possible."""
        original = self._originals.get(where)
        if original is None or original.put is None or original.old is UNKNOWN:
            return False
        if not _is_put(original, original.old):
            return False
        self.now.pop(where, None)
        return True

    def put(self, held: Attached) -> bool:
        """Put back what the notebook had attached; whether that was possible."""
        change = held.change
        if change is not None and (change.put is None or not _is_put(change, change.new)):
            return False
        self.now[held.where] = held
        return True

    def replaced(self, pairs: Sequence[tuple[object, object]]) -> None:
        """Have libraries hold new objects of the notebook where they hold old ones."""
        replacement = Replacement(pairs)
        for where, held in self._held.items():
            for token, attached in list(held.items()):
                if attached.change is None:
                    continue
                replacement.put_into([attached.change.new])
                if type(attached.change.put) is Refill:
                    continue  # a library's own: a variable that is it is bound to it again
                new = replacement.of(attached.change.new)
                if new is attached.change.new:
                    continue
                held[token] = replace(attached, change=attached.change._replace(new=new))
                if self.now.get(where) is attached:
                    self._put_instead(attached.change, held[token])

    def _put_instead(self, old: Change, attached: Attached) -> None:
        """Have a library hold another object, which counts as the same."""
        change = attached.change
        assert change is not None
        if old.kind == "list":
            held = self._libraries.list_at(old.owner)
            held[:] = [change.new if each is old.new else each for each in held]
        elif old.put is None or not _is_put(old, change.new):
            return
        self.now[attached.where] = attached

    def why_not_replaced(self, pairs: Sequence[tuple[object, object]]) -> list[str]:
        """Reasons why a library would go on with an old object of the notebook."""
        replacement = Replacement(pairs)
        return [
            f"{attached.what} holds what it changes, in a place that nothing else can be put into"
            for attached in self.now.values()
            if attached.change is not None and self._misses(attached.change, replacement)
        ]

    def _misses(self, change: Change, replacement: Replacement) -> bool:
        if replacement.of(change.new) is change.new:
            return replacement.misses([change.new], self._namespace)
        return change.put is None

    def holders(self) -> Iterator[tuple[str, list[object]]]:
        """Attachments that may hold objects that a cell can get at, each with its value."""
        for attached in self.now.values():
            if attached.holds_objects:
                assert attached.change is not None
                yield f"{attached.what}, which the notebook attached,", [attached.value]

    def standing(self) -> dict[str, Any]:
        """Attachments now, each with the code that made it, and those that are missing."""
        return {**self.missing, **{where: standing_of(one) for where, one in self.now.items()}}

    def unset(self) -> list[str]:
        """Attachments that a move could not set, with the code to run for them."""
        return [
            f"{found['what']}: run the cell that sets it, `{_first_line(found.get('source', ''))}`"
            for found in self.missing.values()
        ]

    def to_run(self) -> Iterator[str]:
        """The code of cells that attached what is missing, each once, in their order."""
        yield from dict.fromkeys(str(found.get("source", "")) for found in self.missing.values())


def _is_put(change: Change, value: object) -> bool:
    assert change.put is not None
    try:
        change.put(value)
    except user_code_errors():  # a library's own `__setattr__` may refuse
        return False
    return True


def _first_line(source: str) -> str:
    lines = source.splitlines() or [""]
    return lines[0] + (" …" if len(lines) > 1 else "")
