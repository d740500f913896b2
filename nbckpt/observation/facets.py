"""The facets that a session observes its cells with, in the order in which they repeat effects."""

from __future__ import annotations

from collections.abc import Callable

from nbckpt.observation.observer import Facet
from nbckpt.observation.process_state import ProcessState, kinds_for


def early_facets(namespace: dict[str, object]) -> tuple[Facet, ...]:
    """The facets that look at the process when the session begins."""
    return (ProcessState(kinds_for(namespace), namespace),)


def later_facets(
    namespace: dict[str, object],
    touch: Callable[[frozenset[str] | None], object],
    store: str,
) -> tuple[Facet, ...]:
    """The facets that look at the process when the first cell begins.

    Parameters
    ----------
    namespace
        The live variables.
    touch
        Is told which variables may have changed unseen; None for any.
    store
        The folder of nbckpt's own files.
    """
    from nbckpt.observation.attachments import Attachments
    from nbckpt.observation.files import Files
    from nbckpt.observation.names import Names
    from nbckpt.observation.places import working_folder
    from nbckpt.observation.shown_widgets import ShownWidgets

    return (
        Attachments(namespace, touch),
        Files(namespace, working_folder(), (store,)),
        Names(namespace, touch),
        ShownWidgets(namespace, touch),
    )  # fmt: skip
