"""Warnings while values come back: shown or hidden, never errors."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from nbckpt.session.session import Session


class Old:
    """Says that it is old when it is made again."""

    def __setstate__(self, state: object) -> None:
        warnings.warn("it is old", FutureWarning, stacklevel=1)


@pytest.fixture
def changed(session: Session) -> Session:
    """A session whose first checkpoint, under filters that raise, holds what warns."""
    session.namespace["old"] = old = Old()
    old.__dict__["n"] = 1
    warnings.simplefilter("error")
    session.checkpoint("kept")
    session.namespace["old"] = None
    return session


def test_a_value_that_warns_comes_back_under_filters_that_raise(changed: Session) -> None:
    with pytest.warns(FutureWarning, match="it is old"):
        moved = changed.rewind("kept")

    assert not moved.failed
    assert isinstance(changed.namespace["old"], Old)


def test_whoever_hides_warnings_around_a_rewind_sees_none(
    changed: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("ignore")
        moved = changed.rewind("kept")

    assert not moved.failed
    assert told == []


def test_the_filters_of_the_checkpoint_hold_after_a_rewind(changed: Session) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed.rewind("kept")

        with pytest.raises(FutureWarning):
            warnings.warn("now", FutureWarning, stacklevel=1)


def test_filters_that_an_import_adds_while_values_come_back_stay(
    changed: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import warnings\nwarnings.filterwarnings('ignore', message='mine')\nclass A: pass\n"
    (tmp_path / "adding.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    import adding  # type: ignore[import-not-found]

    changed.namespace["a"] = adding.A()
    changed.checkpoint("more")
    changed.namespace["a"] = None
    del sys.modules["adding"]
    warnings.filters[:] = [f for f in warnings.filters if "mine" not in str(f)]  # type: ignore[index]

    changed.rewind("more")

    assert any("mine" in str(entry) for entry in warnings.filters)
