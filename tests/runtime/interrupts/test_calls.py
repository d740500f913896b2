"""An interrupt at any instant of a recorded model call: the next one is answered, and paid once."""

from __future__ import annotations

import random
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from types import coroutine
from typing import Any

import pytest

from nbckpt.llm import scope, seams
from nbckpt.session.session import Session
from nbckpt.steps import current_session
from nbckpt.steps.calls import occurrences
from nbckpt.steps.calls.limits import limited
from nbckpt.steps.calls.occurrences import Occurrences
from nbckpt.steps.calls.plans import Plan
from nbckpt.storage.store import Store
from nbckpt.testing import Provider
from tests.llm.asking import body, post, records_of
from tests.runtime.interrupts.instants import Instants, each_instant, streams_apart
from tests.runtime.interrupts.worlds import problems

pytestmark = pytest.mark.sampled(7)

QUICK, MANY = 2, 300


@pytest.fixture
def recorded(store: Store) -> Iterator[Session]:
    """A session that is open."""
    session = current_session.begin(Session(store, {"__name__": "__main__"}, notebook="test"))
    yield session
    current_session.end()


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


@coroutine
def waited() -> Generator[None, None, str]:
    """Something to wait for, which does not."""
    yield from ()
    return "waited"


@pytest.mark.slow
def test_an_interrupt_at_any_instant_of_a_call_leaves_later_ones_to_the_step() -> None:
    def of_scope() -> None:
        with suppress(StopIteration):
            scope.inside_async(scope.within("call"), waited).send(None)

    def of_occurrences() -> None:
        with suppress(StopIteration):
            occurrences.inside_async(Occurrences(), waited).send(None)

    def inside() -> None:
        scope.inside(scope.within("call"), occurrences.inside, Occurrences(), str, "called")

    with scope.entered("step"):
        before = scope.here()
        seen = [
            (instants.told(), scope.here() is before and occurrences._inside.get() is None)
            for act in (inside, of_scope, of_occurrences)
            for instants in each_instant(act)
        ]

    assert len(seen) > 20
    assert [where for where, is_as_before in seen if not is_as_before] == []


def test_an_interrupt_at_any_instant_of_a_time_limit_leaves_no_timer() -> None:
    plan = Plan(lambda: None, "quick", timeout_s=100)  # type: ignore[arg-type]
    handler = signal.getsignal(signal.SIGALRM)
    of_pytest = signal.setitimer(signal.ITIMER_REAL, 0)

    try:
        left = [
            (i.told(), signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM))
            for i in each_instant(lambda: limited(plan, (), {}))
        ]
    finally:
        signal.setitimer(signal.ITIMER_REAL, *of_pytest)

    assert len(left) > 5
    assert [one for one in left if one[1:] != ((0.0, 0.0), handler)] == []


@pytest.mark.slow
def test_an_interrupt_as_a_block_is_entered_or_left_does_not_leave_it_entered(shell: Any) -> None:
    source = "with nbckpt.recording('off'): pass"
    shell.run_cell("import nbckpt")
    for counted in (Instants(), Instants()):  # the first one imports
        counted.run(lambda: shell.run_cell(source))
    around = ("contextlib.py", "scope.py")
    chosen = [at for (code, _), at in counted.places.items() if code.co_filename.endswith(around)]

    found = []
    for at in chosen[::3]:
        instants = Instants(at)
        with suppress(KeyboardInterrupt), streams_apart():
            instants.run(lambda: shell.run_cell(source))
        found.append((instants.told(), len(scope._places), scope.here().mode))

    assert len(found) > 10
    assert [one for one in found if one[1:] != (0, None)] == []


@pytest.mark.slow
def test_the_next_call_is_answered_after_an_interrupt_of_one(recorded: Session) -> None:
    assert wrong_in(recorded, QUICK) == []


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_next_call_is_answered_after_interrupts_at_many_instants(recorded: Session) -> None:
    assert wrong_in(recorded, MANY) == []
