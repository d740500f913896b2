"""The facets that a session observes its cells with."""

from __future__ import annotations

from nbckpt.observation.observer import Facet
from nbckpt.observation.process_state import ProcessState, kinds_for


def facets_for(namespace: dict[str, object]) -> tuple[Facet, ...]:
    """The facets of a session with this namespace, in the order in which they repeat effects."""
    return (
        ProcessState(kinds_for(namespace), namespace),
    )  # fmt: skip
