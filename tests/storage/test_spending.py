"""The file of what model calls cost: shared, read on, and written anew when it is long."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbckpt.storage import spending
from nbckpt.storage.spending import FILE, Place, Spending
from nbckpt.storage.store import Store

HERE = Place.of(1_700_000_000.0, "session", "notebook", "main")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Store.open(tmp_path / ".nbckpt").close()
    return tmp_path / ".nbckpt"


def total(folder: Path) -> tuple[float, list[str]]:
    """What a process that comes to it knows: dollars paid, and calls in flight."""
    with (known := Spending(folder)).turn():
        return known.total(lambda _: True), sorted(known.in_flight)


def test_what_one_writes_another_knows(folder: Path) -> None:
    one, other = Spending(folder), Spending(folder)
    with one.turn() as write:
        write(Spending.begun("a", 3.0, HERE))
    with other.turn() as write:
        assert other.in_flight["a"].usd == 3.0
        assert other.in_flight["a"].may_end
        write(Spending.begun("b", 2.0, HERE))
    with one.turn() as write:
        write(Spending.ended("a", 0.5))
        write(Spending.more(0.25, HERE))

    assert total(folder) == (0.75, ["b"])
    with other.turn():
        assert other.total(lambda place: place.session == "session") == 0.75
        assert other.total(lambda place: place.branch == "other") == 0.0


def test_one_that_a_dead_process_had_sent_still_counts(folder: Path) -> None:
    if (pid := os.fork()) == 0:
        with Spending(folder).turn() as write:
            write(Spending.begun("a", 3.0, HERE))
        os._exit(0)
    os.waitpid(pid, 0)

    with (known := Spending(folder)).turn():
        assert known.in_flight["a"].usd == 3.0
        assert not known.in_flight["a"].may_end


def test_a_long_file_is_written_anew_and_says_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Spending(folder), Spending(folder)
    with other.turn():
        pass
    for n in range(200):
        with one.turn() as write:
            write(Spending.begun(str(n), 3.0, HERE))
        if n % 2:
            with one.turn() as write:
                write(Spending.ended(str(n), 0.01))
    before, size = total(folder), (folder / FILE).stat().st_size
    monkeypatch.setattr(spending, "MOST_BYTES", 10_000)
    with one.turn() as write:
        write(Spending.begun("last", 1.0, HERE))

    assert (folder / FILE).stat().st_size < size
    now = total(folder)
    assert now[0] == pytest.approx(before[0])
    assert now[1] == sorted([*before[1], "last"])
    with other.turn():
        assert other.total(lambda _: True) == pytest.approx(1.0)
        assert len(other.in_flight) == 101


@pytest.mark.parametrize(
    "damage",
    [
        b"{}\n",
        b"[1]\n",
        b"\xff\n",
        b'{"begun": 1}\n',
        b'{"ended": "none", "usd": 1}\n',
        b'{"paid": "x"',
    ],
)
def test_a_line_that_nobody_understands_counts_for_nothing(folder: Path, damage: bytes) -> None:
    with (known := Spending(folder)).turn() as write:
        write(Spending.more(1.0, HERE))
    with (folder / FILE).open("ab") as file:
        file.write(damage)
    with known.turn() as write:
        write(Spending.more(0.5, HERE))

    assert total(folder) == (1.5, [])


def test_a_store_with_it_is_a_store(folder: Path) -> None:
    with Spending(folder).turn() as write:
        write(Spending.more(1.0, HERE))

    store = Store.open(folder, create=False)
    assert store.path == folder
    store.close()
