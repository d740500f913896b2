"""Retries, their waits, and time limits."""

from __future__ import annotations

import asyncio
import email.utils
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

import nbckpt
from nbckpt.steps.calls.attempts import asked_wait_s, waited_s
from tests.steps.calls.conftest import Notebook


def flaky(notebook: Notebook, options: str, *errors: BaseException | None) -> None:
    """A step that raises these, each time the next; they lie where no key looks."""
    module = SimpleNamespace(errors=list(errors))
    sys.modules["a_library_of_the_test"] = module  # type: ignore[assignment]
    notebook.cell(
        f"@nbckpt.step({options})\n"
        "def flaky(x):\n"
        "    ran('flaky')\n"
        "    import a_library_of_the_test\n"
        "    error = a_library_of_the_test.errors.pop(0)\n"
        "    if error:\n"
        "        raise error\n"
        "    return x\n"
    )


def test_an_error_is_tried_again_and_each_attempt_is_an_event(notebook: Notebook) -> None:
    flaky(notebook, "retries=2, backoff=0.001", OSError("one"), OSError("two"), None)

    assert notebook.value("flaky(7)") == 7

    assert len(notebook.ran) == 3
    events = nbckpt.sql("select name, detail from events where event = 'attempt_failed'").fetchall()
    assert [name for name, _ in events] == ["flaky", "flaky"]
    assert "OSError: one" in events[0][1]
    assert nbckpt.sql("select attempts, state from steps").fetchall() == [(3, "done")]


def test_the_last_error_is_raised_and_the_call_runs_next_time(notebook: Notebook) -> None:
    flaky(notebook, "retries=1, backoff=0", OSError("one"), OSError("two"), None)

    with pytest.raises(OSError, match="two"):
        notebook.value("flaky(7)")

    rows = nbckpt.sql("select state, attempts, error from steps").fetchall()
    assert rows == [("failed", 2, "OSError: two")]
    assert notebook.value("flaky(7)") == 7


def test_other_errors_than_those_named_are_not_tried_again(notebook: Notebook) -> None:
    flaky(notebook, "retries=5, backoff=0, retry_on=OSError", OSError("x"), KeyError("y"))

    with pytest.raises(KeyError):
        notebook.value("flaky(7)")

    assert len(notebook.ran) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()])
def test_what_stops_the_user_is_never_tried_again(notebook: Notebook, error: BaseException) -> None:
    flaky(notebook, "retries=5, backoff=0, retry_on=BaseException", error, None)

    with pytest.raises(type(error)):
        notebook.value("flaky(7)")

    assert len(notebook.ran) == 1


def test_waits_double_up_to_a_minute_and_differ() -> None:
    waits = [[waited_s(1.0, n) for _ in range(50)] for n in (1, 2, 3, 20)]

    for longest, some in zip((1, 2, 4, 60), waits, strict=True):
        assert longest / 2 <= min(some) < max(some) <= longest


class Refused(Exception):
    def __init__(self, **headers: str) -> None:
        super().__init__("429")
        self.response = SimpleNamespace(
            headers={k.replace("_", "-"): v for k, v in headers.items()}
        )


def test_what_a_response_asks_for_is_waited(notebook: Notebook) -> None:
    flaky(notebook, "retries=1, backoff=30", Refused(retry_after="0.05"), None)
    began = time.perf_counter()

    assert notebook.value("flaky(7)") == 7

    assert 0.05 <= time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry_after": "3"}, 3),
        ({"Retry_After": "3"}, 3),
        ({"retry_after_ms": "250", "retry_after": "3"}, 0.25),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_each_of_its_forms(
    headers: dict[str, str], wait_s: float | None
) -> None:
    found = asked_wait_s(Refused(**headers))

    assert found == wait_s


def test_retry_after_may_be_a_date() -> None:
    date = email.utils.formatdate(time.time() + 3000, usegmt=True)

    found = asked_wait_s(Refused(retry_after=date))

    assert found == pytest.approx(3000, abs=60)


def test_a_server_that_asks_to_wait_for_an_hour_is_not_waited_for(notebook: Notebook) -> None:
    flaky(notebook, "retries=5", Refused(retry_after="3600"), None)

    with pytest.raises(Refused):
        notebook.value("flaky(7)")


def test_a_coroutine_is_cancelled_when_its_time_is_up(notebook: Notebook) -> None:
    notebook.cell(
        "@nbckpt.step(retries=1, backoff=0, timeout_s=0.05)\n"
        "async def slow():\n    ran('slow')\n    await asyncio.sleep(30)"
    )

    with pytest.raises(TimeoutError, match=r"step 'slow' took longer than 0.05 s"):
        asyncio.run(notebook.value("slow()"))

    assert len(notebook.ran) == 2


