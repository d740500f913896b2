"""Work in a notebook while no cell runs: tables are written, kept values are looked at.

Values are looked at on the kernel's own loop, between its messages, so that no cell and no
callback of the loop runs meanwhile; a cell of a subshell waits for the variable that is being
looked at. A shell without such a loop asks with ``%nbckpt check --memory``.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbckpt.errors import NbckptError, StoreError
from nbckpt.fingerprint.values.widgets import is_widget
from nbckpt.jupyter import preloading
from nbckpt.jupyter.automatic_prune import Retaining
from nbckpt.jupyter.cell_interrupts import callback
from nbckpt.runtime.idle_clock import IdleClock
from nbckpt.runtime.user_code_errors import user_code_errors

if TYPE_CHECKING:
    import asyncio

    from IPython.core.interactiveshell import InteractiveShell

    from nbckpt.model import Checkpoint
    from nbckpt.session.session import Session
    from nbckpt.session.verification import Verifier
    from nbckpt.session.verification_sweep import Sweep

SLICE_S = 0.02
"""Seconds that a slice takes, unless one variable takes longer."""

ANSWERED_S = 0.01
"""Seconds after a cell until the kernel has answered, and has begun a next one that waited."""

READY_S = 0.1
"""Seconds of pause before libraries are looked at: a cell that comes at once may be restored, and
needs no look at them."""

GLANCE_S = 0.0005
"""Seconds that may be spent on looking around before a cell."""

OF_ONE_CELL = 2
"""Number of the events that begin something and come with one cell."""

PAUSE_S = 0.01
"""Seconds between slices, for the loop's messages."""


