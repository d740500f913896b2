"""Attachments of the notebook to libraries, and its changes in modules beside it.

A step that attaches something is not restored: it runs, since no checkpoint holds its effect. The
steps after it count the attachments that they can reach.
"""

from __future__ import annotations

import ast
import importlib
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
from dataclasses import dataclass, replace
from typing import Any, cast

from nbckpt.capture.identity import Place
from nbckpt.capture.observation.attached import (
    Attached,
    from_plain,
    source_of,
    standing_of,
    what_of,
)
from nbckpt.capture.observation.attribution import Attribution
from nbckpt.capture.observation.changes import UNKNOWN, Change, Kind
from nbckpt.capture.observation.containers import Containers, Refill
from nbckpt.capture.observation.last_look import LastLook
from nbckpt.capture.observation.libraries import Libraries
from nbckpt.capture.observation.library_functions import LibraryFunctions
from nbckpt.capture.observation.observer import Ran, UnrepeatableError
from nbckpt.capture.observation.ownership import modules_beside
from nbckpt.capture.observation.registering import inner_stores, registering_calls, repeated
from nbckpt.capture.observation.replacing import Replacement
from nbckpt.capture.observation.shared_objects import SharedObjects
from nbckpt.capture.observation.stores import (
    Codes,
    defines,
    is_harmless,
    is_inert,
    stored_by_name,
    stores_of,
    words_of_all,
    words_of_tree,
)
from nbckpt.capture.observation.user_modules import (
    ModuleState,
    changes_in_modules,
    containers_in,
    only_imports,
    other_state,
    replaced_in,
    values_at,
)
from nbckpt.digests import Digest, Json
from nbckpt.fingerprint.code import names_of_tree
from nbckpt.fingerprint.keys.inputs import MODULE
from nbckpt.fingerprint.names import Own

_ANEW = "anew"
"""Where the places in such modules stand that got another list or dict."""

_MODULES = "modules"
"""Where what modules beside the notebook hold stands among what is attached."""

_SHARED = "shared"
"""Where variables that are objects of such modules stand among what is attached."""

_OF_LIBRARIES = "containers"
"""Where variables that are lists, dicts and sets of libraries stand among what is attached."""

_HELD = 50
"""Objects that were attached to one place and are held, so that a rewind can put them back."""


@dataclass(frozen=True)
class _Window:
    """Attachments when a step began."""

    tokens: Mapping[str, str]
    inputs: Mapping[str, Digest]
    user_modules: frozenset[str]
    containers: Mapping[str, Place]
    shared: Mapping[str, str]


