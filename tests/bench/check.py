"""Ratios of the rows to their floors, held against those in `ratios.json`.

A ratio is the median of a row by the median of its floor in the same process. A slow machine makes
both slow, so that a ratio that grows speaks of nbckpt.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.figures import Figure, figure_of, in_floors

RATIOS = Path(__file__).parent / "ratios.json"
WORSE = 1.3
"""A ratio may grow by so much; more is worse."""
REPEATS = 2
"""How often a limit is measured again that has a row that looks worse: the best median counts."""
FULL, QUICK = "full", "quick"
"""Sizes of the limits: each has ratios of its own."""

Record = dict[str, Any]
Ratios = dict[str, dict[str, dict[str, float]]]
"""Limit → floor → row → ratio."""


class CheckError(Exception):
    """What is asked for cannot be held against anything, or cannot be kept."""


@dataclass(frozen=True, slots=True)
class Held:
    """One row: its ratio when it was kept, and now; None where it was not, or is not any more."""

    limit: str
    floor: str
    label: str
    then: float | None
    now: float | None
    absent: str = ""

    @property
    def times(self) -> float | None:
        """The ratio now, in ratios then."""
        return None if self.then is None or self.now is None else self.now / self.then

    @property
    def verdict(self) -> str:
        """``worse``, ``new``, ``gone``, why it is absent, or nothing."""
        if self.now is None:
            return self.absent or "gone"
        if self.times is None:
            return "new"
        return "WORSE" if self.times > WORSE else ""

    @property
    def is_worse(self) -> bool:
        """True if the row fails the check."""
        return self.times is not None and self.times > WORSE


@dataclass(frozen=True, slots=True)
class Verdict:
    """All rows, and the limits that could not be measured, each with its reason."""

    rows: Sequence[Held]
    failures: dict[str, str]

    @property
    def has_passed(self) -> bool:
        """True if no row is worse, and every limit was measured."""
        return not self.failures and not any(row.is_worse for row in self.rows)

    @property
    def text(self) -> str:
        """A table, and one line for each thing that the reader must know."""
        lines = [
            "| row | floor | ratio then | ratio now | times | |",
            "| --- " + "| ---: " * 5 + "|",
        ]
        lines += [
            f"| {r.label} | {r.floor} | {_text(r.then)} | {_text(r.now)} | "
            f"{'' if r.times is None else f'{r.times:.2f}'} | {r.verdict} |"
            for r in self.rows
        ]
        worse = sum(row.is_worse for row in self.rows)
        held = sum(row.times is not None for row in self.rows)
        lines += [
            "",
            f"{held} rows held against their floors, {worse} more than {WORSE} times worse.",
        ]
        for verdict in ("new", "gone"):
            named = [row.label for row in self.rows if row.verdict == verdict]
            lines += [f"{verdict} rows, held by nothing: {'; '.join(named)}."] * bool(named)
        lines += [f"{limit} was not measured: {why}" for limit, why in self.failures.items()]
        return "\n".join(lines) + "\n"


def judged(
    records: Iterable[Record],
    kept: Ratios,
    size: str,
    limits: Iterable[str],
    again: Callable[[str], Iterable[Record]] | None = None,
) -> Verdict:
    """The rows of `records` against what was kept.

    Parameters
    ----------
    limits
        All limits that there are: what was kept of another is gone.
    again
        Measures a limit again; None where that cannot be done.

    Raises
    ------
    CheckError
        If nothing was kept of any of the rows.
    """
    found = list(records)
    rows = _rows(found, kept, size, set(limits))
    for _ in range(REPEATS if again else 0):
        for limit in sorted({row.limit for row in rows if row.is_worse}):
            assert again is not None
            found += again(limit)
        rows = _rows(found, kept, size, set(limits))
    failures = {r["measure"]: r["why"] for r in found if r["kind"] == "failed"}
    if not failures and all(row.times is None for row in rows):
        message = f"no row of these has a ratio of size {size!r}: --keep-ratios keeps them"
        raise CheckError(message)
    return Verdict(rows, failures)


def _rows(records: Sequence[Record], kept: Ratios, size: str, limits: set[str]) -> list[Held]:
    now = _flat(ratios_of(records, size, min))
    then = _flat(kept)
    absences = {
        r["measure"]: r["figure"]["absent"]
        for r in _limits(records, size)
        if r["figure"].get("absent")
    }
    measured = {r["measure"] for r in _limits(records, size)}
    gone = [key for key in then if key not in now and (key[0] in measured or key[0] not in limits)]
    return [
        Held(*key, then.get(key), now.get(key), absences.get(key[0], "")) for key in [*now, *gone]
    ]


def ratios_of(records: Iterable[Record], size: str, of: Callable[[list[float]], float]) -> Ratios:
    """The ratio of each row that has a floor; `of` makes one of those of several runs."""
    several: dict[tuple[str, str, str], list[float]] = {}
    for record in _limits(records, size):
        figure: Figure = figure_of(record["figure"])
        if figure.floor and figure.ratio is not None:
            key = (record["measure"], figure.floor, figure.label)
            several.setdefault(key, []).append(figure.ratio)
    found: Ratios = {}
    for (limit, floor, label), values in several.items():
        found.setdefault(limit, {}).setdefault(floor, {})[label] = of(values)
    return found


def _limits(records: Iterable[Record], size: str) -> list[Record]:
    return [r for r in records if r["kind"] == "limit" and r.get("size", FULL) == size]


def read_ratios(path: Path) -> dict[str, Any]:
    """What `write_ratios` wrote: the ratios by size, and the machine that they were kept on.

    Raises
    ------
    CheckError
        If the file cannot be read, or holds anything else.
    """
    try:
        kept = json.loads(path.read_text())
    except OSError as error:
        message = f"{path}: {error.strerror}; --keep-ratios writes it"
        raise CheckError(message) from error
    except ValueError as error:
        message = f"{path} is not JSON: {error}"
        raise CheckError(message) from error
    if not isinstance(kept, dict) or not isinstance(kept.get("machine"), str):
        message = f"{path} names no machine: --keep-ratios writes it"
        raise CheckError(message)
    for size in kept.keys() - {"machine"}:
        if size not in (FULL, QUICK) or not _is_tree_of_ratios(kept[size], depth=3):
            message = f"{path}: {size!r} has no ratios above 0 by limit, floor and row"
            raise CheckError(message)
    return kept


def write_ratios(
    path: Path, records: Sequence[Record], size: str, *, of: Callable[..., float]
) -> int:
    """Keep the ratios of the limits in `records`, in place of those; how many rows they are.

    Raises
    ------
    CheckError
        If a limit was not measured, nothing has a floor, or ratios of other limits are in the file
        that another machine gave.
    """
    failed = [f"{r['measure']}: {r['why']}" for r in records if r["kind"] == "failed"]
    if failed:
        message = f"nothing is kept where a limit fails: {'; '.join(failed)}"
        raise CheckError(message)
    new = ratios_of(records, size, of)
    if not new:
        message = f"no row of size {size!r} has a floor: nothing to keep"
        raise CheckError(message)
    machine = machine_of(records)
    kept = read_ratios(path) if path.exists() else {"machine": machine}
    rest = [kept.get(s, {}).keys() - (new.keys() if s == size else ()) for s in (FULL, QUICK)]
    if kept["machine"] != machine and any(rest):
        message = f"{path} was kept on {kept['machine']}, this is {machine}: remove it and keep all"
        raise CheckError(message)
    kept |= {"machine": machine, size: {**kept.get(size, {}), **_rounded(new)}}
    path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    return len(_flat(new))


def machine_of(records: Iterable[Record]) -> str:
    """The machine in words: ratios hold for one machine.

    Raises
    ------
    CheckError
        If no record names it.
    """
    machine = next((r for r in reversed(list(records)) if r["kind"] == "machine"), None)
    if machine is None:
        message = "no record names the machine: are these records of a run?"
        raise CheckError(message)
    minor = machine["python"].rpartition(".")[0]
    return f"{machine['cores']} cores, {machine['architecture']}, Python {minor}"


def _flat(ratios: Ratios) -> dict[tuple[str, str, str], float]:
    return {
        (limit, floor, label): ratio
        for limit, floors in ratios.items()
        for floor, rows in floors.items()
        for label, ratio in rows.items()
    }


def _rounded(ratios: Ratios) -> Ratios:
    return {
        limit: {
            floor: {label: float(f"{ratio:.4g}") for label, ratio in rows.items()}
            for floor, rows in floors.items()
        }
        for limit, floors in ratios.items()
    }


def _is_tree_of_ratios(value: object, depth: int) -> bool:
    if depth:
        return isinstance(value, dict) and all(
            _is_tree_of_ratios(v, depth - 1) for v in value.values()
        )
    return type(value) in (int, float) and math.isfinite(value) and value > 0  # type: ignore[operator,arg-type]


def _text(ratio: float | None) -> str:
    return "" if ratio is None else in_floors(ratio)
