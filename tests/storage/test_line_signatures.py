"""What a user wrote is his own; what others wrote is told apart, until he vouches for it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.errors import FormatError
from nbckpt.model import is_trusted
from nbckpt.storage.check import check
from nbckpt.storage.folder import id_of_store
from nbckpt.storage.journal_follower import Follower
from nbckpt.storage.journal_lines import encode, read_text
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.mark_repair import mend_mark
from nbckpt.storage.packs import SUFFIX, find_frames, open_pack
from nbckpt.storage.signers import Signers
from nbckpt.storage.store import Store
from tests.storage.users import checkpoint, timeline_of, trusted_in, user, write

KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a store with two checkpoints of this user and, between them, one of another."""
    path = tmp_path / "s"
    write(path, 1, b"own")
    with user(tmp_path / "other"):
        write(path, 2, b"another's")
    write(path, 3, b"own too")
    return path


def forged(line: bytes, **members: object) -> bytes:
    """A line with other members, and the checksum that everybody can compute."""
    record = {**json.loads(line), **members}
    del record["sum"]
    text = json.dumps(record, separators=(",", ":"))[:-1].encode()
    return b'%b,"sum":"%b"}\n' % (text, blake3(text).hexdigest(8).encode())


def test_only_what_a_user_wrote_is_trusted(path: Path, tmp_path: Path) -> None:
    own = [f"id{n:018}" for n in (1, 3)]

    assert trusted_in(path) == {own[0]: True, f"id{2:018}": False, own[1]: True}
    with user(tmp_path / "other"):
        assert trusted_in(path) == {own[0]: False, f"id{2:018}": True, own[1]: False}
    with user(tmp_path / "nobody"):
        assert set(trusted_in(path).values()) == {False}
        assert not (tmp_path / "nobody").exists()


def test_its_variables_are_as_trusted_as_a_checkpoint(path: Path) -> None:
    store = Store.open(path)

    manifests = [c.changed["x"] for c in timeline_of(store).checkpoints.values()]

    assert [variable.trusted for variable in manifests] == [True, False, True]
    assert "trusted" not in (path / "journal").joinpath(*store_journals(path)[:1]).read_text()
    store.close()


def store_journals(path: Path) -> list[str]:
    return sorted(p.name for p in (path / "journal").iterdir())


@given(st.data())
def test_a_changed_line_is_damaged_or_trusted_by_nobody(data: st.DataObject) -> None:
    line = Signer(KEY).line('{"kind":"event","event":"ran","at":1.5', 4)
    at = data.draw(st.integers(0, len(line) - 2))
    changed = bytearray(line[:-1])
    changed[at] ^= 1 << data.draw(st.integers(0, 7))

    opened = Signer(KEY).open(bytes(changed))

    if at < line.index(b',"sum"'):
        assert opened is None
        assert Signer(KEY).open(forged_text(bytes(changed))) != Signer(KEY).open(line[:-1])
    else:  # the checksum alone: the signature says already that all is right
        assert opened == Signer(KEY).open(line[:-1])


@given(st.data())
def test_the_quick_way_gives_a_text_only_where_a_line_is_ones_own(data: st.DataObject) -> None:
    line = Signer(KEY).line('{"kind":"event","event":"ran","at":1.5', 4)[:-1]
    changed = bytearray(line)
    changed[data.draw(st.integers(0, len(line) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    unsigned = Signer(KEY).line('{"kind":"event","event":"ran","at":1.5', 4, is_own=False)[:-1]

    assert Signer(KEY).own_text(line) == b'{"kind":"event","event":"ran","at":1.5,"n":4'
    assert Signer(None).own_text(line) is Signer(bytes(32)).own_text(line) is None
    assert Signer(KEY).own_text(unsigned) is None
    for one in (bytes(changed), line[:-1], line[1:], line[-40:], b""):
        text = Signer(KEY).own_text(one)
        assert text is None or Signer(KEY).open(one) == (text, True, False)


def forged_text(changed: bytes) -> bytes:
    """The changed line with a right checksum."""
    text = changed[: -len(',"sum":"0123456789abcdef"}')]
    return b'%b,"sum":"%b"}' % (text, blake3(text).hexdigest(8).encode())


def test_a_line_is_trusted_in_its_own_journal_alone(path: Path) -> None:
    first = path / "journal" / store_journals(path)[0]
    shutil.copy(first, path / "journal" / f"{'0' * 12}-{'0' * 8}.jsonl")
    store = Store.open(path)

    kinds = [(r["kind"], is_trusted(r)) for r in store.all_records() if r.get("id") == f"id{1:018}"]

    assert sorted(kinds) == [("checkpoint", False), ("checkpoint", True)]
    assert timeline_of(store).checkpoints[f"id{1:018}"].trusted
    store.close()


def test_nothing_that_another_wrote_counts_instead_of_what_is_ones_own(path: Path) -> None:
    first, second, _ = (path / "journal" / name for name in store_journals(path))
    (line,) = (x for x in first.read_bytes().splitlines() if b'"kind":"checkpoint"' in x)
    cell = {"source": "evil()"}
    with second.open("ab") as file:
        file.write(forged(line, cell=cell, n=5, carried=[], at=9e9))
        file.write(forged(line, cell=cell, n=6, carried=[], at=9e9, untrusted=False, mac="0" * 32))

    store = Store.open(path)
    timeline = timeline_of(store)

    assert timeline.checkpoints[f"id{1:018}"].cell.source == "x = 1"
    assert timeline.checkpoints[f"id{1:018}"].trusted
    claims = [r for r in store.all_records() if r.get("cell") == cell]
    assert [is_trusted(record) for record in claims] == [False, False]
    store.close()


def test_a_prune_of_another_takes_nothing_of_ones_own(path: Path) -> None:
    own = [name.removesuffix(".jsonl") for name in store_journals(path)]
    claim = {
        "kind": "prune", "at": 1.0, "replaces": own, "condemned": [], "tables": [],
        "pruned": [f"id{n:018}" for n in (1, 2, 3)],
    }  # fmt: skip
    for name in ("0" * 12, "f" * 12):  # read before what it names, and after
        journal = path / "journal" / f"{name}-{'0' * 8}.jsonl"
        journal.write_bytes(Signer().line(encode(claim), 0))

        assert trusted_in(path) == {f"id{1:018}": True, f"id{3:018}": True}
        journal.unlink()


def test_a_line_that_was_copied_in_its_journal_is_told(path: Path) -> None:
    journal = path / "journal" / store_journals(path)[0]
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines, lines[1], lines[2]]))
    follower = Follower(journal, signer_of(journal))

    entries = follower.read()

    assert len(entries) == len(lines)
    assert [damage.rpartition(": ")[2] for damage in follower.damages] == [
        "stands there a second time"
    ] * 2


