"""What recording and replaying add to a call: ``python -m tests.llm.measured``.

Calls with and without nbckpt alternate, so that whatever else the machine does meets both.
``--recordings 100000`` measures an empty store and one with so many by turns, and compares them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import openai

from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.asking import ask, body
from tests.llm.test_many import fill

PAIRS = 300
AT_ONCE = 200
DELAY_S = 0.5


def pairs(call: Callable[[int], float], n: int = PAIRS) -> tuple[list[float], list[float]]:
    """Seconds of `n` calls that are left alone and of `n` that are recorded."""
    plain, recorded = [], []
    for i in range(n + 10):
        with scope.recording("off"):
            a = call(2 * i)
        b = call(2 * i + 1)
        if i >= 10:
            plain.append(a)
            recorded.append(b)
    return plain, recorded


def timed(function: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def row(name: str, plain: list[float], recorded: list[float], goal: str) -> str:
    """One line: medians in milliseconds, and what is added."""
    a, b = statistics.median(plain) * 1e3, statistics.median(recorded) * 1e3
    added = statistics.median(y - x for x, y in zip(plain, recorded, strict=True)) * 1e3
    return f"{name:32} {a:8.2f} {b:8.2f} {added:+8.2f} ms   {goal}"


def first_token(provider: Provider, client: httpx.Client, n: object) -> float:
    """Seconds to the first piece of a stream."""
    asked = body(f"stream {n}", stream=True)
    began = time.perf_counter()
    with client.stream("POST", f"{provider.url}/v1/chat/completions", json=asked) as answer:
        pieces = answer.iter_raw()
        next(pieces)
        took = time.perf_counter() - began
        for _ in pieces:
            pass
    return took


async def at_once(provider: Provider, what: str) -> float:
    """Seconds of 200 calls in flight together."""
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    async with httpx.AsyncClient(limits=limits, timeout=120) as client:
        url = f"{provider.url}/v1/chat/completions"
        began = time.perf_counter()
        await asyncio.gather(*(client.post(url, json=body(f"{what} {n}")) for n in range(AT_ONCE)))
        return time.perf_counter() - began


def replayed(n: int = PAIRS) -> tuple[list[float], list[float]]:
    """Seconds of calls that a transport in memory answers, and of the same ones replayed."""
    with Provider() as provider, httpx.Client() as client:
        url = f"{provider.url}/v1/chat/completions"
        for i in range(n):
            with scope.entered("replay"):
                answer = client.post(url, json=body(f"replay {i}"))
        content, headers = answer.content, {"content-type": "application/json"}
    memory = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=content))
    plain, again = [], []
    with httpx.Client(transport=memory) as client:
        for i in range(n):
            asked = body(f"replay {i}")
            with scope.recording("off"):
                plain.append(timed(lambda asked=asked: client.post(url, json=asked)))
            with scope.entered("replay"), scope.recording("only"):
                again.append(timed(lambda asked=asked: client.post(url, json=asked)))
    return plain, again


def in_child() -> None:
    """Print, as JSON, what `pairs` finds in a process that a step has started."""
    with openai.OpenAI() as client:
        print(json.dumps(pairs(lambda n: timed(lambda: ask(client, f"child {n}")))))


def of_child(provider: Provider) -> tuple[list[float], list[float]]:
    """Seconds of calls that a process makes, left alone and recorded by its parent."""
    command = [sys.executable, "-c", f"from {__spec__.name} import in_child; in_child()"]
    with scope.entered("child"):
        said = subprocess.check_output(command, env={**os.environ, **provider.environment()})
    plain, recorded = json.loads(said)
    return plain, recorded


def synced(folder: Path) -> float:
    """Seconds that the disk takes for 2 KB, of which a call waits for two."""
    times = []
    with (folder / "file").open("ab", buffering=0) as file:
        for _ in range(PAIRS):
            file.write(b"x" * 2000)
            times.append(timed(lambda: os.fdatasync(file.fileno())))
    return statistics.median(times)


@contextmanager
def session_on(folder: Path) -> Iterator[None]:
    """The session that is open, on a store, for the block."""
    store = Store.open(folder)
    current_session.begin(Session(store, {"__name__": "__main__"}, notebook="measured"))
    try:
        yield
    finally:
        current_session.end()
        store.close()


def first_answers(provider: Provider, folder: Path) -> dict[str, float]:
    """Seconds of the first call and the first replay of a session, which look at all recordings."""
    url = f"{provider.url}/v1/chat/completions"
    with httpx.Client() as client, session_on(folder), scope.recording("off"):
        client.post(url, json=body("a connection"))
        asked = body(f"first {time.perf_counter()}")
        took = {}
        for name in ("first call of a session", "first replay of a session"):
            with scope.entered("first"), scope.recording():
                took[name] = timed(lambda: client.post(url, json=asked))
    return took


def of_store(provider: Provider, folder: Path, turn: str, n: int) -> dict[str, list[float]]:
    """Seconds that nbckpt adds to each of `n` calls, in a session on a store."""
    found = {}
    url = f"{provider.url}/v1/chat/completions"
    with session_on(folder), httpx.Client() as raw:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="offline") as client:
            with scope.entered("calls"):
                found["a call (openai)"] = pairs(
                    lambda i: timed(lambda: ask(client, f"{turn} {i}")), n
                )
            with scope.entered("samples"):
                found["an equal call"] = pairs(
                    lambda _: timed(lambda: ask(client, f"equal {turn}")), n
                )
        with scope.entered("streams"):
            found["first token of a stream"] = pairs(
                lambda i: first_token(provider, raw, f"{turn} {i}"), n
            )

        def new_step(i: int) -> float:
            with scope.entered(f"step of {turn} {i}"):
                return timed(lambda: raw.post(url, json=body(f"new {turn} {i}")))

        found["a call of a new step"] = pairs(new_step, n)
        found["a replay, over a parsed answer"] = replayed(n)
    return {name: [b - a for a, b in zip(*both, strict=True)] for name, both in found.items()}


def compare(recordings: int, rounds: int = 4, n: int = 40) -> None:
    """Measure an empty store and a full one by turns, and print a table."""
    added: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    with tempfile.TemporaryDirectory() as folder, Provider() as provider:
        stores = Path(folder, "empty"), Path(folder, "full")
        synced_at_once, os.fdatasync = os.fdatasync, lambda _: None
        print(
            f"{recordings} recordings written in {timed(lambda: fill(stores[1], recordings)):.0f} s"
        )
        os.fdatasync = synced_at_once
        for turn in range(rounds):
            for place, store in enumerate(stores):
                for name, took in first_answers(provider, store).items():
                    added[name][place].append(took)
                for name, times in of_store(provider, store, f"{turn} {place}", n).items():
                    added[name][place].extend(times)
    print(f"{'added, ms (medians)':32} {'empty':>8} {recordings:>8}")
    for name, (empty, full) in added.items():
        a, b = statistics.median(empty) * 1e3, statistics.median(full) * 1e3
        print(f"{name:32} {a:8.2f} {b:8.2f} {b - a:+8.2f} ms")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=0)
    if recordings := parser.parse_args().recordings:
        compare(recordings)
        return
    print(f"{'':32} {'without':>8} {'with':>8} {'added':>8}      goal")
    with tempfile.TemporaryDirectory() as folder, Provider() as provider:
        print(f"{'fdatasync of 2 KB':32} {synced(Path(folder)) * 1e3:8.2f}")
        store = Store.open(Path(folder) / "store")
        current_session.begin(Session(store, {"__name__": "__main__"}, notebook="measured"))
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="offline") as client:
            with scope.entered("calls"):
                found = pairs(lambda n: timed(lambda: ask(client, f"call {n}")))
            print(row("a call (openai)", *found, "< 3 ms"))
        print(row("a call of a child process", *of_child(provider), "< 4 ms"))
        with httpx.Client() as raw, scope.entered("streams"):
            found = pairs(lambda n: first_token(provider, raw, n))
            print(row("first token of a stream", *found, "<= 1 ms"))
        print(row("a replay, over a parsed answer", *replayed(), "<= 0.3 ms"))
        provider.slow(first_s=DELAY_S)
        plain, recorded = [], []
        for n in range(5):
            for mode, times in (("off", plain), (None, recorded)):
                with scope.entered("many"), scope.recording(mode) if mode else nullcontext():
                    times.append(asyncio.run(at_once(provider, f"{mode} {n}")))
        print(row(f"{AT_ONCE} at once, {DELAY_S} s each", plain, recorded, "no queue"))
        current_session.end()
        store.close()


if __name__ == "__main__":
    main()
