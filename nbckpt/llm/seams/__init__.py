"""Where model calls are seen: one module per HTTP library, patched when it is there.

A library that is not imported yet is patched as soon as it is. Patches are at class level, so that
clients which exist already are covered; without an open session they let everything through.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from types import ModuleType

from nbckpt.llm import current
from nbckpt.llm.seams import importing
from nbckpt.runtime.context import awaited_with, called_with

SEAMS = {
    "httpx": "nbckpt.llm.seams.httpx",
    "httpx2": "nbckpt.llm.seams.httpx",
    "aiohttp": "nbckpt.llm.seams.aiohttp",
    "urllib3": "nbckpt.llm.seams.urllib3",
    "socket": "nbckpt.llm.seams.connecting",
    "grpc": "nbckpt.llm.seams.connecting",
    "curl_cffi": "nbckpt.llm.seams.connecting",
    "pycurl": "nbckpt.llm.seams.connecting",
    "os": "nbckpt.llm.seams.process_starts",
    "multiprocessing.process": "nbckpt.llm.seams.process_starts",
    "subprocess": "nbckpt.llm.seams.process_starts",
    "ptyprocess.ptyprocess": "nbckpt.llm.seams.process_starts",
}
"""Library → the module whose `patch` takes it."""
CALLS = frozenset(name for name, seam in SEAMS.items() if not seam.endswith(".process_starts"))
"""Those that ask models."""

missed: list[str] = []
"""Why the calls of a library are not seen."""

_inside: ContextVar[bool] = ContextVar("nbckpt_inside", default=False)


def install(libraries: Collection[str] = tuple(SEAMS)) -> None:
    """See the calls of libraries, those that are imported later, too."""
    for library in libraries:
        if (module := sys.modules.get(library)) is not None:
            _patch(module)
    importing.follow(libraries, _patch)


def uninstall() -> None:
    """Have libraries be as they were, except where somebody else has patched them since."""
    importing.unfollow()
    for library, seam in SEAMS.items():
        if (module := sys.modules.get(library)) is not None and seam in sys.modules:
            sys.modules[seam].unpatch(module)


def is_inside() -> bool:
    """True if a seam further out sees to the call that is made now."""
    return _inside.get()


inside = partial(called_with, _inside, True)
"""Call the original; seams further in leave it alone: one library may stand on another."""
inside_async = partial(awaited_with, _inside, True)
"""As `inside`, of one to wait for."""


def _patch(module: ModuleType) -> None:
    """Patch a library, or say by its name that its calls are not seen."""
    library = module.__name__
    seam = SEAMS.get(library)
    if seam is None:
        return
    try:
        import_module(seam).patch(module)
    except AttributeError as problem:
        notify(module, problem)


def notify(module: ModuleType, problem: Exception | str) -> None:
    """Say, once, by its name that calls of a library are not seen."""
    version = getattr(module, "__version__", "of unknown version")
    told = (
        f"model calls through {module.__name__} {version} are NOT recorded: {problem}; "
        "use a version that nbckpt knows, or `%nbckpt record off`"
    )
    if (parent := current.parent()) is not None:
        parent.notify_missed(told, told)
    elif told not in missed:
        missed.append(told)
        warnings.warn(told, stacklevel=2)
