"""What pages beside a notebook are told, and answered while cells run, by real kernels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from nbckpt.testing import Provider
from tests.jupyter.sidebar import Page
from tests.kernels import Kernel, KernelDiedError


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


# -- events


@pytest.mark.slow
def test_events_lead_from_one_list_to_the_next(kernel: Kernel, page: Page) -> None:
    hello = page.result("hello")
    page.events.clear()
    kernel.run("%nbckpt auto on")
    for n in range(4):
        kernel.run(f"e = {n}", f"e{n}")
    page.write("rewind", ref="~2")
    page.write("tag", ref="~1", tag="here")

    def is_up_to_date() -> bool:
        now = page.result("hello")
        return rows_after(hello, page.events) == now["rows"]

    page.until(is_up_to_date)
    known = len(page.named("changed"))
    kernel.run("e = 'other'", "e9")
    kernel.run("%nbckpt auto off")
    page.until(is_up_to_date)

    count = len(page.result("hello")["rows"])
    told = page.named("changed")[known:]
    assert told
    assert all(len(event["rows"]) < count for event in told)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        ("displays", {"ref": "seen"}),
        ("resume_plan", {"cells": cells}),
        ("rerun_plan", {"ref": "seen", "cells": cells}),
    ]:
        began = time.monotonic()
        answer = page.ask(op, **args)
        assert answer["ok"], answer
        took_s.append(time.monotonic() - began)
    busy = page.result("hello")["status"]["busy"]
    kernel.collect(request)

    assert busy["cell_id"] == "busy", "the cell had ended before all was answered"
    assert busy["name"] == "import time"
    assert sorted(took_s)[3] < 0.5
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


@pytest.mark.slow
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


@pytest.mark.slow
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
