"""The facets that a session observes its cells with."""

from __future__ import annotations

from collections.abc import Callable

from nbckpt.observation.attachments import Attachments
from nbckpt.observation.observer import Facet
from nbckpt.observation.process_state import ProcessState, kinds_for


def facets_for(
    namespace: dict[str, object], touch: Callable[[frozenset[str] | None], object]
) -> tuple[Facet, ...]:
    """The facets of a session, in the order in which they repeat effects.

    Parameters
    ----------
    namespace
        The live variables.
    touch
        Is told which variables may have changed unseen; None for any.
    """
    return (
        ProcessState(kinds_for(namespace), namespace),
        Attachments(namespace, touch),
    )  # fmt: skip
