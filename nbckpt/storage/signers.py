"""The signers of a store's journals, with its user's key and what the user vouches for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from blake3 import blake3

from nbckpt.storage.line_signatures import Signer
from nbckpt.storage.user import User

if TYPE_CHECKING:
    from nbckpt.storage.ciphers import Cipher

TICK_NS = 2_000_000_000
"""Some file systems keep the time of a change no more exactly."""


class Signers:
    """The signers of all journals of a store, for one user.

    Parameters
    ----------
    cipher
        Of an encrypted store, whose lines are sealed.

    Attributes
    ----------
    user
        Whose key it is.
    store_id
        The random name of the store, which signatures hold for.
    """

    def __init__(
        self, user: User | None = None, cipher: Cipher | None = None, store_id: str = ""
    ) -> None:
        self.user = user or User()
        self.store_id = store_id
        self.cipher = cipher
        self._key: bytes | None = None
        self._of: dict[str, Signer] = {}
        self._is_behind = False
        self._vouched_as_of: tuple[int, ...] = ()

    def of(self, journal: str) -> Signer:
        """The signer of a journal."""
        if journal not in self._of:
            vouched = self.user.vouches(journal) if self._vouched_as_of else ()
            self._of[journal] = self._new(journal, vouched)
        return self._of[journal]

    def prepare(self) -> None:
        """Have a key to sign with; one is made if the user has none. Warns if that cannot be."""
        if self._key is None and not self._take(self.user.key(make=True)):
            warnings.warn(
                f"nbckpt cannot sign what it keeps: {self.user.problem}. In the next session it"
                " will count as another user's until you trust it; set NBCKPT_HOME to a folder"
                " of yours that can be written",
                stacklevel=2,
            )

    def look(self) -> bool:
        """True if lines that were read before count otherwise now, as others did something."""
        if self._key is None:
            self._take(self.user.key())
        changed, self._is_behind = self._is_behind, False
        as_of = self.user.vouched_as_of()
        if as_of and as_of != self._vouched_as_of:
            # Within a tick of the clock more may be vouched for under the same time.
            is_settled = time.time_ns() - as_of[0] > TICK_NS
            self._vouched_as_of = as_of if is_settled else (0,)
            for journal, signer in self._of.items():
                changed |= signer.renew(None, self.user.vouches(journal))
        return changed

    def _take(self, key: bytes | None) -> bool:
        if key is not None:
            self._key = key
            for journal, signer in self._of.items():
                self._is_behind |= signer.renew(self._key_of(journal), ())
        return key is not None

    def _new(self, journal: str, vouched: Iterable[bytes]) -> Signer:
        key = self._key_of(journal)
        if self.cipher is None:
            return Signer(key, vouched)
        from nbckpt.storage.sealed_lines import SealedSigner

        return SealedSigner(journal, self.cipher, key, vouched)

    def _key_of(self, journal: str) -> bytes | None:
        if self._key is None:
            return None
        of_store = f" of {self.store_id}" if self.store_id else ""
        return blake3(f"nbckpt journal {journal}{of_store}".encode(), key=self._key).digest()
