"""Cells that wait for a person: real kernels, buttons over a comm, and kill -9."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.session.session import Session
from nbckpt.steps.approvals.desk import Desk, desk_of
from nbckpt.storage.store import Store
from nbckpt.timeline.approvals import Question
from tests.jupyter.fronts import Front
from tests.kernels import Kernel, KernelDiedError
from tests.running import NOTE, environment, noted, texts_of, write_notebook

LOAD = "%load_ext nbckpt\nimport nbckpt, time\n" + NOTE
CELL = """%%checkpoint clean
note("began")
kept = summarize("the files")
ok = nbckpt.approve("delete 2 files?", ["a.csv", "<b>b</b>.csv"])
note("went on")
print(bool(ok), ok.text)
"""
STEP = """
@nbckpt.step
def summarize(text):
    note("summarized")
    return text.upper()
"""


def desk_at(folder: Path) -> Desk:
    """The questions of a store, as another process sees them."""
    session = Session(Store.open(folder / ".nbckpt"), {})
    desk = desk_of(session)
    desk.held = session  # type: ignore[attr-defined]  # nobody else holds it
    return desk


def waiting(folder: Path) -> Question:
    """The question that waits, when it is there."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (folder / ".nbckpt" / "format.json").exists():
            found = [q for q in desk_at(folder).all() if q.state == "waiting"]
            if found:
                return found[0]
        time.sleep(0.05)
    message = "no question waits"
    raise TimeoutError(message)


