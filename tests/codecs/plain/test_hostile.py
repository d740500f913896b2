"""Pickles that somebody has written by hand: none of them runs anything, or goes past a bound."""

from __future__ import annotations

import resource
import struct
import sys
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from nbckpt.codecs import plain
from nbckpt.codecs.plain import arrows
from nbckpt.codecs.plain.limits import Limits
from nbckpt.errors import FormatError, UntrustedError
from tests.codecs.plain.blobs import (
    ADDITEMS,
    APPEND,
    BUILD,
    DUP,
    EMPTY_DICT,
    EMPTY_LIST,
    EMPTY_SET,
    EMPTY_TUPLE,
    FALSE,
    FROZENSET,
    MARK,
    MEMOIZE,
    NEWOBJ,
    NONE,
    REDUCE,
    SETITEM,
    STACK_GLOBAL,
    STOP,
    TRUE,
    TUPLE,
    TUPLE1,
    TUPLE2,
    blob,
    call,
    data,
    get,
    named,
    number,
    parts_of,
    raw,
    several,
    text,
)  # fmt: skip

COMMAND = text("touch /tmp/nbckpt-was-here")
CODE = text("raise SystemExit('it ran')")


def refused(pushed: bytes, *buffers: bytes) -> str:
    """Why a blob is refused, which must be one of the two documented ways."""
    with pytest.raises((UntrustedError, FormatError)) as caught:
        plain.load(blob(pushed, buffers))
    return str(caught.value)


def zone(key: str) -> bytes:
    """A time zone by its name."""
    made = call("builtins", "getattr", named("zoneinfo", "ZoneInfo"), text("_unpickle"))
    return made + several(text(key), number(1)) + REDUCE


CALLS = {
    "os.system": call("os", "system", COMMAND),
    "posix.system": call("posix", "system", COMMAND),
    "subprocess": call("subprocess", "Popen", COMMAND),
    "eval": call("builtins", "eval", CODE),
    "exec": call("builtins", "exec", CODE),
    "compile": call("builtins", "compile", CODE, text("x"), text("exec")),
    "open": call("builtins", "open", text("/tmp/x"), text("w")),
    "import": call("builtins", "__import__", text("antigravity")),
    "getattr": call("builtins", "getattr", named("builtins", "int"), text("__subclasses__")),
    "getattr of a zone": call(
        "builtins", "getattr", named("zoneinfo", "ZoneInfo"), text("from_file")
    ),
    "dotted name": call("builtins", "object.__subclasses__"),
    "dotted module": call("numpy.os", "system", COMMAND),
    "a module inside an allowed one": call("numpy", "f2py", COMMAND),
    "numpy's own loader": call("numpy", "load", text("/tmp/x.npy")),
    "numpy.testing": call("numpy.testing._private.utils", "runstring", CODE, EMPTY_DICT),
    "pandas reads": call("pandas", "read_pickle", text("/tmp/x")),
    "pandas.eval": call("pandas", "eval", CODE),
    "pandas's compat loader": call("pandas.compat.pickle_compat", "loads", data(b"cos\nsystem\n")),
    "torch.load": call("torch", "load", text("/tmp/x")),
    "torch's classes": call("torch.storage", "_load_from_bytes", data(b"x")),
    "polars' own": call("polars", "read_csv", text("/etc/passwd")),
    "a map of a file": call("nbckpt.codecs.memmaps", "map_of", text("/etc/passwd")),
    "a recipe": call("nbckpt.capture.recipes", "follow", text("x"), CODE, EMPTY_DICT, EMPTY_TUPLE),
    "a function": call("nbckpt.codecs.functions", "make_function", CODE),
    "a name of the notebook": call("nbckpt.codecs.loading", "from_namespace", text("f")),
    "cloudpickle": call("cloudpickle.cloudpickle", "subimport", text("os")),
    "pickle": call("pickle", "loads", data(b"cos\nsystem\n")),
    "partial": call("functools", "partial", named("builtins", "int")),
    "operator": call("operator", "attrgetter", text("x")),
    "reconstructor": call(
        "copyreg", "_reconstructor", named("builtins", "object"), named("builtins", "object"), NONE
    ),
    "methodcaller": call("operator", "methodcaller", text("system")),
    "a class that is only a name": call("builtins", "int", text("9" * 10_000)),
    "str": call("builtins", "str", data(b"x"), text("idna")),
    "bytes of any size": call("builtins", "bytes", number(1 << 40)),
    "list of anything": call("builtins", "list", call("builtins", "range", number(1 << 40))),
    "bytearray of any size": call("builtins", "bytearray", number(1 << 40)),
    "a factory that calls": call("collections", "defaultdict", named("builtins", "range")),
    "a zone's file": zone("../../../etc/passwd"),
    "the type of types": call("builtins", "type", text("X"), EMPTY_TUPLE, EMPTY_DICT),
    "an instance": named("builtins", "object") + EMPTY_TUPLE + NEWOBJ,
    "an index of any class": call(
        "pandas.core.indexes.base", "_new_Index", named("pandas", "DataFrame"), EMPTY_DICT
    ),
    "a call of what is called": call("builtins", "int") + EMPTY_TUPLE + REDUCE,
    "a call of a text": text("os.system") + TUPLE1 + REDUCE,
    "a call of a list": EMPTY_LIST + EMPTY_TUPLE + REDUCE,
}  # fmt: skip


