"""A session that steps find, restarted at will, and a log of what really ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from tests.notebooks import define

PRELUDE = """
import nbckpt, asyncio, threading, time

def ran(text):
    with open(LOG, "a") as file:
        file.write(f"{text}\\n")
"""


class Notebook:
    """A namespace with a session; code is run in it as cells of a script are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.open()

    def open(self) -> None:
        """A session in a new namespace, as in a new process."""
        self.namespace: dict[str, Any] = {"__name__": "__main__", "LOG": str(self.log)}
        self.store = Store.open(self.folder / ".nbckpt")
        self.session = current_session.begin(Session(self.store, self.namespace, notebook="test"))
        self.cell(PRELUDE)

    def restart(self) -> None:
        """End this session and open another."""
        self.close()
        self.open()

    def close(self) -> None:
        current_session.end()
        self.store.close()

    def cell(self, source: str) -> None:
        """Run a cell."""
        define(source, self.namespace)

    def value(self, expression: str) -> Any:
        return eval(expression, self.namespace)

    @property
    def ran(self) -> list[str]:
        """What functions noted when they ran, and forget it."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Notebook]:
    notebook = Notebook(tmp_path)
    yield notebook
    notebook.close()
