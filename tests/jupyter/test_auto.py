"""`%nbckpt auto`: which cells are kept, which are joined, and that none is lost."""

from __future__ import annotations

import re
import socket
import time
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nbckpt.jupyter.shell import load, unload
from nbckpt.model import Checkpoint
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from nbckpt.timeline.events import ENDED
from tests.kernels import Kernel


def run(shell: Any, source: str) -> Any:
    return shell.run_cell(source, store_history=True)


def history() -> list[Checkpoint]:
    return current_session.session().history()


def sources(checkpoint: Checkpoint) -> list[str]:
    return [cell.source for cell in checkpoint.joined]


def make_sessions_that_died(folder: Path, count: int) -> None:
    """A store whose sessions lived a second each: what is not kept soon is lost soon."""
    store = Store.open(folder)
    for n in range(count):
        died = {"session": f"died-{n}", "host": socket.gethostname(), "pid": 2**22 + n}
        store.append([{"kind": "session", "at": 1000.0, **died}], durable=False)
        store.append([{"kind": "event", "event": "ran", "at": 1001.0, **died}], durable=False)
    store.wait()
    store.close()


def seen(folder: Path) -> Session:
    """The store as another process sees it."""
    return Session(Store.open(folder, create=False), {}, notebook="")


def eventually(folder: Path, count: int, timeout_s: float = 20.0) -> list[Checkpoint]:
    """The newest line of a store, once it has so many checkpoints."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        session = seen(folder)
        found = session.history()
        session.store.close()
        if len(found) >= count:
            return found
        time.sleep(0.1)
    message = f"not {count} checkpoints within {timeout_s} s"
    raise TimeoutError(message)


# -- in a kernel --------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_tiny_cells_are_joined_to_the_one_that_took_three_seconds(
    tmp_path: Path,
) -> None:
    make_sessions_that_died(tmp_path / ".nbckpt", 300)
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt auto")
        for n in range(100):
            kernel.run(f"x{n} = {n}")
        status = kernel.run("%nbckpt status").stdout

        kernel.run("import time; time.sleep(3); last = 'kept'")

        (checkpoint,) = eventually(tmp_path / ".nbckpt", 1)
        assert "joined      100 cells" in status
        assert sources(checkpoint) == [f"x{n} = {n}" for n in range(100)]
        assert checkpoint.cell.source == "import time; time.sleep(3); last = 'kept'"
        assert {f"x{n}" for n in range(100)} | {"last"} <= set(checkpoint.changed)


@pytest.mark.slow
def test_a_kill_costs_no_more_than_the_interval(tmp_path: Path) -> None:
    make_sessions_that_died(tmp_path / ".nbckpt", 300)
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt auto")
        kernel.run("import time, nbckpt; done = []")
        for n in range(16):
            kernel.run(f"time.sleep(0.25); done.append({n})")
        due = kernel.value(
            "nbckpt.steps.current_session.session().pending_cells.measured().interval_s"
        )
        kernel.kill()

    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%resume")
        kept = int(kernel.value("len(done)"))
    lost_s = (16 - kept) * 0.25
    assert lost_s <= float(due) + 0.25
    assert float(due) < 2


@pytest.mark.slow
def test_joined_cells_are_kept_when_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBCKPT_IDLE_S", "0.5")
    monkeypatch.setenv("NBCKPT_AUTO", "cost")
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("a = 1", cell_id="one")
        kernel.run("b = 2\nprint('shown')", cell_id="two")

        (checkpoint,) = eventually(tmp_path / ".nbckpt", 1)

    assert (checkpoint.name, checkpoint.cell.source) == ("cell-two", "b = 2\nprint('shown')")
    assert sources(checkpoint) == ["a = 1"]
    assert set(checkpoint.bound) >= {"a", "b"}
    assert checkpoint.outputs is not None


@pytest.mark.slow
def test_a_kernel_that_is_shut_down_keeps_what_is_joined_and_did_not_fail(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        kernel.run("%load_ext nbckpt")
        kernel.run("%nbckpt auto")
        kernel.run("a = [1, 2]")
        kernel.client.shutdown()

        (checkpoint,) = eventually(tmp_path / ".nbckpt", 1)
        session = seen(tmp_path / ".nbckpt")
        deadline = time.monotonic() + 10
        while not any(r["event"] == ENDED for r in session.store.records("event")):
            assert time.monotonic() < deadline  # not after the block, which kills what still ends
            session.refresh()
    assert "a" in checkpoint.changed
    session.store.close()


# -- in a shell ---------------------------------------------------------------------------------


@pytest.fixture
def joined(shell: Any) -> Any:
    """A shell in which two cells are joined after a checkpoint."""
    run(shell, "%nbckpt auto cost")
    run(shell, "%%checkpoint first\nx = [1]")
    run(shell, "x.append(2)")
    run(shell, "y = 'joined'")
    return shell


def test_a_marked_cell_is_always_kept_with_what_was_joined(joined: Any) -> None:
    run(joined, "%%checkpoint second\nz = 3")

    newest, first = history()
    assert (newest.name, first.name) == ("second", "first")
    assert sources(newest) == ["x.append(2)", "y = 'joined'"]
    assert set(newest.changed) == {"x", "y", "z"}
    assert newest.bound == ("z",)


@pytest.mark.parametrize(
    ("move", "back"),
    [("%rewind first", "%rewind -"), ("%fork first try", "%switch main"),
     ("%nbckpt auto off\n%rewind first", "%rewind -")],
)  # fmt: skip
def test_a_move_keeps_what_is_joined(joined: Any, move: str, back: str) -> None:
    for line in move.splitlines():
        run(joined, line)
    assert joined.user_ns["x"] == [1]
    assert "y" not in joined.user_ns
    assert current_session.session().pending_cells.cells == []

    run(joined, back)

    assert (joined.user_ns["x"], joined.user_ns["y"]) == ([1, 2], "joined")
    kept = current_session.session().get(current_session.session().position.id or "")
    assert [*sources(kept), kept.cell.source] == ["x.append(2)", "y = 'joined'"]


def test_unloading_keeps_what_is_joined(joined: Any) -> None:
    unload(joined)
    joined.reset(new_session=False)
    load(joined)

    run(joined, "%resume")

    assert (joined.user_ns["x"], joined.user_ns["y"]) == ([1, 2], "joined")


def test_a_new_kernel_that_resumed_nothing_does_not_take_the_branch(joined: Any) -> None:
    unload(joined)
    joined.reset(new_session=False)
    load(joined)
    run(joined, "%nbckpt auto")
    run(joined, "import math; other = 1")
    unload(joined)
    joined.reset(new_session=False)
    load(joined)

    run(joined, "%resume")

    assert joined.user_ns["y"] == "joined"
    assert any(
        "other" in c.changed for c in current_session.session().timeline.checkpoints.values()
    )


def test_a_cell_that_raised_is_not_joined_and_what_it_did_is_kept(joined: Any) -> None:
    run(joined, "%%checkpoint second")
    run(joined, "x.append(3); 1 / 0")
    run(joined, "w = 4")

    run(joined, "%checkpoint third")

    newest = history()[0]
    assert sources(newest) == ["w = 4"]
    assert set(newest.changed) == {"x", "w"}
    failed = [
        c for c in current_session.session().timeline.checkpoints.values() if c.state == "failed"
    ]
    assert [c.cell.source for c in failed] == ["x.append(3); 1 / 0"]
    assert "ZeroDivisionError" in (failed[0].error or "")


def test_every_third_cell_is_kept(shell: Any) -> None:
    run(shell, "%nbckpt auto every 3")
    for n in range(7):
        run(shell, f"x{n} = {n}")

    assert [len(c.joined) for c in history()] == [2, 2]
    assert current_session.session().pending_cells.spent().cells == 1


@pytest.mark.slow
def test_after_some_seconds_the_next_cell_is_kept(shell: Any) -> None:
    run(shell, "%nbckpt auto every 2 s")
    run(shell, "a = 1")
    time.sleep(2.1)
    run(shell, "b = 2")
    run(shell, "c = 3")

    (checkpoint,) = history()
    assert {"a", "b"} <= set(checkpoint.changed)
    assert "c" not in checkpoint.changed


@pytest.mark.parametrize(
    ("policy", "names"),
    [("event", ["epoch", "other", "epoch"]), ("event epoch", ["epoch", "epoch"]), ("off", []),
     ("cost", [])],
)  # fmt: skip
def test_an_event_is_a_checkpoint_where_the_policy_waits_for_it(
    shell: Any, policy: str, names: list[str]
) -> None:
    run(shell, f"%nbckpt auto {policy}")
    run(shell, "import nbckpt\nseen = []")
    run(shell, "def note(name):\n    seen.append(name)\n    nbckpt.event(name)")

    run(shell, "for name in ('epoch', 'other', 'epoch'):\n    note(name)")

    session = current_session.session()
    assert [c.name for c in reversed(history())] == names
    values = [len(session.timeline.manifest(c.id)["seen"].preview) for c in reversed(history())]
    assert values == sorted(set(values))  # each holds what was there then
    session.wait()
    session.refresh()
    noted = [r["name"] for r in session.store.records("event") if r["event"] == "event"]
    assert noted == ["epoch", "other", "epoch"]


def test_without_a_policy_plain_cells_are_named_by_the_next_checkpoint(shell: Any) -> None:
    run(shell, "a = 1")
    run(shell, "%nbckpt log")
    run(shell, "b = a + 1")

    run(shell, "%%checkpoint c\nc = b + 1")
    run(shell, "%%checkpoint d\nd = 1")

    newest, before = history()
    assert sources(before) == ["a = 1", "b = a + 1"]
    assert sources(newest) == []


def test_the_status_says_what_auto_does(joined: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()

    run(joined, "%nbckpt status")

    lines = capsys.readouterr().out.splitlines()
    auto = next(line for line in lines if line.startswith("auto"))
    assert "cost: kept after" in auto
    assert "one failure in" in auto
    assert any(line.startswith("joined      2 cells") for line in lines)


def test_what_cannot_be_kept_of_joined_cells_is_named(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shell, "%nbckpt auto every 2")
    run(shell, "import socket; a, b = socket.socketpair()")
    capsys.readouterr()

    run(shell, "c = [1]")
    shell.user_ns["a"].close()
    shell.user_ns["b"].close()

    assert "not kept: a: socket" in capsys.readouterr().out


POLICIES = ("on", "skip", "cost", "every 3", "every 0.02 s", "event", "event tick")


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_joined_and_wherever_one_goes_nothing_is_lost(shell: Any, seed: int) -> None:
    draw = Random(seed)
    now: dict[str, Any] = {}
    kept: dict[str, dict[str, Any]] = {}  # the model: checkpoints are copies of a dict
    policy = "cost"
    run(shell, f"%nbckpt auto {policy}")
    for n in range(60):
        match draw.choice(
            ["set", "set", "add", "add", "drop", "event", "keep", "go", "auto", "die"]
        ):
            case "set":
                now[f"v{n % 7}"] = [n]
                run(shell, f"v{n % 7} = [{n}]")
            case "add" if now:
                name = draw.choice(sorted(now))
                now[name].append(n)
                run(shell, f"{name}.append({n})")
            case "drop" if now:
                name = draw.choice(sorted(now))
                del now[name]
                run(shell, f"del {name}")
            case "event":
                current_session.session().event(draw.choice(["tick", "tock"]))
            case "keep":
                run(shell, f"%checkpoint c{n}")
                kept[current_session.session().position.id or ""] = deepcopy(now)
            case "go" if kept:
                name = draw.choice(sorted(kept))
                back = current_session.session().position.id is not None and draw.random() < 0.4
                assert run(shell, f"%rewind {name}").success
                if back:
                    assert run(shell, "%rewind -").success
                else:
                    now = deepcopy(kept[name])
            case "auto":
                policy = draw.choice(POLICIES)
                run(shell, f"%nbckpt auto {policy}")
            case "die":
                unload(shell)
                shell.reset(new_session=False)
                load(shell)
                run(shell, f"%nbckpt auto {policy}")
                if current_session.session().position.head is not None:
                    assert run(shell, "%resume").success
        found = {k: v for k, v in shell.user_ns.items() if re.fullmatch(r"v\d", k)}
        assert found == now, (n, policy)
    assert check(current_session.session().store.path).ok
