"""The variables that code of the notebook can change outside of cells: callbacks and tasks."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from nbckpt.capture.background_threads import threads_at_work
from nbckpt.capture.background_work import AtWork, at_work
from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.fingerprint.values.widgets import callbacks_of, may_hold_widgets, shown_widgets
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.steps.execution.step_state import StepState

if TYPE_CHECKING:
    from nbckpt.session.session import Session
    from nbckpt.session.workspace.workspace import Workspace

AROUND = ("pre_execute", "pre_run_cell", "post_run_cell", "post_execute")

_OF_SHELL = frozenset({"nbckpt", "IPython", "ipykernel", "matplotlib_inline"})


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
            self.names = touched_at_work(works, session.workspace)
        except user_code_errors():  # whatever a loop or thread of another kind says
            self.names = None


def touched_by_callbacks(events: Any, workspace: Workspace) -> frozenset[str] | None:
    """The names that callbacks of a shell's events can change; None: any.

    Parameters
    ----------
    events
        The shell's, where they are registered.
    """
    called = [f for event in AROUND for f in events.callbacks.get(event, ())]
    users = [f for f in called if not _is_of_library(f)]
    return _reach_of(workspace, users) if users else frozenset()


def _reach_of(workspace: Workspace, called: Iterable[Any]) -> frozenset[str] | None:
    """The names that calls change; what looks at code is loaded when there are any."""
    from nbckpt.fingerprint.code.bytecode import NOTHING

    return workspace.reach_of(NOTHING, [*called])


def touched_at_work(works: Iterable[AtWork], workspace: Workspace) -> frozenset[str] | None:
    """The names that what goes on beside the cells can change; None: any."""
    works = list(works)
    if any(work.is_untold for work in works):
        return None
    held = frozenset(name for work in works for name in work.holds)
    code = [code for work in works for code in work.code]
    given = [value for work in works for value in work.given]
    if not code and not given:
        return held
    from nbckpt.fingerprint.code import names_of_code
    from nbckpt.fingerprint.code.bytecode import union

    touched = workspace.reach_of(union(map(names_of_code, code)), given)
    return None if touched is None else touched | held


def touched_by_pages(workspace: Workspace) -> frozenset[str] | None:
    """The names that a message from a page to a widget can change; None: any.

    The widgets themselves, wherever a variable holds them, and what the callbacks change that
    code has given them.
    """
    shown = [widget for widget in shown_widgets() if not _is_of_nbckpt(type(widget))]
    if not shown:
        return frozenset()
    namespace = workspace.tracker.namespace
    called = [_plain(callback) for widget in shown for callback in callbacks_of(widget)]
    if not all(type(f) is FunctionType and f.__globals__ is namespace for f in called):
        return None
    changed = _reach_of(workspace, called)
    return None if changed is None else changed | may_hold_widgets(namespace)


def _is_of_nbckpt(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "nbckpt" or any(map(_is_of_nbckpt, kind.__bases__))


def _plain(callback: object) -> Any:
    return callback.__func__ if type(callback) is MethodType else callback


def _is_of_library(callback: object) -> bool:
    """True for a function or method of a library's that was not made around one of the user's."""
    function = _plain(callback)
    if type(function) is not FunctionType:
        return False
    home = str(function.__globals__.get("__name__"))
    if home.partition(".")[0] in _OF_SHELL:
        return True
    return not function.__closure__ and not is_users_module(home)
