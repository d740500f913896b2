"""A live namespace bound to one branch of one store: checkpoint, rewind, resume, look."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from nbckpt.capture.selection import Selection
from nbckpt.config.auto_policy import OFF, Policy
from nbckpt.config.settings import Settings
from nbckpt.config.settings_sources import settings_from, settings_of
from nbckpt.config.validate import require_text
from nbckpt.errors import StoreError
from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Checkpoint
from nbckpt.runtime import clock, telemetry
from nbckpt.runtime.collected import do_waiting
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.session.auto.pending_cells import PendingCells
from nbckpt.session.branch_position import BranchPosition
from nbckpt.session.checkpoint_writer import CheckpointWriter
from nbckpt.session.history_follower import HistoryFollower
from nbckpt.session.pending_writes import PendingWrites, Writer
from nbckpt.session.query_tables import TableKeeper
from nbckpt.session.shutdown import register_atexit
from nbckpt.storage.store import Store
from nbckpt.timeline.references import require_name
from nbckpt.timeline.timeline import Timeline

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from nbckpt.digests import Json
    from nbckpt.session.moves.move_result import MoveResult
    from nbckpt.session.reducers import Reducer
    from nbckpt.session.workspace.workspace import Workspace

_State = TypeVar("_State")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def verb(method: Callable[Concatenate[Session, _P], _R]) -> Callable[Concatenate[Session, _P], _R]:
    """`method`, which one thread is in at once, and which no interrupt leaves half done."""

    @wraps(method)
    def alone(self: Session, /, *args: _P.args, **named: _P.kwargs) -> _R:
        with self.store.turn.taken():
            return method(self, *args, **named)

    return alone


class Session(Own):
    """A live namespace bound to one branch of one store.

    Parameters
    ----------
    store
        Where checkpoints go.
    namespace
        The variables; in a notebook its globals. None if there are none, as for a command.
    notebook
        Name of the notebook, for the history.
    branch
        By default the one that this notebook was on last.
    hidden
        Names in the namespace that are not the user's.

    Attributes
    ----------
    began_at
        When it began, in seconds since 1970.
    timeline
        The history of the store.
    position
        Its branch, and the checkpoint that the namespace comes from.
    writes
        What it writes into its journal.
    follower
        Takes in what other sessions write.
    checkpoints
        Makes its checkpoints.
    pending_cells
        Cells that the next checkpoint will hold.
    tables
        Tables of checkpoints as Parquet.
    listeners
        Called with what happened: ``checkpoint``, ``progress``, ``moved``, ``tag``, ``refreshed``
        (others have written) or ``pruned``, on the thread where it happened; and ``written``, on
        the thread that writes, once the journal has an event.
    moved
        Whether the namespace was made that of another checkpoint while the cell runs.
    ended
        Whether it has ended.
    """

    def __init__(
        self,
        store: Store,
        namespace: dict[str, object] | None,
        *,
        notebook: str = "",
        branch: str | None = None,
        hidden: Container[str] = frozenset(),
        settings: Settings | None = None,
    ) -> None:
        self.id = os.urandom(6).hex()
        self.began_at = clock.now()
        self.store = store
        self.namespace: dict[str, object] = (
            {"__name__": "__main__"} if namespace is None else namespace
        )
        self._hidden = hidden
        self.notebook = notebook
        self.listeners: list[Callable[[str], None]] = []
        self.timeline = Timeline()
        writer, begin = Writer(self.id, notebook), partial(register_atexit, self)
        self.writes = PendingWrites(store, self.timeline, writer, begin=begin, emit=self.emit)
        self.position = BranchPosition(self.timeline, self.writes, notebook, branch)
        self.follower = HistoryFollower(store, self.timeline, self.writes, self.position, self.emit)
        telemetry.measure(store)
        self.refresh()
        if branch is None:
            self.position.choose_usual_branch()
        self.tables = TableKeeper(store)
        self.checkpoints = CheckpointWriter(self)
        self.settings = settings or settings_from()
        self.position.is_exact = namespace is None or not self.workspace.tracker.user_names()
        self.policy: Policy = OFF
        self.pending_cells = PendingCells(self)
        self.reducers: dict[str, Reducer] = {}
        self.moved = False
        self.ended = False
        self._states: dict[type[Any], Any] = {}

    @property
    def settings(self) -> Settings:
        """The settings that hold for this session."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._settings = settings
        self.store.let_wait(settings.max_background_memory)
        if problem := telemetry.choose(settings.telemetry):
            self.writes.news.append(problem)
        if "workspace" in vars(self):
            self.workspace.apply_settings(settings)

    @cached_property
    def workspace(self) -> Workspace:
        """The namespace, and what may have changed in it."""
        # Most commands only read the history, and need no code that looks at values.
        from nbckpt.session.workspace.workspace import Workspace

        made = Workspace(
            self.store,
            self.namespace,
            self._hidden,
            self.position,
            self.writes,
            self._answer,
        )
        made.apply_settings(self._settings)
        return made

    def _answer(self, reference: str, question: str) -> Json:
        """What a question about a reference is answered with here and now."""
        from nbckpt.session.checkpoint_facts import answer

        return answer(self.timeline, self.position, reference, question)

    def state(self, kind: type[_State]) -> _State:
        """State of this session that code above it owns; made when it is first asked for."""
        found: _State | None = self._states.get(kind)
        if found is None:
            found = self._states.setdefault(kind, kind())
        return found

    def emit(self, what: str) -> None:
        """Let who listens know that something happened."""
        for listener in list(self.listeners):
            try:
                listener(what)
            except user_code_errors() as problem:  # a view that fails is no reason for a cell to
                kind = type(problem).__name__
                self.writes.notify(f"a listener failed at {what!r}: {kind}: {problem}")

    def refresh(self) -> None:
        """Take in what other sessions have written, and what became of this one's own writes."""
        self.follower.refresh()

    def wait(self, timeout_s: float | None = None) -> None:
        """Return when everything so far is durable; see `nbckpt.wait`."""
        do_waiting()
        self.writes.wait(timeout_s)

    def get(self, ref: str) -> Checkpoint:
        """The checkpoint that `ref` names; else a CheckpointNotFoundError says what there is."""
        self.refresh()
        return self.position.resolve(ref)

    def history(self) -> list[Checkpoint]:
        """The checkpoints of this branch, newest first."""
        self.refresh()
        head = self.position.head
        newest = self.position.id or (head.id if head else None)
        return self.timeline.ancestry(newest) if newest else []

    def sql(
        self,
        query: str,
        *,
        functions: Mapping[str, Callable[[str], pa.Table]] = MappingProxyType({}),
    ) -> duckdb.DuckDBPyRelation:
        """The answer of DuckDB to `query`, over `checkpoints`, `variables` and so on.

        Parameters
        ----------
        functions
            Further functions of one name that give tables.
        """
        from nbckpt.storage.query import Place, relation

        require_text(query, "a query")
        with suppress(StoreError):  # a disk that takes nothing can be asked; prompts tell of it
            self.wait()
        self.refresh()
        place = Place(self.position.branch, self.position.id, self.position.before)
        return relation(
            self.store,
            self.timeline,
            query,
            place=place,
            make=self.tables.record,
            functions=functions,
        )

    @verb
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
        UsageError
            If `name` is none that a reference can mean.
        VariableNotFoundError
            If `vars` names a variable that does not exist.
        StoreError
            If the disk refuses.
        """
        name = require_name(name)
        selection = Selection(None if vars is None else frozenset(vars), frozenset(exclude))
        self.workspace.require_names(selection)
        self.workspace.ran(self.workspace.running)
        return self.checkpoints.keep(name, selection, tags=tuple(tags), note=note, sync=sync)

    @verb
    def event(self, name: str) -> Checkpoint | None:
        """Say that something happened; the checkpoint of it, if the policy makes one."""
        return self.pending_cells.event(name)

    @verb
    def rewind(self, ref: str) -> MoveResult:
        """Make the namespace that of `ref`; see `nbckpt.rewind`."""
        from nbckpt.session.moves import rewind_and_resume

        return rewind_and_resume.rewind(self, ref)

    @verb
    def resume(self, branch: str | None = None, *, fallback: bool = False) -> MoveResult:
        """Bring the head of `branch` into this namespace; see `nbckpt.resume`."""
        from nbckpt.session.moves import rewind_and_resume

        return rewind_and_resume.resume(self, branch, fallback=fallback)

    @verb
    def fork(
        self,
        ref: str,
        branch: str | None = None,
        values: Mapping[str, object] | None = None,
        expressions: Mapping[str, str] | None = None,
    ) -> MoveResult:
        """Be on a new branch at `ref`; see `branching.fork`."""
        from nbckpt.session.moves import branching

        return branching.fork(self, ref, branch, values or {}, expressions or {})

    @verb
    def switch(self, branch: str) -> MoveResult:
        """Go to the head of a branch; see `nbckpt.switch`."""
        from nbckpt.session.moves import branching

        return branching.switch(self, branch)

    @verb
    def update(
        self,
        ref: str,
        values: Mapping[str, object],
        as_step: str | None = None,
        expressions: Mapping[str, str] | None = None,
    ) -> Checkpoint:
        """Give variables values by hand, as if a step had made them; see `branching.update`."""
        from nbckpt.session.moves import branching

        return branching.update(self, ref, values, as_step, expressions or {})

    @verb
    def tag(self, ref: str, *tags: str, delete: bool = False) -> Checkpoint:
        """Give a checkpoint tags, or take them away; the checkpoint as it is then."""
        from nbckpt.session import annotations

        return annotations.tag(self, ref, tags, delete=delete)

    @verb
    def note(self, ref: str, text: str) -> Checkpoint:
        """Give a checkpoint another note; the checkpoint as it is then."""
        from nbckpt.session import annotations

        return annotations.note(self, ref, text)

    @verb
    def restore_position(self, target: Checkpoint) -> None:
        """Make the namespace that of a checkpoint, and leave every branch where it is."""
        from nbckpt.session.moves import rewind_and_resume

        rewind_and_resume.restore_position(self, target)

    @verb
    def rescan(self) -> None:
        """Take note of what may have changed: by the cell that asks, and by whatever else."""
        workspace = self.workspace
        workspace.ran(workspace.running)
        if workspace.running is not None:
            workspace.tracker.touched(workspace.tracker.quick_to_look_at())


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
