"""Model calls of processes that a step starts are recorded there, by whatever way it starts them."""

from __future__ import annotations

import asyncio
import json
import multiprocessing.spawn
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nbckpt.llm import scope
from nbckpt.llm.child_processes import call_server
from nbckpt.llm.child_processes.ipc_frames import VARIABLE
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm import child_asks
from tests.llm.asking import failures_of, records_of
from tests.llm.hooked import packages_in, python_in
from tests.running import SOURCE

pytestmark = pytest.mark.slow

SCRIPT = child_asks.__file__


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Python with the hook, and one without."""
    folder = tmp_path_factory.mktemp("environments")
    return {
        name: python_in(folder / name, has_hook=name == "hooked") for name in ("hooked", "bare")
    }


@pytest.fixture(autouse=True)
def _hooked(environments: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have children be started as a notebook does that runs where nbckpt is installed."""
    python = environments["hooked"]
    before = multiprocessing.spawn.get_executable()
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.syspath_prepend(packages_in(python.parents[1]))
    multiprocessing.set_executable(str(python))
    yield
    multiprocessing.set_executable(before)


@contextmanager
def opened(folder: Path) -> Iterator[Session]:
    """A session as after a restart."""
    store = Store.open(folder)
    session = current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    yield session
    current_session.end()
    store.close()


def news(session: Session) -> list[str]:
    return list(session.writes.news)


def by_pool(way: str, prompts: Sequence[str], method: str = "spawn") -> list[str]:
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(child_asks.WAYS[way], prompts, chunksize=1)


def by_fork_server(way: str, prompts: Sequence[str]) -> list[str]:
    return by_pool(way, prompts, "forkserver")


def by_executor(way: str, prompts: Sequence[str]) -> list[str]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(child_asks.WAYS[way], prompts))


def by_loky(way: str, prompts: Sequence[str]) -> list[str]:
    import joblib

    calls = (joblib.delayed(child_asks.WAYS[way])(prompt) for prompt in prompts)
    return list(joblib.Parallel(2)(calls))


def by_command(way: str, prompts: Sequence[str], **options: Any) -> list[str]:
    command = [sys.executable, SCRIPT, way, *prompts]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options)
    return done.stdout.splitlines()


def by_command_with_environment(way: str, prompts: Sequence[str]) -> list[str]:
    return by_command(way, prompts, env=dict(os.environ))


def by_shell(way: str, prompts: Sequence[str]) -> list[str]:
    command = f"{sys.executable} {SCRIPT} {way} {' '.join(prompts)}"
    return subprocess.check_output(command, shell=True, text=True).splitlines()


def by_task(way: str, prompts: Sequence[str]) -> list[str]:
    async def run() -> bytes:
        command = [sys.executable, SCRIPT, way, *prompts]
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        return (await process.communicate())[0]

    return asyncio.run(run()).decode().splitlines()


def by_terminal(way: str, prompts: Sequence[str]) -> list[str]:
    import pexpect

    said, status = pexpect.run(
        f"{sys.executable} {SCRIPT} {way} {' '.join(prompts)}", withexitstatus=True, timeout=60
    )
    assert status == 0
    return said.decode().splitlines()


Start = Callable[[str, Sequence[str]], list[str]]
STARTS: list[Start] = [
    *(by_pool, by_fork_server, by_executor, by_loky),
    *(by_command, by_command_with_environment, by_shell, by_task, by_terminal),
]


def started(start: Start, way: str, prompts: Sequence[str]) -> list[str]:
    """The answers of children that one step starts."""
    try:
        with scope.entered("step"):
            return start(way, prompts)
    finally:
        end_pools()


def end_pools() -> None:
    """End what lives on for the next step."""
    if (loky := sys.modules.get("joblib.externals.loky")) is not None:
        loky.get_reusable_executor().shutdown(wait=True)
    if (module := sys.modules.get("multiprocessing.forkserver")) is not None:
        module._forkserver._stop()


@pytest.mark.parametrize("start", STARTS)
def test_calls_of_a_process_are_recorded_and_replayed(
    start: Start, provider: Provider, folder: Path
) -> None:
    prompts = ["one", "two", "same", "same", "same"]
    with opened(folder) as session:
        first = started(start, "by_openai", prompts)
        records = records_of(session)
        assert news(session) == []
    provider.stop()
    with opened(folder) as session:
        again = started(start, "by_openai", prompts)

    assert len(set(first)) == 5
    assert {record["step"] for record in records} == {"step"}
    assert len(records) == 5
    # Which worker gets which of equal ones depends on which comes first.
    assert (again[:2], sorted(again)) == (first[:2], sorted(first))


@pytest.mark.parametrize(
    "way", ["by_httpx", "by_requests", "by_aiohttp", "by_stream", "by_tasks", "after_a_fork"]
)
def test_each_library_records_in_a_process(way: str, provider: Provider, folder: Path) -> None:
    with opened(folder) as session:
        first = started(by_command, way, ["one", "same", "same"])
        assert {record["state"] for record in records_of(session)} == {"done"}
        paid = provider.answered
        assert news(session) == []
    provider.stop()
    with opened(folder):
        assert started(by_command, way, ["one", "same", "same"]) == first

    assert len(set(first)) == 3
    assert paid == {"by_tasks": 60, "after_a_fork": 6}.get(way, 3)
