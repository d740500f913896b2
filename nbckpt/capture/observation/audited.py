"""Facets whose windows collect audit events, and take over what restored steps have recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field

from nbckpt.capture.observation import audit
from nbckpt.capture.observation.observer import Unmoved
from nbckpt.digests import Json


@dataclass
class AuditedWindow:
    """Audit events of one step.

    Attributes
    ----------
    nested
        Records of steps that were restored inside of it.
    """

    audited: audit.Window
    _: KW_ONLY
    nested: list[Json] = field(default_factory=list)


class Audited(Unmoved):
    """The part of such a facet that looks after its windows."""

    def __init__(self) -> None:
        self._open: list[AuditedWindow] = []

    def discard(self, window: object) -> None:
        """Collect nothing more."""
        assert isinstance(window, AuditedWindow)
        if window in self._open:
            self._open.remove(window)
        audit.closed(window.audited)

    def restored(self, observed: Json) -> Sequence[str]:
        """Have open windows take what a restored step has recorded for theirs."""
        if observed:
            for window in self._open:
                window.nested.append(observed)
        return ()
