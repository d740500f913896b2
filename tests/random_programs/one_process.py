"""What sessions of one process need not find out each anew, because programs never change it."""

from __future__ import annotations

from collections.abc import Mapping

from nbckpt.observation.changes import Change
from nbckpt.observation.libraries import Libraries


class SharedLibraries(Libraries):
    """The libraries of a process whose sessions follow one another.

    A session meets each module and class at its first look, which took half of a program's time.
    In this process the one before has met them: a session that takes over looks once, and forgets
    what it saw, as the first look of a process tells nothing either.
    """

    def __init__(self) -> None:
        super().__init__({})
        self._has_met = False

    def begin(self, namespace: Mapping[str, object]) -> SharedLibraries:
        """Follow for the session of another namespace from its first look on."""
        self.namespace = namespace
        self.user_modules.clear()
        self._flips.clear()
        self._registered.clear()
        self._has_met = False
        return self

    def look(self) -> tuple[list[Change], list[str]]:
        """What changed since the last look; nothing for the first one of a session."""
        found = super().look()
        if self._has_met:
            return found
        self._has_met = True
        return [], []
