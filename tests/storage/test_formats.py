"""Every format that was ever written is read."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pandas as pd

from nbckpt.codecs.loading import Loading, decode
from nbckpt.model import Cell, is_trusted
from nbckpt.storage.folder import FORMAT
from nbckpt.storage.query import relation
from nbckpt.storage.store import Store
from nbckpt.storage.tables import read_table
from nbckpt.timeline.references import resolve
from nbckpt.timeline.timeline import Timeline

DATA = Path(__file__).parent.parent / "data"


def test_format_1_is_read(tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(DATA / "format-1", tmp_path / "s"), create=False)
    timeline = Timeline()
    for record in store.refresh():
        timeline.apply(record)

    embed = resolve(timeline, "embed", branch="main.1")
    load = resolve(timeline, "load", branch="main")
    parts = store.get_blob(load.changed["big"].blob)

    assert timeline.branches == {"main": load.id, "main.1": embed.id}
    assert (embed.parent, embed.tags, embed.note) == (load.id, ("best",), "with a note")
    assert load.key is not None
    assert load.key.inputs == {"path": "2" * 64}
    assert [bytes(part) for part in parts] == [
        b"a pickle stream",
        bytes(range(256)) * 1200,
        bytes(300),
    ]
    assert [part.readonly for part in parts] == [True, False, False]
    assert embed.outputs is not None
    assert bytes(store.get_blob(embed.outputs)[0]) == b"another stream"
    assert set(timeline.manifest(embed.id)) == {"df"}
    pd.testing.assert_frame_equal(
        pd.DataFrame(read_table(store.tables, "4" * 64)),
        pd.DataFrame({"x": [1, 2, 3], "s": ["a", None, "é"]}, index=pd.Index([5, 6, 7], name="k")),
    )
    sum_of_x = relation(store, timeline, "select sum(x) from variable('df', '019300000002')")
    assert sum_of_x.fetchall() == [(6,)]
    assert [record["event"] for record in store.records("event")] == ["rewound"]
    assert store.check().problems == ()
    assert store.damages == []
    store.close()


def test_format_2_is_read(tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(DATA / "format-2", tmp_path / "s"), create=False)
    timeline = Timeline()
    for record in store.refresh():
        timeline.apply(record)
    changed = resolve(timeline, "talk", branch="main").changed

    stream = store.get_blob(changed["messages"].blob)
    mixed = store.get_blob(changed["mixed"].blob)

    assert decode(stream, Loading({}, str), trusted=True) == {
        "messages": [{"n": n, "text": f"message {n} " * (n % 40)} for n in range(2000)],
        "text": "a text that is a part of its own " * 8000,
    }
    noise = random.Random(2).randbytes(70_000)
    assert [bytes(part) for part in mixed] == [b"stream", bytes(400 << 10) + noise, bytes(300), b""]
    assert [part.readonly for part in mixed] == [True, False, False, True]
    assert store.check().problems == ()
    assert store.damages == []
    store.close()


def test_what_format_2_wrote_is_what_is_written_now(tmp_path: Path) -> None:
    kept = Store.open(DATA / "format-2", create=False)
    (record,) = (r for r in kept.refresh() if r["kind"] == "checkpoint")
    digests = [variable["blob"] for variable in record["changed"]]
    blobs = [kept.get_blob(digest) for digest in digests]
    store = Store.open(tmp_path / "s")

    again = [
        store.put_blob([bytes(part) if part.readonly else bytearray(part) for part in blob])
        for blob in blobs
    ]

    assert again == digests
    store.close()
    kept.close()


def test_a_store_of_format_1_goes_on_in_this_format(tmp_path: Path) -> None:
    path = shutil.copytree(DATA / "format-1", tmp_path / "s")
    store = Store.open(path)
    (old, *_) = (r for r in store.refresh() if r["kind"] == "checkpoint")
    opened = json.loads((path / "format.json").read_text())
    nothing = store.put_blob([])
    new = store.put_blob([b"a stream " * 5000, bytearray(500_000)])

    store.append([{"kind": "event", "at": 1.0, "blob": digest} for digest in (new, nothing)])
    store.close()
    later = Store.open(path, create=False)

    assert opened == {"format": 1}
    assert json.loads((path / "format.json").read_text())["format"] == FORMAT
    assert [len(part) for part in later.get_blob(new)] == [45_000, 500_000]
    assert bytes(later.get_blob(old["changed"][0]["blob"])[0]) == b"a pickle stream"
    assert later.check().problems == ()
    later.close()


def test_a_store_of_format_1_that_is_only_read_stays_one(tmp_path: Path) -> None:
    path = shutil.copytree(DATA / "format-1", tmp_path / "s")
    store = Store.open(path)

    store.refresh()
    store.close()

    assert json.loads((path / "format.json").read_text()) == {"format": 1}


def test_format_4_is_read_and_trusted_when_that_is_said(tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(DATA / "format-4", tmp_path / "s"), create=False)
    noise = random.Random(4).randbytes(70_000)

    def read() -> tuple[bool, bool]:
        """Of the third and the fourth step, whether they are trusted; all of them is there."""
        timeline = Timeline()
        timeline.apply_all(store.all_records())
        third, fourth = timeline.checkpoints.values()
        assert timeline.branches == {"main": fourth.id}
        assert (third.parent, fourth.parent, third.tags) == (None, third.id, ("best",))
        assert set(third.carried) == {"x0", "x1"}
        for n, variable in enumerate(timeline.manifest(fourth.id).values()):
            found = [bytes(part) for part in store.get_blob(variable.blob)]
            assert found == [b"stream %d" % n, noise[n * 1000 :]]
            assert store.can_rely_on(variable.blob) == variable.trusted == fourth.trusted
        (call,) = store.records("recording")
        assert [bytes(part) for part in store.get_blob(call["blob"], of=call)][
            1
        ] == b'{"answer": 42}'
        assert is_trusted(call) == third.trusted
        return third.trusted, fourth.trusted

    assert read() == (False, False)
    assert store.untrusted().journals == 3
    store.trust()
    assert read() == (True, True)
    assert not store.untrusted()
    assert store.check().problems == ()
    assert store.damages == []
    store.close()


def test_format_3_is_read(tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(DATA / "format-3", tmp_path / "s"), create=False)
    timeline = Timeline()
    for record in store.refresh():
        timeline.apply(record)
    third, fourth, fifth = timeline.checkpoints.values()
    noise = random.Random(3).randbytes(70_000)

    assert [c.name for c in (third, fourth, fifth)] == ["third", "fourth", "fifth"]
    assert timeline.branches == {"main": fourth.id, "try": fifth.id}
    assert (third.parent, fourth.parent) == (None, third.id)
    assert set(third.carried) == {"old"}
    assert (fourth.tags, fourth.joined) == (("best",), (Cell("y = 1", 3),))
    assert (fifth.note, fifth.made_by) == ("given later", "update")
    for n, checkpoint in enumerate((third, fourth, fifth), 2):
        manifest = timeline.manifest(checkpoint.id)
        old, x = (store.get_blob(manifest[name].blob) for name in ("old", "x"))
        assert bytes(old[0]) == b"of the first one"
        assert [bytes(part) for part in x] == [b"stream %d" % n, noise[n * 1000 :]]
    assert store.check().problems == ()
    assert store.damages == []
    store.close()