def signer_of(journal: Path) -> Signer:
    signers = Signers(store_id=id_of_store(journal.parent.parent))
    signers.look()
    return signers.of(journal.stem)


def test_what_a_line_says_of_its_own_trust_is_not_heard(store: Store) -> None:
    (record, _) = checkpoint(store, 1, b"some")
    body = encode(record).encode().replace(b'"state"', b'"untrusted":%b,"state"', 1)

    mine, strange = (
        read_text(body % said, trusted=trusted)
        for said, trusted in ((b"true", True), (b"false", False))
    )

    assert mine is not None
    assert strange is not None
    assert (is_trusted(mine), is_trusted(strange)) == (True, False)
    assert (dict(mine).get("untrusted"), dict(strange)["untrusted"]) == (None, True)


def test_a_journal_of_another_store_of_the_same_user_is_not_trusted(tmp_path: Path) -> None:
    write(tmp_path / "one", 1, b"some")
    write(tmp_path / "other", 2, b"more")
    for path in (tmp_path / "one" / "journal").iterdir():
        shutil.copy(path, tmp_path / "other" / "journal")

    found = Store.open(tmp_path / "other", create=False).refresh()

    trusted = {
        record["id"]: is_trusted(record) for record in found if record["kind"] == "checkpoint"
    }
    assert len(trusted) == 2
    assert sorted(trusted.values()) == [False, True]


def test_a_store_whose_mark_is_written_anew_keeps_its_name(tmp_path: Path) -> None:
    write(tmp_path / "s", 1, b"some")
    known = id_of_store(tmp_path / "s")
    (tmp_path / "s" / "format.json").unlink()

    assert mend_mark(tmp_path / "s") == "format.json: written anew"

    assert known
    assert id_of_store(tmp_path / "s") == known
    records = Store.open(tmp_path / "s", create=False).refresh()
    assert all(is_trusted(r) for r in records if r["kind"] == "checkpoint")


# -- chunks


def test_bytes_whose_index_nobody_vouches_for_are_read_and_put_again(
    path: Path, tmp_path: Path
) -> None:
    store = Store.open(path)
    size = sum(p.stat().st_size for p in (path / "packs").iterdir())
    strange = timeline_of(store).checkpoints[f"id{2:018}"].changed["x"].blob

    assert bytes(store.get_blob(strange)[0]) == b"another's"
    assert not store.blobs.can_rely_on(strange)
    store.append(checkpoint(store, 4, b"another's")).result()

    assert store.blobs.can_rely_on(strange)
    assert sum(p.stat().st_size for p in (path / "packs").iterdir()) > size
    store.close()
    for pack in (path / "packs").iterdir():
        if b"another's" in pack.read_bytes():
            pack.unlink()  # that of the other user, which is the first
            break
    later = Store.open(path)
    assert bytes(later.get_blob(strange)[0]) == b"another's"
    later.close()


def test_an_index_in_place_of_another_is_not_relied_upon(path: Path) -> None:
    first = min((path / "packs").glob(f"*{SUFFIX}"))
    fd = open_pack(path / "packs", first.stem)
    (frame,) = find_frames(fd, first.stem)
    os.close(fd)
    store = Store.open(path)
    own = timeline_of(store).checkpoints[f"id{1:018}"].changed["x"].blob
    store.close()
    data = bytearray(first.read_bytes())
    table = bytearray(data[frame.offset : frame.offset + frame.length - 32])
    table[-1] ^= 1  # of the length of a chunk
    data[frame.offset : frame.offset + frame.length] = table + blake3(bytes(table)).digest()
    first.write_bytes(data)

    store = Store.open(path)
    store.refresh()

    assert not store.blobs.can_rely_on(own)
    assert [damage for damage in store.damages if "not the one named" in damage]
    assert [p.kind for p in check(store.path).problems if p.kind != "unreachable"] == ["damaged"]
    store.close()


def test_bytes_are_verified_wherever_they_are_read(path: Path) -> None:
    store = Store.open(path)
    digest = store.put_blob([b"a stream " * 9, bytearray(300)])
    store.append([{"kind": "event", "at": 1.0, "blob": digest}]).result()
    store.get_blob(digest)
    for pack in (path / "packs").iterdir():
        pack.write_bytes(pack.read_bytes().replace(b"a stream", b"evil now"))

    with pytest.raises(FormatError, match="is damaged"):
        store.get_blob(digest)

    store.close()
