"""What is sealed opens where it belongs, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbckpt.errors import FormatError, SealedError
from nbckpt.storage.ciphers import Cipher, cipher_of, id_of, new_key, remember
from nbckpt.storage.envelope import envelope_of, unwrap, wrap
from nbckpt.storage.sealed_lines import SealedSigner

CIPHER = Cipher(new_key())


@given(st.binary(max_size=500), st.binary(max_size=40))
def test_what_was_sealed_opens_with_what_it_is_bound_to(data: bytes, bound: bytes) -> None:
    sealed = CIPHER.chunks.seal(data, bound)

    assert CIPHER.chunks.open(sealed, bound) == data
    assert CIPHER.chunks.open(sealed, bound + b"x") is None
    assert CIPHER.lines.open(sealed, bound) is None
    assert Cipher(new_key()).chunks.open(sealed, bound) is None


@given(st.integers(0), st.integers(1, 255))
def test_any_changed_byte_keeps_it_from_opening(at: int, change: int) -> None:
    sealed = bytearray(CIPHER.tables.seal(b"some rows", b"name"))
    sealed[at % len(sealed)] ^= change

    assert CIPHER.tables.open(sealed, b"name") is None


def test_the_same_bytes_are_sealed_otherwise_each_time() -> None:
    sealed = {CIPHER.chunks.seal(b"the same", b"name") for _ in range(100)}

    assert len(sealed) == 100


@given(st.integers(0, 60))
def test_what_was_cut_does_not_open(length: int) -> None:
    sealed = CIPHER.chunks.seal(bytes(40), b"name")

    assert CIPHER.chunks.open(sealed[:length], b"name") is None


def test_a_line_opens_in_its_journal_with_its_number_alone() -> None:
    own, other = SealedSigner("a", CIPHER, bytes(32)), SealedSigner("b", CIPHER, bytes(32))
    line = own.line('{"kind":"event","at":1.5', 7)[:-1]

    assert own.open(line) == (b'{"kind":"event","at":1.5,"n":7', True, False)
    assert other.open(line) is None
    assert own.open(line.replace(b'"n":7', b'"n":8')) is None
    assert b"event" not in line


def test_a_line_that_is_not_sealed_is_none_of_an_encrypted_store() -> None:
    signer = SealedSigner("a", CIPHER, bytes(32))
    plain = signer.plain(signer.line('{"kind":"event","at":1.5', 0)[:-1])

    assert plain is not None
    assert plain.startswith(b'{"kind":"event"')
    assert signer.open(plain) is None


def test_a_vouch_for_a_line_holds_when_it_is_sealed_anew() -> None:
    stranger = SealedSigner("a", CIPHER, bytes(32))
    line = stranger.line('{"kind":"event","at":1.5', 0)[:-1]
    digest, plain = stranger.digest_of(line), stranger.plain(line)
    assert digest is not None
    assert plain is not None

    other = SealedSigner("a", Cipher(new_key()), None, [digest])

    assert other.open(other.sealed(plain, 0)[:-1]) == (
        b'{"kind":"event","at":1.5,"n":0',
        True,
        False,
    )


def test_an_envelope_opens_with_its_key_and_tells_of_another() -> None:
    key, other = new_key(), new_key()
    envelope = envelope_of(wrap(CIPHER, key, "keyring:work").members())

    assert unwrap(envelope, key, "here").data_key == CIPHER.data_key
    with pytest.raises(SealedError) as refused:
        unwrap(envelope, other, "env:OTHER")
    assert id_of(other) in str(refused.value)
    assert id_of(key) in str(refused.value)
    assert "'work'" in str(refused.value)


@pytest.mark.parametrize("member", ["cipher", "key", "data", "wrapped"])
@pytest.mark.parametrize("value", [None, 3, "", "!", "AAAA", [], "AES"])
def test_a_damaged_envelope_is_told(member: str, value: object) -> None:
    key = new_key()
    members = {**wrap(CIPHER, key, "file").members(), member: value}

    with pytest.raises((FormatError, SealedError)):
        unwrap(envelope_of(members), key, "here")


def test_who_opens_a_store_twice_has_one_cipher_until_both_let_go(tmp_path: Path) -> None:
    key = os.urandom(32)
    first = remember(tmp_path, Cipher(key))
    second = remember(tmp_path, Cipher(key))

    assert first is second
    del second
    assert cipher_of(tmp_path) is first
    del first
    assert cipher_of(tmp_path) is None
