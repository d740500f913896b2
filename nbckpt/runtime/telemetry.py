"""Spans and metrics for OpenTelemetry, where it is in use. Nothing is imported to find that out.

Names are those of the semantic conventions where there are some: `gen_ai.*` for model calls,
`error.type`. A span is made when what it tells of is over, with the times of then, so that
nothing has to be held open around a cell.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias
from weakref import WeakSet

from nbckpt.version import __version__

Choice: TypeAlias = Literal["auto", "on", "off"]
API = ("opentelemetry.trace", "opentelemetry.metrics")
MISSING = (
    "telemetry is on, and the package opentelemetry-api is not there:"
    " `pip install 'nbckpt[telemetry]'`, or set telemetry to off"
)

_SPANS = {
    "kept": "nbckpt.checkpoint",
    "not_kept": "nbckpt.checkpoint",
    "progress": "nbckpt.checkpoint",
    "ran": "nbckpt.cell",
    "failed": "nbckpt.cell",
    "pruned": "nbckpt.prune",
}
_RESTORED = "nbckpt.restore"
_OPERATIONS = {
    "chat": "chat",
    "responses": "chat",
    "messages": "chat",
    "completions": "text_completion",
    "embeddings": "embeddings",
}
"""Endpoint of a model call → `gen_ai.operation.name`; others keep their own name."""

_TOKENS = [4**n for n in range(14)]
_SECONDS = [0.01 * 2**n for n in range(14)]
"""The boundaries that the conventions recommend for `gen_ai.client.*`."""


class Waits(Protocol):
    """A store, as one that has bytes that wait for the disk."""

    @property
    def unwritten_bytes(self) -> int:
        """Number of bytes that wait now."""


class ModelCall(NamedTuple):
    """A model call that was made, and not replayed.

    Attributes
    ----------
    endpoint
        What was asked for: ``chat``, ``messages``, ``embeddings``, …
    model, answered_by
        What was asked, and what it says that answered.
    took_s
        Until its answer was complete, or known to be none.
    error
        The status or the class of what went wrong; empty if it was answered.
    """

    provider: str
    endpoint: str
    model: str
    host: str
    took_s: float
    answered_by: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    error: str = ""


class Watch:
    """The instruments of one process."""

    def __init__(self) -> None:
        from opentelemetry import metrics, trace

        self._trace = trace
        self._tracer = trace.get_tracer("nbckpt", __version__)
        meter = metrics.get_meter("nbckpt", __version__)
        self._kept = meter.create_counter(
            "nbckpt.checkpoints", "{checkpoint}", "Checkpoints that are durable"
        )
        self._restores = meter.create_counter(
            "nbckpt.restores", "{restore}", "Namespaces and cells that were brought back"
        )
        self._failures = meter.create_counter(
            "nbckpt.failures", "{failure}", "What could not be kept, restored or written"
        )
        self._replays = meter.create_counter(
            "nbckpt.replays", "{call}", "Model calls and kept calls answered from the store"
        )
        self._bytes = {
            "checkpoint": meter.create_counter(
                "nbckpt.checkpoint.size", "By", "New bytes of checkpoints"
            ),
            "restore": meter.create_counter(
                "nbckpt.restore.size", "By", "Bytes of what was brought back"
            ),
        }
        self._durations = {
            "checkpoint": meter.create_histogram(
                "nbckpt.checkpoint.duration", "s", "How long a checkpoint held its cell"
            ),
            "restore": meter.create_histogram(
                "nbckpt.restore.duration", "s", "How long it took to bring values back"
            ),
        }
        meter.create_observable_gauge(
            "nbckpt.unwritten", [_observed], "By", "Bytes that wait for the disk"
        )
        self._calls = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )

    def take(
        self, event: str, area: str, outcome: str, members: Mapping[str, Any], context: object
    ) -> None:
        """Count an event, and tell how long it took."""
        took_s, size = members.get("took_s"), members.get("size_bytes", 0)
        labels = {"nbckpt.event": event, "nbckpt.outcome": outcome}
        if event == "kept":
            self._kept.add(1, labels)
        elif area == "restore" and outcome != "failed":
            self._restores.add(1, labels)
        if outcome == "failed" and area != "cell":
            self._failures.add(1, labels)
        if replayed := members.get("replayed", 0) + members.get("calls_replayed", 0):
            self._replays.add(replayed)
        if area in self._bytes and outcome != "failed":
            self._bytes[area].add(size, labels)
            self._durations[area].record(took_s or 0.0, labels)
        name = _SPANS.get(event, _RESTORED if area == "restore" else "")
        if name:
            attributes = {
                **labels,
                "nbckpt.checkpoint.id": members.get("checkpoint", ""),
                "nbckpt.checkpoint.name": members.get("name", ""),
                "nbckpt.session": members.get("session", ""),
                "nbckpt.size": size,
            }
            error = str(members.get("type", event)) if outcome == "failed" else ""
            self._span(name, took_s or 0.0, attributes, error, context)

    def take_call(self, call: ModelCall) -> None:
        """Tell of a model call, under the names of the semantic conventions."""
        operation = _OPERATIONS.get(call.endpoint, call.endpoint)
        if operation == "generate":
            operation = "text_completion" if call.provider == "ollama" else "generate_content"
        labels: dict[str, Any] = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": call.provider,
            "gen_ai.request.model": call.model,
            "server.address": call.host,
        }
        if call.answered_by:
            labels["gen_ai.response.model"] = call.answered_by
        if call.error:
            labels["error.type"] = call.error
        self._calls.record(call.took_s, labels)
        attributes = dict(labels)
        for way, tokens in (("input", call.tokens_in), ("output", call.tokens_out)):
            if tokens is not None:
                self._tokens.record(tokens, {**labels, "gen_ai.token.type": way})
                attributes[f"gen_ai.usage.{way}_tokens"] = tokens
        client = self._trace.SpanKind.CLIENT
        self._span(f"{operation} {call.model}", call.took_s, attributes, call.error, kind=client)

    def _span(
        self,
        name: str,
        took_s: float,
        attributes: Mapping[str, Any],
        error: str = "",
        context: Any = None,
        kind: Any = None,
    ) -> None:
        now = time.time_ns()
        began = now - int(took_s * 1e9)
        kind = kind or self._trace.SpanKind.INTERNAL
        span = self._tracer.start_span(
            name, context, kind=kind, attributes=dict(attributes), start_time=began
        )
        if error:
            span.set_attribute("error.type", error)
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(now)


class _State:
    """Choice, watch and stores of the process."""

    choice: ClassVar[Choice] = "auto"
    watch: ClassVar[Watch | None] = None
    stores: ClassVar[WeakSet[Waits]] = WeakSet()


def choose(choice: str) -> str:
    """Tell of what happens from now on ``on``, ``off`` or ``auto``: where the API is loaded.

    Returns
    -------
    str
        What is in the way of that, for the user; empty if nothing is.
    """
    _State.choice = "off" if choice == "off" else "on" if choice == "on" else "auto"
    if choice != "on":
        return ""
    try:
        import opentelemetry.metrics
        import opentelemetry.trace  # noqa: F401  # to have it there
    except ImportError:
        _State.choice = "off"
        return MISSING
    return ""


def watching() -> Watch | None:
    """The instruments; None if nobody uses OpenTelemetry here, which costs a look to find out."""
    if _State.choice == "off":
        return None
    if _State.watch is None and all(name in sys.modules for name in API):
        with harmless():  # it may be half imported
            _State.watch = Watch()
    return _State.watch


@contextmanager
def harmless() -> Iterator[None]:
    """Tell no more of anything once an exporter raised in the block: what happened, happened."""
    try:
        yield
    except Exception as problem:  # whatever it is, the user's cell goes on
        choose("off")
        text = "telemetry is off now: it raised %s"
        logging.getLogger("nbckpt").warning(text, type(problem).__name__)


def context() -> object:
    """Where a span that is told of later belongs; None if nobody asks."""
    if watching() is None:
        return None
    return sys.modules["opentelemetry.context"].get_current()


def measure(store: Waits) -> None:
    """Have the bytes of a store that wait for the disk measured as long as it lives."""
    _State.stores.add(store)


def _observed(_: object) -> Iterable[Any]:
    from opentelemetry.metrics import Observation

    return [Observation(sum(store.unwritten_bytes for store in list(_State.stores)))]
