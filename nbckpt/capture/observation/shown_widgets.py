"""Widgets that a cell showed, or showed something in: a run shows those that are there now.

A cell's outputs are recorded with the ids by which a page knows widgets. Where the cell of a
widget ran again, an equal one has another id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.digests import Json
from nbckpt.fingerprint.referents import held_by
from nbckpt.fingerprint.values.widgets import may_hold_widgets, model_id_of, shown_ids

MOST = 300
"""Widgets that a cell makes, and that are told one by one."""

VIEW = "application/vnd.jupyter.widget-view+json"

_ANOTHER = "it shows a widget, and that is another now"
_NAMED = "it shows {!r}, and that is another widget now"


class ShownWidgets(Bystander):
    """The facet of widgets, which are variables: what was shown of them is an output."""

    name = "widgets"

    def __init__(
        self, namespace: Mapping[str, object], touch: Callable[[frozenset[str] | None], object]
    ) -> None:
        self._namespace = namespace
        self._touch = touch
        self._there: frozenset[str] = frozenset()

    def cell_begins(self, tree: object) -> None:  # noqa: ARG002
        """Take note of the widgets that are there."""
        self._there = shown_ids()

    def cell_ends(self, tree: object) -> None:  # noqa: ARG002
        """Have those looked at that were closed: `Widget.close_all` names none of them."""
        if not self._there <= shown_ids():
            self._touch(may_hold_widgets(self._namespace))

    def open(self) -> object:
        """A window; it knows which widgets were there before."""
        return shown_ids()

    def close(self, window: object, ran: Ran) -> Json:
        """The ids of shown widgets → the variables that hold them; those of before apart."""
        assert isinstance(window, frozenset)
        ids = ids_in(ran.outputs)
        new = shown_ids() - window
        record: dict[str, Json] = {"new": sorted(new)} if 0 < len(new) <= MOST else {}
        if not ids:
            return record or None
        names: dict[str, list[str]] = {}
        for name, value in ran.namespace.items():
            if (model_id := model_id_of(value)) in ids:
                names.setdefault(model_id, []).append(name)
        read = {*ran.key.inputs, *ran.key.functions}
        there = {i: [n for n in names.get(i, ()) if n in read] for i in ids if i in window}
        made = {i: names[i] for i in ids if i not in window and i in names}
        return {**record, "there": there, "made": made}

    def difference(self, observed: Json, ran: Ran) -> str | None:
        """Why other widgets would be shown; None if it can be told which ones."""
        there = observed.get("there", {}) if isinstance(observed, Mapping) else {}
        assert isinstance(there, Mapping)
        unnamed = []
        for model_id, names in there.items():
            ids = {model_id_of(ran.namespace.get(n)) for n in _list(names)}
            if not ids:
                unnamed.append(model_id)
            elif len(ids) > 1 or "" in ids:
                return _NAMED.format(_list(names)[0])
        if not unnamed:
            return None
        roots = {*ran.key.inputs, *ran.key.functions} & ran.namespace.keys()
        held = held_by([ran.namespace[n] for n in sorted(roots)], ran.namespace)
        reached = set() if held is None else {model_id_of(value) for value in held.values()}
        return None if reached.issuperset(unnamed) else _ANOTHER


def made_by(observed: Json) -> frozenset[str]:
    """The ids of the widgets that a step made."""
    return frozenset(_list(observed.get("new")) if isinstance(observed, Mapping) else ())


def live_ids(observed: Json, namespace: Mapping[str, object]) -> dict[str, str]:
    """The ids under which a step showed widgets → those that its variables have now."""
    if not isinstance(observed, Mapping):
        return {}
    found = {}
    for recorded in observed.values():
        for model_id, names in recorded.items() if isinstance(recorded, Mapping) else ():
            ids = {model_id_of(namespace.get(n)) for n in _list(names)} - {""}
            if len(ids) == 1:
                found[str(model_id)] = ids.pop()
    return found


def ids_in(outputs: Iterable[Json]) -> set[str]:
    """The ids of the widgets that recorded outputs show, or are shown in."""
    found = set()
    for output in outputs:
        if not isinstance(output, Mapping):
            continue
        found.add(output.get("into"))
        data = next(
            (output[kind] for kind in ("display", "update", "result") if kind in output), {}
        )
        view = data.get(VIEW) if isinstance(data, Mapping) else None
        found.add(view.get("model_id") if isinstance(view, Mapping) else None)
    return {i for i in found if isinstance(i, str) and i}


def _list(names: Json) -> list[str]:
    return [str(n) for n in names] if isinstance(names, Sequence) else []
