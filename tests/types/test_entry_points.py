"""Adapters of other packages, found by their entry points in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

LIBRARY = """
import threading

class Field:
    '''What it holds is outside of Python: pickle refuses it, and members show only a handle.'''
    __slots__ = ("_handle", "looks")
    _cells = {}
    def __init__(self, cells):
        self._handle = threading.Lock()
        Field._cells[id(self)] = cells
        self.looks = 0
    @property
    def cells(self):
        self.looks += 1
        return Field._cells[id(self)]
    def __reduce_ex__(self, _):
        raise TypeError("a Field cannot be pickled")

class Marked(Field):
    __slots__ = ()

class Point:
    def __init__(self, x): self.x = x

NOWHERE = Point(0)
"""

ADAPTERS = """
import sys
from nbckpt.types import RefusalError, TypeAdapter, paired

def cells_of(field):
    return type(field)._cells[id(field)]

def make(kind, cells):
    return kind(cells)

def reduce(field):
    if cells_of(field) == "secret":
        raise RefusalError("it is secret")
    return make, (type(field), cells_of(field))

ADAPTERS = (
    TypeAdapter(
        ("fieldlib:Field",),
        reduce=reduce,
        digest=lambda field: [cells_of(field)],
        describe=lambda field: f"{len(cells_of(field))} cells",
        diff=lambda one, other: paired({".cells": cells_of(one)}, {".cells": cells_of(other)}),
        export=lambda field: (list(cells_of(field)), "the cells of a field"),
    ),
    TypeAdapter(("fieldlib:Point",), exact=True, is_immutable=True),
)
"""

ENTRY_POINTS = """
[nbckpt.types]
fieldlib = fieldlib_nbckpt:ADAPTERS
fieldlib.again = fieldlib_nbckpt:ADAPTERS
brokenlib = brokenlib_nbckpt:ADAPTERS
emptylib = fieldlib_nbckpt:make
"""

PROGRAM = """
import contextlib, io, json, sys, warnings
from nbckpt.session.session import Session
from nbckpt.storage.store import Store
store = Store.open(sys.argv[1])
told = {}
def manifest_of(session, name):
    return session.timeline.manifest(session.timeline.named(name)[0].id)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder in which packages are installed as pip leaves them."""
    folder = tmp_path / "site"
    about = folder / "fieldlib_nbckpt-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fieldlib-nbckpt\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "fieldlib.py").write_text(LIBRARY)
    (folder / "fieldlib_nbckpt.py").write_text(ADAPTERS)
    (folder / "brokenlib.py").write_text("class Thing:\n    pass\n")
    (folder / "brokenlib_nbckpt.py").write_text("raise OSError('half installed')\n")
    (folder / "emptylib.py").write_text("class Thing:\n    pass\n")
    return folder


class Process:
    """Runs programs where the packages are installed, each in a process of its own."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.folder, self.store, self.errors = folder, store, ""

    def run(self, program: str) -> dict[str, Any]:
        """What a program has put into `told`."""
        text = PROGRAM + textwrap.dedent(program) + "\nprint(json.dumps(told))"
        done = subprocess.run(
            [sys.executable, "-c", text, str(self.store)],
            env={"PYTHONPATH": ":".join([str(self.folder), *filter(None, sys.path)])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        self.errors = done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@pytest.fixture
def process(packages: Path, tmp_path: Path) -> Process:
    """A process with the packages, and a store."""
    return Process(packages, tmp_path / ".nbckpt")


KEEP = """
import fieldlib
cells = [1, 2, 3]
session = Session(store, {"field": fieldlib.Field(cells), "cells": cells})
made = session.checkpoint("made")
told["refused"] = [str(refusal) for refusal in made.refused]
session.wait()
"""


@pytest.mark.slow
def test_a_type_that_pickle_refuses_comes_back_with_what_it_shares(process: Process) -> None:
    kept = process.run(KEEP)
    back = process.run(
        """
        session = Session(store, {})
        session.resume()
        field, cells = session.namespace["field"], session.namespace["cells"]
        told.update(cells=field.cells, one=field.cells is cells, kind=type(field).__name__)
        """
    )

    assert kept == {"refused": []}
    assert back == {"cells": [1, 2, 3], "one": True, "kind": "Field"}


@pytest.mark.slow
def test_without_the_adapter_it_is_refused(process: Process, packages: Path) -> None:
    (packages / "fieldlib_nbckpt-1.0.dist-info" / "entry_points.txt").unlink()

    kept = process.run(KEEP)

    assert len(kept["refused"]) == 1
    assert "a Field cannot be pickled" in kept["refused"][0]


@pytest.mark.slow
def test_its_digest_is_that_of_its_parts_in_every_process(process: Process) -> None:
    program = """
    import fieldlib
    from nbckpt.fingerprint.values import ValueDigester
    digester = ValueDigester({})
    one, other = fieldlib.Field([1, 2]), fieldlib.Field([1, 3])
    first = digester.digest(one)
    one.cells  # a look, which counts
    told.update(one=first, again=digester.digest(one), other=digester.digest(other))
    told.update(derived=digester.digest(fieldlib.Marked([1, 2])))
    told.update(unknown=digester.examine([one]).unknown)
    """
    found, elsewhere = process.run(program), process.run(program)

    assert found == elsewhere
    assert found["one"] == found["again"]
    assert len({found["one"], found["other"], found["derived"]}) == 3
    assert found["unknown"] is False


@pytest.mark.slow
def test_the_timeline_and_a_difference_say_what_it_says(process: Process) -> None:
    process.run(KEEP)
    found = process.run(
        """
        from nbckpt.reports.diff import compare
        session = Session(store, {})
        session.resume()
        session.namespace["field"].cells[1] = 7
        session.checkpoint("changed")
        variable = manifest_of(session, "made")["field"]
        told.update(preview=variable.preview, difference=compare(session, "made", "changed").text())
        """
    )

    assert found["preview"] == "3 cells"
    assert "field.cells[1]" in found["difference"]


@pytest.mark.slow
def test_it_is_exported_in_an_open_format(process: Process, tmp_path: Path) -> None:
    process.run(KEEP)
    process.run(
        f"""
        from pathlib import Path
        from nbckpt.session.maintenance.open_formats.open_export import export_files
        session = Session(store, {{}})
        export_files(session, "made", Path({str(tmp_path / "out")!r}))
        """
    )

    index = json.loads((tmp_path / "out" / "index.json").read_text())
    entry = index["variables"]["field"]
    assert entry["note"] == "the cells of a field"
    assert json.loads((tmp_path / "out" / entry["file"]).read_text()) == [1, 2, 3]


@pytest.mark.slow
def test_an_adapter_refuses_by_a_sentence_of_its_own(process: Process) -> None:
    found = process.run(
        """
        import fieldlib
        made = Session(store, {"field": fieldlib.Field("secret")}).checkpoint("made")
        told["refused"] = [str(refusal) for refusal in made.refused]
        """
    )

    assert len(found["refused"]) == 1
    assert "it is secret" in found["refused"][0]


@pytest.mark.slow
def test_values_that_never_change_tie_no_variables(process: Process) -> None:
    found = process.run(
        """
        import fieldlib
        point, mark = fieldlib.Point(1), [1]
        values = {"a": [point], "b": [point], "c": [mark], "d": [mark]}
        session = Session(store, values)
        session.checkpoint("made")
        told.update({name: manifest_of(session, "made")[name].group for name in values})
        """
    )

    assert (found["a"], found["b"]) == (["a"], ["b"])
    assert found["c"] == found["d"] == ["c", "d"]


def test_a_broken_entry_point_costs_a_notice_and_itself_alone(process: Process) -> None:
    found = process.run(
        """
        import brokenlib, emptylib, fieldlib
        values = {"thing": brokenlib.Thing(), "other": brokenlib.Thing(), "empty": emptylib.Thing()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = Session(store, {**values, "field": fieldlib.Field([1])})
            made = session.checkpoint("made")
            session.namespace["more"] = brokenlib.Thing()
            session.checkpoint("more")
        told.update(refused=list(map(str, made.refused)), names=sorted(values.keys() & manifest_of(session, "made").keys()))
        """
    )

    assert found == {"refused": [], "names": ["empty", "other", "thing"]}
    notices = [line for line in process.errors.splitlines() if "entry point" in line]
    assert len(notices) == 2
    assert "'brokenlib' (brokenlib_nbckpt:ADAPTERS)" in process.errors
    assert "OSError: half installed" in process.errors
    assert "'emptylib' (fieldlib_nbckpt:make)" in process.errors


@pytest.mark.slow
def test_entry_points_are_not_read_before_a_package_is_unknown(process: Process) -> None:
    found = process.run(
        """
        import importlib.metadata as metadata
        import fieldlib, numpy
        asked = []
        usual = metadata.entry_points
        metadata.entry_points = lambda **how: asked.append(how) or usual(**how)
        session = Session(store, {"a": [1, {"b": 2.5}], "n": numpy.arange(3), "s": {1}})
        session.checkpoint("plain")
        told["before"] = len([how for how in asked if how.get("group") == "nbckpt.types"])
        for n in range(2):
            session.namespace[f"field{n}"] = fieldlib.Field([n])
            session.checkpoint(f"made{n}")
        told["after"] = len([how for how in asked if how.get("group") == "nbckpt.types"])
        told["imported"] = "brokenlib_nbckpt" in sys.modules
        """
    )

    assert found == {"before": 0, "after": 1, "imported": False}
