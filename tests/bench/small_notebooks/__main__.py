"""Play the small notebooks, and print what nbckpt made of them by category."""

from __future__ import annotations

import argparse
import fnmatch
import gc
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.bench.small_notebooks import NOTEBOOKS
from tests.bench.small_notebooks.judging import (
    BAD,
    VERDICTS,
    Judgement,
    complaints,
    judged,
)
from tests.bench.small_notebooks.notebook import SmallNotebook
from tests.bench.small_notebooks.playing import PHASES, play, play_plainly, warm

MODES = ("ckpt", "skip")


def main() -> int:
    """Print a line for each notebook that is not right, and the table; 1 if any is bad."""
    arguments = _parser().parse_args()
    categories = arguments.category or sorted({n.category for n in NOTEBOOKS.values()})
    chosen = [
        notebook
        for notebook in NOTEBOOKS.values()
        if notebook.category in categories
        and any(fnmatch.fnmatch(notebook.key, glob) for glob in arguments.only or ["*"])
    ]
    modes = MODES if arguments.mode is None else (arguments.mode,)
    warm()
    chosen = [n for n in chosen if zlib.crc32(n.key.encode()) % arguments.every == 0]
    if arguments.check:
        return _check(chosen)
    judgements = []
    for judgement in judgements_of(chosen, modes, arguments.jobs):
        judgements.append(judgement)
        if arguments.verbose or (judgement.verdict in BAD and not arguments.table):
            print(_line(judgement), flush=True)
    print(table(judgements))
    if arguments.json:
        rows = (json.dumps(asdict(judgement)) for judgement in judgements)
        arguments.json.write_text("".join(f"{row}\n" for row in rows))
    gc.unfreeze()  # else libraries complain of leaks at the end
    return int(any(judgement.verdict in BAD for judgement in judgements))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.small_notebooks")
    parser.add_argument("--mode", choices=MODES, help="by default both")
    parser.add_argument("--category", action="append", help="may be given several times")
    parser.add_argument(
        "--only",
        action="append",
        metavar="GLOB",
        help="of CATEGORY/NAME; may be given several times",
    )
    parser.add_argument("--table", action="store_true", help="print the table alone")
    parser.add_argument("--check", action="store_true", help="the notebooks themselves, plainly")
    parser.add_argument("--every", type=int, default=1, help="of so many, play about one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where each verdict goes, one a line")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every verdict")
    return parser


def _check(notebooks: Sequence[SmallNotebook]) -> int:
    """Print what speaks against the notebooks themselves; 1 if anything does."""
    found = 0
    for notebook in notebooks:
        scratch = Path(tempfile.mkdtemp(prefix="nbckpt-small-"))
        for complaint in complaints(notebook, play_plainly(notebook, scratch)):
            found += 1
            print(f"{notebook.key:48} {complaint[-300:]}", flush=True)
        shutil.rmtree(scratch, ignore_errors=True)
    return int(found > 0)


def judgements_of(
    notebooks: Sequence[SmallNotebook], modes: Sequence[str], jobs: int = 1
) -> Iterator[Judgement]:
    """The verdicts on some notebooks; `warm` comes before."""
    if jobs > 1:
        yield from _in_forks(notebooks, modes, jobs)
        return
    for notebook in notebooks:
        scratch = Path(tempfile.mkdtemp(prefix="nbckpt-small-"))
        answers = play(notebook, modes, scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        for mode in modes:
            yield from (judged(notebook, mode, phase, answers) for phase in PHASES)


def _in_forks(
    notebooks: Sequence[SmallNotebook], modes: Sequence[str], jobs: int
) -> Iterator[Judgement]:
    folder = Path(tempfile.mkdtemp(prefix="nbckpt-small-"))
    children = []
    for job in range(jobs):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                with (folder / f"{job}.jsonl").open("w") as file:
                    for judgement in judgements_of(notebooks[job::jobs], modes):
                        print(json.dumps(asdict(judgement)), file=file)
            finally:
                os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    found = [
        Judgement(**json.loads(line))
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    shutil.rmtree(folder, ignore_errors=True)
    yield from sorted(found, key=lambda j: (j.key, j.mode, j.phase))


def table(judgements: Sequence[Judgement]) -> str:
    """How many verdicts of each kind there are, by category."""
    counts = Counter((j.key.partition("/")[0], j.verdict) for j in judgements)
    categories = sorted({category for category, _ in counts})
    head = f"{'category':24}" + "".join(f"{verdict:>17}" for verdict in VERDICTS)
    rows = [
        f"{category:24}" + "".join(f"{counts[category, verdict]:17}" for verdict in VERDICTS)
        for category in categories
    ]
    sums = Counter(j.verdict for j in judgements)
    last = f"{'together':24}" + "".join(f"{sums[verdict]:17}" for verdict in VERDICTS)
    n_notebooks = len({j.key for j in judgements})
    return "\n".join([head, *rows, last, f"{n_notebooks} notebooks, {len(judgements)} verdicts"])


def _line(judgement: Judgement) -> str:
    return (
        f"{judgement.verdict:16} {judgement.mode} {judgement.phase:8} {judgement.key:48} "
        f"{judgement.why[:400]}"
    )


if __name__ == "__main__":
    sys.exit(main())
