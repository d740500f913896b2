"""Tables whose columns are large: only a changed column is stored, and all comes back as it was."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbckpt.capture.groups.encode import encode_at_any_depth
from nbckpt.codecs.loading import Loading, decode
from nbckpt.codecs.pickler import Scope
from nbckpt.session.session import Session

pd = pytest.importorskip("pandas", minversion="3")

ROWS = 20_000
COLUMN_BYTES = 8 * ROWS
ONE_COLUMN = 1.2 * COLUMN_BYTES
"""A column, and the record of a checkpoint."""


def table(kind: str = "f8", n_columns: int = 6, rows: int = ROWS) -> Any:
    """A table with one block of random bytes of a type."""
    width = 1 if kind == "?" else np.dtype(kind).itemsize
    values = np.random.default_rng(0).integers(0, 2, (rows, n_columns * width), "u1").view(kind)
    return pd.DataFrame(values, columns=[f"c{i}" for i in range(n_columns)])


def back(value: object) -> Any:
    """A value encoded and decoded, as from a store."""
    encoded = encode_at_any_depth({"x": value}, Scope({}), False)
    parts = [memoryview(bytearray(part)) for part in encoded.parts]
    return decode(parts, Loading({}, str), trusted=True)["x"]


def facts_of(frame: Any) -> list[object]:
    """All that tells two frames apart, down to the bits and the blocks."""
    return [type(frame), [*frame.columns], frame.index.tolist(), frame.attrs, *(
        [block.mgr_locs.as_array.tolist(), str(block.dtype), raw.shape,
         raw.tolist() if raw.dtype.hasobject else raw.tobytes()]
        for block in frame._mgr.blocks for raw in [np.asarray(block.values)]
    )]  # fmt: skip


def stored_bytes(session: Session, text: str) -> int:
    """Bytes that a cell adds to the store."""
    before = size_of(session.store.path)
    exec(text, session.namespace)
    session.workspace.tracker.touched(None)
    session.checkpoint("a-cell")
    session.wait()
    return size_of(session.store.path) - before


def size_of(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


CHANGES = {
    "one replaced": ("df['c0'] = df['c0'] * 2", 1),
    "one in the middle replaced": ("df['c3'] = df['c3'] * 2", 1),
    "one dropped": ("df = df.drop(columns=['c2'])", 0),
    "one inserted": ("df.insert(1, 'new', df['c1'] + 1)", 1),
    "one written to": ("df.loc[df['c3'] < 0, 'c3'] = 0", 1),
    "another order": ("df = df[['c5', 'c1', 'c0']]", 0),
    "a copy": ("other = df.copy()", 0),
    "one renamed": ("df = df.rename(columns={'c1': 'other'})", 0),
}


@pytest.mark.parametrize(("text", "n_columns"), CHANGES.values(), ids=CHANGES)
def test_only_a_changed_column_is_stored(session: Session, text: str, n_columns: int) -> None:
    session.namespace["df"] = table()
    stored_bytes(session, "")

    added = stored_bytes(session, text)

    assert added < n_columns * COLUMN_BYTES + COLUMN_BYTES / 5
    then = facts_of(session.namespace["df"])
    session.checkpoint("now")
    session.namespace["df"] = None
    session.rewind("now")
    assert facts_of(session.namespace["df"]) == then


def test_one_column_is_stored_also_after_a_rewind(session: Session) -> None:
    session.namespace["df"] = table()
    session.checkpoint("first")
    session.namespace["df"] = None
    session.checkpoint("second")
    session.rewind("first")

    added = stored_bytes(session, "df['c4'] = df['c4'] * 2")

    assert added < ONE_COLUMN


@pytest.mark.parametrize("kind", ["f8", "i8", "u8", "M8[ns]", "m8[s]", ">f8", "c16", "?"])
def test_any_type_comes_back_bit_by_bit(kind: str) -> None:
    frame = table(kind, rows=80_000)

    assert facts_of(back(frame)) == facts_of(frame)


@pytest.mark.parametrize(
    "text",
    [
        "df",
        "df.iloc[:, 1:4]",
        "df.iloc[::2]",
        "df.iloc[::-1]",
        "pd.DataFrame(df.to_numpy().copy('C'), copy=False)",
        "pd.DataFrame(df.to_numpy().copy('F'), copy=False)",
        "df.astype('f4')",
        "df.head(3)",
        "df.assign(k='text', n=1)",
        "df.convert_dtypes()",
        "pd.concat([df, df])",
        "df.set_index('c1')",
        "pd.DataFrame(read_only(df), copy=False)",
    ],
)
def test_any_layout_comes_back_as_it_was(text: str) -> None:
    def read_only(frame: Any) -> Any:
        values = frame.to_numpy().copy("F")
        values.flags.writeable = False
        return values

    frame = eval(text, {"df": table(), "pd": pd, "read_only": read_only})
    found = back(frame)

    pd.testing.assert_frame_equal(found, frame, check_exact=True)
    assert [block.shape for block in found._mgr.blocks] == [b.shape for b in frame._mgr.blocks]
    of_one, of_other = (
        [np.asarray(b.values).flags.writeable for b in f._mgr.blocks] for f in (found, frame)
    )
    assert of_one == of_other


def test_what_comes_back_can_be_written_to_and_is_nobody_elses() -> None:
    frame = table()
    found = back({"a": frame, "b": frame[:]})

    found["a"].iloc[0, 0] = 5.0

    assert frame.iloc[0, 0] != 5.0
    assert found["b"].iloc[0, 0] == frame.iloc[0, 0]


def test_an_array_on_the_memory_of_a_table_stays_there() -> None:
    array = np.zeros((4, ROWS)).T
    found = back([array, pd.DataFrame(array, copy=False)])

    found[0][0, 0] = 5.0

    assert found[1].iloc[0, 0] == 5.0


STEPS = [
    "df['c1'] = df['c1'] * 2", "df['k'] = 1.5", "df = df.drop(columns=df.columns[0])",
    "df.iloc[3, 0] = 7", "df = df[df.columns[::-1]]", "df = pd.concat([df, df.head(9)])",
    "df = df.astype('f4')", "df = df.copy()", "df.attrs['a'] = [1]", "df = df.iloc[::2]",
    "df.insert(0, 't', 'text')", "df.columns = [f'd{i}' for i in range(df.shape[1])]",
]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=5))
def test_after_any_changes_it_comes_back_as_by_pickle(steps: list[str]) -> None:
    names = {"df": table(), "pd": pd}
    for step in steps:
        try:
            exec(step, names)
        except (KeyError, ValueError, IndexError, TypeError):
            continue

    assert facts_of(back(names["df"])) == facts_of(pickle.loads(pickle.dumps(names["df"])))
