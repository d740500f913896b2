"""Test that one value holds another, as the garbage collector sees it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from threading import Thread, current_thread, main_thread
from types import FunctionType, ModuleType
from typing import Any

from nbckpt.fingerprint.user_names import Own
from nbckpt.fingerprint.values.homes import module_of_class
from nbckpt.fingerprint.values.lookups import is_shell

MAX_SEEN = 20_000
"""Objects that are looked at; where there are more, the answer is yes."""


def reaches(start: object, target: object, namespace: object) -> bool:
    """True if `target` is `start` or can be got at from it, by another way than `namespace`."""
    return reaches_any(start, [target], namespace)


def reaches_any(start: object, targets: Sequence[object], namespace: object) -> bool:
    """True if one of `targets`, which the caller holds, can be got at: see `reaches`."""
    wanted = set(map(id, targets))
    queue: list[Any] = [start]
    seen = {id(namespace)}
    shells: dict[int, tuple[type, bool]] = {}  # with the class: it stays as long as its id counts
    while queue and len(seen) < MAX_SEEN:
        current = queue.pop()
        if id(current) in wanted:
            return True
        kind: Any = type(current)
        if id(current) in seen or issubclass(kind, ModuleType | type):
            continue
        if issubclass(kind, Own) and module_of_class(kind).startswith("nbckpt."):
            continue  # not a class of the notebook's on top of one
        if id(kind) not in shells:  # not by the class itself: a user's may have no hash
            shells[id(kind)] = kind, is_shell.__wrapped__(kind)
        if shells[id(kind)][1]:
            continue  # threads have one in their contexts, and by it all is reached
        seen.add(id(current))
        if issubclass(kind, Thread):
            inside = _locals_of(current, namespace)
            if inside is None:
                return True
            queue += inside
        queue += (
            held
            for held in referents_of(current)
            # A library's own namespace holds nothing of the notebook; one of `exec` may.
            if kind is not FunctionType or held is not current.__globals__ or not _is_library(held)
        )
    return bool(queue)


def _locals_of(thread: Thread, namespace: object) -> list[object] | None:
    """The local variables of a running thread; None if code of the notebook runs in it.

    Such code holds more than its locals: what it goes through, and what it is about to call with.
    """
    found: list[object] = []
    if thread in (main_thread(), current_thread()):
        return found
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001  # its documented name
    while frame is not None:
        if frame.f_globals is namespace or not _is_library(frame.f_globals):
            return None
        found += frame.f_locals.values()
        frame = frame.f_back
    return found


def _is_library(namespace: dict[str, object]) -> bool:
    """True if a namespace is that of a module that was imported."""
    name = str(namespace.get("__name__"))
    return name != "__main__" and getattr(sys.modules.get(name), "__dict__", None) is namespace


def referents_of(value: Any) -> list[object]:
    """Objects that a value holds; of an array also its base, unknown to the collector."""
    found = gc.get_referents(value)
    if type(value).__module__ == "numpy" and (base := getattr(value, "base", None)) is not None:
        found.append(base)
    return found
