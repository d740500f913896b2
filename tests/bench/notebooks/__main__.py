"""Put real notebooks through nbckpt beside plain runs, and report what differs."""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench.notebooks.report import WRONG, document
from tests.bench.notebooks.sources import files_of
from tests.bench.notebooks.styles import write_styles
from tests.bench.notebooks.trials import PHASES, Trial


def main() -> int:
    """Print a line for each notebook and the report; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.notebooks", description=__doc__)
    parser.add_argument("places", nargs="*", type=Path, help="notebooks, gallery scripts, folders")
    parser.add_argument("--styles", action="store_true", help="our own, one for each style, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="where the report goes")
    parser.add_argument("--only", metavar="GLOB", help="of file names")
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    parser.add_argument("--rounds", type=int, default=1, help="of what is timed; medians count")
    parser.add_argument("--limit-s", type=float, default=300, help="of one cell")
    arguments = parser.parse_args()
    written = Path(tempfile.mkdtemp(prefix="nbckpt-styles-"))
    if arguments.styles:
        write_styles(written)
    files = [
        path
        for path in files_of([*arguments.places, written])
        if fnmatch.fnmatch(path.name, arguments.only or "*")
    ]

    done: list[Trial] = []

    def one(path: Path) -> Trial:
        trial = _in_a_process(path, arguments.phases, arguments.limit_s, arguments.rounds)
        wrong = trial.unusable or ", ".join(
            f"{len(trial.of_kind(kind))} {kind}"
            for kind in (*WRONG, "absent", "needless")
            if trial.of_kind(kind)
        )
        done.append(trial)
        if arguments.out:
            arguments.out.write_text(document(done))
        print(f"{trial.name:44} {trial.cells:3} cells  {wrong or 'right'}", flush=True)
        return trial

    with ThreadPoolExecutor(arguments.jobs) as pool:
        trials = list(pool.map(one, files))
    shutil.rmtree(written)
    text = document(trials)
    if arguments.out:
        arguments.out.write_text(text)
    else:
        print(text)
    return int(any(trial.of_kind(*WRONG) for trial in trials))


def _in_a_process(path: Path, phases: list[str], limit_s: float, rounds: int) -> Trial:
    """`tried`, in a process of its own: each notebook has an environment that it sets."""
    import multiprocessing

    from tests.bench.notebooks.trials import tried

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(tried, (path.absolute(), tuple(phases), limit_s, rounds))


if __name__ == "__main__":
    sys.exit(main())
