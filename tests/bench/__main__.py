"""Measure nbckpt beside what else there is, and write what came of it."""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.document import document_of
from tests.bench.figures import Figure, machine
from tests.bench.limits import LIMITS
from tests.bench.measures import MEASURES
from tests.bench.rounds import Plan, answer_of, records_of
from tests.bench.systems import PEERS, SYSTEMS, split_by_presence
from tests.bench.worker import ANSWER
from tests.bench.workloads import SCALES, WORKLOADS

RESULTS = Path(__file__).parent / "RESULTS.md"
PARTS = ("workloads", "traps", "limits", "measures")
Record = dict[str, Any]


def main() -> None:
    """Measure what the command line asks for; write `RESULTS.md` when that is everything."""
    arguments = _parser().parse_args()
    if arguments.one:
        _one(arguments.one, arguments.quick)
        return
    records: list[Record] = []
    for path in arguments.read:
        records += [json.loads(line) for line in path.read_text().splitlines()]
    if not arguments.read:
        records = list(_kept(_measured(arguments), arguments.json))
    text = document_of(records)
    print(text)
    target = arguments.out or (RESULTS if _is_everything(arguments) else None)
    if target is not None:
        target.write_text(text)
        print(f"written to {target.name}", file=sys.stderr)


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
    parser.add_argument("--out", type=Path, help="where the tables go, also of a part")
    parser.add_argument("--one", choices=[*LIMITS, *MEASURES], help=argparse.SUPPRESS)
    return parser


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
            names = [n for n in measures if not arguments.measures or n in arguments.measures]
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
            print(f"{name}: {answer['failed']}", file=sys.stderr)
            continue
        kind = {"limits": "limit", "measures": "time"}[part]
        yield from (
            {"kind": kind, "measure": name, "figure": figure} for figure in answer["figures"]
        )


def _one(name: str, quick: bool) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="nbckpt-bench-") as folder,
        contextlib.redirect_stdout(sys.stderr),
    ):
        if name in LIMITS:
            figures = LIMITS[name](Path(folder), quick)
        else:
            times = MEASURES[name](Path(folder), quick)
            figures = [Figure(label, "s", values) for label, values in times.items()]
    print(ANSWER + json.dumps({"figures": [figure.as_record() for figure in figures]}))


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
        case "limit" | "time":
            return str(record["figure"]["label"])
        case "absent":
            return f"{record['system']}: {record['why']}"
    return f"{record['kind']}"


if __name__ == "__main__":
    main()
