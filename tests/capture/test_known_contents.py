"""Values with many texts that were only read are known again, and no change of them goes unseen."""

from __future__ import annotations

import ctypes
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbckpt.capture.recapture import Recapture
from nbckpt.fingerprint.values import text_rows
from nbckpt.session.session import Session, open_session
from nbckpt.storage.blobs import size_of_parts

pd = pytest.importorskip("pandas", minversion="3")
pl = pytest.importorskip("polars")

COUNT = text_rows.LEAST_ELEMENTS + 100
TEXTS = f"[f'text {{i}}' for i in range({COUNT})]"

VALUES = {
    "array": f"v = np.array({TEXTS}, dtype=object)",
    "two rows": f"v = np.array([{TEXTS}, {TEXTS}], dtype=object)",
    "in columns": f"v = np.asfortranarray(np.array([{TEXTS}, {TEXTS}], dtype=object))",
    "series": f"v = pd.Series({TEXTS}, dtype=object)",
    "frame": f"v = pd.DataFrame({{'k': pd.Series({TEXTS}, dtype=object), 'n': 1.5}})",
    "index": f"v = pd.Series(range({COUNT}), index=pd.Index({TEXTS}, dtype=object))",
    "mixed": f"v = np.array([None, float('nan'), 1, 2.5, b'b', 'a'] * {COUNT // 5}, dtype=object)",
    "inside": f"v = {{'a': [np.array({TEXTS}, dtype=object)], 'b': 'text'}}",
    "polars": "v = pl.DataFrame({'x': np.arange(2e5), 't': ['text'] * 200_000})",
    "polars series": "v = pl.Series('s', np.arange(2e5))",
    "two views": f"w = np.array({TEXTS}, dtype=object); v = [w, w[:-1]]; del w",
}

CHANGES = {
    "array": [
        "v[7] = 'other'", "v[7] = v[8]", "v[7] = None", "v[7] = 1.0", "v[7] = [1]", "v[:] = v[::-1]",
        "v[7] = ''.join(['te', 'xt 7'])", "v.flags.writeable = False", "v = v.copy()", "v = v[1:]",
        "v = v.reshape(2, -1)", "v.shape = 2, -1", "w = v[:9]", "w = v", "v = v.astype(str)",
        "v[7] = float('nan')", "v[7] = Own('a')", "w = v; v = v[:]",
    ],
    "frame": [
        "v.loc[3, 'k'] = 'other'", "v.attrs['k'] = [1]", "v.attrs['t'] = v.k[3]", "v.note = 5",
        "v.attrs['t'] = ''.join(['te', 'xt 3'])", "v.index.name = 'i'", "v.columns = ['k', 'm']",
        "v.loc[3, 'n'] = 2", "v['m'] = v.k", "w = v[:]", "w = v.k", "v.flags.allows_duplicate_labels = False",
        "v = v.iloc[::-1]", "w = v.attrs", "v.loc[3, 'k'] = None", "v = v.copy()",
    ],
    "polars": [
        "v[3, 'x'] = 7.5", "v[3, 't'] = 'other'", "v.insert_column(0, v['x'].alias('y'))",
        "v.replace_column(0, v['x'] * 2)", "v.columns = ['y', 't']", "v.extend(v)", "w = v",
        "w = v['x']", "v.drop_in_place('t')", "v = v.clone()", "v[3, 'x'] = None", "v = v.head(9)",
        "v = v.with_columns(x=pl.col('x').cast(pl.Float32))", "v = v.sort('x')", "v = v[::-1]",
        "v = v.set_sorted('x')", "v = v.vstack(v)", "v = v.rechunk()", "v.note = 'text'",
        "v = v.with_columns(o=pl.Series([[1]] * len(v)))", "written_past(v['x'], 7)",
    ],
    "polars series": [
        "v[3] = 7.5", "v[3] = None", "v = v.rename('r')", "v.append(v)", "v.extend(v)", "w = v",
        "v = v.set_sorted()", "v = v.cast(pl.Int64)", "written_past(v, 3)", "v = v[1:]",
    ],
    "inside": [
        "v['a'][0][7] = 'other'", "v['b'] = v['a'][0][7]", "v['b'] = ''.join(['te', 'xt 7'])",
        "v['a'].append(v['a'][0])", "v['a'].append(v['a'][0].copy())", "w = v['a'][0]", "w = v['a']",
        "v['a'][0] = v['a'][0][:-1]", "v['c'] = v",
    ],
}  # fmt: skip


REFUSED = (
    ValueError, KeyError, AttributeError, TypeError, IndexError, pl.exceptions.PolarsError,
)  # fmt: skip
"""Raised by a change that a value is no longer fit for."""


class Own(str):
    """A text with a class of its own."""


