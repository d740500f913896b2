"""The recorder and the call as seams know them: of this process, or of the one that started it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from nbckpt.llm.asked_usage import AskedUsage
    from nbckpt.llm.http_request import HttpRequest, RecordedResponse


class Awaited(Protocol):
    """Something that has to come before a call is sent."""

    @property
    def landed(self) -> Future[Any]:
        """Done when it has come."""

    @property
    def patience_s(self) -> float:
        """Seconds that are still worth waiting; 0 or less if none are."""

    def leave(self) -> None:
        """Wait no more, and ask nothing."""


class SeamCall(Protocol):
    """One model call, of which a seam tells what happens to it: see `nbckpt.llm.call.Call`."""

    @property
    def kept(self) -> RecordedResponse | None:
        """The answer, if it was recorded."""

    @property
    def awaited(self) -> Awaited | None:
        """What has to come first."""

    @property
    def is_over(self) -> bool:
        """True if nothing more has to be told."""

    @property
    def body(self) -> bytes | None:
        """What is to be sent in the place of the request's body."""

    @property
    def extra(self) -> AskedUsage | None:
        """Takes what was asked for more out of the answer."""

    def ask_usage(self) -> None:
        """Have a stream say what it took."""

    def may_be_refused(self, status: int) -> bool | None:
        """True if a server may not take what was asked for more."""

    def is_refused(self, answer: bytes) -> bool | None:
        """True if what was asked for more is not taken."""

    def started(
        self, status: int, headers: Sequence[tuple[str, str]], *, is_framed: bool = True
    ) -> None:
        """The head of the answer is there."""

    def chunk(self, data: bytes) -> Future[Any] | None:
        """A piece of the body is there; what to wait for before the caller gets it."""

    def ended(self) -> Future[Any] | None:
        """The body is complete; what to wait for before the caller learns that."""

    def failed(self, error: BaseException | str) -> None:
        """There is no answer, or not all of it."""

    def left(self) -> None:
        """The caller does not want more."""


class SeamRecorder(Protocol):
    """Answers calls, or has them sent: see `nbckpt.llm.recorder.Recorder`."""

    def begin(self, asked: HttpRequest, *, blocks: bool = True) -> SeamCall | None:
        """The call of a request; None if it is to be left alone."""

    def go_on(self, call: Any, *, blocks: bool = True) -> SeamCall | None:
        """The call that follows one of its own that has waited."""


class ParentRecorder(SeamRecorder, Protocol):
    """The recorder of the process that started this one."""

    def setting(self, name: str) -> str:
        """A setting of its session; empty if it has none."""

    def notify_missed(self, place: str, text: str) -> None:
        """Have it say, once for each place, that calls from there are not seen."""

    def notify_unseen(self, place: str, what: str, *, is_anywhere: bool) -> None:
        """Have it say that its step does something that no seam sees."""

    def notify_defect(self, problem: Exception) -> None:
        """Have it say that a call was not recorded though it should have been."""
