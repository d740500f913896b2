"""Measure nbckpt beside what else there is, and write what came of it."""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.check import (
    FULL,
    QUICK,
    RATIOS,
    CheckError,
    judged,
    machine_of,
    read_ratios,
    write_ratios,
)
from tests.bench.document import document_of
from tests.bench.figures import Figure, machine
from tests.bench.floors import measured_in
from tests.bench.limits import LIMITS, ON_REQUEST
from tests.bench.measures import MEASURES
from tests.bench.rounds import Plan, answer_of, records_of
from tests.bench.systems import PEERS, SYSTEMS, split_by_presence
from tests.bench.worker import ANSWER
from tests.bench.workloads import SCALES, WORKLOADS

RESULTS = Path(__file__).parent / "RESULTS.md"
PARTS = ("workloads", "traps", "limits", "measures")
Record = dict[str, Any]


def main() -> int:
    """Measure what the command line asks for; write `RESULTS.md` when that is everything."""
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.one:
        _one(arguments.one, arguments.quick)
        return 0
    if arguments.check or arguments.keep_ratios:
        _insist_on_limits(parser, arguments)
        try:
            return _check(arguments) if arguments.check else _keep_ratios(arguments)
        except CheckError as error:
            print(f"python -m tests.bench: {error}", file=sys.stderr)
            return 2
    if arguments.ratios != RATIOS:
        parser.error("--ratios goes with --check or --keep-ratios")
    if arguments.read:
        records = _read(arguments)
    else:
        records = list(_kept(_measured(arguments), arguments.json))
    text = document_of(records)
    print(text)
    target = arguments.out or (RESULTS if _is_everything(arguments) else None)
    if target is not None:
        target.write_text(text)
        print(f"written to {target.name}", file=sys.stderr)
    return 0


def _read(arguments: argparse.Namespace) -> list[Record]:
    lines = [line for path in arguments.read for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--systems",
        nargs="+",
        choices=SYSTEMS,
        default=["bare", "nbckpt", *PEERS],
        help="those that are not installed are named as such",
    )
    parser.add_argument(
        "--workloads", nargs="+", default=list(WORKLOADS), help="names, or notebooks by path"
    )
    parser.add_argument("--scale", choices=SCALES, default="m")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measures", nargs="+", choices=[*LIMITS, *MEASURES], help="of these only")
    parser.add_argument(
        "--quick", action="store_true", help="scale s, one round, small limits; writes nothing"
    )
    parser.add_argument(
        "--budget-s", type=float, default=300, help="a notebook runs no cell after this long"
    )
    parser.add_argument("--json", type=Path, help="add every record to this file, as JSON lines")
    parser.add_argument(
        "--from", dest="read", nargs="+", type=Path, default=[], help="measure nothing, read these"
    )
    held = parser.add_mutually_exclusive_group()
    held.add_argument(
        "--check",
        action="store_true",
        help="hold the limits against kept ratios; 1 if one is worse",
    )
    held.add_argument(
        "--keep-ratios",
        action="store_true",
        help="measure the limits three times, keep the medians",
    )
    parser.add_argument("--ratios", type=Path, default=RATIOS, help="the file of the kept ratios")
    parser.add_argument("--out", type=Path, help="where the tables go, also of a part")
    parser.add_argument("--one", choices=[*LIMITS, *MEASURES], help=argparse.SUPPRESS)
    return parser


