"""Check that a checkpoint can be brought back whole: its record, those it builds on, all bytes.

A resume looks only where something did not come back; a search for another checkpoint reads, and
so verifies, every byte of each candidate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.errors import BlobNotFoundError, FormatError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Checkpoint, Manifest, Variable
from nbckpt.runtime import clock
from nbckpt.text.units import age_text

if TYPE_CHECKING:
    from nbckpt.storage.store import Store
    from nbckpt.timeline.timeline import Timeline

MOST_NAMED = 8
"""Variables that a message names."""


class Damage(NamedTuple):
    """The part of a checkpoint that cannot be brought back.

    Attributes
    ----------
    variables
        Name → reason; random generators among them.
    missing
        Id of an ancestor whose record is gone, with all that it held; empty if none is.
    """

    variables: dict[str, str]
    missing: str = ""

    def __bool__(self) -> bool:
        return bool(self.variables or self.missing)

    def __str__(self) -> str:
        """A clause that says what is damaged."""
        if self.missing:
            return f"the record of a checkpoint that it builds on ({self.missing[:8]}) is gone"
        names = sorted(set(self.variables) - random_generators.NAMES)
        if not names:
            return "the state of the random generators is damaged"
        shown = ", ".join(map(repr, names[:MOST_NAMED]))
        if len(names) > MOST_NAMED:
            shown += f" and {len(names) - MOST_NAMED} more"
        return f"{shown} {'is' if len(names) == 1 else 'are'} damaged or missing"


class Inspection:
    """Looks at checkpoints of one store, and at each blob once."""

    def __init__(self, timeline: Timeline, store: Store) -> None:
        self._timeline = timeline
        self._store = store
        self._problems: dict[str, str] = {}  # blob → why it cannot be read, or nothing

    def damage_of(self, checkpoint: Checkpoint, names: Iterable[str] | None = None) -> Damage:
        """The part of a checkpoint that cannot be brought back.

        Parameters
        ----------
        names
            Look at no other variables than these.
        """
        timeline = self._timeline
        missing = timeline.missing_ancestor(checkpoint.id) or ""
        manifest = timeline.manifest(checkpoint.id)
        wanted = manifest if names is None else {n: manifest[n] for n in names if n in manifest}
        return Damage(self._unreadable(wanted), missing)

    def _unreadable(self, manifest: Manifest) -> dict[str, str]:
        found = {}
        for name, variable in manifest.items():
            if variable.blob not in self._problems:
                self._problems[variable.blob] = self._problem_of(variable)
            if problem := self._problems[variable.blob]:
                found[name] = problem
        return found

    def _problem_of(self, variable: Variable) -> str:
        if not variable.trusted:  # nobody builds it, so its bytes are not read
            return ""
        try:
            self._store.get_blob(variable.blob)
        except (FormatError, BlobNotFoundError) as error:
            return str(error)
        return ""

    def newest_whole(self, head: Checkpoint, branch: str) -> Checkpoint | None:
        """The newest checkpoint before `head` that can be brought back whole; None if none can."""
        own = (c for c in self._before(head, branch) if c.trusted)
        return next((c for c in own if not self.damage_of(c)), None)

    def _before(self, head: Checkpoint, branch: str) -> Iterator[Checkpoint]:
        """Those that `head` builds on, then others of its branch: its line may be cut."""
        timeline = self._timeline
        line = timeline.ancestry(head.id)[1:]
        yield from line
        seen = {head.id, *(c.id for c in line)}
        others = [c for i, c in timeline.checkpoints.items() if i not in seen]
        of_branch = [c for c in others if c.branch == branch and c.state == "done"]
        older = [c for c in of_branch if c.created_at <= head.created_at]
        yield from sorted(older, key=lambda c: c.created_at, reverse=True)


def refusal_to_resume(head: Checkpoint, damage: Damage, whole: Checkpoint | None) -> FormatError:
    """The error of a resume that changed nothing."""
    message = f"{head.name!r} cannot be resumed, nothing was changed: {damage}; "
    if whole is None:
        message += f"no other checkpoint is whole: %rewind {head.id[:8]} brings back the rest"
        return FormatError(message)
    age = age_text(clock.now() - whole.created_at)
    message += f"the newest whole one is {whole.name!r} ({whole.id[:8]}, {age}): "
    return FormatError(message + "%resume --fallback takes it")
