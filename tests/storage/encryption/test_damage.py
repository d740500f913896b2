"""What is flipped, cut or moved in an encrypted store is found, with the key or without."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pandas as pd
import pytest

from nbckpt.cli import main
from nbckpt.errors import NbckptError
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.check_without_key import check_from_outside
from nbckpt.storage.store import Store


def values_of() -> dict[str, object]:
    """What a checkpoint holds, large and small."""
    rows = pd.DataFrame({"x": range(300), "s": [f"row {i}" for i in range(300)]})
    return {"text": "a text " * 20, "frame": rows, "many": random.Random(3).randbytes(300_000)}


def filled(path: Path) -> Path:
    session = Session(Store.open(path), {"__name__": "__main__", **values_of()}, notebook="n")
    session.checkpoint("one")
    session.namespace["text"] = "another"
    session.checkpoint("two")
    session.sql("select * from variable('frame')").fetchall()
    session.wait()
    session.store.close()
    return path


def found(path: Path) -> dict[str, object]:
    """The variables of the first checkpoint, without those that are refused."""
    store = Store.open(path, create=False)
    try:
        session = Session(store, {"__name__": "__main__"}, notebook="n")
        session.rewind("one")
        return {name: session.namespace[name] for name in values_of() if name in session.namespace}
    except NbckptError:
        return {}
    finally:
        store.close()


def are_right(values: dict[str, object]) -> bool:
    return all(
        value.equals(values_of()[name])
        if isinstance(value, pd.DataFrame)
        else value == values_of()[name]
        for name, value in values.items()
    )


def is_sound(path: Path) -> bool:
    try:
        store = Store.open(path, create=False)
        return check(store.path).ok
    except NbckptError:
        return False


def damaged(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    match chance.randrange(3):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at]
    return data[:at] + data[at + chance.randrange(1, 100) :]


def damage_often(tmp_path: Path, times: int) -> None:
    whole, path, chance = filled(tmp_path / "whole"), tmp_path / "s", random.Random(5)
    assert is_sound(whole)
    assert check_from_outside(whole).problems == ()
    for _ in range(times):
        shutil.copytree(whole, path)
        files = [p for r in ("journal", "packs", "tables") for p in (path / r).iterdir()]
        file = chance.choices(files, [p.stat().st_size ** 0.5 for p in files])[0]
        before = file.read_bytes()
        file.write_bytes(damaged(before, chance))

        values = found(path)
        sound, outside = is_sound(path), check_from_outside(path)

        assert are_right(values)
        # The next session's journal tells that the end of one is missing; without the key nobody does.
        is_cut = before.startswith(file.read_bytes())
        assert values.keys() == values_of().keys() or not sound or is_cut
        assert sound or outside.problems or is_cut
        shutil.rmtree(path)


@pytest.mark.slow
def test_random_damage_is_found_or_harms_nothing(key: str, tmp_path: Path) -> None:
    damage_often(tmp_path, 10)


@pytest.mark.long
def test_much_random_damage_is_found_or_harms_nothing(key: str, tmp_path: Path) -> None:
    damage_often(tmp_path, 3000)


def test_a_flipped_byte_is_found_without_the_key(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filled(tmp_path / "s")
    monkeypatch.delenv("NBCKPT_ENCRYPTION")
    assert main(["check", "--store", str(path)]) == 0
    assert "only checksums are looked at" in capsys.readouterr().err

    for room, at in (("journal", 60), ("packs", 100), ("tables", -9)):
        file = min((path / room).iterdir())
        whole = file.read_bytes()
        data = bytearray(whole)
        data[at] ^= 4
        file.write_bytes(data)
        assert main(["check", "--store", str(path)]) == 3
        assert file.stem in capsys.readouterr().out
        file.write_bytes(whole)
    assert main(["check", "--store", str(path)]) == 0


@pytest.mark.slow
def test_a_line_or_a_chunk_of_another_store_with_the_same_key_is_not_taken(
    key: str, tmp_path: Path
) -> None:
    one, two = filled(tmp_path / "one"), filled(tmp_path / "two")
    journal = min((one / "journal").iterdir())
    lines = journal.read_bytes().splitlines(keepends=True)
    others = min((two / "journal").iterdir()).read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], others[3], *lines[4:]]))

    store = Store.open(one)
    store.refresh()

    assert not check(store.path).ok
    assert any("line 4" in damage for damage in store.damages)
    store.close()
    journal.write_bytes(b"".join([*lines[:2], lines[3], lines[2], *lines[4:]]))
    assert not is_sound(one)
    journal.write_bytes(b"".join(lines))
    assert is_sound(one)
    packs = min((one / "packs").iterdir()), min((two / "packs").iterdir())
    packs[0].write_bytes(packs[1].read_bytes())
    assert found(one) == {}
    assert not is_sound(one)
