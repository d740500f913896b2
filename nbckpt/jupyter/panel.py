"""Requests of a timeline's views, and the answers: the one place that speaks their protocol.

The widget asks through this, and anything else that shows a timeline. Reads are answered on any
thread; writes change the namespace, so a caller sees to it that no cell runs
(`nbckpt.jupyter.turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from IPython.core.interactiveshell import InteractiveShell

from nbckpt import reports
from nbckpt.errors import NbckptError, UsageError
from nbckpt.jupyter.cells import Cells
from nbckpt.model import Checkpoint
from nbckpt.reports.timeline_rows import details_of, status_of
from nbckpt.reports.totals import Totals
from nbckpt.runtime import clock
from nbckpt.session.session import Session
from nbckpt.text.commands import in_notebook

if TYPE_CHECKING:
    from nbckpt.session.moves.move_result import MoveResult

Args: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]

WRITES = frozenset(
    {"rewind", "fork", "rerun", "switch", "tag", "untag", "note", "resume", "checkpoint", "trust"}
)
NAME = "checkpoint"
"""Of a checkpoint that a page asks for without a name."""


class Panel:
    """Answers for one session."""

    def __init__(self, session: Session, shell: InteractiveShell, cells: Cells) -> None:
        self._session = session
        self._shell = shell
        self._cells = cells
        self._totals = Totals(session)
        self._ops: dict[str, Callable[[Args], Answer]] = {
            "details": self._details,
            "diff": self._diff,
            "page": self._page,
            "resume_plan": self._resume_plan,
            "rerun_plan": self._rerun_plan,
            "answer": self._answer_question,
            "strangers": self._strangers,
            "rewind": self._rewind,
            "fork": self._fork,
            "rerun": self._rerun,
            "switch": self._switch,
            "tag": self._tag,
            "untag": self._untag,
            "note": self._note,
            "resume": self._resume,
            "checkpoint": self._checkpoint_now,
            "trust": self._trust,
        }

    @property
    def is_open(self) -> bool:
        """True if nbckpt still follows the shell's cells for this session."""
        return self._cells.transform in self._shell.input_transformers_cleanup

    def status(self, busy: Args | None = None) -> Answer:
        """Where the session stands, now."""
        totals = self._totals.now()
        return status_of(self._session, now=clock.now(), busy=busy, totals=totals)

    def answer(self, op: str, args: Args) -> Answer:
        """`{"ok": True, "result": …}`, or `{"ok": False, "error": …}` with one sentence.

        Parameters
        ----------
        op
            What is asked; one of `WRITES` only on the main thread, and while no cell runs.
        args
            Its arguments, as they came from outside.
        """
        return self.guarded(op, lambda: self._do(op, args))

    def _do(self, op: str, args: Args) -> Answer:
        if op not in self._ops:
            known = ", ".join(self._ops)
            message = f"{op!r} is nothing that can be asked here: {known} are"
            raise UsageError(message)
        if op in WRITES:
            self._session.workspace.running = None  # as a call from outside a cell
        return self._ops[op](args)

    def guarded(self, op: str, job: Callable[[], Answer]) -> Answer:
        """Return the result of `job` as an answer to `op`, or the reason why it has none."""
        try:
            self._require_open()
            return {"ok": True, "result": job()}
        except NbckptError as problem:
            return refusal(str(problem), type(problem).__name__)
        except KeyboardInterrupt:
            return refusal(f"{op} was interrupted", "KeyboardInterrupt")
        except Exception as error:  # a view never breaks the kernel, and is told all the same
            text = f"{op} failed by a defect in nbckpt: {type(error).__name__}: {error}"
            return refusal(text, type(error).__name__)

    def _require_open(self) -> None:
        if not self.is_open:
            message = "nbckpt is not loaded any more: `%load_ext nbckpt`"
            raise UsageError(message)

    # -- reads

    def _checkpoint(self, args: Args) -> Checkpoint:
        """The one that is meant; nothing new is read, which is for who writes."""
        return self._session.position.resolve(_text(args, "ref"))

    def _details(self, args: Args) -> Answer:
        return details_of(self._session, self._checkpoint(args))

    def _diff(self, args: Args) -> Answer:
        from nbckpt.reports.diff import compare

        record: Answer = compare(self._session, _text(args, "a"), _text(args, "b")).as_record()
        return record

    def _page(self, args: Args) -> Answer:
        from nbckpt.jupyter.notebook.looks import page_at

        return page_at(self._session, self._checkpoint(args))

    def _resume_plan(self, args: Args) -> Answer:
        from nbckpt.jupyter.notebook.documents import code_cells
        from nbckpt.jupyter.notebook.resuming import resume_plan

        cells, branch = code_cells(args.get("cells")), args.get("branch") or None
        return resume_plan(self._session, branch, cells, now=clock.now())

    def _rerun_plan(self, args: Args) -> Answer:
        from nbckpt.jupyter.notebook.documents import code_cells
        from nbckpt.jupyter.notebook.prospects import rerun_plan

        cells = code_cells(args.get("cells"))
        return rerun_plan(self._session, self._checkpoint(args), cells)

    def _answer_question(self, args: Args) -> Answer:
        """No write: who asked waits for it while its cell runs, and no variable is touched."""
        from nbckpt.jupyter import questions

        return questions.answer(self._session, args)

    def _strangers(self, args: Args) -> Answer:  # noqa: ARG002 - there is nothing to choose
        """Checkpoints that would be trusted, described for the user who is asked."""
        from nbckpt.session.maintenance import trust

        self._session.refresh()  # what is trusted then is what is told now
        told = trust.strange(self._session.store, self._session.timeline)
        return {**told.as_record(), "text": told.text(), "meaning": trust.MEANING}

    # -- writes

    def _rewind(self, args: Args) -> Answer:
        return self._moved(self._session.rewind(_text(args, "ref")), "rewound to")

    def _fork(self, args: Args) -> Answer:
        values = args.get("values") or {}
        if not isinstance(values, Mapping):
            message = "fork: 'values' is name → expression"
            raise UsageError(message)
        expressions = {str(name): str(value) for name, value in values.items()}
        branch = args.get("branch") or None
        moved = self._session.fork(_text(args, "ref"), branch, expressions=expressions)
        return self._moved(moved, f"on new branch {self._session.position.branch!r}, forked at")

    def _switch(self, args: Args) -> Answer:
        moved = self._session.switch(_text(args, "branch"))
        return self._moved(moved, f"on branch {self._session.position.branch!r}, at")

    def _resume(self, args: Args) -> Answer:
        """As `%resume` does, or, of a notebook that died on its second run, where that stood."""
        from nbckpt.jupyter.notebook.resuming import target_of

        session, branch = self._session, args.get("branch") or None
        if args.get("once") and session.position.id is not None:
            text = "this notebook was resumed already, or has gone on without"
            return {
                **self._confirmation(text),
                "checkpoint": session.position.id,
                "failed": [],
                "error": text,
            }
        session.refresh()
        target, _ = target_of(session, branch)
        moved = session.resume(branch, fallback=bool(args.get("fallback")))
        if target is not None and session.timeline.is_ancestor(target.id, moved.checkpoint.id):
            moved = moved if target.id == moved.checkpoint.id else session.rewind(target.id)
        return self._moved(moved, f"resumed {session.position.branch!r} at")

    def _checkpoint_now(self, args: Args) -> Answer:
        tags = args.get("tags") or ()
        note = str(args.get("note") or "")
        name = _text(args, "name") if args.get("name") else NAME
        made = self._session.checkpoint(name, tags=tags, note=note, sync=True)
        return {**self._confirmation(f"kept as {made.name!r}"), "checkpoint": made.id}

    def _moved(self, moved: MoveResult, did: str) -> Answer:
        return {
            **self._confirmation(
                "\n".join(reports.moved_lines(moved, did, self._session.notebook))
            ),
            "checkpoint": moved.checkpoint.id,
            "failed": [refusal._asdict() for refusal in moved.failed],
        }

    def _trust(self, args: Args) -> Answer:
        """Take over what `strangers` told of: `seen` is what it said tells that."""
        from nbckpt.session.maintenance import trust

        seen = _text(args, "seen")
        session = self._session
        told = trust.amount(session.store, session.timeline)
        trust.take_over(session.store, seen, session=session)
        session.refresh()
        session.emit("trusted")
        return self._confirmation(trust.trusted_text(told))

    def _rerun(self, args: Args) -> Answer:
        from nbckpt.jupyter.rerunning import rerun_in
        from nbckpt.steps.rerun.rerun import as_record

        done = rerun_in(
            self._shell,
            self._cells,
            self._session,
            _text(args, "ref"),
            everything=bool(args.get("everything")),
            fresh=bool(args.get("fresh")),
            quiet=True,
        )
        return {**as_record(done), **self._confirmation(done.text())}

    def _tag(self, args: Args) -> Answer:
        tag = _text(args, "tag")
        checkpoint = self._session.tag(_text(args, "ref"), tag)
        return self._confirmation(reports.tagged_text(checkpoint, [tag], delete=False))

    def _untag(self, args: Args) -> Answer:
        tag = _text(args, "tag")
        checkpoint = self._session.tag(_text(args, "ref"), tag, delete=True)
        return self._confirmation(reports.tagged_text(checkpoint, [tag], delete=True))

    def _note(self, args: Args) -> Answer:
        checkpoint = self._session.note(_text(args, "ref"), str(args.get("note") or ""))
        return self._confirmation(reports.noted_text(checkpoint))

    def _confirmation(self, text: str) -> Answer:
        return {"text": in_notebook(text), "status": self.status()}


def refusal(text: str, kind: str) -> Answer:
    """The answer to what cannot be done."""
    return {"ok": False, "error": in_notebook(text), "kind": kind}


def _text(args: Args, name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str) or not value.strip():
        message = f"{name!r} is missing: give a text"
        raise UsageError(message)
    return value.strip()
