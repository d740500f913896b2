"""Data that can be brought back without trust: nothing in it runs when it is read.

A stream is read by a machine of our own (`machine`) that knows the opcodes that nbckpt writes, and
names from a table (`names`). Nothing else is called, imported, looked up or set.

Notes
-----
What is plain, and comes back equal, of the same type, with what it shares still shared:

- None, bool, int, float, complex, str, bytes, bytearray, `...`, NotImplemented, range, slice
- list, tuple, dict, set, frozenset, OrderedDict, defaultdict (of a builtin type), Counter, deque
- datetime's date, time, datetime, timedelta, timezone; zoneinfo.ZoneInfo; Decimal, Fraction, UUID;
  paths; array.array of numbers; memoryview
- the types of these as values, as in ``{"dtype": int}``
- numpy: arrays of numbers, text, bytes, moments, records, and of objects that are themselves
  plain; views on one memory; masked arrays, matrices, recarrays; scalars; types of elements
- pandas: DataFrame, Series, and every Index, of columns of numpy's, of strings, categories,
  moments with and without a zone, periods, masked numbers, and of Arrow; the scalars of these
- polars: DataFrame and Series but those of Python objects
- Arrow: arrays, chunked arrays, tables, record batches, schemas and types, but for unions, views,
  run-end encoding and extension types
- torch: tensors on the CPU and CUDA, parameters, with their memory shared and their gradient

What is not: functions, classes, instances of the user's and of most libraries' classes, models,
recipes, sparse and interval columns, numpy's texts of any length with an ``na_object``, files,
named tuples, enumerations, exceptions, tensors with hooks; arrays of objects that hold themselves;
Decimal and Fraction of many thousand digits; more than 400 tuples inside each other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from nbckpt.codecs.plain.machine import Machine
from nbckpt.codecs.streams import segments_of
from nbckpt.errors import FormatError, UntrustedError


def load(parts: Sequence[memoryview]) -> dict[str, object]:
    """The values of a blob by variable name, if they are plain.

    Raises
    ------
    UntrustedError
        If they are more than that; the message says what, as the end of a sentence.
    FormatError
        If the parts are no blob.
    """
    return _loaded(parts, is_look=False)


def _loaded(parts: Sequence[memoryview], *, is_look: bool) -> dict[str, object]:
    try:
        segments, buffers = segments_of(parts)
    except (struct.error, IndexError) as error:
        message = "its stream is damaged at the beginning"
        raise FormatError(message) from error
    # Payloads may be named many times over; they hold no opcodes, each of which takes memory.
    most_steps = len(parts[0])
    machine = Machine(b"".join(segments), buffers, is_look=is_look, most_steps=most_steps)
    values = machine.load()
    if type(values) is not dict or not all(type(name) is str for name in values):
        message = "its stream holds no variables"
        raise FormatError(message)
    return values


def can_be_restored(parts: Sequence[memoryview]) -> str | None:
    """Why the values of a blob cannot be brought back without trust; None if they can.

    They are built, on the memory of `parts`, and let go of: so the answer is that of `load`.

    Raises
    ------
    FormatError
        If the parts are no blob.
    """
    try:
        _loaded(parts, is_look=True)
    except UntrustedError as error:
        return str(error)
    return None
