"""Lines of an encrypted store's journals: each is a whole line of a plain one, sealed.

::

    {"sealed":"<base64>","n":5,"sum":"<16 hex digits>"}

A line opens in its own journal, with its own serial number, and nowhere else. Number and checksum
stand outside, so that gaps and damage are seen without the key.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable

from blake3 import blake3

from nbckpt.storage.ciphers import Cipher
from nbckpt.storage.line_signatures import SUM_BYTES, Opened, Signer, digest_of_line, has_signature

_BEGIN = b'{"sealed":"'
_REST = re.compile(rb'","n":([0-9]{1,18}),"sum":"[0-9a-f]{16}"\}\Z')


class SealedSigner(Signer):
    """Makes and opens the lines of one journal of an encrypted store.

    Parameters
    ----------
    journal
        Its name.
    """

    def __init__(
        self,
        journal: str,
        cipher: Cipher,
        key: bytes | None = None,
        vouched: Iterable[bytes] = (),
    ) -> None:
        super().__init__(key, vouched)
        self._journal = journal
        self._cipher = cipher

    def line(self, body: str, serial: int, *, is_own: bool = True) -> bytes:
        """The sealed line of an encoded record: see `Signer.line`."""
        return self.sealed(super().line(body, serial, is_own=is_own)[:-1], serial)

    def sealed(self, plain: bytes, serial: int) -> bytes:
        """A plain line, without its newline, as one that is sealed, with its newline."""
        sealed = self._cipher.lines.seal(plain, self._bound(serial))
        text = b'{"sealed":"%b","n":%d' % (binascii.b2a_base64(sealed, newline=False), serial)
        return b'%b,"sum":"%b"}\n' % (text, blake3(text).digest(SUM_BYTES).hex().encode())

    def open(self, line: bytes) -> Opened | None:
        """The text of a line and its standing; None if damaged, not sealed, or sealed elsewhere."""
        plain = self.plain(line)
        return None if plain is None else super().open(plain)

    def own_text(self, line: bytes) -> bytes | None:  # noqa: ARG002
        """None: a line that is not sealed does not belong here."""
        return None

    def plain(self, line: bytes) -> bytes | None:
        """The plain line that was sealed, without its newline."""
        end = line.find(b'"', len(_BEGIN))
        found = _REST.match(line, end)
        if found is None or not line.startswith(_BEGIN):
            return None
        try:
            sealed = binascii.a2b_base64(line[len(_BEGIN) : end], strict_mode=True)
        except binascii.Error:
            return None
        return self._cipher.lines.open(sealed, self._bound(int(found[1])))

    def is_signed(self, line: bytes) -> bool:
        """True if a line carries a signature, whosever it is."""
        plain = self.plain(line)
        return plain is not None and has_signature(plain)

    def digest_of(self, line: bytes) -> bytes | None:
        """By what a user vouches for a line: that stays when it is sealed with another key."""
        plain = self.plain(line)
        return None if plain is None else digest_of_line(plain)

    def _bound(self, serial: int) -> bytes:
        return f"{self._journal} {serial}".encode()
