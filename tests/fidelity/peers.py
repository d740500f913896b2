"""The same cases with cloudpickle and dill: ``python -m tests.fidelity.peers``.

All variables of a case are written together by one process, and loaded by another, which has the
other hash seed; then the case's own check compares, as it does for nbckpt. What was found is in
``peers.json``, from which the table has its last two columns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.fidelity import batch
from tests.fidelity.cases import Case, cases_of, modules
from tests.fidelity.running import environment_of

FOUND = Path(__file__).parent / "peers.json"
PEERS = ("cloudpickle", "dill")
LIMIT_S = 60
"""For one case; a process that takes longer is ended, and the next one goes on behind that case."""

_NOT_WRITTEN = "refused"
_NOT_LOADED = "does not load"
_OTHER = "wrong"
_RIGHT = "right"


def write(case: Case, peer: ModuleType) -> str:
    """Make the values of a case, and write them into a file."""
    namespace = batch._main().__dict__
    batch._run(case.make, namespace)
    values = {n: v for n, v in namespace.items() if not n.startswith("__")}
    try:
        Path("written").write_bytes(peer.dumps(values))
    except BaseException:  # whatever it raises, it says so at once
        return _NOT_WRITTEN
    return ""


def load(case: Case, peer: ModuleType) -> str:
    """Load the file of a case, and compare."""
    main = batch._main()
    try:
        main.__dict__.update(peer.loads(Path("written").read_bytes()))
    except BaseException:  # as above, but too late
        return _NOT_LOADED
    fresh = batch._main().__dict__
    batch._run(case.make, fresh)
    sys.modules["__main__"] = main
    try:
        batch._compare(case, main.__dict__, fresh)
    except BaseException:  # a check raises what it wants
        return _OTHER
    return _RIGHT


def run(phase: str, peer: str, module: str, folder: Path, done: set[str]) -> None:
    """Run one phase of a module's cases that are not done."""
    import importlib

    it = importlib.import_module(peer)
    with (folder / f"{phase}.jsonl").open("a") as results:
        for index, case in enumerate(cases_of(module).values()):
            place = folder / str(index)
            if case.missing or case.name in done or (phase == "load" and not place.is_dir()):
                continue
            place.mkdir(exist_ok=True)
            os.chdir(place)
            print(json.dumps({"case": case.name}), file=results, flush=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = write(case, it) if phase == "write" else load(case, it)
            print(json.dumps({"case": case.name, "found": found}), file=results, flush=True)
    os._exit(0)


def _found(phase: str, peer: str, module: str, folder: Path, done: set[str]) -> dict[str, str]:
    """Case → what came of it in a phase, each case in whatever process reaches it."""
    failed = _NOT_WRITTEN if phase == "write" else _NOT_LOADED
    own = environment_of("1" if phase == "write" else "2")
    found: dict[str, str] = {}
    while True:
        command = [sys.executable, "-m", "tests.fidelity.peers", phase, peer, module, str(folder)]
        rest = [*done, *found]
        try:
            ended = subprocess.run(
                [*command, *rest], env=own, capture_output=True, timeout=LIMIT_S * 5, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            ended = -9
        lines = (folder / f"{phase}.jsonl").read_text().splitlines()
        told = [json.loads(line) for line in lines]
        found |= {line["case"]: line.get("found", failed) for line in told}
        if ended == 0:
            return found


def _of_module(module: str, peer: str, folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True)
    written = _found("write", peer, module, folder, set())
    refused = {case: why for case, why in written.items() if why}
    return refused | _found("load", peer, module, folder, set(refused))


def main() -> None:
    """Try all cases with both, and write down what was found."""
    found: dict[str, dict[str, Any]] = {"versions": {peer: version(peer) for peer in PEERS}}
    with tempfile.TemporaryDirectory() as folder:
        for module in modules():
            for peer in PEERS:
                told = _of_module(module, peer, Path(folder) / module / peer)
                found.setdefault(module, {})[peer] = dict(sorted(told.items()))
                print(
                    module, peer, {w: [*told.values()].count(w) for w in sorted({*told.values()})}
                )
    FOUND.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def versions() -> str:
    """The versions that were tried."""
    told = _read().get("versions", {})
    return " and ".join(f"{peer} {told.get(peer, '')}".strip() for peer in PEERS)


def told_of(module: str, case: str) -> tuple[str, ...]:
    """The findings of a case with each of them; empty texts where it was not tried."""
    found = _read()
    return tuple(found.get(module, {}).get(peer, {}).get(case, "") for peer in PEERS)


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    return found


if __name__ == "__main__":
    if sys.argv[1:]:
        phase, peer, module, folder, *done = sys.argv[1:]
        run(phase, peer, module, Path(folder), {*done})
    else:
        main()
