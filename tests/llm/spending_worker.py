"""Workers that ask models until a budget stops them; one process of a mix."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

import nbckpt
from nbckpt.errors import BudgetError
from nbckpt.llm import scope
from nbckpt.session.session import Session
from nbckpt.steps import current_session

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages"}


def call(url: str, seed: int) -> None:
    """One call, of some kind, read to its end or left."""
    r = random.Random(seed)
    kind, streamed = r.choice(list(PATHS)), r.random() < 0.6
    most = r.choice((10, 20, 40))
    asked: dict[str, Any] = {
        "model": "m",
        "max_tokens": most,
        "messages": [{"role": "user", "content": f"say {seed}"}],
        "stream": streamed,
    }
    name = f"{r.random():.2f}" if r.random() < 0.7 else None
    with httpx.Client(timeout=30) as client:
        if name is not None:
            with scope.entered(name):
                send(client, url + PATHS[kind], asked, r)
        else:
            send(client, url + PATHS[kind], asked, r)


def send(client: httpx.Client, url: str, asked: dict[str, Any], r: random.Random) -> None:
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    if not asked["stream"]:
        client.post(url, json=asked, headers=headers)
        return
    leaves = r.random() < 0.2
    with client.stream("POST", url, json=asked, headers=headers) as answer:
        for _ in answer.iter_bytes():
            if leaves:
                return


def work(folder: str, url: str, seed: int, workers: int) -> None:
    """Ask until the budget stops, in threads."""
    session: Session = nbckpt.open(Path(folder), namespace={})
    r = random.Random(seed)
    seeds = [r.randrange(10**6) for _ in range(30)]

    def one(each: int) -> None:
        try:
            call(url, each)
        except (BudgetError, httpx.HTTPError):
            return

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, seeds))
    session.wait()
    current_session.end()


def serve() -> None:
    """Fork a process for each line that asks for one, and write its id."""
    for line in sys.stdin:
        folder, url, seed, workers = json.loads(line)
        if (pid := os.fork()) == 0:
            try:
                work(folder, url, seed, workers)
            finally:
                os._exit(0)
        print(pid, flush=True)
        threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()


if __name__ == "__main__":
    serve()