def _insist_on_limits(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    if tuple(arguments.only) not in (PARTS, ("limits",)):
        parser.error("ratios are of limits: leave --only out")
    others = [name for name in arguments.measures or () if name not in LIMITS]
    if others:
        parser.error(f"no limits, so they have no floors: {', '.join(others)}")
    arguments.only = ("limits",)


def _check(arguments: argparse.Namespace) -> int:
    """Print how the limits stand against the kept ratios; 1 if one is worse."""
    kept = read_ratios(arguments.ratios)
    records, size = _records_to_hold(arguments, rounds=1)
    machine = machine_of(records)
    if machine != kept["machine"]:
        print(f"the ratios are of {kept['machine']}, this is {machine}", file=sys.stderr)

    def again(name: str) -> list[Record]:
        print(f"{name} again: a row of it looks worse", file=sys.stderr)
        return list(_kept(_figures([name], "limits", quick=arguments.quick), arguments.json))

    verdict = judged(records, kept.get(size, {}), size, LIMITS, None if arguments.read else again)
    print(verdict.text)
    if arguments.out is not None:
        arguments.out.write_text(verdict.text)
    return 0 if verdict.has_passed else 1


def _keep_ratios(arguments: argparse.Namespace) -> int:
    records, size = _records_to_hold(arguments, rounds=3)
    count = write_ratios(arguments.ratios, records, size, of=median)
    print(f"{count} ratios kept in {arguments.ratios.name}", file=sys.stderr)
    return 0


def _records_to_hold(arguments: argparse.Namespace, rounds: int) -> tuple[list[Record], str]:
    """Those of files, or of so many rounds of the limits; and the size that they speak of."""
    try:
        records = _read(arguments)
    except (OSError, ValueError) as error:
        message = f"--from: {error}"
        raise CheckError(message) from error
    if not arguments.read:
        for _ in range(rounds):
            records += _kept(_measured(arguments), arguments.json)
    wanted = arguments.measures or LIMITS
    records = [r for r in records if r.get("measure") in wanted or r["kind"] == "machine"]
    return records, QUICK if arguments.quick else FULL


def _is_everything(arguments: argparse.Namespace) -> bool:
    default = _parser().parse_args([])
    chosen = ("only", "systems", "workloads", "scale", "rounds", "measures", "quick", "read")
    return all(getattr(arguments, name) == getattr(default, name) for name in chosen)


def _measured(arguments: argparse.Namespace) -> Iterator[Record]:
    yield {**machine(), "date": str(dt.datetime.now(dt.UTC).date())}
    there, absent = split_by_presence(arguments.systems)
    yield from ({"kind": "absent", "system": s, "why": why} for s, why in absent.items())
    if "workloads" in arguments.only:
        plan = Plan(
            there,
            [str(Path(w).resolve()) if w.endswith(".ipynb") else w for w in arguments.workloads],
            scale="s" if arguments.quick else arguments.scale,
            rounds=1 if arguments.quick else arguments.rounds,
            budget_s=arguments.budget_s,
            timeout_s=3 * arguments.budget_s,
        )
        yield from records_of(plan)
    if "traps" in arguments.only:
        yield from _traps([s for s in there if s != "bare"])
    for part, measures in (("limits", LIMITS), ("measures", MEASURES)):
        if part in arguments.only:
            wanted = arguments.measures or measures.keys() - ON_REQUEST
            names = [name for name in measures if name in wanted]
            yield from _figures(names, part, quick=arguments.quick)


def _traps(systems: list[str]) -> Iterator[Record]:
    for system in systems:
        answer = answer_of(["tests.bench.trapping", "--system", system], 1800)
        if isinstance(answer, dict):
            print(f"traps, {system}: {answer['failed']}", file=sys.stderr)
            continue
        yield from answer


def _figures(names: list[str], part: str, *, quick: bool) -> Iterator[Record]:
    for name in names:
        command = ["tests.bench", "--one", name, *(["--quick"] if quick else [])]
        answer = answer_of(command, 1200)
        if "failed" in answer:
            yield {"kind": "failed", "measure": name, "why": answer["failed"]}
            continue
        about = {"measure": name, "size": QUICK if quick else FULL}
        kind = {"limits": "limit", "measures": "time"}[part]
        yield from ({"kind": kind, **about, "figure": figure} for figure in answer["figures"])
        yield from ({"kind": "floor", **about, "figure": floor} for floor in answer["floors"])


def _one(name: str, quick: bool) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="nbckpt-bench-") as folder,
        contextlib.redirect_stdout(sys.stderr),
    ):
        floors: list[Figure] = []
        if name in LIMITS:
            figures, floors = _held(name, Path(folder), quick)
        else:
            times = MEASURES[name](Path(folder), quick)
            figures = [Figure(label, "s", values) for label, values in times.items()]
    answer = {"figures": figures, "floors": floors}
    print(ANSWER + json.dumps({k: [f.as_record() for f in v] for k, v in answer.items()}))


def _held(name: str, folder: Path, quick: bool) -> tuple[list[Figure], list[Figure]]:
    """The figures of a limit, each with the seconds of its floor, and the floors."""
    rows = folder / "rows"
    rows.mkdir()
    with measured_in(folder) as floors:
        figures = LIMITS[name](rows, quick)
    return (
        [replace(f, floor_s=floors.median_s(f.floor)) if f.floor else f for f in figures],
        [Figure(label, "s", values) for label, values in floors.took.items()],
    )


def _kept(records: Iterator[Record], path: Path | None) -> Iterator[Record]:
    """The same records, each written as soon as it is there and named on the error stream."""
    with path.open("a") if path else contextlib.nullcontext() as file:
        for record in records:
            if file:
                file.write(json.dumps(record) + "\n")
                file.flush()
            print(_progress(record), file=sys.stderr, flush=True)
            yield record


def _progress(record: Record) -> str:
    match record["kind"]:
        case "run":
            live = record["live"]
            took = live.get("failed") or f"{sum(live['cells_ms']) / 1e3:.1f} s"
            return f"round {record['round']}, {record['workload']}, {record['system']}: {took}"
        case "trap":
            return f"{record['system']}, {record['trap']}, {record['phase']}: {record['outcome']}"
        case "failed":
            return f"{record['measure']}: {record['why']}"
        case "limit" | "time" | "floor":
            return str(record["figure"]["label"])
        case "absent":
            return f"{record['system']}: {record['why']}"
    return f"{record['kind']}"


if __name__ == "__main__":
    sys.exit(main())
