"""Kinds of settings: for each its accepted texts, the value that they mean, and its effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from nbckpt.config import auto_policy
from nbckpt.config.amounts import bytes_of, count_of, seconds_of
from nbckpt.config.budget_rule import SPANS, budget_of

_DAY_S = 86400
_KEY_SOURCE = re.compile(r"(off|file:.+|env:[A-Za-z_]\w*|keyring(:.+)?)\Z")


class Kind(NamedTuple):
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
    from nbckpt.config.model_prices import rates_of

    rates_of(text)
    return text


def _budget(text: str) -> str:
    return str(budget_of(text) or "")


def _hosts(text: str) -> str:
    from nbckpt.config.record_hosts import hosts_of

    hosts_of(text)
    return text


def _fields(text: str) -> str:
    from nbckpt.config.record_hosts import fields_of

    fields_of(text)
    return text


_ASKED = frozenset(
    [
        "contents",
        "input",
        "inputs",
        "instructions",
        "messages",
        "model",
        "prompt",
        "stream",
        "system",
    ]
)
"""Members of a request that say what is asked, of whom, and in which form the answer comes."""


def _ignored_fields(text: str) -> str:
    from nbckpt.config.record_hosts import fields_of

    if told := _ASKED & fields_of(text):
        raise ValueError(min(told))
    return text


def _wait_or_fail(text: str) -> str:
    return _one_of(text, "wait", "fail")


def _auto_on_or_off(text: str) -> str:
    return _one_of(text, "auto", "on", "off")


def _on_or_off(text: str) -> str:
    return _one_of(text, "on", "off")


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


STORE_KINDS = {
    "patience_s": Kind(
        _seconds, "a number of seconds, or 0", "how long a checkpoint cell waits for the disk"
    ),
    "track_share": Kind(
        _share, "a number from 0 to 1", "share of a loop's time that keeping its progress may take"
    ),
    "capture_timeout_s": Kind(
        _some_seconds, "a number of seconds above 0, or none",
        "how long one value may take to be written; one that takes longer is left out",
    ),
    "idle_s": Kind(
        _seconds, "a number of seconds, or 0", "how long no cell ran before work is kept; 0: never"
    ),
    "retention_count": Kind(
        count_of, "a number of checkpoints, 1 or more", "how many of the newest ones are kept"
    ),
    "retention_days": Kind(
        _days, "a number of days, such as 30", "how old checkpoints may become, in days"
    ),
    "max_size": Kind(
        bytes_of, "a size, such as 2GB", "bytes of the store above which old checkpoints are pruned"
    ),
    "max_value_size": Kind(
        _some_bytes, "a size of 1 byte or more, such as 500MB, or none",
        "bytes of a variable above which it is left out",
    ),
    "max_store_size": Kind(
        _some_bytes, "a size of 1 byte or more, such as 20GB, or none",
        "bytes of the store above which nothing more is kept; max_size prunes before",
    ),
    "max_background_memory": Kind(
        bytes_of, "a size, such as 64MB, or 0", "bytes of copies that may wait for the disk"
    ),
    "retention_recordings": Kind(
        _days, "a number of days, or 0", "how long calls of steps without a checkpoint are kept"
    ),
    "auto": Kind(_policy, f"a policy: {auto_policy.USAGE}", "what `%load_ext nbckpt` begins with"),
    "prices": Kind(
        _prices, "MODEL=IN/OUT, …", "prices of models in US dollars per million tokens in/out"
    ),
    "budget": Kind(
        _budget, f"USD per {' or '.join(SPANS)}, with `unknown USD` for calls without a price",
        "what model calls may cost, as `%nbckpt budget` sets it",
    ),
    "stream_usage": Kind(
        _on_or_off, "on or off",
        "whether a stream of OpenAI's kind is asked for its tokens where its caller does not",
    ),
    "record_hosts": Kind(
        _hosts, "HOST[:PORT][/PATH][=PROVIDER], …", "hosts whose every call is recorded in steps"
    ),
    "match_ignore": Kind(
        _ignored_fields,
        "FIELD, …, as `trace_id` or `extra.trace_id`, and none that says what is asked"
        " (model, messages, input, stream, …)",
        "members of requests to models that do not count when a recorded answer is looked for",
    ),
    "secret_fields": Kind(
        _fields, "FIELD, …", "fields of requests to models that are never written"
    ),
    "approvals": Kind(
        _wait_or_fail, "wait or fail", "what `nbckpt.approve` does where nobody has answered yet"
    ),
    "telemetry": Kind(
        _auto_on_or_off, "auto, on or off", "whether OpenTelemetry is told of what happens"
    ),
    "verify": Kind(
        _off_on_or_raise, "off, on or raise",
        "whether each look and restore is done over, slowly, and compared",
    ),
}  # fmt: skip

ENVIRONMENT_KINDS = {
    "encryption": Kind(
        _key_source,
        "off, file:PATH, env:NAME, keyring or keyring:NAME",
        "where the key is that new stores are encrypted with",
    ),
}
"""Settings that a store cannot have, because nobody who only opens it shall heed them."""


NAMES = tuple(STORE_KINDS)
"""The settings that a store's `config.json` may have."""

OF_ANYBODY = frozenset(
    {"patience_s", "track_share", "idle_s", "max_background_memory", "approvals", "secret_fields"}
)
"""Settings that count whoever wrote them. All others delete, keep or leave out what is there, say
what money counts for, or where what is told goes."""
