"""Recordings: model calls that were answered, and what came back.

The bytes of an answer lie in a blob with what was asked; the record says where a recording belongs
and what it cost. A record begins with what places it, so that of a hundred thousand only those
that are asked for are decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from nbckpt.digests import Digest
from nbckpt.model import Record

RECORDING = "recording"
BEGUN = "begun"
VALUE = "value"
Headers: TypeAlias = Sequence[tuple[str, str]]
Outcome: TypeAlias = Literal["done", "partial"]


class Recording(NamedTuple):
    """One model call and its answer.

    Attributes
    ----------
    step
        Name of the step that it belongs to.
    position
        Id of the checkpoint that the session stood on; None in a new process.
    occurrence
        How many equal requests had begun before in the same run of the step.
    request
        Digest of what was asked.
    endpoint
        What was asked for: ``chat``, ``messages``, ``embeddings``, …
    url
        Without keys.
    blob
        Its parts: what was asked (empty if that is too long), and the answer's bytes as the
        transport gave them.
    sizes
        Lengths of the chunks in which the answer came.
    state
        ``partial`` for a stream that was cut or left early: never an answer.
    created_at
        When the call began.
    first_byte_s
        Until the first byte of the answer's body.
    tokens_in, tokens_out, tokens_cached, tokens_reasoning
        None where the provider did not tell. Those that came from a cache are among
        `tokens_in`, those of reasoning among `tokens_out`.
    usage
        What the provider said, in its own words.
    cost_usd
        None where no price is known.
    price
        Source and version of the price.
    summary
        The beginning of what was asked.
    item
        Of the step's loop or map, to which it belongs; empty if to none.
    nth
        How many equal requests that item had begun before.
    shared
        How many equal requests waited for this answer instead of being sent.
    after
        Digest of the call of the step that its task or thread made before, and how many equal ones
        followed that; empty if there was none.
    """

    id: str
    step: str
    session: str
    branch: str
    position: str | None
    occurrence: int
    request: Digest
    provider: str
    endpoint: str
    model: str
    url: str
    status: int
    headers: Headers
    blob: Digest
    sizes: Sequence[int]
    state: Outcome
    streamed: bool
    created_at: float
    duration_s: float
    first_byte_s: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    usage: Mapping[str, Any] = {}
    cost_usd: float | None = None
    price: str = ""
    summary: str = ""
    cell_id: str | None = None
    tags: tuple[str, ...] = ()
    item: str = ""
    nth: int = 0
    shared: int = 0
    after: str = ""


PLACING = ("created_at", "id", "step", "request", "occurrence", "state", "position")
"""The members that say which request a recording answers; a record begins with them."""

_OTHERS = tuple(name for name in Recording._fields if name not in PLACING)


class RecordedValue(NamedTuple):
    """A time, an id or a seed that a step was given, with the members that place a recording.

    Attributes
    ----------
    request
        Digest of what was asked for, and by which task of the step.
    what
        ``now``, ``uuid`` or ``random``.
    value
        The answer, as text.
    """

    created_at: float
    id: str
    step: str
    request: Digest
    occurrence: int
    position: str | None
    session: str
    branch: str
    what: str
    value: str
    cell_id: str | None = None
    item: str = ""
    nth: int = 0


def value_record(value: RecordedValue) -> Record:
    """The record of a value; it begins with what places it, as that of a recording does."""
    members = value._asdict()
    placing = {name: members.pop(name, "done") for name in PLACING}
    more = {n: m for n, m in members.items() if m not in (None, "", 0)}
    return {"kind": VALUE, **placing, **more}


def begun_record(checkpoint: str, begun: Mapping[Digest, int], at: float) -> Record:
    """The record of how often equal requests had begun when progress was kept."""
    return {"kind": BEGUN, "checkpoint": checkpoint, "begun": begun, "at": at}


def recording_record(recording: Recording) -> Record:
    """The record of a recording, without the members that hold their default."""
    defaults = Recording._field_defaults
    record: dict[str, Any] = {"kind": RECORDING}
    record |= {name: getattr(recording, name) for name in PLACING}
    for name in _OTHERS:
        value = getattr(recording, name)
        if name not in defaults or value != defaults[name]:
            record[name] = value
    return record


def recording_from(record: Record) -> Recording:
    """The recording of a record."""
    members = {name: record[name] for name in Recording._fields if name in record}
    members["headers"] = [(name, value) for name, value in members["headers"]]
    members["tags"] = tuple(members.get("tags", ()))
    return Recording(**members)
