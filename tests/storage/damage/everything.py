"""A small store with everything in it that a store can hold."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import numpy as np
import pandas as pd

from nbckpt.config.config_file import write_setting
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.pruning import prune
from nbckpt.storage.store import Store
from nbckpt.timeline.prune_retention import Retention
from nbckpt.timeline.recordings import recording_record
from tests.llm.test_records import ONE
from tests.notebooks import define

NOISE = np.random.default_rng(7)
CALLS = """
import nbckpt

@nbckpt.step
def double(x):
    return [x, x]

def square(x):
    return [x * x]

with nbckpt.checkpoint("squares", rerun=True) as step:
    if step.todo:
        out = step.map(square, range(4)), double(3), double("a")
"""


def make_everything(path: Path) -> None:
    """Several sessions, a prune between them, tables, calls, questions, and large and small values.

    Parameters
    ----------
    path
        Where nothing is yet.
    """
    _first(path)
    _pruned(path)
    _second(path)
    _third(path)


def _first(path: Path) -> None:
    session = Session(Store.open(path), {"__name__": "__main__"}, notebook="train")
    namespace = session.namespace
    current_session.begin(session)
    try:
        shared = [1, 2]
        namespace.update(n=1, text="a text " * 50, shared=shared, again={"the same": shared})
        session.checkpoint("load", tags=["kept"], sync=True)
        define(CALLS, namespace)
        session.workspace.ran(None)
        namespace["large"] = NOISE.random(80_000)
        session.checkpoint("large", sync=True)
        _ask(session, "large", b'{"answer": 1}')
        namespace["zeros"] = np.zeros(60_000)
        namespace["words"] = "many words that are much alike, " * 12_000
        session.checkpoint("zeros", sync=True)
        session.rewind("load")
        namespace["n"] = 2
        session.fork("load", "try", {"n": 5})
        session.checkpoint("tried", note="a note", sync=True)
    finally:
        current_session.end()
        session.store.close()


def _pruned(path: Path) -> None:
    store = Store.open(path)
    prune(store, Retention(keep_last=2))
    store.close()


def _second(path: Path) -> None:
    session = Session(Store.open(path), {"__name__": "__main__"}, notebook="train")
    namespace = session.namespace
    session.resume("main")
    namespace["frame"] = pd.DataFrame(
        {"x": range(4000), "y": NOISE.random(4000), "s": ["a"] * 4000}
    )
    session.checkpoint("frame", sync=True)
    session.sql("select count(*) from variable('frame')").fetchall()
    namespace["messages"] = [{"n": n, "text": f"message {n} " * (n % 40)} for n in range(500)]
    session.checkpoint("messages", sync=True)
    namespace["large"] = namespace.get("large", np.arange(80_000.0)).copy()
    namespace["large"][5] = 1.0
    session.checkpoint("larger", sync=True)
    _ask(session, "larger", b"data: {}\n\ndata: [DONE]\n\n" * 200)
    session.writes.append(
        [{"kind": "approval", "id": "q1", "at": time.time(), "state": "waiting", "question": "go?",
          "request": "a" * 64, "occurrence": 0, "step": "larger", "session": session.id,
          "branch": "main", "notebook": "train", "position": session.position.id}]
    )  # fmt: skip
    session.store.wait()
    session.store.close()


def _third(path: Path) -> None:
    """A session of another notebook, whose branch leans on nobody's."""
    session = Session(Store.open(path), {"__name__": "__main__"}, notebook="other")
    session.namespace.update(here=[1, 2, 3], small=b"x" * 3000)
    session.checkpoint("here", sync=True)
    session.namespace["here"] = [4]
    session.checkpoint("there", sync=True)
    session.tag("there", "good")
    write_setting(session.store, "patience_s", "2")
    write_setting(session.store, "retention_count", "50")
    session.store.wait()
    session.store.close()


def _ask(session: Session, step: str, body: bytes) -> None:
    """Keep a model call, as if a model had answered."""
    with session.store.writing():
        blob = session.store.put_blob([b'{"model": "m"}', body])
        asked = ONE._replace(
            id=secrets.token_hex(10), step=step, blob=blob, session=session.id, sizes=[len(body)],
            created_at=time.time(), position=session.position.id,
        )  # fmt: skip
        session.writes.append([recording_record(asked)])
