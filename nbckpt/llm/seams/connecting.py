"""Where connections begin that no other seam may see: `socket.getaddrinfo`, and channels of gRPC.

Nothing is recorded here. A recorder that misses calls in silence is worse than none.
"""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from nbckpt.llm import current

LOOKING_UP = "getaddrinfo"
CHANNELS = ("secure_channel", "insecure_channel")


def patch(module: ModuleType) -> None:
    """Have connections told of, from whatever library they come; once."""
    if module.__name__ == "socket":
        _replace(module, LOOKING_UP, _looking_up)
        return
    for part in (module, getattr(module, "aio", None)):
        for name in CHANNELS if part is not None else ():
            _replace(part, name, _opening)


def unpatch(module: ModuleType) -> None:
    """Have a library be as it was, unless somebody else has patched it since."""
    for part in (module, getattr(module, "aio", None)):
        for name in (LOOKING_UP, *CHANNELS):
            if original := getattr(getattr(part, name, None), "original", None):
                setattr(part, name, original)


def _replace(module: Any, name: str, made: Any) -> None:
    original = getattr(module, name, None)
    if original is not None and not hasattr(original, "original"):
        function: Any = wraps(original)(made(original))  # a variable that holds it is kept by name
        function.original = original
        setattr(module, name, function)


def _looking_up(original: Any) -> Any:
    def getaddrinfo(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        if current.is_open():
            _note(host, port)
        return original(host, port, *rest, **options)

    return getaddrinfo


def _opening(original: Any) -> Any:
    def open_channel(target: Any, *rest: Any, **options: Any) -> Any:
        if current.is_open() and isinstance(target, str):
            name, _, port = target.rpartition("/")[2].rpartition(":")
            _note(name or port, port if name else None, "gRPC")
        return original(target, *rest, **options)

    return open_channel


def _note(host: Any, port: Any, way: str = "") -> None:
    from nbckpt.llm import unseen_traffic

    try:
        unseen_traffic.connected(host, port, way)
    except Exception as problem:  # whatever it is, the user's connection has to be made
        if (recorder := current.recorder()) is not None:
            recorder.outcomes.notify_defect(problem)
