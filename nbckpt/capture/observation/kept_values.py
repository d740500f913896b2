"""What a cell asks `nbckpt.get` for: a reference can mean another checkpoint later."""

from __future__ import annotations

from nbckpt.capture.observation.checkpoint_reads import CheckpointReads
from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.digests import Json


class KeptValues(Bystander):
    """The facet of reads of checkpoints: each has to be told what it was told."""

    name = "kept values"

    def __init__(self, reads: CheckpointReads) -> None:
        self._reads = reads

    def open(self) -> object:
        """A window that collects what is read."""
        return self._reads.open()

    def close(self, window: object, ran: Ran) -> Json:  # noqa: ARG002
        """Reference → question → answer."""
        return self._reads.collected(window)

    def discard(self, window: object) -> None:
        """Collect nothing more in a window."""
        self._reads.discard(window)

    def restored(self, observed: Json) -> tuple[()]:
        """Have the windows that are open take what the step read as read in them."""
        self._reads.repeat(observed)
        return ()

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """That a read would be told something else by now."""
        return self._reads.difference(observed)

    def changed_input(self, observed: Json) -> str | None:
        """That a read would be told something else by now."""
        return self._reads.difference(observed)
