"""Variables of the environment that code reads by a name that stands in it, or in what it reads.

Nothing tells when a variable is read, as something does of a file: what the code names counts. What
is private is left out, since a key that was replaced makes no other result; so are variables that
terminals and kernels set for themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from nbckpt.capture.observation.process_state.environment import is_of_others
from nbckpt.digests import Json, digest_of
from nbckpt.text.secret_texts import is_private

READERS = frozenset({"environ", "environb", "getenv", "getenvb"})
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,100}")
"""Of what may be asked for and not be there."""
_PLACES = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP", "TMPDIR", "USER"})
"""Variables that are others for each person and terminal, and that code extends."""


_latest: tuple[Mapping[Any, Any], Mapping[str, str]] = ({}, {})


def environment() -> Mapping[str, str]:
    """The environment as it is now, copied where it is another than at the last look."""
    global _latest  # noqa: PLW0603  # each step and each kept call asks
    raw = getattr(os.environ, "_data", os.environ)  # which decodes nothing
    latest = _latest
    if raw != latest[0]:
        latest = _latest = dict(raw), dict(os.environ)
    return latest[1]


def read_of(
    texts: Iterable[str], calls: Iterable[str], before: Mapping[str, str]
) -> dict[str, Json]:
    """The variables that code may have read → digests of what they said before, and say now.

    Parameters
    ----------
    texts, calls
        What stands in the code, and what it calls.
    """
    if READERS.isdisjoint(calls):
        return {}
    found: dict[str, Json] = {}
    for name in texts:
        values = before.get(name), os.environ.get(name)
        if (values != (None, None) or _NAME.fullmatch(name)) and _counts(name, *values):
            found[name] = list(dict.fromkeys(map(_digest, values)))
    return found


def changed(kept: Mapping[str, list[str]]) -> str | None:
    """A clause on a variable that says neither what it said before nor what it said then."""
    for name, digests in kept.items():
        value = os.environ.get(name)
        if _digest(value) not in digests and _counts(name, value):
            return f"{name} of the environment is another"
    return None


def _counts(name: str, *values: str | None) -> bool:
    if name in _PLACES or is_of_others(name) or "\0" in name or "=" in name:
        return False
    return not any(value is not None and is_private(name, value) for value in values)


def _digest(value: str | None) -> str:
    return "" if value is None else digest_of("environment\0", value)[:16]
