"""Settings: read once from the environment and the store's `config.json`, then passed down.

Of two that are given, the environment's wins.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from nbckpt.config import auto_policy
from nbckpt.config.amounts import bytes_of, count_of, seconds_of
from nbckpt.config.model_prices import rates_of
from nbckpt.config.record_hosts import fields_of, hosts_of
from nbckpt.digests import digest_of_json
from nbckpt.errors import TRUST_IT, StoreError, UntrustedError, UsageError
from nbckpt.text.escape import legible

STORE_VARIABLE = "NBCKPT_STORE"
VERIFY_LOG_VARIABLE = "NBCKPT_VERIFY_LOG"
FILE = "config.json"
SUM = "sum"
SUM_DIGITS = 16
BACKGROUND_BYTES = 192 * 1024 * 1024
_DAY_S = 86400
_KEY_SOURCE = re.compile(r"(off|file:.+|env:[A-Za-z_]\w*|keyring(:.+)?)\Z")


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
    record_hosts
        Hosts all of whose calls are recorded in steps, as `hosts_of` reads them.
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
    record_hosts: str = ""
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


class _Kind(NamedTuple):
    """Format and meaning of a setting.

    Attributes
    ----------
    read
        Its value from a text; raises `ValueError` or `UsageError`.
    what
        Description of the texts that it accepts.
    meaning
        Description of its effect, for people.
    """

    read: Callable[[str], object]
    what: str
    meaning: str


class KeepsConfig(Protocol):
    """A store, which alone touches its `config.json`."""

    @property
    def cipher(self) -> object | None:
        """Cipher that the store is encrypted with; None if it is plain."""

    def config_text(self) -> str | None:
        """Content of the file; None if there is none."""

    def is_own_config(self, text: str) -> bool:
        """True if this user has written it, or vouched for it."""

    def write_config(self, text: str) -> None:
        """Replace the file as a whole."""


def _seconds(text: str) -> float:
    return _at_least(0, seconds_of(text, default_unit="s"))


def _some_seconds(text: str) -> float | None:
    """A time, or None; not 0, in which nothing could be written."""
    seconds = None if text == "none" else _seconds(text)
    if seconds == 0:
        raise ValueError
    return seconds


def _days(text: str) -> float:
    return _at_least(0, seconds_of(text, default_unit="d") / _DAY_S)


def _share(text: str) -> float:
    share = _at_least(0, float(text))
    if share > 1:
        raise ValueError
    return share


def _policy(text: str) -> str:
    return str(auto_policy.parse(text))


def _prices(text: str) -> str:
    rates_of(text)
    return text


def _hosts(text: str) -> str:
    hosts_of(text)
    return text


def _fields(text: str) -> str:
    fields_of(text)
    return text


def _wait_or_fail(text: str) -> str:
    return _one_of(text, "wait", "fail")


def _auto_on_or_off(text: str) -> str:
    return _one_of(text, "auto", "on", "off")


def _off_on_or_raise(text: str) -> str:
    return _one_of({"0": "off", "1": "on"}.get(text, text), "off", "on", "raise")


def _one_of(text: str, *words: str) -> str:
    if text not in words:
        raise ValueError
    return text


def _some_bytes(text: str) -> int | None:
    """A size, or None; not 0: that might mean that there is no limit, or that nothing fits."""
    return None if text == "none" else int(_at_least(1, bytes_of(text)))


def _key_source(text: str) -> str:
    if not _KEY_SOURCE.match(text):
        raise ValueError
    return "" if text == "off" else text


def _at_least(least: float, number: float) -> float:
    if not least <= number < float("inf"):
        raise ValueError
    return number


_KINDS = {
    "patience_s": _Kind(
        _seconds, "a number of seconds, or 0", "how long a checkpoint cell waits for the disk"
    ),
    "track_share": _Kind(
        _share, "a number from 0 to 1", "share of a loop's time that keeping its progress may take"
    ),
    "capture_timeout_s": _Kind(
        _some_seconds, "a number of seconds above 0, or none",
        "how long one value may take to be written; one that takes longer is left out",
    ),
    "idle_s": _Kind(
        _seconds, "a number of seconds, or 0", "how long no cell ran before work is kept; 0: never"
    ),
    "retention_count": _Kind(
        count_of, "a number of checkpoints, 1 or more", "how many of the newest ones are kept"
    ),
    "retention_days": _Kind(
        _days, "a number of days, such as 30", "how old checkpoints may become, in days"
    ),
    "max_size": _Kind(
        bytes_of, "a size, such as 2GB", "bytes of the store above which old checkpoints are pruned"
    ),
    "max_value_size": _Kind(
        _some_bytes, "a size of 1 byte or more, such as 500MB, or none",
        "bytes of a variable above which it is left out",
    ),
    "max_store_size": _Kind(
        _some_bytes, "a size of 1 byte or more, such as 20GB, or none",
        "bytes of the store above which nothing more is kept; max_size prunes before",
    ),
    "max_background_memory": _Kind(
        bytes_of, "a size, such as 64MB, or 0", "bytes of copies that may wait for the disk"
    ),
    "retention_recordings": _Kind(
        _days, "a number of days, or 0", "how long calls of steps without a checkpoint are kept"
    ),
    "auto": _Kind(_policy, f"a policy: {auto_policy.USAGE}", "what `%load_ext nbckpt` begins with"),
    "prices": _Kind(
        _prices, "MODEL=IN/OUT, …", "prices of models in US dollars per million tokens in/out"
    ),
    "record_hosts": _Kind(
        _hosts, "HOST[:PORT][/PATH][=PROVIDER], …", "hosts whose every call is recorded in steps"
    ),
    "secret_fields": _Kind(
        _fields, "FIELD, …", "fields of requests to models that are never written"
    ),
    "approvals": _Kind(
        _wait_or_fail, "wait or fail", "what `nbckpt.approve` does where nobody has answered yet"
    ),
    "telemetry": _Kind(
        _auto_on_or_off, "auto, on or off", "whether OpenTelemetry is told of what happens"
    ),
    "verify": _Kind(
        _off_on_or_raise, "off, on or raise",
        "whether each look and restore is done over, slowly, and compared",
    ),
}  # fmt: skip

PRUNED_BELOW = 0.9
"""Of `max_store_size`: there prunes by `max_size` begin, so that what is new still fits."""


def prune_size(settings: Settings) -> int | None:
    """The size above which prunes by `max_size` begin; None if there are none."""
    size, most = settings.max_size, settings.max_store_size
    return size if size is None or most is None else min(size, int(PRUNED_BELOW * most))


NAMES = tuple(_KINDS)
"""The settings that a store's `config.json` may have."""

