"""A store that is deleted while a session uses it: nothing is called kept that nobody could read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from nbckpt.errors import StoreError
from nbckpt.storage.store import Store


@pytest.mark.parametrize("room", ["", "journal", "packs"])
def test_what_goes_into_deleted_files_is_refused(tmp_path: Path, room: str) -> None:
    store = Store.open(tmp_path / ".nbckpt")
    store.put_blob([b"first" * 100])
    store.append([{"kind": "event", "at": 1.0, "event": "begun"}]).result()
    shutil.rmtree(store.path / room)

    store.put_blob([b"second" * 100])
    with pytest.raises(StoreError, match=r"deleted while this session wrote to it.*reload_ext"):
        store.append([{"kind": "event", "at": 2.0, "event": "lost"}]).result()
    with pytest.raises(StoreError):
        store.close()


@pytest.mark.slow
def test_a_notebook_says_that_its_store_was_deleted_and_begins_a_new_one(
    shell: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%checkpoint one\na = 1")
    shutil.rmtree(tmp_path / ".nbckpt")
    capsys.readouterr()

    shell.run_cell("%%checkpoint two\nb = 2")
    told = "".join(capsys.readouterr())
    assert "NOT kept" in told
    assert "deleted" in told

    shell.run_cell("%reload_ext nbckpt")
    assert shell.run_cell("%%checkpoint three\nc = 3").success
    shell.run_cell("import nbckpt; nbckpt.wait(); shown = [c.name for c in nbckpt.history()]")
    assert shell.user_ns["shown"] == ["three"]
