"""The text of ``RESULTS.md`` from the records of a run, or of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench import goals, tables
from tests.bench.figures import Figure, figure_of
from tests.bench.standing import Standing, standings
from tests.bench.systems import SYSTEMS

Record = dict[str, Any]


def document_of(records: Iterable[Record]) -> str:
    """Goals first, then every table that there are records for."""
    found = list(records)
    machine = [r for r in found if r["kind"] == "machine"][-1]
    runs = [r for r in found if r["kind"] == "run"]
    outcomes = _latest_traps(found)
    limits = [figure_of(r["figure"]) for r in _latest(found, "limit")]
    times = [figure_of(r["figure"]) for r in _latest(found, "time")]
    floors = _joined(figure_of(r["figure"]) for r in _latest(found, "floor"))
    absent = {r["system"]: r["why"] for r in found if r["kind"] == "absent"}
    stood = {key: standings(_ordered(group)) for key, group in _by_workload(runs).items()}
    judged = {name: s for (name, scale), s in stood.items() if scale == goals.SCALE}
    parts = [tables.heading(machine, machine["date"])]
    rows = tables.goal_rows(judged, outcomes, limits, times)
    parts += [tables.goal_table(rows)] * bool(rows)
    parts += [_workloads(stood, runs, absent)] * bool(runs)
    parts += [tables.trap_table(outcomes)] * bool(outcomes)
    parts += [tables.figure_table("Floors: the machine meanwhile", floors)] * bool(floors)
    parts += [tables.figure_table("Limits", limits)] * bool(limits)
    parts += [tables.figure_table("Further measures", times)] * bool(times)
    return "\n".join(parts)


def _workloads(
    stood: dict[tuple[str, str], list[Standing]], runs: list[Record], absent: dict[str, str]
) -> str:
    about = {(r["workload"], r["scale"]): r["about"] for r in runs}
    parts = [
        "## Workloads\n\nTimes are medians over the rounds; *added* is what a cell takes more than "
        "in the notebook alone; in a fresh process the system's own imports and attaching (*start*) "
        "stand apart from going to the state. Every state that is gone to is checked: a digest of each variable, "
        "and what must hold between them.\n"
    ]
    for (name, scale), found in stood.items():
        here = {s: why for s, why in absent.items() if s not in {f.system for f in found}}
        parts.append(tables.workload_table(name, scale, about[name, scale], found, here))
    return "\n".join(parts)


def _by_workload(runs: list[Record]) -> dict[tuple[str, str], list[Record]]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for run in runs:
        groups.setdefault((run["workload"], run["scale"]), []).append(run)
    return groups


def _ordered(runs: Sequence[Record]) -> list[Record]:
    order = list(SYSTEMS)
    return sorted(runs, key=lambda run: order.index(run["system"]))


def _latest(records: list[Record], kind: str) -> list[Record]:
    """The last record of each label of each measure, where the first stood."""
    found: dict[tuple[str, str], Record] = {}
    for record in records:
        if record["kind"] == kind:
            found[record["measure"], record["figure"]["label"]] = record
    return list(found.values())


def _joined(figures: Iterable[Figure]) -> list[Figure]:
    """One figure of each label, with the values of all."""
    values: dict[str, list[float]] = {}
    for figure in figures:
        values.setdefault(figure.label, []).extend(figure.values)
    return [Figure(label, "s", found) for label, found in values.items()]


def _latest_traps(records: list[Record]) -> list[Record]:
    found = {}
    for record in records:
        if record["kind"] == "trap":
            found[record["system"], record["trap"], record["phase"]] = record
    return list(found.values())
