"""Names that a stream may use where it is not trusted, and their meanings.

A name is never looked up in a module: it is in a table here, or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nbckpt.errors import UntrustedError

if TYPE_CHECKING:
    from nbckpt.codecs.plain.limits import Limits

Make = Callable[["Limits", tuple[Any, ...]], object]
"""Makes a value of arguments that anybody may have written; raises what it likes."""


class Known(NamedTuple):
    """The meaning of a name that a stream may use.

    Attributes
    ----------
    value
        What the name means where it is itself a value: a class, a constant. None for what can
        only be called.
    make
        Calls it.
    new
        Makes an instance of it that a state will complete.
    settles
        True if it is called with a value that is not complete, and with its state.
    """

    name: str
    value: object = None
    make: Make | None = None
    new: Make | None = None
    settles: bool = False


class Pending:
    """A value that is made when its state comes, which is before anything can hold it.

    Attributes
    ----------
    complete
        Gives the value for a state.
    slots
        Where in the memo it is to stand.
    """

    __slots__ = ("complete", "slots")

    def __init__(self, complete: Callable[[Any], object]) -> None:
        self.complete = complete
        self.slots: list[int] = []


Table = Mapping[tuple[str, str], Known]


def table(entries: Sequence[tuple[str, Known]]) -> Table:
    """Known names by module and name; the path of each is ``module:name``."""
    found = {}
    for path, known in entries:
        module, _, name = path.partition(":")
        found[module, name] = known
    return found


def find(module: object, name: object) -> Known:
    """The meaning of a name in a stream.

    Raises
    ------
    UntrustedError
        If it is none of those that are known to be harmless.
    """
    if type(module) is str and type(name) is str and len(module) + len(name) < _LONGEST:
        from nbckpt.codecs.plain import builtin

        if (known := builtin.TABLE.get((module, name))) is not None:
            return known
        if (room := _ROOMS.get(module.partition(".")[0])) is not None:
            known = room().get((module, name))
            if known is not None:
                return known
        raise UntrustedError(told(module, name))
    message = "it names something by no name"
    raise UntrustedError(message)


def told(module: str, name: str) -> str:
    """Clause for people on what a stream holds, told by the name that it has there."""
    if words := _WORDS.get(f"{module}.{name}") or _WORDS.get(module):
        return f"it holds {words}"
    text = f"{module}.{name}" if module else name
    return f"it holds {text!r}" if not text.isprintable() else f"it holds {text}"


_LONGEST = 1000

_OF_NOTEBOOK = "a function or class of the notebook"

_WORDS = {
    "nbckpt.codecs.loading.from_namespace": _OF_NOTEBOOK,
    "nbckpt.codecs.functions": _OF_NOTEBOOK,
    "nbckpt.codecs.classes": "a class of the notebook",
    "nbckpt.codecs.class_making": "a class of the notebook",
    "cloudpickle.cloudpickle": _OF_NOTEBOOK,
    "dill._dill": "what only dill can keep",
    "nbckpt.capture.recipes": "a statement that makes it again",
    "nbckpt.codecs.memmaps": "a file that is mapped into memory",
    "nbckpt.codecs.files": "a file",
    "nbckpt.codecs.exceptions": "an exception",
    "nbckpt.codecs.torch_modules": "a module of PyTorch",
    "builtins.getattr": "an attribute of something",
    "builtins.eval": "code",
    "builtins.exec": "code",
}


def _numpy() -> Table:
    from nbckpt.codecs.plain import arrays

    return arrays.names()


def _own() -> Table:
    from nbckpt.codecs.plain import own

    return own.names()


def _pyarrow() -> Table:
    from nbckpt.codecs.plain import arrows

    return arrows.names()


def _pandas() -> Table:
    from nbckpt.codecs.plain import frames

    return frames.names()


def _polars() -> Table:
    from nbckpt.codecs.plain import polar_frames

    return polar_frames.names()


def _torch() -> Table:
    from nbckpt.codecs.plain import tensors

    return tensors.names()


_ROOMS: Mapping[str, Callable[[], Table]] = {
    "numpy": _numpy,
    "nbckpt": _own,
    "pyarrow": _pyarrow,
    "pandas": _pandas,
    "polars": _polars,
    "torch": _torch,
}
