"""Whose a function or class is: a library's, known by its name, or the user's, by its code."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbckpt.runtime.user_code_errors import user_code_errors
from nbckpt.version import PACKAGE


def home_of(value: object, namespace: Mapping[str, object]) -> str | None:
    """Where `value` can be imported from, as ``module:name``; None if it is the user's own.

    The user's own is what lives in `namespace` or in ``__main__``, and what no module holds under
    its name, as a function made inside another.
    """
    module: object
    if issubclass(type(value), type):
        module, name = module_of_class(value), _QUALNAME_OF_CLASS(value)  # type: ignore[arg-type]
    else:
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    holder = sys.modules.get(module)
    if holder is None or _members_of_module(holder) is namespace:
        return None
    return f"{module}:{name}" if found_in(holder, name) is value else None


def home_of_method(method: object) -> str | None:
    """Where a method of a module's one hidden object is found: ``random.randint``, for one.

    Drawing a number does not make ``from random import randint`` another function.
    """
    owner = getattr(method, "__self__", None)
    name = getattr(method, "__name__", "")
    if isinstance(owner, ModuleType):
        return f"{owner.__name__}:{name}"
    module = type(owner).__module__
    if owner is None:
        return f"{getattr(method, '__module__', None)}:{getattr(method, '__qualname__', name)}"
    holder = None if module in ("__main__", "builtins") else sys.modules.get(module)
    found = found_in(holder, name) if holder else None
    return f"{module}:{name}" if type(found) is type(method) and found == method else None


def is_named(value: object, namespace: Mapping[str, object]) -> bool:
    """True if `value` is known by its name: what was imported, a library's function or class."""
    kind = type(value)  # and not `isinstance`: a dead weak proxy would raise
    if issubclass(kind, ModuleType):
        return not is_made_module(value)
    if issubclass(kind, MethodType | BuiltinFunctionType):
        return home_of_method(value) is not None
    if issubclass(kind, FunctionType | type):
        return home_of(value, namespace) is not None
    return False


def home_of_named(value: object, namespace: Mapping[str, object]) -> str:
    """The name by which `value` is known, where `is_named` says that it is."""
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, MethodType | BuiltinFunctionType):
        return str(home_of_method(value))
    return str(home_of(value, namespace))


def is_made_module(value: object) -> bool:
    """True if a module was made by hand: no import finds it, so it counts by what it holds."""
    members: dict[str, object] = getattr(value, "__dict__", {})
    name = members.get("__name__")
    if not isinstance(name, str) or name == "__main__" or members.get("__spec__") is not None:
        return False
    return sys.modules.get(name) is not value


@lru_cache(maxsize=4096)
def is_user_file(path: str | None) -> bool:
    """True if a module's file is the user's: not of Python, an installed package, or nbckpt."""
    if not path or path.startswith("<"):
        return False
    file = Path(path)
    if {"site-packages", "dist-packages"}.intersection(file.parts):
        return False
    return not any(file.is_relative_to(folder) for folder in _library_folders())


def is_users_module(name: object) -> bool:
    """True for the name of the notebook's module, and of one beside the notebook."""
    if name == "__main__":
        return True
    if not isinstance(name, str):
        return False
    top = name.partition(".")[0]  # what is inside a package is whose that is
    if top in sys.stdlib_module_names or name not in sys.modules:
        return False
    package = sys.modules.get(top, sys.modules[name])
    members = _members_of_module(package)
    file: Any = members.get("__file__")
    places: Any = members.get("__path__")
    if file is None and places:  # a namespace package
        file = f"{next(iter(places), '')}/__init__.py"
    if file is None and type(package) is not ModuleType:  # a module has put it into its own place
        file = _file_of_class(type(package))
    return type(file) is str and is_user_file(file)


def _file_of_class(cls: type) -> str | None:
    """The file with the code of a class; None if it has none of Python's."""
    functions = (one for one in DICT_OF_CLASS(cls).values() if type(one) is FunctionType)
    return next((function.__code__.co_filename for function in functions), None)


MODULE_OF_CLASS: Any = type.__dict__["__module__"].__get__
DICT_OF_CLASS: Any = type.__dict__["__dict__"].__get__
"""They ask a class itself for its module and members, past what its metaclass says."""

_QUALNAME_OF_CLASS: Any = type.__dict__["__qualname__"].__get__


def module_of_class(cls: type) -> str:
    """The name of the module that a class says to be of; empty if it does not say."""
    try:
        name = MODULE_OF_CLASS(cls)
    except AttributeError:  # somebody deleted it
        return ""
    return name if type(name) is str else ""


def module_of(value: object) -> str:
    """The name of the module that a value is, or that it or its class is of; empty if unknown.

    No code of a value is asked.
    """
    kind = type(value)
    if issubclass(kind, ModuleType):
        name = _members_of_module(value).get("__name__")
    elif kind is FunctionType:
        name = value.__module__
    else:
        return module_of_class(value if issubclass(kind, type) else kind)  # type: ignore[arg-type]
    return name if type(name) is str else ""


def _members_of_module(module: object) -> dict[object, object]:
    """The members of a module, or of what stands in its place; empty if they cannot be told."""
    try:
        members = object.__getattribute__(module, "__dict__")
    except user_code_errors():  # it has no dict, or a class of C raises anything
        return {}
    return members if type(members) is dict else {}


def space_of_module(name: str) -> dict[object, object]:
    """The dict of a loaded module, or of what stands in its place: it may have any labels."""
    return _members_of_module(sys.modules.get(name))


def members_of_module(name: str) -> dict[str, object]:
    """The members of a loaded module, or of what stands in its place, that have a name."""
    return _named(space_of_module(name))


def members_of_class(cls: object) -> dict[str, object]:
    """The members of a class that have a name."""
    return _named(DICT_OF_CLASS(cls))


def _named(members: Mapping[Any, object]) -> dict[str, object]:
    return {name: value for name, value in list(members.items()) if type(name) is str}


def found_in(holder: object, qualified_name: str) -> object:
    """The object that a module holds under a dotted name; None if there is none."""
    for part in qualified_name.split("."):
        try:
            holder = getattr(holder, part)
        except user_code_errors():  # a module's own __getattr__ may raise anything
            return None
    return holder


@cache
def _library_folders() -> tuple[Path, ...]:
    # Not `sys.prefix` itself: with Python in /usr, a project in /usr/src is still the user's.
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [Path(sysconfig.get_path(kind)) for kind in kinds]
    return (*folders, *(f.resolve() for f in folders), PACKAGE)
