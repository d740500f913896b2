"""Another key, from plain to encrypted and back: whole at every instant."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nbckpt.cli import main
from nbckpt.errors import NbckptError, SealedError, StoreError, UsageError
from nbckpt.session.session import Session
from nbckpt.storage import file_calls
from nbckpt.storage.check import check
from nbckpt.storage.key_sources import make_key
from nbckpt.storage.rekeying import rekey
from nbckpt.storage.spending import Place, Spending
from nbckpt.storage.store import Store
from tests.running import environment

PLANTED = b"PLANTED-in-values"


def filled(path: Path, key: str | None = None) -> Path:
    """A store with two sessions' checkpoints, a large array, a table and a tag."""
    frame = pd.DataFrame({"x": [1, 2]})
    values = {
        "text": PLANTED.decode(),
        "a": np.arange(50_000.0),
        "df": frame,
        "z": np.zeros(40_000),
    }
    for name in ("one", "two"):
        store = Store.open(path, key=key)
        session = Session(store, {"__name__": "__main__", **values}, notebook="n")
        session.namespace["count"] = name
        session.checkpoint(name)
        session.tag(name, f"tag-{name}")
        session.sql("select * from variable('df')").fetchall()
        session.wait()
        store.close()
    return path


def holds(path: Path, key: str) -> str:
    """Which of the sources opens the store; raises unless it is whole and trusted there."""
    store = Store.open(path, create=False, key=key)
    try:
        session = Session(store, {"__name__": "__main__"}, notebook="n")
        assert [c.name for c in session.timeline.checkpoints.values()] == ["one", "two"]
        assert not store.trust.untrusted()
        report = check(store.path)
        assert report.problems == ()
        session.resume()
        assert session.namespace["count"] == "two"
        assert session.namespace["text"] == PLANTED.decode()
        assert np.array_equal(session.namespace["a"], np.arange(50_000.0))
        rows = session.sql("select x from variable('df', 'two') order by x").fetchall()
        assert rows == [(1,), (2,)]
        return key
    finally:
        store.close()


def plain_bytes(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and PLANTED in p.read_bytes()]


@pytest.fixture
def keys(tmp_path: Path) -> tuple[str, str]:
    return make_key(str(tmp_path / "1.key")), make_key(str(tmp_path / "2.key"))


