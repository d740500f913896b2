"""The recorder that seams of a child process ask: it passes each question on to the parent."""

from __future__ import annotations

import os
import threading
from typing import Any

from nbckpt.errors import BudgetError, ReplayError
from nbckpt.llm import scope
from nbckpt.llm.askers import TaskNumbers, running_task
from nbckpt.llm.child_processes.ipc_frames import ParentAddress
from nbckpt.llm.child_processes.parent_link import ParentLink
from nbckpt.llm.child_processes.proxied_call import ProxiedCall
from nbckpt.llm.http_request import HttpRequest
from nbckpt.llm.waiting import wait

SETTING_S = 5.0
"""Seconds to wait for a setting."""
_STOPS: dict[str, type[BaseException]] = {"BudgetError": BudgetError, "ReplayError": ReplayError}


class ParentClient:
    """Asks the process that started this one; what it does not answer is sent unrecorded.

    Parameters
    ----------
    address
        Of the process that started this one.
    """

    def __init__(self, address: ParentAddress) -> None:
        self._address = address
        self._link: ParentLink | None = None
        self._making = threading.Lock()
        self._tasks = TaskNumbers()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_again_in_child)

    def begin(self, asked: HttpRequest, *, blocks: bool = True) -> ProxiedCall | None:
        """A call that waits for what the parent says of it: see `Recorder.begin`."""
        here, task = scope.here(), running_task()
        head = {
            "do": "begin",
            "ticket": self._address.ticket,
            "method": asked.method,
            "url": asked.url,
            "headers": [[name, value] for name, value in asked.headers],
            "mode": here.mode,
            "ttl_s": here.ttl_s,
            "tags": here.tags,
            "coalesce": here.coalesce,
            "thread": threading.get_ident(),
            "task": None if task is None else self._tasks.of(task),
            "blocks": blocks,
        }
        if (link := self._linked()) is None:
            return None
        return ProxiedCall(link, link.ask(head, asked.body))

    def go_on(self, call: ProxiedCall, *, blocks: bool = True) -> ProxiedCall | None:  # noqa: ARG002
        """The call, when the parent has said what becomes of it.

        Returns
        -------
        ProxiedCall or None
            None if it is to be left alone, or the parent does not answer.

        Raises
        ------
        ReplayError, BudgetError
            If the parent says so: see `Recorder.begin`.
        """
        answer = call.awaited
        assert answer is not None
        if not answer.landed.done():
            answer.leave()
            return None
        frame = answer.landed.result()
        if frame is None or frame.head["state"] == "alone":
            return None
        if frame.head["state"] == "stopped":
            raise _STOPS[frame.head["error"]](frame.head["text"])
        call.admit(frame)
        return call

    def setting(self, name: str) -> str:
        """A setting of the parent's session; empty if it does not answer."""
        if (link := self._linked()) is None:
            return ""
        answer = link.ask({"do": "setting", "name": name}).landed
        wait(answer, SETTING_S)
        frame = answer.result() if answer.done() else None
        return "" if frame is None else str(frame.head["text"])

    def notify_missed(self, place: str, text: str) -> None:
        """Have it say, once for each place, that calls from there are not seen."""
        self._tell({"do": "missed", "place": place, "text": text})

    def notify_unseen(self, place: str, what: str, *, is_anywhere: bool) -> None:
        """Have it say that its step does something that no seam sees."""
        if scope.here().mode == "off":
            return
        told = {"do": "unseen", "place": place, "what": what, "is_anywhere": is_anywhere}
        self._tell({**told, "ticket": self._address.ticket})

    def notify_defect(self, problem: Exception) -> None:
        """Have it say that a call was not recorded though it should have been."""
        self._tell({"do": "defect", "text": f"{type(problem).__name__}: {problem}"})

    def _tell(self, head: dict[str, Any]) -> None:
        if (link := self._linked()) is not None:
            link.tell(head)

    def _linked(self) -> ParentLink | None:
        """The connection; a new one if it has ended: the parent may have opened another session.

        None where no thread can be begun to read from it, as while Python ends.
        """
        with self._making:
            if self._link is None or self._link.is_gone:
                try:
                    self._link = ParentLink(self._address)
                except RuntimeError:
                    return None
            return self._link

    def _begin_again_in_child(self) -> None:
        self._making, self._tasks = threading.Lock(), TaskNumbers()
        link, self._link = self._link, None
        if link is not None:
            link.forget()
