"""Tables of pandas that lie on the memory of an array, and arrays that lie on a table's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbckpt.session.session import Session

pd = pytest.importorskip("pandas", minversion="3")

SHARED = {
    "frame": ("a = np.zeros((2, 1)); t = pd.DataFrame(a, copy=False)", "a[0] = 5", "t[0][0]"),
    "series": ("a = np.zeros(2); t = pd.Series(a, copy=False)", "a[0] = 5", "t[0]"),
    "written": (
        "a = np.zeros((2, 1)); t = pd.DataFrame(a, copy=False)",
        "t.iloc[0, 0] = 5",
        "a[0]",
    ),
    "large": ("a = np.zeros((9000, 1)); t = pd.DataFrame(a, copy=False)", "a[0] = 5", "t[0][0]"),
    "index": ("a = np.zeros(2); t = pd.Index(a, copy=False)", "a[0] = 5", "t[0]"),
    "column": ("t = pd.DataFrame({'k': [0, 0]}); a = t.k.values", "t.loc[0, 'k'] = 5", "a[0]"),
    "dates": (
        "t = pd.DataFrame({'k': pd.to_datetime(['1970'] * 2)}); a = t.k.values",
        "t.loc[0, 'k'] = pd.Timestamp(5000)",
        "int(a.astype('M8[us]').astype(int)[0])",
    ),
    "in one": (
        "a = np.zeros(2); t = {'a': a, 's': pd.Series(a, copy=False)}",
        "t['a'][0] = 5",
        "t['s'][0]",
    ),
    "attrs": ("t = pd.DataFrame(); a = t.attrs", "a['k'] = 5", "t.attrs['k']"),
}


def kept_and_lost(session: Session, text: str) -> dict[str, Any]:
    """The namespace after a cell's variables were kept, lost and brought back."""
    session.namespace.update(np=np, pd=pd)
    exec(text, session.namespace)
    session.checkpoint("kept")
    session.namespace.update(a=None, t=None)
    session.rewind("kept")
    return session.namespace


@pytest.mark.parametrize(("before", "change", "seen"), SHARED.values(), ids=SHARED)
def test_they_stay_on_one_memory(session: Session, before: str, change: str, seen: str) -> None:
    back = kept_and_lost(session, before)

    exec(change, back)

    assert eval(seen, back) == 5


@pytest.mark.parametrize(
    "text",
    [
        "a = pd.DataFrame({'k': [1]}); b = a.columns.to_numpy(); c = a.index.to_numpy()",
        "a = pd.DataFrame({'k': [1]}); b = a.k; c = a.copy(deep=False)",
    ],
    ids=["labels", "copies"],
)
def test_what_nobody_writes_to_ties_nothing(session: Session, text: str) -> None:
    session.namespace.update(pd=pd)
    exec(text, session.namespace)

    manifest = session.timeline.manifest(session.checkpoint("kept").id)

    assert all(len(manifest[name].group) == 1 for name in "abc")


SERIES = (
    "[1, 2, 3]",
    "[1, 2, 3], dtype='Int64'",
    "[True, None, False], dtype='boolean'",
    "['a', 'b', 'c']",
    "['a', 'b', 'c'], dtype='category'",
    "pd.date_range('2020', '2022', 3)",
    "pd.date_range('2020', '2022', 3, tz='UTC')",
    "pd.period_range('2020', periods=3, freq='D')",
    "pd.interval_range(0, 3)",
)


@pytest.mark.parametrize("made", ["t.copy(deep=False)", "t.rename('x')", "t[:]"])
@pytest.mark.parametrize("values", SERIES)
def test_series_on_one_memory_are_values(session: Session, values: str, made: str) -> None:
    change = "t.iloc[0] = t.iloc[2]; a.iloc[1] = a.iloc[2]"
    text = f"t = pd.Series({values}); a = {made}"
    plain: dict[str, Any] = {"pd": pd}
    exec(f"{text}; {change}", plain)
    back = kept_and_lost(session, text)

    exec(change, back)

    assert (str(back["t"]), str(back["a"])) == (str(plain["t"]), str(plain["a"]))
