"""Names that a tracker tells, with and without versions of dicts, beside a plain look."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.capture.change_tracking import change_tracker
from nbckpt.capture.change_tracking.change_tracker import ChangeTracker
from nbckpt.fingerprint.user_names import is_user_name

WAYS: dict[str, Any] = {
    "bind": lambda d, n: d.__setitem__(n, object()),
    "bind by code": lambda d, n: exec(f"{n} = []", d),
    "bind by a function": lambda d, n: exec(f"def f():\n    global {n}\n    {n} = 1\nf()", d),
    "update": lambda d, n: d.update({n: 1.5}),
    "set what is not there": lambda d, n: d.setdefault(n, "text"),
    "delete": lambda d, n: d.pop(n, None),
    "delete by code": lambda d, n: n in d and exec(f"del {n}", d),
    "clear": lambda d, n: d.clear(),
    "last": lambda d, n: d and d.popitem(),
    "merge": lambda d, n: d.__ior__({n: {}}),
    "nothing": lambda d, n: d.get(n),
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*WAYS, "hide", "ask", "look", "look and ask", "fail"]),
        st.sampled_from(["a", "b", "c", "_i1", "hidden"]),
    ),
    max_size=20,
)


def users(space: dict[str, Any], hidden: set[str]) -> list[str]:
    return [n for n in space if is_user_name(n) and n not in hidden]


@pytest.mark.parametrize("has_versions", [True, False])
@given(STEPS)
def test_the_names_are_those_that_are_there(has_versions: bool, steps: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not has_versions:
            patch.setattr(change_tracker, "version_of", lambda _: None)
        space: dict[str, Any] = {"a": 1}
        hidden = {"hidden"}
        tracker = ChangeTracker(space, hidden)
        before: dict[str, Any] = {}
        for what, name in [*steps, ("look and ask", "a")]:
            if what in WAYS:
                WAYS[what](space, name)
            elif what == "hide":
                hidden.add(name)
            elif what == "ask":
                assert list(tracker.user_names()) == users(space, hidden)
            else:
                with suppress(ZeroDivisionError), tracker.looking():
                    there = dict(space)
                    space["b"] = "of another thread"
                    if what != "look":
                        assert list(tracker.user_names()) == users(there, hidden)
                        changed = {n for n in users(there, hidden) if before.get(n) != there[n]}
                        assert tracker.suspects(set()) >= changed
                    if what == "fail":
                        raise ZeroDivisionError
                    for one in users(there, hidden) if what == "look and ask" else ():
                        tracker.holds(one)
                        before[one] = there[one]


@pytest.mark.parametrize("change", ["bind", "delete"])
def test_names_that_change_as_they_are_copied_are_those_of_the_copy(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer runs where Python looks for garbage: also where the copy is made."""
    space: dict[str, Any] = {"a": 1, "x": 2}
    tracker = ChangeTracker(space)
    assert tracker.user_names() == ("a", "x")
    real, calls = change_tracker.version_of, list[int]()

    def version_of(entries: dict[str, object]) -> int | None:
        version = real(entries)
        if not calls:
            WAYS[change](entries, "x" if change == "delete" else "new")
        calls.append(1)
        return version

    monkeypatch.setattr(change_tracker, "version_of", version_of)
    with tracker.looking():
        assert tracker.user_names() == tuple(tracker.values())
        assert tracker.suspects(set()) <= tracker.values().keys()
    assert tracker.user_names() == tuple(space)
