"""Widgets: by all that they hold, under the id by which a page knows them.

Their class's ``__init__`` is not run again: `HasTraits.__setstate__` does what is left to do, and
the connection to the page is opened at the end. What they call is a part of them, as what is in a
list is of it.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict, TypeGuard

from nbckpt.codecs.loading import LOADING, Binding
from nbckpt.fingerprint.values import widgets
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    from nbckpt.codecs.pickler import NamespacePickler


_MOST = 20_000
"""Objects that are looked at for widgets in what a cell changed."""


class State(TypedDict, total=False):
    """State of a widget.

    Attributes
    ----------
    members
        The values of its traits.
    attributes
        Its attributes beside them.
    observers
        Members of an `Observer` for each of its callbacks.
    is_closed
        True if it had no connection to the page any more.
    """

    members: dict[str, object]
    attributes: dict[str, object]
    observers: list[tuple[Any, ...]]
    is_closed: bool


def reducer_for(kind: type) -> Callable[[NamespacePickler, Any], Any] | None:
    """The reducer for widgets of type `kind`; None for anything else."""
    return _reduce_widget if widgets.is_widget(kind) else None


def _reduce_widget(_: object, widget: Any) -> Any:
    kind, added = widgets.class_of(widget)
    state: State = {"members": widgets.members_of(widget)}
    if attributes := widgets.attributes_of(widget):
        state["attributes"] = attributes
    if observers := widgets.observers_of(widget):
        state["observers"] = [tuple(observer) for observer in observers]
    is_closed = widget.comm is None
    if is_closed:
        state["is_closed"] = True
    model_id = None if is_closed else widget.model_id
    made = kind, model_id, {name: _detached(trait) for name, trait in added.items()}
    return make_widget, made if added else made[:2], state, None, None, set_state


def _detached(trait: Any) -> Any:
    """A trait that is no class's yet."""
    alone = copy.copy(trait)
    vars(alone).pop("this_class", None)
    return alone


def make_widget(kind: Any, model_id: str | None, added: Mapping[str, Any] | None = None) -> object:
    """A widget that holds nothing yet, and has no connection."""
    widget = kind.__new__(kind)
    if added:
        sys.modules["traitlets"].HasTraits.add_traits(widget, **added)
    vars(widget)["_model_id"] = model_id
    return widget


def set_state(widget: Any, state: State) -> None:
    """Give a widget what it held, and have the page know it once all that it shows is there."""
    vars(widget).update(state.get("attributes", {}))
    values: dict[str, object] = widget._trait_values  # noqa: SLF001
    own = {name: values[name] for name in widgets.OF_THE_CONNECTION & values.keys()}
    values.clear()  # of defaults, which the widget had only where something had asked for them
    values.update(own | state["members"])
    every = sys.modules["traitlets"].All
    for member, kind, handler in state.get("observers", ()):
        called = getattr(widget, handler) if isinstance(handler, str) else handler
        names = every if member is None else member, every if kind is None else kind
        widget._add_notifiers(called, *names)  # noqa: SLF001
    if state.get("is_closed") or LOADING.get().is_silent:
        return
    endings = LOADING.get().endings
    opening = next((one for one in endings if isinstance(one, _Opening)), None)
    if opening is None:
        opening = _Opening()
        endings.append(opening)
    opening.widgets.append(widget)


class _Opening:
    """The connections of widgets that are loaded together.

    A page knows a widget by its id. One whose id is still there takes the place of the other on
    the page, too, once it has its name; where it is only looked at, it gets an id of its own.
    """

    def __init__(self) -> None:
        self.widgets: list[Any] = []

    def __call__(self) -> None:
        bindings = LOADING.get().bindings
        there = [(w, _instances().get(vars(w)["_model_id"])) for w in self.widgets]
        replacing = [(w, old) for w, old in there if old is not None]
        if bindings is None or any(_identity(w) != _identity(old) for w, old in replacing):
            for widget, _ in replacing:
                vars(widget)["_model_id"] = None
            replacing = []
        new = [w for w in self.widgets if all(w is not one for one, _ in replacing)]
        with _lent(replacing):
            _open(new)
        if bindings is not None:
            bindings.append(_TakingOver(replacing, new))


class _TakingOver:
    """Widgets that are about to take the places of others on the page, and new ones beside them."""

    def __init__(self, pairs: list[tuple[Any, Any]], new: list[Any]) -> None:
        self.pairs = pairs
        self._new = new

    def bind(self) -> None:
        """The widgets are variables'."""
        _take_over(self.pairs)

    def drop(self) -> None:
        """They are not: the page forgets those that it was told of."""
        for widget in self._new:
            if widget.comm is not None:
                _instances().pop(widget.model_id, None)
                widget.comm.close()


def _instances() -> dict[str, Any]:
    """The widgets that the page shows, by their ids."""
    module: Any = sys.modules["ipywidgets.widgets.widget"]
    return getattr(module, "_instances", {})


def _identity(widget: Any) -> tuple[object, ...]:
    """Names of the model and the view that a page uses for a widget."""
    names = "_model_module", "_model_name", "_view_module", "_view_name"
    return tuple(getattr(widget, name) for name in names)


@contextlib.contextmanager
def _lent(replacing: Sequence[tuple[Any, Any]]) -> Iterator[None]:
    """Have widgets give the ids of those whose place they will take."""
    for widget, old in replacing:
        widget._trait_values["comm"] = old.comm  # noqa: SLF001
    try:
        yield
    finally:
        for widget, _ in replacing:
            widget._trait_values["comm"] = None  # noqa: SLF001