def written_past(series: Any, place: int) -> None:
    """Write to the memory of a series, past polars; what lies behind a null is no value."""
    while series[place] is None:
        place += 1
    address = series.to_arrow().buffers()[1].address
    ctypes.c_double.from_address(address + 8 * place).value = 5.5


def run(session: Session, text: str) -> None:
    """A cell, and what is kept after it."""
    exec(text, session.namespace)
    session.workspace.tracker.touched(None)
    session.workspace.capturer.capture()


def begun(session: Session, text: str) -> Session:
    """The session, where a value was kept and then only read."""
    session.namespace.update(np=np, pd=pd, pl=pl, Own=Own, written_past=written_past)
    run(session, text)
    run(session, "pass")
    return session


def kept(session: Session) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Blob and group of each variable that is kept."""
    found = session.workspace.capturer.manifest()
    return {n: (found[n].blob, found[n].group) for n in ("v", "w") if n in found}


def kept_at_a_whole_look(session: Session) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What would be kept by someone who knows nothing of the values."""
    names = [name for name in ("v", "w") if name in session.namespace]
    groups = Recapture(session.workspace.capturer).groups_read_whole(names)
    return {n: (group.blob, group.names) for group in groups if group.blob for n in group.names}


def bytes_put(session: Session, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the blobs that are put from now on."""
    sizes: list[int] = []
    put = session.store.put_blobs

    def noting(blobs: Any, **options: Any) -> Any:
        sizes.extend(size_of_parts(parts) for parts in blobs)
        return put(blobs, **options)

    monkeypatch.setattr(session.store, "put_blobs", noting)
    return sizes


@pytest.mark.parametrize("text", VALUES.values(), ids=VALUES)
def test_a_value_that_was_only_read_is_not_written_again(
    session: Session, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    begun(session, text)
    before = kept(session)
    sizes = bytes_put(session, monkeypatch)

    run(session, "n = None; del n")

    assert kept(session) == before
    assert max(sizes, default=0) < COUNT, "the texts were written"
    assert kept(session) == kept_at_a_whole_look(session)


@pytest.mark.parametrize(
    ("text", "change"),
    [(VALUES[kind], change) for kind, changes in CHANGES.items() for change in changes],
)
def test_each_change_is_kept_as_by_a_whole_look(session: Session, text: str, change: str) -> None:
    begun(session, text)

    run(session, change)

    assert kept(session) == kept_at_a_whole_look(session)
    run(session, "pass")
    assert kept(session) == kept_at_a_whole_look(session)


TWO_OF_ONE_NAME = ["v.insert_column(0, v['x'].alias('y'))", "v.replace_column(0, v['x'] * 2)"]
"""A frame with two columns of one name: polars panics at most of what is asked of it."""


def test_a_frame_that_panics_is_kept_by_neither_look(session: Session) -> None:
    begun(session, VALUES["polars"])

    for change in TWO_OF_ONE_NAME:
        run(session, change)
    assert kept(session) == kept_at_a_whole_look(session) == {}

    run(session, "v = v.drop_in_place('t')")
    assert kept(session) == kept_at_a_whole_look(session) != {}


@settings(max_examples=25, deadline=None)
@given(kind=st.sampled_from([*CHANGES]), data=st.data())
def test_any_changes_in_any_order_are_kept_as_by_a_whole_look(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    # Whether a dict of `attrs` is written apart depends on who holds it just now.
    known = [*(c for c in CHANGES[kind] if c != "w = v.attrs"), "pass", "w = None"]
    cells = data.draw(st.lists(st.sampled_from(known), max_size=6))
    session = open_session(tmp_path_factory.mktemp("store"), {"__name__": "__main__"})
    begun(session, VALUES[kind])

    for cell in cells:
        try:
            run(session, cell)
        except REFUSED:
            run(session, "pass")
        assert kept(session) == kept_at_a_whole_look(session)
    session.store.close()


def test_a_value_comes_back_after_reads_changes_and_rewinds(session: Session) -> None:
    begun(session, VALUES["frame"])
    session.checkpoint("first")
    then = pickle.dumps(session.namespace["v"])
    run(session, "v.loc[3, 'k'] = 'other'")
    session.checkpoint("second")
    session.rewind("first")

    run(session, "pass")

    assert pickle.loads(then).equals(session.namespace["v"])
    assert kept(session) == kept_at_a_whole_look(session)
    session.namespace["v"].loc[3, "k"] = "third"
    run(session, "pass")
    assert kept(session) == kept_at_a_whole_look(session)


def test_objects_that_went_away_are_not_taken_for_new_ones_at_their_addresses(
    session: Session,
) -> None:
    begun(session, VALUES["array"])
    drawn = random.Random(0)
    for n in range(20):
        place = drawn.randrange(COUNT)
        run(session, f"v[{place}] = None; v[{place}] = ''.join(['new ', str({n})])")

        assert kept(session) == kept_at_a_whole_look(session)
