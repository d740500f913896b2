"""The facets that a session observes its cells with, in the order in which they repeat effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nbckpt.capture.observation.observer import Facet
from nbckpt.capture.observation.process_state import ProcessState, kinds_for

if TYPE_CHECKING:
    from nbckpt.capture.observation.checkpoint_reads import CheckpointReads


def early_facet(
    namespace: dict[str, object], touch: Callable[[frozenset[str] | None], object]
) -> ProcessState:
    """The facet that looks at the process when the session begins.

    Parameters
    ----------
    namespace
        The live variables.
    touch
        Is told which variables may have changed unseen; None for any.
    """
    return ProcessState(kinds_for(namespace), namespace, touch)


def later_facets(
    namespace: dict[str, object],
    touch: Callable[[frozenset[str] | None], object],
    store: str,
    state: ProcessState,
    reads: CheckpointReads,
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
    state
        The facet that looks already.
    reads
        What code of the notebook reads of checkpoints.
    """
    from nbckpt.capture.observation.attachments import Attachments
    from nbckpt.capture.observation.files import Files
    from nbckpt.capture.observation.finalizers import Finalizers
    from nbckpt.capture.observation.graph_hooks import GraphHooks
    from nbckpt.capture.observation.held_elsewhere import HeldElsewhere
    from nbckpt.capture.observation.imports import Imports
    from nbckpt.capture.observation.indirect_names import Names
    from nbckpt.capture.observation.kept_values import KeptValues
    from nbckpt.capture.observation.open_figures import OpenFigures
    from nbckpt.capture.observation.places import working_folder
    from nbckpt.capture.observation.shown_widgets import ShownWidgets

    attachments = Attachments(namespace, touch)
    return (
        Imports(namespace),
        attachments,
        Files(namespace, working_folder(), (store,)),
        Names(namespace, touch),
        ShownWidgets(namespace, touch),
        Finalizers(namespace, touch),
        GraphHooks(namespace, touch),
        HeldElsewhere(namespace, attachments, state),
        OpenFigures(namespace),
        KeptValues(reads),
    )  # fmt: skip
