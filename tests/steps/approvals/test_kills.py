"""A script that asks, killed at random instants: the question is never asked twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nbckpt.session.session import Session
from nbckpt.steps.approvals.desk import desk_of
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.running import environment, noted

SCRIPT = """
import nbckpt
session = nbckpt.open(".nbckpt", globals(), notebook="work")
with nbckpt.checkpoint("clean") as step:
    if step.todo:
        print("asks", flush=True)
        ok = bool(nbckpt.approve("delete?", ["a", "b"]))
        with open("log", "a") as file:
            file.write(f"{ok}\\n")
print("end", ok)
"""


def begin(folder: Path) -> subprocess.Popen[str]:
    """The script, when it is about to ask, or has ended."""
    folder.mkdir(exist_ok=True)
    (folder / "script.py").write_text(SCRIPT)
    script = subprocess.Popen(
        [sys.executable, "script.py"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert script.stdout is not None
    script.stdout.readline()
    return script


@pytest.mark.long
def test_a_question_killed_at_random_instants_is_asked_once_and_answered_once(
    tmp_path: Path,
) -> None:
    draw = random.Random(7)
    began, script = time.monotonic(), begin(tmp_path / "measured")
    assert script.stderr is not None
    assert "waits for an answer" in script.stderr.readline()
    until_asked_s = time.monotonic() - began
    script.kill()
    script.communicate()
    for _ in range(12):
        script = begin(tmp_path)
        time.sleep(draw.uniform(0, 1.2 * until_asked_s))
        script.send_signal(signal.SIGKILL)
        script.communicate()
    store = Store.open(tmp_path / ".nbckpt")
    desk = desk_of(session := Session(store, {}))
    (question,) = desk.all()

    desk.answer(question.id, "approve", through="command")
    session.wait()
    for _ in range(6):
        script = begin(tmp_path)
        time.sleep(draw.uniform(0, until_asked_s))
        script.send_signal(signal.SIGKILL)
        script.communicate()
    last = begin(tmp_path)
    out, _ = last.communicate(timeout=30)

    assert set(noted(tmp_path)) == {"True"}
    assert out.endswith("end True\n") or out == ""
    assert len(desk.all()) == 1
    assert check(store.path).ok
    store.close()