@pytest.mark.parametrize("pushed", CALLS.values(), ids=CALLS)
def test_nothing_is_called_but_what_is_in_the_table(pushed: bytes) -> None:
    assert refused(pushed)


def test_what_can_only_be_called_is_no_value() -> None:
    told = refused(EMPTY_LIST + named("builtins", "getattr") + APPEND)

    assert "getattr" in told
    assert refused(named("nbckpt.codecs.arrays", "view_of"))


STATES = {
    "of a dict": EMPTY_DICT + MEMOIZE + EMPTY_DICT + text("__class__") + NONE + SETITEM,
    "of a class": named("builtins", "int") + EMPTY_DICT,
    "of a class of pandas": named("pandas", "DataFrame") + EMPTY_DICT,
    "of a constant": named("builtins", "Ellipsis") + EMPTY_DICT,
    "of a type of elements": call("numpy", "dtype", text("i4"), FALSE, TRUE)
    + several(number(3), text("<"), NONE, NONE, NONE, number(-1), number(-1), number(0))
    + BUILD + EMPTY_TUPLE,
    "of an array": call(
        "nbckpt.codecs.arrays", "empty_from", named("numpy", "float64"), EMPTY_TUPLE, TRUE
    ) + EMPTY_TUPLE,
    "of a time zone": call(
        "datetime", "timezone", call("datetime", "timedelta", number(0), number(0), number(0))
    ) + EMPTY_DICT,
}  # fmt: skip


@pytest.mark.parametrize("pushed", STATES.values(), ids=STATES)
def test_no_state_is_set_on_what_is_there(pushed: bytes) -> None:
    assert refused(pushed + BUILD)


WRITTEN = {0x80, *b"(01NJKMGXBC]})aesutRbhj.", *range(0x81, 0x82), *range(0x85, 0x8C)} | {
    *range(0x8C, 0x99)
} - {0x92}
"""The opcodes that nbckpt's own streams may have."""


@pytest.mark.parametrize("opcode", sorted(set(range(256)) - WRITTEN - {0x92}))
def test_opcodes_that_nbckpt_does_not_write_are_refused(opcode: int) -> None:
    with pytest.raises(UntrustedError, match="opcode"):
        plain.load(raw(b"\x80\x05" + bytes([opcode]) + b"cos\nsystem\n\0\0\0\0."))


@pytest.mark.parametrize("opcode", sorted(set(WRITTEN)))
def test_opcodes_without_what_they_need_are_damage(opcode: int) -> None:
    with pytest.raises((FormatError, UntrustedError)):
        plain.load(raw(b"\x80\x05" + bytes([opcode])))
    with pytest.raises((FormatError, UntrustedError)):
        plain.load(raw(b"\x80\x05" + bytes([opcode]) * 3 + STOP))


# -- numpy: what it would believe -----------------------------------------------------------------


def dtype(code: str, *state: bytes, order: str = "<", size: int = -1, flags: int = 0) -> bytes:
    """A type of elements with a state of one's own: subtype, names, fields."""
    sub, names, fields = state or (NONE, NONE, NONE)
    about = several(
        number(3), text(order), sub, names, fields, number(size), number(1), number(flags)
    )
    return call("numpy", "dtype", text(code), FALSE, TRUE) + about + BUILD


def array(held: bytes, kind: bytes, *shape: int) -> bytes:
    """An array on bytes."""
    dimensions = several(*map(number, shape))
    return call("nbckpt.codecs.arrays", "array_from", held, kind, dimensions, text("C"), TRUE)


