"""Variables of the environment that code reads by a name that stands in it, or in what it reads.

Nothing tells when a variable is read, as something does of a file: what the code names counts. What
is private is left out, since a key that was replaced makes no other result; so are variables that
terminals and kernels set for themselves.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbckpt.capture.observation.places import loaded_user_files
from nbckpt.capture.observation.process_state.environment import is_of_others
from nbckpt.digests import Json, digest_of
from nbckpt.fingerprint.values.homes import is_users_module
from nbckpt.runtime.source_trees import parse
from nbckpt.text.secret_texts import is_private

if TYPE_CHECKING:
    from nbckpt.capture.observation.named_files import Named

READERS = frozenset({"environ", "environb", "expandvars", "getenv", "getenvb"})
_MAGICS = frozenset({"env", "%env"})
_READERS = tuple(reader.encode() for reader in READERS)
_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,100}")
"""Of what may be asked for and not be there."""
_WORD = re.compile(r"\b[A-Z_][A-Z0-9_]{2,100}\b")
_LEAST, _MOST = 3, 10_000
"""Characters of a text in which names of variables are looked for."""
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


def read_of(named: Named, before: Mapping[str, str], has_commands: bool) -> dict[str, Json]:
    """The variables that code may have read → digests of what they said before, and say now.

    Parameters
    ----------
    named
        Names in the code.
    has_commands
        Whether it started processes: these have the environment, too.
    """
    texts, names = [*named.texts], dict[str, None]()
    is_magic = "run_line_magic" in named.calls and any(text in _MAGICS for text in texts)
    if has_commands or is_magic or not READERS.isdisjoint({*named.calls, *texts}):
        names = dict.fromkeys([*texts, *chain.from_iterable(map(_words_of, texts))])
    if named.uses_modules or not named.calls.isdisjoint(_users_modules()):
        for file in loaded_user_files():
            with suppress(OSError):
                names |= dict.fromkeys(_names_in(file))
    found: dict[str, Json] = {}
    for name in names:
        values = before.get(name), os.environ.get(name)
        if (values != (None, None) or _NAME.fullmatch(name)) and _counts(name, *values):
            found[name] = list(dict.fromkeys(map(_digest, values)))
    return found


_known: set[str] = set()
_users: set[str] = set()
_newest: tuple[int, str | None] = 0, None


def _users_modules() -> set[str]:
    """The last parts of the names of the user's modules that were loaded; each is judged once."""
    global _newest  # noqa: PLW0603  # most cells import nothing, and thousands of names are known
    newest = len(sys.modules), next(reversed(sys.modules), None)
    if newest != _newest:
        new = sys.modules.keys() - _known
        _known.update(new)
        _users.update(name.rpartition(".")[2] for name in new if is_users_module(name))
        _newest = newest
    return _users


_looked: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {}
"""File of a user's module → its time and size when it was looked through, and what was found."""


def _names_in(file: str) -> tuple[str, ...]:
    """The texts in a module that reads the environment which may be names of variables."""
    seen = os.stat(file)  # noqa: PTH116  # a text is enough
    state = seen.st_mtime_ns, seen.st_size
    if (known := _looked.get(file)) and known[0] == state:
        return known[1]
    names = _texts_beside_readers(Path(file).read_bytes())
    _looked[file] = state, names
    return names


def _texts_beside_readers(source: bytes) -> tuple[str, ...]:
    if not any(reader in source for reader in _READERS):  # most; a tree costs a hundred times more
        return ()
    try:
        nodes = [*ast.walk(parse(source))]
    except (SyntaxError, ValueError):
        return ()
    names = {getattr(node, "attr", None) or getattr(node, "id", None) for node in nodes}
    names |= {node.name for node in nodes if isinstance(node, ast.alias)}
    if READERS.isdisjoint(names):
        return ()
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    return tuple(text for text in texts if isinstance(text, str) and _NAME.fullmatch(text))


def _words_of(text: str) -> list[str]:
    """Names of variables within a longer text: a command, a template, code for a child."""
    return _WORD.findall(text) if _LEAST < len(text) <= _MOST else []


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
