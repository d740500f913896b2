"""Attachments of a moment, put back: from objects that are held, plain values, repeated calls."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, cast

from nbckpt.capture.observation.attached import Attached, from_plain
from nbckpt.capture.observation.attached_places import AttachedPlaces
from nbckpt.capture.observation.changes import Kind
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.registering import repeated
from nbckpt.fingerprint.user_names import Own
from nbckpt.runtime.source_trees import parse
from nbckpt.runtime.user_code_errors import user_code_errors


class Reattacher(Own):
    """Has libraries hold again what a record tells.

    Parameters
    ----------
    places
        What is attached now.
    look
        Takes note of what changed since the last look, by the cell that ran, if one did.
    """

    def __init__(
        self,
        namespace: MutableMapping[str, object],
        libraries: Libraries,
        places: AttachedPlaces,
        look: Callable[[ast.Module | None], None],
    ) -> None:
        self._namespace = namespace
        self._libraries = libraries
        self._places = places
        self._look = look

    def go_to(self, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Put back what was attached then; a text for each. What cannot be put back is missing."""
        places, texts = self._places, list[str]()
        for where in sorted({*places.now, *wanted}):
            now, want = places.now.get(where), wanted.get(where)
            if want is not None and now is not None and now.token == want.get("token"):
                if "held" in want and now.hold(want["held"]):
                    texts.append(str(want["what"]))
                continue
            if self._put(where, want):
                texts.append(str((want or {}).get("what") or places.named(where)))
        self._libraries.look()
        places.missing = {w: places.missing[w] for w in wanted if w in places.missing}
        return texts

    def _put(self, where: str, want: Mapping[str, Any] | None) -> bool:
        """Have a place hold what a record tells, or what the library had; whether it was set."""
        places = self._places
        if want is None:
            return places.put_original(where)
        held = places.earlier(where, str(want.get("token")))
        if held is None and "plain" in want:
            return self.set_plain(where, want)
        is_set = (
            places.put(held)
            if held is not None
            else where in places.now and places.put_original(where)
        )
        if held is None or not is_set:
            places.missing[where] = want
        return is_set

    def set_plain(self, where: str, done: Mapping[str, Any]) -> bool:
        """Set a plain value in a library, which is imported for that; whether it was another."""
        kind, owner, name = where.split(" ", 2)
        value = from_plain(done["plain"][0])
        try:
            _import_home(owner)
            self._look(None)
            held = self._libraries.entry(cast("Kind", kind), owner, name)
            if type(held.new) is type(value) and held.new == value:
                return False
            if held.put is None:
                raise ImportError(owner)
            held.put(value)
        except user_code_errors():  # of an import, whatever the library raises
            self._places.missing[where] = done
            return False
        for change in self._libraries.look()[0]:
            if change.where == where:
                self._places.note(change, str(done.get("source", "")))
        return True

    def register_again(self) -> None:
        """Register with libraries what another process did, now that it is there again."""
        undone = {_home_of_call(w) for w in self._places.missing if ".unregister" in w}
        for where, found in list(self._places.missing.items()):
            if where not in self._places.missing or not found.get("known") or "source" not in found:
                continue
            if _home_of_call(where) in undone:  # in which order, the record does not say
                continue
            source, known = str(found["source"]), str(found["known"])
            is_input = bool(found.get("is_input", True))
            wanted = Attached(where, str(found["what"]), source, None, known, is_input)
            call = repeated(wanted, self._namespace)
            if call is None:
                continue
            self._look(None)
            missing = dict(self._places.missing)
            try:
                call()
            except user_code_errors():  # of a library: it is told as what is missing
                continue
            self._places.add(replace(wanted, token=str(found["token"])))
            self._look(parse(source))
            for place in missing.keys() & self._places.now.keys():
                token = str(missing[place]["token"])
                self._places.add(replace(self._places.now[place], source=source, token=token))


def _home_of_call(where: str) -> str:
    """The library of a call that registers something; empty of other places."""
    kind, _, rest = where.partition(" ")
    return rest.partition(" ")[0].rpartition(".")[0] if kind == "call" else ""


def _import_home(owner: str) -> None:
    """Import the module of a place: ``a.b:Class.table``, ``a.b``, or ``a.b.table``."""
    home, colon, _ = owner.partition(":")
    try:
        importlib.import_module(home)
    except ModuleNotFoundError:
        if colon or "." not in home:
            raise
        importlib.import_module(home.rpartition(".")[0])
