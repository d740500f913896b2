"""One child process, whose model calls this process begins, follows and keeps.

What a call waits for may come from another call of the same process, so nothing here holds up what
comes next: a thread of its own waits, and what is to be sent is queued for another. The store's
writer, who tells that something is durable, never waits for a process that does not read.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from nbckpt.errors import BudgetError, ReplayError
from nbckpt.llm import current, scope, unseen_traffic
from nbckpt.llm.askers import ChildAsker
from nbckpt.llm.child_processes.ipc_frames import Frame, packed, unpacked
from nbckpt.llm.child_processes.told_errors import error_of
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.waiting import wait
from nbckpt.runtime.collected import do_waiting

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from nbckpt.llm.call import Call

_LOOK_S = 1.0
"""Seconds after which one who waits looks whether the child still does."""
_GONE = "the process that asked has ended"


class ChildConnection:
    """Serves one child process until its connection ends.

    Parameters
    ----------
    connection
        To a process that has yet to show the key.
    place_of
        The settings for what a process asks that was started with a ticket.
    """

    def __init__(
        self,
        connection: Connection[bytes, bytes],
        key: bytes,
        place_of: Callable[[str], scope.Place],
    ) -> None:
        self._connection = connection
        self._key = key
        self._place_of = place_of
        self._calls: dict[int, Call] = {}
        self._waiting: dict[int, Call] = {}
        self._askers: dict[tuple[int, int | None], ChildAsker] = {}
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_over = False

    def serve(self) -> None:
        """Answer all that the process asks, until it ends."""
        try:
            self._shake_hands()
            threading.Thread(target=self._send, name="nbckpt-child-answers", daemon=True).start()
            while True:
                self._take(unpacked(self._connection.recv_bytes()))
        except Exception:  # it has ended, or is none of ours
            pass
        finally:
            self._fail_all()
            self._outgoing.put(None)
            self.close()

    def close(self) -> None:
        """End the connection, also for a thread that reads from it."""
        with suppress(OSError, AttributeError):
            end = socket.socket(fileno=os.dup(self._connection.fileno()))
            with end:
                end.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """In a forked process: leave the connection to the process that has it."""
        with suppress(OSError):
            self._connection.close()

    def _shake_hands(self) -> None:
        from multiprocessing.connection import answer_challenge, deliver_challenge

        deliver_challenge(self._connection, self._key)
        answer_challenge(self._connection, self._key)

    def _send(self) -> None:
        with suppress(OSError):
            while (data := self._outgoing.get()) is not None:
                self._connection.send_bytes(data)

    def _answer(self, number: int | None, head: dict[str, Any], *parts: bytes) -> None:
        if number is not None:
            self._outgoing.put(packed({**head, "ask": number}, *parts))

    @staticmethod
    def _notify_defect(problem: Exception) -> None:
        if (recorder := current.recorder()) is not None:
            recorder.outcomes.notify_defect(problem)

    # -- what a child says --------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        head, recorder = frame.head, current.recorder()
        if recorder is None:  # the session has ended
            self._answer(head.get("ask"), {"state": "alone", "text": ""})
            return
        try:
            match head["do"]:
                case "begin":
                    self._begin(frame)
                case "drop":
                    self._drop(head["call"])
                case "setting":
                    self._answer(head["ask"], {"text": current.setting(head["name"])})
                case "missed":
                    recorder.outcomes.notify_missed(head["place"], head["text"])
                case "unseen":
                    told = (head["place"], head["what"])
                    place, options = (
                        self._place_of(head["ticket"]),
                        {"is_anywhere": head["is_anywhere"]},
                    )
                    scope.called_at(place, unseen_traffic.notify, *told, **options)
                case "defect":
                    recorder.outcomes.notify_defect(RuntimeError(head["text"]))
                case _:
                    self._follow(frame)
        except Exception as problem:  # whatever it is, the child's request has to be sent
            self._notify_defect(problem)
            self._answer(head.get("ask"), {"state": "alone", "text": ""})

    def _follow(self, frame: Frame) -> None:
        """Tell a call what happened to it."""
        head = frame.head
        call = self._calls.get(head["call"])
        if call is None:
            self._answer(head.get("ask"), {"state": "done"})
            return
        if "usage" in head and call.extra is not None:
            call.extra.event = head["usage"]
        written = None
        match head["do"]:
            case "started":
                headers = _pairs(head["headers"])
                call.started(head["status"], headers, is_framed=head["is_framed"])
            case "chunk":
                written = call.chunk(frame.parts[0])
            case "ended":
                written = call.ended()
            case "failed":
                call.failed(error_of(head["errors"]))
            case "left":
                call.left()
                do_waiting()  # this is no line in which the collector is at work
            case "ask_usage":
                call.ask_usage()
            case "refused":
                call.is_refused(frame.parts[0])
        if call.is_over:
            self._calls.pop(head["call"], None)
        self._answer_when(written, head.get("ask"))

    def _answer_when(self, written: Future[None] | None, number: int | None) -> None:
        """Answer when something is durable, or refused."""
        if written is None:
            self._answer(number, {"state": "done"})
        elif number is not None:
            written.add_done_callback(lambda _: self._answer(number, {"state": "done"}))

    # -- beginning of calls -------------------------------------------------------------------

    def _begin(self, frame: Frame) -> None:
        head, recorder = frame.head, current.recorder()
        assert recorder is not None
        request = HttpRequest(head["method"], head["url"], _pairs(head["headers"]), frame.parts[0])
        place = _within(self._place_of(head["ticket"]), head)
        asker = self._asker_of(head["thread"], head["task"])
        blocks = head["blocks"]

        def begin() -> Call | None:
            return scope.called_at(place, recorder.begin, request, blocks=blocks)

        call = self._said(head["ask"], asker, begin)
        if call is not None and call.awaited is not None:
            self._waiting[head["ask"]] = call
            self._answer(head["ask"], {"state": "waits"})
            waiting = (head["ask"], call, place, asker, blocks)
            name = "nbckpt-child-waits"
            threading.Thread(target=self._wait, args=waiting, name=name, daemon=True).start()

    def _wait(
        self, number: int, call: Call, place: scope.Place, asker: ChildAsker, blocks: bool
    ) -> None:
        """Wait for an equal call or a turn, for a child that does."""
        recorder = current.recorder()
        waiting: Call | None = call
        while recorder is not None and waiting is not None and (flight := waiting.awaited):
            while not flight.landed.done() and (left := flight.patience_s) > 0:
                wait(flight.landed, min(left, _LOOK_S))
                if number not in self._waiting:
                    return
            before = waiting

            def go_on(before: Call = before) -> Call | None:
                return scope.called_at(place, recorder.go_on, before, blocks=blocks)

            with self._lock:
                if self._waiting.pop(number, None) is None:
                    return
                waiting = self._said(number, asker, go_on)
                if waiting is not None and waiting.awaited is not None:
                    self._waiting[number] = waiting

    def _said(
        self, number: int, asker: ChildAsker, begin: Callable[[], Call | None]
    ) -> Call | None:
        """Begin a call, and answer with what becomes of it unless it waits."""
        try:
            call = asker.context.run(begin)
        except (BudgetError, ReplayError) as stop:
            stopped = {"error": type(stop).__name__, "text": str(stop)}
            self._answer(number, {"state": "stopped", **stopped})
            return None
        except Exception as problem:  # whatever it is, the child's request has to be sent
            self._notify_defect(problem)
            call = None
        if call is None:
            self._answer(number, {"state": "alone"})
        elif call.kept is not None:
            kept = call.kept
            head = {"state": "kept", "status": kept.status, "headers": list(kept.headers)}
            self._answer(number, head, *map(bytes, kept.chunks))
        elif call.awaited is None:
            self._calls[number] = call
            ends, asking = call.question.endpoint.kind.ends, call.asking
            mark = ends and [ends.pattern.decode("latin-1"), ends.flags]
            parts = [] if asking is None else [asking]
            self._answer(number, {"state": "send", "ends": mark}, *parts)
            if self._is_over:  # the child has ended meanwhile
                self._fail_all()
        return call

    def _asker_of(self, thread: int, task: int | None) -> ChildAsker:
        asker = self._askers.get((thread, task))
        if asker is None:
            if not self._calls and not self._waiting:  # nobody waits for any of them
                self._askers.clear()
            asker = ChildAsker((self, thread), is_task=task is not None)
            self._askers[thread, task] = asker
        return asker

    def _drop(self, number: int) -> None:
        """Go on as if a call had not been begun, whether or not it waits."""
        with self._lock:
            waiting, call = self._waiting.pop(number, None), self._calls.pop(number, None)
        if waiting is not None and waiting.awaited is not None:
            waiting.awaited.leave()
        if call is not None:
            call.failed("it was not sent")

    def _fail_all(self) -> None:
        self._is_over = True
        for number in [*self._waiting]:
            self._drop(number)
        for number in [*self._calls]:
            if (call := self._calls.pop(number, None)) is not None:
                call.failed(_GONE)


def _within(place: scope.Place, head: dict[str, Any]) -> scope.Place:
    """A place with the settings of a child's own block."""
    tags = tuple(dict.fromkeys((*place.tags, *head["tags"])))
    return replace(
        place,
        mode=head["mode"] or place.mode,
        ttl_s=place.ttl_s if head["ttl_s"] is None else head["ttl_s"],
        tags=tags,
        coalesce=place.coalesce if head["coalesce"] is None else head["coalesce"],
    )


def _pairs(headers: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers]
