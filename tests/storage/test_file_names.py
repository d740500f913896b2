"""No name in a record leads out of a store, or to anything but its own files."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.model import Record
from nbckpt.storage.check import check
from nbckpt.storage.file_names import is_name, is_table, wrong_name
from nbckpt.storage.journal_lines import encode
from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from tests.storage.users import write

EVIL = [
    "../outside", "..", ".", "", "/etc/passwd", "a/b", "a\\b", "a\0b", "a\nb", "~root", "a" * 200,
    "CON", "nul", "com1", "C:", "C:\\x", "\u202e", "é", ".hidden", "-rf", "a b", "a.b.c.d", "%2e%2e",
    "\ud800", 7, None, True, ["a"], {"a": 1}, 1e9,
]  # fmt: skip
parts = st.sampled_from(["..", ".", "/", "\\", "\0", "a", "nul", "Ā", ":", "~", " ", "0" * 70, "-"])
names = st.one_of(st.text(), st.lists(parts).map("".join), st.text("ab.-_/\\", max_size=200))


@given(names)
def test_a_name_that_is_right_is_one_step_within_its_folder(name: str) -> None:
    for is_right in (is_name, is_table):
        if is_right(name):
            assert name == name.encode("ascii").decode()
            for flavour in (PurePosixPath, PureWindowsPath):
                path = flavour("/store/packs") / name
                assert path.parent == flavour("/store/packs")
                assert path.name == name
                assert not path.drive or path.drive == flavour("/store/packs").drive
            assert not PureWindowsPath(name).is_reserved()
            assert len(name) < 200
            assert name[0] not in ".-~"


@pytest.mark.parametrize("name", EVIL)
def test_what_is_no_name_is_wrong_wherever_it_stands(name: object) -> None:
    assert not is_name(name)
    assert not is_table(name)
    assert wrong_name({"kind": "batch", "pack": name, "frame": 64})
    for member in ("replaces", "condemned", "tables"):
        assert wrong_name({"kind": "prune", member: [name]})
    if name is not None:
        assert wrong_name({"kind": "table", "value": "0" * 64, "file": name})


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "batch", "pack": "a", "frame": -1},
        {"kind": "batch", "pack": "a", "frame": 1 << 70},
        {"kind": "batch", "pack": "a", "frame": "64"},
        {"kind": "batch", "pack": "a", "frame": 64, "sum": "zz"},
        {"kind": "batch", "pack": "a", "frame": 64, "before": 5},
        {"kind": "prune", "replaces": "abc"},
        {"kind": "prune", "condemned": {"a": 1}},
    ],
)
def test_what_is_no_place_is_wrong(record: Record) -> None:
    assert wrong_name(record)


def test_names_that_writers_make_are_right(tmp_path: Path) -> None:
    write(tmp_path, 1)

    for room, is_right in (("journal", is_name), ("packs", is_name)):
        found = [path.name.partition(".")[0] for path in (tmp_path / room).iterdir()]
        assert found
        assert all(map(is_right, found))
    assert is_table(f"{'0' * 64}.parquet")


@pytest.mark.parametrize("evil", ["../../victim", "/etc/x", "..", "victim\0"])
def test_a_record_with_such_a_name_is_damage_and_nothing_is_touched(
    tmp_path: Path, evil: str
) -> None:
    path = tmp_path / "a" / "store"
    write(path, 1)
    victims = [tmp_path / "victim.pack", tmp_path / "victim.jsonl", tmp_path / "victim"]
    for victim in victims:
        victim.write_text("mine")
    claims: list[Record] = [
        {"kind": "prune", "at": 1.0, "replaces": [evil], "condemned": [], "tables": []},
        {"kind": "batch", "pack": evil, "frame": 64},
        {"kind": "table", "value": "0" * 64, "file": evil, "at": 1.0, "file_digest": ""},
    ]
    journal = path / "journal" / "000000000000-00000000.jsonl"
    signer = Signer()
    journal.write_bytes(b"".join(signer.line(encode(r), n) for n, r in enumerate(claims)))

    store = Store.open(path)
    store.refresh()
    told = [damage for damage in store.damages if "no store has" in damage]
    assert len(told) == len(claims)
    assert len([p for p in check(store.path).problems if p.kind == "damaged"]) == len(claims)
    prune(store, Retention(keep_last=1))
    store.close()

    assert [victim.read_text() for victim in victims] == ["mine"] * 3
    assert journal.exists()


def test_a_journal_with_a_name_that_no_journal_has_is_told_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "store"
    write(path, 1)
    (journal,) = (path / "journal").iterdir()
    (path / "journal" / "odd name\n.jsonl").write_bytes(journal.read_bytes())

    store = Store.open(path)

    assert len(store.refresh()) == 2
    assert [damage for damage in store.damages if "no journal has such a name" in damage]
    assert not any("\n" in damage for damage in store.damages)
    store.close()
