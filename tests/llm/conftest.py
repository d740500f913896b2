"""A provider on loopback, and a session whose steps' calls are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store

collect_ignore = [] if find_spec("litellm") else ["litellm_cases.py"]


@pytest.fixture
def recorded(store: Store) -> Iterator[Session]:
    """A session that is open."""
    session = current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    yield session
    current_session.end()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the store of `recorded` lies."""
    return tmp_path / ".nbckpt"