def _open(widgets: list[Any]) -> None:
    """Open connections, of each widget after those of the widgets that it shows."""
    while widgets:
        left = [widget for widget in widgets if not _is_opened(widget)]
        if len(left) == len(widgets):
            left[0].open()  # it says why it cannot
        widgets = left


def _is_opened(widget: Any) -> bool:
    with contextlib.suppress(AttributeError), _unobserved(widget):  # what it shows has no id yet
        widget.open()
    return widget.comm is not None


def take_places(
    pairs: Iterable[tuple[object, object]],
    bindings: Iterable[Binding],
    staying: Iterable[object],
    made: Container[str] = (),
) -> None:
    """Have the page take each first of two for the second, where both are widgets.

    A cell that is run again in another kernel makes its widgets under other ids; what a restored
    cell changed is the widget that is there, and one that it closed goes from the page.

    Parameters
    ----------
    bindings
        What is about to take places by the id: those of other widgets, in this case.
    staying
        Values that are not replaced. Their widgets keep their places: where one of them was a
        child of another, and a new one came in its stead, both are there.
    made
        Ids of widgets that the step made: what it changed holds them instead of others.
    """
    pairs = list(pairs)
    if not pairs:
        return
    staying = [value for value in staying if widgets.may_hold_widgets({"": value})]
    done = {id(widget) for widget, _ in _counterparts((value, value) for value in staying)}
    pending = [binding for binding in bindings if isinstance(binding, _TakingOver)]
    waiting = {id(new): new for taking in pending for new, _ in taking.pairs}
    taken: dict[int, tuple[Any, Any]] = {}
    for new, old in _counterparts(pairs):
        if id(old) in done or id(new) in done:
            continue  # a child that others come before is at another place
        if (own := vars(new).get("_model_id")) in made and own != old.model_id:
            continue
        if new.comm is None and id(new) not in waiting:
            _close(old)
        elif _identity(new) == _identity(old):
            taken[id(new)] = new, old
        else:
            continue
        done |= {id(new), id(old)}
    replacing = [(new, old) for new, old in taken.values() if new.comm is not old.comm]
    for taking in pending:
        replacing += [pair for pair in taking.pairs if id(pair[0]) not in taken]
        taking.pairs = []
    if pending:
        pending[0].pairs = replacing
    elif replacing:
        _take_over(replacing)


def _counterparts(pairs: Iterable[tuple[object, object]]) -> Iterator[tuple[Any, Any]]:
    """The widgets in two values that have the same place in them, of those that a page shows.

    First the values themselves, then what they hold, and so on: the name of a variable tells more
    about a widget than its place among the children of another.
    """
    if not widgets.shown_ids():
        return
    seen: set[tuple[int, int]] = set()
    waiting = deque(pairs)
    while waiting and len(seen) < _MOST:
        one, other = waiting.popleft()
        both = id(one), id(other)
        if type(one) is not type(other) or type(one) in ATOMS or both in seen:
            continue
        seen.add(both)
        if _is_widget(one) and _is_widget(other) and other.comm is not None:
            yield one, other
        waiting += islice(_parts(one, other), _MOST)


def _parts(one: Any, other: Any) -> Iterable[tuple[object, object]]:
    if isinstance(one, ModuleType):
        return ()  # ipywidgets holds all of them
    if type(one) in {list, tuple}:
        return zip(one, other, strict=False)
    if type(one) is dict:
        there = other
    elif _is_widget(one):
        one, there = widgets.members_of(one), widgets.members_of(other)
    else:
        one, there = (getattr(value, "__dict__", {}) for value in (one, other))
    return [(value, there[key]) for key, value in one.items() if key in there]


def _is_widget(value: Any) -> TypeGuard[Any]:
    return widgets.is_widget(type(value))


def _close(widget: Any) -> None:
    """As `Widget.close` does, whatever a class makes of that."""
    _instances().pop(widget.model_id, None)
    widget.comm.close()
    with _unobserved(widget):
        widget.comm = None
    widget._repr_mimebundle_ = None


@contextlib.contextmanager
def _unobserved(widget: Any) -> Iterator[None]:
    """Have nobody called who observes all members: the connection was there before, or will go."""
    every = sys.modules["traitlets"].All
    observers = widget._trait_notifiers.pop(every, None)  # noqa: SLF001
    try:
        yield
    finally:
        if observers is not None:
            widget._trait_notifiers[every] = observers  # noqa: SLF001


def _take_over(replacing: Sequence[tuple[Any, Any]]) -> None:
    """Give widgets the connections of those whose place they have taken, and show what differs."""
    before = [_shown(old) for _, old in replacing]
    for widget, old in replacing:
        if widget.comm is not None:  # opened when it was loaded; it is to be shown again
            _instances().pop(widget.model_id, None)
            widget.comm.close()
        connection, old._trait_values["comm"] = old.comm, None  # noqa: SLF001
        if connection is not None:
            with _unobserved(widget):
                widget.comm = connection
    for (widget, _), then in zip(replacing, before, strict=True):
        now = _shown(widget)
        differing = [n for n in now if not widget._compare(now[n], then.get(n))]  # noqa: SLF001
        if differing:
            widget.send_state(differing)


def _shown(widget: Any) -> dict[str, object]:
    """The state of a widget as a page has it; empty if its own code fails at it."""
    try:
        return dict(widget.get_state())
    except user_code_errors():
        return {}
