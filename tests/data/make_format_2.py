"""Make the small store that every later nbckpt must read: `python make_format_2.py FOLDER`.

Run once for each format, by the last version that writes it; the result is kept as it is.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from nbckpt.codecs.pickler import Scope, encode
from nbckpt.model import Cell, Checkpoint, Variable
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record

MESSAGES = [{"n": n, "text": f"message {n} " * (n % 40)} for n in range(2000)]
TEXT = "a text that is a part of its own " * 8000
NOISE = random.Random(2).randbytes(70_000)
MIXED = bytes(400 << 10) + NOISE  # a chunk of zeros, and one that begins with them


def main(folder: Path) -> None:
    """Every codec, a grouped and an ungrouped part, a payload, what is mapped and what is not."""
    store = Store.open(folder)
    parts = encode({"messages": MESSAGES, "text": TEXT}, Scope({})).parts
    stream = store.put_blob(parts)
    buffers = store.put_blob([b"stream", bytearray(MIXED), bytearray(300), b""])
    checkpoint = Checkpoint(
        "019300000003-cccc", None, "talk", "main", "s1", "nb", 1000.5, 0.25,
        Cell("talk()", 1, "cell-1"),
        changed={
            "messages": Variable("messages", stream, "3" * 64, "list", 1, group=("messages", "text")),
            "mixed": Variable("mixed", buffers, "4" * 64, "numpy.ndarray", len(MIXED)),
        },
    )  # fmt: skip
    head = {"kind": "head", "at": 1000.5, "branch": "main", "checkpoint": checkpoint.id}
    store.append([checkpoint_record(checkpoint), head])
    store.close()
    (folder / ".gitignore").unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
