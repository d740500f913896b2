"""All that works on a plain store works on an encrypted one, and its folder tells nothing."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from blake3 import blake3

from nbckpt.cli import main
from nbckpt.errors import FormatError, SealedError
from nbckpt.session.session import Session
from nbckpt.storage import large_parts
from nbckpt.storage.check import check
from nbckpt.storage.key_sources import make_key
from nbckpt.storage.parquet_files import read_table
from nbckpt.storage.store import Store
from tests.running import environment

PLANTED = "PLANTED-a-secret-of-the-user"


def session_on(path: Path, **values: object) -> Session:
    return Session(Store.open(path), {"__name__": "__main__", **values}, notebook=PLANTED)


def files_of(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


def forms_of(data: bytes) -> set[bytes]:
    """How bytes may stand in a file: raw, as hex, as base64 at any offset."""
    forms = {data, data.hex().encode(), data.hex().upper().encode()}
    for shift in range(3):
        forms.add(base64.b64encode(bytes(shift) + data)[4 if shift else 0 : -4])
    return forms


def test_the_folder_tells_nothing_of_what_is_kept(key: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    text, array = PLANTED * 3, np.arange(200_000)
    session = session_on(path, PLANTED=text, a=array, df=pd.DataFrame({PLANTED: ["x", PLANTED]}))
    session.checkpoint(PLANTED, note=PLANTED)
    session.tag(PLANTED, PLANTED)
    session.sql("select * from variable('df')").fetchall()
    session.wait()
    manifest = session.timeline.manifest(session.position.head.id)
    assert {"PLANTED", "a", "df"} <= set(manifest)
    digests = {d for v in manifest.values() for d in (v.blob, v.value)}
    names = {bytes.fromhex(digest) for digest in digests} | set(session.store._index._known)
    names.add(blake3(memoryview(array).cast("B")[: 256 << 10]).digest())
    assert len(names) > 10

    found = files_of(path)

    needles = {f for n in (PLANTED.encode(), *names) for f in forms_of(n)}
    needles.add(str(tmp_path).encode())
    if len(host := os.uname().nodename.encode()) > 4:  # a shorter one may stand there by chance
        needles.add(host)
    for file, data in found.items():
        told = data + str(file.relative_to(path)).encode()
        assert [n for n in needles if n in told] == [], file
    assert {file.parent.name for file in found} >= {"journal", "packs", "tables"}


def test_a_session_goes_on_where_another_was(key: str, tmp_path: Path) -> None:
    array = np.random.default_rng(0).random(100_000)
    first = session_on(tmp_path / "s", text=PLANTED, array=array, frame=pl.DataFrame({"x": [1]}))
    first.checkpoint("one")
    first.namespace["text"] = "other"
    first.checkpoint("two")
    first.wait()
    first.store.close()

    again = session_on(tmp_path / "s")
    again.resume()
    assert again.namespace["text"] == "other"
    again.rewind("one")

    assert again.namespace["text"] == PLANTED
    assert np.array_equal(again.namespace["array"], array)
    again.namespace["array"][0] = 7  # as writable as it was
    assert again.store.trust.untrusted().records == 0
    assert check(again.store.path).ok


def test_the_same_bytes_are_kept_once_across_sessions(key: str, tmp_path: Path) -> None:
    data = os.urandom(3_000_000)
    first = Store.open(tmp_path / "s")
    digest = first.put_blob([b"a", data])
    first.append([{"kind": "event", "at": 1.0, "blob": digest}]).result()
    size = sum(map(len, files_of(tmp_path / "s").values()))
    first.close()

    second = Store.open(tmp_path / "s")
    assert second.put_blob([b"a", data]) == digest
    second.put_blob([b"a", data[:1_500_000], data])
    second.append([{"kind": "event", "at": 2.0}]).result()

    assert sum(map(len, files_of(tmp_path / "s").values())) < size + 300_000
    assert bytes(second.get_blob(digest)[1]) == data


def test_sql_reads_tables_from_memory_and_spills_nowhere(key: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2], "s": ["a", None]})
    session = session_on(tmp_path / "s", df=frame, p=pl.DataFrame({"y": [2.5]}))
    session.checkpoint("one")

    assert session.sql("select * from variable('df') order by x").fetchall() == [
        (1, "a"),
        (2, None),
    ]
    assert session.sql("select y from variable('p', 'one')").fetchall() == [(2.5,)]
    assert session.sql("select current_setting('temp_directory')").fetchall() == [("",)]
    assert session.sql("select name from variables where name = 'df'").fetchall() == [("df",)]
    assert not list((tmp_path / "s").rglob("*.parquet"))


def test_a_missing_or_wrong_key_is_one_clear_error(
    key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    session_on(tmp_path / "s").store.close()
    own = json.loads((tmp_path / "s/format.json").read_text())["encryption"]["key"]

    monkeypatch.delenv("NBCKPT_ENCRYPTION")
    with pytest.raises(SealedError, match=f"key {own} .*set NBCKPT_ENCRYPTION"):
        Store.open(tmp_path / "s")
    assert main(["log", "--store", str(tmp_path / "s")]) == 3
    monkeypatch.setenv("NBCKPT_ENCRYPTION", make_key(str(tmp_path / "other.key")))
    assert main(["log", "--store", str(tmp_path / "s")]) == 3
    told = capsys.readouterr().err
    assert f"is another one than this store's, which is key {own}" in told
    assert "Traceback" not in told


def test_a_plain_store_stays_plain_and_is_read_with_a_key_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = session_on(tmp_path / "s", x=PLANTED)
    before.checkpoint("one")
    before.store.close()
    monkeypatch.setenv("NBCKPT_ENCRYPTION", make_key(str(tmp_path / "a.key")))

    after = session_on(tmp_path / "s")
    after.resume()

    assert after.namespace["x"] == PLANTED
    assert after.store.cipher is None


def test_a_store_whose_mark_lost_its_encryption_gives_nothing_and_takes_nothing_for_its_own(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_on(tmp_path / "s", x=1)
    session.checkpoint("one")
    session.store.close()
    mark = json.loads((tmp_path / "s/format.json").read_text())
    del mark["encryption"], mark["sum"]
    (tmp_path / "s/format.json").write_text(json.dumps(mark))

    monkeypatch.delenv("NBCKPT_ENCRYPTION")  # whoever has it set is refused
    store = Store.open(tmp_path / "s")

    assert [r for r in store.refresh() if r["kind"] == "checkpoint"] == []
    assert store.damages
    assert not check(store.path).ok


def test_two_who_make_one_store_at_once_have_one_data_key(key: str, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom nbckpt.storage.store import Store\n"
        "sys.stdin.readline()\ns = Store.open(Path(sys.argv[1]))\nprint(s.cipher.id)"
    )
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "s")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(),
        )
        for _ in range(2)
    ]  # fmt: skip
    for maker in makers:
        assert maker.stdin
        maker.stdin.write("go\n")
        maker.stdin.flush()

    ids = {maker.communicate()[0].strip() for maker in makers}

    assert len(ids) == 1
    assert ids != {""}


def test_a_forked_child_and_its_parent_write_side_by_side(key: str, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    digest = store.put_blob([b"of both" * 100])
    store.append([{"kind": "event", "at": 1.0, "blob": digest}]).result()
    pid = os.fork()
    if not pid:
        try:
            own = store.put_blob([b"of the child" * 100])
            store.append([{"kind": "event", "at": 2.0, "blob": own}]).result()
            os._exit(0 if bytes(store.get_blob(digest)[0]) == b"of both" * 100 else 1)
        finally:
            os._exit(2)
    own = store.put_blob([b"of the parent" * 100])
    store.append([{"kind": "event", "at": 3.0, "blob": own}]).result()

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    records = [r for r in store.refresh() if r["kind"] == "event"]
    assert [r["at"] for r in records] == [1.0, 2.0, 3.0]
    assert all(store.get_blob(r["blob"]) for r in records)
    assert check(store.path).ok


def test_a_table_that_took_anothers_name_is_damaged(key: str, tmp_path: Path) -> None:
    session = session_on(tmp_path / "s", a=pd.DataFrame({"x": [1]}), b=pd.DataFrame({"x": [2]}))
    session.checkpoint("one")
    for name in "ab":
        session.sql(f"select * from variable('{name}')").fetchall()
    session.wait()
    one, two = sorted((tmp_path / "s/tables").iterdir())
    one.write_bytes(two.read_bytes())

    manifest = session.timeline.manifest(session.position.head.id)
    session.store.all_records()
    files = {manifest[n].value: session.store.tables.record(manifest[n].value) for n in "ab"}
    wrong = next(value for value, record in files.items() if record and record["file"] == one.name)
    with pytest.raises(FormatError, match=one.name):
        read_table(tmp_path / "s/tables", wrong, session.store.cipher)
    assert not check(session.store.path).ok


def test_a_restored_array_is_put_back_without_a_look_at_it(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, size = Store.open(tmp_path / "s"), 8 << 20
    digest = store.put_blob([b"", bytearray(os.urandom(size))])
    store.append([]).result()
    store.close()
    store = Store.open(tmp_path / "s")
    _, part = store.get_blob(digest)
    hashed: list[int] = []
    monkeypatch.setattr(
        large_parts, "blake3", lambda chunk: hashed.append(len(chunk)) or blake3(chunk)
    )

    assert store.put_blob([b"", part]) == digest

    if sum(hashed) > size:
        pytest.skip("this kernel does not tell which pages were written")
    assert sum(hashed) < size / 8
    part[0] = part[0] ^ 1
    assert store.put_blob([b"", part]) != digest


def test_a_mark_that_was_made_plain_has_nothing_written_plainly(key: str, tmp_path: Path) -> None:
    session = session_on(tmp_path / "s", text="before")
    session.checkpoint("one")
    session.wait()
    session.store.close()
    (tmp_path / "s" / "format.copy.json").unlink(missing_ok=True)
    (tmp_path / "s" / "format.json").write_text('{"nbckpt": 1}')
    before = files_of(tmp_path / "s")

    with pytest.raises(FormatError, match="does not say that the store is encrypted"):
        session_on(tmp_path / "s", text=PLANTED)

    assert files_of(tmp_path / "s") == before


def test_a_repair_takes_the_copy_of_a_mark_that_was_made_plain(key: str, tmp_path: Path) -> None:
    session = session_on(tmp_path / "s", text="before")
    session.checkpoint("one")
    session.wait()
    session.store.close()
    (tmp_path / "s" / "format.json").unlink()

    assert main(["check", "--repair", "--store", str(tmp_path / "s")]) == 0

    again = session_on(tmp_path / "s")
    again.resume()
    assert again.namespace["text"] == "before"
    again.store.close()
