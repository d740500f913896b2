"""Rows of texts that are known: what is told of them is what a walk through them tells."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from nbckpt.fingerprint.keys.reach import definitions_in
from nbckpt.fingerprint.values import ValueDigester, text_rows
from nbckpt.fingerprint.values.holding import inside_of
from nbckpt.fingerprint.values.plain import ATOMS
from nbckpt.fingerprint.values.text_rows import LEAST_ELEMENTS, is_known, row_of
from nbckpt.session.session import Session

COUNT = LEAST_ELEMENTS + 10


def texts(count: int = COUNT) -> Any:
    return np.array([f"text {i}" for i in range(count)], dtype=object)


def digest(value: object) -> str:
    return ValueDigester({}).digest(value)


def a_function() -> None:
    """Code of the notebook."""


a_function.__module__ = "__main__"


@pytest.mark.parametrize("shape", [(COUNT,), (2, COUNT), (COUNT, 2)])
def test_a_known_row_has_the_digest_of_an_unknown_one(shape: tuple[int, ...]) -> None:
    array = texts(int(np.prod(shape)))
    unknown = digest(array.reshape(shape).copy())
    row = row_of(array, ATOMS)

    assert row is not None
    assert digest(array.reshape(shape)) == unknown
    assert digest(array.reshape(shape)) == unknown


def test_a_changed_element_changes_the_digest_of_a_known_row() -> None:
    array = texts()
    row = row_of(array, ATOMS)
    before = digest(array)
    array[7] = "other"

    assert row is not None
    assert not is_known(array)
    assert digest(array) != before
    array[7] = "".join(["text", " 7"])
    assert digest(array) == before


def test_a_part_of_a_known_row_is_known_and_has_its_own_digest() -> None:
    array = texts(3 * COUNT)
    unknown = [digest(part.copy()) for part in array.reshape(3, -1)]
    row = row_of(array, ATOMS)

    assert row is not None
    assert [digest(part) for part in array.reshape(3, -1)] == unknown
    assert all(map(is_known, array.reshape(3, -1)))


def test_code_that_was_put_into_a_known_row_is_found() -> None:
    array = texts()
    row = row_of(array, ATOMS)
    namespace = {"__name__": "__main__", "array": array}
    assert row is not None
    assert definitions_in(array, namespace) == []

    array[COUNT - 1] = a_function

    assert not is_known(array)
    assert definitions_in(array, namespace, 10 * COUNT) == [a_function]
    assert a_function in [*inside_of([array], lambda kind: kind is type(a_function))]


def test_a_row_of_other_objects_is_not_known() -> None:
    array = texts()
    array[3] = []

    assert row_of(array, ATOMS) is None
    assert not is_known(array)


def test_nothing_holds_the_texts_of_a_variable_that_is_gone(session: Session) -> None:
    session.namespace["v"] = texts()
    session.checkpoint("one")
    gc.collect()
    before = len(text_rows._rows)
    del session.namespace["v"]
    session.checkpoint("two")
    gc.collect()

    assert len(text_rows._rows) < before
