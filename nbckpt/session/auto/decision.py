"""Decision whether a cell is kept or joined to the next.

Pure: what was spent and measured comes in as arguments.

Notes
-----
The default of ``%nbckpt auto`` follows Young [1]_ and Daly [2]_: work is kept when as much of it
has gathered as ``sqrt(2 · δ · M)``, with the cost δ of saving it and the mean time M between
failures. It is the same to say that the loss to be expected, w²/2M of w seconds of work, has
reached the price of saving it. Both terms are measured: δ in the session, M in the store's
journals, of sessions that lived until they were ended properly or live still (these are censored)
and of those that died. The likeliest M of an exponential distribution is then the time that all
of them lived, divided by the number of deaths.

References
----------
.. [1] Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
.. [2] Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
   Future Generation Computer Systems 22(3), 2006.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from nbckpt.config.auto_policy import Policy
from nbckpt.text.escape import lines_of
from nbckpt.text.units import count_text, duration_text

WORKING_DAY_S = 8 * 3600.0
"""One failure in a working day is what is believed before anything was seen."""

S_PER_USD = 60.0
"""Seconds that a dollar is worth: an hour of the user's time is taken for 60 dollars."""

SAVE_S = 0.003
"""Seconds that saving next to nothing is taken to cost, before it was measured."""

BYTES_PER_S = 1_000_000_000
"""At which rate a cell is held by what is new in memory, before it was measured."""

MOST_NAMED = 5
"""Of the joined cells; the rest is counted."""


class Spent(NamedTuple):
    """Work that would be lost if everything ended now: all that ran since the last checkpoint.

    Attributes
    ----------
    cells
        Number of cells that ran and are not kept, including the one that just ended.
    run_s
        Seconds that they ran together.
    cost_usd
        Dollars that their model calls cost.
    since_s
        Seconds since the last checkpoint.
    """

    cells: int = 0
    run_s: float = 0.0
    cost_usd: float = 0.0
    since_s: float = 0.0

    @property
    def work_s(self) -> float:
        """Time and money as seconds."""
        return self.run_s + self.cost_usd * S_PER_USD


class Measured(NamedTuple):
    """Measured cost of saving, and of time between failures of sessions.

    Attributes
    ----------
    save_s
        Seconds for which a checkpoint holds a cell up.
    failure_s
        Mean seconds between failures.
    """

    save_s: float
    failure_s: float

    @property
    def interval_s(self) -> float:
        """The work after which it pays to keep it, after Young and Daly."""
        return math.sqrt(2 * self.save_s * self.failure_s)


class Decision(NamedTuple):
    """Decision on keeping the cells that ran, with the reason as a clause."""

    keeps: bool
    why: str


class Life(NamedTuple):
    """Lifetime of a session in seconds, and a flag for a session that died.

    Attributes
    ----------
    failed
        False if it was ended properly or lives still: it might have gone on.
    """

    lasted_s: float
    failed: bool


def decide(policy: Policy, spent: Spent, measured: Measured) -> Decision:
    """Decide on keeping a cell that has just ended, with all that was joined to it.

    Under `event` it is never kept here: the user's code decides that.
    """
    match policy.kind:
        case "on" | "skip":
            return Decision(keeps=True, why="every cell is kept")
        case "off":
            return Decision(keeps=False, why="nothing is kept that does not ask for it")
        case "event":
            return Decision(keeps=False, why="kept when `session.event` says so")
        case "cells":
            keeps, of = spent.cells >= policy.count, count_text(policy.count, "cell")
            return Decision(keeps, f"{spent.cells} of {of}")
        case "seconds":
            keeps = spent.since_s >= policy.seconds
            since, due = duration_text(spent.since_s), duration_text(policy.seconds)
            return Decision(keeps, f"{since} of {due}")
    interval_s = measured.interval_s
    work, due = duration_text(spent.work_s), duration_text(interval_s)
    return Decision(spent.work_s >= interval_s, f"{work} of work of {due}")


def time_between_failures(lives: Iterable[Life]) -> float:
    """The likeliest mean time between failures; one in a working day counts as seen once."""
    known = list(lives)
    return (WORKING_DAY_S + sum(life.lasted_s for life in known)) / (
        1 + sum(life.failed for life in known)
    )


def estimated_save_s(size_bytes: int) -> float:
    """Estimated seconds to save a number of bytes, for as long as saving was not measured."""
    return SAVE_S + size_bytes / BYTES_PER_S


def status_text(policy: Policy, spent: Spent, measured: Measured, joined: Iterable[str]) -> str:
    """Text on the `auto` policy, both terms that decide it, and the cells joined until then."""
    lines = [f"auto        {policy}"]
    if policy.kind == "cost":
        lines[0] += (
            f": kept after {duration_text(measured.interval_s)} of work "
            f"(saving takes {duration_text(measured.save_s)}, "
            f"one failure in {duration_text(measured.failure_s)})"
        )
    if names := list(joined):
        shown = ", ".join(names[-MOST_NAMED:])
        more = f" and {len(names) - MOST_NAMED} before" if len(names) > MOST_NAMED else ""
        work = duration_text(spent.work_s)
        lines.append(f"joined      {count_text(len(names), 'cell')}, {work} of work: {shown}{more}")
    return lines_of(lines)
