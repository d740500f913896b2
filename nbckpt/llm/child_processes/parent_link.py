"""The connection of a process to the one that started it: any thread asks, one reads.

Notes
-----
What is to be sent waits in a queue that whoever comes first empties: the collector may tell of the
end of a call in the middle of any line, also of one that sends.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from nbckpt.llm.child_processes.ipc_frames import Frame, ParentAddress, packed, unpacked

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

HANDSHAKE_S = 30.0
"""Seconds that either side may take to show its key; a parent that is at work in C takes some."""
ANSWER_S = 60.0
"""Seconds in which a parent says at least that there is something to wait for."""
TURN_S = 900.0
"""Seconds that this may take: the parent itself gives up before."""


class Answer:
    """What the parent says to one question.

    Attributes
    ----------
    number
        Of the question.
    landed
        Its answer, when it has come; None if the parent is gone.
    """

    def __init__(self, link: ParentLink, number: int) -> None:
        self.number = number
        self.landed: Future[Frame | None] = Future()
        self.landed.set_running_or_notify_cancel()
        self._link = link
        self._until = time.monotonic() + ANSWER_S

    @property
    def patience_s(self) -> float:
        """Seconds that are still worth waiting; 0 or less if none are."""
        return self._until - time.monotonic()

    def is_to_wait(self) -> None:
        """Note that the parent has heard the question, and has no answer yet."""
        self._until = time.monotonic() + TURN_S

    def leave(self) -> None:
        """Wait no more: the parent is to go on as if this had not been asked."""
        self._link.tell({"do": "drop", "call": self.number})


class ParentLink:
    """One connection, from its making to its end; it is made in the background.

    Attributes
    ----------
    is_gone
        Whether it has ended: then nothing is sent, and all questions are answered by None.
    """

    def __init__(self, address: ParentAddress) -> None:
        self.is_gone = False
        self._address = address
        self._connection: Connection[bytes, bytes] | None = None
        self._outgoing: SimpleQueue[bytes] = SimpleQueue()
        self._sending = threading.Lock()
        self._asked: dict[int, Answer] = {}
        self._numbers = itertools.count(1)
        threading.Thread(target=self._run, name="nbckpt-parent", daemon=True).start()

    def ask(self, head: dict[str, Any], *parts: bytes) -> Answer:
        """Send a message that has an answer."""
        answer = Answer(self, next(self._numbers))
        self._asked[answer.number] = answer
        self.tell({**head, "ask": answer.number}, *parts)
        if self.is_gone:
            self._land(answer.number, None)
        return answer

    def tell(self, head: dict[str, Any], *parts: bytes) -> None:
        """Send a message that has no answer."""
        self._outgoing.put(packed(head, *parts))
        self._send()

    def forget(self) -> None:
        """In a forked child: leave the connection to the process that has made it."""
        if self._connection is not None:
            with suppress(OSError):
                os.close(self._connection.fileno())

    def _send(self) -> None:
        while self._connection is not None and not self._outgoing.empty():
            if not self._sending.acquire(blocking=False):
                return  # who has it looks again when all is sent
            try:
                with suppress(Empty):
                    while True:
                        self._connection.send_bytes(self._outgoing.get_nowait())
            except OSError:  # the reader learns it, too
                self.is_gone = True
                return
            finally:
                self._sending.release()

    def _run(self) -> None:
        try:
            connection = _connected(self._address)
            self._connection = connection
            self._send()
            while True:
                frame = unpacked(connection.recv_bytes())
                self._take(frame)
        except Exception:  # whatever it is: calls are sent, and not recorded
            pass
        finally:
            self.is_gone = True
            for number in list(self._asked):
                self._land(number, None)

    def _take(self, frame: Frame) -> None:
        number = frame.head["ask"]
        if frame.head.get("state") != "waits":
            self._land(number, frame)
        elif (answer := self._asked.get(number)) is not None:
            answer.is_to_wait()

    def _land(self, number: int, frame: Frame | None) -> None:
        answer = self._asked.pop(number, None)
        if answer is not None:
            answer.landed.set_result(frame)


def _connected(address: ParentAddress) -> Connection[bytes, bytes]:
    """A connection on which both sides have shown the key.

    Raises
    ------
    OSError, EOFError, AuthenticationError
        If there is no such parent any more, or it is another one.
    """
    from multiprocessing.connection import Client, answer_challenge, deliver_challenge

    connection: Connection[bytes, bytes] = Client(address.socket)
    if not connection.poll(HANDSHAKE_S):
        raise TimeoutError
    answer_challenge(connection, address.key)
    deliver_challenge(connection, address.key)
    return connection