def test_a_function_is_interrupted_in_the_main_thread(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step(timeout_s=0.05)\ndef slow():\n    time.sleep(30)")
    handler = signal.getsignal(signal.SIGALRM)

    with pytest.raises(TimeoutError, match=r"step 'slow' took longer than 0.05 s"):
        notebook.value("slow()")

    assert signal.getsignal(signal.SIGALRM) is handler


def in_a_thread(notebook: Notebook, code: str) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(notebook.value, code).result()


def test_a_function_in_a_thread_is_left_behind_when_its_time_is_up(notebook: Notebook) -> None:
    notebook.cell(
        "@nbckpt.step(timeout_s=0.2, retries=1, backoff=0)\ndef slow():\n    ran('slow')\n"
        "    for _ in range(1000):\n        time.sleep(0.01)\n        ticks.append(1)\nticks = []"
    )
    began = time.monotonic()

    with pytest.raises(TimeoutError, match=r"step 'slow' took longer than 0.2 s"):
        in_a_thread(notebook, "slow()")

    assert len(notebook.ran) == 2
    assert time.monotonic() - began < 5
    time.sleep(0.2)
    ticks = notebook.value("len(ticks)")
    time.sleep(0.2)
    assert notebook.value("len(ticks)") == ticks > 0


def test_a_function_in_a_thread_that_waits_in_c_costs_no_more_than_its_limit(
    notebook: Notebook,
) -> None:
    notebook.cell("@nbckpt.step(timeout_s=0.1)\ndef slow():\n    time.sleep(4)")
    began = time.monotonic()

    with pytest.raises(TimeoutError):
        in_a_thread(notebook, "slow()")

    assert time.monotonic() - began < 3


def test_a_function_in_a_thread_that_is_in_time_is_kept(notebook: Notebook) -> None:
    notebook.cell("@nbckpt.step(timeout_s=20)\ndef quick(n):\n    ran('quick')\n    return n + 1")

    assert in_a_thread(notebook, "quick(1)") == 2
    notebook.restart()
    notebook.cell("@nbckpt.step(timeout_s=20)\ndef quick(n):\n    ran('quick')\n    return n + 1")
    assert in_a_thread(notebook, "quick(1)") == 2

    assert notebook.ran == ["quick"]


@pytest.mark.parametrize("error", ["ValueError('no')", "SystemExit(3)", "KeyboardInterrupt()"])
def test_an_error_in_time_is_the_callers(notebook: Notebook, error: str) -> None:
    notebook.cell(f"@nbckpt.step(timeout_s=20)\ndef wrong():\n    raise {error}")

    with pytest.raises(type(eval(error))):
        in_a_thread(notebook, "wrong()")


@pytest.mark.parametrize("workers", [1, 3])
def test_items_of_a_map_have_a_time_limit(notebook: Notebook, workers: int) -> None:
    code = (
        "@nbckpt.step(timeout_s=0.3)\ndef slow(s):\n    ran(s)\n    time.sleep(s)\n    return s\n"
        f"found = nbckpt.map(slow, [0, 3, 0.01], workers={workers}, errors='collect')"
    )

    notebook.cell(code)

    assert notebook.value("found[0]") == [0, None, 0.01]
    assert notebook.value("[failure.type for failure in found[1]]") == ["TimeoutError"]


def test_a_cancelled_call_is_not_kept_and_runs_again(notebook: Notebook) -> None:
    source = (
        "@nbckpt.step\nasync def wait(s):\n    ran('wait')\n    await asyncio.sleep(s)\n    return s\n"
        "async def cut():\n    task = asyncio.create_task(wait(0.2))\n"
        "    await asyncio.sleep(0.05)\n    task.cancel()\n"
        "    return await asyncio.gather(task, return_exceptions=True)"
    )
    notebook.cell(source)
    (error,) = asyncio.run(notebook.value("cut()"))
    assert isinstance(error, asyncio.CancelledError)

    assert asyncio.run(notebook.value("wait(0.2)")) == 0.2
    assert len(notebook.ran) == 2


def test_a_secret_in_an_error_is_not_written(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-planted-0123456789")
    error = OSError("wrong key sk-planted-0123456789")
    flaky(notebook, "retries=1, backoff=0", error, error)

    with pytest.raises(OSError, match="wrong key"):
        notebook.value("flaky(7)")

    notebook.session.wait()
    written = b"".join(p.read_bytes() for p in notebook.store.path.rglob("*") if p.is_file())
    assert b"wrong key" in written
    assert b"sk-planted" not in written
