"""Requests that child processes send: functions for pools, and a script (``LIBRARY PROMPT…``)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

MODEL = "gpt-5-mini"


def url() -> str:
    """Where chat completions are asked for."""
    return f"{os.environ['OPENAI_BASE_URL']}/chat/completions"


def body(prompt: str, **more: object) -> dict[str, object]:
    said = [{"role": "user", "content": prompt}]
    return {"model": MODEL, "messages": said, "max_tokens": 100, **more}


def by_httpx(prompt: str) -> str:
    import httpx

    answer = httpx.post(url(), json=body(prompt), timeout=60)
    return str(answer.json()["choices"][0]["message"]["content"])


def by_requests(prompt: str) -> str:
    import requests

    answer = requests.post(url(), json=body(prompt), timeout=60)
    return str(answer.json()["choices"][0]["message"]["content"])


def by_aiohttp(prompt: str) -> str:
    import asyncio

    import aiohttp

    async def ask() -> str:
        async with (
            aiohttp.ClientSession() as session,
            session.post(url(), json=body(prompt)) as answer,
        ):
            found = await answer.json()
            return str(found["choices"][0]["message"]["content"])

    return asyncio.run(ask())


def by_openai(prompt: str) -> str:
    import openai

    with openai.OpenAI(max_retries=0) as client:
        said: list = [{"role": "user", "content": prompt}]
        answer = client.chat.completions.create(model=MODEL, messages=said)
        return str(answer.choices[0].message.content)


def by_stream(prompt: str) -> str:
    import openai

    with openai.OpenAI(max_retries=0) as client:
        said: list = [{"role": "user", "content": prompt}]
        stream = client.chat.completions.create(model=MODEL, messages=said, stream=True)
        return "".join(each.choices[0].delta.content or "" for each in stream)


def by_tasks(prompt: str) -> str:
    """Twenty at once; their answers, in order."""
    import asyncio

    import openai

    async def ask(client: openai.AsyncOpenAI, n: int) -> str:
        said: list = [{"role": "user", "content": f"{prompt} {n}"}]
        answer = await client.chat.completions.create(model=MODEL, messages=said)
        return str(answer.choices[0].message.content)

    async def ask_all() -> str:
        async with openai.AsyncOpenAI(max_retries=0) as client:
            return " ".join(await asyncio.gather(*(ask(client, n) for n in range(20))))

    return asyncio.run(ask_all())


def in_threads(prompt: str) -> str:
    """Asked by three threads at once."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        return "|".join(pool.map(by_httpx, [prompt] * 3))


def in_tasks(prompt: str) -> str:
    """Asked by three tasks at once."""
    import asyncio

    import httpx

    async def ask_all() -> str:
        async with httpx.AsyncClient(timeout=60) as client:
            asked = (client.post(url(), json=body(prompt)) for _ in range(3))
            answers = [answer.json() for answer in await asyncio.gather(*asked)]
            return "|".join(a["choices"][0]["message"]["content"] for a in answers)

    return asyncio.run(ask_all())


def off(prompt: str) -> str:
    """Asked in a block in which nothing is recorded."""
    import nbckpt

    with nbckpt.recording("off"):
        return by_httpx(prompt)


def after_a_fork(prompt: str) -> str:
    """Asked by a process that this one forks when it has asked, too."""
    import multiprocessing

    first = by_httpx(prompt)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return f"{first} {pool.map(by_httpx, [prompt])[0]}"


def to_the_end(prompt: str) -> str:
    """Asked until the file `stop` is there; the name of the error that ends it, or the last answer."""
    import nbckpt

    answer = ""
    try:
        while not Path("stop").exists():
            answer = by_httpx(prompt)
            with Path("answers").open("a") as file:
                file.write(f"{answer}\n")
            time.sleep(0.02)
    except (nbckpt.BudgetError, nbckpt.ReplayError) as stop:
        return type(stop).__name__
    return answer


def slowly(prompt: str) -> str:
    """Asked by a process whose id stands in a file then."""
    Path("pid").write_text(str(os.getpid()))
    return by_httpx(prompt)


WAYS: dict[str, Callable[[str], str]] = {
    way.__name__: way
    for way in (
        *(by_httpx, by_requests, by_aiohttp, by_openai, by_stream, by_tasks),
        *(in_threads, in_tasks, off, after_a_fork, to_the_end, slowly),
    )
}


def main(way: str, *prompts: str) -> None:
    for prompt in prompts:
        print(WAYS[way](prompt), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
