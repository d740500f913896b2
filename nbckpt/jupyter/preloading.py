"""Imports of what the first checkpoints need, in parts, for while the notebook is at rest."""

from __future__ import annotations

from collections.abc import Iterator


def parts() -> Iterator[None]:
    """Import part by part, in the order in which cells ask; each takes some milliseconds."""
    import nbckpt.fingerprint.code

    yield
    import nbckpt.fingerprint.values.definitions
    import nbckpt.fingerprint.values.sure_types

    yield
    import nbckpt.fingerprint.values.frames
    import nbckpt.runtime.dirty_pages.memory

    yield
    import nbckpt.fingerprint.values.modules

    yield
    import nbckpt.fingerprint.keys
    import nbckpt.fingerprint.values.sources
    import nbckpt.jupyter.guards
    import nbckpt.session.workspace.setup_code

    yield
    import nbckpt.capture.observation.libraries

    yield
    import nbckpt.capture.observation.attachments

    yield
    import nbckpt.capture.observation.audit
    import nbckpt.capture.observation.files

    yield
    import nbckpt.capture.observation.checkpoint_reads
    import nbckpt.capture.observation.finalizers
    import nbckpt.capture.observation.graph_hooks
    import nbckpt.capture.observation.held_elsewhere
    import nbckpt.capture.observation.imports
    import nbckpt.capture.observation.indirect_names
    import nbckpt.capture.observation.kept_values
    import nbckpt.capture.observation.open_figures
    import nbckpt.capture.observation.process_state.held_objects
    import nbckpt.capture.observation.process_state.reach
    import nbckpt.capture.observation.shown_widgets

    yield
    import nbckpt.codecs.functions

    yield
    import nbckpt.codecs.arrays
    import nbckpt.codecs.classes

    yield
    import nbckpt.codecs.encode

    yield
    import nbckpt.capture.recipes.recipes

    yield
    import nbckpt.capture.groups.groups
    import nbckpt.capture.trials

    yield
    import nbckpt.storage.putting
    import nbckpt.storage.reader
    import nbckpt.text.describe

    yield
    import nbckpt.llm.scope
    import nbckpt.session.verification
    import nbckpt.steps.execution.execution_state

    yield
    import nbckpt.steps.step_draft

    yield
    import nbckpt.steps.restore.effects

    yield
    import nbckpt.steps.step

    yield
    import nbckpt.jupyter.outputs
    import nbckpt.jupyter.step_notices
    import nbckpt.session.workspace.stale_search  # noqa: F401
