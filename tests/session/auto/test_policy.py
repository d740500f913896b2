"""When to checkpoint: what may be asked for, and the decision, which is pure."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.config.auto_policy import COST, OFF, Policy, parse
from nbckpt.errors import UsageError
from nbckpt.session.auto import lifetimes
from nbckpt.session.auto.decision import (
    WORKING_DAY_S,
    Life,
    Measured,
    Spent,
    decide,
    estimated_save_s,
    status_text,
    time_between_failures,
)

amounts = st.floats(0, 1e7)
costs = st.floats(1e-6, 1e4)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", COST),
        ("cost", COST),
        ("on", Policy("on")),
        ("off", OFF),
        ("skip", Policy("skip")),
        ("every 5", Policy("cells", count=5)),
        ("every 5 cells", Policy("cells", count=5)),
        ("every cell", Policy("on")),
        ("every 1", Policy("on")),
        ("every 30s", Policy("seconds", seconds=30)),
        ("  every  2 min ", Policy("seconds", seconds=120)),
        ("every 1.5 h", Policy("seconds", seconds=5400)),
        ("event", Policy("event")),
        ("event epoch", Policy("event", event="epoch")),
    ],
)
def test_a_policy_is_read_from_what_one_would_type(text: str, meant: Policy) -> None:
    assert parse(text) == meant
    assert parse(str(meant)) == meant


@pytest.mark.parametrize(
    "text",
    ["maybe", "ON", "every", "every 0", "every -5", "every 0s", "every 5 apples", "every s",
     "event a b", "on off", "every inf s", "every nan s", "every 1e9999 s", "30s", "every ½"],
)  # fmt: skip
def test_what_is_no_policy_is_refused_with_all_there_are(text: str) -> None:
    with pytest.raises(UsageError, match="on, off, skip, cost, `every 5`") as refused:
        parse(text)

    assert text in str(refused.value)


@given(amounts, amounts, costs, costs)
def test_more_work_is_kept_where_less_is(
    less: float, more: float, save: float, mtbf: float
) -> None:
    less, more = sorted((less, more))
    measured = Measured(save, mtbf)

    assert (
        decide(COST, Spent(run_s=more), measured).keeps
        >= decide(COST, Spent(run_s=less), measured).keeps
    )


@given(amounts, costs, costs, costs)
def test_dearer_saving_keeps_less(work: float, cheap: float, dear: float, mtbf: float) -> None:
    cheap, dear = sorted((cheap, dear))
    spent = Spent(run_s=work)

    assert (
        decide(COST, spent, Measured(cheap, mtbf)).keeps
        >= decide(COST, spent, Measured(dear, mtbf)).keeps
    )


@given(amounts, costs, costs, costs)
def test_rarer_failures_keep_less(work: float, save: float, often: float, rarely: float) -> None:
    often, rarely = sorted((often, rarely))
    spent = Spent(run_s=work)

    assert (
        decide(COST, spent, Measured(save, often)).keeps
        >= decide(COST, spent, Measured(save, rarely)).keeps
    )


@given(amounts, amounts, costs, costs)
def test_money_counts_as_time(run: float, usd: float, save: float, mtbf: float) -> None:
    measured = Measured(save, mtbf)
    with_money = decide(COST, Spent(run_s=run, cost_usd=usd), measured).keeps

    assert with_money >= decide(COST, Spent(run_s=run), measured).keeps


@given(costs, costs)
def test_work_is_kept_when_its_expected_loss_has_reached_the_price(
    save: float, mtbf: float
) -> None:
    due = Measured(save, mtbf).interval_s

    assert due**2 / (2 * mtbf) == pytest.approx(save)
    assert decide(COST, Spent(run_s=due * 1.001), Measured(save, mtbf)).keeps
    assert not decide(COST, Spent(run_s=due * 0.999), Measured(save, mtbf)).keeps


@given(st.integers(1, 1000), st.integers(1, 1000), st.floats(0, 1e6), st.floats(1, 1e6))
def test_the_other_policies_count_what_they_name(
    cells: int, count: int, since: float, seconds: float
) -> None:
    spent = Spent(cells=cells, since_s=since)
    measured = Measured(1, 1)

    assert decide(Policy("cells", count=count), spent, measured).keeps == (cells >= count)
    assert decide(Policy("seconds", seconds=seconds), spent, measured).keeps == (since >= seconds)
    assert decide(Policy("on"), spent, measured).keeps
    assert decide(Policy("skip"), spent, measured).keeps
    assert not decide(OFF, spent, measured).keeps
    assert not decide(Policy("event"), spent, measured).keeps


def test_every_decision_says_why() -> None:
    spent, measured = Spent(cells=2, run_s=3, since_s=7), Measured(0.01, 28800)

    assert decide(COST, spent, measured).why == "3 s of work of 24 s"
    assert decide(parse("every 5"), spent, measured).why == "2 of 5 cells"
    assert decide(parse("every 30s"), spent, measured).why == "7 s of 30 s"


# -- measuring ----------------------------------------------------------------------------------


def test_before_anything_was_seen_a_session_fails_once_in_a_working_day() -> None:
    assert time_between_failures([]) == WORKING_DAY_S


def test_sessions_that_did_not_fail_lengthen_the_time_and_those_that_did_shorten_it() -> None:
    assert time_between_failures([Life(3600, failed=False)]) == WORKING_DAY_S + 3600
    assert time_between_failures([Life(60, failed=True)] * 9) == (WORKING_DAY_S + 540) / 10


@given(st.lists(st.builds(Life, st.floats(0, 1e6), st.booleans())), st.floats(0, 1e6))
def test_a_longer_life_is_never_a_sign_of_more_failures(seen: list[Life], more: float) -> None:
    before = time_between_failures(seen)

    assert time_between_failures([*seen, Life(more, failed=False)]) >= before
    assert math.isfinite(before)


def session_record(name: str, at: float, **members: Any) -> dict[str, Any]:
    return {"kind": "session", "session": name, "at": at, **members}


def test_lives_are_read_from_first_to_last_record() -> None:
    sessions = [session_record(name, 100.0) for name in ("died", "ended", "alive", "silent")]
    others = [
        {"kind": "checkpoint", "session": "died", "created_at": 130.0},
        {"kind": "event", "session": "died", "event": "ran", "at": 120.0},
        {"kind": "event", "session": "ended", "event": "ended", "at": 190.0},
        {"kind": "checkpoint", "session": "alive", "created_at": 110.0},
    ]

    found = lifetimes.lives_of(
        sessions, others, now=1000.0, is_alive=lambda r: r["session"] == "alive"
    )

    assert found == [
        Life(30.0, failed=True), Life(90.0, failed=False), Life(900.0, failed=False),
        Life(0.0, failed=True),
    ]  # fmt: skip


def test_a_process_is_alive_until_it_has_ended() -> None:
    host = socket.gethostname()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert lifetimes.is_alive({"pid": process.pid, "host": host})
        assert not lifetimes.is_alive({"pid": process.pid, "host": "elsewhere"})
    assert not lifetimes.is_alive({"pid": process.pid, "host": host})
    assert lifetimes.is_alive({"pid": os.getpid(), "host": host})
    assert not lifetimes.is_alive({"host": host})


def test_more_to_save_costs_more_before_it_was_measured() -> None:
    assert 0 < estimated_save_s(0) < estimated_save_s(10**9)


def test_the_status_tells_the_interval_both_terms_and_what_is_joined() -> None:
    spent, measured = Spent(cells=7, run_s=1.5), Measured(0.004, 28800)

    text = status_text(COST, spent, measured, [f"In [{n}]" for n in range(1, 8)])

    first, second = text.splitlines()
    assert first == (
        "auto        cost: kept after 15.2 s of work (saving takes 4 ms, one failure in 8 h)"
    )
    assert second == (
        "joined      7 cells, 1.5 s of work: In [3], In [4], In [5], In [6], In [7] and 2 before"
    )
    assert status_text(Policy("on"), Spent(), measured, []) == "auto        on"
