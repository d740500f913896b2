"""The result of a move: what came back, and what did not."""

from __future__ import annotations

from typing import NamedTuple

from nbckpt.model import Checkpoint, Refusal


class MoveResult(NamedTuple):
    """Result of a rewind or resume.

    Attributes
    ----------
    checkpoint
        Checkpoint that the namespace is at now.
    came_back, unchanged, removed
        Names that were restored, that held the same already, and that were not there then.
    failed
        Variables that could not be restored, with reasons.
    left
        Names that the checkpoint could not or was not asked to keep. Those that are in `removed`
        are gone: their values were of another moment. Those in `absent` are not there either, and
        were not before. The others are as they were.
    took_s
        Seconds that it took.
    untrusted
        Variables that were not restored, as the user neither made nor trusts them.
    was_set
        Process state that was set, a short text each.
    unset
        Process state that could not be set, and the code to run for it, a short text each.
    moved_on
        Names of `left` that hold the object of then, which may have changed since.
    begun
        Threads that had not begun there and run by now, with variables that share objects with
        them: they stay, as copies would be other objects.
    refused
        Names of `left` that the checkpoint could not keep, with reasons.
    absent
        Names of `left` that were not there before either, as in a new process.
    """

    checkpoint: Checkpoint
    came_back: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    failed: tuple[Refusal, ...]
    left: tuple[str, ...]
    took_s: float
    untrusted: tuple[Refusal, ...] = ()
    was_set: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    moved_on: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()
    absent: tuple[str, ...] = ()

    def __repr__(self) -> str:
        at = self.checkpoint
        return f"<at {at.name!r} {at.id[:8]}: {len(self.came_back)} variables came back>"
