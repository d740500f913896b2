"""Search of a store for secrets: of this process's environment, and by the looks of a key.

What `nbckpt` writes holds none, but the text of a cell may, what a provider's model answered, and
what was data. detect-secrets knows more kinds, where it is installed [1]_.

References
----------
.. [1] Yelp, "detect-secrets".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.errors import NbckptError
from nbckpt.storage.counted_records import blobs_named
from nbckpt.text.escape import lines_of
from nbckpt.text.secret_texts import kinds_in, redacted, secrets_of_environment
from nbckpt.text.units import count_text

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.model import Record
    from nbckpt.storage.store import Store

MOST_DETECTED = 16 << 10
"""Bytes of a part that detect-secrets is given: it takes a millisecond for each of a few lines."""
MOST_READ = 8 << 20
"""Bytes of a part in which keys are found by their looks; the environment's are found in all."""
_GUESSING = (
    "Base64HighEntropyString",
    "HexHighEntropyString",
    "IPPublicDetector",
    "KeywordDetector",
)
"""Detectors of detect-secrets that take digests and ids for secrets."""


class Found(NamedTuple):
    """A secret in a store.

    Attributes
    ----------
    where
        What holds it, for people.
    what
        Whose it is or looks like; never the secret itself.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def secrets_found(store: Store) -> list[Found]:
    """The secrets in the records and blobs of a store, each place once."""
    store.refresh()
    found: dict[Found, None] = {}
    names: dict[Digest, str] = {}
    with _detector() as detects:
        for record in store.all_records():
            for member, text in _texts(record):
                where = redacted(_place(record, member))
                for what in (*kinds_in(text), *detects(text)):
                    found.setdefault(Found(where, what))
            for digest, name in blobs_named(record):
                names.setdefault(digest, name)
        for digest, name in names.items():
            for what in _in_blob(store, digest, detects):
                found.setdefault(Found(redacted(name), what))
    return sorted(found)


def found_text(found: Iterable[Found]) -> str:
    """What a search has found, a line each, and what to do about it."""
    lines = [redacted(str(one)) for one in found]
    if not lines:
        return "no secrets found"
    advice = (
        "have the provider replace what was found; it is gone from the store when its checkpoints "
        "are pruned (`%nbckpt prune`) and the cells say it no more"
    )
    return lines_of([f"{count_text(len(lines), 'secret')} found:", *lines, advice])


def _in_blob(store: Store, digest: Digest, detects: Callable[[str], list[str]]) -> Iterator[str]:
    try:
        parts = store.get_blob(digest)
    except NbckptError:  # `nbckpt check` tells of that
        return
    secrets = [
        (secret.encode(encoding, "surrogatepass"), name)
        for secret, name in secrets_of_environment().items()
        for encoding in ("utf-8", "utf-16-le", "utf-32-le")
    ]
    for part in parts:
        data = bytes(part)
        yield from (f"{name} of the environment" for secret, name in secrets if secret in data)
        if len(data) <= MOST_READ:
            text = data.decode("latin-1")
            yield from kinds_in(text)
            if len(data) <= MOST_DETECTED:
                yield from detects(text)


def _texts(value: object, member: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a record, each with the member in which it stands."""
    if isinstance(value, str):
        yield member, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield member, str(name)
            yield from _texts(inner, f"{member}.{name}" if member else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, member)


def _place(record: Record, member: str) -> str:
    name = record.get("name") or record.get("step") or record.get("id", "")
    shown = {"cell.source": "the text of the cell", "joined.source": "the text of a cell"}
    what = shown.get(member, f"{member!r}")
    return f"{what} of {record['kind']} {name!r}"


@contextmanager
def _detector() -> Iterator[Callable[[str], list[str]]]:
    """The detectors of detect-secrets, where it is installed; else none."""
    if find_spec("detect_secrets") is None:
        yield lambda _: []
        return
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import transient_settings

    kinds = [kind.__name__ for kind in get_mapping_from_secret_type_to_class().values()]

    def detects(text: str) -> list[str]:
        lines = (line for line in text.splitlines() if 8 <= len(line) <= 10_000)
        return [f"{secret.type} (detect-secrets)" for line in lines for secret in scan_line(line)]

    with transient_settings({"plugins_used": [{"name": k} for k in kinds if k not in _GUESSING]}):
        yield detects
