"""Types of elements, and whether an array of them lies inside its memory.

numpy believes what a pickle says of a type, and of offsets and strides less than one would wish:
an array of objects over bytes of somebody else's choice is as good as running their code.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from nbckpt.codecs.plain.builtin import are, require
from nbckpt.codecs.plain.names import Pending

if TYPE_CHECKING:
    import numpy as np

    from nbckpt.codecs.plain.limits import Limits

MAX_DIMENSIONS = 64
MAX_ITEM_BYTES = 1 << 30
SPREAD = 64
"""An array shows its memory at most so many times; small ones more."""

FREE_BYTES = 1 << 28

_SIMPLE = re.compile(r"[?bBhHiIlLqQefdgFDGnNpP]|b1|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32)")
_SIZED = re.compile(r"[SUV]\d{0,10}")
_TIMES = re.compile(r"[Mm]8")
_OBJECT = re.compile(r"O[48]?")
_UNITS = frozenset(
    {b"generic", b"Y", b"M", b"W", b"D", b"h", b"m", b"s", b"ms", b"us", b"ns", b"ps", b"fs", b"as"}
)
_ALIGNED = 0x80


def dtype_begun(limits: Limits, given: tuple[Any, ...]) -> object:
    """The type whose state comes next."""
    require(len(given) == 3 and are((bool, int), *given[1:]))
    code = given[0]
    if isinstance(code, type):
        require(code.__name__ == "record" and code.__module__ == "numpy")
        return Pending(lambda state: _record_of(limits, state))
    require(type(code) is str)
    return Pending(lambda state: _dtype_of(limits, code, state))


def _dtype_of(limits: Limits, code: str, state: Any) -> np.dtype:
    import numpy as np

    require(type(state) is tuple and len(state) in (8, 9))
    _, order, sub, names, fields, size, _, flags = state[:8]
    extra = state[8] if len(state) > 8 else None
    require(order in ("<", ">", "|", "=") and are(int, size, flags))
    made: np.dtype
    if _TIMES.fullmatch(code):
        made = np.dtype(order.replace("|", "=") + code + _unit(extra))
        return made
    require(not extra, "its type of elements has metadata")
    if _OBJECT.fullmatch(code):
        require(sub is None and names is None and fields is None)
        return np.dtype(object)
    if _SIMPLE.fullmatch(code):
        require(sub is None and names is None and fields is None)
        return np.dtype(code).newbyteorder(order)
    require(_SIZED.fullmatch(code) and 0 <= size <= MAX_ITEM_BYTES)
    if sub is not None:
        made = _repeated(limits, sub)
    elif fields is not None:
        made = _structured(limits, names, fields, size, flags)
    else:
        n_items, odd = divmod(size, 4 if code[0] == "U" else 1)
        require(not odd)
        made = np.dtype(f"{order.replace('|', '=')}{code[0]}{n_items}")
    require(made.itemsize == size and not made.hasobject)
    return made


def _record_of(limits: Limits, state: Any) -> np.dtype:
    import numpy as np

    plain = _dtype_of(limits, "V", state)
    require(plain.fields is not None)
    return limits.compose(np.dtype((np.record, plain)), [plain])


def _unit(extra: Any) -> str:
    require(type(extra) is tuple and len(extra) == 2 and not extra[0])
    about = extra[1]
    require(type(about) is tuple and 3 <= len(about) <= 4 and about[0] in _UNITS)
    require(are(int, *about[1:]) and 0 < about[1] < 1 << 30 and about[2] == 1)
    if about[0] == b"generic":
        return ""
    return f"[{about[1] if about[1] > 1 else ''}{about[0].decode()}]"


def _repeated(limits: Limits, sub: Any) -> np.dtype:
    import numpy as np

    require(type(sub) is tuple and len(sub) == 2 and isinstance(sub[0], np.dtype))
    shape = shape_of(sub[1])
    require(math.prod(shape) * max(1, sub[0].itemsize) <= MAX_ITEM_BYTES)
    return limits.compose(np.dtype((sub[0], shape)), sub[:1])


def _structured(limits: Limits, names: Any, fields: Any, size: int, flags: int) -> np.dtype:
    import numpy as np

    require(type(names) is tuple and are(str, *names))
    require(type(fields) is dict)
    about = [fields[name] for name in names]
    for field in about:
        require(type(field) is tuple and len(field) in (2, 3))
        require(isinstance(field[0], np.dtype) and not field[0].hasobject and are(int, field[1]))
        require(field[1] >= 0 and field[1] + field[0].itemsize <= size)
    titles = [field[2] if len(field) > 2 else None for field in about]
    require(are((str, type(None)), *titles))
    limits.spend(64 * len(about))
    spec: dict[str, Any] = {
        "names": list(names),
        "formats": [field[0] for field in about],
        "offsets": [field[1] for field in about],
        "itemsize": size,
    }
    if any(title is not None for title in titles):
        spec["titles"] = titles
    made: np.dtype = np.dtype(spec, align=bool(flags & _ALIGNED))  # type: ignore[call-overload]
    return limits.compose(made, [field[0] for field in about])


def strings_dtype(_: Limits, given: tuple[Any, ...]) -> object:
    """The type of strings of any length, without a value of its own for what is missing."""
    from numpy.dtypes import StringDType  # `numpy` may not have it: see `codecs.arrays`

    require(len(given) < 2, "it is a StringDType with an na_object")
    require(are((int, bool), *given) and len(given) == 1)
    return StringDType(coerce=bool(given[0]))


def shape_of(value: Any) -> tuple[int, ...]:
    """A shape that was given, if it is one."""
    require(type(value) is tuple and are(int, *value) and len(value) <= MAX_DIMENSIONS)
    require(all(0 <= n < 1 << 62 for n in value))
    return value  # type: ignore[no-any-return]


def require_extent(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, item: int, size: int
) -> None:
    """Refuse an array that has a byte outside its memory of `size` bytes, or shows it too often."""
    require(len(shape) == len(strides))
    require(0 <= offset <= size, "its array lies outside its memory")
    n_items = math.prod(shape)
    if n_items:
        ends = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        lowest = offset + sum(min(0, end) for end in ends)
        highest = offset + sum(max(0, end) for end in ends) + item
        require(lowest >= 0 and highest <= size, "its array lies outside its memory")
    shown = n_items * max(1, item)
    require(shown <= max(FREE_BYTES, SPREAD * size), "its array shows its memory too many times")
