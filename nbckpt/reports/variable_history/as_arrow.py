"""A variable's history as an Arrow table, for SQL."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa

from nbckpt.reports.variable_history.points import BYTES

if TYPE_CHECKING:
    from nbckpt.reports.variable_history.history import VariableHistory
    from nbckpt.reports.variable_history.points import Point

SCHEMA = pa.schema(
    [
        ("checkpoint", pa.string()),
        ("step", pa.string()),
        ("branch", pa.string()),
        ("created_at", pa.timestamp("us")),  # UTC, as in the views
        ("change", pa.string()),
        ("type_name", pa.string()),
        ("shape", pa.string()),
        ("size_bytes", pa.int64()),
        ("preview", pa.string()),
        ("number", pa.float64()),
        ("measure", pa.string()),
        ("rows", pa.int64()),
        ("columns", pa.int64()),
        ("nulls", pa.int64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("means", pa.map_(pa.string(), pa.float64())),
        ("difference", pa.string()),
        ("why", pa.list_(pa.string())),
        ("code", pa.list_(pa.string())),
    ]
)


def table_of(history: VariableHistory) -> pa.Table:
    """A row for each point, newest first."""
    return pa.Table.from_pylist([_row(point) for point in history], schema=SCHEMA)


def _row(point: Point) -> dict[str, object]:
    record, facts = point.as_record(), point.facts
    at = dt.datetime.fromtimestamp(point.created_at, dt.UTC).replace(tzinfo=None)
    told: dict[str, object] = {"rows": facts.rows, "columns": facts.columns, "nulls": facts.nulls}
    told |= {"low": facts.low, "high": facts.high, "means": list(facts.means.items())}
    measure = facts.measure or (BYTES if point.variable is not None else None)
    return {**record, "created_at": at, "measure": measure, **told}
