"""Uses the public API as a typed caller would; mypy reads it, nothing runs it."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from uuid import UUID

import nbckpt
from nbckpt.model import Variable
from nbckpt.reports.diff import Difference
from nbckpt.session.checkpoint_view import Look
from nbckpt.session.moves.move_result import MoveResult
from nbckpt.steps.rerun.rerun import CellRun, Rerun
from nbckpt.storage.pruning import Pruned


def embed(docs: list[str]) -> list[int]:
    vectors: list[int] = []
    with nbckpt.checkpoint("embed", vars=["vectors"], tags=["slow"], sync=True) as step:
        if step.todo:
            for doc in step.track(docs):
                words = doc.split()
                vectors.append(len(words))
    return vectors


def look() -> float:
    session: nbckpt.Session = nbckpt.open(".nbckpt", namespace=globals(), notebook="train")
    session.checkpoint("start", exclude=["big"], note="before")
    newest = nbckpt.history()[0]
    variables: Mapping[str, Variable] = newest.variables
    values: Mapping[str, object] = nbckpt.get("embed").values
    names: tuple[str, ...] = newest.next
    heads: tuple[str, ...] = newest.heads
    everything: list[Look] = nbckpt.history(all=True) + nbckpt.history(branch="main")
    nbckpt.wait(timeout_s=5)
    nbckpt.sql("select 1").fetchall()
    kept = len(variables) + len(values) + len(names) + len(heads) + len(everything)
    return newest.created_at.timestamp() + newest.duration_s + kept


def move() -> list[CellRun]:
    moved: MoveResult = nbckpt.rewind("embed")
    moved = nbckpt.fork("embed", "try-2", k=5, name="a")
    moved = nbckpt.switch("main")
    moved = nbckpt.resume("main", fallback=True)
    nbckpt.reducer("sources", operator.add)
    updated: Look = nbckpt.update("embed", {"sources": ["a"]}, as_step="search")
    rerun: Rerun = nbckpt.rerun("embed", fresh=True, all=False)
    for attempt in nbckpt.recover(max_retries=3, on=(OSError,), wait_s=1.5):
        with attempt:
            print(moved.came_back, updated.metadata["made_by"])
    return list(rerun.cells)


def prompt(topics: list[str]) -> str:
    at: datetime = nbckpt.now()
    there: datetime = nbckpt.now(timezone(timedelta(hours=9)))
    request: UUID = nbckpt.uuid()
    topic: str = nbckpt.random().choice(topics)
    return f"{at} {there} {request.hex} {topic}"


async def delete(paths: list[str]) -> str:
    asked: nbckpt.Approval = nbckpt.approve("delete?", paths, timeout_s=60, or_raise=True)
    if await nbckpt.approve_async("sure?"):
        return asked.text + asked.answered_by
    waiting: list[nbckpt.Approval] = nbckpt.approvals(waiting=True)
    return nbckpt.answer(waiting[0], "refuse", "no").state


def keep() -> int:
    tagged: Look = nbckpt.tag("embed", "best", "small", delete=False)
    noted: Look = nbckpt.note("embed", "look here")
    difference: Difference = nbckpt.diff("embed", "train")
    print(str(difference), difference.as_record(), tagged.tags, noted.note)
    pruned: Pruned = nbckpt.prune(keep_last=5, keep_days=30, max_size="2GB", drop=["try-2"])
    return pruned.freed_bytes


def square(n: int) -> float:
    return n * n


async def asked(n: int) -> str:
    return str(n)


async def items(docs: list[int]) -> None:
    with nbckpt.checkpoint("each") as step:
        squares: list[float] = step.map(square, docs, workers=4, key=lambda n: n)
        some, failures = step.map(square, docs, errors="collect")
        first: float | None = some[0]
        print(squares, first, failures[0].index, failures[0].error)
        answers: list[str] = await step.map(asked, docs, workers=20)
        tried: list[str | None] = (await nbckpt.map(asked, docs, errors="collect"))[0]
        print(answers, tried)
        async for n in step.track(docs, key=str):
            print(n + 1)
        for n in nbckpt.track(docs):
            print(n + 1)


@nbckpt.step(retries=3, backoff=0.5, timeout_s=30, retry_on=(OSError, TimeoutError))
def summarize(doc: str, *, words: int = 10) -> str:
    return doc[:words]


@nbckpt.step
async def ask(question: str) -> int:
    return len(question)


@nbckpt.step(once=True, name="mail")
def send(to: str) -> None:
    print(to)


def hand(out: Path) -> list[str]:
    told = nbckpt.trust()
    done = nbckpt.export("train", out)
    files: Mapping[str, str] = nbckpt.export("train", out, portable=True).files
    nbckpt.export("train", out, portable=True, encryption="off")  # type: ignore[call-overload]
    print(told.checkpoints, told.text(), nbckpt.trust(out).as_record())
    return [*done.variables, *files, *(refusal.reason for refusal in done.left)]


async def call() -> int:
    short: str = summarize("a", words=3)
    summarize(3)  # type: ignore[arg-type]
    answer: int = await ask(short)
    nbckpt.resolve(send, result=None)
    nbckpt.resolve("mail", retry=True, call="01234567")
    return answer
