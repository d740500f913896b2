"""A live namespace bound to one branch of one store: checkpoint, rewind, resume, look."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nbckpt.capture.background_work import AtWork
from nbckpt.capture.untrusted import require_trusted
from nbckpt.config.auto_policy import OFF, Policy
from nbckpt.config.settings import Settings
from nbckpt.config.sources import settings_from, settings_of
from nbckpt.digests import Digest
from nbckpt.fingerprint.names import Own
from nbckpt.model import Checkpoint, Key
from nbckpt.session import navigation
from nbckpt.session.auto.pending_cells import Joining
from nbckpt.session.branch_position import verb
from nbckpt.session.navigation import Moved
from nbckpt.session.reducers import Reducer
from nbckpt.session.shutdown import end_at_exit
from nbckpt.session.workspace import Keeping
from nbckpt.storage.store import Store


class Interrupted(NamedTuple):
    """A step that raised in this session, and what it had made of its own inputs by then."""

    key: Key
    inputs: Mapping[str, Digest]


class Session(Keeping, Own):
    """A live namespace bound to one branch of one store.

    Parameters
    ----------
    store
        Where checkpoints go.
    namespace
        The variables; in a notebook its globals.
    notebook
        Name of the notebook, for the history.
    branch
        By default the one that this notebook was on last.
    hidden
        Names in the namespace that are not the user's.

    Attributes
    ----------
    at_work
        What went on beside the cells when one began or ended last.
    running_steps
        id → each step whose body runs, in the order in which they began.
    """

    def __init__(
        self,
        store: Store,
        namespace: dict[str, object],
        *,
        notebook: str = "",
        branch: str | None = None,
        hidden: Container[str] = frozenset(),
        settings: Settings | None = None,
    ) -> None:
        super().__init__(store, namespace, notebook, branch, hidden, settings)
        self.moved = False
        self.interrupted: dict[str, Interrupted] = {}
        # Of `nbckpt.steps`, which stands above the session: it alone looks into them.
        self.steps: dict[str, Any] = {}
        self.running_steps: dict[int, Any] = {}
        self.at_work: list[AtWork] = []
        self.reruns = False
        self.pays_anew = False
        self.watch: Any = None
        self.runner: Callable[..., Any] | None = None
        self.confirms: Callable[[str], bool | None] | None = None
        self.is_remaking = False
        self.asker: Callable[..., Any] | None = None
        self.shown: tuple[dict[str, object], ...] = ()
        self.reducers: dict[str, Reducer] = {}
        self.policy: Policy = OFF
        self.joining = Joining(self)
        self.ended = False

    @verb
    def event(self, name: str) -> Checkpoint | None:
        """Say that something happened: under ``%nbckpt auto event`` a checkpoint, else a note.

        Returns
        -------
        Checkpoint or None
            What was made, under `name`; None if the policy does not wait for this event.
        """
        return self.joining.event(name)

    def begins(self) -> None:
        """Have the session ended when the interpreter exits."""
        end_at_exit(self)

    # -- going back -------------------------------------------------------------------------

    @verb
    def rewind(self, ref: str) -> Moved:
        """Make the namespace that of `ref`. What was there is checkpointed first.

        Raises
        ------
        CheckpointNotFoundError
            If `ref` names none.
        StoreError
            If what is there now cannot be written: nothing was changed.
        """
        self._before_moving()
        return navigation.rewind(self, ref)

    @verb
    def resume(self, branch: str | None = None, *, fallback: bool = False) -> Moved:
        """Bring the head of `branch` into this namespace, as after a restart.

        Parameters
        ----------
        fallback
            If the head is damaged, take the newest checkpoint that is whole.

        Raises
        ------
        BranchNotFoundError
            If there is no such branch.
        CheckpointNotFoundError
            If there is nothing on it yet.
        FormatError
            If the head is damaged: nothing was changed, and the message says what could be had.
        """
        self._before_moving()
        return navigation.resume(self, branch, fallback=fallback)

    @verb
    def fork(
        self,
        ref: str,
        branch: str | None = None,
        values: Mapping[str, object] | None = None,
        expressions: Mapping[str, str] | None = None,
    ) -> Moved:
        """A new branch at `ref`, and the session on it. What was there is checkpointed first.

        Parameters
        ----------
        branch
            Its name; by default one is made of this branch's: `main-2`.
        values, expressions
            Variables that are to be other than at `ref`: objects, and then texts that are
            evaluated there, in this order.

        Raises
        ------
        CheckpointNotFoundError
            If `ref` names none.
        BranchExistsError
            If the name is taken.
        UsageError
            If the name cannot be had, or an expression fails: nothing was changed.
        """
        self._before_moving()
        from nbckpt.session import branching

        return branching.fork(self, ref, branch, values or {}, expressions or {})

    @verb
    def switch(self, branch: str) -> Moved:
        """Go to the head of a branch. What was there is checkpointed first.

        Raises
        ------
        BranchNotFoundError
            If there is no such branch.
        """
        self._before_moving()
        from nbckpt.session import branching

        return branching.switch(self, branch)

    @verb
    def update(
        self,
        ref: str,
        values: Mapping[str, object],
        as_step: str | None = None,
        expressions: Mapping[str, str] | None = None,
    ) -> Checkpoint:
        """Give variables values by hand, as if a step had made them after `ref`.

        Each goes through the reducer of its variable. Where `ref` is the head of this branch, the
        branch goes on; else it is a new branch. The session is there.

        Parameters
        ----------
        as_step
            The step that the values are attributed to; by default that of `ref`.
        expressions
            More values, as texts that are evaluated at `ref`.

        Raises
        ------
        CheckpointNotFoundError
            If `ref` names none.
        UsageError
            If there is no such step, or an expression or a reducer fails: nothing was changed.
        """
        self._before_moving()
        from nbckpt.session import branching

        return branching.update(self, ref, values, as_step, expressions or {})

    @verb
    def tag(self, ref: str, *tags: str, delete: bool = False) -> Checkpoint:
        """Give a checkpoint tags, or take them away; the checkpoint as it is then.

        Raises
        ------
        UsageError
            If a tag has a space, a comma or `#` in it, or one to delete is not there.
        """
        from nbckpt.session import annotations as marks

        return marks.tag(self, ref, tags, delete=delete)

    @verb
    def note(self, ref: str, text: str) -> Checkpoint:
        """Give a checkpoint another note; the checkpoint as it is then."""
        from nbckpt.session import annotations as marks

        return marks.note(self, ref, text)

    @verb
    def go_to(self, target: Checkpoint) -> None:
        """Make the namespace that of a checkpoint, and leave every branch where it is.

        What is there is checkpointed first, unless the session stands there already.

        Raises
        ------
        UntrustedError
            If the user neither made nor trusts it: nothing was changed.
        StoreError
            If what is there now cannot be written: nothing was changed.
        """
        if target.id == self.position:
            self.look_around()
            return
        require_trusted(target)
        self._before_moving()
        navigation.keep_unsaved(self, "before-rerun")
        navigation.move(self, target)

    def _before_moving(self) -> None:
        """Take note of what may have changed, and keep what is joined."""
        self.look_around()
        self.joining.keep_aside()

    @verb
    def look_around(self) -> None:
        """Take note of what may have changed: by the cell that asks, and by whatever else."""
        self.ran(self.running)
        if self.running is not None:
            self.capturer.touched(self.capturer.quick_to_look_at())


def open_session(
    path: str | Path | None,
    namespace: dict[str, object],
    notebook: str = "",
    *,
    branch: str | None = None,
    hidden: Container[str] = frozenset(),
) -> Session:
    """A session on the store at `path`, which is made if it is not there.

    Parameters
    ----------
    path
        Folder of the store; by default ``NBCKPT_STORE``, or `.nbckpt` in the working directory.
    namespace
        The variables to keep.

    Raises
    ------
    StoreError, FormatError
        If there is no store to be had at `path`.
    """
    settings = settings_from()
    store = Store.open(Path(path) if path is not None else settings.store)
    settings = settings_of(store, settings)
    for problem in settings.problems:
        warnings.warn(problem, stacklevel=3)
    return Session(
        store, namespace, notebook=notebook, branch=branch, hidden=hidden, settings=settings
    )
