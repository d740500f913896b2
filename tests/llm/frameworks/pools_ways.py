"""joblib's threads and processes, and nest_asyncio, with OpenAI's SDK."""

from __future__ import annotations

import asyncio

import nest_asyncio
from joblib import Parallel, delayed
from openai import AsyncOpenAI, OpenAI

from tests.llm.frameworks.ways import way


def ask(prompt: str) -> str:
    said = [{"role": "user", "content": prompt}]
    with OpenAI(max_retries=0) as client:
        answer = client.chat.completions.create(model="m", messages=said)
    return str(answer.choices[0].message.content)


async def ask_async(prompt: str) -> str:
    said = [{"role": "user", "content": prompt}]
    async with AsyncOpenAI(max_retries=0) as client:
        answer = await client.chat.completions.create(model="m", messages=said)
    return str(answer.choices[0].message.content)


@way
def joblib_threads() -> list[str]:
    return list(Parallel(4, prefer="threads")(delayed(ask)(f"hi {n}") for n in range(8)))


@way
def joblib_threads_as_they_end() -> list[str]:
    parallel = Parallel(4, prefer="threads", return_as="generator_unordered")
    return sorted(parallel(delayed(ask)(f"hi {n}") for n in range(8)))


@way
def joblib_one_process() -> list[str]:
    return list(Parallel(1)(delayed(ask)(f"hi {n}") for n in range(3)))


@way
def joblib_loky() -> list[str]:
    return list(Parallel(2)(delayed(ask)(f"hi {n}") for n in range(4)))


@way
def nested_loop() -> list[str]:
    nest_asyncio.apply()

    async def all_of() -> list[str]:
        return list(await asyncio.gather(*[ask_async(f"hi {n}") for n in range(4)]))

    return asyncio.run(all_of())
