"""Differing elements of two arrays."""

from __future__ import annotations

import sys
from typing import Any

from nbckpt.reports.diff.nested_values import are_equal
from nbckpt.reports.diff.value_texts import is_equal, is_scalar

WITH_NAN = "fcmM"
"""Kinds of types that have a not-a-number or a not-a-time."""


def differing(one: Any, other: Any) -> Any:
    """Mask of the differing elements of two arrays of one shape; not-a-number equals itself."""
    numpy = sys.modules["numpy"]
    if isinstance(one, numpy.ma.MaskedArray) or isinstance(other, numpy.ma.MaskedArray):
        masks = numpy.ma.getmaskarray(one), numpy.ma.getmaskarray(other)
        values = differing(numpy.ma.getdata(one), numpy.ma.getdata(other))
        return (masks[0] != masks[1]) | (values & ~masks[0] & ~masks[1])
    if one.dtype.names or other.dtype.names:
        return _differing_fields(one, other)
    if one.dtype.hasobject or other.dtype.hasobject:
        pairs = zip(one.ravel(), other.ravel(), strict=True)
        return numpy.array([not _is_equal_object(x, y) for x, y in pairs], bool).reshape(one.shape)
    try:
        unequal = numpy.asarray(one != other)
    except TypeError:  # numbers and texts
        return numpy.ones(one.shape, bool)
    if one.dtype.kind in WITH_NAN and other.dtype.kind in WITH_NAN and unequal.any():
        unequal &= ~((one != one) & (other != other))  # not-a-number
    return unequal


def _differing_fields(one: Any, other: Any) -> Any:
    numpy = sys.modules["numpy"]
    unequal = numpy.zeros(one.shape, bool)
    if one.dtype.names != other.dtype.names:
        return ~unequal
    for name in one.dtype.names:
        parts = one[name], other[name]
        if parts[0].shape != parts[1].shape:
            return numpy.ones(one.shape, bool)
        mask = differing(*parts)
        unequal |= (
            mask.any(axis=tuple(range(one.ndim, mask.ndim))) if mask.ndim > one.ndim else mask
        )
    return unequal


def _is_equal_object(one: Any, other: Any) -> bool:
    if is_scalar(one) and is_scalar(other):
        return is_equal(one, other)
    return are_equal(one, other)