@pytest.mark.slow
def test_a_new_key_opens_the_store_and_the_old_one_does_not(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    path = filled(tmp_path / "s", keys[0])
    packs = {p.name: p.read_bytes() for p in (path / "packs").iterdir()}

    done = rekey(path, key=keys[0], new=keys[1])

    assert done.what == "wrapped"
    holds(path, keys[1])
    with pytest.raises(SealedError, match="another one"):
        Store.open(path, key=keys[0])
    assert packs.items() <= {p.name: p.read_bytes() for p in (path / "packs").iterdir()}.items()


@pytest.mark.slow
def test_a_plain_store_is_encrypted_anew_and_plain_again(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    path = filled(tmp_path / "s")
    (path / "config.json").write_text('{"idle_s": 7}')
    assert plain_bytes(tmp_path)

    assert rekey(path, new=keys[0]).what == "encrypted"
    holds(path, keys[0])
    assert plain_bytes(tmp_path) == []
    records = Store.open(path, key=keys[0]).refresh()
    assert [r["what"] for r in records if r.get("event") == "rekeyed"] == ["encrypted"]
    data_key = Store.open(path, key=keys[0]).cipher.id  # type: ignore[union-attr]

    assert rekey(path, key=keys[0], new=keys[0], everything=True).what == "anew"
    holds(path, keys[0])
    assert plain_bytes(tmp_path) == []
    assert Store.open(path, key=keys[0]).cipher.id != data_key  # type: ignore[union-attr]

    assert rekey(path, key=keys[0], new="off").what == "decrypted"
    holds(path, "off")
    assert (path / "config.json").read_text() == '{"idle_s": 7}'
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.key", "2.key", "s"]


@pytest.mark.slow
def test_what_model_calls_cost_goes_along(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = filled(tmp_path / "store")
    spending = Spending(path)
    place = Place("2026-11-30", "s", "n", "b")
    with spending.turn() as write:
        write(Spending.more(1.5, place))

    rekey(path, new=keys[0])

    with (there := Spending(path)).turn():
        assert dict(there.paid) == {place: 1.5}


def test_a_store_that_is_used_is_not_written_anew(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = filled(tmp_path / "s")
    store = Store.open(path)
    store.append([{"kind": "event", "at": 1.0}]).result()

    with pytest.raises(StoreError, match="end its kernel"):
        rekey(path, new=keys[0])

    store.close()
    assert rekey(path, new=keys[0]).what == "encrypted"


@pytest.mark.slow
def test_who_had_a_store_open_when_it_got_another_data_key_writes_no_more(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    path = filled(tmp_path / "s")
    store = Store.open(path)
    store.refresh()
    rekey(path, new=keys[0])

    with pytest.raises(StoreError, match="restart the kernel"):
        store.append([{"kind": "event", "at": 1.0}]).result()
    with pytest.raises(StoreError, match="restart the kernel"):
        store.put_blob([PLANTED])

    with contextlib.suppress(StoreError):
        store.close()
    assert plain_bytes(path) == []
    holds(path, keys[0])


@pytest.mark.slow
def test_what_cannot_be_done_is_told_and_changes_nothing(
    tmp_path: Path, keys: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = filled(tmp_path / "s", keys[0])

    with pytest.raises(UsageError, match="opens the store already"):
        rekey(path, key=keys[0], new=keys[0])
    with pytest.raises(UsageError, match="name the new key"):
        rekey(path, key=keys[0])
    with pytest.raises(SealedError, match="is another one"):
        rekey(path, key=keys[1], new=keys[0])
    assert main(["rekey", "--store", str(path), "--key", keys[1], "--new", keys[0]]) == 3
    (path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"'notes\.txt'"):
        rekey(path, key=keys[0], new=keys[0], everything=True)
    (path / "notes.txt").unlink()

    holds(path, keys[0])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_a_damaged_store_is_not_written_anew(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = filled(tmp_path / "s")
    pack = min((path / "packs").iterdir())
    data = bytearray(pack.read_bytes())
    data[64] ^= 1
    pack.write_bytes(data)

    with pytest.raises(StoreError, match="nbckpt check"):
        rekey(path, new=keys[0])

    assert pack.read_bytes() == data


@pytest.mark.slow
def test_a_disk_that_cannot_swap_folders_keeps_the_store_as_it_was(
    tmp_path: Path, keys: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "s", keys[0])

    def refuse(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(file_calls.files, "exchange", refuse, raising=True)
    with pytest.raises(StoreError, match="cannot swap"):
        rekey(path, key=keys[0], new=keys[1], everything=True)

    holds(path, keys[0])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.key", "2.key", "s"]


WORKER = """
import itertools, os, signal, sys
from pathlib import Path
from nbckpt.storage import file_calls
from nbckpt.storage.rekeying import rekey
from nbckpt.storage.spending import Place, Spending

path, key, new, last = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
count = itertools.count()

def dying(call):
    def counted(*given, **named):
        if next(count) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)
    return counted

for name in ("pwrite", "fsync", "fdatasync", "rename", "exchange", "unlink", "mkdir", "open"):
    setattr(file_calls.files, name, dying(getattr(file_calls.files, name)))
done = rekey(path, key=key, new=new, everything=sys.argv[5] == "all")
print(next(count))
"""


def run_until(path: Path, old: str, new: str, last: int, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(path), old, new, str(last), how],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip


def survives_kills(tmp_path: Path, old: str, new: str, how: str, deaths: int) -> None:
    """Kill a rekey before `deaths` of its calls to the disk, each time on the same store."""
    path = filled(tmp_path / "s", None if old == "off" else old)
    trial = tmp_path / "trial"
    subprocess.run(["cp", "-a", str(path), str(trial)], check=True)
    whole = run_until(trial, old, new, -1, how)
    total = int(whole.communicate()[0])
    now = {False: old, True: new}
    is_new = False
    for number in range(deaths):
        last = total * (2 * number + 1) // (2 * deaths)
        worker = run_until(path, now[is_new], now[not is_new], last, how)
        worker.communicate()
        assert worker.returncode in (-signal.SIGKILL, 0)
        opened = []
        is_plain = "encryption" not in (path / "format.json").read_text()
        for key in (now[is_new], now[not is_new]):
            with contextlib.suppress(NbckptError):
                if is_plain and key != "off":  # a plain store opens with any key
                    continue
                opened.append(holds(path, key))
        assert len(opened) == 1
        is_new = opened[0] == new
        if "off" not in (old, new):
            assert plain_bytes(tmp_path) == []


@pytest.mark.slow
def test_killed_at_any_call_a_new_key_leaves_the_old_one_or_the_new_one(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    survives_kills(tmp_path, keys[0], keys[1], "wrap", deaths=2)


@pytest.mark.slow
def test_killed_at_any_call_a_rewrite_leaves_the_old_store_or_the_new_one(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    survives_kills(tmp_path, keys[0], keys[1], "all", deaths=3)


@pytest.mark.long
@pytest.mark.parametrize("case", ["wrap", "all", "encrypt"])
def test_killed_at_a_hundred_calls(tmp_path: Path, keys: tuple[str, str], case: str) -> None:
    old = "off" if case == "encrypt" else keys[0]
    survives_kills(tmp_path, old, keys[1], "wrap" if case == "wrap" else "all", deaths=100)


@pytest.mark.slow
def test_what_a_killed_rekey_left_goes_with_the_next(tmp_path: Path, keys: tuple[str, str]) -> None:
    path = filled(tmp_path / "s")
    worker = run_until(path, "off", keys[0], 60, "all")
    worker.communicate()
    assert worker.returncode == -signal.SIGKILL
    assert [p.name for p in tmp_path.iterdir() if p.name.endswith(".rekey.tmp")]

    rekey(path, key="off", new=keys[0])

    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.key", "2.key", "s"]
    assert plain_bytes(tmp_path) == []


def test_the_command_line_makes_keys_and_rekeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = filled(tmp_path / "s")
    assert main(["key", "new", str(tmp_path / "k")]) == 0
    monkeypatch.setenv("NBCKPT_ENCRYPTION", f"file:{tmp_path / 'k'}")

    assert main(["rekey", "--store", str(path)]) == 0
    assert "encrypted now" in capsys.readouterr().out
    assert main(["rekey", "--store", str(path), "--all", "--json"]) == 0
    assert '"anew"' in capsys.readouterr().out
    assert main(["check", "--store", str(path)]) == 0
    assert os.listdir(path / "tables")  # noqa: PTH208 - names
