"""Trust of a user in a store: what is not his own, and taking it over."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from nbckpt.errors import StoreError, UntrustedError
from nbckpt.model import is_trusted
from nbckpt.storage.configuration import StoredConfig
from nbckpt.storage.counted_records import CHECKPOINT
from nbckpt.storage.known_records import KnownRecords
from nbckpt.storage.user import User
from nbckpt.storage.vouching import SETTINGS, Untrusted, digest_of_settings, told_apart
from nbckpt.text.escape import legible


class StoredTrust:
    """What of a store its user neither wrote nor vouched for.

    Parameters
    ----------
    path
        Folder of the store.
    """

    def __init__(self, path: Path, known: KnownRecords, config: StoredConfig, user: User) -> None:
        self._path = path
        self._known = known
        self._config = config
        self._user = user

    def untrusted(self) -> Untrusted:
        """Amount of the store that this user neither wrote nor vouched for: none of it is run."""
        self._known.look()
        journals = self._known.untrusted
        records = self._known.of_kind(CHECKPOINT)
        own = {record["id"] for record in records if is_trusted(record)}
        checkpoints = {record["id"] for record in records} - own  # others wrote some once more
        return Untrusted(len(journals), sum(map(len, journals.values())), len(checkpoints))

    def untrusted_mark(self) -> str:
        """Tells what is not trusted now, line for line, from anything else: see `vouch`."""
        self._known.look()
        return told_apart(self._not_trusted())

    def vouch(self, seen: str | None = None) -> Untrusted:
        """Vouch for all that is there now, and not for what is added later; what that was.

        Nothing is written into the store. Other open sessions of this user notice.

        Parameters
        ----------
        seen
            The `untrusted_mark` of what somebody has looked at.

        Raises
        ------
        UntrustedError
            If something else is there than what was looked at: nothing is trusted then.
        StoreError
            If this user's own folder cannot be written.
        """
        found = self.untrusted()
        # The lines that were read, whatever stands in the files by now.
        lines = self._not_trusted()
        if seen not in (None, told_apart(lines)):
            message = (
                f"somebody wrote to {legible(str(self._path))} after you looked, so nothing was"
                " trusted: look again"
            )
            raise UntrustedError(message)
        for journal, digests in lines.items():
            self._user.vouch(journal, digests)
        self._known.look()
        return found

    def _not_trusted(self) -> dict[str, frozenset[bytes]]:
        """Digests of what is not trusted, by the name under which a user vouches for it."""
        found = {journal: frozenset(own) for journal, own in self._known.untrusted.items()}
        with suppress(StoreError):
            text = self._config.text()
            if text is not None and not self._config.is_own(text):
                own = found.get(SETTINGS, frozenset())
                found[SETTINGS] = own | {digest_of_settings(text)}
        return found
