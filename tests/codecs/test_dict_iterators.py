"""Iterators of dicts come back as iterators of the very dicts."""

from __future__ import annotations

from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest

from nbckpt.fingerprint.values.dict_iterators import reduction_of_iterator
from tests.capture.observation.kernels import run

SETUP = """
from collections import Counter, OrderedDict
d, c, o = {i: 3 * i for i in range(5)}, Counter("abca"), OrderedDict(a=1, b=2, c=3)
def change(value):
    d[3] = c["c"] = o["c"] = value
"""
MADE = [
    f"{way}({what})"
    for what in ("d", "d.values()", "d.items()", "o", "o.values()", "o.items()", "c.items()")
    for way in ("iter", "reversed")
]
MADE += ["enumerate(d.values())", "zip(d, o.items())", "map(str, d.values())"]


@pytest.mark.slow
@pytest.mark.sampled(4)
@pytest.mark.parametrize("made", MADE)
def test_they_show_what_the_dict_holds_when_they_come_to_it(tmp_path: Path, made: str) -> None:
    cells = [SETUP, f"it = {made}", "first = next(it)", "change('x')"]
    cells.append("y = str((type(it), first, list(it), list(it)))")
    edited = [*cells[:3], "change('z')", cells[4]]
    plain = [run(tmp_path / "plain", some, "y", mode="plain").value for some in (cells, edited)]
    run(tmp_path, cells, "y", mode="skip")

    again = run(tmp_path, [*cells[:4], f"{cells[4]}; z = 1"], "y", mode="skip")
    answer = run(tmp_path, edited, "y", mode="skip")

    assert [again.value, answer.value] == plain
    assert [again.restored, answer.restored] == [[0, 1, 2, 3], [0, 1, 2]]


def again(iterator: Any) -> Any:
    make, arguments = reduction_of_iterator(iterator)
    assert callable(make)
    return make(*arguments)


@pytest.mark.parametrize("kind", [dict, OrderedDict, Counter])
def test_one_that_has_ended_stays_so(kind: type[dict[str, int]]) -> None:
    held = kind(a=1)
    iterator = iter(held.values())
    at_end = [*iterator]
    found = again(iterator)
    held["b"] = 2

    assert (at_end, [*found]) == ([1], [])


def test_one_whose_dict_has_grown_or_whose_way_is_not_told_is_refused() -> None:
    held = {1: 2}
    iterator = iter(held)
    held[3] = 4

    with pytest.raises(RuntimeError, match="changed size"):
        reduction_of_iterator(iterator)
    with pytest.raises(TypeError, match="both"):
        reduction_of_iterator(iter(OrderedDict(a="a").values()))
