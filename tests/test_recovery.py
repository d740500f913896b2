"""What comes back when the store was damaged, and blocks that are tried again after an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nbckpt.errors import FormatError
from nbckpt.session import Session
from nbckpt.storage.store import Store


def new_session(folder: Path) -> Session:
    """A session in a new process, as far as the store can tell."""
    return Session(Store.open(folder), {"__name__": "__main__"}, notebook="test")


def events_of(session: Session) -> list[str]:
    session.wait()
    session.refresh()
    return [r["event"] for r in session.store.records("event")]


def keep(session: Session, name: str, **values: object) -> None:
    """A checkpoint whose new bytes lie in a pack of its own."""
    session.namespace.update(values)
    session.ran(None)
    session.checkpoint(name, sync=True)
    session.store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store of three processes, each with a checkpoint that adds a list of its own."""
    folder = tmp_path / ".nbckpt"
    for name in ("a", "b", "c"):
        session = new_session(folder)
        if session.head is not None:
            session.resume()
        keep(session, name, **{f"of_{name}": [f"{name}{i}" for i in range(2000)]})
    return folder


def packs(folder: Path) -> list[Path]:
    return sorted((folder / "packs").glob("*.pack"))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(200, min(len(data), 600)):
        data[at] ^= 0xFF
    path.write_bytes(data)


def delete(path: Path) -> None:
    path.unlink()


DAMAGES: list[Callable[[Path], None]] = [flip, delete]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_head_is_refused_by_name_and_changes_nothing(
    folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(packs(folder)[-1])
    session = new_session(folder)
    session.namespace["mine"] = 1

    with pytest.raises(FormatError) as refused:
        session.resume()

    assert "'c' cannot be resumed" in str(refused.value)
    assert "'of_c'" in str(refused.value)
    assert "'of_b'" not in str(refused.value)
    assert "'b'" in str(refused.value)
    assert "%resume --fallback" in str(refused.value)
    assert set(session.namespace) == {"__name__", "mine"}
    assert events_of(session)[-1] == "resume_failed"
    session.store.close()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_fallback_takes_the_newest_whole_checkpoint_and_goes_on_there(
    folder: Path, damage: Callable[[Path], None]
) -> None:
    damage(packs(folder)[-1])
    session = new_session(folder)

    moved = session.resume(fallback=True)

    assert moved.checkpoint.name == "b"
    assert session.namespace["of_b"] == [f"b{i}" for i in range(2000)]
    assert "of_c" not in session.namespace
    assert events_of(session)[-2:] == ["resume_failed", "fell_back"]
    keep(session, "d", d=4)
    again = new_session(folder)
    assert again.resume().checkpoint.name == "d"
    assert again.namespace["of_a"] == [f"a{i}" for i in range(2000)]
    assert [c.name for c in again.history()] == ["d", "b", "a"]
    again.store.close()


def test_a_fallback_passes_over_all_that_is_damaged(folder: Path) -> None:
    flip(packs(folder)[-1])
    delete(packs(folder)[-2])
    session = new_session(folder)

    assert session.resume(fallback=True).checkpoint.name == "a"
    session.store.close()


def test_where_nothing_is_whole_the_rest_is_offered(folder: Path) -> None:
    for path in packs(folder):
        flip(path)
    session = new_session(folder)

    with pytest.raises(FormatError, match=r"no other checkpoint is whole: %rewind \w+"):
        session.resume(fallback=True)
    session.store.close()


def test_a_journal_that_lost_its_middle_is_told_and_an_older_line_is_found(folder: Path) -> None:
    journals = sorted((folder / "journal").glob("*.jsonl"))
    lines = journals[1].read_bytes().splitlines(keepends=True)
    journals[1].write_bytes(b"".join(line for line in lines if b'"kind":"checkpoint"' not in line))
    session = new_session(folder)

    with pytest.raises(FormatError, match="the record of a checkpoint that it builds on"):
        session.resume()

    assert session.resume(fallback=True).checkpoint.name == "a"
    session.store.close()


def test_a_whole_head_needs_no_fallback(folder: Path) -> None:
    session = new_session(folder)

    moved = session.resume(fallback=True)

    assert moved.checkpoint.name == "c"
    assert "fell_back" not in events_of(session)
    session.store.close()
