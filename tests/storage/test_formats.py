"""Every format that was ever written is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

from nbckpt.storage.query import relation
from nbckpt.storage.store import Store
from nbckpt.storage.tables import read_table
from nbckpt.timeline import Timeline

DATA = Path(__file__).parent.parent / "data"


def test_format_1_is_read(tmp_path: Path) -> None:
    store = Store.open(shutil.copytree(DATA / "format-1", tmp_path / "s"), create=False)
    timeline = Timeline()
    for record in store.refresh():
        timeline.apply(record)

    embed = timeline.resolve("embed", branch="main.1")
    load = timeline.resolve("load", branch="main")
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
