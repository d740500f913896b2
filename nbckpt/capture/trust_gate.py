"""Refusals to build what the user neither made nor trusts: checkpoints and their variables.

Of a store that is not trusted nothing is built. A pickle is code, and a reader that builds only
harmless types from one is a program of its own (`docs/decisions/0060`): so the record is all that
is read, with names, types, shapes and previews, until the user trusts it.
"""

from __future__ import annotations

from nbckpt.errors import NOT_YOURS, TRUST_IT, UntrustedError
from nbckpt.fingerprint import random_generators
from nbckpt.model import Checkpoint, Manifest, Refusal, Variable


def require_trusted(checkpoint: Checkpoint) -> None:
    """Raise unless a checkpoint is the user's own, or trusted: for each move, before it begins.

    Raises
    ------
    UntrustedError
        If it is neither.
    """
    if not checkpoint.trusted:
        message = f"{checkpoint.name!r} {NOT_YOURS}, so nothing of it is built: {TRUST_IT}"
        raise UntrustedError(message)


def require_trusted_value(variable: Variable, checkpoint: str = "") -> None:
    """Raise unless a variable is the user's own, or trusted: before its bytes are read.

    Parameters
    ----------
    checkpoint
        The checkpoint's name in the message; empty where there is one checkpoint only.

    Raises
    ------
    UntrustedError
        If it is neither.
    """
    if not variable.trusted:
        at = f" at checkpoint {checkpoint!r}" if checkpoint else ""
        message = f"{variable.name!r}{at} {NOT_YOURS}, so it is not built: {TRUST_IT}"
        raise UntrustedError(message)


def untrusted_in(manifest: Manifest) -> list[Refusal]:
    """The user's variables that are not built, as they are neither his own nor trusted."""
    return [
        Refusal(name, name, variable.type_name, NOT_YOURS)
        for name, variable in manifest.items()
        if not variable.trusted and name not in random_generators.NAMES
    ]
