"""Opening: made once, refused with a reason, never written to by reading."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbckpt.errors import FormatError, StoreError
from nbckpt.storage.check import check
from nbckpt.storage.mark_repair import mend_mark
from nbckpt.storage.store import Store


def test_a_new_store_is_ignored_by_git_and_says_its_format(tmp_path: Path) -> None:
    Store.open(tmp_path / "a" / "b").close()

    assert (tmp_path / "a" / "b" / ".gitignore").read_text() == "*\n"
    assert json.loads((tmp_path / "a" / "b" / "format.json").read_text())["nbckpt"] == 1


def test_opening_and_reading_write_nothing(tmp_path: Path) -> None:
    first = Store.open(tmp_path / "s")
    first.append([{"kind": "event", "at": 1.0}]).result()
    first.close()
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")}

    store = Store.open(tmp_path / "s")
    store.refresh()
    check(store.path)
    store.close()

    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")} == before


def test_no_store_is_made_when_it_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store at .*none: %load_ext nbckpt"):
        Store.open(tmp_path / "none", create=False)

    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_file_is_no_store(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("mine")

    with pytest.raises(StoreError, match="is a file, not a folder"):
        Store.open(tmp_path / "file" / inside)


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.ipynb").write_text("mine")

    with pytest.raises(StoreError, match=r"is no store, it holds 'thesis.ipynb'"):
        Store.open(tmp_path)

    assert [p.name for p in tmp_path.iterdir()] == ["thesis.ipynb"]


def test_a_newer_format_says_which_and_what_to_do(tmp_path: Path) -> None:
    Store.open(tmp_path / "s").close()
    (tmp_path / "s" / "format.json").write_text('{"nbckpt": 7, "new": true}')

    with pytest.raises(FormatError, match="store format 7, newer than 1: upgrade nbckpt"):
        Store.open(tmp_path / "s")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_store_from_before_1_0_is_neither_read_nor_mended(tmp_path: Path, version: int) -> None:
    store = Store.open(tmp_path / "s")
    store.append([{"kind": "event", "at": 1.0}]).result()
    store.close()
    mark = tmp_path / "s" / "format.json"
    mark.write_text(json.dumps({"format": version}))
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")}

    for opened in (Store.open, mend_mark):
        with pytest.raises(FormatError, match=rf"before nbckpt 1\.0 \(format {version}\)"):
            opened(tmp_path / "s")

    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "s").rglob("*")} == before


def test_a_lost_mark_is_not_written_anew_beside_packs_from_before_1_0(tmp_path: Path) -> None:
    Store.open(tmp_path / "s").close()
    (tmp_path / "s" / "packs" / "0123456789ab-01234567-0.pack").write_bytes(
        b"\x93NBPACK\n\2\0\0\0" + bytes(52)
    )
    (tmp_path / "s" / "format.json").unlink()
    (tmp_path / "s" / "format.copy.json").unlink()

    with pytest.raises(FormatError, match=r"is a store from before nbckpt 1\.0, which"):
        mend_mark(tmp_path / "s")

    assert not (tmp_path / "s" / "format.json").exists()


@pytest.mark.parametrize("mark", ["", "{", "[]", '{"nbckpt": "x"}', '{"nbckpt": 1e999}', "{}"])
def test_a_damaged_mark_is_told(tmp_path: Path, mark: str) -> None:
    Store.open(tmp_path / "s").close()
    (tmp_path / "s" / "format.json").write_text(mark)

    with pytest.raises(FormatError, match="damaged"):
        Store.open(tmp_path / "s")


def test_a_lost_mark_is_told_and_not_made_anew(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "s")
    store.append([{"kind": "event", "at": 1.0}]).result()
    store.close()
    (tmp_path / "s" / "format.json").unlink()

    with pytest.raises(FormatError, match="is gone"):
        Store.open(tmp_path / "s")


def test_a_store_that_was_half_made_is_finished(tmp_path: Path) -> None:
    (tmp_path / "s" / "packs").mkdir(parents=True)
    (tmp_path / "s" / ".format.json.0badcafe.tmp").write_text("{")

    Store.open(tmp_path / "s").close()

    assert (tmp_path / "s" / "format.json").exists()
