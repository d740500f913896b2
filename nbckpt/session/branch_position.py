"""The position of a session: its branch, the checkpoint that it stands on, where it came from."""

from __future__ import annotations

from typing import NamedTuple

from nbckpt.fingerprint.user_names import Own
from nbckpt.model import Checkpoint, Record
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import whole
from nbckpt.session.pending_writes import PendingWrites
from nbckpt.timeline.records import head_record
from nbckpt.timeline.references import resolve
from nbckpt.timeline.timeline import Timeline

MAIN = "main"


class Seen(NamedTuple):
    """What the next checkpoint finds of a branch.

    Attributes
    ----------
    head
        Its newest checkpoint.
    is_back
        Whether the session has gone back on a line, and nothing was made since.
    """

    head: Checkpoint | None
    is_back: bool


class BranchPosition(Own):
    """A place in the history of a store.

    Attributes
    ----------
    branch
        Name of the branch.
    id
        Id of the checkpoint that the namespace comes from; None in a new process.
    is_exact
        Whether nothing has run or was restored since the namespace was that of `id`: a cheap yes,
        or it is not known.
    before, before_branch
        Where it was before it last moved: what ``-`` means.
    origin
        Id of where it came from, if that descends from `id`: on its line is what follows.
    """

    def __init__(
        self, timeline: Timeline, writes: PendingWrites, notebook: str, branch: str | None
    ) -> None:
        self.branch = branch or MAIN
        self.id: str | None = None
        self.is_exact = False
        self.before: str | None = None
        self.before_branch: str | None = None
        self.origin: str | None = None
        self._timeline = timeline
        self._writes = writes
        self._notebook = notebook
        self._usual_branch: str | None = None

    @property
    def is_on_usual_branch(self) -> bool:
        """True if nobody has said which branch to work on."""
        return self.branch == self._usual_branch

    @property
    def may_choose_branch(self) -> bool:
        """True before the first checkpoint, if nobody has said which branch to work on."""
        return self.id is None and not self._writes.has_begun and self.is_on_usual_branch

    def choose_usual_branch(self) -> None:
        """Be on the branch that the notebook works on."""
        self._usual_branch = self.branch = usual_branch(self._timeline, self._notebook)

    @property
    def head(self) -> Checkpoint | None:
        """The newest checkpoint of this branch."""
        return self._timeline.head(self.branch)

    @property
    def look(self) -> Checkpoint | None:
        """Where the notebook has gone back to on this branch, if nothing was made since."""
        return self._timeline.look_of(self.branch, self._notebook)

    def resolve(self, ref: str) -> Checkpoint:
        """The checkpoint that `ref` means here, of those that are known; see `references`."""
        return resolve(
            self._timeline,
            ref,
            branch=self.branch,
            here=self.id,
            before=self.before,
            ahead=self.ahead,
        )

    @property
    def ahead(self) -> str | None:
        """Id of the newest checkpoint of the line that it went back on, if nothing ran since."""
        if self.origin is None or self.id is None:
            return None
        return self.origin if self._timeline.is_ancestor(self.id, self.origin) else None

    def as_seen(self) -> Seen:
        """How the branch is before something is made on it."""
        return Seen(self.head, self.ahead is not None)

    @property
    def line_name(self) -> str:
        """Name of the branch that has that line, or else of this one."""
        name = None if self.ahead is None else self._timeline.branch_of(self.ahead)
        return name or self.branch

    @whole
    def head_record(self, checkpoint: Checkpoint, *, is_look: bool = False) -> Record:
        """The record that moves this branch to a checkpoint."""
        head = self.head
        return head_record(
            self.branch,
            checkpoint,
            head.id if head else None,
            notebook=self._notebook,
            at=self._timeline.later_than_all(clock.now()),
            look=is_look,
        )

    @whole
    def move_head(self, checkpoint: Checkpoint, *, told: str = "", is_look: bool = False) -> None:
        """Move this branch to a checkpoint; under `told` the user hears if the disk refuses.

        Parameters
        ----------
        is_look
            Only have the history know that this notebook stands there: the branch stays.
        """
        record = self.head_record(checkpoint, is_look=is_look)
        written = self._writes.append([record], durable=bool(told))
        if told:
            self._writes.follow(told, written)
        self._timeline.apply(record)

    def follows(self, checkpoint: Checkpoint) -> bool:
        """True if a checkpoint was made next after that whose namespace this is known to be."""
        return self.is_exact and checkpoint.parent == self.id

    @whole
    def stand_on(self, checkpoint: Checkpoint) -> None:
        """Take note that the namespace is that of `checkpoint`; the branch comes to it.

        But for one that is ahead on its line: there is what the notebook made before.
        """
        is_back = self.ahead is not None
        self.id, self.is_exact = checkpoint.id, True
        head = self.head
        if head is None or not self._timeline.is_ancestor(checkpoint.id, head.id):
            self.move_head(checkpoint)
        elif is_back:
            self.move_head(checkpoint, is_look=True)

    @whole
    def look_at(self, checkpoint: Checkpoint, *, branch: str | None = None, told: str = "") -> None:
        """Stand on a checkpoint of any line; no branch is another by it.

        The first checkpoint that is made from there takes along the branch that the session is on.

        Parameters
        ----------
        branch
            Which one that is; by default this one, or on another line of this notebook that line's.
        """
        timeline, head = self._timeline, self.head
        if branch is not None:
            self.branch = branch
        elif head is not None and not timeline.is_ancestor(checkpoint.id, head.id):
            self.branch = self._own_branch_of(checkpoint) or self.branch
        self.move_head(checkpoint, told=told, is_look=self.head is not None)

    def come_from(self, newest: Checkpoint | None) -> None:
        """Know again, in a new process, from where the session had gone back to here."""
        if newest is not None and self.id not in (None, newest.id):
            self.origin = newest.id

    def _own_branch_of(self, checkpoint: Checkpoint) -> str | None:
        """The branch on which a checkpoint lies, if that is this notebook's."""
        timeline = self._timeline
        if timeline.is_foreign(checkpoint, self._notebook):
            return None
        branch: str | None = checkpoint.branch
        tip = timeline.head(checkpoint.branch)
        if tip is None or not timeline.is_ancestor(checkpoint.id, tip.id):
            branch = timeline.branch_of(checkpoint.id)
            tip = timeline.head(branch) if branch else None
        return None if tip is None or timeline.is_foreign(tip, self._notebook) else branch

    def lines(self) -> tuple[list[str], ...]:
        """The ids from each of its checkpoints back to the first, for `stand_before`."""
        return tuple(self._timeline.line(i) for i in (self.id, self.before, self.origin))

    def stand_before(self, lines: tuple[list[str], ...]) -> None:
        """Stand on what is left of `lines`, the newest first, after a prune."""
        kept = self._timeline.checkpoints
        self.id, self.before, self.origin = (
            next((i for i in line if i in kept), None) for line in lines
        )


def usual_branch(timeline: Timeline, notebook: str) -> str:
    """The branch that a notebook works on: where it was last, else `main`, if that is free.

    Several notebooks of one folder share a store. The first has `main`; another's branch has its
    name, so that `%resume` never brings one notebook's variables into another.
    """
    if own := timeline.last_branch_of(notebook):
        return own
    head = timeline.head(MAIN)
    is_free = head is None or not head.notebook or not notebook
    return MAIN if is_free else notebook
