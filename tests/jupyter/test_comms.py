"""What pages beside a notebook are told and answered, by real kernels, also while cells run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbckpt.jupyter.comms import EVENTS, PROTOCOL, Written, written
from nbckpt.testing import Provider
from nbckpt.version import __version__
from tests.jupyter.sidebar import Page
from tests.kernels import Kernel, KernelDiedError


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all that leaves it as it was."""
    with Kernel(tmp_path_factory.mktemp("comms")) as kernel:
        yield kernel


@pytest.fixture
def page(kernel: Kernel) -> Iterator[Page]:
    """A page that has said hello."""
    page = Page(kernel)
    kernel.run("%load_ext nbckpt", "load")
    page.hello()
    yield page
    page.close()


def rows_after(hello: dict[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a page that heard these events since its hello."""
    revision, rows = hello["revision"], {row["id"]: row for row in hello["rows"]}
    for event in events:
        if event["event"] == "rows":
            revision, rows = event["revision"], {row["id"]: row for row in event["rows"]}
        if event["event"] == "changed" and event["since"] >= revision:
            assert event["since"] == revision
            revision = event["revision"]
            for gone in event["gone"]:
                del rows[gone]
            rows.update((row["id"], row) for row in event["rows"])
    return list(rows.values())


# -- coming and going


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
        page.ask("marks", cells=7),
    ]

    assert len(answers) == len(garbage)
    for answer in [*answers, *asked[:-1]]:
        assert answer["ok"] is False
        assert "\n" not in answer["error"]
        assert "Traceback" not in answer["error"]
        assert "defect" not in answer["error"], answer
    assert asked[-1]["ok"]


def test_what_changes_variables_is_not_done_over_a_comm(kernel: Kernel, page: Page) -> None:
    kernel.run("%%checkpoint one\na = 1", "one")
    kernel.run("a = 2", "two")

    answer = page.ask("rewind", ref="one")

    assert answer["ok"] is False
    assert "execute_request" in answer["error"]
    assert kernel.value("a") == "2"


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
        "error": "no checkpoint 'no such' on branch 'main'; `nbckpt log` lists them",
        "kind": "CheckpointNotFoundError",
    }
    assert "is nothing that changes a notebook" in page.write("details", ref="w1")["error"]
    assert page.evaluate("written('rewind', '[')")["ok"] is False


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


# -- events


def test_events_lead_from_one_list_to_the_next(kernel: Kernel, page: Page) -> None:
    hello = page.result("hello")
    page.events.clear()
    kernel.run("%nbckpt auto on")
    for n in range(4):
        kernel.run(f"e = {n}", f"e{n}")
    page.write("rewind", ref="~2")
    page.write("tag", ref="~1", tag="here")
    kernel.run("e = 'other'", "e9")
    kernel.run("%nbckpt auto off")

    def is_up_to_date() -> bool:
        now = page.result("hello")
        return rows_after(hello, page.events) == now["rows"]

    page.until(is_up_to_date)

    count = len(page.result("hello")["rows"])
    assert page.named("changed")
    assert all(len(event["rows"]) < count for event in page.named("changed"))


def test_all_pages_are_told_and_one_that_goes_takes_nothing_along(
    kernel: Kernel, page: Page
) -> None:
    other = Page(kernel)
    other.hello()
    kernel.run("%%checkpoint both\nf = 1", "f1")
    for each in (page, other):
        each.until(lambda each=each: each.marks.get("f1", {}).get("state") == "checkpointed")
    other.close()
    page.events.clear()

    kernel.run("%%checkpoint one-left\nf = 2", "f2")

    page.until(lambda: page.marks.get("f2", {}).get("state") == "checkpointed")
    assert page.result("details", ref="one-left")["source"].endswith("f = 2")


def test_nothing_is_told_again_that_is_as_it_was(kernel: Kernel, page: Page) -> None:
    kernel.run("pass")
    time.sleep(0.6)
    while page.pump():
        pass
    page.events.clear()

    kernel.run("pass")
    time.sleep(0.6)
    while page.pump():
        pass

    assert page.events == []


# -- while a cell runs

BUSY = {
    "it sleeps": "import time\ntime.sleep(2.5)",
    "it computes": "import time\nt = time.time()\nwhile time.time() - t < 2.5: sum(range(5000))",
}


@pytest.mark.parametrize("code", BUSY.values(), ids=BUSY)
def test_requests_are_answered_while_a_cell_runs(kernel: Kernel, page: Page, code: str) -> None:
    kernel.run("%%checkpoint seen\ng = 1", "seen")
    cells = [{"cell_id": "seen", "source": "%%checkpoint seen\ng = 1", "kind": "code"}]
    request = kernel.send(code, "busy")
    page.until(lambda: page.marks.get("busy", {}).get("state") == "running")

    took_s = []
    for op, args in [
        ("hello", {}),
        ("details", {"ref": "seen"}),
        ("page", {"ref": "seen"}),
        ("resume_plan", {"cells": cells}),
        ("rerun_plan", {"ref": "seen", "cells": cells}),
    ]:
        began = time.monotonic()
        assert page.ask(op, **args)["ok"]
        took_s.append(time.monotonic() - began)
    busy = page.result("hello")["status"]["busy"]
    kernel.collect(request)

    assert busy["cell_id"] == "busy", "the cell had ended before all was answered"
    assert busy["name"] == "import time"
    assert sorted(took_s)[2] < 0.5
    page.until(lambda: "busy" not in page.marks)


def test_a_page_without_a_subshell_is_answered_when_the_cell_has_ended(kernel: Kernel) -> None:
    kernel.run("%load_ext nbckpt")
    page = Page(kernel, has_subshell=False)
    page.hello()

    request = kernel.send("import time\ntime.sleep(0.5)")
    answer = page.ask("hello")
    kernel.collect(request)

    assert answer["ok"]
    page.close()


def test_a_running_step_tells_its_items_calls_and_money(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Provider() as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        with Kernel(tmp_path) as kernel:
            page = Page(kernel)
            kernel.run("%load_ext nbckpt\n%nbckpt config prices m=0/100000")
            page.hello()
            request = kernel.send(
                "import httpx, nbckpt, os, time\n"
                "with nbckpt.checkpoint('ask') as step:\n"
                "    for n in step.track(range(6)):\n"
                "        said = {'model': 'm', 'messages': [{'role': 'user', 'content': str(n)}]}\n"
                "        url = os.environ['OPENAI_BASE_URL'] + '/chat/completions'\n"
                "        httpx.post(url, json=said)\n"
                "        time.sleep(0.4)\n",
                "ask",
            )

            def busy() -> dict[str, Any]:
                told = [e["status"]["busy"] for e in page.events if "status" in e]
                return next((b for b in reversed(told) if b), {})

            page.until(lambda: (busy().get("cost_usd") or 0) > 0 and (busy().get("done") or 0) > 0)
            told = busy()
            assert kernel.collect(request).ok
            page.until(lambda: page.result("hello")["status"]["paid_usd"])

            assert (told["name"], told["cell_id"], told["total"]) == ("ask", "ask", 6)
            assert told["calls"] >= 1
            assert told["began_at"] < time.time()
            paid = page.result("hello")["status"]["paid_usd"]
            assert 0 < told["cost_usd"] <= paid
            page.close()


def test_a_kernel_that_was_killed_in_a_loop_is_resumed_with_one_write(tmp_path: Path) -> None:
    done = tmp_path / "done.txt"
    note = f"open({str(done)!r}, 'a').write"
    sources = {
        "load": f"%%checkpoint load\n{note}('load ')\nx = 2",
        "loop": (
            f"import nbckpt, time\nout = []\nwith nbckpt.checkpoint('loop') as step:\n"
            f"    for n in step.track(range(8)):\n        {note}(f'{{n}} ')\n"
            f"        out.append(n * x)\n        time.sleep(0.15)"
        ),
        "last": f"%%checkpoint last\n{note}('last')\ny = sum(out)",
    }
    cells = [{"cell_id": i, "source": s, "kind": "code"} for i, s in sources.items()]
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run(sources["load"], "load")
        request = kernel.send(sources["loop"], "loop")
        while not done.exists() or " 5 " not in done.read_text():
            time.sleep(0.02)
        kernel.kill()
        with pytest.raises(KernelDiedError):
            kernel.collect(request)

    with Kernel(tmp_path) as kernel:
        page = Page(kernel)
        page.execute("%load_ext nbckpt", "written('announce', '{}')")
        page.hello()
        plan = page.result("resume_plan", cells=cells)
        answer = page.write("resume", once=True)
        page.until(lambda: page.marks.get("load", {}).get("state") == "restored")
        for cell in plan["cells"]:
            if cell["does"] == "runs":
                assert kernel.run(sources[cell["cell_id"]], cell["cell_id"]).ok

        assert answer["ok"]
        assert {c["cell_id"]: c["does"] for c in plan["cells"]} == {
            "load": "restored",
            "loop": "runs",
            "last": "runs",
        }
        assert "of 8: it goes on there" in plan["cells"][1]["why"]
        assert kernel.value("y") == "56"
        items = done.read_text().split()
        assert items[0] == "load"
        assert items.count("load") == items.count("last") == 1
        assert items.count("0") == 1  # the last few may run again where the disk is slow
        page.close()


def test_an_answer_shows_itself_in_a_word() -> None:
    assert repr(Written({"ok": True})) == "<done>"
    assert repr(Written({"ok": False, "error": "no"})) == "<not done: no>"


def test_a_write_where_nothing_is_loaded_is_refused() -> None:
    assert "nbckpt is not loaded" in str(written("rewind", "{}"))
