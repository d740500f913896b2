"""Steps that must not be repeated: killed between intent and result, asked, answered."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nbckpt
from nbckpt.errors import UncertainError, UsageError
from nbckpt.steps.execution.step_state import StepState
from tests.running import environment
from tests.steps.calls.conftest import Notebook

SEND = """
@nbckpt.step(once=True)
def send(to, text="hello"):
    ran(f"send {to}")
    if to == "broken":
        raise OSError("cut")
    return f"sent to {to}"
"""

SCRIPT = """
import pathlib, sys, time
import nbckpt

folder = pathlib.Path(sys.argv[1])
session = nbckpt.open(folder / ".nbckpt", namespace=globals())

def ran(text):
    with open(folder / "log", "a") as file:
        file.write(f"{text}\\n")

@nbckpt.step(once=True)
def send(to, text="hello"):
    ran(f"send {to}")
    if (folder / "hang").exists():
        time.sleep(60)
    return f"sent to {to}"

MORE
print(send("a@b"), flush=True)
"""


def run(folder: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT.replace("MORE", more))
    command = [sys.executable, str(folder / "script.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)


def killed(folder: Path) -> None:
    """A process that is killed while the function runs, after its effect."""
    (folder / "hang").touch()
    (folder / "script.py").write_text(SCRIPT.replace("MORE", ""))
    command = [sys.executable, str(folder / "script.py"), str(folder)]
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    log = folder / "log"
    while not (log.exists() and log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (folder / "hang").unlink()


def sent(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines()


@pytest.mark.slow
def test_after_a_kill_it_stops_and_asks_and_a_result_answers(tmp_path: Path) -> None:
    killed(tmp_path)

    asked = run(tmp_path)
    assert asked.returncode == 1
    assert "UncertainError: step 'send' with (to='a@b', text='hello') began at" in asked.stderr
    assert "nbckpt.resolve('send', result=…)" in asked.stderr
    assert sent(tmp_path) == ["send a@b"]

    answered = run(tmp_path, "nbckpt.resolve('send', result='seen in the outbox')")
    assert answered.stdout == "seen in the outbox\n", answered.stderr
    assert run(tmp_path).stdout == "seen in the outbox\n"
    assert sent(tmp_path) == ["send a@b"]


@pytest.mark.slow
def test_after_a_kill_it_can_be_run_again_once(tmp_path: Path) -> None:
    killed(tmp_path)

    again = run(tmp_path, "nbckpt.resolve(send, retry=True)")

    assert again.stdout == "sent to a@b\n", again.stderr
    assert run(tmp_path).stdout == "sent to a@b\n"
    assert sent(tmp_path) == ["send a@b", "send a@b"]


def test_a_result_is_found_again_also_by_a_fresh_run(notebook: Notebook) -> None:
    notebook.cell(SEND)
    assert notebook.value("send('a')") == "sent to a"
    notebook.restart()
    notebook.session.state(StepState).pays_again = True
    notebook.ran

    notebook.cell(SEND)

    assert notebook.value("send('a')") == "sent to a"
    assert notebook.ran == []


def test_an_error_leaves_the_question_open(notebook: Notebook) -> None:
    notebook.cell(SEND)
    with pytest.raises(OSError, match="cut"):
        notebook.value("send('broken')")

    with pytest.raises(UncertainError, match=r"to='broken'.* raised OSError: cut at .*not known"):
        notebook.value("send('broken')")

    nbckpt.resolve(notebook.namespace["send"], result="by hand")
    assert notebook.value("send('broken')") == "by hand"
    assert notebook.ran == ["send broken"]


def test_changed_code_asks_instead_of_doing_it_again(notebook: Notebook) -> None:
    notebook.cell(SEND)
    notebook.value("send('a')")
    notebook.restart()
    notebook.ran

    notebook.cell(SEND.replace("sent to", "was sent to"))

    with pytest.raises(UncertainError, match=r"by other code .function 'send' changed"):
        notebook.value("send('a')")
    nbckpt.resolve("send", result="kept by hand")
    assert notebook.value("send('a')") == "kept by hand"
    assert notebook.ran == []


def test_of_several_open_calls_one_is_named(notebook: Notebook) -> None:
    notebook.cell(SEND.replace('to == "broken"', "True"))
    for to in ("x", "y"):
        with pytest.raises(OSError, match="cut"):
            notebook.value(f"send({to!r})")
    with pytest.raises(UncertainError, match="call='") as asked:
        notebook.value("send('y')")
    name = str(asked.value).partition("call='")[2][:8]

    with pytest.raises(UsageError, match="2 calls of step 'send' stand open, so name one"):
        nbckpt.resolve("send", retry=True)
    nbckpt.resolve("send", result="y is done", call=name)

    assert notebook.value("send('y')") == "y is done"
    with pytest.raises(UncertainError):
        notebook.value("send('x')")


def test_open_calls_are_told_apart_by_their_arguments_in_a_new_process_too(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_TOKEN", "Zq8vN3tK5mWx7Lp2")
    code = SEND.replace('to == "broken"', "True").replace(
        "text=", "password='hunter2hunter2', text="
    )
    calls = ("send('x', text='Zq8vN3tK5mWx7Lp2')", "send('y', text='sk-Qx7dK2mZp9LrT4vBn8Hy3Ws6')")
    notebook.cell(code)
    for call in calls:
        with pytest.raises(OSError, match="cut"):
            notebook.value(call)
    notebook.restart()
    notebook.cell(code)

    with pytest.raises(UsageError) as asked:
        nbckpt.resolve("send", retry=True)

    told = str(asked.value)
    assert told.count("password='***', text='") == 2
    assert "to='x'" in told
    assert "to='y'" in told
    assert not any(secret in told for secret in ("hunter2", "Zq8vN3", "Qx7dK2"))
    journals = b"".join(
        file.read_bytes() for file in (notebook.folder / ".nbckpt").rglob("*.jsonl")
    )
    assert not any(secret in journals for secret in (b"Zq8vN3", b"Qx7dK2"))


@pytest.mark.parametrize("which", ["all", "listed"])
def test_several_open_calls_are_answered_at_once(notebook: Notebook, which: str) -> None:
    notebook.cell(SEND.replace('to == "broken"', "True"))
    for to in ("x", "y"):
        with pytest.raises(OSError, match="cut"):
            notebook.value(f"send({to!r})")
    with pytest.raises(UsageError) as asked:
        nbckpt.resolve("send", retry=True)
    names = re.findall(r"call='(\w{8})'", str(asked.value))

    with pytest.raises(UsageError, match="call 'nope' of step 'send' has nothing to resolve"):
        nbckpt.resolve("send", result="done", call=[*names, "nope"])
    nbckpt.resolve("send", result="done", call="all" if which == "all" else names)

    assert [notebook.value(f"send({to!r})") for to in ("x", "y")] == ["done", "done"]


def test_a_result_that_cannot_be_kept_is_asked_for(notebook: Notebook) -> None:
    notebook.cell(
        "@nbckpt.step(once=True)\ndef act():\n    ran('act')\n    return iter(c for c in 'ab')"
    )
    with pytest.warns(RuntimeWarning, match="'act' is NOT kept: .*; the next equal call stops"):
        assert list(notebook.value("act()")) == ["a", "b"]
    notebook.restart()
    notebook.cell(
        "@nbckpt.step(once=True)\ndef act():\n    ran('act')\n    return iter(c for c in 'ab')"
    )

    with pytest.raises(UncertainError, match="its result could not be kept"):
        notebook.value("act()")

    assert notebook.ran == ["act"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("'send', retry=True", "nothing to resolve"),
        ("'send'", "either result=… or retry=True"),
        ("'send', result=1, retry=True", "either result=… or retry=True"),
        ("ran, retry=True", "'ran' is no step"),
    ],
)
def test_an_answer_that_means_nothing_is_refused(
    notebook: Notebook, arguments: str, told: str
) -> None:
    notebook.cell(SEND)

    with pytest.raises(UsageError, match=told):
        notebook.value(f"nbckpt.resolve({arguments})")


def test_coroutines_ask_too(notebook: Notebook) -> None:
    import asyncio

    notebook.cell(
        "@nbckpt.step(once=True)\nasync def act():\n    ran('act')\n    raise OSError('cut')"
    )
    with pytest.raises(OSError, match="cut"):
        asyncio.run(notebook.value("act()"))

    with pytest.raises(UncertainError):
        asyncio.run(notebook.value("act()"))

    assert notebook.ran == ["act"]
