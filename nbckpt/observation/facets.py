"""The facets that a session observes its cells with."""

from __future__ import annotations

import os

from nbckpt.observation.files import Files
from nbckpt.observation.names import Names
from nbckpt.observation.observer import Facet
from nbckpt.observation.process_state import ProcessState, kinds_for


def facets_for(namespace: dict[str, object], own: tuple[str, ...] = ()) -> tuple[Facet, ...]:
    """The facets of a session with this namespace, in the order in which they repeat effects.

    Parameters
    ----------
    own
        Folders of nbckpt's, whose files are no input of a cell.
    """
    return (
        ProcessState(kinds_for(namespace), namespace),
        Files(namespace, _working_folder(), own),
        Names(namespace),
    )


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  # texts all the way
    except OSError:  # it was deleted
        return "/"
