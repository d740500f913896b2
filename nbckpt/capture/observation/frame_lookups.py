"""Code that asks for a frame: may it look names up there, or does it want lines and names only."""

from __future__ import annotations

from types import CodeType

HARMLESS = frozenset(
    {
        *("IPython", "_pytest", "abc", "asyncio", "collections", "contextlib", "dataclasses"),
        *("debugpy", "enum", "functools", "importlib", "ipykernel", "joblib", "logging"),
        *("matplotlib", "narwhals", "pydantic", "sklearn", "sympy", "threading", "torch", "tqdm"),
        *("traceback", "traitlets", "typing", "typing_extensions", "unittest", "warnings"),
    }
)
"""Packages that look at frames for lines and names of modules, or for texts that they evaluate."""

_verdicts: dict[CodeType, bool] = {}

called_from_c: set[CodeType] = set()
"""Code that asks for no frame itself: what it calls in C does."""


def looks_up(code: CodeType) -> bool:
    """True if code that asks for a frame may look names up in it; remembered."""
    known = _verdicts.get(code)
    if known is None:
        known = _verdicts[code] = _may_look_up(code)
    return known


def _may_look_up(code: CodeType) -> bool:
    names = set(code.co_names)
    if names.isdisjoint(("_getframe", "currentframe", "stack", "getouterframes")):
        called_from_c.add(code)  # C code that it calls does
        return True
    if "f_locals" in names:
        return True
    if "f_globals" in names:
        return "__name__" not in code.co_consts
    return names.isdisjoint(("f_back", "f_code", "f_lineno", "co_filename", "filename"))
