"""A session that asks, and somebody else who answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbckpt
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.approvals.desk import desk_of
from nbckpt.storage.store import Store


class Notebook:
    """A namespace with a session, restarted at will, and a person beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open()

    def open(self) -> None:
        """A session in a new namespace, as in a new process."""
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.store = Store.open(self.folder / ".nbckpt")
        self.session = current_session.begin(Session(self.store, self.namespace, notebook="test"))

    def restart(self) -> None:
        """End this session and open another."""
        self.close()
        self.open()

    def close(self) -> None:
        current_session.end()
        self.store.close()

    def asks(self, question: str, data: object = None, *, step: str = "clean", **more: Any) -> Any:
        """What one run of a step gets when it asks."""
        with scope.entered(step):
            return nbckpt.approve(question, data, **more)

    def waiting(self) -> list[str]:
        """Ids of the questions that wait, as another process sees them."""
        store = Store.open(self.folder / ".nbckpt")
        try:
            return [q.id for q in desk_of(Session(store, {})).all() if q.state == "waiting"]
        finally:
            store.close()

    def will_say(self, verdict: str, text: str = "", *, at_once: bool = False) -> threading.Thread:
        """Somebody in another session, who answers the next question that waits."""

        def answer() -> None:
            store = Store.open(self.folder / ".nbckpt")
            desk = desk_of(session := Session(store, {}))
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                desk.refresh()
                if waiting := desk.waiting():
                    desk.answer(waiting[0].id, verdict, text, through="command")
                    session.wait()
                    break
                time.sleep(0.01)
            store.close()

        person = threading.Thread(target=answer)
        person.start()
        if at_once:
            person.join()
        return person


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Notebook]:
    notebook = Notebook(tmp_path)
    yield notebook
    notebook.close()
