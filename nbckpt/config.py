"""Settings: read once from the environment, then passed down."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STORE_VARIABLE = "NBCKPT_STORE"


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
    """

    store: Path = Path(".nbckpt")
    patience_s: float = 1.0
    track_share: float = 0.2


def settings_from(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment asks for."""
    store = environ.get(STORE_VARIABLE)
    return Settings(store=Path(store).expanduser()) if store else Settings()
