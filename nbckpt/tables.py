"""Tables of a checkpoint as Parquet: for SQL, for people, for other readers. In the background.

The job reads the blob back instead of looking at the live frame, which the next cell may change.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from functools import partial

from nbckpt.codecs.loading import Loading, decode
from nbckpt.digests import Digest
from nbckpt.errors import NotFoundError, RestoreError
from nbckpt.model import Checkpoint, Record, Variable
from nbckpt.storage.store import Store

_TABLES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "Table"}


def is_table(value: object) -> bool:
    """Whether `value` is a data frame or an Arrow table; asks without importing anything."""
    for package, name in _TABLES.items():
        kind = getattr(sys.modules.get(package), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return True
    return False


class TableKeeper:
    """Has the tables of new checkpoints written as Parquet, each value once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._begun: set[Digest] = set()

    def keep(self, checkpoint: Checkpoint, namespace: Mapping[str, object]) -> None:
        """Have the tables among the changed variables written, behind the user's back."""
        for name, variable in checkpoint.changed.items():
            if variable.value in self._begun or not is_table(namespace.get(name)):
                continue
            self._begun.add(variable.value)
            if not self._store.has_table(variable.value):
                self._store.in_background(partial(_keep_table, self._store, variable))


def _keep_table(store: Store, variable: Variable) -> None:
    values = decode(store.get_blob(variable.blob), Loading({}, _refuse))
    info = store.put_table(variable.value, variable.name, values[variable.name])
    record: Record = {"kind": "table", "value": variable.value, "name": variable.name}
    store.append([{**record, "at": time.time(), **info}])


def _refuse(name: str) -> object:
    message = f"a table that needs {name!r} has no Parquet form"
    raise RestoreError(message) from NotFoundError(name)