class Idling:
    """Uses the time in which no cell of a shell runs."""

    def __init__(self, shell: InteractiveShell, session: Session) -> None:
        self._shell = shell
        self._session = session
        self._clock = IdleClock(session.settings.idle_s, self._rest)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = 0
        self._begun = 0
        self._one_at_a_time = threading.RLock()
        self._told: set[str] = set()
        self._is_attached = False
        self._parts = preloading.parts()
        self._is_loaded = False
        self._is_ready = False
        self._retaining = Retaining(session)

    @cached_property
    def verifier(self) -> Verifier:
        """The verifier of all that is kept."""
        from nbckpt.session.verification import Verifier  # needed by no load of the extension

        return Verifier(self._session)

    def attach(self) -> None:
        """Follow the shell's cells and callbacks, if the settings want it."""
        self._is_attached = True
        self._retaining.look()
        if self._session.settings.idle_s:
            for event, called in self._callbacks():
                self._shell.events.register(event, called)

    def detach(self) -> None:
        """Let go."""
        self._is_attached = False
        if self._session.settings.idle_s:
            for event, called in self._callbacks():
                self._shell.events.unregister(event, called)
        self._clock.close()

    def _callbacks(self) -> list[tuple[str, Callable[..., None]]]:
        # A callback of a widget has the first two alone. A cell's checkpoint is made at the last,
        # by who was registered before.
        return [
            ("pre_execute", self._begin),
            ("post_execute", self._end),
            ("pre_run_cell", self._begin),
            ("pre_run_cell", self._glance),
            ("post_run_cell", self._end),
        ]

    def verify(self) -> Checkpoint | None:
        """Look at everything now, however long it takes, and keep what differs.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        sweep = self.verifier.begin(thoroughly=True)
        while sweep.go_on(SLICE_S):
            pass
        return sweep.keep()

    # -- cells and callbacks come and go

    @callback
    def _begin(self, _: object = None) -> None:
        with self._one_at_a_time:  # a subshell waits until nothing is being looked at
            self._running += 1
            self._begun += 1
        self._clock.begin()

    @callback
    def _end(self, _: object = None) -> None:
        self._running = max(0, self._running - 1)  # 0 already: the cell that loaded nbckpt ends
        if self._running:
            return
        if self._loop is None:
            self._loop = self._kernels_loop()
        is_on_loop = threading.current_thread() is threading.main_thread()
        if self._loop is not None and is_on_loop and not self._is_ready:
            self._loop.call_later(ANSWERED_S, self._load_ahead, self._begun)
            self._loop.call_later(READY_S, self._get_ready, self._begun)
        self._clock.end()

    def _load_ahead(self, begun: int) -> None:
        """Load what the first steps need, part by part, until a cell begins."""
        with self._one_at_a_time:
            if not self._is_idle(begun) or not self._is_attached:
                return
            assert self._loop is not None
            for _ in self._parts:
                self._loop.call_later(PAUSE_S, self._load_ahead, begun)
                return
            self._is_loaded = True

    def _get_ready(self, begun: int) -> None:
        """Look at the libraries once all is loaded, so that the first cell need not wait."""
        with self._one_at_a_time:
            if not self._is_idle(begun) or not self._is_attached:
                return
            if not self._is_loaded:
                assert self._loop is not None
                self._loop.call_later(PAUSE_S, self._get_ready, begun)
                return
            self._is_ready = True
            self._session.workspace.observer.look()

    @callback
    def _glance(self, _: object = None) -> None:
        """Before a cell: see what was changed since the last one, as far as that is quick.

        So that it counts as it was before this cell, and not as this cell's doing.
        """
        if self._running > OF_ONE_CELL or self._session.position.id is None:
            return
        try:
            self._notify_changes(self.verifier.glance(GLANCE_S), "the next checkpoint has it")
        except NbckptError as problem:
            self._notify(f"what changed while nothing ran was not looked at: {problem}")

    @callback
    def glance_after(self, result: Any) -> None:
        """After a cell that awaited, before its checkpoint: tasks may have run meanwhile.

        Nobody is told: what the cell itself changed is among what is found.
        """
        info = getattr(result, "info", None)
        if "await" not in str(getattr(info, "raw_cell", "")) or self._session.position.id is None:
            return
        with suppress(NbckptError):  # the checkpoint that follows says it
            self.verifier.glance(GLANCE_S)

    def _kernels_loop(self) -> asyncio.AbstractEventLoop | None:
        in_main = threading.current_thread() is threading.main_thread()
        if getattr(self._shell, "kernel", None) is None or not in_main:
            return None
        import asyncio  # a kernel has it loaded; a plain shell need not load it

        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            return None

    # -- nothing runs

    def _rest(self) -> None:
        """In the clock's thread: begin what is to be done."""
        begun = self._begun
        with self._one_at_a_time:
            if self._running:
                return
            self._catch_up(begun)
        if self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._look, begun)
            except RuntimeError:  # the kernel has ended
                self._clock.close()

    def _catch_up(self, begun: int) -> None:
        """Have written what waits: what the disk refused, and tables."""
        session = self._session
        session.writes.settle()
        if session.writes.refused:  # there may be room now
            with suppress(StoreError):  # the store was closed
                session.writes.try_again()
        try:
            self._retaining.look()
            if session.position.id is None:
                return
            manifest = session.timeline.manifest(session.position.id)
            session.tables.make_ahead(
                manifest, session.namespace, goes_on=lambda: self._is_idle(begun)
            )
        except NbckptError:  # the store was closed; who asks for a table is told
            return

    def _is_idle(self, begun: int) -> bool:
        return not self._running and self._begun == begun

    def _look(self, begun: int, sweep: Sweep | None = None) -> None:
        """On the loop: one slice of a sweep, and then the next, until a cell begins."""
        from nbckpt.session.verification_sweep import NAME

        with self._one_at_a_time:
            if not self._is_idle(begun):
                self._notify_changes(sweep.found if sweep else set(), "the next checkpoint has it")
                return
            try:
                self._session.pending_cells.rest()
                sweep = sweep or self.verifier.begin()
                if sweep.go_on(SLICE_S):
                    assert self._loop is not None
                    self._loop.call_later(PAUSE_S, self._look, begun, sweep)
                    return
                sweep.keep()
                self._notify_changes(sweep.found, f"kept as {NAME!r}")
            except NbckptError as problem:
                self._notify(f"what changed while nothing ran was NOT kept: {problem}")
            except user_code_errors() as error:  # a hook's error never breaks the kernel
                self._clock.close()
                where = "looking at what changed while nothing ran"
                self._session.writes.owe_event(
                    "hook_failed", where=where, error=type(error).__name__
                )
                self._notify(
                    "looking at what changed while nothing ran has stopped, by a defect in nbckpt: "
                    + "".join(traceback.format_exception(error))
                )

    def _notify_changes(self, found: set[str], kept: str) -> None:
        """Name each variable once: what a thread changes, it changes again and again."""
        values = self._session.namespace
        of_code = {n for n in found if not is_widget(type(values.get(n)))}  # a page changes these
        names = sorted(of_code - self._told)
        self._told |= found
        if names:
            listed = ", ".join(map(repr, names))
            how = "was changed" if len(names) == 1 else "were changed"
            by = "something other than a cell (a thread or a callback)"
            self._notify(f"{listed} {how} by {by}; {kept}")

    def _notify(self, text: str) -> None:
        self._session.writes.news.append(text)
