"""Scalars are written without a pickler of nbckpt's own, and byte for byte as with one."""

from __future__ import annotations

import math
import pickle

import pytest

from nbckpt.codecs import encode as encoding
from nbckpt.codecs.encode import MOST_OF_A_SCALAR, encode
from nbckpt.codecs.pickler import Scope

LONG = "as_long_as_a_name_can_be_" * 12
VALUES: dict[str, dict[str, object]] = {
    "a small number": {"n": 5},
    "a large number": {"n": 2**MOST_OF_A_SCALAR - 1},
    "a number with a point": {"x": math.nan},
    "a truth": {"t": True},
    "nothing": {"n": None},
    "a text": {"s": "é" * MOST_OF_A_SCALAR},
    "a text of its own": {"s": "\ud800"},
    "a long text": {"s": "x" * (MOST_OF_A_SCALAR + 1)},
    "its own name": {"x": "x"},
    "a long name": {LONG: LONG},
    "small numbers": {"n": 5, "m": 6},
    "large numbers": {"n": 2**MOST_OF_A_SCALAR - 1, "m": 2 ** (MOST_OF_A_SCALAR + 9)},
    "numbers with a point": {"x": math.nan, "y": -0.0},
    "truth": {"a": True, "b": False, "c": None},
    "texts": {"s": "", "t": "é" * MOST_OF_A_SCALAR, "u": "\ud800"},
    "long texts": {"s": "x" * (MOST_OF_A_SCALAR + 1)},
    "one text twice": {"s": LONG, "t": LONG},
    "a text that is its name": {LONG: LONG, "x": "x"},
}


@pytest.mark.parametrize("what", VALUES)
def test_scalars_have_the_bytes_that_the_pickler_gives_them(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = encode(VALUES[what], Scope({}))
    monkeypatch.setattr(encoding, "_is_scalar", lambda _: False)
    plain = encode(VALUES[what], Scope({}))

    assert list(map(bytes, quick.parts)) == list(map(bytes, plain.parts))
    assert (quick.needs, quick.shares, quick.views) == (plain.needs, plain.shares, plain.views)


def test_whoever_replaces_pickles_function_gets_his_scalars_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = encode({"n": 7}, Scope({})).parts
    monkeypatch.setattr(pickle, "dumps", lambda obj, protocol=None: b"compressed")

    assert encode({"n": 7}, Scope({})).parts == expected
