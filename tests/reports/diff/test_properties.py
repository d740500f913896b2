"""What holds of every comparison, whatever is compared."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nbckpt.reports.diff.aligning import stretches
from nbckpt.reports.diff.details import Limits
from nbckpt.reports.diff.families import detail
from nbckpt.reports.diff.nested_values import are_equal
from nbckpt.reports.diff.value_texts import told, told_apart

ALL = Limits(rows=10_000, lines=10_000, characters=10_000)
LISTS = st.lists(st.integers(0, 12), max_size=30)

atoms = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=True, width=16)
    | st.text("ab\n", max_size=4)
    | st.binary(max_size=2)
)
keys = st.text("abc", max_size=2) | st.integers(-9, -5)
trees = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.tuples(inner, inner)
        | st.frozensets(st.integers(0, 5), max_size=3)
    ),
    max_leaves=15,
)
dicts = st.recursive(
    st.integers(-3, 3) | st.text("ab", max_size=3),
    lambda inner: st.dictionaries(st.text("abc", max_size=2), inner, min_size=1, max_size=4),
    max_leaves=15,
)


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Path → leaf, of nested dicts; an empty one is a leaf."""
    if isinstance(value, dict) and value:
        parts = [leaves(v, f"{path}[{k!r}]") for k, v in value.items()]
        return {p: leaf for part in parts for p, leaf in part.items()}
    return {path: value}


@pytest.mark.slow
@given(trees)
def test_a_value_is_the_same_as_its_copy(value: Any) -> None:
    assert detail(value, copy.deepcopy(value), Limits()).is_same


def plain_equal(one: Any, other: Any) -> bool:
    """Equality as the comparison has it, written down the long way."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(plain_equal(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(plain_equal, one, other))
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


@given(trees, trees)
def test_two_values_are_told_the_same_only_if_they_are_equal(before: Any, after: Any) -> None:
    is_same = plain_equal(before, after)

    assert detail(before, after, Limits()).is_same == is_same
    assert are_equal(before, after) == is_same


@pytest.mark.slow
@given(dicts, dicts)
def test_every_leaf_that_differs_is_described(before: Any, after: Any) -> None:
    old, new = {"root": before}, {"root": after}
    found = detail(old, new, ALL)
    told_paths = [row.path for row in found.rows]
    now, then = leaves(new), leaves(old)

    differing = {p for p in now.keys() | then.keys() if now.get(p, ...) != then.get(p, ...)}

    assert all(any(path.startswith(t) for t in told_paths) for path in differing)
    assert all(any(path.startswith(t) for path in differing) for t in told_paths)
    assert len(told_paths) == len(set(told_paths))


@given(LISTS, LISTS)
def test_additions_and_removals_of_a_list_make_one_of_the_other(before: Any, after: Any) -> None:
    found = stretches(before, after, 100)

    assert found is not None
    assert [
        x for s in found for x in (before[s.i1 : s.i2] if s.is_equal else after[s.j1 : s.j2])
    ] == after
    assert [x for s in found for x in before[s.i1 : s.i2]] == before
    assert all(before[s.i1 : s.i2] == after[s.j1 : s.j2] for s in found if s.is_equal)


@given(LISTS, LISTS, st.integers(0, 5))
def test_matching_what_stands_once_first_loses_nothing(before: Any, after: Any, limit: int) -> None:
    found = stretches(before, after, limit)

    if found is not None:
        assert [x for s in found for x in after[s.j1 : s.j2]] == after
        assert [x for s in found for x in before[s.i1 : s.i2]] == before
        assert all(before[s.i1 : s.i2] == after[s.j1 : s.j2] for s in found if s.is_equal)


@pytest.mark.slow
@given(st.text(max_size=300), st.text(max_size=300))
def test_texts_are_told_apart(before: str, after: str) -> None:
    texts = told_apart(before, after, 40)

    assert max(map(len, texts)) <= 40
    assert detail(before, after, Limits()).is_same == (before == after)


@given(trees)
def test_what_is_told_is_one_short_line(value: Any) -> None:
    text = told(value, 50)

    assert len(text) <= 50
    assert "\n" not in text


arrays = hnp.arrays(
    st.sampled_from([np.dtype(t) for t in ("f8", "f2", "i1", "u8", "?", "c16", "U2", "M8[s]")]),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=4),
)


@given(arrays)
def test_an_array_is_the_same_as_its_copy(array: Any) -> None:
    array = np.asarray(array)

    assert detail(array, array.copy(), Limits()).is_same
    assert detail(array, array.copy(order="F"), Limits()).is_same


@given(st.data())
def test_the_elements_that_differ_are_counted_and_the_largest_is_found(data: Any) -> None:
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=5))
    values = st.integers(-5, 5).map(float)
    before, after = (data.draw(hnp.arrays("f8", shape, elements=values)) for _ in range(2))
    found = detail(before, after, ALL)
    gaps = np.abs(before - after)

    if not gaps.any():
        assert found.is_same
        return
    assert found.summary.startswith(f"{np.count_nonzero(gaps)} of ")
    assert f"largest difference {gaps.max():.6g} at" in found.summary
    assert len(found.rows) == np.count_nonzero(gaps)
