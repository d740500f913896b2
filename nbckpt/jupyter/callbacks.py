"""The variables that code of the notebook can change outside of cells: callbacks and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from nbckpt.capture.background_work import AtWork, at_work, threads_at_work
from nbckpt.fingerprint.values.widgets import callbacks_of, may_hold_widgets, shown_widgets
from nbckpt.steps.execution.step_state import StepState

if TYPE_CHECKING:
    from nbckpt.session.session import Session

AROUND = ("pre_execute", "pre_run_cell", "post_run_cell", "post_execute")


class BackgroundChanges:
    """The variables of a session that tasks and threads may change beside its cells.

    Attributes
    ----------
    names
        As it was found last; None: any.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.names: frozenset[str] | None = frozenset()

    def note(self) -> None:
        """Count what they may have changed since a cell began or ended last."""
        session = self._session
        session.workspace.tracker.touched(self.names)
        try:
            session.state(StepState).at_work = at_work(session.namespace)
            works = [*session.state(StepState).at_work, *threads_at_work(session.namespace)]
            self.names = touched_at_work(works, session.namespace)
        except Exception:  # whatever a loop or thread of another kind says: it may be anything
            self.names = None


def touched_by_callbacks(events: Any, namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names that callbacks of a shell's events can change; None: any.

    Parameters
    ----------
    events
        The shell's, where they are registered.
    """
    return _touched_by([f.__code__ for f in _users(events, namespace)], namespace)


def touched_at_work(
    works: Iterable[AtWork], namespace: Mapping[str, object]
) -> frozenset[str] | None:
    """The names that what goes on beside the cells can change; None: any."""
    works = list(works)
    if any(work.is_untold for work in works):
        return None
    held = frozenset(name for work in works for name in work.holds)
    touched = _touched_by([code for work in works for code in work.code], namespace)
    return None if touched is None else touched | held


def touched_by_pages(namespace: Mapping[str, object]) -> frozenset[str] | None:
    """The names that a message from a page to a widget can change; None: any.

    The widgets themselves, wherever a variable holds them, and what the callbacks change that
    code has given them.
    """
    shown = [widget for widget in shown_widgets() if not _is_of_nbckpt(type(widget))]
    if not shown:
        return frozenset()
    called = [_plain(callback) for widget in shown for callback in callbacks_of(widget)]
    if not all(type(f) is FunctionType and f.__globals__ is namespace for f in called):
        return None
    changed = _touched_by([f.__code__ for f in called], namespace)
    return None if changed is None else changed | may_hold_widgets(namespace)


def _is_of_nbckpt(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "nbckpt" or any(map(_is_of_nbckpt, kind.__bases__))


def _plain(callback: object) -> Any:
    return callback.__func__ if type(callback) is MethodType else callback


def _touched_by(code: list[CodeType], namespace: Mapping[str, object]) -> frozenset[str] | None:
    if not code:
        return frozenset()
    from nbckpt.fingerprint import keys
    from nbckpt.fingerprint.code import names_of_code
    from nbckpt.fingerprint.code.bytecode import union

    try:
        return keys.touched(union(map(names_of_code, code)), namespace)
    except Exception:  # whatever a value's own code raises when it is looked at
        return None


def _users(events: Any, namespace: Mapping[str, object]) -> Iterator[FunctionType]:
    for event in AROUND:
        for callback in events.callbacks.get(event, ()):
            function = _plain(callback)
            if type(function) is FunctionType and function.__globals__ is namespace:
                yield function
