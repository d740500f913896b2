"""Files of nbckpt that one datum passes: a value, a cell, a model call and a click, counted.

``python -m tests.bench.stations`` prints a table. Each way is walked once before it is counted, so
that what is done once a process (imports, settings, first looks) does not count, and background
threads count as far as they have come when the way has been walked. A file counts when any function
of it is entered, be it only a property.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from nbckpt.version import PACKAGE

ROOT = Path(__file__).parents[2]
CALL = (
    'r = httpx.post(url, json={"model": "m", "messages": [{"role": "user", "content": %r}]}).json()'
)
LIMITS = {"plain checkpoint": 45, "%%checkpoint cell": 70, "recorded model call": 85}
"""At most so many files, of the ways that have a goal."""


class Stations:
    """The files of nbckpt that are entered while it counts, in all threads that begin after it."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._counts = False
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if self._counts and event == "call":
            self._files.add(frame.f_code.co_filename)

    def of(self, way: Callable[[], object]) -> list[str]:
        """The files, by their paths in the package, sorted."""
        self._files = set()
        self._counts = True
        try:
            way()
        finally:
            self._counts = False
        own = f"{PACKAGE}{os.sep}"
        return sorted(f.removeprefix(own) for f in self._files if f.startswith(own))


def count(folder: Path) -> dict[str, list[str]]:
    """The files of each way, in this process, whose store is in `folder`."""
    stations = Stations()
    os.environ["NBCKPT_STORE"] = str(folder / ".nbckpt")
    import nbckpt
    from nbckpt.jupyter import page_writes
    from nbckpt.testing import Provider
    from tests.bench.shells import make_shell

    shell = make_shell(folder)

    def run(cell: str) -> None:
        done: Any = shell.run_cell(cell, cell_id=cell, store_history=True)
        done.raise_error()
        nbckpt.wait()

    with Provider() as provider:
        url = f"{provider.environment()['OPENAI_BASE_URL']}/chat/completions"
        shell.user_ns.update(url=url)
        run("%load_ext nbckpt")
        run("import httpx, numpy as np")
        found = {}
        for n in ("once", "counted"):  # the last one counts
            run(f"a = np.arange(1000.0); d = {{'n': {n!r}}}")
            found["plain checkpoint"] = stations.of(lambda n=n: run(f"%checkpoint {n}"))
            cell = f"%%checkpoint b-{n}\nb = a * 2; e = d['n']"
            found["%%checkpoint cell"] = stations.of(lambda cell=cell: run(cell))
            found["the same, restored"] = stations.of(lambda cell=cell: run(cell))
            found["rewind"] = stations.of(lambda n=n: run(f"%rewind {n}"))
            call = f"%%checkpoint c-{n}\n{CALL % n}"
            found["recorded model call"] = stations.of(lambda call=call: run(call))
            again = f"%%checkpoint d-{n}\n{CALL % n}"
            found["the same, replayed"] = stations.of(lambda again=again: run(again))
            click = json.dumps({"ref": f"b-{n}"})
            found["click on rewind"] = stations.of(
                lambda click=click: page_writes.written("rewind", click)
            )
    sys.setprofile(None)
    return found


def main() -> None:
    """Print how many files each way enters; 1 if any enters more than it may."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            __name__ if __name__ != "__main__" else "tests.bench.stations",
        ]
        out = subprocess.run(
            [*command, "--count", folder], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
    found = json.loads(out.splitlines()[-1])
    for way, files in found.items():
        packages = {file.partition("/")[0] for file in files if "/" in file}
        goal = f" (at most {LIMITS[way]})" if way in LIMITS else ""
        print(f"{way:22} {len(files):4} files in {len(packages):2} packages{goal}")
    if "--files" in sys.argv:
        for way, files in found.items():
            print(f"\n{way}:", *files, sep="\n  ")


if __name__ == "__main__":
    if "--count" in sys.argv:
        print(json.dumps(count(Path(sys.argv[-1]))))
    else:
        main()
