"""Outputs that cells printed and showed, as they were recorded, for all that report them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from nbckpt.errors import FormatError, NbckptError

if TYPE_CHECKING:
    from nbckpt.model import Checkpoint
    from nbckpt.storage.store import Store

Output: TypeAlias = dict[str, Any]

MOST_BYTES = 128 << 20
"""No cell's outputs are larger: see `jupyter/outputs`."""
_STREAMS = ("stdout", "stderr")
_KINDS = frozenset({"stream", "display", "result"})
_LEFT_OUT = frozenset({"error", "update"})
"""Kinds that a notebook's file is not given: errors that code showed, and changes of displays."""


class NotebookOutputs(NamedTuple):
    """Outputs of a cell as a notebook's file has them, and the number of those that it lacks."""

    shown: list[Output]
    left_out: int


def recorded_outputs(store: Store, checkpoint: Checkpoint) -> list[Output]:
    """The outputs of a checkpoint's cell, each of a form that all who show them know.

    Raises
    ------
    NotFoundError, FormatError
        If they are missing, damaged, or none: somebody else may have written anything there.
    """
    return [o for o in _all_outputs(store, checkpoint) if not _KINDS.isdisjoint(o)]


def _all_outputs(store: Store, checkpoint: Checkpoint) -> list[Output]:
    if checkpoint.outputs is None:
        return []
    message = f"the outputs of checkpoint {checkpoint.name or checkpoint.id!r} are damaged"
    if store.blobs.size(checkpoint.outputs) > MOST_BYTES:
        raise FormatError(message)
    try:
        found = json.loads(b"".join(store.get_blob(checkpoint.outputs)[:1]))
    except (ValueError, RecursionError) as error:
        raise FormatError(message) from error
    if not isinstance(found, list) or not all(map(_is_output, found)):
        raise FormatError(message)
    return found


def _is_output(found: object) -> bool:
    if not isinstance(found, dict):
        return False
    if "stream" in found:
        return found["stream"] in _STREAMS and isinstance(found.get("text"), str)
    kind = "display" if "display" in found else "result"
    members = (found.get(kind) or {}, found.get("metadata") or {})
    return all(isinstance(member, dict) for member in members)


def notebook_outputs(
    store: Store, checkpoint: Checkpoint, count: int | None
) -> NotebookOutputs | None:
    """Outputs of a checkpoint's cell, as a notebook's file has them; None if they are lost."""
    try:
        recorded = _all_outputs(store, checkpoint)
    except NbckptError:
        return None
    left_out = sum(_KINDS.isdisjoint(o) and not _LEFT_OUT.isdisjoint(o) for o in recorded)
    shown = [output for output in recorded if not _KINDS.isdisjoint(output)]
    if not checkpoint.trusted:
        shown = list(map(_harmless, shown))
    return NotebookOutputs([_as_nbformat(output, count) for output in shown], left_out)


_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif"})


def _harmless(recorded: Output) -> Output:
    """An output without what runs when it is shown: text and pictures stay, HTML does not."""
    if "stream" in recorded:
        name = "stderr" if recorded["stream"] == "stderr" else "stdout"
        return {"stream": name, "text": str(recorded.get("text", ""))}
    kind = "display" if "display" in recorded else "result"
    data = recorded.get(kind)
    held = data if isinstance(data, dict) else {}
    kept = {m: v for m, v in held.items() if m in _PICTURES and isinstance(v, str)}
    plain = held.get("text/plain", "(not shown: this store is not trusted)")
    return {kind: {**kept, "text/plain": str(plain)}}


def _as_nbformat(recorded: Output, count: int | None) -> Output:
    if "stream" in recorded:
        return {"output_type": "stream", "name": recorded["stream"], "text": recorded["text"]}
    metadata = recorded.get("metadata") or {}
    if "display" in recorded:
        data = recorded["display"] or {}
        return {"output_type": "display_data", "data": data, "metadata": metadata}
    return {
        "output_type": "execute_result",
        "data": recorded.get("result") or {},
        "metadata": metadata,
        "execution_count": count,
    }
