"""Make the small store that every later nbckpt must read: `python make_format_4.py FOLDER`.

Run once for each format, by the last version that writes it; the result is kept as it is. Two users
write it, and nobody has their keys: whoever reads it is a third.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from nbckpt.model import Cell, Checkpoint, Variable
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.recordings import Recording, recording_record
from nbckpt.timeline.retention import Retention

NOISE = random.Random(4).randbytes(70_000)
BEGAN = 1_000.0


def made(store: Store, n: int, name: str) -> list[dict[str, object]]:
    """Records of the n-th checkpoint, and of the branch that it moves."""
    blob = store.put_blob([b"stream %d" % n, bytearray(NOISE[n * 1000 :])])
    checkpoint = Checkpoint(
        f"id{n:018}", f"id{n - 1:018}" if n else None, name, "main", "s", "nb", BEGAN + n, 0.25,
        Cell(f"x{n} = {n}", n),
        changed={f"x{n}": Variable(f"x{n}", blob, blob, "bytes", 1, group=(f"x{n}",))},
    )  # fmt: skip
    head = {"kind": "head", "branch": "main", "checkpoint": checkpoint.id, "at": BEGAN + n}
    return [dict(checkpoint_record(checkpoint)), head]


def asked(store: Store) -> dict[str, object]:
    """The record of a model call."""
    blob = store.put_blob([b'{"model": "m"}', b'{"answer": 42}'])
    call = Recording(
        id="ca11", step="second", session="s", branch="main", position=None, occurrence=0,
        request="0" * 64, provider="p", endpoint="chat", model="m", url="", status=200, headers=(),
        blob=blob, sizes=(14,), state="done", streamed=False, created_at=BEGAN + 9, duration_s=0.5,
    )  # fmt: skip
    return dict(recording_record(call))


def as_user(home: Path) -> None:
    """Go on as the user with this folder."""
    os.environ["NBCKPT_HOME"] = str(home)


def main(folder: Path) -> None:
    """A pruned journal of one user, on what another began, and a line that is nobody's."""
    with tempfile.TemporaryDirectory() as homes:
        as_user(Path(homes) / "first")
        store = Store.open(folder)
        store.append(made(store, 0, "first")).result()
        store.close()
        as_user(Path(homes) / "second")
        store = Store.open(folder)
        for n, name in enumerate(("second", "third"), 1):
            store.append(made(store, n, name)).result()
        store.append([asked(store)]).result()
        store.close()
        store = Store.open(folder)
        prune(store, Retention(keep_last=1), now=BEGAN + 10)
        tag = {"kind": "tag", "checkpoint": f"id{2:018}", "tag": "best", "at": BEGAN + 11}
        store.append([tag, *made(store, 3, "fourth")]).result()
        store.close()
    (folder / ".gitignore").unlink()
    shutil.rmtree(folder / "locks")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
