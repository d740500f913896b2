"""Lines of journals, signed by their user, so that each tells whether it is the user's own.

A signature is BLAKE3 with a key, and the key belongs to one journal of one user: nobody else makes
such a line, and no line can be moved to another journal. A line that carries none, or another
user's, can still be read. It is trusted if the user vouched for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from blake3 import blake3

from nbckpt.storage.user import DIGEST_BYTES

MAC_BYTES = 16
SUM_BYTES = 8
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

    def own_text(self, line: bytes) -> bytes | None:
        """The text of a line that carries the user's own signature; None of any other.

        As `open` has it, but quicker: of a checkpoint it does not tell whether it `is_half`.
        """
        if self._keyed is None:
            return None
        text = line[:-_TAIL]
        mac = self._keyed.copy().update(text).hexdigest(MAC_BYTES)
        return text if line[-_TAIL:-_SUM_TAIL] == b'%b%b"' % (_MAC, mac.encode()) else None

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
