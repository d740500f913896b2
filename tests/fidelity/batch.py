"""Cases run in two processes: one keeps them and brings them back, another brings them back.

``python -m tests.fidelity.batch keep MODULE FOLDER`` and ``… back MODULE FOLDER`` write what they
found into ``FOLDER/keep.jsonl`` and ``FOLDER/back.jsonl``, a line for each case, at once: a process
that dies has said where.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import re
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from nbckpt.fingerprint.values import ValueDigester
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
from tests.codecs.names import names_in
from tests.fidelity.cases import Case, cases_of
from tests.fidelity.compare import same
from tests.notebooks import define

_OWN_WARNING = (
    "Class PassiveAggressive|Sparse CS[RC] tensor support|Sparse BS[RC] tensor"
    "|The chararray class is deprecated|Passing a SingleBlockManager to "
)
"""What classes of scikit-learn and torch say whenever one is made, NumPy 2.5 when one is asked for,
and pandas 2.2.0 whenever a column is taken out of a frame of a class with its own columns."""

BESIDE = ["kept", {"whatever": "x is"}]


def keep(case: Case) -> dict[str, Any]:
    """Make the value, keep it, lose it, and bring it back in this process."""
    main = _main()
    namespace = main.__dict__
    namespace["beside"] = list(BESIDE)
    _run(case.make, namespace)
    store = Store.open(Path(".nbckpt"))
    session = Session(store, namespace, notebook="case", branch="case")
    session.ran(ast.parse(case.make))
    digest = _digest(namespace)
    with _no_warnings():
        checkpoint = session.checkpoint("made")
    manifest = session.timeline.manifest(checkpoint.id)
    _check_kept(case, checkpoint, manifest)
    paths = {path for v in manifest.values() for path in names_in(store.get_blob(v.blob)).paths}
    assert not paths, f"its stream names modules of nbckpt: {sorted(paths)}"
    if case.outcome != "refused":
        old = dict(namespace)
        namespace["x"] = None
        session.ran(ast.parse("x = None"))
        with _no_warnings():
            moved = session.rewind(checkpoint.id)
        assert not moved.failed, _texts(moved.failed)
        assert "x" in moved.came_back, "x did not come back"
        _check_digest(case, digest, _digest(namespace))
        _compare(case, namespace, old)
    store.close()
    return {"digest": digest}


def back(case: Case, digest: str) -> dict[str, Any]:
    """Bring the value back in a process that has not made it, and compare it with a new one."""
    main = _main()
    namespace = main.__dict__
    store = Store.open(Path(".nbckpt"))
    session = Session(store, namespace, notebook="case", branch="case")
    with _no_warnings():
        moved = session.resume()
    assert not moved.failed, _texts(moved.failed)
    same(namespace.get("beside"), BESIDE)
    if case.outcome != "refused":
        assert "x" in namespace, "x did not come back"
        _check_digest(case, digest, _digest(namespace))
        fresh = _main().__dict__
        _run(case.make, fresh)
        sys.modules["__main__"] = main
        _compare(case, namespace, fresh)
    store.close()
    return {}


def _main() -> types.ModuleType:
    """A new module ``__main__``, as a shell has for its cells."""
    main = types.ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _run(source: str, namespace: dict[str, Any]) -> None:
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        define(source, namespace)


def _digest(namespace: dict[str, Any]) -> str:
    digester = ValueDigester(namespace)
    with _no_warnings():
        found = digester.digest(namespace["x"])
    assert not digester.exhausted, "its digest does not count all of it"
    return found


def _check_kept(case: Case, checkpoint: Any, manifest: Any) -> None:
    refusals = {r.variable: str(r) for r in checkpoint.refused}
    assert "beside" in manifest, "another variable was not kept"
    if case.outcome == "refused":
        text = refusals.get("x", "")
        assert "x" not in manifest, "it was kept, and should have been refused"
        assert case.reason, "a case that is refused says why"
        assert case.reason in text, f"the refusal says: {text}"
        assert "\n" not in text, f"the refusal has several lines: {text}"
        return
    assert not refusals, f"refused: {'; '.join(refusals.values())}"
    is_recipe = manifest["x"].recipe
    assert is_recipe == (case.outcome == "recipe"), f"kept by recipe: {is_recipe}"


def _check_digest(case: Case, before: str, after: str) -> None:
    if case.told is None:
        return
    if case.told:
        assert after == before, "its digest is another after the restore"
    else:
        assert after != before, "its digest is the same after the restore: `told` is true"


def _compare(case: Case, new: dict[str, Any], old: dict[str, Any]) -> None:
    around = {"x": new["x"], "y": old["x"], "new": new, "old": old, "same": same}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(case.check or "same(x, y)", f"<check of {case.name}>", "exec"), around)


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Hold that what nbckpt does warns of nothing, and prints nothing."""
    printed = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", _OWN_WARNING)
        yield
    said = [w for w in caught if not _is_of_garbage(w)]
    assert not said, f"it warned: {said[0].category.__name__}: {said[0].message}"
    bars = ("nbckpt: saving", "nbckpt: restoring")  # shown when it takes long, as imports may
    lines = [part.strip() for part in re.split("[\r\n]", printed.getvalue())]
    lines = [line for line in lines if line and not line.startswith(bars)]
    assert not lines, f"it printed: {lines[0]}"


def _is_of_garbage(warning: warnings.WarningMessage) -> bool:
    """Whether a warning is of something that an earlier case has left."""
    is_coroutine = "was never awaited" in str(warning.message)
    return is_coroutine or issubclass(warning.category, ResourceWarning)


def _texts(refusals: Any) -> str:
    return "; ".join(map(str, refusals))


def run(phase: str, module: str, folder: Path, names: list[str]) -> None:
    """Run one phase of a module's cases, each in a working directory of its own."""
    os.fsync = os.fdatasync = lambda _: None  # values are tried here, and no power cut
    kept = read(folder / "keep.jsonl") if phase == "back" else {}
    with (folder / f"{phase}.jsonl").open("w") as results:
        for index, case in enumerate(cases_of(module).values()):
            if case.missing or (names and case.name not in names):
                continue
            if phase == "back" and "digest" not in kept.get(case.name, {}):
                continue
            place = folder / str(index)
            place.mkdir(exist_ok=True)
            os.chdir(place)
            print(f"{phase} {case.name}", file=sys.stderr, flush=True)
            try:
                found = keep(case) if phase == "keep" else back(case, kept[case.name]["digest"])
            except AssertionError as error:
                found = {"problem": str(error) or _last_line(error)}
            except BaseException:  # a case may raise anything; the next one runs all the same
                found = {"problem": traceback.format_exc()}
            print(json.dumps({"case": case.name, **found}), file=results, flush=True)
    sys.stderr.flush()
    os._exit(0)  # whatever threads and children the cases have left


def _last_line(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}, line {last.lineno}: {last.line or 'an assertion of the check failed'}"


def read(path: Path) -> dict[str, dict[str, Any]]:
    """What a phase found, by case."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line.pop("case"): line for line in lines}


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve(), sys.argv[4:])
