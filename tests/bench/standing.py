"""How each system stood on one workload: medians over the rounds, and what it got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Record = dict[str, Any]

LARGE_BYTES = 4_000_000
"""A cell that stores more than this makes something large for the first time."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One system on one workload.

    Attributes
    ----------
    added_ms
        For each cell, the median over the rounds, less that of the notebook alone.
    warm_ms, cold_ms
        Target → median time of going there, in the same process and in a fresh one.
    start_ms
        Importing and attaching the system in a fresh process, before it can go anywhere.
    right, states
        How many states were gone to, and how many of them came back right.
    small_ms
        `added_ms` of the cells that made nothing large; None where it is not known which did.
    """

    system: str
    failed: str | None = None
    rounds: int = 0
    added_ms: Sequence[float] = ()
    bytes_stored: float = 0
    warm_ms: dict[str, float] | None = None
    cold_ms: dict[str, float] | None = None
    start_ms: float | None = None
    peak_mb: float = 0
    right: int = 0
    states: int = 0
    faults: tuple[str, ...] = ()
    small_ms: Sequence[float] | None = None

    @property
    def median_ms(self) -> float:
        """Added to a cell."""
        return median(self.added_ms)

    @property
    def p95_ms(self) -> float:
        """Of what is added to a cell."""
        return quantile(self.added_ms, 0.95)

    @property
    def is_right(self) -> bool:
        """Whether it finished, and every state came back right."""
        return self.failed is None and self.right == self.states > 0 and not self.faults


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def standings(records: Sequence[Record]) -> list[Standing]:
    """Of all systems that were run on one workload, in the order of their names here."""
    by_system: dict[str, list[Record]] = {}
    for record in records:
        by_system.setdefault(record["system"], []).append(record)
    bare = _cells(_finished(by_system.get("bare", [])))
    return [_standing(system, runs, bare) for system, runs in by_system.items()]


def _standing(system: str, runs: list[Record], bare: list[float]) -> Standing:
    done = _finished(runs)
    if not done:
        return Standing(system, failed=runs[0]["live"]["failed"])
    live = [run["live"] for run in done]
    cells = _cells(done)
    added = [cell - base for cell, base in zip(cells, bare or [0.0] * len(cells), strict=False)]
    visits = [v for run in done for v in (*run["live"]["restores"].values(), *run["cold"].values())]
    starts = [v["start_ms"] for run in done for v in run["cold"].values() if "start_ms" in v]
    weights = next((run["cells_bytes"] for run in runs if "cells_bytes" in run), None)
    return Standing(
        system,
        rounds=len(done),
        added_ms=added,
        bytes_stored=median(one["bytes"] for one in live),
        warm_ms=_times([one["restores"] for one in live]),
        cold_ms=_times([run["cold"] for run in done]),
        start_ms=median(starts) if starts else None,
        peak_mb=median(one["peak_mb"] for one in live),
        right=sum(bool(visit.get("ok")) for visit in visits),
        states=len(visits),
        faults=_faults(live, len(cells)),
        small_ms=weights and [a for a, b in zip(added, weights, strict=False) if b < LARGE_BYTES],
    )


def _finished(runs: list[Record]) -> list[Record]:
    return [run for run in runs if "failed" not in run["live"]]


def _cells(runs: list[Record]) -> list[float]:
    lists = [run["live"]["cells_ms"] for run in runs]
    return [median(cell) for cell in zip(*lists, strict=False)]


def _times(visits: list[dict[str, Record]]) -> dict[str, float]:
    labels = dict.fromkeys(label for found in visits for label in found)
    times = {
        label: [v[label]["ms"] for v in visits if "ms" in v.get(label, {})] for label in labels
    }
    return {label: median(found) for label, found in times.items() if found}


def _faults(live: list[Record], cells: int) -> tuple[str, ...]:
    found = []
    errors = max(len(one["errors"]) for one in live)
    if errors:
        found.append(f"{errors} cells with errors")
    stops = [one["stopped_at"] for one in live if "stopped_at" in one]
    if stops:
        found.append(f"stopped after {min(stops) + 1} cells")
    return tuple(found)
