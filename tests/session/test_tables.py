"""A table of a checkpoint becomes Parquet when it is asked for, from what the checkpoint kept."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from nbckpt.errors import BlobNotFoundError, RestoreError, UsageError
from nbckpt.session.session import Session
from nbckpt.storage.check import check
from nbckpt.storage.store import Store
from tests.mounts import mounted
from tests.running import environment

ALWAYS = bool(1).__bool__


def files(session: Session) -> list[Path]:
    """The Parquet files of a session's store."""
    return sorted(session.store.tables.folder.glob("*.parquet"))


def total(session: Session, call: str) -> object:
    """The sum of the column `x` of a table."""
    return session.sql(f"select sum(x) from {call}").fetchall()[0][0]


def put_aside(session: Session) -> None:
    """Have all tables of the session's checkpoint made in the background, to the end."""
    assert session.position.id is not None
    manifest = session.timeline.manifest(session.position.id)
    session.tables.make_ahead(manifest, session.namespace, goes_on=ALWAYS)
    session.wait()


def test_a_checkpoint_writes_no_parquet(session: Session) -> None:
    session.namespace["df"] = pd.DataFrame({"x": np.arange(1000)})

    session.checkpoint("a")
    session.wait()

    assert files(session) == []


@pytest.mark.slow
def test_a_query_makes_the_tables_that_it_reads_and_no_others(session: Session) -> None:
    space = session.namespace
    df = space["df"] = pd.DataFrame({"x": [1, 2]})
    space["other"] = pl.DataFrame({"x": [5]})
    session.checkpoint("a")
    df["x"] *= 10
    session.checkpoint("b")
    df["x"] = 0  # after the last checkpoint: no table's business

    sums = total(session, "variable('df', 'a')"), total(session, "variable('df')")

    assert sums == (3, 30)
    assert len(files(session)) == 2
    assert len(session.store.refresh()) > 0
    assert [r["name"] for r in session.store.records("table")] == ["df", "df"]
    assert check(session.store.path).problems == ()


def test_a_table_is_made_once_for_all_processes(session: Session) -> None:
    session.namespace["df"] = pd.DataFrame({"x": [1, 2]})
    session.checkpoint("a")
    total(session, "variable('df')")
    (file,) = files(session)
    made = file.stat().st_mtime_ns

    again = Session(Store.open(session.store.path), {})

    assert total(again, "variable('df')") == 3
    assert total(session, "variable('df')") == 3
    assert file.stat().st_mtime_ns == made
    again.store.close()


@pytest.mark.slow
def test_another_process_makes_the_table_too(session: Session) -> None:
    session.namespace["df"] = pd.DataFrame({"x": [1, 2]})
    session.checkpoint("a")
    session.wait()
    query = "select sum(x) as total from variable('df')"
    command = [sys.executable, "-m", "nbckpt", "sql", query, "--store", str(session.store.path)]

    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["total", "3"]
    assert len(files(session)) == 1


def test_a_table_whose_file_is_gone_is_made_again(session: Session) -> None:
    session.namespace["df"] = pd.DataFrame({"x": [1, 2]})
    session.checkpoint("a")
    total(session, "variable('df')")
    files(session)[0].unlink()

    assert total(session, "variable('df')") == 3


@pytest.mark.slow
def test_frames_of_a_class_of_the_notebook_and_frames_that_share_are_tables(
    session: Session,
) -> None:
    source = (
        "import pandas as pd\n"
        "class Prices(pd.DataFrame):\n    def doubled(self): return self * 2\n"
        "prices = Prices({'x': [1, 2]}).doubled()\n"
        "inner = [1]\nheld = pd.DataFrame({'x': [7]})\nheld.attrs['of'] = inner"
    )
    exec(source, session.namespace)
    session.checkpoint("a")

    assert total(session, "variable('prices')") == 6
    assert total(session, "variable('held')") == 7


