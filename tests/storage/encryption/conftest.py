"""Stores whose key lies in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbckpt.storage.key_sources import make_key


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The source of a key, with which stores are encrypted within the test."""
    source = make_key(str(tmp_path / "a.key"))
    monkeypatch.setenv("NBCKPT_ENCRYPTION", source)
    return source
