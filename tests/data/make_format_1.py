"""Make the small store that every later nbckpt must read: `python make_format_1.py FOLDER`.

Run once for each format, by the last version that writes it; the result is kept as it is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from nbckpt.model import Cell, Checkpoint, Key, Variable
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record

STREAM = b"a pickle stream"
BIG = bytes(range(256)) * 1200  # two chunks
FRAME = pd.DataFrame({"x": [1, 2, 3], "s": ["a", None, "é"]}, index=pd.Index([5, 6, 7], name="k"))


def main(folder: Path) -> None:
    """Two checkpoints, a table, a tag, a rewind and an event, in two journals."""
    store = Store.open(folder)
    big = store.put_blob([STREAM, bytearray(BIG), bytearray(300)])
    small = store.put_blob([b"another stream"])
    first = Checkpoint(
        "019300000001-aaaa", None, "load", "main", "s1", "nb", 1000.5, 0.25,
        Cell("df = load()", 1, "cell-1"), key=Key("1" * 64, inputs={"path": "2" * 64}),
        changed={"big": Variable("big", big, "3" * 64, "numpy.ndarray", 307_500, "307200")},
    )  # fmt: skip
    second = Checkpoint(
        "019300000002-bbbb", first.id, "embed", "main", "s1", "nb", 1001.5, 1.5,
        Cell("df['y'] = …", 2), outputs=small, removed=("big",), note="with a note",
        changed={"df": Variable("df", small, "4" * 64, "DataFrame", 14, "3 x 2")},
    )  # fmt: skip
    table = store.put_table("4" * 64, "df", FRAME)
    store.append([checkpoint_record(first), _head(first, 1000.5)])
    store.append([checkpoint_record(second), _head(second, 1001.5)])
    store.append([{"kind": "table", "at": 1002.0, "value": "4" * 64, **table}])
    store.close()
    other = Store.open(folder)
    other.append([{"kind": "tag", "at": 1003.0, "checkpoint": second.id, "tag": "best"}])
    other.append([_head(first, 1004.0)])
    other.append([{"kind": "event", "at": 1004.0, "event": "rewound"}], durable=False)
    other.close()
    (folder / ".gitignore").unlink()


def _head(checkpoint: Checkpoint, at: float) -> dict[str, object]:
    return {"kind": "head", "at": at, "branch": "main", "checkpoint": checkpoint.id}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
