"""Make the small store that every later nbckpt must read: `python make_format_3.py FOLDER`.

Run once for each format, by the last version that writes it; the result is kept as it is.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from nbckpt.model import Cell, Checkpoint, Variable
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.retention import Retention

NOISE = random.Random(3).randbytes(70_000)
BEGAN = 1_000.0


def made(
    store: Store, n: int, name: str, branch: str, **members: object
) -> list[dict[str, object]]:
    """Records of the n-th checkpoint, which changes `x`, and of the branch that it moves."""
    blob = store.put_blob([b"stream %d" % n, bytearray(NOISE[n * 1000 :])])
    at = BEGAN + n
    variables = {"x": Variable("x", blob, blob, "bytes", 1, group=("x",))}
    if n == 0:
        kept = store.put_blob([b"of the first one"])
        variables["old"] = Variable("old", kept, kept, "str", 1, group=("old",))
    parent = f"id{n - 1:018}" if n else None
    checkpoint = Checkpoint(
        f"id{n:018}", parent, name, branch, "s", "nb", at, 0.25, Cell(f"x = {n}", n),
        changed=variables, **members,  # type: ignore[arg-type]
    )  # fmt: skip
    head = {"kind": "head", "branch": branch, "checkpoint": checkpoint.id, "at": at}
    return [dict(checkpoint_record(checkpoint)), {**head, "notebook": "nb"}]


def main(folder: Path) -> None:
    """A pruned journal beside one that it could not replace, and every new kind of record."""
    live, store = Store.open(folder), Store.open(folder)
    for n, name in enumerate(("first", "second", "third")):
        store.append(made(store, n, name, "main")).result()
    store.close()
    joined = {"joined": (Cell("y = 1", 3),)}
    records = [
        *made(live, 3, "fourth", "main", **joined),
        *made(live, 4, "fifth", "try", made_by="update"),
        {"kind": "tag", "checkpoint": f"id{3:018}", "tag": "best", "at": BEGAN + 5},
        {"kind": "tag", "checkpoint": f"id{3:018}", "tag": "worst", "at": BEGAN + 5},
        {
            "kind": "tag",
            "checkpoint": f"id{3:018}",
            "tag": "worst",
            "at": BEGAN + 6,
            "delete": True,
        },
        {"kind": "note", "checkpoint": f"id{4:018}", "note": "given later", "at": BEGAN + 6},
        {"kind": "head", "branch": "gone", "checkpoint": f"id{2:018}", "at": BEGAN + 7},
    ]
    live.append(records).result()
    prune(live, Retention(keep_last=1, drop=("gone",)), now=BEGAN + 10)
    live.close()
    (folder / ".gitignore").unlink()
    shutil.rmtree(folder / "locks")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