def view(held: bytes, offset: int, shape: list[int], kind: bytes, strides: list[int]) -> bytes:
    """A view of memory."""
    return call(
        "nbckpt.codecs.arrays", "view_of", held, number(offset), several(*map(number, shape)), kind,
        several(*map(number, strides)), TRUE,
    )  # fmt: skip


BYTES = data(bytes(64))
OBJECT = dtype("O8", order="|", flags=63)
OF_OBJECTS = several(text("a"))
FIELD_OF_OBJECTS = EMPTY_DICT + text("a") + several(OBJECT, number(0)) + SETITEM
FORGED = {
    "objects over bytes": array(BYTES, OBJECT, 8),
    "a view of objects over bytes": view(BYTES, 0, [8], OBJECT, [8]),
    "objects over an array": view(array(BYTES, dtype("u1"), 64), 0, [8], OBJECT, [8]),
    "objects in records": array(
        BYTES, dtype("V8", NONE, OF_OBJECTS, FIELD_OF_OBJECTS, order="|", size=8), 8
    ),
    "objects repeated": array(
        BYTES, dtype("V8", several(OBJECT, several(number(1))), NONE, NONE, order="|", size=8), 8
    ),
    "objects that call themselves numbers": array(BYTES, dtype("i8", OBJECT, NONE, NONE), 8),
    "a field outside of its record": dtype(
        "V8", NONE, several(text("a")),
        EMPTY_DICT + text("a") + several(dtype("f8"), number(4)) + SETITEM, order="|", size=8,
    ),
    "a field before its record": dtype(
        "V8", NONE, several(text("a")),
        EMPTY_DICT + text("a") + several(dtype("f8"), number(-8)) + SETITEM, order="|", size=8,
    ),
    "a type of negative size": array(BYTES, dtype("V8", order="|", size=-8), 8),
    "a type of another size": array(data(b""), dtype("U0", size=0), 1 << 40),
    "a type of any code": dtype("i8,O"),
    "more than there is": array(BYTES, dtype("f8"), 9),
    "less than there is": array(BYTES, dtype("f8"), 7),
    "a shape that overflows": array(BYTES, dtype("f8"), 1 << 61, 8),
    "a negative shape": array(BYTES, dtype("f8"), -8),
    "a view before its memory": view(BYTES, -8, [1], dtype("f8"), [8]),
    "a view behind its memory": view(BYTES, 60, [1], dtype("f8"), [8]),
    "a view that strides out": view(BYTES, 0, [9], dtype("f8"), [8]),
    "a view that strides back": view(BYTES, 0, [2], dtype("f8"), [-8]),
    "a view that strides far": view(BYTES, 0, [2], dtype("u1"), [1 << 62]),
    "strides without a shape": view(BYTES, 0, [2], dtype("u1"), [1, 1]),
    "a view of a type": view(named("builtins", "int"), 0, [1], dtype("u1"), [1]),
    "a view of everything many times": view(BYTES, 0, [1 << 40], dtype("u1"), [0]),
    "a scalar that is an object": call("numpy._core.multiarray", "scalar", OBJECT, data(bytes(8))),
    "a scalar of too few bytes": call("numpy._core.multiarray", "scalar", dtype("f8"), data(b"x")),
    "numbers by the state of objects": call(
        "numpy._core.multiarray", "_reconstruct", named("numpy", "ndarray"), several(number(0)),
        data(b"b"),
    ) + several(number(1), several(number(8)), dtype("f8"), FALSE, data(bytes(64))) + BUILD,
    "another class of array": call(
        "numpy._core.multiarray", "_reconstruct", named("numpy", "recarray"), several(number(0)),
        data(b"b"),
    ),
    "fewer objects than there are": call(
        "numpy._core.multiarray", "_reconstruct", named("numpy", "ndarray"), several(number(0)),
        data(b"b"),
    ) + several(number(1), several(number(8)), OBJECT, FALSE, EMPTY_LIST) + BUILD,
    "a mask of another size": call(
        "nbckpt.codecs.arrays", "subclass_from", named("numpy.ma", "MaskedArray"),
        array(BYTES, dtype("f8"), 8),
    ) + MEMOIZE + named("nbckpt.codecs.arrays", "set_members") + get(0)
    + EMPTY_DICT + text("_mask") + array(data(b"\1"), dtype("b1", order="|"), 1) + SETITEM
    + text("_baseclass") + named("numpy", "ndarray") + SETITEM + TUPLE2 + REDUCE,
}  # fmt: skip


