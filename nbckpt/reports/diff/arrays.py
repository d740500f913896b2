"""Arrays and tensors: shape, type, how many elements differ, and by how much at most.

They are gone through in blocks of a few megabytes, so that a comparison needs no copy of either.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from nbckpt.reports.diff.array_elements import differing
from nbckpt.reports.diff.details import (
    Detail,
    Limits,
    Row,
    same,
    share_text,
)
from nbckpt.reports.diff.value_texts import told
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.describe import type_name_of
from nbckpt.text.units import count_text

BLOCK = 1 << 19
"""Elements: small enough to stay in a processor's cache from one pass to the next."""
NUMERIC = "biufc"

Block: TypeAlias = tuple[slice, ...]


def detail(before: Any, after: Any, limits: Limits) -> Detail | None:
    """Differences between two arrays or tensors; None for other values."""
    one, other = as_array(before), as_array(after)
    if one is None or other is None:
        return None
    rows = _facts(before, after, one, other)
    if one.ndim != other.ndim or one.shape[1:] != other.shape[1:]:
        return Detail("array", "; ".join(f"{r.path} {r.before} → {r.after}" for r in rows), rows)
    n_common = min(len(one), len(other)) if one.ndim else 1
    is_part = one.shape != other.shape
    if is_part:
        one, other = one[:n_common], other[:n_common]
    found = compared(one, other, limits)
    if found.is_all and not found.count and not rows:
        return same("array")
    told_rows = rows + tuple(found.rows)
    parts = [f"{r.path} {r.before} → {r.after}" for r in rows]
    parts += [
        f"of the first {n_common:,} along axis 0, {found.text()}" if is_part else found.text()
    ]
    return Detail("array", "; ".join(parts), told_rows, more=found.count - len(found.rows))


def as_array(value: Any) -> Any:
    """`value` as a NumPy array on its memory, where that can be had; None of anything else."""
    numpy: Any = sys.modules.get("numpy")
    torch: Any = sys.modules.get("torch")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray):
        return value if isinstance(value, numpy.ma.MaskedArray) else value.view(numpy.ndarray)
    if torch is None or not isinstance(value, getattr(torch, "Tensor", ())):
        return None
    tensor: Any = value
    try:
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
        if tensor.layout is not torch.strided:
            tensor = tensor.to_dense()
        is_numpys = tensor.dtype not in (torch.bfloat16, *_small_floats(torch))
        return tensor.numpy() if is_numpys else tensor.float().numpy()
    except user_code_errors():  # without memory, quantized, of a device not here
        return None


def _small_floats(torch: Any) -> Iterator[Any]:
    return (d for n, d in vars(torch).items() if n.startswith(("float8", "float4")))


def dtype_of(value: Any) -> str:
    """The name of an array's element type, as its package has it."""
    return str(value.dtype)


def _facts(before: Any, after: Any, one: Any, other: Any) -> tuple[Row, ...]:
    facts = (
        Row("type", type_name_of(before), type_name_of(after)),
        Row("shape", str(tuple(one.shape)), str(tuple(other.shape))),
        Row("dtype", dtype_of(before), dtype_of(after)),
    )
    return tuple(fact for fact in facts if fact.before != fact.after)


@dataclass
class Compared:
    """Findings so far of a comparison of two arrays of one shape.

    Attributes
    ----------
    looked_at, size
        Elements that were compared, and all elements.
    count
        Elements that differ.
    largest, where
        The largest absolute difference of two numbers, and its place.
    total, measured
        The sum of the absolute differences, and the number of pairs in it.
    """

    size: int
    limit: int
    characters: int
    looked_at: int = 0
    count: int = 0
    largest: Any = None
    where: tuple[int, ...] = ()
    total: float = 0.0
    measured: int = 0
    rows: list[Row] = field(default_factory=list)

    @property
    def is_all(self) -> bool:
        """True if every element was compared."""
        return self.looked_at == self.size

    def text(self) -> str:
        """The findings in one line."""
        of = count_text(self.size, "element")
        if not self.is_all:
            of = f"a sample of {self.looked_at:,} of {of}"
        if not self.count:
            return f"none of {of} differs" if self.size else "no elements"
        share = share_text(self.count, self.looked_at)
        parts = [f"{self.count:,} of {of} differ ({share})"]
        if self.largest is not None:
            parts.append(f"largest difference {self.largest:.6g} at {place(self.where)}")
        if self.measured:
            parts.append(f"mean difference {self.total / self.measured:.4g}")
        return ", ".join(parts)