def say(folder: Path, *words: str) -> str:
    """Answer from a process of its own; what it printed."""
    command = [sys.executable, "-m", "nbckpt", "answer", *words, "--store", folder / ".nbckpt"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def begin(kernel: Kernel) -> None:
    for source in (LOAD, STEP):
        ran = kernel.run(source)
        assert ran.ok, ran.error


def is_drawn(front: Front) -> bool:
    """Whether the buttons are to be drawn: before that no page can say anything."""
    displays = [m["content"] for m in front.published if m["msg_type"] == "display_data"]
    return any("approval" in content["metadata"].get("nbckpt", {}) for content in displays)


def test_a_cell_that_waits_is_answered_by_its_buttons(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        front = Front(kernel)
        front.run(LOAD)
        front.run(STEP)
        front.use_subshell()
        request = kernel.send(CELL, "c1")
        front.wait(lambda: is_drawn(front))
        front.send({"method": "custom", "content": {"op": "shown"}})
        front.send({"method": "custom", "content": {"op": "answer", "verdict": "perhaps"}})
        front.wait(lambda: front.errors)
        waits = front.state
        front.send(
            {"method": "custom", "content": {"op": "answer", "verdict": "refuse", "text": "no"}}
        )
        front.finish(request)

        shown = [m["content"] for m in front.published if "display_data" in m["msg_type"]]

    assert (waits["question"], waits["preview"]) == ("delete 2 files?", "a.csv\n<b>b</b>.csv")
    assert front.errors == ["'perhaps' is no answer: approve, refuse or withdraw"]
    assert "False no" in front.text()
    first, last = shown[-2], shown[-1]
    assert first["transient"] == last["transient"]
    assert "application/vnd.jupyter.widget-view+json" in first["data"]
    assert "&lt;b&gt;" in first["data"]["text/html"]
    assert last["data"]["text/plain"].startswith("refused by")
    assert "(notebook), “no”" in last["data"]["text/plain"]


@pytest.mark.slow
def test_a_message_that_is_sent_again_counts_once(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        front = Front(kernel)
        front.run(LOAD)
        front.run(STEP)
        front.use_subshell()
        subshell, front.subshell = front.subshell, None  # the page does not know it yet
        request = kernel.send(CELL, "c1")
        front.wait(lambda: is_drawn(front))
        answers = {"op": "answer", "verdict": "refuse", "text": "no", "number": 2}
        for content in ({"op": "shown", "number": 1}, answers):  # they wait for the cell's end
            front.send({"method": "custom", "content": content})
        front.subshell = subshell
        perhaps = {"op": "answer", "verdict": "perhaps", "number": 3}
        for content in ({"op": "shown", "number": 1}, perhaps, perhaps, answers):
            front.send({"method": "custom", "content": content})
        front.finish(request)
        front.run("print('goes on')")

    assert front.errors == ["'perhaps' is no answer: approve, refuse or withdraw"]
    assert "False no" in front.text()
    assert front.text().endswith("goes on\n")
    assert front.came[:4] == [1, 3, 3, 2]


@pytest.mark.slow
@pytest.mark.parametrize("has_subshell", [True, False])
def test_an_async_cell_is_answered_by_its_buttons_and_its_loop_goes_on(
    tmp_path: Path, has_subshell: bool
) -> None:
    with Kernel(tmp_path) as kernel:
        front = Front(kernel)
        front.run(LOAD)
        if has_subshell:
            front.use_subshell()
        request = kernel.send(
            "import asyncio\n"
            "async def tick():\n    while True:\n        ticks.append(1)\n"
            "        await asyncio.sleep(0.01)\n"
            "ticks = []\nticking = asyncio.create_task(tick())\n"
            "ok = await nbckpt.approve_async('delete?')\n"
            "print(bool(ok), ok.through, len(ticks) > 5)\nticking.cancel()"
        )
        front.wait(lambda: is_drawn(front))
        time.sleep(0.2)  # the loop's turn
        front.send({"method": "custom", "content": {"op": "answer", "verdict": "approve"}})
        front.finish(request)

    assert "True notebook True" in front.text()


@pytest.mark.slow
def test_a_killed_kernel_asks_the_same_question_and_an_answer_meanwhile_counts(
    tmp_path: Path,
) -> None:
    with Kernel(tmp_path) as kernel:
        begin(kernel)
        request = kernel.send(CELL, "c1")
        first = waiting(tmp_path)
        kernel.kill()
        with pytest.raises(KernelDiedError):
            kernel.collect(request)
    with Kernel(tmp_path) as kernel:
        begin(kernel)
        request = kernel.send(CELL, "c1")
        while waiting(tmp_path).session == first.session:
            time.sleep(0.05)
        again = waiting(tmp_path)
        kernel.kill()
        with pytest.raises(KernelDiedError):
            kernel.collect(request)
    said = say(tmp_path, first.id[:5], "approve", "go", "on")
    with Kernel(tmp_path) as kernel:
        begin(kernel)
        ran = kernel.run(CELL, "c1")
        restored = kernel.run(CELL, "c1")

    assert again.id == first.id
    assert said.startswith("approved by")
    assert ran.stdout == restored.stdout == "True go on\n"
    assert noted(tmp_path) == ["began", "summarized", "began", "began", "went on"]


@pytest.mark.slow
def test_a_cell_that_waits_sees_what_another_process_answers(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        begin(kernel)
        request = kernel.send(CELL, "c1")
        question = waiting(tmp_path)
        say(tmp_path, question.id, "approve")
        ran = kernel.collect(request)

    assert ran.stdout == "True \n"
    assert question.cell_id == "c1"
    assert question.step == "clean"


@pytest.mark.slow
def test_an_interrupted_cell_asks_the_same_question_again(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        begin(kernel)
        request = kernel.send(CELL, "c1")
        first = waiting(tmp_path)
        kernel._manager.interrupt_kernel()
        ran = kernel.collect(request)
        request = kernel.send(CELL, "c1")
        kernel.client.get_iopub_msg(timeout=10)
        say(tmp_path, first.id, "approve")
        second = kernel.collect(request)

    assert "KeyboardInterrupt" in ran.error
    assert second.stdout == "True \n"
    assert noted(tmp_path).count("went on") == 1


@pytest.mark.slow
def test_without_buttons_the_front_ends_own_input_asks(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        begin(kernel)
        kernel.run("import nbckpt.jupyter.asking\nnbckpt.jupyter.asking.GRACE_S = 0.1")
        kernel.client.allow_stdin = True
        request = kernel.client.execute(
            "ok = nbckpt.approve('delete?')\nprint(ok.text, ok.through)"
        )
        asked = kernel.client.get_stdin_msg(timeout=20)
        kernel.client.input("yes they are copies")
        ran = kernel.collect(request)

        request = kernel.client.execute("ok = nbckpt.approve('sure?')\nprint(ok.text, ok.through)")
        kernel.client.get_stdin_msg(timeout=20)
        say(tmp_path, waiting(tmp_path).id, "approve", "from", "afar")
        elsewhere = kernel.collect(request)

    assert asked["content"]["prompt"] == "delete? approve or refuse, and why: "
    assert ran.stdout == "they are copies prompt\n"
    assert elsewhere.stdout == "from afar command\n"


CELLS = {
    "open": "%load_ext nbckpt\nimport nbckpt",
    "tools": NOTE + STEP,
    "clean": CELL.partition("\n")[2],
    "after": "note('after')",
}


@pytest.fixture
def run_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("NBCKPT_STORE", raising=False)
    notebook = write_notebook(tmp_path / "work.ipynb", CELLS)

    def run(*options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "nbckpt", "run", notebook, *options],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


@pytest.mark.slow
def test_an_unattended_run_says_what_waits_and_goes_on_when_it_is_answered(
    tmp_path: Path, run_notebook: Any
) -> None:
    running = run_notebook()
    line = next(line for line in running.stderr if "waits for an answer" in line)
    command = line.rpartition(" · nbckpt ")[2].split()
    say(tmp_path, command[1], "approve")
    _, errors = running.communicate(timeout=60)

    assert "delete 2 files? (a.csv · <b>b</b>.csv)" in line
    assert running.returncode == 0, errors
    assert texts_of(tmp_path / "work.out.ipynb")["clean"].endswith("True \n")
    assert noted(tmp_path)[-1] == "after"


@pytest.mark.slow
@pytest.mark.long
def test_a_rerun_in_a_kernel_of_its_own_says_what_waits(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\nimport nbckpt")
        kernel.run("%%checkpoint load\nk = 1")
        request = kernel.send("%%checkpoint ask\nok = bool(nbckpt.approve('delete?', k))", "c1")
        say(tmp_path, waiting(tmp_path).id, "approve")
        kernel.collect(request)
    command = ["rerun", "load", "--fresh", "--store", tmp_path / ".nbckpt"]
    rerun = subprocess.Popen(
        [sys.executable, "-m", "nbckpt", *command],
        env=environment(),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert rerun.stderr is not None
    line = next(line for line in rerun.stderr if "waits for an answer" in line)
    say(tmp_path, line.rpartition("nbckpt answer ")[2].split()[0], "refuse")
    rerun.communicate(timeout=60)

    assert rerun.returncode == 0
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt\n%switch main-2")
        assert kernel.value("ok") == "False"


@pytest.mark.slow
@pytest.mark.long
def test_other_runners_of_notebooks_say_what_waits_too(tmp_path: Path, run_notebook: Any) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "execute", "work.ipynb"],
        cwd=tmp_path,
        env={**environment(), "IPYTHONDIR": str(tmp_path / ".ipython")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    line = next(line for line in running.stderr if "waits for an answer" in line)
    say(tmp_path, line.rpartition("nbckpt answer ")[2].split()[0], "approve")
    running.communicate(timeout=60)

    assert running.returncode == 0
    assert noted(tmp_path)[-1] == "after"


@pytest.mark.slow
def test_an_unattended_run_can_stop_where_nobody_answers_and_go_on_later(
    tmp_path: Path, run_notebook: Any
) -> None:
    running = run_notebook("--approvals", "fail", "--json")
    out, errors = running.communicate(timeout=60)
    stopped = json.loads(out)
    status = running.returncode
    say(tmp_path, waiting(tmp_path).id, "approve")
    again = run_notebook("--approvals", "fail")
    again.communicate(timeout=60)

    assert status == 4
    assert stopped["ending"] == "unanswered"
    assert "'delete 2 files?' was not answered, and nobody is waited for: `nbckpt answer" in errors
    assert again.returncode == 0
    assert noted(tmp_path) == ["began", "summarized", "began", "went on", "after"]
