"""What nbckpt must reach, and whether it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.figures import Figure, amount
from tests.bench.standing import Standing, quantile

P95_AT_MOST = 3.0
SCALE = "m"
"""The scale that the goals of the workloads speak of."""

TIMES_S = {"import nbckpt": 0.1, "%load_ext nbckpt, 1000 checkpoints": 0.3}


@dataclass(frozen=True, slots=True)
class Row:
    """What was wanted, what came, and the best that another system did right."""

    what: str
    wanted: str
    got: str
    reached: bool
    by: str = ""
    peer: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadGoal:
    """The most that a workload may cost."""

    added_ms: float
    disk_mb: float
    warm_ms: float
    cold_ms: float


WORKLOAD_GOALS = {
    "pandas": WorkloadGoal(6, 90, 20, 50),
    "numpy": WorkloadGoal(7, 100, 10, 30),
    "sklearn": WorkloadGoal(5, 15, 10, 60),
    "llm": WorkloadGoal(1, 3, 2, 5),
    "shared-refs": WorkloadGoal(5, 20, 5, 20),
    "small-objects": WorkloadGoal(300, 10, 300, 500),
}

AXES = (
    ("added per cell, median", "added_ms", 1e-3, "s", lambda s: s.median_ms),
    ("on disk", "disk_mb", 1e6, "B", lambda s: s.bytes_stored / 1e6),
    ("slowest restore, warm", "warm_ms", 1e-3, "s", lambda s: max(s.warm_ms.values())),
    (
        "slowest restore, fresh process that has begun",
        "cold_ms",
        1e-3,
        "s",
        lambda s: max(s.cold_ms.values()),
    ),
)
"""Name, field of the goal, one of it in the unit that it is written in, and where it stands."""


def of_workload(name: str, found: Sequence[Standing]) -> Iterator[Row]:
    """How nbckpt stood against the goal, and against the best peer that was right."""
    ours = next((s for s in found if s.system == "nbckpt"), None)
    goal = WORKLOAD_GOALS.get(name)
    if ours is None or goal is None:
        return
    if ours.failed is not None:
        yield Row(name, "runs", ours.failed, reached=False)
        return
    peers = [s for s in found if s.is_right and s.system not in ("nbckpt", "bare", "rerun")]
    for label, field, scale, unit, stand in AXES:
        best = min(peers, key=stand, default=None)
        peer = f"{amount(stand(best) * scale, unit)} ({best.system})" if best else ""
        yield _row(f"{name}: {label}", stand(ours), getattr(goal, field), scale, unit, peer)
    if ours.small_ms and ours.median_ms > 0:  # less than nothing is the noise of the machine
        ratio = quantile(ours.small_ms, 0.95) / ours.median_ms
        yield _row(f"{name}: p95 / median of what is added", ratio, P95_AT_MOST, 1, "x")
    states = f"{ours.right} of {ours.states}{''.join(f'; {f}' for f in ours.faults)}"
    yield Row(f"{name}: states right", "all", states, reached=ours.is_right)


def of_figures(figures: Sequence[Figure]) -> Iterator[Row]:
    """Those that have a goal."""
    for figure in figures:
        if figure.at_most is not None and figure.values:
            yield _row(figure.label, figure.median, figure.at_most, 1, figure.unit)


def of_times(figures: Sequence[Figure]) -> Iterator[Row]:
    """The ones of `measures` that have a goal."""
    for figure in figures:
        if figure.label in TIMES_S:
            yield _row(figure.label, figure.median, TIMES_S[figure.label], 1, "s")


def of_traps(outcomes: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Every trap right, live and in a fresh process."""
    for phase in ("live", "cold"):
        ours = [o for o in outcomes if o["system"] == "nbckpt" and o["phase"] == phase]
        if ours:
            right = sum(o["outcome"] == "right" for o in ours)
            got = f"{right} of {len(ours)}"
            yield Row(f"traps right, {phase}", "all", got, reached=right == len(ours))


def _row(what: str, got: float, wanted: float, scale: float, unit: str, peer: str = "") -> Row:
    return Row(
        what,
        f"<= {amount(wanted * scale, unit)}",
        amount(got * scale, unit),
        got <= wanted,
        f"{got / wanted:.2f} of it" if got <= wanted else f"{got / wanted:.2f} times it",
        peer,
    )
