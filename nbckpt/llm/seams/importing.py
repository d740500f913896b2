"""Tells when a library has been imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Container, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

Seen = Callable[[ModuleType], None]


class _Finder:
    """Stands before all other finders, and finds nothing but through them."""

    def __init__(self, names: Container[str], seen: Seen) -> None:
        self._names = names
        self._seen = seen
        self._asking = threading.local()

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - importlib's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with a loader that reports when it is done."""
        if name not in self._names or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        try:
            spec = find_spec(name)
        finally:
            self._asking.now = False
        if spec is None or spec.loader is None:
            return None
        loader, execute = spec.loader, spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.__dict__.pop("exec_module", None)
            execute(module)
            self._seen(module)

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:  # a loader that takes no attributes: compiled, or a class
            return None
        return spec


_finders: list[_Finder] = []


def follow(names: Container[str], seen: Seen) -> None:
    """Call `seen` with each of these libraries when it has been imported."""
    unfollow()
    finder = _Finder(names, seen)
    _finders.append(finder)
    sys.meta_path.insert(0, finder)


def unfollow() -> None:
    """Tell of nothing any more."""
    while _finders:
        finder = _finders.pop()
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
