"""Lines of journals, signed by their user, so that each tells whether it is the user's own.

A signature is BLAKE3 with a key, and the key belongs to one journal of one user: nobody else makes
such a line, and no line can be moved to another journal. A line that carries none, or another
user's, can still be read. It is trusted if the user vouched for it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from blake3 import blake3

from nbckpt.storage.user import DIGEST_BYTES, User

if TYPE_CHECKING:
    from nbckpt.storage.ciphers import Cipher

MAC_BYTES = 16
SUM_BYTES = 8
TICK_NS = 2_000_000_000
"""Some file systems keep the time of a change no more exactly."""
_HALF = b',"untrusted":true'
_CHECKPOINT = b'{"kind":"checkpoint"'
_MAC = b',"mac":"'
_SUM_TAIL = len(',"sum":""}') + 2 * SUM_BYTES
_MAC_TAIL = len(_MAC) + 2 * MAC_BYTES + len('"')
_TAIL = _MAC_TAIL + _SUM_TAIL
_MAC_ENDS = _TAIL - len(_MAC)

Opened: TypeAlias = tuple[bytes, bool, bool]
"""The text of a line up to its serial number, whether it is trusted, and whether `is_half`."""


class Signer:
    """Makes and opens the lines of one journal.

    Parameters
    ----------
    key
        Of this journal; None where the user has none.
    vouched
        Digests of the lines that the user trusts although they are not signed by that key.
    """

    def __init__(self, key: bytes | None = None, vouched: Iterable[bytes] = ()) -> None:
        self._keyed = None if key is None else blake3(key=key)
        self._vouched = set(vouched)
        self._has_doubted = False

    def line(self, body: str, serial: int, *, is_own: bool = True) -> bytes:
        """The line of an encoded record: text, serial number, signature, checksum, a newline.

        Parameters
        ----------
        is_own
            Whether to sign it. Without a key it is taken for signed by this process alone.
        """
        text = f'{body},"n":{serial}'.encode()
        if is_own and self._keyed is not None:
            mac = self._keyed.copy().update(text).hexdigest(MAC_BYTES)
            text = b'%b,"mac":"%b"' % (text, mac.encode())
        digest = blake3(text).digest(DIGEST_BYTES)
        if is_own and self._keyed is None and not is_half(text):
            self._vouched.add(digest)
        return b'%b,"sum":"%b"}\n' % (text, digest[:SUM_BYTES].hex().encode())

    def open(self, line: bytes) -> Opened | None:
        """The text of a line without its newline, and its standing; None if it is damaged.

        Called once for each line of each journal: of one's own the signature alone is looked at.
        """
        has_mac = line.startswith(_MAC, -_TAIL)
        if has_mac and self._keyed is not None:
            text = line[:-_TAIL]
            # A copy of what has taken its key is quicker than one that takes it for each line.
            mac = self._keyed.copy().update(text).hexdigest(MAC_BYTES)
            if line.startswith(f'{mac}"'.encode(), -_MAC_ENDS):
                half = text.startswith(_CHECKPOINT) and _HALF in text
                if not half or not self._has_vouched(line):
                    return text, True, half
                # No string holds it: its quotes are escaped.
                return text.replace(_HALF, b""), True, False
        digest = digest_of_line(line)
        if digest is None:
            return None
        self._has_doubted |= has_mac and self._keyed is None
        text = line[: -_TAIL if has_mac else -_SUM_TAIL]
        if digest not in self._vouched:
            return text, False, False
        return text.replace(_HALF, b"") if is_half(text) else text, True, False

    def _has_vouched(self, line: bytes) -> bool:
        return digest_of_line(line) in self._vouched

    def plain(self, line: bytes) -> bytes | None:
        """A line as it was before it was sealed: here none is."""
        return line

    def sealed(self, plain: bytes, serial: int) -> bytes:  # noqa: ARG002 - others need it
        """A line that was plain, with its newline, as this journal has it."""
        return plain + b"\n"

    def is_signed(self, line: bytes) -> bool:
        """True if a line carries a signature, whosever it is."""
        return has_signature(line)

    def digest_of(self, line: bytes) -> bytes | None:
        """By what a user vouches for a line; None if its checksum is wrong."""
        return digest_of_line(line)

    def renew(self, key: bytes | None, vouched: Iterable[bytes]) -> bool:
        """Take what was not there before; whether lines that were read count otherwise now."""
        before = len(self._vouched)
        has_changed = self._has_doubted and self._keyed is None and key is not None
        if self._keyed is None and key is not None:
            self._keyed = blake3(key=key)
        self._vouched.update(vouched)
        return has_changed or before != len(self._vouched)


def digest_of_line(line: bytes) -> bytes | None:
    """By what a user vouches for a line; None if its checksum is wrong."""
    digest = blake3(line[:-_SUM_TAIL]).digest(DIGEST_BYTES)
    is_whole = line[-_SUM_TAIL:] == b',"sum":"%b"}' % digest[:SUM_BYTES].hex().encode()
    return digest if is_whole else None


def is_half(text: bytes) -> bool:
    """True if a user's own line repeats, of a variable, what a line said that is not his."""
    return text.startswith(_CHECKPOINT) and _HALF in text


def has_signature(line: bytes) -> bool:
    """True if a line carries a signature, whosever it is."""
    return line[-_TAIL:-_MAC_ENDS] == _MAC


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
