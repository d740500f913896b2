"""Checkpoints that a cell asks `nbckpt.get` for: a reference can mean another one later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbckpt.capture.observation.observer import Bystander, Ran
from nbckpt.digests import Json
from nbckpt.errors import NbckptError


class KeptValues(Bystander):
    """The facet of references to checkpoints: each has to mean what it meant.

    Parameters
    ----------
    meant
        Gives the id of the checkpoint that a reference means here and now; raises an `NbckptError`
        if it means none.
    """

    name = "kept values"

    def __init__(self, meant: Callable[[str], str]) -> None:
        self._meant = meant
        self._windows: list[dict[str, str | None]] = []

    def open(self) -> object:
        """A window; it learns which references were looked up, and what each meant."""
        self._windows.append({})
        return self._windows[-1]

    def looked_up(self, ref: str, checkpoint_id: str | None) -> None:
        """Take note of what a reference meant to code of the notebook; the first answer counts."""
        for window in list(self._windows):
            window.setdefault(ref, checkpoint_id)

    def close(self, window: object, ran: Ran) -> Json:  # noqa: ARG002
        """Reference → id of what it meant, None if that was nothing."""
        assert isinstance(window, dict)
        return dict(sorted(window.items())) or None

    def discard(self, window: object) -> None:
        """Collect nothing more in a window."""
        self._windows = [one for one in self._windows if one is not window]

    def restored(self, observed: Json) -> tuple[()]:
        """Have the windows that are open take what the step asked for as asked for in them."""
        known: Any = observed or {}
        for ref, checkpoint_id in known.items():
            self.looked_up(ref, checkpoint_id)
        return ()

    def difference(self, observed: Json, ran: Ran) -> str | None:  # noqa: ARG002
        """That a reference means another checkpoint by now, or none."""
        known: Any = observed or {}
        for ref, checkpoint_id in known.items():
            if self._meaning(ref) != checkpoint_id:
                return f"it asks nbckpt for {ref!r}, which is another checkpoint now"
        return None

    def _meaning(self, ref: str) -> str | None:
        try:
            return self._meant(ref)
        except NbckptError:
            return None
