"""Make a store as somebody else does who means no good: `python -m tests.session.trust.stranger FOLDER`.

Whatever of it is built or run leaves a file in ``FOLDER/marks``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

CONTROLS = "evil\x1b[2J\x07\u202e"
SETUP = """
import httpx, os, pathlib, nbckpt
import numpy as np, pandas as pd
from IPython.display import HTML, Javascript, display
MARKS = {marks!r}

def touch(name):
    pathlib.Path(MARKS, name).touch()

def ask(prompt):
    said = {{"model": "m", "messages": [{{"role": "user", "content": prompt}}]}}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=said)
    return answer.json()["choices"][0]["message"]["content"]

class Built:
    def __init__(self, name):
        self.name = name
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(MARKS, self.name),)
"""
PLAIN = """%%checkpoint plain
text = "of somebody"
numbers = np.arange(50_000, dtype="f8")
view = numbers[10:20]
nested = {"a": [1, 2.5, None], "b": (text, {"c"})}
frame = pd.DataFrame({"n": [1, 2, 3], "s": ["x", "y", "z"]})
"""
CODE = """%%checkpoint code
import sqlite3, warnings
os.environ["STRANGER"] = "was here"
warnings.filterwarnings("ignore", message="a stranger's")
built = Built("built")
both = [text, Built("inside")]

def twice(n):
    touch("called")
    return 2 * n

class Shape:
    sides = 4

connection = sqlite3.connect(MARKS + "/recipe")
"""
SHOWN = """%%checkpoint shown
display(HTML("<script>window.stolen = 1</script><img src=x onerror='window.stolen = 2'>"))
display(Javascript("window.stolen = 3"))
print("printed \\x1b[2J", "<script>window.stolen = 4</script>")
shown = 1
"""
STEPS = """%%checkpoint steps
@nbckpt.step
def work(n):
    return Built(f"step-{n}")

single = work(1) is not None
many = [one is not None for one in nbckpt.map(work, [2, 3])]
answer = ask("hello")
agreed = bool(nbckpt.approve("delete all?"))
"""


def run(shell: Any, source: str) -> None:
    """Run a cell, which has to end well."""
    ran = shell.run_cell(source, store_history=True)
    ran.raise_error()


def main(folder: Path) -> None:
    """The store ``FOLDER/.nbckpt``, and what the working directory of its notebook holds."""
    marks = folder / "marks"
    marks.mkdir(parents=True)
    config = Config()
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    shell: Any = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "nbckpt")
    from nbckpt.steps import current_session

    run(shell, SETUP.format(marks=str(marks)))
    for cell in (PLAIN, CODE, SHOWN):
        run(shell, cell)
    _answered(shell, current_session.session())
    run(shell, "%fork plain side\nstray = Built('stray')\n%checkpoint aside")
    run(shell, "%switch main")
    session = current_session.session()
    session.sql("from variable('frame', 'plain')").fetchall()  # which makes Parquet of it
    session.wait()
    _forge(session)
    shell.run_line_magic("unload_ext", "nbckpt")


def _answered(shell: Any, session: Any) -> None:
    """Run the cell that asks, with somebody who agrees meanwhile."""
    import threading

    from nbckpt.session.session import Session
    from nbckpt.steps.approvals.desk import desk_of
    from nbckpt.storage.store import Store

    def agree() -> None:
        store = Store.open(session.store.path)
        desk = desk_of(own := Session(store, {}))
        deadline = time.monotonic() + 300  # on a busy machine the cell asks late
        while time.monotonic() < deadline:
            desk.refresh()
            if waiting := desk.waiting():
                desk.answer(waiting[0].id, "approve", "", through="command")
                own.wait()
                break
            time.sleep(0.02)
        store.close()

    person = threading.Thread(target=agree)
    person.start()
    run(shell, STEPS)
    person.join()


def _forge(session: Any) -> None:
    """Records whose names lead out of the store, or steer a terminal."""
    head = session.position.head
    from nbckpt.timeline.checkpoint_records import checkpoint_record

    outside = {**checkpoint_record(head), "id": "f" * 16, "name": "../../../outside"}
    outside["created_at"] = head.created_at - 1
    value = session.timeline.manifest(head.id)["frame"].value
    session.writes.append(
        [
            outside,
            {"kind": "head", "branch": CONTROLS, "checkpoint": head.id, "at": time.time()},
            {"kind": "note", "checkpoint": head.id, "note": CONTROLS, "at": time.time()},
            {"kind": "tag", "checkpoint": head.id, "tag": "../up", "at": time.time()},
            {"kind": "batch", "pack": "../../victim", "frame": 0},
            {
                "kind": "table", "value": value, "name": "frame", "at": time.time(),
                "file": "../../../victim.parquet", "exact": True,
            },
            {
                "kind": "prune", "pruned": [], "at": time.time(),
                "replaces": ["../../victim"], "condemned": ["../../victim"],
                "tables": ["../../victim.parquet"],
            },
        ]
    ).result()  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
