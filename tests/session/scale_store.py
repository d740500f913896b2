"""Fill a store with a long history, as a notebook with `%nbckpt auto on` would over weeks.

``python -m tests.session.scale_store PATH 10000`` makes one to measure with.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nbckpt.codecs.encode import encode
from nbckpt.codecs.pickler import Scope
from nbckpt.digests import digest_of
from nbckpt.model import Cell, Checkpoint, Key, Variable
from nbckpt.storage.store import Store
from nbckpt.timeline.checkpoint_records import checkpoint_record
from nbckpt.timeline.records import head_record, session_record
from nbckpt.timeline.timeline import Timeline

VARIABLES = 12


def fill(path: Path, count: int, *, durably: bool = False) -> list[str]:
    """Ids of `count` checkpoints in one line, oldest first, each with a changed variable or two.

    Parameters
    ----------
    durably
        Sync each, so that each has a batch of its own, as in a notebook. Takes milliseconds each.
    """
    store = Store.open(path)
    timeline = Timeline()
    store.append([session_record("a" * 12, "")], durable=False)
    ids: list[str] = []
    for i in range(count):
        checkpoint = _made(store, timeline, i, ids[-1] if ids else None)
        records = [checkpoint_record(checkpoint), head_record("main", checkpoint, None)]
        event = {"kind": "event", "event": "ran", "at": checkpoint.created_at, "name": "cell"}
        written = store.append([*records, event], durable=durably)
        if durably:
            written.result()
        for record in records:
            timeline.apply(record)
        ids.append(checkpoint.id)
    store.append([]).result()
    store.close()
    return ids


def _made(store: Store, timeline: Timeline, i: int, parent: str | None) -> Checkpoint:
    changed = [_variable(store, name, i) for name in (f"x{i % VARIABLES}", "total")]
    return Checkpoint(
        id=digest_of(str(i))[:20],
        parent=parent,
        name=f"cell-{digest_of(str(i))[-8:]}",
        branch="main",
        session="a" * 12,
        notebook="",
        created_at=1_700_000_000.0 + i,
        duration_s=0.01,
        cell=Cell(f"x{i % VARIABLES} = step({i})\ntotal += x{i % VARIABLES}", i + 1),
        key=Key(digest_of(f"code {i}"), {"total": digest_of(f"total {i}")}),
        changed={v.name: v for v in changed},
        bound=tuple(v.name for v in changed),
        inherited=timeline.inherited(parent),
    )


def _variable(store: Store, name: str, i: int) -> Variable:
    parts = encode({name: (name, i)}, Scope({}), with_shares=False).parts
    blob, size = store.put_blob(parts), sum(memoryview(part).nbytes for part in parts)
    return Variable(name, blob, blob, "tuple", size, "2", repr((name, i)), (name,))


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]), durably=True)