OF_ANYBODY = frozenset(
    {"patience_s", "track_share", "idle_s", "max_background_memory", "approvals", "secret_fields"}
)
"""Settings that count whoever wrote them. All others delete, keep or leave out what is there, say
what money counts for, or where what is told goes."""

_OF_THE_ENVIRONMENT = {
    "encryption": _Kind(
        _key_source,
        "off, file:PATH, env:NAME, keyring or keyring:NAME",
        "where the key is that new stores are encrypted with",
    ),
}
"""Settings that a store cannot have, because nobody who only opens it shall heed them."""


def variable_of(name: str) -> str:
    """The environment's name of a setting."""
    return f"NBCKPT_{name.upper()}"


def settings_from(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that the environment asks for.

    Raises
    ------
    UsageError
        If a variable holds what it cannot mean.
    """
    settings = Settings()
    if store := environ.get(STORE_VARIABLE):
        origins = {"store": STORE_VARIABLE}
        settings = replace(settings, store=Path(store).expanduser(), origins=origins)
    for name in (*NAMES, *_OF_THE_ENVIRONMENT):
        if text := environ.get(variable_of(name)):
            settings = _with(settings, name, text, variable_of(name))
    return settings


def verify_log(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file that differences are written to which the setting `verify` finds; None: to none."""
    path = environ.get(VERIFY_LOG_VARIABLE)
    return Path(path) if path else None


def encryption_from(environ: Mapping[str, str] = os.environ) -> str:
    """The setting `encryption`, as the environment has it.

    Raises
    ------
    UsageError
        If it cannot be that.
    """
    name = "encryption"
    text = environ.get(variable_of(name))
    return _with(Settings(), name, text, variable_of(name)).encryption if text else ""


def key_in_environment(variable: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Value of an environment variable that the setting `encryption` names; None if unset."""
    return environ.get(variable)


def with_stored(settings: Settings, stored: str | None, *, trusted: bool = True) -> Settings:
    """`settings` with what a store's `config.json` says where the environment is silent.

    Whoever edits the file by hand errs now and then: what cannot be read is left out, and
    `problems` says so.

    Parameters
    ----------
    stored
        Text of the file; None if there is none.
    trusted
        Whether the user wrote it, or vouched for it; else only what is `OF_ANYBODY` counts.
    """
    try:
        members = _members(stored)
    except UsageError as problem:
        return replace(settings, problems=(*settings.problems, str(problem)))
    if not trusted and (names := _doubted(members)):
        members = {name: value for name, value in members.items() if name not in names}
        do = "does" if len(names) == 1 else "do"
        message = (
            f"{FILE} was not written by you, or by hand: {', '.join(names)} in it {do} not count:"
            f" {TRUST_IT}"
        )
        settings = replace(settings, problems=(*settings.problems, message))
    for name, value in members.items():
        if name in settings.origins:
            continue
        try:
            settings = _with(settings, name, _text_of(value), FILE)
        except UsageError as problem:
            message = f"{problem}; it is left out"
            settings = replace(settings, problems=(*settings.problems, message))
    return settings


def settings_of(store: KeepsConfig, settings: Settings | None = None) -> Settings:
    """The settings that hold for a store: the environment's, then the store's own."""
    settings = settings or settings_from()
    if settings.encryption and store.cipher is None:
        message = (
            f"{variable_of('encryption')} is set, and this store is not encrypted: `nbckpt rekey`,"
            " with no kernel on it, encrypts it"
        )
        settings = replace(settings, problems=(*settings.problems, message))
    try:
        stored = store.config_text()
    except StoreError as problem:  # the store itself may be well
        return replace(settings, problems=(*settings.problems, str(problem)))
    return with_stored(settings, stored, trusted=stored is None or store.is_own_config(stored))


def doubted_in(store: KeepsConfig) -> tuple[str, ...]:
    """Settings in the `config.json` of a store that do not count, each as `name=value`."""
    try:
        stored = store.config_text()
        members = {} if stored is None or store.is_own_config(stored) else _members(stored)
    except (StoreError, UsageError):  # then nothing of it counts
        return ()
    return tuple(f"{name}={_text_of(members[name])}" for name in _doubted(members))


def _doubted(members: Mapping[str, object]) -> list[str]:
    return [name for name in members if name in _KINDS and name not in OF_ANYBODY]


def write_setting(store: KeepsConfig, name: str, text: str) -> None:
    """Have the store remember a setting for all who open it; an empty `text` forgets it.

    Raises
    ------
    UsageError
        If there is no such setting, it cannot be `text`, or `config.json` is damaged.
    UntrustedError
        If that has settings of somebody else's, which would count as the user's own then.
    StoreError
        If the disk refuses.
    """
    if name in _OF_THE_ENVIRONMENT:
        message = (
            f"{name} is no setting of a store: set {variable_of(name)}, and for a store that is"
            " there `nbckpt rekey`"
        )
        raise UsageError(message)
    if name not in _KINDS:
        message = f"{name}: there is no such setting; there are {', '.join(NAMES)}"
        raise UsageError(message)
    if doubted := doubted_in(store):
        message = (
            f"{name}: {FILE} was not written by you, or by hand, and says {', '.join(doubted)}:"
            f" {TRUST_IT}; or delete the file"
        )
        raise UntrustedError(message)
    members = _members(store.config_text())
    members.pop(name, None)
    if text.strip():
        _with(Settings(), name, text, name)
        members[name] = _number_or_text(text.strip())
    store.write_config(json.dumps({**members, SUM: _sum_of(members)}, indent=2) + "\n")


def table(settings: Settings) -> list[Row]:
    """Every setting: its value, where that comes from, and what it means."""
    kinds = {**_KINDS, **_OF_THE_ENVIRONMENT}
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


def _with(settings: Settings, name: str, text: str, origin: str) -> Settings:
    """`settings` with one more; `origin` is what the message of an error names."""
    where = origin if origin != FILE else f"{FILE}: {name}"
    kind = _KINDS.get(name)
    if kind is None and origin != FILE:
        kind = _OF_THE_ENVIRONMENT.get(name)
    if kind is None:
        message = f"{legible(where)} is no setting; there are {', '.join(NAMES)}"
        raise UsageError(message)
    try:
        value = kind.read(text)
    except (ValueError, UsageError) as error:
        message = f"{where} is {text!r}; it is {kind.what}"
        raise UsageError(message) from error
    return replace(settings, **{name: value}, origins={**settings.origins, name: origin})  # type: ignore[arg-type]


def _sum_of(members: dict[str, object]) -> str:
    return digest_of_json(members)[:SUM_DIGITS]  # type: ignore[arg-type]  # it came from JSON


def _members(stored: str | None) -> dict[str, object]:
    """The members of the file; one with a sum is as it was written, or it does not count."""
    if stored is None:
        return {}
    try:
        members = json.loads(stored)
    except ValueError as error:
        message = f"{FILE} cannot be read, and nothing of it counts: {error}"
        raise UsageError(message) from error
    if not isinstance(members, dict):
        message = f'{FILE} cannot be read, and nothing of it counts: write {{"auto": "on"}}'
        raise UsageError(message)
    if (own := members.pop(SUM, None)) is not None and own != _sum_of(members):
        message = (
            f"{FILE} is damaged, or was edited by hand, and nothing of it counts: take its"
            f" {SUM!r} away if all in it is as it should be"
        )
        raise UsageError(message)
    return members


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _number_or_text(text: str) -> object:
    """The JSON value of a setting: a number where it is written as one."""
    try:
        number = json.loads(text)
    except ValueError:
        return text
    return number if type(number) in {int, float} else text
