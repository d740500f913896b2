"""Markdown of what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench import goals
from tests.bench.figures import Figure, amount, in_floors
from tests.bench.goals import Row
from tests.bench.standing import Standing

MARKS = {"right": "right", "wrong": "WRONG", "fails": "fails", "crash": "crash", "hangs": "hangs"}


def heading(machine: dict[str, Any], date: str) -> str:
    """What it was measured on."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        "# What nbckpt costs and saves\n\n"
        f"Measured {date} by `python -m tests.bench` on {machine['cores']} cores "
        f"({machine['architecture']}), {machine['memory_gib']} GiB of memory, "
        f"{machine['system']}, Python {machine['python']}, {versions}.\n"
    )


def goal_table(rows: Iterable[Row]) -> str:
    """Each goal: reached or not, and by how much; what was missed stands in bold."""
    ordered = list(rows)
    reached = sum(row.reached for row in ordered)
    lines = [
        f"## Goals\n\n{reached} of {len(ordered)} reached.\n",
        "| what | goal | measured | reached | best peer that is right |",
        "| --- | ---: | ---: | --- | ---: |",
    ]
    for row in ordered:
        verdict = f"yes, {row.by}" if row.reached else f"**no**, {row.by}"
        verdict = verdict.removesuffix(", ")
        lines.append(f"| {row.what} | {row.wanted} | {row.got} | {verdict} | {row.peer} |")
    return "\n".join(lines) + "\n"


def workload_table(
    name: str, scale: str, about: str, found: Sequence[Standing], absent: dict[str, str]
) -> str:
    """All systems on one workload."""
    labels = next((list(s.warm_ms) for s in found if s.warm_ms), [])
    colds = next((list(s.cold_ms) for s in found if s.cold_ms), [])
    heads = ["system", "added per cell, median", "p95", "on disk"]
    heads += [f"restore: {label}" for label in labels]
    heads += ["fresh process: start", *(f"then: {label}" for label in colds)] * bool(colds)
    heads += ["peak memory over bare", "states right", "rounds"]
    bare = next((s for s in found if s.system == "bare" and s.failed is None), None)
    lines = [f"### {name} (scale {scale})\n\n{about}.\n", _line(heads)]
    lines.append(_line(["---", *["---:"] * (len(heads) - 2), "---:"]))
    for one in found:
        if one.failed is not None:
            cells = [one.system, one.failed, *[""] * (len(heads) - 2)]
        elif one is bare:
            cells = _bare_cells(one, len(labels) + len(colds) + bool(colds))
        else:
            cells = _cells(one, labels, colds, bare)
        lines.append(_line(cells))
    lines += [_line([name, text, *[""] * (len(heads) - 2)]) for name, text in absent.items()]
    return "\n".join(lines) + "\n"


def trap_table(outcomes: Sequence[dict[str, Any]]) -> str:
    """Each trap, live / in a fresh process."""
    systems = list(dict.fromkeys(o["system"] for o in outcomes))
    traps = list(dict.fromkeys(o["trap"] for o in outcomes))
    found = {(o["system"], o["trap"], o["phase"]): o["outcome"] for o in outcomes}
    lines = [
        "## Traps\n\nSmall notebooks with one right answer, live / in a fresh process.\n",
        _line(["trap", *systems]),
        _line(["---"] * (len(systems) + 1)),
    ]
    for trap in traps:
        cells = []
        for system in systems:
            pair = [MARKS.get(found.get((system, trap, p), ""), "-") for p in ("live", "cold")]
            cells.append(pair[0] if pair[0] == pair[1] else " / ".join(pair))
        lines.append(_line([trap, *cells]))
    for phase in ("live", "cold"):
        sums = [sum(found.get((s, t, phase)) == "right" for t in traps) for s in systems]
        lines.append(_line([f"**right, {phase}**", *(f"{n} of {len(traps)}" for n in sums)]))
    return "\n".join(lines) + "\n"


def figure_table(title: str, figures: Sequence[Figure]) -> str:
    """Median and how far it goes up; the median in floors, where a figure is held against one."""
    is_held = any(f.ratio is not None for f in figures)
    heads = ["what", "median", "p95 or largest", "goal", "runs", *["in floors"] * is_held]
    lines = [f"## {title}\n", _line(heads), _line(["---", *["---:"] * (len(heads) - 1)])]
    for f in figures:
        if f.absent:
            lines.append(_line([f.label, f.absent, *[""] * (len(heads) - 2)]))
            continue
        goal = "" if f.at_most is None else f"<= {f.text(f.at_most)}"
        cells = [f.label, f.text(f.median), f.text(f.high), goal, str(len(f.values))]
        floors = "" if f.ratio is None else f"{in_floors(f.ratio)} x {f.floor}"
        lines.append(_line([*cells, *[floors] * is_held]))
    return "\n".join(lines) + "\n"


def _cells(one: Standing, labels: list[str], colds: list[str], bare: Standing | None) -> list[str]:
    warm, cold = one.warm_ms or {}, one.cold_ms or {}
    times = [warm.get(x) for x in labels]
    times += [one.start_ms, *(cold.get(x) for x in colds)] * bool(colds)
    over = f"{one.peak_mb - bare.peak_mb:,.0f} MB" if bare else f"{one.peak_mb:,.0f} MB in all"
    faults = "".join(f"; {fault}" for fault in one.faults)
    return [
        one.system,
        _ms(one.median_ms),
        _ms(one.p95_ms),
        amount(one.bytes_stored, "B"),
        *("-" if t is None else _ms(t) for t in times),
        over,
        f"{one.right} of {one.states}{faults}",
        str(one.rounds),
    ]


def _bare_cells(one: Standing, times: int) -> list[str]:
    return ["bare", "0", "0", "-", *["-"] * times, "0", "-", str(one.rounds)]


def _ms(value: float) -> str:
    return amount(value / 1e3, "s")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def goal_rows(
    workloads: dict[str, Sequence[Standing]],
    outcomes: Sequence[dict[str, Any]],
    limits: Sequence[Figure],
    times: Sequence[Figure],
) -> list[Row]:
    """All goals that what was measured speaks of."""
    rows = [row for name, found in workloads.items() for row in goals.of_workload(name, found)]
    return [*rows, *goals.of_traps(outcomes), *goals.of_figures(limits), *goals.of_times(times)]
