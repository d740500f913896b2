"""The views that SQL sees, as Arrow tables made of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from nbckpt.fingerprint import random_generators
from nbckpt.model import Checkpoint, Variable, size_of_all
from nbckpt.storage.arrow_columns import arrow_column
from nbckpt.storage.journal_lines import whole
from nbckpt.storage.store import Store
from nbckpt.timeline.approvals import APPROVAL, Questions
from nbckpt.timeline.events import outcome_of
from nbckpt.timeline.later_prices import (
    PRICE,
    Paid,
    Prices,
    paid_for,
    prices_in,
)
from nbckpt.timeline.recordings import RECORDING
from nbckpt.timeline.timeline import Timeline

if TYPE_CHECKING:
    import pyarrow as pa

Row: TypeAlias = Mapping[str, object]
Rows: TypeAlias = Iterable[Row]
EVENT_COLUMNS = frozenset(
    {"kind", "at", "event", "checkpoint", "name", "session", "took_s", "saved_s"}
    | {"outcome", "size_bytes", "left_out", "untrusted"}
)

# Column → DuckDB type. Times are UTC without a zone: a zone would need pytz to reach Python.
COLUMNS: dict[str, dict[str, str]] = {
    "checkpoints": {
        "id": "varchar",
        "parent": "varchar",
        "name": "varchar",
        "branch": "varchar",
        "notebook": "varchar",
        "session": "varchar",
        "state": "varchar",
        "created_at": "timestamp",
        "duration_s": "double",
        "source": "varchar",
        "execution_count": "bigint",
        "cell_id": "varchar",
        "key": "varchar",
        "n_changed": "bigint",
        "size_bytes": "bigint",
        "tags": "varchar[]",
        "note": "varchar",
        "error": "varchar",
    },
    "variables": {
        "checkpoint": "varchar",
        "checkpoint_name": "varchar",
        "name": "varchar",
        "type_name": "varchar",
        "shape": "varchar",
        "size_bytes": "bigint",
        "preview": "varchar",
        "value": "varchar",
        "blob": "varchar",
        "recipe": "boolean",
    },
    "branches": {"name": "varchar", "head": "varchar"},
    "events": {
        "at": "timestamp",
        "event": "varchar",
        "checkpoint": "varchar",
        "name": "varchar",
        "session": "varchar",
        "outcome": "varchar",
        "duration_s": "double",
        "took_s": "double",
        "saved_s": "double",
        "size_bytes": "bigint",
        "left_out": "varchar[]",
        "detail": "varchar",
    },
    "recordings": {
        "id": "varchar",
        "checkpoint": "varchar",
        "step": "varchar",
        "provider": "varchar",
        "model": "varchar",
        "endpoint": "varchar",
        "request": "varchar",
        "occurrence": "bigint",
        "summary": "varchar",
        "state": "varchar",
        "status": "bigint",
        "streamed": "boolean",
        "input_tokens": "bigint",
        "output_tokens": "bigint",
        "cached_tokens": "bigint",
        "reasoning_tokens": "bigint",
        "cost_usd": "double",
        "price": "varchar",
        "duration_s": "double",
        "first_byte_s": "double",
        "size_bytes": "bigint",
        "created_at": "timestamp",
        "cell_id": "varchar",
        "session": "varchar",
        "branch": "varchar",
        "url": "varchar",
        "tags": "varchar[]",
    },
    "prices": {
        "recording": "varchar",
        "cost_usd": "double",
        "price": "varchar",
        "priced_at": "timestamp",
    },
    "steps": {
        "checkpoint": "varchar",
        "step": "varchar",
        "name": "varchar",
        "key": "varchar",
        "occurrence": "bigint",
        "state": "varchar",
        "attempts": "bigint",
        "duration_s": "double",
        "size_bytes": "bigint",
        "created_at": "timestamp",
        "error": "varchar",
    },
    "approvals": {
        "id": "varchar",
        "checkpoint": "varchar",
        "step": "varchar",
        "question": "varchar",
        "preview": "varchar",
        "request": "varchar",
        "occurrence": "bigint",
        "state": "varchar",
        "text": "varchar",
        "answered_by": "varchar",
        "host": "varchar",
        "through": "varchar",
        "asked_at": "timestamp",
        "answered_at": "timestamp",
        "cell_id": "varchar",
        "session": "varchar",
        "branch": "varchar",
        "notebook": "varchar",
    },
}


def arrow_view(view: str, store: Store, timeline: Timeline) -> pa.Table:
    """The rows of a view, shape (n_rows, n_columns of `COLUMNS`)."""
    import pyarrow as pa

    rows = list(_ROWS[view](store, timeline))
    return pa.table(
        {
            name: arrow_column([row.get(name) for row in rows], kind)
            for name, kind in COLUMNS[view].items()
        }
    )


def _checkpoints(_store: Store, timeline: Timeline) -> Rows:
    for checkpoint in timeline.checkpoints.values():
        changed = _users(checkpoint)
        yield {
            "id": checkpoint.id,
            "parent": checkpoint.parent,
            "name": checkpoint.name,
            "branch": checkpoint.branch,
            "notebook": checkpoint.notebook,
            "session": checkpoint.session,
            "state": checkpoint.state,
            "created_at": checkpoint.created_at,
            "duration_s": checkpoint.duration_s,
            "source": checkpoint.cell.source,
            "execution_count": checkpoint.cell.execution_count,
            "cell_id": checkpoint.cell.cell_id,
            "key": checkpoint.key.digest if checkpoint.key else None,
            "n_changed": len(changed),
            "size_bytes": size_of_all(changed),
            "tags": list(checkpoint.tags),
            "note": checkpoint.note,
            "error": checkpoint.error,
        }


def _variables(_store: Store, timeline: Timeline) -> Rows:
    for checkpoint in timeline.checkpoints.values():
        for variable in _users(checkpoint):
            yield {
                "checkpoint": checkpoint.id,
                "checkpoint_name": checkpoint.name,
                **{name: getattr(variable, name) for name in _OF_A_VARIABLE},
            }


def _users(checkpoint: Checkpoint) -> list[Variable]:
    """The variables that it changed, without the states of random generators."""
    return [v for name, v in checkpoint.changed.items() if name not in random_generators.NAMES]


_OF_A_VARIABLE = tuple(COLUMNS["variables"])[2:]


def _branches(_store: Store, timeline: Timeline) -> Rows:
    return ({"name": name, "head": head} for name, head in timeline.branches.items())


def _events(store: Store, _timeline: Timeline) -> Rows:
    for record in map(whole, store.events):
        rest = {k: v for k, v in record.items() if k not in EVENT_COLUMNS}
        yield {
            **record,
            "outcome": outcome_of(record),
            "duration_s": record.get("took_s"),
            "detail": json.dumps(rest) if rest else None,
        }


def _recordings(store: Store, _timeline: Timeline) -> Rows:
    prices = prices_in(store.records(PRICE))
    for record in store.records(RECORDING):
        yield {
            **record,
            **paid_for(record, prices)._asdict(),
            "checkpoint": record["position"],
            "input_tokens": record.get("tokens_in"),
            "output_tokens": record.get("tokens_out"),
            "cached_tokens": record.get("tokens_cached"),
            "reasoning_tokens": record.get("tokens_reasoning"),
            "size_bytes": sum(record["sizes"]),
            "tags": record.get("tags", []),
        }


def _prices(store: Store, _timeline: Timeline) -> Rows:
    """Each price that a recording was given, the one that it was made with first."""
    for record in store.records(RECORDING):
        paid, at = paid_for(record, Prices()), record["created_at"]
        yield {"recording": record["id"], **paid._asdict(), "priced_at": at}
    for record in store.records(PRICE):
        for recording, cost in record["costs"].items():
            paid, at = Paid(cost, record["price"]), record["at"]
            yield {"recording": recording, **paid._asdict(), "priced_at": at}


def _steps(store: Store, _timeline: Timeline) -> Rows:
    for record in store.records("step"):
        key = f"{record.get('code', '')[:32]}{record.get('arguments', '')[:32]}"
        yield {**record, "key": key}


def _approvals(store: Store, _timeline: Timeline) -> Rows:
    for question in Questions(store.records(APPROVAL)).all.values():
        yield {
            **question._asdict(),
            "checkpoint": question.position,
            "answered_by": question.user or None,
        }


_ROWS: dict[str, Callable[[Store, Timeline], Rows]] = {
    "checkpoints": _checkpoints,
    "variables": _variables,
    "branches": _branches,
    "events": _events,
    "recordings": _recordings,
    "prices": _prices,
    "steps": _steps,
    "approvals": _approvals,
}
