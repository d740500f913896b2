"""Numbers of equal calls: each is one call's, whatever is chosen, skipped and given back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbckpt.llm.occurrence import EqualCalls

NUMBERS = st.integers(0, 6)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.frozensets(NUMBERS)),
        st.tuples(st.just("take"), st.lists(NUMBERS, max_size=3)),
        st.tuples(st.just("give back"), NUMBERS),
        st.tuples(st.just("go on"), NUMBERS),
    ),
    max_size=30,
)


@given(ACTIONS)
def test_they_are_the_lowest_that_none_has(actions: list[tuple[str, object]]) -> None:
    equals, taken, begun = EqualCalls(), set[int](), 0
    for what, given_numbers in actions:
        free = [n for n in range(50) if n not in taken]
        if what == "reserve":
            assert isinstance(given_numbers, frozenset)
            number = equals.reserve("a", but=given_numbers.__contains__ if given_numbers else None)
            assert number == next(n for n in free if n not in given_numbers)
            taken.add(number)
        elif what == "take":
            assert isinstance(given_numbers, list)
            chosen = equals.take("a", given_numbers)
            assert chosen == next((n for n in given_numbers if n in free), None)
            taken |= set() if chosen is None else {chosen}
        elif what == "give back" and given_numbers in taken:
            assert isinstance(given_numbers, int)
            equals.give_back("a", given_numbers)
            taken.remove(given_numbers)
        elif what == "go on" and not taken and not begun:
            assert isinstance(given_numbers, int)
            equals.go_on({"a": given_numbers})
            taken |= set(range(given_numbers))
        begun = max([begun, *(n + 1 for n in taken)])
        assert equals.begun().get("a", 0) <= begun
        assert all(n < equals.begun().get("a", 0) for n in taken)