class Attachments(Own):
    """The facet of what libraries hold of the notebook.

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
        self.libraries = Libraries(namespace)
        self.functions = LibraryFunctions(namespace)
        self.containers = Containers(namespace, self.libraries)
        self.modules = ModuleState()
        self.shared = SharedObjects(namespace, lambda: self.libraries.user_modules)
        self._attribution = Attribution(namespace, self.libraries)
        self.now: dict[str, Attached] = {}
        self.missing: dict[str, Mapping[str, Any]] = {}
        self._originals: dict[str, Change] = {}
        self._held: dict[str, dict[str, Attached]] = {}
        self._last_look = LastLook()
        self._harmless: list[bool] = []
        self._n_user_modules = 0
        self._new_modules: list[str] = []
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
            self.containers.begins(tree, inside=len(self._harmless) > 1)

    def cell_ends(self, tree: ast.Module) -> None:
        """Take note of what the cell attached."""
        is_harmless_cell = bool(self._harmless) and self._harmless.pop()
        if not is_harmless_cell:
            self._look(tree)
            self.containers.learn(tree)
        self._last_look.taken()
        if not self._harmless:  # else it was a cell within another one
            self._last_look.cell_ends()
        if not (is_harmless_cell or self._is_closed):
            self.modules.reached(None)
        self._is_closed = False
        if not is_harmless_cell:
            for told in (
                *registering_calls(tree, self.namespace),
                *inner_stores(tree, self.namespace),
            ):
                self._add(told)
        if not is_harmless_cell and (shared := self.shared.now()):
            self.touch(frozenset(shared))  # by code of their modules
        self._touch_of_process()
        for attached in self.now.values():
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
        self.functions.learn(tree)
        self._touch_of_process()

    def _touch_of_process(self) -> None:
        """Have variables looked at that are containers of the process: who sets it names others."""
        if names := self.containers.of_process():
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
        changes, fresh = self.libraries.look()
        if len(self.libraries.user_modules) > self._n_user_modules:
            self._n_user_modules = len(self.libraries.user_modules)
            is_as_imported = tree is None or only_imports(tree)
            new = self.modules.meet(self.libraries.user_modules, is_as_imported=is_as_imported)
            self._new_modules = [] if is_as_imported else new
        codes = Codes(self.namespace, self.libraries.user_modules, tree)
        if tree is not None and (fresh or not self.libraries.tells_rebinding):
            changes += self._by_text(tree, set(fresh), codes)
        changes += self.functions.look(tree)
        counted = []
        for change in changes:
            is_counted = change.where in self.now or self._attribution.counts(change, tree, codes)
            if change.owner != "sys.modules" and change.kind != "function":
                self.libraries.is_own(change, own=not is_counted)
            if is_counted:
                counted.append(change)
        if tree is not None:
            entries = {c.owner for c in counted if c.kind == "registry"}
            inside = self.containers.changes(tree, set(fresh))
            counted += [c for c in inside if f"{c.owner}.{c.name}" not in entries]
        source = source_of(tree) if counted else ""
        for change in counted:
            self._note(change, source)

    def _by_text(self, tree: ast.Module, fresh: set[str], codes: Codes) -> list[Change]:
        """Changes that a cell and the code it called made on modules and classes they imported."""
        stores = stores_of(tree, self.namespace, codes)
        found = [c for name in stores.names for c in self.libraries.named(name)]
        for holder, name in stores.places:
            place = self.libraries.owner_of(holder)
            if place is not None and place[1] in fresh:
                found.append(self.libraries.entry(*place, name))
            elif place is not None:
                found += self.libraries.named(name)
        if fresh and defines(tree):
            found += self.libraries.users_entries(fresh)
        if fresh and not only_imports(tree):
            stored = [*stored_by_name(tree, codes)]
            found += self.libraries.set_entries(fresh, stored) if stored else ()
        return found

    def _note(self, change: Change, source: str) -> None:
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
        self._add(Attached(where, what_of(change), source, change))

    def _add(self, attached: Attached) -> None:
        self.now[attached.where] = attached
        self.missing.pop(attached.where, None)
        held = self._held.setdefault(attached.where, {})
        held[attached.token] = attached
        for token in list(held)[:-_HELD]:
            del held[token]

    # -- inputs and effects of steps ----------------------------------------------------------

    def open(self) -> object:
        """Return a window with the attachments when a step begins."""
        self._has_run = True
        self._look_again(None)
        self._new_modules = []
        return _Window(
            tokens={where: attached.token for where, attached in self.now.items()},
            inputs=self._digests(self.now),
            user_modules=frozenset(self.libraries.user_modules),
            containers=containers_in(self.libraries.user_modules),
            shared=self.shared.now(),
        )

    def close(self, window: object, ran: Ran) -> Json:
        """Record of attachments that the step can reach, and of its own attachments and changes."""
        assert isinstance(window, _Window)
        self._look_again(ran.tree)
        tokens = {where: attached.token for where, attached in self.now.items()}
        places = {**window.tokens, **tokens}
        did = [w for w in places if tokens.get(w) != window.tokens.get(w)]
        inside = self._reached(window.inputs, ran) if window.inputs else {}
        stay = {w for w in inside if w not in did and w in self.now and self.now[w].is_data}
        after = self._digests(dict.fromkeys(stay)) if stay else {}
        did += [w for w in stay if after.get(w) != inside[w]]
        self.containers.learn(ran.tree)
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
        self.modules.changed(changes)
        self.modules.reached(self._modules_reached(ran))
        self._is_closed = True
        new = [name for name in self._new_modules if name not in window.user_modules]
        state = self._not_of_variables(self.modules.state_of(new))
        found: dict[str, Json] = {
            "in": inside,
            "did": {w: self._done(w, is_changed=w in stay) for w in sorted(did)},
            "modules": {
                place: {"is": of_places[place]}
                if place in of_places and type(value) is not list
                else value
                for place, value in {**changes, **state}.items()
            },
            _ANEW: replaced_in(window.containers, window.user_modules) if changes else [],
            _SHARED: shared,
            _OF_LIBRARIES: self.containers.variables(),
        }
        return {member: value for member, value in found.items() if value} or None

    def _not_of_variables(self, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Values in modules; None for those that hold what variables hold: a copy would be set."""
        return {
            place: None
            if type(value) is list and self.shared.is_held_by_variables(place)
            else value
            for place, value in changes.items()
        }

    def _modules_reached(self, ran: Ran) -> Iterable[str] | None:
        """The modules beside the notebook whose code a step can have run; None: any."""
        if self.now or names_of_tree(ran.tree, ran.namespace).everything:
            return None
        return [f.removeprefix(MODULE) for f in ran.key.functions if f.startswith(MODULE)]

    def _done(self, where: str, *, is_changed: bool) -> Json:
        attached = self.now.get(where)
        if attached is not None and is_changed:
            return {"what": attached.what, "inside": True}
        if attached is not None:
            return attached.as_json()
        return {"what": what_of(self._originals[where]), "gone": True}

    def discard(self, window: object) -> None:
        """Nothing is collected."""

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Reason not to restore: the step attaches something, or reaches other attachments now."""
        recorded = cast("Mapping[str, Any]", observed or {})
        for done in recorded.get("did", {}).values():
            if "plain" not in done:
                does = "changes" if done.get("inside") else "sets"
                return f"it {'takes away' if done.get('gone') else does} {done['what']}"
        for place, plain in recorded.get("modules", {}).items():
            if plain is None:
                return f"it changes {place!r}, which is no variable of the notebook"
        then = recorded.get("in", {})
        if not self._has_run and not self.now and not then:
            return None
        self._look(None)
        if not self.now and not then:
            return None
        now = self._digests(self._reached(self.now, ran))
        for where in sorted({*now, *then}):
            if now.get(where) != then.get(where):
                change = "another now" if where in now and where in then else (
                    "new" if where in now else "not there now"
                )  # fmt: skip
                return f"{self._named(where)}, which the notebook attached, is {change}"
        return None

    def _named(self, where: str) -> str:
        if where in self.now:
            return self.now[where].what
        if where in self.missing:
            return str(self.missing[where].get("what"))
        kind, owner, name = where.split(" ", 2)
        return what_of(Change(kind, owner, name, name, None, None, None))  # type: ignore[arg-type]

    def _digests(self, places: Mapping[str, object]) -> dict[str, Digest]:
        attached = {where: self.now[where] for where in places if where in self.now}
        return {w: a.digest(self.namespace) for w, a in attached.items() if a.is_input}

    def _reached(self, places: Mapping[str, Any], ran: Ran) -> dict[str, Any]:
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

    def restored(self, observed: Json) -> Sequence[str]:
        """Set the plain values again that the step set on modules."""
        recorded = cast("Mapping[str, Any]", observed or {})
        texts = []
        for where, done in recorded.get("did", {}).items():
            if "plain" in done and self._set_plain(where, done):
                texts.append(done["what"])
        state = recorded.get("modules", {})
        self.shared.wanted = dict(recorded.get(_SHARED, {}))
        self.containers.want(recorded.get(_OF_LIBRARIES, {}))
        changed = (value["is"] for value in state.values() if type(value) is dict)
        self.shared.changed = frozenset(changed)
        values = {place: value[0] for place, value in state.items() if type(value) is list}
        texts += self.modules.set_all(values, recorded.get(_ANEW, ()))
        if place := other_state(state):
            message = f"{place!r} is not as the step left it"
            raise UnrepeatableError(message)
        return texts

    def _set_plain(self, where: str, done: Mapping[str, Any]) -> bool:
        """Set a plain value in a library, which is imported for that; whether it was another."""
        kind, owner, name = where.split(" ", 2)
        value = from_plain(done["plain"][0])
        try:
            _import_home(owner)
            self._look(None)
            held = self.libraries.entry(cast("Kind", kind), owner, name)
            if type(held.new) is type(value) and held.new == value:
                return False
            if held.put is None:
                raise ImportError(owner)
            held.put(value)
        except Exception:  # of an import, whatever the library raises
            self.missing[where] = done
            return False
        for change in self.libraries.look()[0]:
            if change.where == where:
                self._note(change, str(done.get("source", "")))
        return True

    def at_other_places(self, names: Collection[str]) -> set[str]:
        """Those of some variables that are an object of a module now, and are to be another one."""
        now, wanted = self.shared.now(names), self.shared.wanted
        parted = {name for name, place in now.items() if wanted.get(name) != place}
        return parted | self.containers.at_other_places(names)

    def why_not_bound(self, bound: set[str], made: set[str]) -> list[str]:
        """Reasons why variables cannot be brought back as the objects of modules they were."""
        return self.shared.why_not(bound, made)

    def bound(self, names: set[str]) -> None:
        """Make variables that were brought back one with the modules' objects that they were."""
        self.containers.unite(names)
        self._register_again()
        if self.shared.wanted:
            self.modules.reached(None)
            wanted = self.shared.wanted
            self.modules.changed({wanted[n]: None for n in self.shared.changed if n in wanted})
            self.modules.not_set(self.shared.unite(names))

    def _register_again(self) -> None:
        """Register with libraries what another process did, now that it is there again."""
        undone = {_home_of_call(w) for w in self.missing if ".unregister" in w}
        for where, found in list(self.missing.items()):
            if where not in self.missing or not found.get("known") or "source" not in found:
                continue
            if _home_of_call(where) in undone:  # in which order, the record does not say
                continue
            source, known = str(found["source"]), str(found["known"])
            is_input = bool(found.get("is_input", True))
            wanted = Attached(where, str(found["what"]), source, None, known, is_input)
            call = repeated(wanted, self.namespace)
            if call is None:
                continue
            self._look(None)
            missing = dict(self.missing)
            try:
                call()
            except Exception:  # of a library: it is told as what is missing
                continue
            self._add(replace(wanted, token=str(found["token"])))
            self._look(ast.parse(source))
            for place in missing.keys() & self.now.keys():
                token = str(missing[place]["token"])
                self._add(replace(self.now[place], source=source, token=token))

    def replaced(self, pairs: Sequence[tuple[object, object]]) -> None:
        """Have libraries hold new objects of the notebook where they hold old ones."""
        if not self._held:
            return
        self._look(None)  # what changed until now counts; what is put here does not
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
        self.libraries.look()

    def _put_instead(self, old: Change, attached: Attached) -> None:
        """Have a library hold another object, which counts as the same."""
        change = attached.change
        assert change is not None
        if old.kind == "list":
            held = self.libraries.list_at(old.owner)
            held[:] = [change.new if each is old.new else each for each in held]
        elif old.put is None or not _is_put(old, change.new):
            return
        self.now[attached.where] = attached

    def why_not_replaced(self, pairs: Sequence[tuple[object, object]]) -> list[str]:
        """Reasons why a library would go on with an old object of the notebook."""
        if self.shared.are_held_inside([old for old, _ in pairs]):
            return ["a module beside the notebook may hold what it changes"]
        replacement = Replacement(pairs)
        return [
            f"{attached.what} holds what it changes, in a place that nothing else can be put into"
            for attached in self.now.values()
            if attached.change is not None and self._misses(attached.change, replacement)
        ]

    def _misses(self, change: Change, replacement: Replacement) -> bool:
        if replacement.of(change.new) is change.new:
            return replacement.misses([change.new], self.namespace)
        return change.put is None

    def inside_modules(self, ran: Ran) -> Mapping[int, object] | None:
        """Objects in the modules that a step reaches: id → object; None if there are too many."""
        if not self.libraries.user_modules:
            return {}
        return self.shared.inside(self._modules_reached(ran))

    def holders(self) -> Iterator[tuple[str, list[object]]]:
        """Attachments that may hold objects that a cell can get at, each with its value."""
        for attached in self.now.values():
            if attached.holds_objects:
                assert attached.change is not None
                yield f"{attached.what}, which the notebook attached,", [attached.value]

    # -- moves ------------------------------------------------------------------------------

    def standing(self) -> Json:
        """Attachments now, each with the code that made it."""
        known = {where: standing_of(attached) for where, attached in self.now.items()}
        found: dict[str, Any] = {**self.missing, **known}
        if state := self.modules.standing():
            found[_MODULES] = state
        if shared := self.shared.now():
            found[_SHARED] = shared
        if variables := self.containers.variables():
            found[_OF_LIBRARIES] = variables
        return found or None

    def go_to(self, standing: Json) -> Sequence[str]:
        """Put back what was attached then; what another process attached is `missing`."""
        wanted = dict(cast("Mapping[str, Mapping[str, Any]]", standing or {}))
        self._look(None)
        self.missing = {}
        shared: dict[str, Any] = dict(wanted.pop(_SHARED, {}))
        self.shared.wanted, self.shared.changed = shared, frozenset()
        self.containers.want(cast("Any", wanted.pop(_OF_LIBRARIES, {})))
        texts = self.modules.go_to(wanted.pop(_MODULES, {}), frozenset(shared.values()))
        for where in sorted({*self.now, *wanted}):
            now, want = self.now.get(where), wanted.get(where)
            token = want and want.get("token")
            if now is not None and now.token == token:
                if want is not None and "held" in want and now.hold(want["held"]):
                    texts.append(str(want["what"]))
                continue
            if want is None:
                is_set = self._put_original(where)
            elif (held := self._held.get(where, {}).get(str(token))) is not None:
                is_set = self._put(held)
                if not is_set:
                    self.missing[where] = want
            elif "plain" in want:
                is_set = self._set_plain(where, want)
            else:
                is_set = now is not None and self._put_original(where)
                self.missing[where] = want
            if is_set:
                texts.append(str((want or {}).get("what") or self._named(where)))
        self.libraries.look()
        self.missing = {where: self.missing[where] for where in wanted if where in self.missing}
        return [text for text in texts if text not in self.unset]

    def _put_original(self, where: str) -> bool:
        original = self._originals.get(where)
        if original is None or original.put is None or original.old is UNKNOWN:
            return False
        if not _is_put(original, original.old):
            return False
        self.now.pop(where, None)
        return True

    def _put(self, held: Attached) -> bool:
        change = held.change
        if change is not None and (change.put is None or not _is_put(change, change.new)):
            return False
        self.now[held.where] = held
        return True

    @property
    def unset(self) -> tuple[str, ...]:
        """Attachments and values that a move could not set, with the code to run for them."""
        lines = (
            f"{found['what']}: run the cell that sets it, `{_first_line(found.get('source', ''))}`"
            for found in self.missing.values()
        )
        return (*lines, *self.modules.unset)

    def to_run(self) -> Iterator[str]:
        """The code of cells that attached what is missing, each once, in their order."""
        yield from dict.fromkeys(str(found.get("source", "")) for found in self.missing.values())


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


def _is_put(change: Change, value: object) -> bool:
    assert change.put is not None
    try:
        change.put(value)
    except Exception:  # a library's own `__setattr__` may refuse
        return False
    return True


def _first_line(source: str) -> str:
    lines = source.splitlines() or [""]
    return lines[0] + (" …" if len(lines) > 1 else "")
