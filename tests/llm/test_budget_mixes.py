"""A budget is never passed: random mixes of streams, workers, processes and deaths, as billed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nbckpt.config.config_file import write_setting
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.running import environment

DOLLARS_A_TOKEN = 0.01
PRICES = f"m=0/{DOLLARS_A_TOKEN * 1e6:g}"


class Bill:
    """What the provider charges: all that it was asked for, whoever is left to read it."""

    def __init__(self) -> None:
        self.usd = 0.0
        self._lock = threading.Lock()

    def says(self, asked: dict[str, object]) -> str:
        """An answer of a random length; tokens are words here, and at most as many as are asked for."""
        most = asked["max_tokens"]
        assert isinstance(most, int)
        n = random.Random(str(asked["messages"])).randint(1, most)
        with self._lock:
            self.usd += n * DOLLARS_A_TOKEN
        return " ".join(["a"] * n)


@pytest.fixture
def bill() -> Bill:
    return Bill()


@pytest.fixture
def provider(bill: Bill, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider(answer=bill.says) as provider:
        provider.slow(first_s=0.002, between_s=0.0005)
        monkeypatch.setenv("NBCKPT_PRICES", PRICES)
        yield provider


class Workers:
    """Processes that ask, forked from one that holds no thread and no connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        command = [sys.executable, "-m", "tests.llm.spending_worker"]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )

    def begin(self, folder: Path, seed: int, workers: int) -> int:
        """A process on a store; its id."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(
            json.dumps([str(folder), self._url, seed, workers]), file=self._server.stdin, flush=True
        )
        return int(self._server.stdout.readline())

    def close(self) -> None:
        """End the process that forks."""
        for pipe in (self._server.stdin, self._server.stdout):
            assert pipe is not None
            pipe.close()
        self._server.wait(10)


@pytest.fixture
def workers(provider: Provider) -> Iterator[Workers]:
    workers = Workers(provider.url)
    yield workers
    workers.close()


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    os.kill(pid, signal.SIGABRT)
    pytest.fail("a worker waits for ever")


def mix(folder: Path, workers: Workers, seed: int) -> float:
    """Several processes on one store, some of which die; the budget that they were given."""
    r = random.Random(seed)
    usd = round(r.uniform(0.05, 3.0), 2)
    per = r.choice(("notebook", "day", "branch"))
    write_setting(Store.open(folder), "budget", f"{usd} per {per}")
    for _ in range(r.randint(1, 3)):
        n = r.randint(1, 2)
        pids = [workers.begin(folder, r.randrange(10**6), r.choice((1, 2, 6))) for _ in range(n)]
        for pid in pids:
            if r.random() < 0.5:
                time.sleep(r.uniform(0.05, 0.4))
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for pid in pids:
            wait_for_end(pid)
    return usd


def check(tmp_path: Path, provider: Provider, workers: Workers, bill: Bill, seeds: range) -> None:
    n_paid = 0
    for seed in seeds:
        bill.usd = 0.0
        provider.cut(after_chunks=seed % 4, times=3)  # paid for, though nobody gets all of it
        provider.fail(times=2, status=503)
        usd = mix(tmp_path / f"store-{seed}", workers, seed)
        time.sleep(0.05)  # what was asked for by a dead process is charged, too
        assert bill.usd <= usd + 1e-9, f"seed {seed}: {bill.usd} of {usd}"
        n_paid += bill.usd > 0
    assert n_paid > len(seeds) / 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_no_mix_passes_its_budget(
    tmp_path: Path, provider: Provider, workers: Workers, bill: Bill
) -> None:
    check(tmp_path, provider, workers, bill, range(10))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_no_mix_of_many_passes_its_budget(
    tmp_path: Path, provider: Provider, workers: Workers, bill: Bill, first: int
) -> None:
    check(tmp_path, provider, workers, bill, range(first, first + 100))
