"""What pages beside a notebook are answered, by real kernels; how they come and go."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from nbckpt.jupyter.comms import EVENTS, PROTOCOL
from nbckpt.jupyter.page_writes import Written, written
from nbckpt.version import __version__
from tests.jupyter.sidebar import Page
from tests.kernels import Kernel

# -- coming and going


@pytest.mark.slow
def test_loading_announces_itself_each_time_and_unloading_too(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        page = Page(kernel)
        kernel.run("%load_ext nbckpt")
        page.until(lambda: page.opened)
        kernel.run("%load_ext nbckpt")
        page.until(lambda: len(page.opened) == 2 and page.closed)
        answer = page.write("announce")
        page.until(lambda: len(page.opened) == 3)
        page.hello()
        kernel.run("%unload_ext nbckpt")
        page.until(lambda: page.named("closed"))
        refused, unwritten = page.ask("hello"), page.write("rewind", ref="a")
        kernel.run("%load_ext nbckpt")
        page.until(lambda: len(page.opened) == 4)

        first, second, third, fourth = page.opened
        assert first["target_name"] == "nbckpt"
        assert first["comm_id"].startswith(EVENTS)
        assert first["data"] == {"version": __version__, "protocol": PROTOCOL}
        assert page.closed == [c["comm_id"] for c in (first, second, third)]
        assert answer == {"ok": True, "result": {"comm_id": third["comm_id"]}}
        assert (refused["ok"], unwritten["ok"]) == (False, False)
        assert "`%load_ext nbckpt`" in refused["error"]
        assert "`%load_ext nbckpt`" in unwritten["error"]
        assert page.hello()["rows"] == []
        assert fourth["comm_id"] not in page.closed
        page.close()


@pytest.mark.slow
def test_a_page_is_answered_while_the_cell_that_loads_it_still_runs(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        page = Page(kernel)
        request = kernel.send("%load_ext nbckpt\nimport time\ntime.sleep(2)", "first")
        page.until(lambda: page.opened)
        page.hello()
        page.until(lambda: page.marks.get("first", {}).get("state") == "running")
        busy = page.result("hello")["status"]["busy"]
        kernel.collect(request)
        page.until(lambda: page.marks == {})

        assert (busy["name"], busy["cell_id"]) == ("%load_ext nbckpt", "first")
        assert page.result("hello")["status"]["busy"] is None
        page.close()


@pytest.mark.slow
def test_a_write_can_be_interrupted(kernel: Kernel, page: Page) -> None:
    slow = "import time\nclass Slow:\n    def __reduce__(self): time.sleep(20); return Slow, ()"
    kernel.run(f"{slow}\nslow = Slow()")
    request = page.send_execute("", "written('checkpoint', '{}')")
    page.until(lambda: (page.result("hello")["status"]["busy"] or {}).get("name") == "checkpoint")

    os.kill(kernel.pid, signal.SIGINT)
    reply = page.reply(request)
    kernel.run("del slow, Slow")

    told = reply["user_expressions"]["nbckpt"]["data"]["application/json"]
    assert told == {
        "ok": False,
        "error": "checkpoint was interrupted",
        "kind": "KeyboardInterrupt",
    }


@pytest.mark.slow
def test_a_silent_request_loads_it_as_well(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        page = Page(kernel)

        reply = page.execute("%load_ext nbckpt", "written('announce', '{}')")

        told = reply["user_expressions"]["nbckpt"]["data"]["application/json"]
        page.until(lambda: len(page.opened) == 2)
        assert told["result"]["comm_id"] == page.opened[-1]["comm_id"]
        assert page.hello()["status"]["busy"] is None
        page.close()


def test_without_a_kernel_there_are_no_comms(shell: Any) -> None:
    extension = shell._nbckpt_extension

    assert extension.comms.announce() is None
    extension.comms.detach()


def test_a_hello_tells_all_that_events_tell(page: Page) -> None:
    told = page.result("hello")

    status = told["status"]
    assert (told["version"], told["protocol"]) == (__version__, PROTOCOL)
    assert {"rows", "older", "revision", "marks", "approvals", "notebook"} <= told.keys()
    assert status["branch"] == "main"
    assert {"size_bytes", "paid_usd", "saved_usd", "saved_s"} <= status.keys()


# -- answers


def test_garbage_is_answered_with_one_sentence(page: Page) -> None:
    garbage = [None, 7, "text", [], ["details"], {"id": "x"}, {"op": "details", "args": [1]}]
    answers = []
    for data in garbage:
        page._answers.clear()
        page.send(data)
        page.until(lambda: page._answers)
        answers += page._answers.values()
    asked = [
        page.ask("details"),
        page.ask("details", ref=5),
        page.ask("details", ref="nowhere"),
        page.ask("diff", a="x"),
        page.ask("eval", code="1"),
        page.ask("resume_plan", cells="all", branch={}),
        page.ask("rerun_plan", ref="x", cells=[{}]),
        page.ask("fork", ref="a", values=[1]),
        page.ask("marks", cells=["a"], texts=[{}], notebook=[7]),
        page.ask("marks", cells=7),
    ]

    assert len(answers) == len(garbage)
    for answer in [*answers, *asked[:-2]]:
        assert answer["ok"] is False
        assert "\n" not in answer["error"]
        assert "Traceback" not in answer["error"]
        assert "defect" not in answer["error"], answer
    assert all(answer["ok"] for answer in asked[-2:])


def test_what_changes_variables_is_not_done_over_a_comm(kernel: Kernel, page: Page) -> None:
    kernel.run("%%checkpoint one\na = 1", "one")
    kernel.run("a = 2", "two")

    answer = page.ask("rewind", ref="one")

    assert answer["ok"] is False
    assert "execute_request" in answer["error"]
    assert kernel.value("a") == "2"


@pytest.mark.slow
def test_a_write_has_its_turn_and_its_answer(kernel: Kernel, page: Page) -> None:
    kernel.run("%%checkpoint w1\nb = 1", "w1")
    kernel.run("%%checkpoint w2\nb = 2", "w2")
    slow = kernel.send("import time\ntime.sleep(1)\nb = 3", "slow")
    page.until(lambda: page.marks.get("slow", {}).get("state") == "running")

    answer = page.write("rewind", ref="w1")
    kernel.collect(slow)

    assert answer["ok"], answer
    assert answer["result"]["text"].startswith("rewound to 'w1'")
    assert kernel.value("b") == "1"
    assert "written" not in kernel.value("[n for n in dir() if not n.startswith('_')]")
    assert page.write("rewind", ref="no such") == {
        "ok": False,
        "error": "no checkpoint 'no such' on branch 'main'; `%nbckpt log` lists them",
        "kind": "CheckpointNotFoundError",
    }
    assert "is nothing that changes a notebook" in page.write("details", ref="w1")["error"]
    assert page.evaluate("written('rewind', '[')")["ok"] is False


@pytest.mark.slow
def test_a_write_behind_a_cell_that_fails_is_aborted(kernel: Kernel, page: Page) -> None:
    kernel.run("%%checkpoint ab\nc = 1", "ab")
    kernel.run("c = 2")
    slow = kernel.send("import time\ntime.sleep(1.5)\n1 / 0", "bad")
    page.until(lambda: page.marks.get("bad", {}).get("state") == "running")

    reply = page.reply(page.send_execute("", "written('rewind', '{\"ref\": \"ab\"}')"))

    assert reply["status"] == "aborted"
    assert not kernel.collect(slow).ok
    assert kernel.value("c") == "2"


def test_pages_checkpoint_and_resume_by_writes(kernel: Kernel, page: Page) -> None:
    kernel.run("d = 5")

    made = page.write("checkpoint", name="by-page", tags=["best"], note="why")
    unnamed = page.write("checkpoint", name=None)
    kernel.run("d = 6")
    resumed, again = page.write("resume"), page.write("resume", once=True)

    row = page.result("details", ref=made["result"]["checkpoint"])["row"]
    assert (row["name"], row["tags"], row["note"]) == ("by-page", ["best"], "why")
    assert unnamed["result"]["text"] == "kept as 'checkpoint'"
    assert resumed["result"]["checkpoint"] == unnamed["result"]["checkpoint"]
    assert kernel.value("d") == "5"
    assert "error" in again["result"]


def test_an_answer_shows_itself_in_a_word() -> None:
    assert repr(Written({"ok": True})) == "<done>"
    assert repr(Written({"ok": False, "error": "no"})) == "<not done: no>"


def test_a_write_where_nothing_is_loaded_is_refused() -> None:
    assert "nbckpt is not loaded" in str(written("rewind", "{}"))
