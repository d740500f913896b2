"""Which names a look at a namespace tells, beside a slow look at all of them."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.capture.change_tracking import live_names
from nbckpt.capture.change_tracking.live_names import LiveNames, addresses_of, changed_words
from nbckpt.fingerprint.user_names import Own, is_odd_name, is_user_name


class Nbckpts(Own):
    pass


VALUES: list[Any] = [0, "text", [], {}, len, Nbckpts(), type("K", (), {}), lambda: 0, object()]
NAMES: list[Any] = ["a", "b", "c", "_", "_i1", "In", "hidden", "", 1, ("a",), "\udc80"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["bind", "bind", "bind", "delete", "look"]),
        st.sampled_from(NAMES),
        st.sampled_from(VALUES),
    ),
    max_size=25,
)


@pytest.mark.parametrize("is_fast", [True, False])
@given(STEPS)
def test_a_look_tells_what_a_slow_one_does(is_fast: bool, steps: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if not is_fast:
            patch.setattr(live_names, "_ITEMS", None)
        names, space = LiveNames({"hidden"}), dict[Any, Any]()
        before: dict[Any, Any] = {}
        for what, name, value in [*steps, ("look", "", 0)]:
            if what == "bind":
                space[name] = value
            elif what == "delete":
                space.pop(name, None)
            else:
                moves = names.look(dict(space))
                users = {n: v for n, v in space.items() if is_user_name(n) and n != "hidden"}
                shown = {n: v for n, v in users.items() if not isinstance(v, Own)}
                assert names.listed == tuple(shown)
                assert names.present == shown.keys()
                assert names.odd == [*filter(is_odd_name, space)]
                own = {n for n, v in users.items() if isinstance(v, Own)}
                assert names.withheld == own | ({"hidden"} & space.keys())
                made = [n for n, v in shown.items() if isinstance(v, live_names._NAMED)]
                assert names.definitions() == made
                rebound = {n for n, v in shown.items() if n not in before or before[n] is not v}
                assert rebound <= moves.bound <= shown.keys()
                assert moves.gone >= before.keys() - shown.keys()
                assert moves.gone.isdisjoint(shown)
                assert all(names.addresses().of(n) == id(v) for n, v in users.items())
                before = shown


def test_names_that_become_the_users_are_told() -> None:
    hidden = {"a", "b"}
    names, space = LiveNames(hidden), {"a": 1, "b": 2}
    names.look(space)
    hidden.discard("a")

    moves = names.look(space)

    assert names.listed == ("a",)
    assert moves.bound == {"a"}
    assert names.withheld == {"b"}


@given(st.lists(st.integers(0, 3), max_size=300), st.lists(st.integers(0, 3), max_size=300))
def test_words_that_differ_are_found(before: list[int], now: list[int]) -> None:
    found = changed_words(array("Q", before).tobytes(), array("Q", now).tobytes())

    assert found == [i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]


def test_addresses_are_those_of_the_objects() -> None:
    values: list[object] = [object() for _ in range(1000)]

    assert addresses_of(values) == array("Q", map(id, values)).tobytes()
    assert addresses_of([]) == b""
