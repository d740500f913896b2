"""Settings as they are asked for and set by people: the same for the magic and the command."""

from __future__ import annotations

from collections.abc import Sequence

from nbckpt.config.config_file import write_setting
from nbckpt.config.settings import Row, Settings, table
from nbckpt.config.settings_sources import settings_of
from nbckpt.errors import UsageError
from nbckpt.storage.store import Store
from nbckpt.text.tables import Column, table_text

DEFAULT = "default"
"""The value that forgets a setting."""
NONE = "none"
"""Text shown for a setting that has no value."""

_COLUMNS = (Column("setting"), Column("value"), Column("from"), Column("meaning"))


def configured(store: Store, name: str | None, value: str) -> list[Row]:
    """The settings of a store, after `value` was given to `name` if there is one.

    Parameters
    ----------
    name
        Of the only setting that is asked for or set; empty for all.
    value
        As typed; empty changes nothing, and ``default`` forgets what was set, as does ``none``
        where that is the default.

    Raises
    ------
    UsageError
        If there is no such setting, or it cannot have this value.
    StoreError
        If the disk refuses.
    """
    if name and value:
        write_setting(store, name, "" if value in _forgetting(name) else value)
    rows = table(settings_of(store))
    if not name:
        return rows
    found = [row for row in rows if row.name == name]
    if not found:
        message = f"{name}: there is no such setting; there are {', '.join(r.name for r in rows)}"
        raise UsageError(message)
    return found


def _forgetting(name: str) -> set[str]:
    """Texts that may be typed to give a setting its default."""
    defaults = {row.name: row.value for row in table(Settings())}
    return {DEFAULT, NONE} if defaults.get(name) == NONE else {DEFAULT}


def text_of(rows: Sequence[Row], *, width: int | None = None) -> str:
    """Settings, one a line: the value, where it comes from, and what it means."""
    return table_text(_COLUMNS, rows, width=width)