def place(index: tuple[int, ...]) -> str:
    """An element's index as one would write it.

    Examples
    --------
    >>> place((3, 0)), place(())
    ('[3, 0]', '[()]')
    """
    return f"[{', '.join(map(str, index)) or '()'}]"


def compared(one: Any, other: Any, limits: Limits) -> Compared:
    """Compare two arrays of one shape, block by block."""
    numpy = sys.modules["numpy"]
    found = Compared(one.size, limits.rows, limits.characters)
    if not one.size:
        return found
    is_scalar_array = not one.ndim
    if is_scalar_array:
        one, other = one.reshape(1), other.reshape(1)
    is_turned = one.ndim > 1 and one.flags.f_contiguous and other.flags.f_contiguous
    if is_turned:  # the order in which they lie in memory
        one, other = one.T, other.T
    with numpy.errstate(all="ignore"):
        for block in _sampled(one, other, limits):
            part, its = one[block], other[block]
            found.looked_at += part.size
            mask = differing(part, its)
            if mask.any():
                start = tuple(s.start or 0 for s in block)
                _note(found, part, its, mask, _Place(start, is_turned, is_scalar_array))
    return found


@dataclass(frozen=True)
class _Place:
    """Where a block stands in the array."""

    start: tuple[int, ...]
    is_turned: bool
    is_scalar: bool

    def of(self, index: Any) -> tuple[int, ...]:
        if self.is_scalar:
            return ()
        whole = tuple(int(s) + int(i) for s, i in zip(self.start, index, strict=True))
        return whole[::-1] if self.is_turned else whole


def _sampled(one: Any, other: Any, limits: Limits) -> Iterator[Block]:
    """The blocks that are compared: all of them, or as many as the limits allow, evenly spread."""
    is_slow = one.dtype.hasobject or other.dtype.hasobject
    each = max(one.dtype.itemsize, other.dtype.itemsize, 1)
    room = limits.objects if is_slow else limits.compared_bytes // each
    size = min(BLOCK, max(1, room // 8))
    every = 1 if one.size <= room else -(-one.size // room)
    for nth, block in enumerate(_blocks(one.shape, size)):
        if nth % every == 0:
            yield block


def _blocks(shape: tuple[int, ...], size: int) -> Iterator[Block]:
    """Blocks of some `size` elements that cover an array, in the order of its memory."""
    inner = prod(shape[1:])
    if inner > size:
        for i in range(shape[0]):
            yield from ((slice(i, i + 1), *rest) for rest in _blocks(shape[1:], size))
        return
    step = max(1, size // max(inner, 1))
    whole = tuple(slice(0, n) for n in shape[1:])
    for start in range(0, shape[0], step):
        yield slice(start, min(start + step, shape[0])), *whole


def _note(found: Compared, one: Any, other: Any, mask: Any, where: _Place) -> None:
    """Take the differing elements of one block into what was found."""
    numpy = sys.modules["numpy"]
    found.count += int(numpy.count_nonzero(mask))
    wanted = found.limit - len(found.rows)
    if wanted > 0:
        for index in numpy.argwhere(mask)[:wanted]:
            at = tuple(index)
            texts = told(one[at], found.characters), told(other[at], found.characters)
            found.rows.append(Row(place(where.of(at)), *texts))
    if (
        one.dtype.kind not in NUMERIC
        or other.dtype.kind not in NUMERIC
        or "b"
        in (
            one.dtype.kind,
            other.dtype.kind,
        )
    ):
        return
    is_complex = "c" in (one.dtype.kind, other.dtype.kind)
    wide = numpy.clongdouble if is_complex else numpy.longdouble
    if one.dtype.itemsize <= 4 or one.dtype.kind == other.dtype.kind in "fc":
        wide = numpy.complex128 if is_complex else numpy.float64
    gaps = numpy.abs(one[mask].astype(wide) - other[mask].astype(wide))
    is_number = ~numpy.isnan(gaps)
    if not is_number.any():
        return
    gaps[~is_number] = -1
    nth = int(gaps.argmax())
    if found.largest is None or gaps[nth] > found.largest:
        found.largest = float(gaps[nth])
        found.where = where.of(numpy.argwhere(mask)[nth])
    is_finite = numpy.isfinite(gaps) & (gaps >= 0)
    found.total += float(gaps[is_finite].sum())
    found.measured += int(is_finite.sum())
