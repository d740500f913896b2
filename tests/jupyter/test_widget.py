"""The timeline widget's side in the kernel: real kernels, real comm messages."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jupyter.fronts import Front
from tests.kernels import Kernel

SUBSHELLS = pytest.mark.parametrize("subshell", [True, False], ids=["subshell", "main shell"])


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(tmp_path_factory.mktemp("widget")) as kernel:
        yield kernel


@pytest.fixture
def front(kernel: Kernel, tmp_path: Path) -> Iterator[Front]:
    """A widget on a new store with checkpoints `a` (x = 1) and `b` (x = 2)."""
    front = Front(kernel)
    store = tmp_path / ".nbckpt"
    front.run(f"%reset -f\nimport os; os.environ['NBCKPT_STORE'] = {str(store)!r}")
    front.run("%load_ext nbckpt")
    front.run("%%checkpoint a\nx = 1")
    front.run("%%checkpoint b\nx = 2")
    front.open(tmp_path)
    yield front
    front.run("%unload_ext nbckpt")


@pytest.mark.slow
def test_the_widget_opens_with_what_there_is(front: Front) -> None:
    assert front.names == ["a", "b"]
    assert front.state["older"] == 0
    assert front.state["status"]["position"] == front.id_of("b")
    assert front.state["status"]["branch"] == "main"
    assert front.state["_esm"].startswith("export default")


def test_where_no_widget_is_shown_the_log_stands(front: Front) -> None:
    (shown,) = [
        m
        for m in front.published
        if m["msg_type"] == "display_data"
        and "application/vnd.jupyter.widget-view+json" in m["content"]["data"]
    ]
    data = shown["content"]["data"]

    assert "main" in data["text/plain"]
    assert data["text/html"].startswith("<pre>")


@pytest.mark.slow
@SUBSHELLS
def test_a_rewind_changes_the_namespace(front: Front, subshell: bool) -> None:
    if subshell:
        front.use_subshell()

    result = front.call("rewind", ref="a")

    assert result["text"].startswith("rewound to 'a'")
    assert result["status"]["position"] == front.id_of("a")
    front.run("print('x is', x)")
    assert "x is 1" in front.text()
    front.wait(lambda: front.state["status"]["position"] == front.id_of("a"))


def test_a_write_happens_on_the_main_thread(front: Front) -> None:
    front.use_subshell()
    thread = "__import__('threading').current_thread().name"

    front.call("fork", ref="a", branch="where", values={"x": thread})

    front.run("print('it ran on', x)")
    assert "it ran on MainThread" in front.text()


@pytest.mark.slow
def test_reads_are_answered_while_a_cell_runs(front: Front, tmp_path: Path) -> None:
    front.use_subshell()
    may_end = tmp_path / "may-end"
    cell = front.begin(
        "import os, time\n"
        f"while not os.path.exists({str(may_end)!r}): time.sleep(0.02)\n"
        "print('slept')"
    )

    details = front.call("details", ref="a")

    assert "slept" not in front.text()
    assert details["source"] == "%%checkpoint a\nx = 1"
    assert ("x", "1") in [(v["name"], v["preview"]) for v in details["variables"]]
    # Pushes from the running cell's kernel do not send the next request to the main shell.
    assert front.call("details", ref="b")["row"]["name"] == "b"
    assert "slept" not in front.text()
    may_end.touch()
    front.finish(cell)
    front.wait(lambda: front.state["status"]["busy"] is None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "pause",
    ["import time\n{}: time.sleep(0.02)", "import asyncio\n{}: await asyncio.sleep(0.02)"],
    ids=["a cell", "a cell that awaits"],
)
@SUBSHELLS
def test_a_write_waits_for_the_running_cell(
    front: Front, tmp_path: Path, pause: str, subshell: bool
) -> None:
    if subshell:
        front.use_subshell()
    may_end = tmp_path / "may-end"
    body = pause.format(f"import os\nwhile not os.path.exists({str(may_end)!r})")
    cell = front.begin(f"{body}\nprint('x in the cell is', x)")

    request = front.ask("rewind", ref="a")
    if subshell:  # else it is not heard before the cell has ended
        front.wait(lambda: front.waits(request))
        assert "x in the cell" not in front.text()
    may_end.touch()
    answer = front.answer(request)
    front.finish(cell)
    front.run("print('then it is', x)")

    assert answer["ok"]
    assert "x in the cell is 2" in front.text()
    assert "then it is 1" in front.text()


@pytest.mark.slow
def test_a_checkpoint_of_a_running_cell_is_seen_before_it_ends(front: Front) -> None:
    cell = front.kernel.send(
        "import time, nbckpt\nwith nbckpt.checkpoint('early'):\n    y = 1\ntime.sleep(2)\nprint('end')"
    )

    front.wait(lambda: "early" in front.names)

    assert "end" not in front.text()
    front.finish(cell)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "    for i in step.track(range(8)):\n        time.sleep(0.2)\n        done.append(i)",
        "    done = step.map(lambda i: time.sleep(0.4), range(8), workers=2)",
    ],
    ids=["a loop", "a map"],
)
def test_the_loop_that_runs_is_told(front: Front, body: str) -> None:
    cell = front.kernel.send(
        f"import time, nbckpt\ndone = []\nwith nbckpt.checkpoint('loop') as step:\n{body}"
    )

    front.wait(lambda: (front.state["status"]["busy"] or {}).get("done"))

    busy = front.state["status"]["busy"]
    assert (busy["name"], busy["total"]) == ("loop", 8)
    front.finish(cell)
    front.wait(lambda: front.state["status"]["busy"] is None)


@pytest.mark.slow
def test_many_small_checkpoints_come_in_few_messages(front: Front) -> None:
    front.updates.clear()
    began = time.monotonic()

    front.run("import nbckpt\nfor i in range(60):\n    %checkpoint small{i}\n")
    front.wait(lambda: "small59" in front.names)

    took = time.monotonic() - began
    with_rows = [update for update in front.updates if "rows" in update]
    assert len(with_rows) <= took / 0.25 + 2
    assert front.names[-1] == "small59"


def test_an_error_is_one_sentence(front: Front) -> None:
    missing = front.answer(front.ask("details", ref="nowhere"))
    unknown = front.answer(front.ask("explode"))
    empty = front.answer(front.ask("rewind"))

    assert missing["kind"] == "CheckpointNotFoundError"
    assert "'nowhere'" in missing["error"]
    assert "\n" not in missing["error"]
    assert "'explode'" in unknown["error"]
    assert "'ref' is missing" in empty["error"]


def test_a_fork_with_an_override_makes_a_branch(front: Front) -> None:
    result = front.call("fork", ref="a", branch="try", values={"x": "x + 40"})

    assert result["status"]["branch"] == "try"
    front.run("print('forked:', x)")
    assert "forked: 41" in front.text()
    front.call("switch", branch="main")
    front.run("print('again:', x)")
    assert "again: 2" in front.text()


def test_a_fork_whose_expression_fails_says_so(front: Front) -> None:
    answer = front.answer(front.ask("fork", ref="a", branch="bad", values={"x": "1 / 0"}))

    assert not answer["ok"]
    assert "division by zero" in answer["error"]
    front.run("print('still', x)")
    assert "still 2" in front.text()


@pytest.mark.slow
def test_tags_and_notes_are_shown_as_soon_as_they_are_there(front: Front) -> None:
    front.call("tag", ref="a", tag="good")
    front.call("note", ref="a", note="a note")
    front.wait(lambda: front.state["rows"][0]["note"] == "a note")
    assert front.state["rows"][0]["tags"] == ["good"]

    front.call("untag", ref="a", tag="good")

    front.wait(lambda: front.state["rows"][0]["tags"] == [])


@pytest.mark.slow
def test_a_write_can_be_interrupted(front: Front, tmp_path: Path) -> None:
    began = tmp_path / "began"
    # Not one long sleep: Python takes no note of a signal that comes just before a call of the
    # system begins, until that call ends.
    sleeps = "[__import__('time').sleep(0.01) for _ in range(6000)]"
    slow = {"x": f"(open({str(began)!r}, 'w').close(), {sleeps})"}
    request = front.ask("fork", ref="a", branch="slow", values=slow)
    front.wait(lambda: (front.state["status"]["busy"] or {}).get("name") == "fork")
    front.wait(began.exists)

    os.kill(front.kernel.pid, signal.SIGINT)
    answer = front.answer(request, 20)

    assert not answer["ok"]
    front.run("print('alive', x)")
    assert "alive 2" in front.text()


def test_a_widget_of_a_cell_that_ran_again_is_closed(front: Front, tmp_path: Path) -> None:
    front.open(tmp_path, "cell-1")
    first = front.comm_id

    front.open(tmp_path, "cell-1")

    closed = [m["content"]["comm_id"] for m in front.published if m["msg_type"] == "comm_close"]
    assert closed == [first]
    assert front.comm_id != first


@pytest.mark.slow
def test_a_widget_that_the_front_end_closed_is_forgotten(front: Front) -> None:
    front.send({}, kind="comm_close")
    front.run(
        "import gc; gc.collect()\nfrom nbckpt.jupyter.views import Views\n"
        "v = Views.of(get_ipython()._nbckpt_extension.cells)\nprint('left:', len(v._views))\ndel v"
    )

    front.run("%checkpoint c")

    assert "left: 0" in front.text()
    assert "c" not in front.names


@pytest.mark.slow
def test_what_is_left_after_unloading_is_harmless(front: Front) -> None:
    front.run("%unload_ext nbckpt")
    for op in ("details", "rewind"):
        answer = front.answer(front.ask(op, ref="a"))
        assert "%load_ext nbckpt" in answer["error"]

    front.run("x = 7\nprint('x is', x)")

    assert "x is 7" in front.text()
    front.run("%load_ext nbckpt")


@pytest.mark.slow
def test_an_installation_without_the_view_says_what_to_do(front: Front) -> None:
    front.run(
        "import pathlib, nbckpt.jupyter.widget as w\nw.CODE = pathlib.Path('/nowhere/timeline.js')\n"
        "try:\n    w.show(get_ipython()._nbckpt_extension.cells)\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )

    assert "UsageError the timeline was not built: install Node.js" in front.text()
    assert "%nbckpt log" in front.text()


@pytest.mark.slow
def test_loading_nbckpt_imports_no_widget(tmp_path: Path) -> None:
    with Kernel(tmp_path) as other:
        loaded = other.run(
            "import sys\n%load_ext nbckpt\nprint([m for m in ('anywidget', 'nbckpt.jupyter.widget') "
            "if m in sys.modules])"
        )
    assert loaded.stdout.endswith("[]\n")
