"""Indexes of pandas that variables hold, and frames that have them as their own."""

from __future__ import annotations

import pytest

from nbckpt.session.session import Session

pd = pytest.importorskip("pandas")

SHARED = {
    "two": "i = pd.Index([1]); a = pd.Series([1], i); b = pd.Series([2], i)",
    "columns": "a = pd.DataFrame({'x': [1]}); i = a.columns; b = a",
    "in a list": "i = pd.Index([1]); a = [pd.Series([1], i)]; b = (i,)",
    "alias": "i = a = b = pd.Index([1])",
    "of an instance": "class C: pass\ni = C(); a = i.i = pd.Index([1]); b = pd.Series([1], a)",
}


@pytest.mark.parametrize("text", SHARED.values(), ids=SHARED)
def test_an_index_with_a_name_of_its_own_stays_the_frames(session: Session, text: str) -> None:
    session.namespace["pd"] = pd
    exec(text, session.namespace)

    manifest = session.timeline.manifest(session.checkpoint("kept").id)
    session.namespace.update(i=None, a=None, b=None)
    session.rewind("kept")

    assert manifest["i"].group == manifest["a"].group == manifest["b"].group
    back = session.namespace
    if isinstance(back["i"], pd.Index) and isinstance(back["a"], pd.Series | pd.DataFrame):
        back["i"].name = "changed"
        assert "changed" in {axis.name for axis in back["a"].axes}


def test_frames_on_one_index_are_kept_apart(session: Session) -> None:
    session.namespace["pd"] = pd
    exec("a = pd.DataFrame({'x': [1]}); b = a * 2", session.namespace)
    assert session.namespace["a"].index is session.namespace["b"].index

    manifest = session.timeline.manifest(session.checkpoint("kept").id)

    assert manifest["a"].group == ("a",)


@pytest.mark.parametrize("names", ["ia", "ib", "ha", "hi"])
def test_two_of_several_that_have_an_index_share_it(session: Session, names: str) -> None:
    session.namespace["pd"] = pd
    text = "i = pd.Index([1]); h = [i]; a = pd.Series([1], i); b = pd.Series([2], i)"
    exec(text, session.namespace)
    session.checkpoint("kept")

    assert session.workspace.capturer.encoder.sharing(names) == [tuple(sorted(names))]
