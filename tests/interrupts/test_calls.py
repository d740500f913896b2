"""An interrupt at any instant of a recorded model call: the next one is answered, and paid once."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from types import coroutine
from typing import Any

import pytest

from nbckpt import current
from nbckpt.llm import scope, seams
from nbckpt.session import Session
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.interrupts.instants import Instants
from tests.interrupts.worlds import problems
from tests.llm.asking import body, post, records_of

QUICK, MANY = 2, 300


@pytest.fixture
def recorded(store: Store) -> Iterator[Session]:
    """A session that is open."""
    session = current.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    yield session
    current.end()


def wrong_in(session: Session, count: int) -> list[tuple[str, list[str]]]:
    """What is wrong after interrupts of calls, each of another prompt and at another instant."""
    with Provider() as provider:

        def call(step: str, instants: Instants | None = None) -> str:
            with scope.entered(step):
                if instants is None:
                    return post(provider.url, body(step)).text
                text: str = instants.run(lambda: post(provider.url, body(step)).text)
                return text

        call("warm")
        call("warm")
        counted = Instants()
        call("counted", counted)
        found, rng = [], random.Random(5)
        for n in range(count):
            instants = Instants(rng.randrange(counted.count))
            before = provider.answered
            wrong = []
            try:
                call(f"step-{n}", instants)
                wrong += ["the interrupt was lost"] if instants.hit else []
            except KeyboardInterrupt:
                pass
            wrong += problems(session)
            kept = [r for r in records_of(session) if r["step"] == f"step-{n}"]
            was_kept = any(r["state"] == "done" for r in kept)
            asked = provider.answered
            first, second = call(f"step-{n}"), call(f"step-{n}")
            if first != second:
                wrong.append("two answers to one question")
            if provider.answered != asked + (not was_kept) or provider.answered > before + 2:
                wrong.append(f"paid {provider.answered - before} times")
            if wrong:
                found.append((instants.told(), wrong))
    return found


def each_instant(act: Callable[[], Any]) -> Iterator[Instants]:
    """Run it once for each of its instants, with an interrupt there."""
    counted = Instants()
    counted.run(act)
    for at in range(counted.count):
        instants = Instants(at)
        with pytest.raises(KeyboardInterrupt):
            instants.run(act)
        yield instants


def test_an_interrupt_at_any_instant_of_sending_has_later_calls_seen() -> None:
    @coroutine
    def sent() -> Generator[None, None, str]:
        yield from ()
        return "sent"

    def waited_for() -> None:
        with suppress(StopIteration):
            seams.inside_async(sent).send(None)

    seen = [
        (instants.told(), seams.is_inside())
        for act in (lambda: seams.inside(str, "sent"), waited_for)
        for instants in each_instant(act)
    ]

    assert len(seen) > 6
    assert [where for where, is_inside in seen if is_inside] == []


def test_the_next_call_is_answered_after_an_interrupt_of_one(recorded: Session) -> None:
    assert wrong_in(recorded, QUICK) == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_next_call_is_answered_after_interrupts_at_many_instants(recorded: Session) -> None:
    assert wrong_in(recorded, MANY) == []
