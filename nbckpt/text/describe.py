"""Description of a value for people: type, shape, a short preview. Taken once, at its capture.

None of the user's code is run for it: a `__repr__` of theirs may be slow, or fail.
"""

from __future__ import annotations

import reprlib
import sys
from types import FunctionType, ModuleType
from typing import Any
from weakref import ProxyTypes

from nbckpt.runtime.mapped_files import require_there
from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.text.secret_texts import redacted
from nbckpt.types.registry import adapter_for

PREVIEW_CHARACTERS = 120
MOST_READ = 2_000
"""Characters of a text that are read for a preview."""

_ATOMS = (str, bytes, int, float, complex, bool, type(None))
_SHORT = (float, bool, type(None))
_PLAIN = (*_ATOMS, list, tuple, dict, set, frozenset)

_short = reprlib.Repr()
_short.maxlevel, _short.maxstring, _short.maxother, _short.maxlong = 3, 60, 40, 40


def type_name_of(value: object) -> str:
    """`list`, `pandas.DataFrame`, `Model`: as its user writes it."""
    kind = type(value)
    module = str(kind.__module__).split(".")[0]
    if module in ("builtins", "__main__", "_thread"):
        return kind.__qualname__
    return f"{module}.{kind.__qualname__}"


def shape_of(value: Any) -> str | None:
    """`1000 x 3` of arrays and tables, the length of containers; None of anything else."""
    if type(value) in _ATOMS:
        return str(len(value)) if type(value) in (str, bytes) else None
    if any(
        type(value) is kind for kind in ProxyTypes
    ):  # what it stands for may be gone, and then it answers nothing
        return None
    shape = getattr(value, "shape", None) if _is_array_like(value) else None
    if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
        return " x ".join(map(str, shape)) or "scalar"
    if issubclass(type(value), list | tuple | dict | set | frozenset | str | bytes):
        return str(len(value))
    return None


def preview_of(value: object) -> str:
    """One line of what `value` looks like, at most `PREVIEW_CHARACTERS` long."""
    if type(value) in _SHORT or (type(value) is int and value.bit_length() < _short.maxlong):
        return repr(value)
    line = " ".join(redacted(_preview(value)).split())
    return line if len(line) <= PREVIEW_CHARACTERS else line[: PREVIEW_CHARACTERS - 1] + "…"


def _preview(value: Any) -> str:
    if any(type(value) is kind for kind in ProxyTypes):
        return type_name_of(value)
    if issubclass(type(value), ModuleType):
        return f"module {value.__name__}"
    if issubclass(type(value), FunctionType):
        code = value.__code__
        return f"def {value.__name__}({', '.join(code.co_varnames[: code.co_argcount])})"
    if issubclass(type(value), type):
        return f"class {value.__qualname__}"
    if type(value) in _PLAIN:
        return _short.repr(_plain_only(value, depth=2))
    if _is_array_like(value):
        return _array_preview(value)
    adapter = adapter_for(type(value))
    if adapter is None or adapter.describe is None:
        return type_name_of(value)
    try:
        return adapter.describe(value)
    except user_code_errors():  # of another package
        return type_name_of(value)


def _plain_only(value: Any, depth: int) -> Any:
    """`value` cut to what is shown, with anything of the user's replaced by its type's name."""
    if type(value) in _ATOMS:
        if type(value) is str:  # before it is cut: what is left of a secret would be no secret
            return redacted(value[:MOST_READ])
        ends = value[:MOST_READ] + value[-MOST_READ:] if type(value) is bytes else b""
        if redacted(text := ends.decode("latin-1")) != text:
            return _Named("bytes")
        is_long = type(value) is int and value.bit_length() > 9_000  # too long to be written out
        return _Named(f"int of {value.bit_length()} bits") if is_long else value
    if type(value) not in _PLAIN or depth == 0:
        return _Named(type_name_of(value))
    if type(value) is dict:
        items = list(zip(value.items(), range(6), strict=False))
        return {_plain_only(k, 0): _plain_only(v, depth - 1) for (k, v), _ in items}
    cut = [_plain_only(v, depth - 1) for v, _ in zip(value, range(8), strict=False)]
    return cut if type(value) is list else type(value)(cut)


class _Named:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"


def _is_array_like(value: object) -> bool:
    module = str(type(value).__module__).split(".")[0]
    return module in ("numpy", "pandas", "polars", "pyarrow", "torch", "scipy") and hasattr(
        value, "shape"
    )


def _array_preview(value: Any) -> str:
    columns = getattr(value, "columns", None)
    if columns is None:
        columns = getattr(value, "column_names", None)
    if columns is not None:
        return "columns " + ", ".join(str(c) for c, _ in zip(columns, range(12), strict=False))
    dtype = getattr(value, "dtype", "")
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject:
        require_there(value)
        head = numpy.array2string(value.ravel()[:6], threshold=6, precision=4)
        return f"{dtype} {head[:-1] + ' …]' if value.size > 6 else head}"
    return str(dtype)
