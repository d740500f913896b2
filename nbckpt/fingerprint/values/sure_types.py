"""Types whose values are sure to come back as they are: these need no trial."""

from __future__ import annotations

import copyreg

from nbckpt.fingerprint.values.homes import DICT_OF_CLASS, module_of_class
from nbckpt.fingerprint.values.raw_members import bases_of
from nbckpt.fingerprint.values.widgets import is_widget
from nbckpt.types.registry import OWN_CODECS

_TRUSTED_MODULES = frozenset(
    {"builtins", "types", "datetime", "decimal", "fractions", "pathlib", "uuid", "collections",
     "enum", "re", "zoneinfo", "array", "functools", "itertools", "operator", "ipaddress",
     "random", "threading", "_thread", "typing", "inspect"}
)  # fmt: skip
"""Of Python: what nbckpt's own tests hold against plain runs."""

_OF_CLASSES = frozenset({"__main__", "abc", "enum"})
"""Where metaclasses are whose classes nbckpt makes again by what they hold."""

WAYS = frozenset(
    {"__reduce__", "__reduce_ex__", "__getstate__", "__getattribute__", "__setattr__",
     "__setstate__", "__getattr__", "__getnewargs__", "__getnewargs_ex__", "__deepcopy__"}
)  # fmt: skip
"""Members by which a class has a say in what its instances are; `object` has some of them."""


def package_of(kind: type) -> str:
    """The package of a class."""
    return module_of_class(kind).partition(".")[0]


def comes_back_for_sure(kind: type) -> bool:
    """True if there is nothing in the way of an object between its parts and what it shows.

    So it is of what nbckpt writes itself, and of instances whose class leaves it to Python.
    """
    module = module_of_class(kind)
    if module in _TRUSTED_MODULES or (issubclass(kind, type) and module in _OF_CLASSES):
        return True
    if package_of(kind) in OWN_CODECS:
        return True
    return is_plain(kind) or is_widget(kind)


def is_plain(kind: type) -> bool:
    """True if an instance is what its attributes are, and these are kept one by one."""
    if kind in copyreg.dispatch_table:
        return False
    for cls in bases_of(kind):
        names = DICT_OF_CLASS(cls).keys()
        if cls is not object and not names.isdisjoint(WAYS):
            return False
    return True
