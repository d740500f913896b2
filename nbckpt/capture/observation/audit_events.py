"""Parts of audit events that are kept: one small class for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import NamedTuple, TypeAlias

from nbckpt.capture.observation.file_states import Stamp
from nbckpt.digests import Json


class Opened(NamedTuple):
    """A file that was opened, or that somebody tried to open.

    Attributes
    ----------
    is_read
        True if it may be read as it was before.
    is_emptied
        True if nothing of it is left.
    """

    path: object
    is_written: bool
    is_imported: bool
    is_appended: bool = False
    is_read: bool = True
    is_emptied: bool = False


class Listed(NamedTuple):
    """A folder whose names were asked for."""

    path: object


class Replaced(NamedTuple):
    """A file or folder that was made, moved, cut or deleted.

    Attributes
    ----------
    is_read
        True if what stood there goes on elsewhere, or a part of it does.
    is_made
        True if something else stands there then.
    """

    path: object
    is_read: bool = False
    is_made: bool = False


class Went(NamedTuple):
    """The working folder became another one."""

    path: object


class Child(NamedTuple):
    """A process that is about to be started.

    Attributes
    ----------
    words
        The command and its arguments, or a command line alone; nothing where they are not known.
    folder
        In which it runs; nothing for the working folder.
    before
        Files that had changed not long before, and what told of that; of the first of a window.
    """

    words: tuple[object, ...]
    folder: object = None
    before: Mapping[str, Stamp] | None = None


class Evaluated(NamedTuple):
    """Code that `exec` or `eval` ran; by which module, and below which line of the notebook."""

    code: CodeType
    module: str
    line: int


class Compiled(NamedTuple):
    """A text that was compiled."""

    text: object


class Framed(NamedTuple):
    """A look at a caller's frame, by some code of some module."""

    code: CodeType
    module: str
    is_notebook: bool
    line: int


class Unpickled(NamedTuple):
    """A global that a pickle asked for."""

    module: str
    name: str


class Repeated(NamedTuple):
    """A call that was answered from the store: the record of the files that it read."""

    record: Json


Event: TypeAlias = (
    Opened | Listed | Replaced | Went | Child | Evaluated | Compiled | Framed | Unpickled | Repeated
)
