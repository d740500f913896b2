"""What a call reads beside its arguments: files, and what it is told of checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from nbckpt.capture.observation import audit
from nbckpt.capture.observation.files import CallFiles, Files
from nbckpt.errors import CaptureError
from nbckpt.model import Key

if TYPE_CHECKING:
    from nbckpt.capture.observation.checkpoint_reads import Reads
    from nbckpt.digests import Json
    from nbckpt.session.session import Session

_R = TypeVar("_R")
ASKED = "asked"
"""Member of a record: what the call was told of checkpoints; another answer has it run again."""
FILES = "files"
"""The same: the states of the files that it has read."""

_making = threading.Lock()


class CallInputs:
    """Reads of one call while it runs, from the first time that it is entered."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._reads = session.workspace.checkpoint_reads
        self._told: Reads = {}
        self._files = CallFiles()
        _files_of(session)

    def inside(self, function: Callable[..., _R], /, *args: Any) -> _R:
        """Call a function; what it reads belongs to this call."""
        with self._reads.collecting(self._told):
            return audit.heard(self._files.events, function, *args)

    async def inside_async(self, function: Callable[..., Awaitable[_R]], /, *args: Any) -> _R:
        """As `inside`, of one to wait for."""
        with self._reads.collecting(self._told):
            return await audit.heard_async(self._files.events, function, *args)

    def members(self, function: object, given: object, key: Key) -> dict[str, Json]:
        """Members of the call's record that tell of its reads.

        Parameters
        ----------
        given
            What the function was called with.
        key
            What it reaches.

        Raises
        ------
        CaptureError
            If a file that it reads was changed meanwhile.
        """
        namespace = self._session.namespace
        names = {n: namespace[n] for n in (*key.inputs, *key.functions) if n in namespace}
        names |= {"call of": function, "given": given}
        files: Any = _files_of(self._session).of_call(self._files, names)
        if files and (touched := files.get("touched")):
            message = f"file {touched[0]!r}, which it reads, was changed while it ran"
            raise CaptureError(message)
        members: dict[str, Json] = {ASKED: self._told, FILES: files}
        members = {name: what for name, what in members.items() if what}
        _have_files(self._session, members)
        return members


def difference(session: Session, members: Mapping[str, Json]) -> str | None:
    """A sentence on what a kept call has read and is another by now; None if nothing is."""
    reads = session.workspace.checkpoint_reads
    if why := reads.difference(members.get(ASKED)):
        return why
    files = members.get(FILES)
    return _files_of(session).difference_of_call(files) if files else None


def repeat(session: Session, members: Mapping[str, Json]) -> None:
    """Have what is in work around a kept call take what that has read for its own."""
    session.workspace.checkpoint_reads.repeat(members.get(ASKED))
    _have_files(session, members)


def _have_files(session: Session, members: Mapping[str, Json]) -> None:
    if files := members.get(FILES):
        audit.repeated(files)
        _files_of(session).restored(files)


def _files_of(session: Session) -> Files:
    """The facet of the session's files."""
    with _making:  # threads that ask first have one
        facets = session.workspace.observer.facets
    return next(facet for facet in facets if isinstance(facet, Files))