@pytest.mark.parametrize(
    ("value", "error", "told"),
    [
        ([1], UsageError, "'v' is no table but of type list"),
        (np.arange(3), UsageError, "'v' is no table but of type numpy.ndarray"),
        (pd.Series([1]), UsageError, "'v' is no table but of type pandas.Series"),
        (pd.DataFrame({"o": [1, "a"]}), UsageError, "'v' cannot be queried: 'v': Parquet cannot"),
    ],
)
def test_what_is_no_table_says_so(
    session: Session, value: object, error: type[Exception], told: str
) -> None:
    session.namespace["v"] = value
    session.checkpoint("a")

    for _ in range(2):
        with pytest.raises(error, match=told):
            session.sql("from variable('v')")


def test_a_table_that_cannot_be_built_here_says_why(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "lib" / "own_frames.py"
    module.parent.mkdir()
    module.write_text("import pandas\nclass Frame(pandas.DataFrame): pass\n")
    monkeypatch.syspath_prepend(str(module.parent))
    own_frames = importlib.import_module("own_frames")
    session.namespace["df"] = own_frames.Frame({"x": [1]})
    session.checkpoint("a")
    session.namespace.clear()
    del sys.modules["own_frames"]
    monkeypatch.undo()

    with pytest.raises(RestoreError, match=r"which needs what is not installed here.*own_frames"):
        session.sql("from variable('df')")


def test_a_table_whose_bytes_are_gone_says_so(session: Session) -> None:
    session.namespace["df"] = pd.DataFrame({"x": np.arange(100_000)})
    session.checkpoint("a", sync=True)
    session.store.close()
    for pack in (session.store.path / "packs").iterdir():
        pack.unlink()
    again = Session(Store.open(session.store.path), {})

    with pytest.raises(BlobNotFoundError):
        again.sql("from variable('df')")
    again.store.close()


def test_a_store_that_cannot_be_written_is_queried_all_the_same(
    session: Session, tmp_path: Path
) -> None:
    session.namespace["df"] = pd.DataFrame({"x": [1, 2]})
    session.namespace["odd"] = pd.DataFrame({"o": [1, "a"]})
    session.checkpoint("a", sync=True)
    session.store.close()
    with mounted(tmp_path / "ro", "--bind", str(session.store.path)) as folder:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
        store = Store.open(folder)
        reader = Session(store, {})

        answers = [total(reader, "variable('df')") for _ in range(2)]
        with pytest.raises(UsageError, match="'odd': Parquet cannot hold it"):
            reader.sql("from variable('odd')")
        store.close()

    assert answers == [3, 3]


def test_tables_of_the_head_are_made_ahead_but_not_large_ones(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbckpt.session.query_tables.AHEAD_BYTES", 100_000)
    space = session.namespace
    space["old"] = pd.DataFrame({"x": [0]})
    session.checkpoint("a")
    space.update(
        old=None,
        df=pd.DataFrame({"x": [1]}),
        large=pd.DataFrame({"x": np.arange(100_000)}),
        odd=pd.DataFrame({"c": [1j]}),
        plain=[1],
    )
    session.checkpoint("b")

    put_aside(session)
    session.refresh()

    written = [r["name"] for r in session.store.records("table") if r["file"]]
    assert written == ["df"]
    assert len(files(session)) == 1
    assert total(session, "variable('large')") == sum(range(100_000))


def test_making_tables_ahead_stops_when_it_is_told(session: Session) -> None:
    for name in "abc":
        session.namespace[name] = pd.DataFrame({"x": [ord(name)]})
    session.checkpoint("all")
    assert session.position.id is not None
    left = iter([True, False])

    manifest = session.timeline.manifest(session.position.id)
    session.tables.make_ahead(manifest, session.namespace, goes_on=lambda: next(left))
    session.wait()

    assert len(files(session)) == 1


def test_frames_with_string_columns_are_not_tied_by_the_code_that_builds_them(
    session: Session,
) -> None:
    session.namespace["a"] = pd.DataFrame({"x": [1], "s": ["a"]})
    session.namespace["b"] = pd.DataFrame({"y": [2], "s": ["b"]})

    kept = session.checkpoint("both").changed

    assert (kept["a"].group, kept["b"].group) == (("a",), ("b",))
