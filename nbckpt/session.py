"""A live namespace bound to one branch of one store: checkpoint, rewind, resume, look."""

from __future__ import annotations

import ast
import secrets
import time
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt import moves, randomness
from nbckpt.capture import Captured, Capturer
from nbckpt.config import Settings, settings_from, settings_of
from nbckpt.digests import Digest
from nbckpt.endings import end_at_exit
from nbckpt.errors import StoreError, VariableNotFoundError
from nbckpt.joining import Joining
from nbckpt.model import Cell, Checkpoint, Key, State, checkpoint_record
from nbckpt.moves import Moved
from nbckpt.policy import OFF, Policy
from nbckpt.reducers import Reducer
from nbckpt.selection import Selection, missing
from nbckpt.standing import Standing
from nbckpt.storage.store import Store
from nbckpt.values import ValueDigester

if TYPE_CHECKING:
    from nbckpt.steps import Step, Watch


class Interrupted(NamedTuple):
    """A step that raised in this session, and what it had made of its own inputs by then."""

    key: Key
    inputs: Mapping[str, Digest]


class Session(Standing):
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
    """

    is_nbckpts_own = True

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
        super().__init__(store, notebook, branch)
        self.namespace = namespace
        self.settings = settings or settings_from()
        self.capturer = Capturer(store, namespace, hidden)
        self.moved = False
        self.interrupted: dict[str, Interrupted] = {}
        self.steps: dict[str, Step] = {}
        self.running: ast.Module | None = None
        self.guards_blocks = False
        self.reruns = False
        self.watch: Watch | None = None
        self.runner: Callable[[], Any] | None = None
        self.seeded: set[str] = set()
        self.reducers: dict[str, Reducer] = {}
        self.policy: Policy = OFF
        self.joining = Joining(self)
        self.ended = False

    # -- what code ran ----------------------------------------------------------------------

    def ran(self, tree: ast.Module | None) -> None:
        """Note that code ran in the namespace; None if it is not known which.

        A shell says so of each cell. Without one, every call here asks for a look at everything.
        """
        if tree is None:
            # In a shell it was no cell: what is quickly looked at is looked at all the same.
            self.capturer.touched(self.capturer.quick_to_look_at() if self.guards_blocks else None)
            return
        from nbckpt import analysis, keys

        names = analysis.names_of_tree(tree)
        self.capturer.touched(keys.touched(names, self.namespace))
        self.capturer.bindings.ran(tree)
        if randomness.seeds(tree, self.namespace):
            self.seeded.update(randomness.NAMES)

    def key_of(self, tree: ast.Module, selection: Selection, deps: Sequence[str] = ()) -> Key:
        """What a step with this code depends on, here and now."""
        from nbckpt import keys

        key = keys.key_of(tree, self.namespace, deps=deps, options=selection.options())
        groups = self.capturer.sharing(n for n in sorted(key.inputs) if n in self.namespace)
        return key._replace(shares=tuple(", ".join(group) for group in groups))

    def digests_of(self, names: Iterable[str]) -> dict[str, Digest]:
        """Digests of live variables that are the same in every process."""
        present = [n for n in sorted(names) if n in self.namespace]
        return {n: ValueDigester(self.namespace).digest(self.namespace[n]) for n in present}

    def random_states(self) -> dict[str, str]:
        """Digest of each random generator's state, of those whose numbers were asked for."""
        self.capturer.capture_random_states()
        kept = self.capturer.manifest()
        return {n: kept[n].blob for n in randomness.NAMES & self.seeded if n in kept}

    # -- checkpoint -------------------------------------------------------------------------

    def checkpoint(
        self,
        name: str,
        *,
        vars: Iterable[str] | None = None,  # noqa: A002  # the option's name everywhere else
        exclude: Iterable[str] = (),
        tags: Iterable[str] = (),
        note: str = "",
        sync: bool = False,
    ) -> Checkpoint:
        """Keep what is there now, under `name`.

        Raises
        ------
        VariableNotFoundError
            If `vars` names a variable that does not exist.
        StoreError
            If the disk refuses.
        """
        selection = Selection(None if vars is None else frozenset(vars), frozenset(exclude))
        self.require_names(selection)
        self.ran(self.running)
        began = time.time()
        with self.holding():
            captured = self.capture(selection)
            draft = self.draft(name, captured, cell=Cell(""), duration_s=time.time() - began)
            bound = tuple(sorted(captured.changed))
            draft = replace(draft, tags=tuple(tags), note=note, bound=bound)
            self.commit(draft, sync=sync)
        return draft

    def capture(self, selection: Selection) -> Captured:
        """Look at what may have changed, and put what of it is selected into the store."""
        base = self.timeline.manifest(self.position) if self.position else {}
        return self.capturer.capture(selection, base=base)

    def require_names(self, selection: Selection, known: Container[str] = ()) -> None:
        """Raise unless every variable that `selection` names exists or is in `known`."""
        present = set(self.capturer.user_names())
        for name in sorted(selection.vars or ()):
            if name not in present and name not in known:
                raise VariableNotFoundError(missing(name, present))

    def draft(
        self, name: str, captured: Captured, *, cell: Cell, duration_s: float, state: State = "done"
    ) -> Checkpoint:
        """A checkpoint of what was captured, as a change of where the namespace was."""
        base = self.timeline.manifest(self.position) if self.position else {}
        changed = {n: v for n, v in captured.manifest.items() if base.get(n) != v}
        return Checkpoint(
            id=new_id(),
            parent=self.position,
            name=name,
            branch=self.branch,
            session=self.id,
            notebook=self.notebook,
            created_at=time.time(),
            duration_s=duration_s,
            cell=cell,
            state=state,
            changed=changed,
            removed=tuple(sorted(set(base) - set(captured.manifest))),
            refused=captured.refused,
            omitted=captured.omitted,
            seeded=tuple(sorted(self.seeded)),
            inherited=self.timeline.inherited(self.position),
            joined=tuple(self.joined) if state == "done" and not captured.omitted else (),
        )

    def commit(self, checkpoint: Checkpoint, *, sync: bool = False, patience_s: float = -1) -> None:
        """Write a checkpoint, and move the branch to it if it is done.

        Returns when it is durable or, unless `sync`, after the settings' patience.

        Raises
        ------
        StoreError
            If the disk refuses: the checkpoint counts as failed, until the disk takes it with a
            later one.
        """
        records = [checkpoint_record(checkpoint)]
        if checkpoint.state == "done":
            records.append(self.head_record(checkpoint))
        written = self.append(records)
        self.writing.follow(checkpoint, written)
        for record in records:
            self.timeline.apply(record)
        if checkpoint.state == "done":
            self.position = checkpoint.id
            self.joining.kept(checkpoint, written)
        patience = self.settings.patience_s if patience_s < 0 else patience_s
        try:
            _await(written, None if sync else patience)
        except StoreError:
            self.writing.settle(raised=checkpoint.id)
            raise
        self.writing.settle()
        self.tell("progress" if checkpoint.state == "partial" else "checkpoint")

    @property
    def joined(self) -> list[Cell]:
        """Cells that ran well since the position and were not kept by themselves."""
        return self.joining.cells

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
        return moves.rewind(self, ref)

    def resume(self, branch: str | None = None, *, fallback: bool = False) -> Moved:
        """Bring the head of `branch` into this namespace, as after a restart.

        Parameters
        ----------
        fallback
            If the head is damaged, take the newest checkpoint that is whole.

        Raises
        ------
        CheckpointNotFoundError
            If there is no such branch, or nothing on it yet.
        FormatError
            If the head is damaged: nothing was changed, and the message says what could be had.
        """
        self._before_moving()
        return moves.resume(self, branch, fallback=fallback)

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
        from nbckpt import forks

        return forks.fork(self, ref, branch, values or {}, expressions or {})

    def switch(self, branch: str) -> Moved:
        """Go to the head of a branch. What was there is checkpointed first.

        Raises
        ------
        BranchNotFoundError
            If there is no such branch.
        """
        self._before_moving()
        from nbckpt import forks

        return forks.switch(self, branch)

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
        from nbckpt import forks

        return forks.update(self, ref, values, as_step, expressions or {})

    def tag(self, ref: str, *tags: str, delete: bool = False) -> Checkpoint:
        """Give a checkpoint tags, or take them away; the checkpoint as it is then.

        Raises
        ------
        UsageError
            If a tag has a space, a comma or `#` in it, or one to delete is not there.
        """
        from nbckpt import marks

        return marks.tag(self, ref, tags, delete=delete)

    def note(self, ref: str, text: str) -> Checkpoint:
        """Give a checkpoint another note; the checkpoint as it is then."""
        from nbckpt import marks

        return marks.note(self, ref, text)

    def go_to(self, target: Checkpoint) -> None:
        """Make the namespace that of a checkpoint, and leave every branch where it is.

        What is there is checkpointed first, unless the session stands there already.

        Raises
        ------
        StoreError
            If what is there now cannot be written: nothing was changed.
        """
        if target.id == self.position:
            self._look_around()
            return
        self._before_moving()
        moves.keep_unsaved(self, "before-rerun")
        moves.move(self, target)

    def _before_moving(self) -> None:
        """Take note of what may have changed, and keep what is joined."""
        self._look_around()
        self.joining.keep_aside()

    def _look_around(self) -> None:
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


def new_id() -> str:
    """A new checkpoint's id: random, so that its first characters tell it from all others."""
    return secrets.token_hex(10)


def _await(written: Future[None], timeout_s: float | None) -> None:
    try:
        written.result(timeout_s)
    except TimeoutError:
        return
