"""Tests for names that are the user's, and for values that are nbckpt itself."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Hashable
from types import FunctionType, MethodType, ModuleType

from nbckpt.runtime.user_code_errors import user_code_errors


class Own:
    """Base of nbckpt's classes whose objects stand for nothing of a notebook.

    A base, and no attribute: a metaclass of the notebook may say that it has all of these.
    """

    __slots__ = ()


_IPYTHON = re.compile(r"_+|_i{1,3}|_i?\d+|_[iod]h|__\w+__|In|Out|exit|quit|get_ipython")

RESULT = re.compile(r"_{1,3}|_\d+")
"""IPython's names of results."""

RESULT_TABLES = frozenset({"Out", "_oh"})
"""IPython's names of the table of all results."""


@functools.cache
def is_user_name(name: Hashable) -> bool:
    """True if `name` is the user's, not IPython's history or Python's own, and no odd one."""
    return isinstance(name, str) and not is_odd_name(name) and _IPYTHON.fullmatch(name) is None


def is_odd_name(name: object) -> bool:
    """True if a key of a namespace is no name that can be written down: ``globals()[1] = …``.

    Others that are no identifiers are those of libraries: pydantic has `Box[int]` there.
    """
    if type(name) is not str or not name:
        return True
    return not name.isascii() and name.encode(errors="replace").decode() != name


def text_of_name(name: object) -> str:
    """An odd name, for people and for records."""
    try:
        text = repr(name)[:_MOST_OF_A_NAME]
    except user_code_errors():  # its own code
        text = f"a {type(name).__name__}"
    return text.encode(errors="backslashreplace").decode()


_MOST_OF_A_NAME = 60


def is_nbckpts_own(value: object) -> bool:
    """True if `value` is nbckpt, or a function, method or class that was imported from it."""
    kind = type(value)  # `isinstance` would ask a proxy, which may be dead
    if kind is ModuleType:
        return value is sys.modules.get("nbckpt")
    if kind is FunctionType or kind is type or kind is MethodType:
        return str(getattr(value, "__module__", "")).startswith("nbckpt.")
    return False


DECORATED = "__nbckpt_step__"
"""Attribute of a function that `nbckpt.step` made of another, as ``(make, (other, options))``.

Pickle makes it so again, and keys ask for the other one alone.
"""
