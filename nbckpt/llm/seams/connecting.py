"""Where calls begin that no other seam may see: `socket.getaddrinfo`, gRPC, curl.

Nothing is recorded here. A recorder that misses calls in silence is worse than none.
"""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from nbckpt.llm import current

LOOKING_UP = "getaddrinfo"
CHANNELS = ("secure_channel", "insecure_channel")
OPTIONS = ("setopt", "setopt_string")
_URL = 10002
"""Number of curl's option for the address, which does not change [1]_.

References
----------
.. [1] curl/curl.h, `CURLOPT_URL`.
"""


def patch(module: ModuleType) -> None:
    """Have connections told of, from whatever library they come; once."""
    match module.__name__:
        case "socket":
            _replace(module, LOOKING_UP, _looking_up)
        case "curl_cffi":
            _replace(module.Curl, OPTIONS[0], _setting)
        case "pycurl":
            _replace(module, "Curl", _telling)
        case _:
            for part in (module, getattr(module, "aio", None)):
                for name in CHANNELS if part is not None else ():
                    _replace(part, name, _opening)


def unpatch(module: ModuleType) -> None:
    """Have a library be as it was, unless somebody else has patched it since."""
    parts = (getattr(module, name, None) for name in ("aio", "Curl"))
    for part in (module, *parts):
        for name in (LOOKING_UP, *CHANNELS, *OPTIONS, "Curl"):
            if original := getattr(getattr(part, name, None), "original", None):
                setattr(part, name, original)


def _replace(module: Any, name: str, made: Any) -> None:
    original = getattr(module, name, None)
    if original is not None and not hasattr(original, "original"):
        replaced = made(original)
        if not isinstance(replaced, type):  # a variable that holds it is kept by name
            replaced = wraps(original)(replaced)
        replaced.original = original
        setattr(module, name, replaced)


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


def _setting(original: Any) -> Any:
    def setopt(self: Any, option: Any, value: Any, *rest: Any, **options: Any) -> Any:
        if current.is_open() and option == _URL:
            _note_url(value)
        return original(self, option, value, *rest, **options)

    return setopt


def _telling(original: Any) -> Any:
    """Pycurl's class, which is one of C: nothing in it can be replaced."""
    options = {name: _setting(getattr(original, name)) for name in OPTIONS}
    named = {"__module__": original.__module__, "__doc__": original.__doc__}
    return type(original.__name__, (original,), {**named, **options})


def _note_url(value: Any) -> None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:  # curl will say so
        return
    _note(host, port, "curl")


def _note(host: Any, port: Any, way: str = "") -> None:
    _tell("connected", host, port, way)


def _tell(what: str, *told: Any) -> None:
    from nbckpt.llm import unseen_traffic

    try:
        getattr(unseen_traffic, what)(*told)
    except Exception as problem:  # whatever it is, the user's connection has to be made
        current.notify_defect(problem)
