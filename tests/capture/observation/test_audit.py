from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbckpt.capture.observation import audit
from nbckpt.capture.observation.audit_events import (
    Child,
    Evaluated,
    Listed,
    Opened,
    Replaced,
    Unpickled,
)


@pytest.fixture
def window(tmp_path: Path) -> Iterator[audit.Window]:
    """An open window, when the test's folder has been made."""
    window = audit.opened({})
    yield window
    audit.closed(window)


def _opened(window: audit.Window) -> list[object]:
    return [event.path for event in audit.collected(window) if isinstance(event, Opened)]


def test_a_window_collects_what_happens_while_it_is_open(
    window: audit.Window, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("1")
    with (tmp_path / "a").open() as file:
        file.read()
    os.listdir(tmp_path)  # noqa: PTH208
    (tmp_path / "a").unlink()

    events = audit.collected(window)
    assert [e.is_written for e in events if isinstance(e, Opened)] == [True, False]
    assert any(isinstance(e, Listed) for e in events)
    assert any(isinstance(e, Replaced) for e in events)


def test_nothing_is_collected_where_no_window_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "_windows", set())  # a step that another test left may have one
    monkeypatch.setattr(audit, "_events", [])
    window = audit.opened({})
    audit.closed(window)

    (tmp_path / "a").write_text("1")

    assert audit.collected(window) == []
    assert audit._events == []


def test_a_window_inside_of_another_sees_its_own_part(window: audit.Window, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    inner = audit.opened({})
    (tmp_path / "b").write_text("1")

    assert _opened(inner) == [str(tmp_path / "b")]
    audit.closed(inner)
    assert _opened(window) == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_what_nbckpt_does_itself_is_not_heard(tmp_path: Path) -> None:
    window = audit.opened({})

    @audit.unheard
    def own() -> None:
        (tmp_path / "a").write_text("1")

    own()
    with audit.paused(), audit.paused():
        (tmp_path / "b").write_text("1")

    assert audit.collected(window) == []
    (tmp_path / "c").write_text("1")
    assert _opened(window) == [str(tmp_path / "c")]
    audit.closed(window)


def test_threads_count_but_for_those_of_nbckpt_and_the_kernel(
    window: audit.Window, tmp_path: Path
) -> None:
    for name in ("user", "nbckpt-writer", "IOPub"):
        path = tmp_path / name
        thread = threading.Thread(target=path.write_text, args=["1"], name=name)
        thread.start()
        thread.join()

    assert _opened(window) == [str(tmp_path / "user")]


def test_evaluated_code_and_pickles_of_the_notebook_are_seen(window: audit.Window) -> None:
    eval("1 + 1", {})
    with pytest.raises(AttributeError):
        pickle.loads(b"c__main__\nNoSuchClass\n.")

    events = audit.collected(window)
    assert any(isinstance(e, Evaluated) for e in events)
    assert [e.name for e in events if isinstance(e, Unpickled)] == ["NoSuchClass"]


def test_a_child_is_seen_with_its_words(window: audit.Window) -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)

    words = [event.words for event in audit.collected(window) if isinstance(event, Child)]
    assert "pass" in words[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_has_no_windows(window: audit.Window, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        (tmp_path / "a").write_text("1")
        os.write(writer, str(len(audit._events)).encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(reader, 10) == b"0"
    assert audit.collected(window)
    os.close(reader)
    os.close(writer)


def test_an_odd_argument_raises_nothing(window: audit.Window) -> None:
    sys.audit("open", object())
    sys.audit("exec", None)
    sys.audit("os.listdir")
    sys.audit("subprocess.Popen", 1, 2)

    assert not _opened(window)


def test_to_import_nbckpt_adds_no_hook() -> None:
    code = (
        "import sys; from nbckpt.session.session import Session; from nbckpt.capture.observation import audit\n"
        "sys.exit(audit._add.cache_info().currsize)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
