"""The settings of nbckpt: their values and defaults; `settings_sources` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from nbckpt.config.setting_kinds import ENVIRONMENT_KINDS, NAMES, STORE_KINDS
from nbckpt.errors import UsageError
from nbckpt.text.escape import legible

FILE = "config.json"
BACKGROUND_BYTES = 192 * 1024 * 1024

PRUNED_BELOW = 0.9
"""Of `max_store_size`: there prunes by `max_size` begin, so that what is new still fits."""


def prune_size(settings: Settings) -> int | None:
    """The size above which prunes by `max_size` begin; None if there are none."""
    size, most = settings.max_size, settings.max_store_size
    return size if size is None or most is None else min(size, int(PRUNED_BELOW * most))


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings.

    Attributes
    ----------
    store
        Folder of the store; `.nbckpt` beside the notebook unless ``NBCKPT_STORE`` says otherwise.
    patience_s
        Seconds that a checkpoint cell waits for the disk before the writing goes on behind it.
        A checkpoint written within that time is durable when its cell ends.
    track_share
        Share of a loop's time that keeping its progress may take.
    capture_timeout_s
        Seconds that code of one value may take while it is looked at; a value that takes longer
        is left out. None: no limit.
    idle_s
        Seconds without a cell after which joined cells are kept, tables are written and what is
        kept is looked at again; 0 turns it off.
    retention_count, retention_days, max_size
        Automatic pruning: number of the newest checkpoints to keep, age in days to keep, and size
        of the store in bytes to stay within. None: nothing is pruned for that reason.
    max_value_size
        Bytes of a variable; one that is larger is left out of checkpoints. None: any.
    max_store_size
        Bytes of the store; a checkpoint that would make it larger is not kept, and prunes by
        `max_size` begin here at the latest. None: as many as the disk takes.
    max_background_memory
        Bytes of copies that may wait for the disk; any more are written while their cell is held.
    retention_recordings
        Days after which a prune removes calls of steps without a checkpoint. None: never.
    auto
        The policy with which a notebook begins, as `%nbckpt auto` takes it; empty is off.
    prices
        Prices of models, as `rates_of` reads them.
    budget
        What model calls may cost, as `budget_of` reads it; empty: no limit.
    stream_usage
        Whether a stream of OpenAI's kind is asked for its tokens where its caller does not: ``on``
        or ``off``.
    record_hosts
        Hosts all of whose calls are recorded in steps, as `hosts_of` reads them.
    match_ignore
        Members of requests that do not count when a recording is looked for, as `fields_of` reads
        them.
    secret_fields
        Names of fields of requests that are never written, as `fields_of` reads them.
    encryption
        Place of the key that a store is encrypted with: ``file:PATH``, ``env:NAME``, ``keyring``
        or ``keyring:NAME``; empty is off. Taken from the environment alone: the writer of a store
        must not choose the key that is looked for on its readers' machines.
    approvals
        Action of `nbckpt.approve` where there is no answer yet: ``wait``, or ``fail`` at once.
    telemetry
        Reports to OpenTelemetry: ``on``, ``off``, or ``auto``: on where the process uses it.
    verify
        Check after each look of all that is kept, and after each restore by running the step as
        well: ``off``, ``on``, or ``raise`` for an error where they differ. For tests: it takes
        many times as long.
    origins
        Name of each setting that is not the default → where it comes from.
    problems
        Entries of `config.json` that could not be read and were left out, one sentence each.
    """

    store: Path = Path(".nbckpt")
    patience_s: float = 1.0
    track_share: float = 0.2
    capture_timeout_s: float | None = 30.0
    idle_s: float = 5.0
    retention_count: int | None = None
    retention_days: float | None = None
    max_size: int | None = None
    max_value_size: int | None = None
    max_store_size: int | None = None
    max_background_memory: int = BACKGROUND_BYTES
    retention_recordings: float | None = None
    auto: str = ""
    prices: str = ""
    budget: str = ""
    stream_usage: str = "on"
    record_hosts: str = ""
    match_ignore: str = ""
    secret_fields: str = ""
    approvals: str = "wait"
    telemetry: str = "auto"
    verify: str = "off"
    encryption: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class Row(NamedTuple):
    """One setting, for people."""

    name: str
    value: str
    origin: str
    meaning: str


def variable_of(name: str) -> str:
    """The environment's name of a setting."""
    return f"NBCKPT_{name.upper()}"


def table(settings: Settings) -> list[Row]:
    """Every setting: its value, where that comes from, and what it means."""
    kinds = {**STORE_KINDS, **ENVIRONMENT_KINDS}
    names = {"store": "where checkpoints are", **{n: k.meaning for n, k in kinds.items()}}
    return [
        Row(name, _shown(name, settings), settings.origins.get(name, "default"), meaning)
        for name, meaning in names.items()
    ]


def _shown(name: str, settings: Settings) -> str:
    value = getattr(settings, name)
    if value in (None, ""):
        return "off" if name in ("auto", "encryption") else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_setting(settings: Settings, name: str, text: str, origin: str) -> Settings:
    """`settings` with one more; `origin` is what the message of an error names."""
    where = origin if origin != FILE else f"{FILE}: {name}"
    kind = STORE_KINDS.get(name)
    if kind is None and origin != FILE:
        kind = ENVIRONMENT_KINDS.get(name)
    if kind is None:
        message = f"{legible(where)} is no setting; there are {', '.join(NAMES)}"
        raise UsageError(message)
    try:
        value = kind.read(text)
    except (ValueError, UsageError) as error:
        message = f"{where} is {text!r}; it is {kind.what}"
        raise UsageError(message) from error
    return replace(settings, **{name: value}, origins={**settings.origins, name: origin})  # type: ignore[arg-type]