@pytest.mark.parametrize("pushed", FORGED.values(), ids=FORGED)
def test_no_array_is_made_that_is_not_inside_its_memory(pushed: bytes) -> None:
    assert refused(pushed)


def test_the_same_by_hand_is_an_array_where_all_fits() -> None:
    """So that what is refused above is refused for what is wrong with it."""
    numbers = plain.load(blob(array(BYTES, dtype("f8"), 8)))["x"]
    backwards = plain.load(blob(view(BYTES, 56, [8], dtype("f8"), [-8])))["x"]
    objects = plain.load(
        blob(
            call(
                "numpy._core.multiarray",
                "_reconstruct",
                named("numpy", "ndarray"),
                several(number(0)),
                data(b"b"),
            )
            + several(number(1), several(number(0)), OBJECT, FALSE, EMPTY_LIST)
            + BUILD
        )
    )["x"]

    assert isinstance(numbers, np.ndarray)
    assert numbers.shape == (8,)
    assert isinstance(backwards, np.ndarray)
    assert backwards.strides == (-8,)
    assert isinstance(objects, np.ndarray)
    assert objects.dtype == object


# -- other packages -------------------------------------------------------------------------------


def _replaced(value: object, before: bytes, after: bytes) -> list[memoryview]:
    """A blob of a value in which some bytes are others; raises if they do not stand there."""
    parts = [bytes(part) for part in parts_of(value)]
    assert any(before in part for part in parts)
    return [memoryview(bytearray(part.replace(before, after))) for part in parts]


def test_frames_whose_parts_do_not_fit_are_refused() -> None:
    frame = pd.DataFrame(np.arange(6).reshape(3, 2), columns=pd.RangeIndex(2))
    held = bytes(parts_of(frame)[0])
    place = b"K\x00K\x02K\x01\x87"  # slice(0, 2, 1)
    assert place in held
    forged = [(place, b"K\x00K\x01K\x01\x87"), (place, b"K\x05K\x07K\x01\x87")]
    forged += [(place, b"K\x00K\x03K\x01\x87"), (b"allows_duplicate", b"allows_anything_")]

    for before, after in forged:
        with pytest.raises((UntrustedError, FormatError)):
            plain.load(_replaced(frame, before, after))


def test_codes_that_are_none_of_the_categories_are_refused() -> None:
    codes = np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1], "i1")
    column = pd.Categorical.from_codes(codes, ["a", "b"])
    index = pd.MultiIndex([["a", "b"], ["c"]], [codes, codes * 0])
    wrong = codes.copy()
    wrong[3] = 7

    for value in (column, pd.DataFrame({"c": column}), index):
        with pytest.raises(UntrustedError):
            plain.load(_replaced(value, codes.tobytes(), wrong.tobytes()))


def test_offsets_of_arrow_that_lead_out_are_refused() -> None:
    texts = ["ab", "cdefghijklmnopqrstuvwxyz"]
    offsets, wrong = struct.pack("<3i", 0, 2, 26), struct.pack("<3i", 0, 2, 1 << 20)
    found: list[tuple[Any, bytes, bytes]] = [(pa.array(texts), offsets, wrong)]
    found += [(pa.table({"a": texts}), offsets, wrong)]
    lists = pl.DataFrame({"a": [[1, 2], [3]]})
    found += [(lists, struct.pack("<3q", 0, 2, 3), struct.pack("<3q", 0, 2, 1 << 20))]

    for value, before, after in found:
        with pytest.raises(UntrustedError):
            plain.load(_replaced(value, before, after))


@pytest.mark.parametrize("n_buffers", [0, 1])
def test_codes_of_arrow_without_their_memory_are_refused(n_buffers: int) -> None:
    values = (pa.string(), 1, 0, 0, [None, *map(pa.py_buffer, (bytes(8), b""))], [], None)
    kind = pa.dictionary(pa.int8(), pa.string())
    codes = (kind, 1, 0, 0, [None, pa.py_buffer(bytes(8))][:n_buffers], [], values)

    with pytest.raises(UntrustedError, match="do not fit"):
        arrows._array(Limits(1000), (codes,))


