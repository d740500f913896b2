"""The questions of a session's store: asked, found again, answered, and waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from weakref import WeakKeyDictionary, ref

from nbckpt.model import Record
from nbckpt.runtime import clock
from nbckpt.runtime.interrupts import result_of
from nbckpt.session.session import Session
from nbckpt.steps.approvals.answers import (
    answer_record,
    meant,
    require_open,
    require_verdict,
)
from nbckpt.timeline.approvals import (
    APPROVAL,
    Place,
    Question,
    Questions,
    again_record,
    asked_record,
)


class Desk:
    """Where questions lie until they are answered; any thread may answer."""

    def __init__(self, session: Session) -> None:
        self._session = ref(session)  # which holds its desk, and not the other way round
        self._lock = threading.RLock()
        self._came: dict[str, threading.Event] = {}
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._questions = Questions()
        self._n_seen = 0
        self._generation = self.session.store.generation

    @property
    def session(self) -> Session:
        """Whose questions these are."""
        session = self._session()
        assert session is not None
        return session

    def look(self) -> None:
        """Take in what the session has come to know, and wake who waits for it."""
        store = self.session.store
        with self._lock:
            if self._generation != store.generation:
                own = [asked_record(q) for q in self._questions.all.values()]
                self._begin_anew()
                for record in own:  # not durable yet, or gone with a prune while it is asked
                    if record["id"] in self._came:
                        self._questions.take(record)
            records = store.records(APPROVAL)
            new = records[self._n_seen :]
            before = dict(self._questions.all) if new else {}
            for record in new:
                self._questions.take(record)
            self._n_seen = len(records)
            self._wake()
            has_news = bool(new) and before != self._questions.all
        if has_news:  # of others: its own are told when they are written
            self.session.emit("approvals")

    def refresh(self) -> None:
        """Take in what others have written, too."""
        self.session.refresh()
        self.look()

    def _wake(self) -> None:
        for i, came in self._came.items():
            if self._questions.all[i].state != "waiting":
                came.set()

    # -- asking -------------------------------------------------------------------------------

    def found(self, place: Place, *, fresh: bool) -> Question | None:
        """The question that was asked at a place; None if it is to be asked.

        As with recordings, what lies on the line of the session comes first, and then the newest.
        Of what is paid anew, only a question that still waits is the same.
        """
        self.look()
        notebook = self.session.notebook
        with self._lock:
            same = [
                q
                for q in self._questions.at(place)
                if q.trusted
                and q.state != "withdrawn"
                and q.notebook == notebook
                and q.id not in self._came
            ]
        if fresh:
            same = [q for q in same if q.state == "waiting"]
        if place[0] is None:
            same = [q for q in same if not q.is_used]
        line = {None, *self.session.timeline.line(self.session.position.id)}
        nearest = [q for q in same if q.position in line] or same
        return max(nearest, key=lambda q: q.asked_at, default=None)

    def ask(self, question: Question) -> Question:
        """Keep a question: it is durable when this returns.

        Raises
        ------
        StoreError
            If the disk refuses.
        """
        result_of(self._append(asked_record(question)))
        return question

    def ask_again(self, question: Question) -> None:
        """Note that this session waits for a question that was asked before."""
        self._append(again_record(question, self.session.id, clock.now()))

    def state_of(self, question: Question) -> Question:
        """A question in its current state."""
        return self._questions.all[question.id]

    @contextmanager
    def waiting_for(self, question: Question) -> Iterator[threading.Event]:
        """An event that is set when the question was answered, or withdrawn."""
        with self._lock:
            came = self._came[question.id] = threading.Event()
            self._wake()
        self.session.emit("approvals")
        try:
            yield came
        finally:
            with self._lock:
                self._came.pop(question.id, None)
            self.session.emit("approvals")

    def is_waited_for(self, question: Question) -> bool:
        """True if code of this session waits for the answer."""
        return question.id in self._came

    def use(self, question: Question) -> None:
        """Note that an answer has served where it serves once."""
        used = {"kind": APPROVAL, "id": question.id, "used": True, "at": clock.now()}
        # Forgotten, it would let code run twice that was allowed to run once.
        result_of(self._append({**used, "session": self.session.id}))

    # -- answering ----------------------------------------------------------------------------

    def all(self) -> list[Question]:
        """Every question, the newest first."""
        self.refresh()
        with self._lock:
            return sorted(self._questions.all.values(), key=lambda q: q.asked_at, reverse=True)

    def waiting(self) -> list[Question]:
        """Those that wait, as far as it is known, oldest first."""
        self.look()
        with self._lock:
            return self._questions.waiting

    def answer(self, which: str, verdict: str, text: str = "", *, through: str) -> Question:
        """Answer a question; the answer is durable when this returns.

        Parameters
        ----------
        which
            Its id, or the beginning of that.
        verdict
            ``approve``, ``refuse``, or ``withdraw``: then it is asked anew when its code runs.
        through
            The door by which the answer came.

        Raises
        ------
        NotFoundError
            If there is no such question.
        UsageError
            If it was answered already, `which` means several, or `verdict` is none.
        StoreError
            If the disk refuses.
        """
        require_verdict(verdict)
        self.refresh()
        with self._lock:
            question = meant(self._questions, which)
            require_open(question, verdict)
            record = answer_record(question, verdict, text, through, self.session.id)
            # Others wait for it: what one of them was told must not be gone after a power cut.
            result_of(self.session.writes.append([record]))
            self._questions.take(record)
            self._wake()
        self.session.emit("approvals")
        return self._questions.all[question.id]

    def _append(self, record: Record) -> Future[None]:
        with self._lock:
            written = self.session.writes.append([record])
            self._questions.take(record)
        self.session.emit("approvals")
        return written


_desks: WeakKeyDictionary[Session, Desk] = WeakKeyDictionary()
_lock = threading.Lock()


def desk_of(session: Session) -> Desk:
    """Where the questions of a session lie."""
    with _lock:
        desk = _desks.get(session)
        if desk is None:
            desk = _desks[session] = Desk(session)
        return desk
