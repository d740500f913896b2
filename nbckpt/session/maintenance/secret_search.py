"""Search of a store for secrets: of this process's environment, and by the looks of a key.

What `nbckpt` writes holds none, but the text of a cell may, what a provider's model answered, and
what was data. detect-secrets knows more kinds, where it is installed [1]_.

References
----------
.. [1] Yelp, "detect-secrets".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from nbckpt.errors import NbckptError
from nbckpt.storage.counted_records import blobs_named
from nbckpt.storage.disk import exists
from nbckpt.storage.folder import ASIDE
from nbckpt.text.content_encodings import decoded, encoding_in
from nbckpt.text.secret_texts import forms_of, kinds_in, redacted, secrets_of_environment
from nbckpt.timeline.recordings import RECORDING

if TYPE_CHECKING:
    from nbckpt.digests import Digest
    from nbckpt.model import Record
    from nbckpt.storage.store import Store

MOST_DETECTED = 16 << 10
"""Bytes of a part that detect-secrets is given: it takes a millisecond for each of a few lines."""
MOST_READ = 8 << 20
"""Bytes of a part in which keys are found by their looks; the environment's are found in all."""
ENCODINGS = ("utf-8", "utf-16-le", "utf-32-le")
NO_TEXT = frozenset(
    {
        *("kind", "id", "parent", "session", "checkpoint", "position", "cell_id", "notebook"),
        *("blob", "value", "outputs", "finished", "request", "code", "arguments", "key", "lacking"),
        *("preconditions", "random_in", "passive", "began_as", "inherited", "reads", "file"),
        *("file_digest", "group", "needs", "type_name", "state", "pruned", "item"),
    }
)
"""Members of records that nobody has written as a text: ids, digests, and names that lead there."""
OF_VARIABLES = ("changed", "carried", "refused")
"""Members of checkpoints that list variables, which are known by their names."""
_SAID_OF_VARIABLES = ("preview", "reason")
_GUESSING = (
    "Base64HighEntropyString",
    "HexHighEntropyString",
    "IPPublicDetector",
    "KeywordDetector",
)
"""Detectors of detect-secrets that take digests and ids for secrets."""

Detector = Callable[[str], list[tuple[str, str]]]
"""The kinds of secrets in a text, each with the secret."""


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


class Findings(NamedTuple):
    """Result of a search.

    Attributes
    ----------
    found
        Each place once, in the order of their names.
    blobs
        The blobs in which there is one → what each is, for people.
    """

    found: list[Found]
    blobs: dict[Digest, str]


def secrets_found(store: Store, detects: Detector) -> Findings:
    """The secrets in the records and blobs of a store."""
    store.refresh()
    secrets = secrets_as_bytes()
    found: dict[Found, None] = {}
    names: dict[Digest, tuple[str, str]] = {}
    for record in store.all_records():
        for member, text in _texts(record):
            where = redacted(_place(record, member))
            for what in _kinds(text, detects):
                found.setdefault(Found(where, what))
        for digest, name in blobs_named(record):
            names.setdefault(digest, (name, encoding_of(record)))
    blobs: dict[Digest, str] = {}
    for digest, (name, encoding) in names.items():
        for what in _in_blob(store, digest, encoding, detects, secrets):
            blobs[digest] = redacted(name)
            found.setdefault(Found(blobs[digest], what))
    if exists(store.path / ASIDE):
        what = "not looked at; delete what a repair has set aside there"
        found.setdefault(Found(f"{ASIDE}/", what))
    return Findings(sorted(found), blobs)


def encoding_of(record: Record) -> str:
    """Content encoding of the second part of a record's blob: of an answer, as it came."""
    return encoding_in(record["headers"]) if record["kind"] == RECORDING else ""


@contextmanager
def detector() -> Iterator[Detector]:
    """The detectors of detect-secrets, where it is installed; else none."""
    if find_spec("detect_secrets") is None:
        yield lambda _: []
        return
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import transient_settings

    mapping: Mapping[str, type] = get_mapping_from_secret_type_to_class()
    kinds = [kind.__name__ for kind in mapping.values()]

    def detects(text: str) -> list[tuple[str, str]]:
        lines = (line for line in text.splitlines() if 8 <= len(line) <= 10_000)
        found = (secret for line in lines for secret in scan_line(line))
        return [(f"{each.type} (detect-secrets)", each.secret_value or "") for each in found]

    with transient_settings({"plugins_used": [{"name": k} for k in kinds if k not in _GUESSING]}):
        yield detects


def _kinds(text: str, detects: Detector) -> list[str]:
    return [*kinds_in(text), *(kind for kind, _ in detects(text))]


def secrets_as_bytes() -> list[tuple[bytes, str]]:
    """The secrets of the environment as bytes, with their names."""
    return [
        (form.encode(encoding, "surrogatepass"), name)
        for secret, name in secrets_of_environment().items()
        for form in forms_of(secret)
        for encoding in ENCODINGS
    ]


def _in_blob(
    store: Store,
    digest: Digest,
    encoding: str,
    detects: Detector,
    secrets: Sequence[tuple[bytes, str]],
) -> Iterator[str]:
    try:
        parts = store.get_blob(digest)
    except NbckptError:  # `nbckpt check` tells of that
        return
    for n, part in enumerate(parts):
        data = bytes(part)
        if encoding and n:
            data = decoded(data, encoding) or data
        yield from in_data(data, detects, secrets)


def in_data(data: bytes, detects: Detector, secrets: Sequence[tuple[bytes, str]]) -> Iterator[str]:
    """Kinds of the secrets in some bytes; `secrets` are those of `secrets_as_bytes`."""
    yield from (f"{name} of the environment" for secret, name in secrets if secret in data)
    if len(data) <= MOST_READ:
        text = data.decode("latin-1")
        yield from _kinds(text, detects if len(data) <= MOST_DETECTED else lambda _: [])


def is_text(member: str, around: str) -> bool:
    """True if a member of a record, or of a part of it that is `around`, is somebody's text."""
    return member not in NO_TEXT and (around not in OF_VARIABLES or member in _SAID_OF_VARIABLES)


def _texts(value: object, member: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a record, each with the member in which it stands."""
    if isinstance(value, str):
        yield member, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if is_text(name, member):
                yield member, str(name)
                yield from _texts(inner, f"{member}.{name}" if member else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, member)


def _place(record: Record, member: str) -> str:
    if record["kind"] == member and "checkpoint" in record:  # a note, or a tag
        return f"the {member} of checkpoint {record['checkpoint']!r}"
    name = record.get("name") or record.get("step") or record.get("id", "")
    shown = {"cell.source": "the text of the cell", "joined.source": "the text of a cell"}
    what = shown.get(member, f"{member!r}")
    return f"{what} of {record['kind']} {name!r}"