def test_tensors_outside_of_their_memory_are_refused() -> None:
    storage = call(
        "nbckpt.codecs.storages", "storage_from", data(bytes(16)), number(16), text("cpu")
    )
    bits = several(FALSE, FALSE, FALSE)

    def tensor(offset: int, size: int, stride: int, kind: str = "float32") -> bytes:
        layout = several(number(offset), several(number(size)), several(number(stride)))
        return call(
            "nbckpt.codecs.tensors", "tensor_from", text("tensor"), storage, named("torch", kind),
            layout, FALSE, bits,
        )  # fmt: skip

    whole = plain.load(blob(tensor(0, 4, 1)))["x"]
    assert isinstance(whole, torch.Tensor)
    for pushed in (tensor(0, 5, 1), tensor(4, 1, 1), tensor(0, 2, 9), tensor(3, 2, -1)):
        assert refused(pushed)
    assert refused(tensor(0, 4, 1, "qint8"))
    longer = call(
        "nbckpt.codecs.storages", "storage_from", data(bytes(16)), number(99), text("cpu")
    )
    assert refused(longer)


# -- what costs too much --------------------------------------------------------------------------

LEVELS = 60
BOMBS = {
    "a key of tuples that doubles": EMPTY_DICT
    + EMPTY_TUPLE + b"".join(MEMOIZE + get(n) + TUPLE2 for n in range(LEVELS)) + NONE + SETITEM,
    "a member that doubles": EMPTY_SET + MARK
    + EMPTY_TUPLE + b"".join(MEMOIZE + get(n) + TUPLE2 for n in range(LEVELS)) + ADDITEMS,
    "a deep key": EMPTY_DICT + EMPTY_TUPLE + TUPLE1 * 1_000_000 + NONE + SETITEM,
    "a deep frozen set": MARK + EMPTY_TUPLE + (TUPLE1 + FROZENSET + MARK + NONE + b"0") + FROZENSET,
    "keys of one hash": EMPTY_DICT + MARK
    + b"".join(number(n * ((1 << 61) - 1)) + NONE for n in range(1, 60_000)) + b"u",
    "one long text many times": EMPTY_LIST + MARK + text("1" * 10_000) + MEMOIZE + b"0"
    + (named("decimal", "Decimal") + get(0) + TUPLE1 + REDUCE) * 20_000 + b"e",
    "one buffer many times": EMPTY_LIST + MARK + data(bytes(1 << 16)) + MEMOIZE + b"0"
    + (call(
        "nbckpt.codecs.storages", "storage_from", get(0), number(1 << 16), text("cpu")
    )) * 20_000 + b"e",
    "columns without rows": call(
        "pandas._libs.internals", "_unpickle_block",
        view(data(bytes(8)), 0, [1 << 24, 1], dtype("f8"), [0, 8]),
        call("builtins", "slice", number(0), number(1 << 24), number(1)), number(2),
    ),
    "a type that doubles": call("pyarrow.lib", "type_for_alias", text("int8"))
    + b"".join(
        MEMOIZE + b"0" + call(
            "pyarrow.lib", "struct",
            EMPTY_LIST + MARK + b"".join(
                call("pyarrow.lib", "field", text(name), get(n), TRUE, NONE) for name in "ab"
            ) + b"e",
        ) for n in range(LEVELS)
    ),
}  # fmt: skip


@pytest.mark.parametrize("pushed", BOMBS.values(), ids=BOMBS)
def test_what_grows_out_of_little_is_refused_soon(pushed: bytes) -> None:
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert refused(pushed)

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert time.perf_counter() - began < 30  # seconds of a machine that does much else
    assert grown * (1 if sys.platform == "darwin" else 1024) < 600 << 20


def test_lists_may_be_deep() -> None:
    depth = 10_000
    found: Any = plain.load(blob(EMPTY_LIST * depth + APPEND * (depth - 1)))["x"]

    for _ in range(depth - 1):
        (found,) = found
    assert found == []


def test_names_are_texts_and_short() -> None:
    assert refused(NONE + text("int") + STACK_GLOBAL)
    assert refused(text("builtins") + EMPTY_LIST + STACK_GLOBAL)
    assert len(refused(named("m" * 20_000, "x"))) < 1_000
    assert "\\x1b" in refused(named("m\x1b[31m", "x"))


def test_nothing_is_left_to_be_taken_twice() -> None:
    assert refused(DUP)
    assert refused(get(5))
    assert refused(TUPLE)
    with pytest.raises((FormatError, UntrustedError)):
        plain.load(raw(b"\x80\x05" + NONE + NONE + STOP))
    with pytest.raises((FormatError, UntrustedError)):
        plain.load(raw(b"\x80\x05" + EMPTY_LIST + STOP))
    with pytest.raises((FormatError, UntrustedError)):
        plain.load(raw(b"\x80\x06" + EMPTY_DICT + STOP))
