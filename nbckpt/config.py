"""Settings: read once from the environment, then passed down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nbckpt.errors import UsageError

STORE_VARIABLE = "NBCKPT_STORE"
IDLE_VARIABLE = "NBCKPT_IDLE_S"


@dataclass(frozen=True, slots=True)
class Settings:
    """What can be set.

    Attributes
    ----------
    store
        Folder of the store; `.nbckpt` beside the notebook unless ``NBCKPT_STORE`` says otherwise.
    patience_s
        How long a checkpoint cell waits for the disk before it lets the writing go on behind it.
        A checkpoint within that time is durable when its cell ends.
    track_share
        Of the time that a loop takes, the share that keeping its progress may take.
    idle_s
        Seconds without a cell after which tables are written and what is kept is looked at again;
        ``NBCKPT_IDLE_S`` says otherwise, 0 turns it off.
    """

    store: Path = Path(".nbckpt")
    patience_s: float = 1.0
    track_share: float = 0.2
    idle_s: float = 5.0


def settings_from(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment asks for.

    Raises
    ------
    UsageError
        If a variable holds what it cannot mean.
    """
    settings = Settings()
    if store := environ.get(STORE_VARIABLE):
        settings = replace(settings, store=Path(store).expanduser())
    if idle := environ.get(IDLE_VARIABLE):
        settings = replace(settings, idle_s=_seconds(IDLE_VARIABLE, idle))
    return settings


def _seconds(variable: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        message = f"{variable} is {text!r}; it is a number of seconds, or 0"
        raise UsageError(message)
    return seconds
